"""Owns the choice between the two forms of the hot modules: compiled when the package was built, or as Python.

The compiled form is the Python source, turned into C (`build.py`): what it does is the same. It is used if it was made
for this Python and of these very sources, and `LAZYARRAY_NATIVE` is not 0; else all modules run as Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import source_hash, spec_from_file_location
from types import ModuleType
from typing import Any, Final

# Every start of a program runs this module: no pathlib, json, hashlib or importlib.abc, which take longer than it does.
_HERE: Final = os.path.dirname(os.path.abspath(__file__))
LIBRARY: Final = os.path.join(_HERE, "lib")
INDEX: Final = "index.txt"  # the Python, then a line for each module: its name, file below `lib`, digest
STAMPS: Final = (
    "stamps.txt"  # the index's digest, then times and sizes of sources that were found to have those digests
)
_taken_in: Final[list[bytes]] = []  # the digest of `_written_in_c`, once it is known


def _read(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()


def digest_of(source: str) -> str:
    """Identifies a module's source and its C types, as Python's own hash-based bytecode files do."""
    try:
        types = _read(source.removesuffix(".py") + ".pxd")
    except FileNotFoundError:
        types = b""
    return source_hash(b"\0".join((_read(source), types, _written_in_c()))).hex()


def _written_in_c() -> bytes:
    """What any module may take in, as one digest: they are more text than most modules."""
    if not _taken_in:
        _taken_in.append(source_hash(b"\0".join([_read(file) for file in _common()])))
    return _taken_in[0]


def _common() -> list[str]:
    """The files of C types that any module may take in."""
    files = [os.path.join(_HERE, name) for name in sorted(os.listdir(_HERE)) if name.endswith(".pxd")]
    return [*files, os.path.join(os.path.dirname(_HERE), "frontend", "vectors.pxd")]


def find_compiled(library: str = LIBRARY) -> tuple[dict[str, str], str]:
    """The modules whose compiled form can be used, with its files: all of them, or none and why."""
    if os.environ.get("LAZYARRAY_NATIVE", "1") == "0":
        return {}, "LAZYARRAY_NATIVE is 0"
    try:
        index = _read(os.path.join(library, INDEX))
        python, *lines = index.decode().splitlines()
        if python != sys.implementation.cache_tag:
            return {}, f"they were compiled for {python}, and this is {sys.implementation.cache_tag}"
        root = os.path.dirname(os.path.dirname(_HERE))
        backends = os.path.join(root, "backends")
        if not os.path.exists(backends):
            backends = root
        found: dict[str, str] = {}
        sources: dict[str, tuple[str, str]] = {}  # by module: its source, the digest that it had
        for line in lines:
            module, name, digest = line.split("\t")
            place = root if module.startswith("lazyarray.") else backends
            found[module] = f"{library}{os.sep}{name}"
            sources[module] = f"{place}{os.sep}{module.replace('.', os.sep)}.py", digest
        stamps = [source_hash(index).hex()]
        present = {file: os.path.exists(file) for file in set(found.values())}
        for module, (source, _digest) in sources.items():
            stamp = _stamp(source)
            if not stamp or not present[found[module]]:
                return {}, f"files of {module} are missing"
            stamps.append(stamp)
        stamps += map(_stamp, _common())
        text, seen = "\n".join(stamps), os.path.join(library, STAMPS)
        if not os.path.exists(seen) or _read(seen) != text.encode():
            for module, (source, digest) in sources.items():
                if digest_of(source) != digest:
                    return {}, f"{module} has changed since they were compiled"
            _note(seen, text)
    except OSError:
        return {}, "they were not compiled when the package was installed: no C compiler was at hand, or no Cython"
    return found, ""


def _stamp(source: str) -> str:
    """What changes when somebody writes a module's source or its C types, found sooner than a digest; "" for none."""
    try:
        status = os.stat(source)
    except FileNotFoundError:
        return ""
    mark = f"{status.st_mtime_ns} {status.st_size}"
    try:
        status = os.stat(source.removesuffix(".py") + ".pxd")
    except FileNotFoundError:
        return mark
    return f"{mark} {status.st_mtime_ns} {status.st_size}"


def _note(file: str, stamps: str) -> None:
    """Leaves the stamps of sources whose digests are right for the programs to come, where that may be written."""
    name = f"{file}.{os.getpid()}"
    try:
        with open(name, "w", encoding="utf-8") as opened:
            opened.write(stamps)
        os.replace(name, file)
    except OSError:
        pass


class _Finder:
    """Finds the compiled form of the hot modules ahead of their Python files."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self.files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=_Loader(fullname, file))


class _Loader(ExtensionFileLoader):
    """Loads one module of a library that holds them all: Python would look for `PyInit_` and its last name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = super().create_module(ModuleSpec(whole_name(spec.name), self, origin=spec.origin))
        module.__name__, module.__package__ = spec.name, spec.parent
        return module


def whole_name(module: str) -> str:
    """The module's name as a name in C."""
    return module.replace(".", "_")


COMPILED, WHY_PYTHON = find_compiled()


def install() -> None:
    """Has the hot modules imported in their compiled form, if there is one."""
    if COMPILED:
        finder: Any = _Finder(COMPILED)  # no subclass of `importlib.abc.MetaPathFinder`
        sys.meta_path.insert(0, finder)
