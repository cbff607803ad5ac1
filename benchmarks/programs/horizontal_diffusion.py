"""Horizontal diffusion of a weather model: a limited flux of the Laplacian, on all levels.

The fourth-order diffusion of COSMO's dynamical core, as in M. Baldauf et al., "Operational Convective-Scale Numerical
Weather Prediction with the COSMO Model" (Monthly Weather Review 139, 2011).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (96, 96, 50)
LARGE = (256, 256, 64)

Field = NDArray[np.float64]


def prepare(nx: int, ny: int, levels: int) -> tuple[Field, Field]:
    rng = np.random.default_rng(1)
    field = rng.random((nx + 4, ny + 4, levels))
    coefficient = rng.random((nx, ny, levels))
    return field, coefficient


def run(field: Field, coefficient: Field) -> Field:
    laplacian = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    change = laplacian[1:, 1:-1, :] - laplacian[:-1, 1:-1, :]
    flux_x = np.where(change * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0, 0, change)
    change = laplacian[1:-1, 1:, :] - laplacian[1:-1, :-1, :]
    flux_y = np.where(change * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0, 0, change)
    return field[2:-2, 2:-2, :] - coefficient * (
        flux_x[1:, :, :] - flux_x[:-1, :, :] + flux_y[:, 1:, :] - flux_y[:, :-1, :]
    )
