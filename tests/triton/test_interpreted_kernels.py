"""Kernels of every class, emitted, run under Triton's interpreter in every form, and compared with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("triton") is None:
    pytest.skip("needs the optional dependency triton", allow_module_level=True)

from lazyarray.ir.installed import POWER_HAS_SHORTCUTS
from lazyarray.ir.ops import dtype_of
from lazyarray.schedule.kernel import Access, Binding, Kernel, Stage, Store
from lazyarray_triton.emit import emit, forms
from lazyarray_triton.model import guess
from lazyarray_triton.moments import one_pass
from tests.backends.test_random_kernels import Draw
from tests.oracle import Oracle
from tests.triton import cases
from tests.triton.cases import I, bind, kept_shape, small_blocks
from tests.triton.target import launch

CODES = ["b1", "i1", "u1", "i4", "u8", "f2", "f4", "f8", "c8"]
ROLES = ["r", "prp", "rr", "prr", "rrp"]


def data(code: str, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed + len(shape))
    if code == "b1":
        return draw.integers(0, 2, shape).astype(bool)
    if code[0] in "iu":
        return draw.integers(0 if code[0] == "u" else -100, 100, shape).astype(code)
    if code[0] == "c":
        return (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(code)
    return draw.standard_normal(shape).astype(code)


def check(
    kernel: Kernel,
    arrays: Sequence[np.ndarray],
    extents: Sequence[int],
    outs: Sequence[int],
    scalars: Sequence[complex] = (),
    *,
    rounded: bool = False,
    origins: dict[int, tuple[int, int]] | None = None,
) -> None:
    """Every form of a kernel leaves in the arrays `outs` what the oracle leaves; `rounded`: but for rounding."""
    before = [arrays[k].copy() for k in range(len(arrays))]
    walks = [np.broadcast_to(a, extents) if a.size else a for a in arrays]
    with np.errstate(all="ignore"):
        Oracle().compile(kernel).launch(bind(walks, extents, scalars))
    expected = [arrays[k].copy() for k in outs]
    for form in forms(kernel):
        for k, a in enumerate(arrays):
            if a.flags.writeable:
                a[...] = before[k]
        launch(kernel, bind(walks, extents, scalars), small_blocks(kernel, extents, form), origins)
        for k, wanted in zip(outs, expected, strict=True):
            agree(arrays[k], wanted, rounded=rounded, note=f"{form} {extents} array {k}")


def agree(got: np.ndarray, expected: np.ndarray, *, rounded: bool = False, note: str = "") -> None:
    assert got.dtype == expected.dtype
    if not rounded or got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected, err_msg=note)
        return
    eps = np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=64 * eps, atol=64 * eps, err_msg=note)


@pytest.mark.parametrize("columns", [5, 16, 31])
def test_large_launches_without_masks_or_that_begin_earlier_give_the_same(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("lazyarray_triton.launch._LARGE", 1)
    monkeypatch.setattr("lazyarray_triton.launch._LINE", 16)
    whole = [np.zeros((8, 40), np.float32), np.zeros((8, 40), np.float32)]
    for a in whole:
        a[...] = data("f4", a.shape, 1)
    kernel = Kernel(
        ("p", "p"),
        (Access("f4", ("s", "1")),) * 3,
        (),
        (Stage("full", (I(0, "load", (), "f4", 0), I(1, "load", (), "f4", 1), I(2, "subtract", (0, 1), "f4")),
               stores=(Store(2, 2),)),),
    )  # fmt: skip
    for start in range(4):
        rows = [whole[0][:, start : start + columns], whole[0][:, start + 1 : start + 1 + columns]]
        out = whole[1][:, start : start + columns]
        check(kernel, [*rows, out], (8, columns), (2,))
    check(cases.softmax("f4", "pr", keep=True), [data("f4", (8, 16), 2), np.zeros((8, 16), np.float32)], (8, 16), (1,),
          rounded=True)  # fmt: skip


# -- elementwise -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(40,), (3, 5), (5, 70), (2, 3, 4), (2, 2, 2, 9), (0, 4), (4, 0)])
def test_elementwise_over_any_rank(shape: tuple[int, ...]) -> None:
    kernel = cases.mixed_elementwise(len(shape))
    a, v, c = data("f8", shape), data("f4", shape[-1:]), data("i4", (*shape[:-1], 1))
    d = data("f8", (*shape[:-1], shape[-1] * 5))[..., ::5]
    out = np.zeros(shape)
    arrays = [a, np.broadcast_to(v, shape), np.broadcast_to(c, shape), d, out]
    launch(kernel, bind(arrays, shape, (1.25,)))
    index = np.indices(shape)
    agree(out, a * v + c * 1.25 - d + (index[-1] + index[0]))


@pytest.mark.parametrize("code", ["b1", "i1", "u2", "f2", "f4", "i8", "c8", "c16"])
@pytest.mark.parametrize("step", ["1", "-1", "2", "3", "4", "s"])
def test_copies_walk_every_step_and_touch_nothing_else(code: str, step: str) -> None:
    stage = Stage("full", (I(0, "load", (), code, 0),), stores=(Store(1, 0),))
    kernel = Kernel(("p",), (Access(code, (step,)), Access(code, (step,))), (), (stage,))  # type: ignore[arg-type]
    factor = 5 if step == "s" else int(step)
    source, target = data(code, (abs(factor) * 50,)), data(code, (abs(factor) * 50,), 1)
    before = target.copy()
    launch(kernel, bind([source[::factor], target[::factor]], (50,)))
    before[::factor] = source[::factor]
    agree(target, before)


def test_a_kernel_without_axes() -> None:
    body = (I(0, "load", (), "f8", 0), I(1, "scalar", (), "f8", 0), I(2, "add", (0, 1), "f8"))
    kernel = Kernel((), (Access("f8", ()), Access("f8", ())), ("f8",), (Stage("full", body, stores=(Store(1, 2),)),))
    a, out = np.array(2.5), np.array(0.0)
    launch(kernel, bind([a, out], (), (3,)))
    assert out == 5.5


@pytest.mark.skipif(not POWER_HAS_SHORTCUTS, reason="this NumPy computes every power alike")
@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("number", [2.0, 0.5, -1.0, 0.0, 1.0, 1.5])
def test_powers_by_one_number_are_numpys_products_quotients_and_roots(code: str, number: float) -> None:
    body = (I(0, "load", (), code, 0), I(1, "scalar", (), code, 0), I(2, "power", (0, 1), code))
    kernel = Kernel(("p",), (Access(code, ("1",)),) * 2, (code,), (Stage("full", body, stores=(Store(1, 2),)),))
    x, out = np.zeros((2, 40), code)
    x[:] = abs(data(code, x.shape))
    x[:5] = -np.inf, np.inf, np.nan, 0.0, -0.0
    launch(kernel, bind([x, out], x.shape, (number,)))
    with np.errstate(all="ignore"):
        agree(out, np.power(x, x.dtype.type(number)), rounded=number == 1.5)


@pytest.mark.parametrize("code", ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_scalars_arrive_as_their_dtype(code: str) -> None:
    stage = Stage("full", (I(0, "scalar", (), code, 0),), stores=(Store(0, 0),))
    kernel = Kernel(("p",), (Access(code, ("1",)),), (code,), (stage,))
    dtype = dtype_of(code)
    numbers: list[complex] = {"b": [True], "i": [-1, 100], "u": [1, 200], "f": [0.1, 1e300], "c": [0.1 - 2j]}[code[0]]
    if code in ("i8", "u8"):
        numbers = [*numbers, 2**62 + 1]
    for number in numbers:
        out = np.zeros(3, dtype)
        launch(kernel, bind([out], (3,), (number,)))
        with np.errstate(over="ignore"):
            agree(out, np.full(3, number, "c16" if code[0] == "c" else None).astype(dtype))


def test_masked_stores_leave_the_rest() -> None:
    for code in ("b1", "i2", "f4", "c16"):
        body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1))
        accesses = (Access(code, ("1",)), Access("b1", ("1",)), Access(code, ("1",)))
        kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 0, 1),)),))
        a, mask, out = data(code, (70,)), data("b1", (70,), 1), data(code, (70,), 2)
        expected = np.where(mask, a, out)
        launch(kernel, bind([a, mask, out], (70,)))
        agree(out, expected)


def test_in_place_updates() -> None:
    body = (I(0, "load", (), "f4", 0), I(1, "multiply", (0, 0), "f4"))
    kernel = Kernel(("p",), (Access("f4", ("-1",)),) * 2, (), (Stage("full", body, stores=(Store(1, 1),)),))
    a = data("f4", (50,))
    expected = a * a
    launch(kernel, bind([a[::-1], a[::-1]], (50,)))
    agree(a, expected)


# -- reductions ------------------------------------------------------------------------------------------------------
def operations(code: str) -> list[str]:
    names = ["min", "max", "any", "all", "argmin", "argmax"]
    names += ["sum", "prod"] if code != "b1" else []
    names += ["fmin", "fmax"] if code[0] in "fc" else []
    return names + (["band", "bor", "bxor"] if code[0] in "iub" else [])


@pytest.mark.parametrize(
    ("roles", "code"), [*((r, c) for r in ("pr", "rp") for c in CODES), *((r, c) for r in ROLES for c in ("i1", "f4"))]
)
def test_reductions(roles: str, code: str) -> None:
    shape = {"r": (70,), "pr": (3, 70), "rp": (70, 3), "rr": (3, 40), "prp": (2, 30, 3), "rrp": (3, 9, 5)}.get(
        roles, (2, 3, 20)
    )
    for op in operations(code):
        if op.startswith("arg") and roles.count("r") > 1:
            continue
        kernel = cases.reduction(op, code, roles)
        a = data(code, shape)
        if code[0] in "fc":
            a = (1 + a / 16).astype(a.dtype) if op == "prod" else a
        out = np.zeros(kept_shape(roles, shape), dtype_of(kernel.accesses[1].code))
        check(kernel, [a, out], shape, [1], rounded=op in ("sum", "prod"))


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "c8"])
def test_nan_wins_and_loses_in_reductions(code: str) -> None:
    for roles, shape in (("pr", (5, 40)), ("rp", (40, 5))):
        a = data(code, shape)
        draw = np.random.default_rng(3)
        for value in (np.nan, np.inf, -np.inf):
            a[tuple(draw.integers(0, s, 3) for s in shape)] = value
        if roles == "pr":
            a[0] = np.nan
        for op in ("min", "max", "fmin", "fmax", "argmin", "argmax", "any"):
            if code[0] == "c" and op in ("fmin", "fmax"):
                continue
            kernel = cases.reduction(op, code, roles)
            out = np.zeros(kept_shape(roles, shape), dtype_of(kernel.accesses[1].code))
            check(kernel, [a, out], shape, [1])


@pytest.mark.parametrize("code", ["i4", "u1", "f2", "f8", "c16"])
def test_masked_reductions_with_a_start(code: str) -> None:
    for roles, shape in (("pr", (3, 40)), ("rp", (40, 3)), ("r", (40,))):
        mask = np.random.default_rng(1).random(shape) < 0.6
        for op in ("sum", "max", "any"):
            kernel = cases.reduction(op, code, roles, where=True, start=True)
            out = np.zeros(kept_shape(roles, shape), dtype_of(kernel.accesses[1].code))
            check(kernel, [data(code, shape), out, mask], shape, [1], (1,), rounded=op == "sum")


@pytest.mark.parametrize(("roles", "shape"), [("pr", (3, 0)), ("rp", (0, 3)), ("r", (0,))])
def test_the_reduction_of_nothing_is_its_start(roles: str, shape: tuple[int, ...]) -> None:
    for code in ("f4", "i4", "c16"):
        for start in (False, True):
            kernel = cases.reduction("sum", code, roles, start=start)
            for form in forms(kernel):
                out = np.full(kept_shape(roles, shape), 7, code)
                strides = tuple(0 if r == "r" else s for r, s in zip(roles, out.strides, strict=True))
                binding = Binding(shape, (0, out.ctypes.data), (strides, strides), (2,) if start else ())
                launch(kernel, binding, small_blocks(kernel, shape, form))
                agree(out, np.full_like(out, 2 if start else 0))


def test_a_sum_of_negative_zeros_is_positive() -> None:
    for roles, shape in (("pr", (2, 32)), ("rp", (4, 32))):
        a, kernel = np.full(shape, -0.0, np.float32), cases.reduction("sum", "f4", roles)
        for form in forms(kernel):
            out = np.full(kept_shape(roles, shape), 7, np.float32)
            launch(kernel, bind([a, np.broadcast_to(out, shape)], shape), small_blocks(kernel, shape, form))
            assert not np.signbit(out).any()


@pytest.mark.parametrize("roles", ["r", "pr", "rp"])
def test_several_reductions_share_a_pass(roles: str) -> None:
    shape = {"r": (40,), "pr": (3, 40), "rp": (40, 3)}[roles]
    kernel = cases.several(roles)
    outs = [np.zeros(kept_shape(roles, shape), dtype_of(a.code)) for a in kernel.accesses[1:]]
    check(kernel, [data("f8", shape), *outs], shape, [1, 2, 3, 4], rounded=True)


# -- stages ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("keep", "in_place"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("roles", ["pr", "rp", "r", "prp"])
def test_softmax(roles: str, keep: bool, in_place: bool) -> None:
    shape = {"pr": (3, 70), "rp": (70, 3), "r": (100,), "prp": (2, 30, 5)}[roles]
    kernel = cases.softmax("f4", roles, keep=keep, in_place=in_place)
    check(kernel, [data("f4", shape), np.zeros(shape, np.float32)], shape, [0, 1], rounded=True)


def test_layer_norm() -> None:
    shape = (4, 100)
    arrays = [data("f8", shape), data("f8", (1, 100), 1), data("f8", (1, 100), 2), np.zeros(shape)]
    check(cases.layer_norm("f8"), arrays, shape, [3], (1 / 100, 1e-5), rounded=True)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("roles", ["pr", "rp", "r", "prp", "prr"])
def test_variances_are_found_in_one_pass(roles: str, code: str) -> None:
    shape = {"pr": (3, 70), "rp": (70, 3), "r": (203,), "prp": (2, 60, 5), "prr": (2, 8, 9)}[roles]
    kernel = cases.variance(code, roles)
    assert sum(s.level == "full" for s in one_pass(kernel).stages) == 1
    number = int(np.prod([n for n, r in zip(shape, roles, strict=True) if r == "r"]))
    for offset, share in ((0, 1 / number), (1000, 1 / number), (3, 0.5 / number)):
        a = (data(code, shape) + offset).astype(code)
        outs = [np.zeros(kept_shape(roles, shape), code) for _ in range(3)]
        check(kernel, [a, *outs], shape, [2], (share,))
        eps, axes = np.finfo(code).eps, tuple(k for k, r in enumerate(roles) if r == "r")
        wide = a.astype("f8")
        wanted = np.sqrt(((wide - wide.sum(axis=axes, keepdims=True) * share) ** 2).sum(axis=axes, keepdims=True))
        for form in ("loop", "online", "split", "joined"):
            launch(kernel, bind([np.broadcast_to(x, shape) for x in (a, *outs)], shape, (share,)),
                   small_blocks(kernel, shape, form))  # fmt: skip
            np.testing.assert_allclose(outs[2], wanted.astype(code), 8 * eps * max(1, offset))


@pytest.mark.parametrize("odd", [None, np.nan, np.inf])
@pytest.mark.parametrize("length", [1, 31, 32, 33, 128, 203])
def test_many_numbers_of_a_row_are_right_at_the_end_of_the_last_tile(length: int, odd: float | None) -> None:
    """Whole tiles have a loop without masks, the last one another."""
    kernel, a = cases.statistics(), data("f4", (length,))
    if odd is not None:
        a[length // 2] = odd
    outs = [np.zeros(1, np.float32) for _ in range(4)]
    check(kernel, [a, *outs], (length,), [1, 2, 3, 4], (1 / length,), rounded=True)
    assert "rest = " in emit(kernel, "joined").text


@pytest.mark.parametrize("keep", [False, True])
def test_rows_over_the_root_of_their_variance(keep: bool) -> None:
    kernel, shape = cases.normalised("f4", keep), (3, 100)
    assert sum(s.level == "full" for s in one_pass(kernel).stages) == 2
    check(kernel, [data("f4", shape), np.zeros(shape, np.float32)], shape, [1], (1 / 100,), rounded=True)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38, "both"])
def test_variances_of_what_is_not_finite_or_overflows_are_numpys(odd: float | str) -> None:
    kernel, shape = cases.variance("f4", "pr"), (3, 70)
    a = data("f4", shape)
    a[1, [5, 66]] = (-3e38, 3e38) if odd == "both" else odd
    with np.errstate(all="ignore"):
        wanted = ((a - a.mean(axis=1, keepdims=True)) ** 2).sum(axis=1, keepdims=True)
    for form in ("tile", "loop", "online", "split", "joined"):
        outs = [np.zeros((3, 1), np.float32) for _ in range(3)]
        walks = [np.broadcast_to(x, shape) for x in (a, *outs)]
        launch(kernel, bind(walks, shape, (1 / 70,)), small_blocks(kernel, shape, form))
        agree(outs[2], np.sqrt(wanted), rounded=True, note=form)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("roles", ["pr", "rp", "r"])
def test_sums_of_exponentials_are_found_along_with_the_largest(roles: str, code: str) -> None:
    """Elements in any order, some far from the others, some infinite: as in three passes."""
    shape = {"pr": (5, 90), "rp": (90, 5), "r": (200,)}[roles]
    kernel = cases.softmax(code, roles, keep=True)
    assert sum(s.level == "full" for s in one_pass(kernel).stages) == 2
    a = data(code, shape) * 30
    lines = a.reshape(1, -1) if roles == "r" else a if roles == "pr" else a.T
    lines[0, :40], lines[0, 50] = -np.inf, 300.0
    if roles != "r":
        lines[1, 7], lines[2] = np.nan, -np.inf
        lines[3, 60], lines[4] = np.inf, np.sort(lines[4])
    check(kernel, [a, np.zeros(shape, code)], shape, [1], rounded=True)


@pytest.mark.parametrize("first", range(0, 36, 6))
def test_random_kernels(first: int) -> None:
    for seed in range(first, first + 6):
        with np.errstate(all="ignore"):
            size = int(np.prod(Draw(seed).extents))
        if size > 3000:
            continue
        for form in forms(Draw(seed).kernel):
            with np.errstate(all="ignore"):
                drawn = Draw(seed)
            launch(drawn.kernel, drawn.binding(), small_blocks(drawn.kernel, drawn.extents, form))
            summed = any(r.op == "sum" for s in drawn.kernel.stages for r in s.reductions)
            for access, expected in drawn.expected:
                got = drawn.arrays[access]
                if summed and got.dtype.kind in "fc":
                    tolerance = float(np.finfo(got.dtype).eps) * 64
                    scale = np.nanmax(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=1)
                    np.testing.assert_allclose(got, expected, tolerance, tolerance * scale, err_msg=f"seed {seed}")
                else:
                    np.testing.assert_array_equal(got, expected, err_msg=f"seed {seed} {form}")


# -- scans -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("code", ["i4", "u1", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("roles", ["pr", "rp"])
def test_scans(code: str, roles: str) -> None:
    shape = {"pr": (2, 70), "rp": (20, 5)}[roles]
    for op in ("sum", "prod"):
        a = data(code, shape)
        if code[0] in "fc":
            a = (1 + a / 16).astype(a.dtype) if op == "prod" else a
            a.reshape(-1)[:2] = -0.0
        check_scan(cases.scan(op, code, roles), a, op)


def check_scan(kernel: Kernel, a: np.ndarray, op: str) -> None:
    axis = kernel.roles.index("r")
    with np.errstate(all="ignore"):
        expected = (np.cumsum if op == "sum" else np.cumprod)(a, axis=axis, dtype=a.dtype)
    for form in forms(kernel):
        running, difference = np.zeros_like(a), np.zeros_like(a)
        launch(kernel, bind([a, running, difference], a.shape), small_blocks(kernel, a.shape, form))
        if a.dtype.kind in "fc" and not (kernel.roles[-1] == "p" and form == "loop" and a.dtype.kind == "f"):
            room = 40 * float(np.finfo(a.dtype).eps) * np.abs(np.asarray(a, "c16")).sum()
            np.testing.assert_allclose(np.asarray(running, "c16"), np.asarray(expected, "c16"), room, room)
        else:  # columns are scanned in NumPy's order
            agree(running, expected)
        with np.errstate(all="ignore"):
            agree(difference, running - a)
        if a.dtype.kind == "f" and op == "sum":
            assert np.signbit(running.reshape(-1)[0])


@pytest.mark.parametrize("code", ["i1", "u2", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("roles", ["pr", "rp"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_running_extremes(op: str, roles: str, code: str) -> None:
    """NumPy's values, its zeros too; NaN stays from the first one on."""
    draw = np.random.default_rng(6)
    shape = {"pr": (6, 70), "rp": (70, 6)}[roles]
    if code[0] == "f":
        a = draw.choice(np.array([0.0, -0.0, -1.0, 1.0, np.inf, -np.inf]), shape).astype(code)
        lines = a if roles == "pr" else a.T
        lines[:2][lines[:2] > 0 if op == "max" else lines[:2] < 0] = 0.0  # zeros of both signs are the extremes
        lines[2, 50:53], lines[3, 5], lines[4] = np.nan, np.nan, -np.inf if op == "max" else np.inf
    else:
        limits = np.iinfo(code)
        a = draw.integers(limits.min, limits.max, shape, code, endpoint=True)
        a[0], a[1, 1] = limits.min, limits.max
    kernel = cases.scan(op, code, roles)
    expected = (np.maximum if op == "max" else np.minimum).accumulate(a, axis=roles.index("r"))
    for form in forms(kernel):
        running, difference = np.zeros_like(a), np.zeros_like(a)
        launch(kernel, bind([a, running, difference], a.shape), small_blocks(kernel, a.shape, form))
        agree(running, expected)
        if code[0] == "f":
            number = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(running)[number], np.signbit(expected)[number], form)


# -- places that depend on data --------------------------------------------------------------------------------------
@pytest.mark.parametrize("code", ["b1", "u1", "i2", "f4", "f8", "c8", "c16"])
def test_gathers(code: str) -> None:
    table, picks = data(code, (50,)), np.random.default_rng(0).integers(0, 50, 40)
    out = np.zeros(40, dtype_of(code))
    walk = np.broadcast_to(table[:1], (40,))
    launch(cases.take(code), bind([walk, picks * table.itemsize, out], (40,)))
    agree(out, table[picks])


@pytest.mark.parametrize("code", ["b1", "i1", "f4", "c16"])
@pytest.mark.parametrize("masked", [False, True])
def test_of_elements_that_meet_the_last_stays(code: str, masked: bool) -> None:
    values, places = data(code, (60,)), np.random.default_rng(1).integers(0, 20, 60)
    mask, target = np.random.default_rng(2).random(60) < 0.5, data(code, (20,), 5)
    expected = target.copy()
    for place, value, wanted in zip(places, values, mask, strict=True):
        if wanted or not masked:
            expected[place] = value
    middle = target[4:5]  # the access points into the memory, not at its start
    arrays = [values, (places - 4) * target.itemsize, mask, np.broadcast_to(middle, (60,))]
    origins = {3: (target.ctypes.data, target.nbytes)}
    kernel = cases.put(code, masked=masked)
    launch(kernel, bind(arrays, (60,)), small_blocks(kernel, (60,), "scattered"), origins)
    agree(target, expected)


def test_rows_at_offsets() -> None:
    shape = (9, 40)
    values, target = data("f4", shape), data("f4", shape, 5)
    take, put = np.random.default_rng(2).integers(0, 9, (2, 9))
    expected = target.copy()
    for a, b in zip(take, put, strict=True):
        expected[b] = values[a]
    width = shape[1] * 4
    strided = np.lib.stride_tricks.as_strided
    walks = [(take * width, (8, 0)), (values, (0, 4)), (put * width, (8, 0)), (target, (0, 4))]
    binding = bind([strided(a, shape, s) for a, s in walks], shape)
    kernel = cases.put_rows("f4")
    launch(kernel, binding, small_blocks(kernel, shape, "scattered"), {3: (target.ctypes.data, target.nbytes)})
    agree(target, expected)


@pytest.mark.parametrize("code", ["b1", "u2", "f4", "c16"])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_packed_stores_and_expand(code: str, share: float) -> None:
    for shape in ((70,), (5, 17)):
        values, mask = data(code, shape), np.random.default_rng(4).random(shape) < share
        target = data(code, (int(mask.sum()) + 9,), 5)
        expected = np.concatenate([values[mask], target[int(mask.sum()) :]])
        kernel = cases.pack(code, len(shape))
        walk = np.lib.stride_tricks.as_strided(target, shape, (0,) * len(shape))
        launch(kernel, bind([values, mask, walk], shape), small_blocks(kernel, shape, "packed"))
        agree(target, expected)
    values, mask = data(code, (70,)), np.random.default_rng(4).random(70) < share
    target, packed = data(code, (70,), 5), np.concatenate([values[mask], values[:1]])
    expected = target.copy()
    expected[mask] = packed[:-1]
    kernel = cases.expand(code)
    walk = np.lib.stride_tricks.as_strided(packed, (70,), (0,))
    launch(kernel, bind([mask, walk, target], (70,)), small_blocks(kernel, (70,), "packed"))
    agree(target, expected)


def test_the_guessed_blocks_give_the_same_results() -> None:
    """Launches as the model would make them, at sizes that it loops through or splits."""
    a = data("f4", (2, 20_000))
    for kernel, wanted in ((cases.reduction("sum", "f4", "pr"), a.sum(1, keepdims=True)),
                           (cases.reduction("max", "f4", "pr"), a.max(1, keepdims=True))):  # fmt: skip
        if kernel.stages[0].reductions[0].op == "max":
            a = a[:, :3000].copy()  # the interpreter takes the elements of a reduction one by one
            wanted = a.max(1, keepdims=True)
        out = np.zeros((2, 1), np.float32)
        launch(kernel, bind([a, np.broadcast_to(out, a.shape)], a.shape))
        np.testing.assert_allclose(out, wanted, 1e-4)
    assert guess(cases.reduction("sum", "f4", "pr"), (2, 20_000)).form == "joined"
