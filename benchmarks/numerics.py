"""Owns the price of NumPy's bits: chains of transcendental functions in NumPy and in both numerics modes, one run.

    python -m benchmarks.numerics [--elements N] [--only NAME]

prints a Markdown table: the times of NumPy, numerics="fast" and numerics="numpy", NumPy's over each, and how far both
results are from NumPy's.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy

import lazyarray
from benchmarks.harness import compare, describe_machine, format_table, time_in_turn


def activation(m: Any, x: Any, y: Any) -> Any:
    a, b = m.sin(x), m.cos(y)
    return m.maximum((a * b + x) * y, 0)


def gelu(m: Any, x: Any, y: Any) -> Any:
    return 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def logistic_loss(m: Any, x: Any, y: Any) -> Any:
    return m.mean(m.log1p(m.exp(-m.abs(x))) + m.maximum(x, 0) - x * y)


def haversine(m: Any, x: Any, y: Any) -> Any:
    a = m.sin((x - 0.3) / 2) ** 2 + m.cos(x) * 0.955 * m.sin((y - 0.2) / 2) ** 2
    return 2 * 6371.0 * m.arcsin(m.sqrt(m.minimum(a, 1)))


def softmax(m: Any, x: Any, y: Any) -> Any:
    rows = x.reshape(-1, 1000)
    e = m.exp(rows - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def weighted_sum(m: Any, x: Any, y: Any) -> Any:
    return (m.exp(x) * y).sum()


def powers(m: Any, x: Any, y: Any) -> Any:
    return m.power(m.abs(x), 2.5) / (1 + m.power(m.abs(y), 1.7))


def polar(m: Any, x: Any, y: Any) -> Any:
    return m.hypot(x, y) * m.arctan2(y, x)


CHAINS: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "activation f4": (activation, "f4"),
    "activation f8": (activation, "f8"),
    "gelu f4": (gelu, "f4"),
    "logistic loss f8": (logistic_loss, "f8"),
    "haversine f8": (haversine, "f8"),
    "row softmax f4": (softmax, "f4"),
    "row softmax f8": (softmax, "f8"),
    "sum(exp(x) * y) f8": (weighted_sum, "f8"),
    "powers f8": (powers, "f8"),
    "polar f4": (polar, "f4"),
}


def measure(name: str, elements: int) -> list[str]:
    """A row of the table."""
    chain, code = CHAINS[name]
    random = numpy.random.default_rng(0)
    x, y = (random.normal(size=elements).astype(code) for _ in range(2))
    a, b = lazyarray.array(x), lazyarray.array(y)
    lazyarray.evaluate(a, b)

    def lazily(numerics: str) -> Callable[[], Any]:
        def run() -> Any:
            with lazyarray.config.set(numerics=numerics):
                return lazyarray.evaluate(chain(lazyarray, a, b))

        return run

    sides = {"numpy": lambda: chain(numpy, x, y), "fast": lazily("fast"), "exact": lazily("numpy")}
    results = {side: numpy.asarray(run()) for side, run in sides.items()}
    times = dict(zip(sides, time_in_turn(*sides.values()), strict=True))
    far = [str(compare([results["numpy"]], [results[side]])) for side in ("fast", "exact")]
    ms = [f"{1e3 * times[side]:.2f}" for side in sides]
    ratios = [f"{times['numpy'] / times[side]:.1f}" for side in ("fast", "exact")]
    return [name, *ms, *ratios, *far]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="chains whose name contains this")
    wanted = parser.parse_args()
    print(", ".join(f"{key}: {value}" for key, value in describe_machine().items()))
    header = ["chain", "NumPy ms", "fast ms", "numpy ms", "fast x", "numpy x", "fast is", "numpy is"]
    rows = [measure(name, wanted.elements) for name in CHAINS if wanted.only in name]
    print(format_table(header, rows))


if __name__ == "__main__":
    main()
