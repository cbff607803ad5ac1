"""Owns the programs that are measured beside other compilers, at their sizes, and numexpr's text of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from benchmarks import workloads
from benchmarks.workloads import Array, Inputs

Numexpr = Callable[..., Sequence[Array]]  # takes `numexpr.evaluate` and the inputs
MakeInputs = Callable[[numpy.random.Generator], Inputs]
JULIA_STEPS, LOOP_STEPS, BINS = 20, 100, 64


@dataclass(frozen=True, slots=True)
class Case:
    """A program at one size.

    `functional` is what JAX runs where the program writes into arrays; `numexpr` is the program as numexpr takes it.
    `moved` is the bytes that any way to run it reads and writes; without it, each input and result once.
    """

    name: str
    size: str
    elements: int
    run: Callable[..., Sequence[Array]]
    make_inputs: MakeInputs
    functional: Callable[..., Sequence[Array]] | None = None
    numexpr: Numexpr | None = None
    moved: Callable[[Inputs], int] | None = None

    def count_bytes(self, inputs: Inputs, results: Sequence[Any]) -> int:
        """The fewest bytes that cross memory."""
        return (self.moved(inputs) if self.moved else 0) or sum(a.nbytes for a in (*inputs, *results))


def matmul_softmax(np: Any, a: Array, b: Array) -> Sequence[Array]:
    x = a @ b
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True),)


def mlp(np: Any, x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Sequence[Array]:
    hidden = np.maximum(x @ w1 + b1, 0)
    unused = (hidden * 2) @ w1.T
    unused = unused + x
    logits = hidden @ w2 + b2
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True),)


def haversine(np: Any, latitude: Array, longitude: Array) -> Sequence[Array]:
    here, there = 0.7102, -1.2905
    a = np.sin((latitude - here) * 0.5) ** 2
    b = np.cos(latitude) * 0.758 * np.sin((longitude - there) * 0.5) ** 2
    return (12742.0 * np.arcsin(np.sqrt(a + b)),)


def jacobi_functional(np: Any, a: Array, b: Array) -> Sequence[Array]:
    for _ in range(workloads.JACOBI_SWEEPS):
        b = b.at[1:-1, 1:-1].set(0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]))
        a, b = b, a
    return a, b


def laplace_residual(np: Any, u: Array) -> Sequence[Array]:
    residual = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
    return (np.abs(residual).max(),)


def julia(np: Any, z: Array) -> Sequence[Array]:
    count = np.zeros(z.shape, np.int32)
    for _ in range(JULIA_STEPS):
        inside = np.abs(z) <= 2.0
        z = np.where(inside, z * z + (-0.8 + 0.156j), z)
        count = count + inside
    return (count,)


def masked_assignment(np: Any, x: Array) -> Sequence[Array]:
    y = x * 2.0
    y[x < 0.25] = 0.0
    y[x > 0.75] = 1.0
    return (y,)


def masked_functional(np: Any, x: Array) -> Sequence[Array]:
    return (np.where(x > 0.75, 1.0, np.where(x < 0.25, 0.0, x * 2.0)),)


def histogram(np: Any, x: Array) -> Sequence[Array]:
    return (np.histogram(x, bins=BINS, range=(0.0, 1.0))[0],)


def bincount(np: Any, places: Array, weights: Array) -> Sequence[Array]:
    return np.bincount(places, minlength=BINS), np.bincount(places, weights=weights, minlength=BINS)


def cumsum_chain(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (np.cumsum(x * y) / 3.0 + x,)


def argmax_rows(np: Any, x: Array) -> Sequence[Array]:
    return (np.argmax(x, axis=1),)


def argmax_columns(np: Any, x: Array) -> Sequence[Array]:
    return (np.argmax(x, axis=0),)


def half_chain(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (np.maximum(x * y + x, y) * x - y,)


def byte_chain(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (np.maximum(x * y + x, y) - (x & y),)


def long_loop(np: Any, x: Array, y: Array) -> Sequence[Array]:
    for _ in range(LOOP_STEPS):
        x = x * 0.99 + y * 0.01
    return (x,)


def _two(count: int, kind: str, low: float, high: float) -> MakeInputs:
    return partial(_draw_uniform, count=count, arrays=2, kind=kind, low=low, high=high)


def _draw_uniform(
    rng: numpy.random.Generator, *, count: int, arrays: int = 1, kind: str = "f8", low: float = 0.0, high: float = 1.0
) -> Inputs:
    return [rng.uniform(low, high, count).astype(kind) for _ in range(arrays)]


def _draw_normal(
    rng: numpy.random.Generator,
    *,
    shapes: Sequence[tuple[int, ...]],
    kind: str = "f8",
    scale: float = 1.0,
    mean: float = 0.5,
) -> Inputs:
    return [rng.normal(mean, scale, shape).astype(kind) for shape in shapes]


def _draw_options(rng: numpy.random.Generator, *, count: int) -> Inputs:
    return [rng.uniform(10, 50, count), rng.uniform(10, 50, count), rng.uniform(0.2, 2.0, count)]


def _draw_julia(rng: numpy.random.Generator, *, side: int) -> Inputs:
    real, imaginary = numpy.meshgrid(numpy.linspace(-1.5, 1.5, side), numpy.linspace(-1.0, 1.0, side))
    return [real + 1j * imaginary]


def _draw_plates(rng: numpy.random.Generator, *, side: int) -> Inputs:
    plate = rng.uniform(0.0, 1.0, (side, side))
    return [plate, plate.copy()]


def _draw_image(rng: numpy.random.Generator, *, rows: int, columns: int) -> Inputs:
    return [rng.integers(0, 256, (rows, columns, 3), dtype=numpy.uint8)]


def _draw_places(rng: numpy.random.Generator, *, count: int) -> Inputs:
    return [rng.integers(0, BINS, count), rng.uniform(0.0, 1.0, count)]


def _draw_bytes(rng: numpy.random.Generator, *, count: int) -> Inputs:
    return [rng.integers(-100, 100, count).astype(numpy.int8) for _ in range(2)]


def _ne_activation(ne: Any, x: Array, y: Array) -> Sequence[Array]:
    return (ne("where((sin(x) * cos(y) + x) * y > 0, (sin(x) * cos(y) + x) * y, 0)", {"x": x, "y": y}),)


def _ne_arithmetic(ne: Any, a: Array, b: Array, c: Array, d: Array) -> Sequence[Array]:
    return (ne("(a * b + c) * d - a / (b + 1)", {"a": a, "b": b, "c": c, "d": d}),)


def _ne_sum_of_product(ne: Any, x: Array, y: Array) -> Sequence[Array]:
    return (ne("sum(exp(x) * y)", {"x": x, "y": y})[()],)


def _ne_haversine(ne: Any, latitude: Array, longitude: Array) -> Sequence[Array]:
    text = "12742.0 * arcsin(sqrt(sin((a - 0.7102) * 0.5) ** 2 + cos(a) * 0.758 * sin((b - -1.2905) * 0.5) ** 2))"
    return (ne(text, {"a": latitude, "b": longitude}),)


def _ne_black_scholes(ne: Any, spot: Array, strike: Array, years: Array) -> Sequence[Array]:
    d1 = ne("(log(s / k) + 0.06125 * t) / (0.25 * sqrt(t))", {"s": spot, "k": strike, "t": years})
    d2 = ne("d - 0.25 * sqrt(t)", {"d": d1, "t": years})
    discounted = ne("k * exp(-0.03 * t)", {"k": strike, "t": years})
    cdf = []
    for d in (d1, d2):
        k = ne("1.0 / (1.0 + 0.2316419 * abs(x))", {"x": d})
        text = (
            "exp(-0.5 * x * x) * 0.3989422804014327"
            " * (k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))))"
        )
        tail = ne(text, {"x": d, "k": k})
        cdf.append(ne("where(x >= 0.0, 1.0 - tail, tail)", {"x": d, "tail": tail}))
    call = ne("s * a - d * b", {"s": spot, "a": cdf[0], "b": cdf[1], "d": discounted})
    return call, ne("c - s + d", {"c": call, "s": spot, "d": discounted})


def _ne_masked(ne: Any, x: Array) -> Sequence[Array]:
    return (ne("where(x > 0.75, 1.0, where(x < 0.25, 0.0, x * 2.0))", {"x": x}),)


def _ne_laplace(ne: Any, u: Array) -> Sequence[Array]:
    parts = {"a": u[:-2, 1:-1], "b": u[2:, 1:-1], "c": u[1:-1, :-2], "d": u[1:-1, 2:], "e": u[1:-1, 1:-1]}
    return (ne("max(abs(a + b + c + d - 4.0 * e))", parts)[()],)


def _ne_julia(ne: Any, z: Array) -> Sequence[Array]:
    count = numpy.zeros(z.shape, numpy.int32)
    for _ in range(JULIA_STEPS):
        inside = ne("real(abs(z)) <= 2.0", {"z": z})
        z = ne("where(inside, z * z + c, z)", {"inside": inside, "z": z, "c": -0.8 + 0.156j})
        count = ne("count + where(inside, 1, 0)", {"count": count, "inside": inside})
    return (count.astype(numpy.int32),)


def _ne_long_loop(ne: Any, x: Array, y: Array) -> Sequence[Array]:
    for _ in range(LOOP_STEPS):
        x = ne("x * 0.99 + y * 0.01", {"x": x, "y": y})
    return (x,)


def _sweeps_moved(inputs: Inputs) -> int:
    return 2 * inputs[0].nbytes * workloads.JACOBI_SWEEPS


def _list_cases() -> list[Case]:
    """Every program at its sizes, in the order of the table."""
    cases = []
    matrices = [("256 x 400", 256, 400), ("4096 x 2560", 4096, 2560)]
    for count in (100_000, 10 * 2**20):
        size = f"{count:.0e}".replace("e+0", "e") if count < 2**20 else f"{count // 2**20} Mi"
        for kind, name in (("f4", "float32"), ("f8", "float64")):
            inputs = _two(count, kind, -3.0, 3.0)
            cases.append(Case(f"activation {name}", size, count, workloads.activation, inputs, numexpr=_ne_activation))
    for count in (10, 1000, 100_000, 10_000_000):
        inputs = partial(_draw_uniform, count=count, arrays=4)
        size = f"{count:.0e}".replace("e+0", "e")
        cases.append(Case("arithmetic chain", size, count, workloads.arithmetic_chain, inputs, numexpr=_ne_arithmetic))
    for size, rows, columns in matrices:
        one = partial(_draw_normal, shapes=[(rows, columns)], kind="f4")
        norm = partial(_draw_normal, shapes=[(rows, columns), (columns,), (columns,)], kind="f4")
        cases.append(Case("row softmax float32", size, rows * columns, workloads.row_softmax, one))
        cases.append(Case("layer norm float32", size, rows * columns, workloads.layer_norm, norm))
        cases.append(Case("argmax of rows", size, rows * columns, argmax_rows, one))
        cases.append(Case("argmax of columns", size, rows * columns, argmax_columns, one))
    for side in (100, 1000):
        inputs = partial(_draw_normal, shapes=[(side, side)] * 2, kind="f4", scale=0.1, mean=0.0)
        cases.append(Case("matmul and softmax", f"{side} x {side}", side * side, matmul_softmax, inputs))
    for batch in (128, 4096):
        shapes = [(batch, 784), (784, 256), (256,), (256, 10), (10,)]
        inputs = partial(_draw_normal, shapes=shapes, kind="f4", scale=0.05, mean=0.0)
        cases.append(Case("MLP, a matmul unused", f"{batch} x 784", batch * 784, mlp, inputs))
    for rows in (12_500, 1_000_000):
        inputs = partial(_draw_normal, shapes=[(rows, 8)], scale=2.0)
        cases.append(Case("standardise columns", f"{rows} x 8", rows * 8, workloads.standardise_columns, inputs))
    for rows in (6_250, 1_000_000):
        inputs = partial(_draw_normal, shapes=[(rows, 16), (16,)], scale=2.0)
        cases.append(Case("row distances", f"{rows} x 16", rows * 16, workloads.row_distances, inputs))
    for count in (100_000, 10_000_000):
        cases.extend(_list_vector_cases(count, f"{count:.0e}".replace("e+0", "e")))
    for side in (150, 2000):
        inputs = partial(_draw_plates, side=side)
        cases.append(
            Case(
                f"Jacobi, {workloads.JACOBI_SWEEPS} sweeps",
                f"{side} x {side}",
                side * side,
                workloads.jacobi,
                inputs,
                functional=jacobi_functional,
                moved=_sweeps_moved,
            )
        )
    for side in (316, 3162):
        inputs = partial(_draw_normal, shapes=[(side, side)])
        cases.append(
            Case("Laplace residual", f"{side} x {side}", side * side, laplace_residual, inputs, numexpr=_ne_laplace)
        )
    for side in (316, 1000):
        inputs = partial(_draw_julia, side=side)
        cases.append(
            Case(f"Julia set, {JULIA_STEPS} steps", f"{side} x {side}", side * side, julia, inputs, numexpr=_ne_julia)
        )
    for rows, columns in ((300, 340), (3000, 4000)):
        inputs = partial(_draw_image, rows=rows, columns=columns)
        cases.append(Case("rgb to grey uint8", f"{rows} x {columns}", rows * columns, workloads.rgb_to_grey, inputs))
    inputs = partial(_draw_uniform, count=100_000, arrays=2)
    cases.append(Case(f"{LOOP_STEPS}-step loop", "1e5", 100_000, long_loop, inputs, numexpr=_ne_long_loop))
    return cases


def _list_vector_cases(count: int, size: str) -> list[Case]:
    one = partial(_draw_uniform, count=count)
    two = partial(_draw_uniform, count=count, arrays=2)
    options = partial(_draw_options, count=count)
    places = partial(_draw_places, count=count)
    half = partial(_draw_uniform, count=count, arrays=2, kind="f2")
    small = partial(_draw_bytes, count=count)
    return [
        Case("sum(exp(x) * y)", size, count, workloads.sum_of_product, two, numexpr=_ne_sum_of_product),
        Case("min, max, mean, std", size, count, workloads.statistics_together, one),
        Case("Black-Scholes", size, count, workloads.black_scholes, options, numexpr=_ne_black_scholes),
        Case("haversine", size, count, haversine, two, numexpr=_ne_haversine),
        Case("masked assignment", size, count, masked_assignment, one, masked_functional, _ne_masked),
        Case("histogram", size, count, histogram, one),
        Case("bincount, weighted too", size, count, bincount, places),
        Case("cumsum chain", size, count, cumsum_chain, two),
        Case("float16 chain", size, count, half_chain, half),
        Case("int8 chain", size, count, byte_chain, small),
    ]


CASES: tuple[Case, ...] = tuple(_list_cases())
