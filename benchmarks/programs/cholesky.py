"""The Cholesky factor of a positive definite matrix, in place, by dot products of rows.

G. H. Golub and C. F. Van Loan, "Matrix Computations" (4th edition, 2013), section 4.2.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (90,)
LARGE = (700,)

Matrix = NDArray[np.float64]


def prepare(n: int) -> tuple[Matrix]:
    half = np.random.default_rng(1).random((n, n))
    return (half @ half.T + n * np.eye(n),)


def run(a: Matrix) -> Matrix:
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.tril(a)
