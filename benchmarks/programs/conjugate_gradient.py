"""Poisson's equation on a square by conjugate gradients, the matrix applied by slices.

M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems" (Journal of Research of the
National Bureau of Standards 49, 1952).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (120, 90)
LARGE = (1000, 80)

Field = NDArray[np.float64]


def prepare(n: int, most_steps: int) -> tuple[Field, int]:
    return np.random.default_rng(1).standard_normal((n, n)), most_steps


def apply(x: Field) -> Field:
    y = 4.0 * x
    y[1:, :] -= x[:-1, :]
    y[:-1, :] -= x[1:, :]
    y[:, 1:] -= x[:, :-1]
    y[:, :-1] -= x[:, 1:]
    return y


def run(b: Field, most_steps: int) -> tuple[Field, Field]:
    x = np.zeros_like(b)
    r = b - apply(x)
    p = r.copy()
    squares = np.sum(r * r)
    residuals = []
    for _ in range(most_steps):
        ap = apply(p)
        alpha = squares / np.sum(p * ap)
        x += alpha * p
        r -= alpha * ap
        new = np.sum(r * r)
        residuals.append(np.sqrt(new))
        if residuals[-1] < 1e-8:
            break
        p = r + (new / squares) * p
        squares = new
    return x, np.array(residuals)
