"""Kernel records of every class, built by hand, lowered by the LLVM backend and compared with NumPy bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Scan, Stage, Store
from lazyarray_llvm import threads
from lazyarray_llvm.backend import Backend
from tests.oracle import pairwise_sum

CODES = ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
LENGTHS = [1, 3, 7, 8, 9, 15, 16, 17, 31, 64, 65, 200, 5000]
STEPS = ["1", "-1", "2", "3", "4", "s"]

I = Instruction  # noqa: E741
BACKEND = Backend()


@pytest.fixture(scope="module", autouse=True)
def pool_size() -> Iterator[None]:
    before = threads.get_pool().nthreads
    yield
    threads.get_pool(before)


def dtype(code: str) -> np.dtype:
    return np.dtype("bool") if code == "b1" else np.dtype(code)


def data(code: str, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    """Values of a dtype that are small enough for exact integer work and varied enough for rounding to show."""
    draw = np.random.default_rng(seed + len(shape))
    if code == "b1":
        return draw.integers(0, 2, shape).astype(bool)
    if code[0] in "iu":
        return draw.integers(0 if code[0] == "u" else -100, 100, shape).astype(code)
    if code[0] == "c":
        return (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(code)
    return draw.standard_normal(shape).astype(code)


def strided(code: str, shape: Sequence[int], steps: Sequence[str], seed: int = 0) -> np.ndarray:
    """An array that is walked by the given steps, inside a larger one."""
    factors = [{"s": 5, "0": 1}.get(s, abs(int(s)) if s != "s" else 5) for s in steps]
    base = data(code, [n * f for n, f in zip(shape, factors, strict=True)], seed)
    picks = tuple(slice(None, None, -f if s == "-1" else f) for s, f in zip(steps, factors, strict=True))
    view = base[picks]
    for axis, step in enumerate(steps):
        if step == "0":
            first = view[(slice(None),) * axis + (slice(0, 1),)]
            moves = [0 if k == axis else n for k, n in enumerate(view.strides)]
            view = np.lib.stride_tricks.as_strided(first, shape, moves)
    return view


def bind(arrays: Sequence[np.ndarray], extents: Sequence[int], scalars: Sequence[complex] = ()) -> Binding:
    return Binding(
        tuple(extents),
        tuple(a.ctypes.data for a in arrays),
        tuple(a.strides for a in arrays),
        tuple(scalars),
    )


def launch(
    kernel: Kernel, arrays: Sequence[np.ndarray], extents: Sequence[int], scalars: Sequence[complex] = ()
) -> None:
    BACKEND.compile(kernel).launch(bind(arrays, extents, scalars))


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal dtype and bits; every NaN is one value."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)
    if got.dtype.kind in "fc":
        parts = [(got.real, expected.real), (got.imag, expected.imag)] if got.dtype.kind == "c" else [(got, expected)]
        for a, b in parts:
            numbers = ~np.isnan(a)
            np.testing.assert_array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers])


# -- elementwise -------------------------------------------------------------------------------------------
def copy_kernel(code: str, source: tuple[str, ...], target: tuple[str, ...]) -> Kernel:
    roles = ("p",) * len(source)
    accesses = (Access(code, source), Access(code, target))  # type: ignore[arg-type]
    return Kernel(roles, accesses, (), (Stage("full", (I(0, "load", (), code, 0),), stores=(Store(1, 0),)),))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("step", STEPS)
def test_copy_walks_every_step(code: str, step: str) -> None:
    for into in (step, "1") if step != "1" else STEPS:
        source_step = step if into in (step, "1") else "1"
        kernel = copy_kernel(code, (source_step,), (into,))
        for n in LENGTHS:
            a = strided(code, (n,), (source_step,), n)
            out = strided(code, (n,), (into,), n + 1)
            frame = out.base if out.base is not None else out
            before = frame.copy()
            launch(kernel, [a, out], (n,))
            same(out, a)
            out[...] = before[...] if frame is out else strided(code, (n,), (into,), n + 1)
            np.testing.assert_array_equal(frame, before)  # nothing around the written elements changed


@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 5), (5, 3), (2, 3, 4), (40, 8), (3, 1000), (2, 3, 2, 9), (300, 70), (0, 4), (4, 0)]
)
def test_elementwise_over_outer_axes(shape: tuple[int, ...]) -> None:
    k = len(shape)
    inner, outer = ("s",) * (k - 1), ("0",) * (k - 1)
    accesses = (
        Access("f8", (*inner, "1")),
        Access("f4", (*outer, "1")),
        Access("i4", (*inner, "0")),
        Access("f8", (*inner, "s")),
        Access("f8", (*inner, "1")),
    )
    body = (
        I(0, "load", (), "f8", 0),
        I(1, "load", (), "f4", 1),
        I(2, "load", (), "i4", 2),
        I(3, "load", (), "f8", 3),
        I(4, "cast", (1,), "f8"),
        I(5, "cast", (2,), "f8"),
        I(6, "scalar", (), "f8", 0),
        I(7, "multiply", (5, 6), "f8"),
        I(8, "multiply", (0, 4), "f8"),
        I(9, "add", (8, 7), "f8"),
        I(10, "subtract", (9, 3), "f8"),
        I(11, "index", (), "i8", k - 1),
        I(12, "index", (), "i8", 0),
        I(13, "add", (11, 12), "i8"),
        I(14, "cast", (13,), "f8"),
        I(15, "add", (10, 14), "f8"),
    )
    kernel = Kernel(("p",) * k, accesses, ("f8",), (Stage("full", body, stores=(Store(4, 15),)),))
    a, v = data("f8", shape), data("f4", shape[-1:])
    c, d = data("i4", (*shape[:-1], 1)), strided("f8", shape, (*("1",) * (k - 1), "s"), 3)
    index = np.indices(shape)
    results = []
    for count in (1, 2, 3, 7):
        threads.get_pool(count)
        out = np.empty(shape)
        arrays = [a, np.broadcast_to(v, shape), np.broadcast_to(c, shape), d, out]
        launch(kernel, arrays, shape, (1.25,))
        results.append(out)
    for out in results:
        same(out, a * v + c * 1.25 - d + (index[-1] + index[0]))


def test_zero_axes_and_masked_stores() -> None:
    body = (I(0, "load", (), "f8", 0), I(1, "scalar", (), "f8", 0), I(2, "add", (0, 1), "f8"))
    kernel = Kernel((), (Access("f8", ()), Access("f8", ())), ("f8",), (Stage("full", body, stores=(Store(1, 2),)),))
    a, out = np.array(2.5), np.array(0.0)
    launch(kernel, [a, out], (), (3,))
    assert out == 5.5
    for code in CODES:
        for step in STEPS:
            body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1))
            accesses = (Access(code, ("1",)), Access("b1", ("1",)), Access(code, (step,)))
            kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 0, 1),)),))
            for n in (1, 5, 64, 200):
                a, mask, out = data(code, (n,)), data("b1", (n,), 1), strided(code, (n,), (step,), 2)
                expected = np.where(mask, a, out)
                launch(kernel, [a, mask, out], (n,))
                same(out, expected)


@pytest.mark.parametrize("code", ["u1", "i2", "f4", "f8", "c16"])
def test_gather_reads_computed_offsets(code: str) -> None:
    body = (
        I(0, "load", (), "i8", 1),
        I(1, "gather", (0,), code, 0),
    )
    accesses = (Access(code, ("0",)), Access("i8", ("1",)), Access(code, ("1",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 1),)),))
    table = data(code, (50,))
    for n in LENGTHS:
        picks = np.random.default_rng(n).integers(0, 50, n)
        out = np.empty(n, dtype(code))
        zero = np.broadcast_to(table[:1], (n,))
        launch(kernel, [zero, picks * table.itemsize, out], (n,))
        same(out, table[picks])


def test_launch_can_be_run_again_at_other_addresses() -> None:
    kernel = copy_kernel("f8", ("1",), ("1",))
    a, b, out = data("f8", (100,)), data("f8", (100,), 1), np.empty(100)
    ready = BACKEND.compile(kernel).prepare(bind([a, out], (100,)))
    ready.run()
    same(out, a)
    ready.pointers[0] = b.ctypes.data
    ready.run()
    same(out, b)


# -- reductions --------------------------------------------------------------------------------------------
UFUNCS = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "fmin": np.fmin, "fmax": np.fmax,
    "any": np.logical_or, "all": np.logical_and, "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
}  # fmt: skip


def operations(code: str) -> list[str]:
    names = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]
    if code[0] in "fc":
        names += ["fmin", "fmax"]
    if code[0] in "iub":
        names += ["band", "bor", "bxor"]
    if code == "b1":
        names = [n for n in names if n not in ("sum", "prod")]
    return names


def result_code(op: str, code: str) -> str:
    return "b1" if op in ("any", "all") else "i8" if op in ("argmin", "argmax") else code


def reduce_kernel(
    op: str, code: str, roles: tuple[str, ...], *, where: bool = False, start: bool = False, load: str = ""
) -> Kernel:
    last = len(roles) - 1
    steps = tuple("1" if axis == last else "s" for axis in range(last + 1))
    kept = tuple("0" if role == "r" else "1" if axis == last else "s" for axis, role in enumerate(roles))
    target = result_code(op, code)
    body = [I(0, "load", (), load or code, 0)]
    value = 0
    if load:
        body.append(I(9, "cast", (0,), code))
        value = 9
    accesses = [Access(load or code, steps), Access(target, kept)]
    if where:
        accesses.append(Access("b1", steps))
        body.append(I(2, "load", (), "b1", 2))
    if start:
        body.append(I(3, "scalar", (), target, 0))
    reduction = Reduction(1, op, value, target, 2 if where else None, 3 if start else None)
    return Kernel(
        roles,  # type: ignore[arg-type]
        tuple(accesses),  # type: ignore[arg-type]
        (target,) if start else (),
        (Stage("full", tuple(body), reductions=(reduction,)), Stage("row", (), stores=(Store(1, 1),))),
    )


def reduced(op: str, a: np.ndarray, axes: tuple[int, ...], **more: object) -> np.ndarray:
    if op in ("argmin", "argmax"):
        kept = [axis for axis in range(a.ndim) if axis not in axes]
        flat = a.transpose([*kept, *axes]).reshape([a.shape[axis] for axis in kept] + [-1])
        return np.expand_dims(getattr(np, op)(flat, axis=-1), axes)
    dt = {"dtype": a.dtype} if op in ("sum", "prod") else {}
    return UFUNCS[op].reduce(a, axis=axes, keepdims=True, **dt, **more)  # type: ignore[arg-type]


FORMS = [
    ("r",),
    ("p", "r"),
    ("r", "p"),
    ("p", "r", "p"),
    ("r", "r"),
    ("p", "r", "r"),
    ("r", "r", "p"),
    ("p", "p", "r"),
]
ROW_SHAPES = {
    1: [(1,), (7,), (8,), (16,), (30,), (63,), (64,), (65,), (128,), (129,), (1000,), (9001,)],
    2: [(1, 1), (3, 5), (5, 3), (2, 70), (70, 2), (9, 300), (40, 16)],
    3: [(1, 1, 1), (2, 3, 5), (3, 2, 33), (4, 17, 9)],
}


def run_reduction(
    kernel: Kernel,
    a: np.ndarray,
    axes: tuple[int, ...],
    target: str,
    *more: np.ndarray,
    scalars: Sequence[complex] = (),
) -> np.ndarray:
    out = np.empty([1 if axis in axes else n for axis, n in enumerate(a.shape)], dtype(target))
    wide = np.broadcast_to(out, a.shape) if a.size else out
    launch(kernel, [a, wide, *more], a.shape, scalars)
    return out


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("roles", FORMS, ids="".join)
def test_reductions_equal_numpy(code: str, roles: tuple[str, ...]) -> None:
    axes = tuple(axis for axis, role in enumerate(roles) if role == "r")
    for op in operations(code):
        kernel = reduce_kernel(op, code, roles)
        for shape in ROW_SHAPES[len(roles)]:
            a = data(code, shape, len(op))
            if code[0] in "fc" and op == "prod":
                a = (1 + a / 16).astype(a.dtype)
            got = run_reduction(kernel, a, axes, result_code(op, code))
            with np.errstate(all="ignore"):
                expected = expected_reduction(op, a, axes)
            same(got, expected.astype(got.dtype))


def expected_reduction(op: str, a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """NumPy's result; outer axes one after the other, as the kernel record orders them (NumPy merges dense axes)."""
    if op in ("sum", "prod") and a.dtype.kind in "fc" and len(axes) > 1:
        total = np.array({"sum": 0, "prod": 1}[op], a.dtype)
        last = a.ndim - 1
        outer = [axis for axis in axes if axis != last or last not in axes]
        result = None
        shape = [1 if axis in axes else n for axis, n in enumerate(a.shape)]
        result = np.full(shape, total, a.dtype)
        for place in np.ndindex(*[a.shape[axis] for axis in outer if axis != last]):
            pick: list[slice] = [slice(None)] * a.ndim
            for axis, i in zip([axis for axis in outer if axis != last], place, strict=True):
                pick[axis] = slice(i, i + 1)
            row = a[tuple(pick)]
            if last in axes:
                if op == "sum":
                    row = pairwise_sum(row.astype("f4" if a.dtype == "f2" else a.dtype))
                    wide = result.astype(row.dtype)
                    result = (wide + row).astype(a.dtype)
                else:
                    inner = np.empty(shape, a.dtype)
                    for cell in np.ndindex(*shape):
                        inner[cell] = (
                            np.multiply.reduce(row[cell[:last]], axis=-1, initial=result[cell])[()]
                            if a.ndim == 1
                            else np.multiply.reduce(row[(*cell[:last],)], initial=result[cell])
                        )
                    result = inner
            else:
                result = UFUNCS[op].reduce(np.stack([result, row]), axis=0)
        return result
    if op == "sum" and a.dtype.kind in "fc" and axes == (a.ndim - 1,):
        return a.dtype.type(0) + pairwise_sum(a)
    return reduced(op, a, axes)


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "c8", "c16"])
def test_specials_in_reductions(code: str) -> None:
    draw = np.random.default_rng(5)
    for n in (3, 8, 40, 200):
        for roles, shape, axes in ((("p", "r"), (6, n), (1,)), (("r", "p"), (n, 6), (0,))):
            a = data(code, shape, 2)
            for value in (np.nan, np.inf, -np.inf):
                a[tuple(draw.integers(0, s, 4) for s in shape)] = value
            for op in ("sum", "min", "max", "fmin", "fmax", "argmin", "argmax", "any"):
                if code[0] == "c" and op in ("fmin", "fmax"):
                    continue
                got = run_reduction(reduce_kernel(op, code, roles), a, axes, result_code(op, code))
                with np.errstate(all="ignore"):
                    expected = reduced(op, a, axes)
                same(got, expected)
    b = np.full((4, 40), -0.0, code)
    same(run_reduction(reduce_kernel("sum", code, ("p", "r")), b, (1,), code), reduced("sum", b, (1,)))
    same(run_reduction(reduce_kernel("sum", code, ("r", "p")), b, (0,), code), reduced("sum", b, (0,)))


@pytest.mark.parametrize("code", ["u1", "i1", "u2", "i2"])
def test_places_of_narrow_integers_are_found_in_long_rows(code: str) -> None:
    """Lanes count steps in the values' width: rows go on where these end."""
    draw = np.random.default_rng(3)
    for n in (1, 64, 65, (1 << 14) - 1, 1 << 14, (1 << 14) + 65, 1 << 16, (1 << 21) + 70):
        for op in ("argmax", "argmin"):
            kernel = reduce_kernel(op, code, ("p", "r"))
            best = 6 if op == "argmax" else 4
            for first in {0, n - 1, *draw.integers(0, n, 3)}:
                a = np.zeros((2, n), code) + np.array(5, code)
                a[0, [first, -1, min(n - 1, first + 64)]] = best
                same(run_reduction(kernel, a, (1,), "i8"), reduced(op, a, (1,)))


@pytest.mark.parametrize("code", ["i4", "u1", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_where_and_start(code: str) -> None:
    for roles, axes in ((("p", "r"), (1,)), (("r", "p"), (0,)), (("r",), (0,))):
        for n in (1, 5, 64, 300):
            shape = (n,) if len(roles) == 1 else (7, n) if axes == (1,) else (n, 7)
            a = data(code, shape, 1)
            for density in (0.1, 0.9):
                mask = np.random.default_rng(n).random(shape) < density
                for op in ("sum", "prod", "max", "any"):
                    if op == "prod" and code[0] in "fc":
                        a = (1 + a / 16).astype(a.dtype)
                    target = result_code(op, code)
                    first = dtype(target).type(1)
                    kernel = reduce_kernel(op, code, roles, where=True, start=True)
                    got = run_reduction(kernel, a, axes, target, mask, scalars=(first.item(),))
                    with np.errstate(all="ignore"):
                        expected = reduced(op, a, axes, where=mask, initial=first)
                    same(got, expected)


@pytest.mark.parametrize("code", ["f4", "f8", "c16", "i4"])
def test_empty_reductions_and_no_rows(code: str) -> None:
    for roles, shape, axes in (
        (("p", "r"), (3, 0), (1,)),
        (("r", "p"), (0, 3), (0,)),
        (("r",), (0,), (0,)),
        (("p", "r"), (0, 3), (1,)),
    ):
        a = data(code, shape)
        kernel = reduce_kernel("sum", code, roles)
        out = np.ones([1 if axis in axes else n for axis, n in enumerate(shape)], code)
        strides = tuple(0 if axis in axes else s for axis, s in enumerate(out.strides))
        binding = Binding(shape, (a.ctypes.data, out.ctypes.data), (a.strides, strides), ())
        BACKEND.compile(kernel).launch(binding)
        same(out, np.add.reduce(a, axis=axes, keepdims=True, dtype=code))


def test_sums_of_cast_input_follow_numpys_buffers() -> None:
    for code in ("i4", "u1", "f2", "i8"):
        for n in (100, 8192, 8193, 30000):
            a = data(code, (n,))
            target = "f4" if code == "f2" else "f8"
            kernel = reduce_kernel("buffered_sum", target, ("r",), load=code)
            got = run_reduction(kernel, a, (0,), target)
            same(got, np.add.reduce(a, dtype=target, keepdims=True))


# -- several stages ----------------------------------------------------------------------------------------
def softmax_kernel(code: str, roles: tuple[str, ...], *, keep: bool) -> Kernel:
    """exp(x - max) / sum(exp(x - max)) with a rational stand-in for exp, to be exact against NumPy."""
    last = len(roles) - 1
    steps = tuple("1" if axis == last else "s" for axis in range(last + 1))
    first = Stage("full", (I(0, "load", (), code, 0),), reductions=(Reduction(1, "max", 0, code),))
    heart = (
        I(2, "load", (), code, 0),
        I(3, "subtract", (2, 1), code),
        I(4, "const", (), code, 1),
        I(5, "subtract", (4, 3), code),
        I(6, "divide", (4, 5), code),
    )
    second = Stage("full", heart, reductions=(Reduction(7, "sum", 6, code),), kept=(6,) if keep else ())
    row = Stage("row", (I(8, "const", (), code, 1), I(9, "divide", (8, 7), code)))
    if keep:
        third = (I(10, "recall", (), code, 6), I(11, "multiply", (10, 9), code))
    else:
        third = (
            I(12, "load", (), code, 0),
            I(13, "subtract", (12, 1), code),
            I(14, "const", (), code, 1),
            I(15, "subtract", (14, 13), code),
            I(10, "divide", (14, 15), code),
            I(11, "multiply", (10, 9), code),
        )
    last_stage = Stage("full", third, stores=(Store(1, 11),))
    accesses = (Access(code, steps), Access(code, steps))  # type: ignore[arg-type]
    return Kernel(roles, accesses, (), (first, second, row, last_stage))  # type: ignore[arg-type]


def softmax(a: np.ndarray, axis: int) -> np.ndarray:
    one = a.dtype.type(1)
    e = one / (one - (a - a.max(axis=axis, keepdims=True)))
    total = e.sum(axis=axis, keepdims=True) if axis < a.ndim - 1 else pairwise_sum(e)
    return e * (one / total)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_softmax_keeps_its_row(code: str, keep: bool) -> None:
    for roles, axis in ((("p", "r"), 1), (("r", "p"), 0), (("r",), 0)):
        kernel = softmax_kernel(code, roles, keep=keep)
        for shape in ((1, 1), (5, 7), (7, 5), (3, 300), (300, 3), (70, 70), (130, 1000)):
            a = data(code, shape if len(roles) == 2 else (shape[0] * shape[1],), 4)
            expected = softmax(a, axis)
            for count in (1, 2, 3, 7):
                threads.get_pool(count)
                out = np.empty_like(a)
                launch(kernel, [a, out], a.shape)
                same(out, expected)


@pytest.mark.parametrize("roles", [("p", "r"), ("r", "p"), ("r",), ("p", "r", "r")], ids="".join)
def test_several_reductions_share_a_pass(roles: tuple[str, ...]) -> None:
    """min, max, argmax, a float sum and a complex sum of one array, then values made of them per row."""
    last = len(roles) - 1
    axes = tuple(a for a, role in enumerate(roles) if role == "r")
    steps = tuple("1" if a == last else "s" for a in range(last + 1))
    kept = tuple("0" if role == "r" else "1" if a == last else "s" for a, role in enumerate(roles))
    body = (I(0, "load", (), "f8", 0), I(1, "cast", (0,), "c16"), I(2, "multiply", (0, 0), "f8"))
    reductions = (
        Reduction(3, "min", 0, "f8"),
        Reduction(4, "max", 0, "f8"),
        Reduction(5, "argmax", 0, "i8"),
        Reduction(6, "sum", 0, "f8"),
        Reduction(7, "sum", 1, "c16"),
        Reduction(8, "sum", 2, "f8"),
    )
    row = (I(9, "subtract", (4, 3), "f8"), I(10, "real", (7,), "f8"), I(11, "add", (9, 10), "f8"))
    stores = tuple(Store(1 + n, v) for n, v in enumerate((11, 5, 6, 8)))
    accesses = (Access("f8", steps), *(Access(c, kept) for c in ("f8", "i8", "f8", "f8")))
    kernel = Kernel(roles, accesses, (), (Stage("full", body, reductions=reductions), Stage("row", row, stores=stores)))  # type: ignore[arg-type]
    for shape in ROW_SHAPES[len(roles)]:
        a = data("f8", shape, 9)
        small = [1 if axis in axes else n for axis, n in enumerate(shape)]
        outs = [np.empty(small, dtype(c)) for c in ("f8", "i8", "f8", "f8")]
        launch(kernel, [a, *(np.broadcast_to(o, shape) for o in outs)], shape)
        sums = expected_reduction("sum", a, axes), expected_reduction("sum", a.astype("c16"), axes)
        same(outs[0], a.max(axes, keepdims=True) - a.min(axes, keepdims=True) + sums[1].real)
        same(outs[1], reduced("argmax", a, axes))
        same(outs[2], sums[0])
        same(outs[3], expected_reduction("sum", a * a, axes))


@pytest.mark.parametrize("code", ["i4", "u1", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("roles", [("r",), ("p", "r"), ("r", "p"), ("p", "r", "p")], ids="".join)
def test_scans(code: str, roles: tuple[str, ...]) -> None:
    last = len(roles) - 1
    axis = roles.index("r")
    steps = tuple("1" if a == last else "s" for a in range(last + 1))
    functions = {"sum": np.cumsum, "prod": np.cumprod}
    if code[0] != "c":
        functions |= {"max": np.maximum.accumulate, "min": np.minimum.accumulate}
    for op, function in functions.items():
        stage = Stage(
            "full",
            (I(0, "load", (), code, 0),),
            scan=Scan(1, op, 0, code),
            after=(I(2, "load", (), code, 0), I(3, "subtract", (1, 2), code)),
            stores=(Store(1, 1), Store(2, 3)),
        )
        kernel = Kernel(roles, tuple(Access(code, steps) for _ in range(3)), (), (stage,))  # type: ignore[arg-type]
        for shape in ROW_SHAPES[len(roles)]:
            if op == "prod" and code[0] == "c" and shape[axis] == 2:
                continue  # NumPy multiplies a single pair with FMA, and longer scans without
            a = data(code, shape, 3)
            if op == "prod" and code[0] in "fc":
                a = (1 + a / 16).astype(a.dtype)
            if code[0] in "fc":
                a.reshape(-1)[:2] = -0.0
            running, difference = np.empty_like(a), np.empty_like(a)
            launch(kernel, [a, running, difference], shape)
            with np.errstate(all="ignore"):
                expected = function(a, axis=axis, dtype=a.dtype)
                same(running, expected)
                same(difference, expected - a)


@pytest.mark.parametrize("code", ["u1", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_long_rows_are_split_and_keep_their_bits(code: str) -> None:
    for roles, shape in (
        (("r",), (400_003,)),
        (("p", "r"), (3, 140_001)),
        (("r", "r"), (3, 70_000)),
        (("p", "r", "r"), (2, 3, 66_000)),
    ):
        axes = tuple(axis for axis, role in enumerate(roles) if role == "r")
        for op in ("sum", "max", "argmin", "any", "buffered_sum"):
            if code[0] in "c" and op in ("max", "argmin"):
                continue
            if op == "buffered_sum" and (code[0] not in "fc" or len(axes) > 1):
                continue
            a = data(code, shape, 6)
            kernel = reduce_kernel(op, code, roles)
            target = result_code(op, code)
            if op == "buffered_sum":
                expected = np.zeros([1 if x in axes else n for x, n in enumerate(shape)], code)
                for start in range(0, shape[-1], 8192):
                    piece = a[..., start : start + 8192]
                    wide = "f4" if code == "f2" else code
                    piece = piece.astype(wide).sum(axis=-1, keepdims=True)
                    expected = (expected.astype(wide) + piece).astype(code)
            else:
                with np.errstate(all="ignore"):
                    expected = expected_reduction(op, a, axes)
            for count in (1, 2, 3, 7):
                threads.get_pool(count)
                same(run_reduction(kernel, a, axes, target), expected.astype(target))


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
@pytest.mark.parametrize("keep", [False, True])
def test_stages_of_few_rows_run_in_phases(keep: bool, code: str) -> None:
    for roles, shape in ((("r",), (200_003,)), (("p", "r"), (2, 100_001))):
        kernel = softmax_kernel(code, roles, keep=keep)
        a = data(code, shape, 4)
        expected = softmax(a, len(roles) - 1)
        for count in (1, 2, 3, 7):
            threads.get_pool(count)
            out = np.empty_like(a)
            launch(kernel, [a, out], a.shape)
            same(out, expected)


@pytest.mark.parametrize(
    "roles", [("r", "p"), ("p", "r"), ("p", "r", "p"), ("r", "r", "p"), ("p", "r", "r"), ("r", "r")]
)
def test_values_of_every_loop_level(roles: tuple[str, ...]) -> None:
    """sum of x * w + v * c: w along the first reduction axis only, v along the first axis, c a scalar expression."""
    last = len(roles) - 1
    first_reduced = roles.index("r")
    axes = tuple(a for a, role in enumerate(roles) if role == "r")
    along = [
        tuple("0" if a != axis else "1" if a == last else "s" for a in range(last + 1)) for axis in (first_reduced, 0)
    ]
    full = tuple("1" if a == last else "s" for a in range(last + 1))
    kept = tuple("0" if role == "r" else "1" if a == last else "s" for a, role in enumerate(roles))
    body = (
        I(0, "load", (), "f8", 0),
        I(1, "load", (), "f8", 1),
        I(2, "load", (), "f8", 2),
        I(3, "scalar", (), "f8", 0),
        I(4, "add", (3, 3), "f8"),
        I(5, "multiply", (2, 4), "f8"),
        I(6, "multiply", (1, 1), "f8"),
        I(7, "multiply", (0, 6), "f8"),
        I(8, "add", (7, 5), "f8"),
    )
    stages = (Stage("full", body, reductions=(Reduction(9, "sum", 8, "f8"),)), Stage("row", (), stores=(Store(3, 9),)))
    accesses = (Access("f8", full), Access("f8", along[0]), Access("f8", along[1]), Access("f8", kept))  # type: ignore[arg-type]
    kernel = Kernel(roles, accesses, ("f8",), stages)  # type: ignore[arg-type]
    for shape in ROW_SHAPES[len(roles)]:
        x, w, v = data("f8", shape), data("f8", shape[first_reduced : first_reduced + 1]), data("f8", shape[:1], 1)
        wide = [
            np.broadcast_to(a.reshape([-1 if k == axis else 1 for k in range(last + 1)]), shape)
            for a, axis in ((w, first_reduced), (v, 0))
        ]
        values = x * (wide[0] * wide[0]) + wide[1] * 3.0
        out = np.empty([1 if a in axes else n for a, n in enumerate(shape)])
        launch(kernel, [x, *wide, np.broadcast_to(out, shape)], shape, (1.5,))
        same(out, expected_reduction("sum", values, axes))


def test_output_may_alias_an_input() -> None:
    for step in STEPS:
        body = (I(0, "load", (), "f4", 0), I(1, "multiply", (0, 0), "f4"))
        kernel = Kernel(("p",), (Access("f4", (step,)),) * 2, (), (Stage("full", body, stores=(Store(1, 1),)),))  # type: ignore[arg-type]
        for n in (1, 17, 100, 50_000):
            a = strided("f4", (n,), (step,), 1)
            expected = a * a
            launch(kernel, [a, a], (n,))
            same(a, expected)
