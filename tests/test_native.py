"""The compiled form of the hot modules: what it is made of decides what is compiled again."""

from __future__ import annotations

import importlib
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from lazyarray import native
from lazyarray.native import build

MODULES = ("lazyarray.ir.node", "lazyarray.frontend.small")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of two modules and their types, which the build takes for the project."""
    pytest.importorskip("Cython")
    for module in MODULES:
        source = build.file_of(module)
        target = tmp_path / source.relative_to(build.ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        for suffix in (".py", ".pxd"):
            target.with_suffix(suffix).write_text(source.with_suffix(suffix).read_text())
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "file_of", lambda module: tmp_path.joinpath(*module.split(".")).with_suffix(".py"))
    return tmp_path


def test_a_changed_module_is_compiled_again_alone(tree: Path) -> None:
    before = build.inputs_of(MODULES)
    assert build.inputs_of(MODULES) == before
    source = tree / "lazyarray" / "frontend" / "small.py"
    source.write_text(source.read_text() + "\n")
    after = build.inputs_of(MODULES)
    assert [module for module in MODULES if after[module] != before[module]] == ["lazyarray.frontend.small"]


def test_changed_types_and_flags_compile_all_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.inputs_of(MODULES)
    types = tree / "lazyarray" / "ir" / "node.pxd"
    types.write_text(types.read_text() + "\n")
    after = build.inputs_of(MODULES)
    assert all(after[module] != before[module] for module in MODULES)
    monkeypatch.setattr(build, "FLAGS", ["-O3"])
    assert all(build.inputs_of(MODULES)[module] != after[module] for module in MODULES)


def test_modules_of_one_name_have_names_of_their_own_in_the_library() -> None:
    if not native.COMPILED:
        pytest.skip(native.WHY_PYTHON)
    assert len(set(native.COMPILED.values())) == 1
    names = [native.whole_name(module) for module in native.COMPILED]
    assert len(set(names)) == len(names)
    for module in ("lazyarray.runtime.banded", "lazyarray_llvm.banded"):
        loaded = importlib.import_module(module)
        assert (loaded.__name__, loaded.__package__) == (module, module.rpartition(".")[0])
        assert loaded.__file__ == native.COMPILED[module]


def test_marked_lines_become_cythons_and_stay_where_they_were() -> None:
    source = (
        "from __future__ import annotations\n\nfrom a.b import c, d  # cimport\n\n"
        "# Why that is so:\n# freelist 64\nclass Made:\n    pass\n"
    )
    assert build.rewrite(source) == (
        "from __future__ import annotations; import cython\n\nfrom cython.cimports.a.b import c, d\n\n"
        "@cython.freelist(64)\n@cython.cclass\nclass Made:\n    pass\n"
    )
    unmarked = source.replace("# freelist 64\n", "")
    assert "import cython" not in build.rewrite(unmarked)


@pytest.mark.parametrize("file", sorted(Path(native.__file__).parent.glob("*.pxd")), ids=lambda file: file.name)
def test_what_is_written_in_c_is_part_of_what_compiled_modules_were_made_of(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, read = str(build.file_of("lazyarray.frontend.segments")), native._read
    before = native.digest_of(source)
    monkeypatch.setattr(native, "_taken_in", [])
    monkeypatch.setattr(native, "_read", lambda name: read(name) + b" " * (Path(name) == file))
    assert native.digest_of(source) != before


def test_a_build_leaves_bytecode_of_all_modules(tree: Path) -> None:
    build.build_bytecode()
    sources = list(tree.rglob("*.py"))
    assert len(sources) == len(MODULES)
    assert all(Path(cache_from_source(str(source))).exists() for source in sources)
