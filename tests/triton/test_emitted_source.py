"""What is emitted, without Triton: texts that name what exists, are the same every time, and take what they use."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lazyarray_triton
from lazyarray.ir.ops import OPS, is_own_loop
from lazyarray.schedule.kernel import Access, Kernel, Stage, Store
from lazyarray_triton import backend
from lazyarray_triton.codes import class_of
from lazyarray_triton.emit import emit, forms
from lazyarray_triton.errors import watchable
from lazyarray_triton.ones import numerators, with_ones
from lazyarray_triton.passes import goes_back
from lazyarray_triton.source import TritonSource
from lazyarray_triton.table import RULES
from tests.backends.test_random_kernels import Draw
from tests.triton import cases
from tests.triton.cases import I

DEVICE = Path(lazyarray_triton.__file__).parent / "device"
KERNELS: dict[str, Kernel] = {
    "activation": cases.activation("f4"),
    "four axes": cases.mixed_elementwise(4),
    "softmax": cases.softmax("f4", "pr", keep=True),
    "softmax of columns": cases.softmax("f2", "rp", keep=True, in_place=True),
    "layer norm": cases.layer_norm("f8"),
    "variance": cases.variance("f4", "prp"),
    "normalised": cases.normalised("f4", True),
    "several": cases.several("prp"),
    "scan": cases.scan("prod", "c8", "pr"),
    "pack": cases.pack("c16", 2),
    "put": cases.put("b1", masked=True),
}


def functions_of_devices() -> set[str]:
    found = set()
    for file in DEVICE.glob("*.py"):
        tree = ast.parse(file.read_text())
        found |= {f"{file.stem}.{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)}
    return found


def sources() -> list[TritonSource]:
    drawn = {f"random {seed}": Draw(seed).kernel for seed in range(40)}
    return [emit(kernel, form) for kernel in (KERNELS | drawn).values() for form in forms(kernel)]


def called(tree: ast.AST) -> set[str]:
    """The `module.name` of every attribute of a name."""
    return {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def test_emitted_modules_name_device_functions_that_exist() -> None:
    known, modules = functions_of_devices(), {file.stem for file in DEVICE.glob("*.py")}
    for source in sources():
        named = {name for name in called(ast.parse(source.text)) if name.partition(".")[0] in modules}
        assert named <= known


def test_the_table_names_device_functions_that_exist() -> None:
    known = functions_of_devices()
    rules = {rule for table in RULES.values() for rule in table.values() if rule[0].isalpha() and "(" not in rule}
    assert rules <= known


def test_every_op_of_the_table_has_a_rule_for_some_dtype() -> None:
    ruled = {op for table in RULES.values() for op in table}
    assert {name for name in OPS if not is_own_loop(name)} - ruled == {"cast"}


@pytest.mark.parametrize("name", KERNELS)
def test_functions_take_what_they_use(name: str) -> None:
    for form in forms(KERNELS[name]):
        source = emit(KERNELS[name], form)
        tree = ast.parse(source.text)
        defined = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        records = {f.name: f for f in source.functions}
        assert [node.name for node in defined if node.name in records] == list(records)
        called = {node.name for node in defined} - set(records)
        assert all(form == "joined" and name.startswith("together") for name in called)
        for node in defined:
            given = [a.arg for a in node.args.args]
            if node.name in records:
                record = records[node.name]
                assert given == [*(a.name for a in record.arguments), *record.constants]
            loaded = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            imported = {n.name for i in tree.body if isinstance(i, ast.ImportFrom) for n in i.names}
            imported |= {"tl", "triton", "float", "range"} | called
            assert loaded <= stored | set(given) | imported
            assert set(given) - {"INDEX"} <= loaded


def test_equal_kernels_are_equal_texts_whatever_was_emitted_before() -> None:
    texts = [emit(cases.layer_norm("f4"), "split").text for _ in range(2)]
    emit(cases.several("pr"), "split")
    assert {*texts, emit(cases.layer_norm("f4"), "split").text} == {texts[0]}


def test_a_row_softmax_is_one_function_that_reads_its_input_once_when_it_is_held() -> None:
    kernel = cases.softmax("f4", "pr", keep=True)
    (function,) = emit(kernel, "tile").functions
    assert function.text.count("elementary.exp") == 1
    (looped,) = emit(kernel, "loop").functions
    assert looped.text.count("elementary.exp") == 2  # it is computed again rather than kept in memory
    assert emit(kernel, "loop").works == ()


def test_every_other_stage_goes_through_rows_from_their_ends() -> None:
    """It finds what was read last in a near cache; what follows from the order of elements is not walked so."""
    kernel = cases.softmax("f4", "pr", keep=True)
    loops = [line.split()[1] for line in emit(kernel, "loop").text.splitlines() if " in range(" in line]
    assert loops == ["at", "back", "at"]
    plain, ordered = kernel.stages[0], cases.several("pr").stages[0]
    assert any(r.op == "argmax" for r in ordered.reductions)
    assert goes_back(kernel._replace(stages=(ordered, plain)), plain)
    assert not goes_back(kernel._replace(stages=(plain, ordered)), ordered)


def test_what_a_reduction_reads_once_takes_no_place_in_the_caches() -> None:
    passing = 'eviction_policy="evict_first"'
    assert passing in emit(cases.reduction("sum", "f4", "rp"), "split").text
    assert passing not in emit(cases.softmax("f4", "pr", keep=True), "tile").text


def test_rows_that_are_read_again_stay_in_the_caches_until_the_last_time() -> None:
    lines = [line for line in emit(cases.layer_norm("f4"), "loop").text.splitlines() if "tl.load(a0" in line]
    assert len(lines) > 1
    assert ["evict_last" in line for line in lines] == [True] * (len(lines) - 1) + [False]
    assert ["evict_first" in line for line in lines] == [False] * (len(lines) - 1) + [True]
    assert "evict" not in emit(cases.layer_norm("f4"), "split").text  # one row may be longer than a cache


def test_what_an_earlier_stage_overwrote_is_kept_in_memory() -> None:
    source = emit(cases.softmax("f4", "pr", keep=True, in_place=True), "loop")
    assert [w.size for w in source.works] == ["full"]
    assert "tl.debug_barrier()" in source.text


def test_classes_of_dtypes() -> None:
    assert [class_of(c) for c in ("b1", "u4", "f2", "f8", "c8")] == ["bool", "integer", "half", "float", "complex"]


def test_one_over_something_is_a_reciprocal_where_that_scalar_is_one() -> None:
    body = (I(0, "scalar", (), "f8", 0), I(1, "load", (), "f8", 0), I(2, "divide", (0, 1), "f8"))
    more = (I(3, "scalar", (), "f8", 1), I(4, "multiply", (2, 3), "f8"))
    accesses = (Access("f8", ("1",)),) * 2
    kernel = Kernel(("p",), accesses, ("f8", "f8"), (Stage("full", (*body, *more), stores=(Store(1, 4),)),))
    assert numerators(kernel) == (0,)
    assert "exact.reciprocal(v1)" in emit(with_ones(kernel, (1.0, 1.0)), "tile").text
    assert "exact.divide(v0, v1)" in emit(with_ones(kernel, (3.0, 1.0)), "tile").text
    assert watchable(with_ones(kernel, (1.0, 1.0))) == watchable(kernel)


def test_launches_are_prepared_apart_for_scalars_that_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[complex, ...]] = []

    class Fake:
        def __init__(self, device: Any, kernel: Any, binding: Any, *given: Any, at_once: bool = True) -> None:
            made.append(binding.scalars)
            self.source = SimpleNamespace(text="")

        def load(self) -> None:
            pass

        def launch(self, pointers: Any, *given: Any) -> None:
            pass

    monkeypatch.setattr(backend, "Prepared", Fake)
    body = (I(0, "scalar", (), "f4", 0), I(1, "load", (), "f4", 0), I(2, "divide", (0, 1), "f4"))
    kernel = Kernel(("p",), (Access("f4", ("1",)),) * 2, ("f4",), (Stage("full", body, stores=(Store(1, 2),)),))
    program = backend.Program(SimpleNamespace(choices=None), kernel)  # type: ignore[arg-type]
    bound = program.launcher((1000,), ((4,), (4,)), (4000, 4000))
    for scalar in (1.0, 2.0, 1.0, 3.0):
        bound.start([16, 32], [scalar], [16, 32])
    assert made == [(1.0,), (2.0,)]
