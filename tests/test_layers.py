"""Holds the house: imports go down the layers only, and the top level holds only what belongs there."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "lazyarray"

# From the top: a layer may import those after it. `config` and `errors` share a row: each may use the other.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"runner"}),
    frozenset({""}),  # lazyarray/__init__.py, the namespace
    frozenset({"inspect"}),
    frozenset({"frontend"}),
    frozenset({"runtime"}),
    frozenset({"schedule"}),
    frozenset({"passes"}),
    frozenset({"ir"}),
    frozenset({"errors", "config"}),
    frozenset({"records", "digests"}),
    frozenset({"native"}),
)
FOR_BACKENDS = frozenset({"ir", "schedule", "runtime", "errors", "config", "native", "records", "digests"})
TOP_LEVEL = frozenset(
    {"pyproject.toml", "README.md", "LICENSE", "lazyarray", "backends", "tests", "benchmarks", "docs"}
)
EXEMPTION = re.compile(r"#\s*layer:\s*\S")


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a module, at a line of a file."""

    file: Path
    line: int
    module: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def name_module(file: Path, source_root: Path) -> str:
    parts = file.relative_to(source_root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def find_imports(file: Path, source_root: Path) -> Iterator[Import]:
    """Every import of a file, inside functions too, but for lines marked `# layer: <reason>`."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    module = name_module(file, source_root)
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if any(EXEMPTION.search(line) for line in lines[node.lineno - 1 : node.end_lineno]):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            # `from lazyarray import ir` names a layer in its aliases.
            names = [f"{base}.{alias.name}" if base == PACKAGE else base for alias in node.names]
        for name in dict.fromkeys(names):
            yield Import(file, node.lineno, name)


def find_sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def name_layer(module: str) -> str:
    """The layer that a module of the package belongs to; the namespace itself is the layer ''."""
    tail = module.split(".")[1:2]
    known = {name for row in LAYERS for name in row}
    return tail[0] if tail and tail[0] in known else ""


def rank(layer: str) -> int:
    return next(i for i, row in enumerate(LAYERS) if layer in row)


def test_every_module_of_the_package_belongs_to_a_layer() -> None:
    known = {name for row in LAYERS for name in row}
    found = {path.stem for path in (ROOT / PACKAGE).iterdir() if path.suffix == ".py"}
    found |= {path.name for path in (ROOT / PACKAGE).iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert found - {"__init__"} <= known


def test_imports_go_down_the_layers() -> None:
    upward = [
        entry
        for file in find_sources(ROOT / PACKAGE)
        for entry in find_imports(file, ROOT)
        if entry.module.partition(".")[0] == PACKAGE
        and rank(name_layer(entry.module)) < rank(name_layer(name_module(file, ROOT)))
    ]
    assert not upward, "\n".join(map(str, upward))


def test_the_package_names_no_backend() -> None:
    backends = {path.name for path in (ROOT / "backends").iterdir() if path.is_dir()}
    named = [
        entry
        for file in find_sources(ROOT / PACKAGE)
        for entry in find_imports(file, ROOT)
        if entry.module.partition(".")[0] in backends
    ]
    assert not named, "\n".join(map(str, named))


def test_backends_import_what_is_for_them() -> None:
    source_root = ROOT / "backends"
    wrong = []
    for file in find_sources(source_root):
        own = name_module(file, source_root).partition(".")[0]
        others = {path.name for path in source_root.iterdir() if path.is_dir()} - {own}
        for entry in find_imports(file, source_root):
            top = entry.module.partition(".")[0]
            if top in others or (top == PACKAGE and name_layer(entry.module) not in FOR_BACKENDS):
                wrong.append(entry)
    assert not wrong, "\n".join(map(str, wrong))


def test_the_top_level_holds_only_what_belongs_there() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git work tree")
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    top = {name.partition("/")[0] for name in listing.split("\0") if name}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import lazyarray.ir.node as n, os", ["lazyarray.ir.node", "os"]),
        ("from lazyarray import ir, config", ["lazyarray.ir", "lazyarray.config"]),
        ("from lazyarray.ir import node", ["lazyarray.ir"]),
        ("from . import b", ["lazyarray.ir"]),
        ("from ..runtime import evaluate", ["lazyarray.runtime"]),
        ("from .. import runtime", ["lazyarray.runtime"]),
        ("def f():\n    import lazyarray.inspect", ["lazyarray.inspect"]),
        ("import lazyarray.inspect  # layer: a test of the mark", []),
        ("from lazyarray.inspect import (\n    a,  # layer: reason\n)", []),
        ("import lazyarray.inspect  # layer:", ["lazyarray.inspect"]),
    ],
)
def test_the_walker_sees_every_form(tmp_path: Path, source: str, modules: list[str]) -> None:
    file = tmp_path / "lazyarray" / "ir" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text(source)
    assert [entry.module for entry in find_imports(file, tmp_path)] == modules
