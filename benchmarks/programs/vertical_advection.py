"""Implicit vertical advection of a weather model: a tridiagonal system in each column, swept down and up.

The method of L. H. Thomas for tridiagonal systems, as COSMO's dynamical core (Baldauf et al., 2011) uses it for
vertical advection by the Crank-Nicolson scheme.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (64, 64, 64)
LARGE = (256, 256, 64)

Field = NDArray[np.float64]


def prepare(nx: int, ny: int, levels: int) -> tuple[Field, Field, Field]:
    rng = np.random.default_rng(1)
    velocity = rng.random((nx, ny, levels))
    speed = rng.uniform(-1.0, 1.0, (nx, ny, levels + 1))
    tendency = rng.random((nx, ny, levels))
    return velocity, speed, tendency


def run(velocity: Field, speed: Field, tendency: Field) -> Field:
    nx, ny, levels = velocity.shape
    time_step = 3.0 / 20.0
    upper = np.empty((nx, ny, levels))
    right = np.empty((nx, ny, levels))
    for k in range(levels):
        if k == 0:
            above = np.zeros((nx, ny))
            correction = np.zeros((nx, ny))
        else:
            above = -0.25 * speed[:, :, k]
            correction = -above * (velocity[:, :, k - 1] - velocity[:, :, k])
        if k == levels - 1:
            below = np.zeros((nx, ny))
        else:
            below = 0.25 * speed[:, :, k + 1]
            correction = correction - below * (velocity[:, :, k + 1] - velocity[:, :, k])
        diagonal = 1.0 / time_step - above - below
        known = velocity[:, :, k] / time_step + tendency[:, :, k] + correction
        if k == 0:
            divided = 1.0 / diagonal
            right[:, :, k] = known * divided
        else:
            divided = 1.0 / (diagonal - upper[:, :, k - 1] * above)
            right[:, :, k] = (known - right[:, :, k - 1] * above) * divided
        upper[:, :, k] = below * divided

    solved = np.empty((nx, ny, levels))
    solved[:, :, levels - 1] = right[:, :, levels - 1]
    for k in range(levels - 2, -1, -1):
        solved[:, :, k] = right[:, :, k] - upper[:, :, k] * solved[:, :, k + 1]
    return (solved - velocity) / time_step
