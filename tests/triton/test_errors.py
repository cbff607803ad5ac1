"""Floating-point errors that watched kernels find, against those that the LLVM backend finds."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("triton") is None:
    pytest.skip("needs the optional dependency triton", allow_module_level=True)

from lazyarray.ir.ops import OPS, dtype_of
from lazyarray.ir.raises import INVALID, OVERFLOW
from lazyarray.runtime.backend import load
from lazyarray.schedule.kernel import Access, Instruction, Kernel, Reduction, Stage, Store
from lazyarray_triton.emit import emit
from lazyarray_triton.errors import checked, watchable
from lazyarray_triton.launch import plan_launches
from lazyarray_triton.model import Blocks, Guess, guess
from lazyarray_triton.source import Form
from tests.backends.test_elementwise import specials
from tests.triton import cases
from tests.triton.cases import bind
from tests.triton.target import ON_DEVICE

if ON_DEVICE:
    pytest.skip("runs on the interpreter: launches there take no memory for errors", allow_module_level=True)

from tests.triton.interpreter import launch

UNARY = "exp log sqrt square reciprocal sin arctanh".split()
BINARY = "add multiply divide floor_divide remainder power logaddexp".split()
BLOCKS = Blocks(1, 64, 1)
# Tiles of more elements than two warps have threads: whole rows, or columns, of 40 elements, or parts of them.
TALL = {
    (roles, form): (8, 16) if form != "tile" else (4, 64) if roles == "pr" else (64, 4)
    for roles in ("pr", "rp")
    for form in ("tile", "loop", "split", "joined")
}


def found(kernel: Kernel, arrays: list[np.ndarray], watched: str) -> dict[int, int]:
    """What an elementwise kernel in small blocks finds."""
    words = watchable(kernel)
    flags = np.zeros(len(words) + 4 & -4, np.int32)
    guess = Guess("tile", BLOCKS, BLOCKS)
    launch(kernel, bind(arrays, arrays[0].shape), guess, watched=watched, flags=flags)
    return {target: int(flags[word]) for target, word in words.items() if flags[word]}


@pytest.mark.parametrize("watched", ["exact", "checked", "apart"])
@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_a_watched_kernel_finds_what_numpy_reports(op: str, code: str, watched: str) -> None:
    count = 2 if op in BINARY else 1
    kernel = cases.elementwise(op, (code,) * count, code)
    values = specials(code)
    pairs = [np.repeat(values, len(values)), np.tile(values, len(values))] if count == 2 else [values]
    for start in range(0, len(pairs[0]), 40):
        arrays = [np.ascontiguousarray(a[start : start + 40]) for a in pairs]
        out = np.empty(len(arrays[0]), dtype_of(code))
        got = found(kernel, [*arrays, out], watched)
        raised = 0

        def note(kind: str, bits: int) -> None:
            nonlocal raised
            raised |= bits & 11

        with np.errstate(all="call", call=note):
            getattr(np, op)(*arrays)
        assert list(got.values()) == ([raised] if raised else []), (arrays, got, raised)


@pytest.mark.parametrize("watched", ["exact", "checked", "apart"])
@pytest.mark.parametrize("code", ["c8", "c16"])
@pytest.mark.parametrize("op", "less less_equal greater greater_equal equal".split())
def test_an_order_of_complex_numbers_is_told_where_parts_that_decide_are_none(op: str, code: str, watched: str) -> None:
    kernel = cases.elementwise(op, (code, code), "b1")
    pairs = {
        "numbers": ((1.0, 2.0), (np.inf, 2.0), False),
        "a real part": ((np.nan, 2.0), (1.0, 2.0), True),
        "the other real part": ((1.0, 2.0), (np.nan, 2.0), True),
        "an imaginary part of equal real ones": ((1.0, np.nan), (1.0, 2.0), True),
        "an imaginary part of real ones that differ": ((3.0, 2.0), (1.0, np.nan), False),
    }
    for name, (x, y, wanted) in pairs.items():
        arrays = [np.full(40, 2.0, dtype_of(code)) for _ in range(2)]
        arrays[0][7], arrays[1][7] = complex(*x), complex(*y)
        got = found(kernel, [*arrays, np.empty(40, bool)], watched)
        assert list(got.values()) == ([INVALID] if wanted and op != "equal" else []), name


@pytest.mark.parametrize("watched", ["exact", "checked", "apart"])
@pytest.mark.parametrize("op", ["add", "subtract"])
@pytest.mark.parametrize("code", ["c8", "c16"])
def test_each_part_of_a_complex_sum_tells_what_it_raised(code: str, op: str, watched: str) -> None:
    kernel = cases.elementwise(op, (code, code), code)
    largest = np.finfo(code).max
    sign = 1.0 if op == "subtract" else -1.0
    pairs = {
        "numbers": ((np.inf, 2.0), (1.0, 2.0), 0),
        "no number before": ((np.nan, 2.0), (1.0, np.nan), 0),
        "none of infinities": ((np.inf, 2.0), (np.inf, 2.0), 8),
        "none beside one that was none": ((np.inf, 2.0), (np.inf, np.nan), 8),
        "too large beside one that was infinite": ((largest, np.inf), (-largest, 2.0), 2),
        "both": ((np.inf, -largest), (np.inf, largest), 10),
    }
    for name, (x, y, wanted) in pairs.items():
        arrays = [np.full(40, 2.0, dtype_of(code)) for _ in range(2)]
        arrays[0][7], arrays[1][7] = complex(*x), complex(sign * y[0], sign * y[1])
        got = found(kernel, [*arrays, np.empty(40, dtype_of(code))], watched)
        assert list(got.values()) == ([wanted] if wanted else []), name


@pytest.mark.parametrize("watched", ["exact", "checked", "apart"])
@pytest.mark.parametrize(("old", "new"), [("f4", "i4"), ("f8", "i8"), ("f8", "f4"), ("f4", "f2"), ("f8", "u1")])
def test_casts_of_what_does_not_fit_are_found(old: str, new: str, watched: str) -> None:
    body = (cases.I(0, "load", (), old, 0), cases.I(1, "cast", (0,), new))
    stage = Stage("full", body, stores=(Store(1, 1),))
    kernel = Kernel(("p",), (Access(old, ("1",)), Access(new, ("1",))), (), (stage,))
    for value, raises in ((3.0, False), (1e300 if old == "f8" else 1e30, True)):
        data, out = np.full(100, 2.0, old), np.empty(100, new)
        data[77] = value
        got = found(kernel, [data, out], watched)
        assert set(got) == ({1} if raises else set()), (value, got)


@pytest.mark.parametrize("watched", ["exact", "checked", "apart"])
@pytest.mark.parametrize("form", ["tile", "loop", "online", "split", "joined"])
@pytest.mark.parametrize("roles", ["pr", "rp"])
@pytest.mark.parametrize("op", ["sum", "prod", "running sum", "running prod"])
def test_sums_that_overflow_are_told_and_those_of_what_was_infinite_are_not(
    op: str, roles: str, form: str, watched: str
) -> None:
    _, running, plain = op.rpartition("running ")
    kernel = cases.scan(plain, "f4", roles) if running else cases.reduction(plain, "f4", roles)
    if form not in forms_of(kernel):
        pytest.skip("not a form of this kernel")
    extents = (3, 70) if roles == "pr" else (70, 3)
    pairs = {
        "fine": ((1.0, 1.0), 0),
        "overflows": ((3e38, 3e38), 2),
        "has an infinity": ((np.inf, np.inf), 0),
        "has both": ((np.inf, 0.0 if plain == "prod" else -np.inf), 8),
        "has a NaN": ((np.nan, 1.0), 0),
    }
    for name, (odd, wanted) in pairs.items():
        data = np.ones(extents, np.float32)
        row = data[1] if roles == "pr" else data[:, 1]
        row[5], row[66] = odd
        if running:
            outs = [np.zeros(extents, np.float32) for _ in range(2)]
        else:
            outs = [np.broadcast_to(np.zeros((3, 1) if roles == "pr" else (1, 3), np.float32), extents)]
        flags = np.zeros(8, np.int32)
        guess = cases.small_blocks(kernel, extents, form)
        launch(kernel, bind([data, *outs], extents), guess, watched=watched, flags=flags)
        assert flags[watchable(kernel)[1]] == wanted, name


SEVERAL = [
    (cases.softmax("f4", "pr", keep=True), (5, 150)),
    (cases.softmax("f4", "rp", keep=False), (70, 9)),
    (cases.several("pr"), (4, 130)),
    (cases.mixed_elementwise(2), (7, 90)),
    (cases.variance("f4", "pr"), (4, 130)),
    (cases.normalised("f4", True), (4, 130)),
]


@pytest.mark.parametrize("watched", ["exact", "checked", "apart"])
@pytest.mark.parametrize("form", ["tile", "loop", "online", "split", "joined"])
@pytest.mark.parametrize("number", range(len(SEVERAL)))
def test_kernels_of_several_stages_find_what_llvm_finds(number: int, form: str, watched: str) -> None:
    kernel, extents = SEVERAL[number]
    if form not in forms_of(kernel):
        pytest.skip("not a form of this kernel")
    rng = np.random.default_rng(number)
    for spoiled in (False, True):
        arrays = []
        for access in kernel.accesses:
            data = rng.uniform(0.5, 2.0, extents).astype(dtype_of(access.code))
            if spoiled:
                data[-1, -2] = -np.finfo(data.dtype).max if data.dtype.kind == "f" else 0
            arrays.append(data)
        strides = tuple(
            tuple(0 if step == "0" else s for step, s in zip(a.steps, data.strides, strict=True))
            for a, data in zip(kernel.accesses, arrays, strict=True)
        )
        scalars = tuple(1.5 if code[0] == "f" else 2 for code in kernel.scalars)
        binding = bind(arrays, extents)._replace(strides=strides, scalars=scalars)
        copies = [a.copy() for a in arrays]
        other = binding._replace(pointers=tuple(a.ctypes.data for a in copies))
        expected = load("llvm").compile(kernel).watch(other)
        words = watchable(kernel)
        flags = np.zeros(len(words) + 4 & -4, np.int32)
        guess = cases.small_blocks(kernel, extents, form)
        launch(kernel, binding, guess, watched=watched, flags=flags)
        got = {target: int(flags[word]) for target, word in words.items() if flags[word]}
        assert got == {target: bits for target, bits in expected.items() if target in words}


def forms_of(kernel: Kernel) -> tuple[str, ...]:
    from lazyarray_triton.emit import forms

    return forms(kernel)


def test_most_programs_look_at_what_shows_all_errors_only() -> None:
    kernel = cases.activation("f4")
    assert len(checked(kernel)) < len(watchable(kernel))
    assert all(OPS[i.op].ufunc for s in kernel.stages for i in s.body if i.target in checked(kernel))


def a_chain(count: int) -> Kernel:
    """Doubles its values again and again."""
    body = [Instruction(0, "load", (), "f4", 0)]
    body += [Instruction(k, "add", (k - 1, k - 1), "f4") for k in range(1, count + 1)]
    accesses = (Access("f4", ("1",)), Access("f4", ("1",)))
    return Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(1, count),)),))


def test_a_look_at_many_values_finds_the_one_that_overflowed() -> None:
    x, out = np.array([1, 2.0**100, 3, np.inf], np.float32), np.empty(4, np.float32)
    assert found(a_chain(40), [x, out], "apart") == {28: OVERFLOW}


def test_a_look_at_many_values_compiles_them_for_one_element_a_thread() -> None:
    for count, elements in ((4, 1024), (40, 128)):
        kernel = a_chain(count)
        chosen = guess(kernel, (1 << 20,))
        main, look = plan_launches(emit(kernel, "tile", "apart"), (1 << 20,), chosen).steps
        assert main.blocks == chosen.blocks
        assert (look.blocks.y, look.blocks.warps) == (elements, 4)
        assert look.turns == (1 << 20) // elements


def a_sum_of_a_chain(count: int, roles: str) -> Kernel:
    """Adds up, along an axis, what was doubled again and again."""
    body = a_chain(count).stages[0].body
    steps = tuple("s" if role == "p" else "0" for role in roles)
    accesses = (Access("f4", ("s", "1")), Access("f4", steps))
    total = Reduction(count + 1, "sum", count, "f4")
    stages = (Stage("full", body, reductions=(total,)), Stage("row", (), stores=(Store(1, count + 1),)))
    return Kernel(tuple(roles), accesses, (), stages)


@pytest.mark.parametrize("form", ["tile", "loop", "split", "joined"])
@pytest.mark.parametrize("roles", ["pr", "rp"])
def test_a_look_at_many_values_of_rows_and_columns_has_few_a_thread_and_finds_the_same(roles: str, form: Form) -> None:
    kernel, extents = a_sum_of_a_chain(30, roles), (40, 40)
    x, out = np.ones(extents, np.float32), np.empty(40, np.float32)
    x[33, 39] = 2.0**100
    chosen = replace(cases.small_blocks(kernel, extents, form), blocks=Blocks(*TALL[roles, form], 2))
    binding = bind([x, out], extents)._replace(strides=(x.strides, (4, 0) if roles == "pr" else (0, 4)))
    words = watchable(kernel)
    flags = np.zeros(len(words) + 4 & -4, np.int32)
    launch(kernel, binding, chosen, watched="apart", flags=flags)
    assert {target: int(flags[word]) for target, word in words.items() if flags[word]} == {28: OVERFLOW}
    step = plan_launches(emit(kernel, form, "apart"), extents, chosen).steps[-1]
    assert step.function.looks
    held = 64 if form == "tile" else 1
    assert step.blocks.x * step.blocks.y <= max(64, held)
    assert (step.blocks.y if roles == "pr" else step.blocks.x) >= held


def test_no_atomic_operation_is_laid_out_for_each_value() -> None:
    assert "tl.atomic" not in emit(a_chain(40), "tile", "apart").text
