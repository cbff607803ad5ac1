"""Nine-point Gauss-Seidel sweeps: a row takes its neighbours' sums at once, then runs along itself.

The Seidel stencil as rows of NumPy: what a row needs from the row below and above is vectorised, the recurrence along
the row is a loop over its elements (L.-N. Pouchet, "PolyBench", the kernel seidel-2d).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (40, 8)
LARGE = (400, 8)

Field = NDArray[np.float64]


def prepare(n: int, sweeps: int) -> tuple[Field, int]:
    i = np.arange(n, dtype=np.float64)[:, np.newaxis]
    j = np.arange(n, dtype=np.float64)
    return (i * (j + 2) + 2) / n, sweeps


def run(a: Field, sweeps: int) -> Field:
    n = a.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a
