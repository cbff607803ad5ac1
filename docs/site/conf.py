"""Owns how the pages become a site: python -m sphinx --fail-on-warning -c docs/site . build/site

The source is the whole repository, so that links between README.md, docs/ and tests/ lead where they lead in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

project = "lazyarray"
author = "the lazyarray developers"
extensions = ["myst_parser"]
include_patterns = ["README.md", "docs/*.md", "docs/site/contents.md", "tests/numpy_compat/README.md"]
root_doc = "docs/site/contents"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4  # links to headings are GitHub's
html_theme = "furo"
html_title = "lazyarray"
html_copy_source = False
html_show_sourcelink = False
# Records of kernels, LLVM IR and the like are marked as text; what is marked as a language is one.
highlight_language = "text"


def add_front_page(app: Any, error: Exception | None) -> None:
    """The site's address alone leads to its contents, which lie as deep as their source."""
    if error is None:
        target = f"{root_doc}.html"
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={target}"><a href="{target}">{project}</a>\n'
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("build-finished", add_front_page)
