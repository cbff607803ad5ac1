"""The Yule-Walker equations of a Toeplitz matrix by Durbin's recursion.

J. Durbin, "The fitting of time-series models" (Revue de l'Institut International de Statistique 28, 1960); Golub and
Van Loan, "Matrix Computations", section 4.7.3.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (1300,)
LARGE = (24_000,)

Vector = NDArray[np.float64]


def prepare(n: int) -> tuple[Vector]:
    lags = np.arange(1, n + 1)
    return (0.9**lags * np.cos(0.3 * lags),)


def run(r: Vector) -> Vector:
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y
