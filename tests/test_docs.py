"""Holds that the Python programs in README.md and docs/ run as printed, and that the pages' links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")


def programs(page: Path) -> str:
    """All blocks marked exactly `python` as one program, every line at its line of the page."""
    text = page.read_text(encoding="utf-8")
    lines: list[str] = []
    for block in FENCE.finditer(text):
        if block.group(1).strip() == "python":
            lines += [""] * (text.count("\n", 0, block.start(2)) - len(lines))
            lines += block.group(2).splitlines()
    return "\n".join(lines)


@pytest.mark.parametrize("page", [p for p in PAGES if programs(p)], ids=lambda page: page.name)
def test_the_programs_of_a_page_run(page: Path) -> None:
    # A process of its own: pages count kernels, and pending arrays of other tests would join their evaluations.
    source = f"exec(compile({programs(page)!r}, {str(page)!r}, 'exec'), {{'__name__': 'page'}})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(LINK.findall(index))
    assert {p.name for p in PAGES[1:]} - {"index.md"} <= listed
