"""Owns the workloads: array programs written once, with the array module as their argument `np`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

Array = Any
Inputs = Sequence[numpy.ndarray[Any, Any]]
JACOBI_SWEEPS = 10


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, its inputs (`make_inputs(rng, shrink)`), and the ratio over NumPy that it must reach."""

    name: str
    run: Callable[..., Sequence[Array]]
    make_inputs: Callable[[numpy.random.Generator, int], Inputs]
    target: float | None
    calls: int = 1
    bandwidth_bytes: int = 0  # bytes per element of the first input that must cross memory; 0: not reported


def activation(np: Any, x: Array, y: Array) -> Sequence[Array]:
    a = np.sin(x)
    b = np.cos(y)
    c = a * b
    d = c + x
    e = d * y
    return (np.maximum(e, 0),)


def arithmetic_chain(np: Any, a: Array, b: Array, c: Array, d: Array) -> Sequence[Array]:
    return ((a * b + c) * d - a / (b + 1),)


def row_softmax(np: Any, x: Array) -> Sequence[Array]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True),)


def layer_norm(np: Any, x: Array, gain: Array, bias: Array) -> Sequence[Array]:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return (centred / np.sqrt(variance + 1e-5) * gain + bias,)


def standardise_columns(np: Any, x: Array) -> Sequence[Array]:
    return ((x - x.mean(axis=0)) / x.std(axis=0),)


def sum_of_product(np: Any, x: Array, y: Array) -> Sequence[Array]:
    return (np.sum(np.exp(x) * y),)


def normal_cdf(np: Any, x: Array) -> Array:
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * poly
    return np.where(x >= 0.0, 1.0 - tail, tail)


def black_scholes(np: Any, spot: Array, strike: Array, years: Array) -> Sequence[Array]:
    rate, volatility = 0.03, 0.25
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(np, d1) - discounted * normal_cdf(np, d2)
    put = call - spot + discounted
    return call, put


def jacobi(np: Any, a: Array, b: Array) -> Sequence[Array]:
    for _ in range(JACOBI_SWEEPS):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a, b = b, a
    return a, b


def rgb_to_grey(np: Any, image: Array) -> Sequence[Array]:
    grey = 0.299 * image[:, :, 0] + 0.587 * image[:, :, 1] + 0.114 * image[:, :, 2]
    return (grey.astype(np.uint8),)


def row_distances(np: Any, points: Array, centre: Array) -> Sequence[Array]:
    return (np.sqrt(((points - centre) ** 2).sum(axis=1)),)


def statistics_together(np: Any, x: Array) -> Sequence[Array]:
    return x.min(), x.max(), x.mean(), x.std()


def uniform(
    count: int, *, arrays: int = 1, dtype: str = "float64", low: float = 0.0, high: float = 1.0
) -> Callable[[numpy.random.Generator, int], Inputs]:
    def make(rng: numpy.random.Generator, shrink: int) -> Inputs:
        return [rng.uniform(low, high, count // shrink).astype(dtype) for _ in range(arrays)]

    return make


def normal(
    rows: int, columns: int, *, dtype: str = "float64", vectors: int = 0
) -> Callable[[numpy.random.Generator, int], Inputs]:
    """A matrix of normal numbers and some vectors as long as its rows; shrinking takes rows away."""

    def make(rng: numpy.random.Generator, shrink: int) -> Inputs:
        matrix = rng.normal(1.0, 2.0, (rows // shrink, columns)).astype(dtype)
        return [matrix, *(rng.normal(1.0, 2.0, columns).astype(dtype) for _ in range(vectors))]

    return make


def make_options(rng: numpy.random.Generator, shrink: int) -> Inputs:
    count = 4_000_000 // shrink
    return [rng.uniform(10, 50, count), rng.uniform(10, 50, count), rng.uniform(0.2, 2.0, count)]


def make_plates(rng: numpy.random.Generator, shrink: int) -> Inputs:
    size = int(2000 / shrink**0.5)
    plate = rng.uniform(0.0, 1.0, (size, size))
    return [plate, plate.copy()]


def make_image(rng: numpy.random.Generator, shrink: int) -> Inputs:
    return [rng.integers(0, 256, (3000 // shrink, 4000, 3), dtype=numpy.uint8)]


ACTIVATION_COUNT = 20 * 2**20

WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "activation, float32, 20 Mi",
        activation,
        uniform(ACTIVATION_COUNT, arrays=2, dtype="float32", low=-3, high=3),
        4.5,
    ),
    Workload("activation, float64, 20 Mi", activation, uniform(ACTIVATION_COUNT, arrays=2, low=-3, high=3), 6.0),
    Workload(
        "(a*b+c)*d - a/(b+1), float64, 1e7",
        arithmetic_chain,
        uniform(10_000_000, arrays=4),
        3.0,
        bandwidth_bytes=40,
    ),
    Workload("row softmax, float32, 4096 x 4096", row_softmax, normal(4096, 4096, dtype="float32"), 2.5),
    Workload("standardise columns, float64, 1e6 x 8", standardise_columns, normal(1_000_000, 8), 4.0),
    Workload("sum(exp(x) * y), float64, 1e7", sum_of_product, uniform(10_000_000, arrays=2), 4.0),
    Workload("Black-Scholes call and put, float64, 4e6", black_scholes, make_options, 4.0),
    Workload("Jacobi sweep, float64, 2000 x 2000", jacobi, make_plates, 4.0, calls=JACOBI_SWEEPS),
    Workload("rgb to grey, uint8, 12 MP", rgb_to_grey, make_image, 8.0),
    Workload("layer norm, float32, 4096 x 4096", layer_norm, normal(4096, 4096, dtype="float32", vectors=2), None),
    Workload("row distances, float64, 1e6 x 16", row_distances, normal(1_000_000, 16, vectors=1), None),
    Workload("min, max, mean, std, float64, 1e7", statistics_together, uniform(10_000_000), None),
)
