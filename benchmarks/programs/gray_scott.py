"""Patterns of two chemicals that react and diffuse.

P. Gray and S. K. Scott (1984); the slices as in N. P. Rougier, "From Python to Numpy" (2017), section 4.4, after J.
E. Pearson, "Complex patterns in a simple system" (Science 261, 1993).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (128, 50)
LARGE = (700, 100)

Field = NDArray[np.float64]

DU, DV, FEED, KILL = 0.16, 0.08, 0.035, 0.065


def prepare(n: int, steps: int) -> tuple[Field, Field, int]:
    u = np.zeros((n + 2, n + 2))
    v = np.zeros((n + 2, n + 2))
    u[1:-1, 1:-1] = 1.0
    middle, r = n // 2, n // 10
    u[middle - r : middle + r, middle - r : middle + r] = 0.50
    v[middle - r : middle + r, middle - r : middle + r] = 0.25
    u += 0.05 * np.random.default_rng(1).uniform(-1, 1, (n + 2, n + 2))
    return u, v, steps


def laplacian(z: Field) -> Field:
    return z[0:-2, 1:-1] + z[1:-1, 0:-2] - 4 * z[1:-1, 1:-1] + z[1:-1, 2:] + z[2:, 1:-1]


def run(big_u: Field, big_v: Field, steps: int) -> tuple[Field, Field]:
    u, v = big_u[1:-1, 1:-1], big_v[1:-1, 1:-1]
    for _ in range(steps):
        lu = laplacian(big_u)
        lv = laplacian(big_v)
        uvv = u * v * v
        u += DU * lu - uvv + FEED * (1 - u)
        v += DV * lv + uvv - (FEED + KILL) * v
    return u, v
