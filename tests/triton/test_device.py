"""On a GPU: errors of the elementary functions, no contraction, the same bits twice, launches as the model guesses.

The other files of this folder run there too: LAZYARRAY_TEST_DEVICE=cuda python -m pytest tests/triton
"""

from __future__ import annotations

import os

import numpy as np
import pytest

if os.environ.get("LAZYARRAY_TEST_DEVICE") != "cuda":
    pytest.skip("needs a GPU, and LAZYARRAY_TEST_DEVICE=cuda", allow_module_level=True)

from lazyarray.ir.ops import dtype_of
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton.prepared import Prepared
from tests.oracle import Oracle
from tests.triton import cases
from tests.triton.device import launch, launcher

COUNT = 1 << 18
# Where each function is tried: bounds of its first argument, and of its second.
DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "exp": ((-80, 80),), "exp2": ((-120, 120),), "expm1": ((-20, 80),), "log": ((1e-30, 1e30),),
    "log2": ((1e-30, 1e30),), "log10": ((1e-30, 1e30),), "log1p": ((-0.999, 1e5),),
    "sin": ((-100, 100),), "cos": ((-100, 100),),
    "tan": ((-100, 100),), "sinh": ((-80, 80),), "cosh": ((-80, 80),), "tanh": ((-10, 10),), "arcsin": ((-1, 1),),
    "arccos": ((-1, 1),), "arctan": ((-100, 100),), "arcsinh": ((-1e5, 1e5),), "arccosh": ((1, 1e5),),
    "arctanh": ((-1, 1),), "cbrt": ((-1e5, 1e5),), "power": ((0, 30), (-20, 20)), "arctan2": ((-9, 9), (-9, 9)),
    "hypot": ((-1e3, 1e3), (-1e3, 1e3)), "logaddexp": ((-30, 30), (-30, 30)), "logaddexp2": ((-30, 30), (-30, 30)),
}  # fmt: skip


def draw(bounds: tuple[float, float], code: str, seed: int) -> np.ndarray:
    """Half of the numbers even between the bounds, half of them over all magnitudes within."""
    numbers = np.random.default_rng(seed)
    low, high = bounds
    even = numbers.uniform(low, high, COUNT // 2)
    size = np.exp(numbers.uniform(np.log(1e-6), np.log(max(abs(low), abs(high))), COUNT // 2))
    signed = size * np.where(numbers.random(COUNT // 2) < 0.5, -1, 1) if low < 0 else size
    return np.concatenate([even, np.clip(signed, low, high)]).astype(code)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("op", DOMAINS)
def test_elementary_functions_are_within_two_ulp(op: str, code: str) -> None:
    arguments = [draw(bounds, code, k) for k, bounds in enumerate(DOMAINS[op])]
    out = np.empty(COUNT, dtype_of(code))
    launch(cases.elementwise(op, (code,) * len(arguments), code), cases.bind([*arguments, out], (COUNT,)))
    wide = np.float64 if code == "f4" else np.longdouble
    with np.errstate(all="ignore"):
        exact = getattr(np, op)(*[a.astype(wide) for a in arguments])
        rounded = exact.astype(out.dtype)
        unit = np.spacing(np.abs(rounded)).astype(wide)
        error = np.abs(out.astype(wide) - exact) / unit
    same = (out == rounded) | (np.isnan(out) & np.isnan(rounded))
    error = np.where(same, np.where(np.isfinite(error), error, 0), error)
    if op.startswith("logaddexp"):
        # NumPy's own formula loses bits where the maximum and the logarithm added to it cancel.
        error = error * np.abs(exact) / np.maximum(np.max(np.abs(arguments), axis=0), 1)
    worst = int(np.argmax(error))
    print(f"ULP {op} {code} {float(error[worst]):.2f} at {[a[worst] for a in arguments]}")
    assert error[worst] <= 2, (op, code, float(error[worst]), [a[worst] for a in arguments], out[worst], exact[worst])


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_sines_of_any_size_are_within_two_ulp(op: str) -> None:
    numbers = np.random.default_rng(5)
    near = np.nextafter(numbers.integers(1, 600_000, 5000) * (np.pi / 2), np.inf)  # almost a zero
    given = np.concatenate(
        [
            numbers.uniform(-(2.0**20), 2.0**20, 20_000), near, [0.0, -0.0, 5e-324, 1e-310],
            # From here on tiles hold what only the slow way serves.
            10.0 ** numbers.uniform(-300, 300, 5000), [2.0**20, np.nextafter(2.0**20, 0), -np.inf, np.inf, np.nan],
        ]
    )  # fmt: skip
    out = np.empty_like(given)
    launch(cases.elementwise(op, ("f8",), "f8"), cases.bind([given, out], given.shape))
    with np.errstate(all="ignore"):
        exact = getattr(np, op)(given.astype(np.longdouble))
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
    np.testing.assert_array_equal(np.signbit(out[:25_004]), np.signbit(exact[:25_004]))
    known = ~np.isnan(out)
    error = np.abs(out[known] - exact[known]) / np.spacing(np.abs(exact[known].astype(np.float64)))
    assert error.max() <= 2, given[known][np.argmax(error)]


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_nothing_is_contracted(code: str) -> None:
    I = cases.I  # noqa: E741
    body = (
        *(I(k, "load", (), code, k) for k in range(3)),
        I(3, "multiply", (0, 1), code),
        I(4, "add", (3, 2), code),
        I(5, "divide", (4, 1), code),
        I(6, "subtract", (5, 3), code),
    )
    stage = cases.Stage("full", body, stores=(cases.Store(3, 6),))
    kernel = Kernel(("p",), (cases.Access(code, ("1",)),) * 4, (), (stage,))
    a, b, c = (np.random.default_rng(k).standard_normal(1_000_000).astype(code) for k in range(3))
    out = np.empty_like(a)
    launch(kernel, cases.bind([a, b, c, out], a.shape))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, (a * b + c) / b - a * b)


LARGE = [
    (cases.reduction("sum", "f4", "r"), (30_000_001,)),
    (cases.reduction("sum", "f8", "pr"), (3, 5_000_000)),
    (cases.reduction("sum", "f4", "pr"), (3000, 3000)),
    (cases.reduction("sum", "f4", "rp"), (9000, 1500)),
    (cases.reduction("sum", "c8", "rp"), (70_000, 7)),
    (cases.reduction("prod", "f8", "prp"), (5, 3000, 70)),
    (cases.reduction("max", "f2", "pr"), (100, 70_000)),
    (cases.reduction("argmin", "f4", "r"), (10_000_000,)),
    (cases.reduction("argmax", "f8", "pr"), (1000, 9000)),
    (cases.reduction("argmax", "f4", "rp"), (20_000, 100)),
    (cases.softmax("f4", "pr", keep=True), (300, 8192)),
    (cases.softmax("f4", "pr", keep=True), (64, 65_536)),
    (cases.softmax("f8", "pr", keep=False), (2, 3_000_000)),
    (cases.softmax("f4", "rp", keep=True), (3000, 300)),
    (cases.scan("sum", "f8", "pr"), (2, 3_000_000)),
    (cases.scan("sum", "i8", "pr"), (300, 3000)),
    (cases.scan("sum", "f4", "rp"), (3000, 300)),
    (cases.scan("max", "f4", "pr"), (2, 3_000_000)),
    (cases.scan("max", "i8", "pr"), (300, 3000)),
    (cases.scan("min", "f8", "rp"), (3000, 300)),
    (cases.variance("f4", "r"), (5_000_000,)),
    (cases.variance("f8", "rp"), (70_000, 90)),
    (cases.variance("f4", "pr"), (700, 9000)),
    (cases.several("r"), (5_000_000,)),
    (cases.several("pr"), (1000, 1000)),
    (cases.several("rp"), (10_000, 100)),
]


@pytest.mark.parametrize("number", range(len(LARGE)))
def test_launches_of_the_guessed_blocks_agree_with_the_oracle_and_repeat_their_bits(number: int) -> None:
    kernel, shape = LARGE[number]
    numbers = np.random.default_rng(number)
    arrays, outs = [], []
    written = {t.access for s in kernel.stages for t in s.stores}
    for k, access in enumerate(kernel.accesses):
        kept = [1 if step == "0" else n for step, n in zip(access.steps, shape, strict=True)]
        made = numbers.standard_normal(kept)
        if any(r.op == "prod" for s in kernel.stages for r in s.reductions):
            made = 1 + made / 4096
        arrays.append((made * 50).astype("i8") if access.code[0] == "i" else made.astype(dtype_of(access.code)))
        if k in written:
            outs.append(k)
    walks = [np.broadcast_to(a, shape) for a in arrays]
    binding = cases.bind(walks, shape, (1e-4,) * len(kernel.scalars))
    before = [a.copy() for a in arrays]
    Oracle().compile(kernel).launch(binding)
    expected = [arrays[k].copy() for k in outs]
    found = []
    for _ in range(2):
        for a, b in zip(arrays, before, strict=True):
            a[...] = b
        launch(kernel, binding)
        found.append([arrays[k].copy() for k in outs])
    for got, again, wanted in zip(*found, expected, strict=True):
        assert got.tobytes() == again.tobytes()
        if got.dtype.kind not in "fc":
            np.testing.assert_array_equal(got, wanted)
            continue
        eps = float(np.finfo(got.dtype).eps)
        scale = float(np.abs(wanted).max())
        summed = max(np.prod([n for n, r in zip(shape, kernel.roles, strict=True) if r == "r"]), 1) ** 0.5
        # NumPy adds the elements of a column one by one: that side may be off by as much as n such errors, at random.
        np.testing.assert_allclose(got, wanted, 16 * eps, eps * max(16, summed) * max(scale, summed))


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("op", ["divide", "reciprocal", "sqrt"])
def test_quotients_and_roots_of_all_magnitudes_are_exact(op: str, code: str) -> None:
    """Also where the short way does not lead: at all bits, and at quotients next to the middle of two numbers."""
    numbers = np.random.default_rng(7)
    count = 1 << 20
    bits = numbers.integers(0, 1 << 8 * int(code[1:]), (2, count), f"u{code[1:]}").view(code)
    near = numbers.uniform(1, 2, (2, count)).astype(code)
    bits[0, : count // 2] = (near[0] * near[1])[: count // 2]
    bits[1, : count // 2] = near[1, : count // 2]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, np.finfo(code).max, np.finfo(code).tiny], code)
    special = np.concatenate([special, -special, np.nextafter(special, 0), np.array([1, 3], f"u{code[1:]}").view(code)])
    bits[:, -(len(special) ** 2) :] = [np.repeat(special, len(special)), np.tile(special, len(special))]
    arguments = list(bits[: 2 if op == "divide" else 1])
    out = np.empty(count, code)
    launch(cases.elementwise(op, (code,) * len(arguments), code), cases.bind([*arguments, out], (count,)))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, getattr(np, op)(*arguments))


def test_indices_beyond_two_to_the_31() -> None:
    import cupy

    kernel = cases.elementwise("negative", ("i1",), "i1")
    n = (1 << 31) + 4099
    source, target = cupy.ones(n, np.int8), cupy.zeros(n, np.int8)
    pointers = (source.data.ptr, target.data.ptr)
    Prepared(launcher(), kernel, Binding((n,), pointers, ((1,), (1,)), ())).launch(pointers)
    assert bool((target == -1).all())
    rows = cases.reduction("sum", "i1", "rp")
    total = cupy.empty(3, np.int8)
    pointers = (source.data.ptr, total.data.ptr)
    extents = (n // 3, 3)
    Prepared(launcher(), rows, Binding(extents, pointers, ((3, 1), (0, 1)), ())).launch(pointers)
    assert bool((total == np.int64(n // 3).astype(np.int8)).all())


def test_a_prepared_launch_runs_on_other_memory() -> None:
    import cupy

    kernel = cases.activation("f4")
    sets = [[cupy.random.standard_normal(5000, np.float32) for _ in range(3)] for _ in range(3)]
    addresses = [tuple(a.data.ptr for a in arrays) for arrays in sets]
    prepared = Prepared(launcher(), kernel, Binding((5000,), addresses[0], ((4,),) * 3, ()))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for pointers in addresses:
            prepared.launch(pointers)
        stream.synchronize()
    for x, y, out in sets:
        host = [a.get() for a in (x, y)]
        np.testing.assert_allclose(out.get(), np.maximum(np.sin(host[0]) * np.cos(host[1]) + host[0], 0), 1e-5, 1e-6)
