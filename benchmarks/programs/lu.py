"""LU factors with row exchanges, one outer product per column, and a solve by substitution.

G. H. Golub and C. F. Van Loan, "Matrix Computations" (4th edition, 2013), section 3.4.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (210,)
LARGE = (1000,)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def prepare(n: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(1)
    return rng.random((n, n)) + np.eye(n), rng.random(n)


def run(a: Matrix, b: Vector) -> tuple[Matrix, NDArray[np.intp], Vector]:
    n = a.shape[0]
    order = np.arange(n)
    for k in range(n - 1):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    x = b[order]
    for i in range(1, n):
        x[i] -= a[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return a, order, x
