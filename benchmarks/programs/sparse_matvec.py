"""The largest eigenvalue of a sparse matrix in compressed rows, products by index arrays and segment sums.

R. von Mises and H. Pollaczek-Geiringer, "Praktische Verfahren der Gleichungsauflösung" (ZAMM 9, 1929): power
iteration; the first product is also taken row by row.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (3000, 12, 20)
LARGE = (150_000, 20, 20)

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]


def prepare(n: int, per_row: int, steps: int) -> tuple[Vector, Indices, Indices, int]:
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 2 * per_row, n)
    starts = np.concatenate(([0], np.cumsum(counts)))
    columns = rng.integers(0, n, starts[-1])
    return rng.random(starts[-1]), columns, starts, steps


def multiply_rows(values: Vector, columns: Indices, starts: Indices, x: Vector) -> Vector:
    y = np.empty(len(starts) - 1)
    for i in range(len(y)):
        row = slice(starts[i], starts[i + 1])
        y[i] = values[row] @ x[columns[row]]
    return y


def multiply(values: Vector, columns: Indices, starts: Indices, x: Vector) -> Vector:
    return np.add.reduceat(values * x[columns], starts[:-1])


def run(values: Vector, columns: Indices, starts: Indices, steps: int) -> tuple[Vector, Vector, float]:
    x = np.ones(len(starts) - 1)
    first = multiply_rows(values, columns, starts, x)
    eigenvalue = 0.0
    for _ in range(steps):
        y = multiply(values, columns, starts, x)
        eigenvalue = float(x @ y / (x @ x))
        x = y / np.linalg.norm(y)
    return first, x, eigenvalue
