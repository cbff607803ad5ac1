"""The heat equation in a cube by explicit steps, from one array to the other and back.

Forward in time and centred in space, as in R. J. LeVeque, "Finite Difference Methods for Ordinary and Partial
Differential Equations" (SIAM, 2007), chapter 9.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (34, 20)
LARGE = (120, 12)

Field = NDArray[np.float64]


def prepare(n: int, steps: int) -> tuple[Field, Field, int]:
    a = np.fromfunction(lambda i, j, k: (i + j + (n - k)) * 10.0 / n, (n, n, n))
    return a, a.copy(), steps


def step(to: Field, of: Field) -> None:
    to[1:-1, 1:-1, 1:-1] = (
        0.125 * (of[2:, 1:-1, 1:-1] - 2.0 * of[1:-1, 1:-1, 1:-1] + of[:-2, 1:-1, 1:-1])
        + 0.125 * (of[1:-1, 2:, 1:-1] - 2.0 * of[1:-1, 1:-1, 1:-1] + of[1:-1, :-2, 1:-1])
        + 0.125 * (of[1:-1, 1:-1, 2:] - 2.0 * of[1:-1, 1:-1, 1:-1] + of[1:-1, 1:-1, 0:-2])
        + of[1:-1, 1:-1, 1:-1]
    )


def run(a: Field, b: Field, steps: int) -> tuple[Field, Field]:
    for _ in range(steps):
        step(b, a)
        step(a, b)
    return a, b
