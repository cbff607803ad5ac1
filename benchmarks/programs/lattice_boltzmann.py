"""Flow around a cylinder by the lattice Boltzmann method: nine populations drift, bounce and relax.

P. Mocz, "Create your own lattice Boltzmann simulation (with Python)" (2020); Y. H. Qian, D. d'Humières and P.
Lallemand, "Lattice BGK models for Navier-Stokes equation" (Europhysics Letters 17, 1992).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (40, 80, 6)
LARGE = (150, 500, 25)

Field = NDArray[np.float64]

DENSITY, RELAXATION = 100.0, 0.6
CXS = [0, 0, 1, 1, 1, 0, -1, -1, -1]
CYS = [0, 1, 1, 0, -1, -1, -1, 0, 1]
WEIGHTS = [4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36]


def prepare(ny: int, nx: int, steps: int) -> tuple[Field, NDArray[np.bool_], int]:
    rng = np.random.default_rng(42)
    f = np.ones((ny, nx, 9)) + 0.01 * rng.standard_normal((ny, nx, 9))
    x, y = np.meshgrid(range(nx), range(ny))
    f[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * x / nx * 4))
    f *= (DENSITY / np.sum(f, 2))[:, :, np.newaxis]
    cylinder = (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 4) ** 2
    return f, cylinder, steps


def run(f: Field, cylinder: NDArray[np.bool_], steps: int) -> tuple[Field, Field]:
    cxs, cys, weights = np.array(CXS), np.array(CYS), np.array(WEIGHTS)
    vorticity = np.zeros(cylinder.shape)
    for _ in range(steps):
        for i, cx, cy in zip(range(9), CXS, CYS, strict=True):
            f[:, :, i] = np.roll(f[:, :, i], cx, axis=1)
            f[:, :, i] = np.roll(f[:, :, i], cy, axis=0)
        boundary = f[cylinder, :]
        boundary = boundary[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
        rho = np.sum(f, 2)
        ux = np.sum(f * cxs, 2) / rho
        uy = np.sum(f * cys, 2) / rho
        equilibrium = np.zeros(f.shape)
        for i, cx, cy, w in zip(range(9), CXS, CYS, weights, strict=True):
            along = cx * ux + cy * uy
            equilibrium[:, :, i] = rho * w * (1 + 3 * along + 9 * along**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        f += -(1.0 / RELAXATION) * (f - equilibrium)
        f[cylinder, :] = boundary
        ux[cylinder] = 0
        uy[cylinder] = 0
        vorticity = (np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0)) - (
            np.roll(uy, -1, axis=1) - np.roll(uy, 1, axis=1)
        )
    return f, vorticity
