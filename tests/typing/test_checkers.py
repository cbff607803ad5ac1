"""Holds that type checkers see under `import lazyarray as np` what they see under `import numpy as np`."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import lazyarray

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lazyarray"
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
CLAIMS = Path(__file__).with_name("claims.py")
MESSAGE = re.compile(r"^(?P<file>[^:]+):(?P<rest>\d+: .*)$", re.MULTILINE)

# NumPy's own word on importing numpy.matlib.
pytestmark = pytest.mark.filterwarnings("ignore:Importing from numpy.matlib:PendingDeprecationWarning")
needs_mypy = pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
needs_pyright = pytest.mark.skipif(shutil.which("pyright") is None, reason="needs pyright on the path")


def run_mypy(*arguments: str | Path, cache: Path, paths: tuple[Path, ...] = (ROOT, ROOT / "backends")) -> str:
    """What mypy prints, with its own settings and not the project's."""
    command = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={cache}", "--no-error-summary"]
    done = subprocess.run(
        [*command, "--no-pretty", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def messages(output: str, stem: str) -> list[str]:
    """What was said of one file, with its lines but without its name and ours."""
    found = (match for match in MESSAGE.finditer(output) if Path(match["file"]).stem == stem)
    return [match["rest"].replace('"lazyarray', '"numpy') for match in found]


def swap(source: str) -> str:
    return re.sub(r"^(\s*(?:import|from) )numpy\b", r"\1lazyarray", source, flags=re.MULTILINE)


def write_pairs(folder: Path, programs: dict[str, str]) -> list[Path]:
    """Each program twice: as it is, and with its imports of NumPy turned to ours."""
    for name, source in programs.items():
        assert swap(source) != source
        (folder / f"numpy_{name}.py").write_text(source, encoding="utf-8")
        (folder / f"ours_{name}.py").write_text(swap(source), encoding="utf-8")
    return sorted(folder.glob("*.py"))


def stubbed_modules() -> Iterator[str]:
    """NumPy's modules whose names have a stub in the package, NumPy itself first."""
    yield "numpy"
    for path in sorted(PACKAGE.rglob("*.pyi")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and parts != ("matlib",):  # deprecated; NumPy's stub exports less than the module lists
            yield ".".join(("numpy", *parts))


def public_names(module: ModuleType) -> list[str]:
    """What a module lists; where it lists nothing, what the stub spells out (releases differ in the rest)."""
    listed = getattr(module, "__all__", None) or spelled_out(module.__name__)
    return sorted(name for name in listed if not name.startswith("_"))


def spelled_out(name: str) -> list[str]:
    place = PACKAGE.joinpath(*name.split(".")[1:])
    stub = place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")
    return re.findall(r"^    (\w+) as \1,$", stub.read_text(encoding="utf-8"), re.MULTILINE)


@needs_mypy
def test_every_public_name_has_the_type_that_numpys_stubs_give_it(cache: Path, tmp_path: Path) -> None:
    programs = {}
    for path in stubbed_modules():
        names = public_names(importlib.import_module(path))
        lines = [f"import {path} as module", *(f"reveal_type(module.{name})" for name in names)]
        programs[path.replace(".", "_")] = "\n".join(lines) + "\n"
    output = run_mypy(*write_pairs(tmp_path, programs), cache=cache)
    for name, source in programs.items():
        theirs = messages(output, f"numpy_{name}")
        assert len(theirs) >= source.count("reveal_type")
        assert messages(output, f"ours_{name}") == theirs


@needs_mypy
def test_the_examples_check_with_the_same_findings_under_both_imports(cache: Path, tmp_path: Path) -> None:
    programs = {path.stem: path.read_text(encoding="utf-8") + "\nreveal_type(np.sin)\n" for path in EXAMPLES}
    files = write_pairs(tmp_path, programs)
    output = run_mypy("--check-untyped-defs", "--ignore-missing-imports", *files, cache=cache)
    assert programs
    for name in programs:
        theirs = messages(output, f"numpy_{name}")
        assert theirs
        assert messages(output, f"ours_{name}") == theirs


@needs_mypy
def test_the_claims_hold_under_mypy(cache: Path) -> None:
    assert run_mypy("--strict", "--follow-imports=silent", CLAIMS, cache=cache) == ""


@needs_mypy
def test_the_module_behind_the_stub_is_checked_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "lazyarray/__init__.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@needs_pyright
def test_the_examples_and_the_claims_hold_under_pyright(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES})
    shutil.copy(CLAIMS, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{ROOT}", "{ROOT / "backends"}"], "reportMissingImports": "none"}}', encoding="utf-8"
    )
    done = subprocess.run(
        ["pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        found = re.match(r"^\s+(?P<file>/.*?\.py):(?P<rest>\d+:\d+ - error.*)$", line)
        if found:
            said.setdefault(Path(found["file"]).stem, []).append(found["rest"])
    assert said.get("claims", []) == []
    for path in files:
        if path.stem.startswith("ours_"):
            assert said.get(path.stem, []) == said.get(path.stem.replace("ours_", "numpy_", 1), [])


def test_the_stub_has_the_names_that_are_ours() -> None:
    source = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")
    for name in lazyarray._OWN:
        assert re.search(rf"\bas {name}$|^def {name}\(", source, flags=re.MULTILINE), name


@pytest.mark.parametrize("path", [path for path in stubbed_modules() if path != "numpy"])
def test_a_stub_does_not_hide_the_module_made_at_run_time(path: str) -> None:
    ours = importlib.import_module(path.replace("numpy", "lazyarray", 1))
    theirs = importlib.import_module(path)
    assert set(public_names(theirs)) <= set(dir(ours))
    assert ours.__doc__ == theirs.__doc__
