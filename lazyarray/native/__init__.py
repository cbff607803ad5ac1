"""Owns the choice between the two forms of the hot modules: compiled when the package was built, or as Python.

The compiled form is the Python source, turned into C (`build.py`): what it does is the same. It is used if it was made
for this Python and of these very sources, and `LAZYARRAY_NATIVE` is not 0; else all modules run as Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
LIBRARY: Final = _HERE / "lib"


def digest_of(source: Path) -> str:
    """Identifies a module's source and its C types."""
    types = source.with_suffix(".pxd")
    parts = [
        source.read_bytes(),
        types.read_bytes() if types.exists() else b"",
        (_HERE / "primitives.pxd").read_bytes(),
        (_HERE / "recycled.pxd").read_bytes(),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def find_compiled(library: Path = LIBRARY) -> tuple[dict[str, Path], str]:
    """The modules whose compiled form can be used, with its files: all of them, or none and why."""
    if os.environ.get("LAZYARRAY_NATIVE", "1") == "0":
        return {}, "LAZYARRAY_NATIVE is 0"
    try:
        index = json.loads((library / "index.json").read_text(encoding="utf-8"))
    except OSError:
        return {}, "they were not compiled when the package was installed: no C compiler was at hand, or no Cython"
    if index["python"] != sys.implementation.cache_tag:
        return {}, f"they were compiled for {index['python']}, and this is {sys.implementation.cache_tag}"
    root = _HERE.parents[1]
    found = {}
    for module, entry in index["modules"].items():
        relative = Path(*module.split(".")).with_suffix(".py")
        source = root / relative if (root / relative).exists() else root / "backends" / relative
        file = library / entry["file"]
        if not source.exists() or not file.exists():
            return {}, f"files of {module} are missing"
        if digest_of(source) != entry["digest"]:
            return {}, f"{module} has changed since they were compiled"
        found[module] = file
    return found, ""


class _Finder(MetaPathFinder):
    """Finds the compiled form of the hot modules ahead of their Python files."""

    def __init__(self, files: dict[str, Path]) -> None:
        self.files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self.files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


COMPILED, WHY_PYTHON = find_compiled()


def install() -> None:
    """Has the hot modules imported in their compiled form, if there is one."""
    if COMPILED:
        sys.meta_path.insert(0, _Finder(COMPILED))
