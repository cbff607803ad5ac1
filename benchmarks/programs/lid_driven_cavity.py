"""Incompressible flow in a square cavity whose lid moves: velocities and pressure by finite differences.

Step 11 of L. A. Barba and G. F. Forsyth, "CFD Python: the 12 steps to Navier-Stokes equations" (Journal of Open
Source Education 2, 2019).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (61, 8, 25)
LARGE = (401, 12, 60)

Field = NDArray[np.float64]

DENSITY, VISCOSITY, TIME_STEP = 1.0, 0.1, 1e-5


def prepare(n: int, steps: int, pressure_steps: int) -> tuple[Field, Field, Field, int, int]:
    return np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), steps, pressure_steps


def build_source(u: Field, v: Field, dx: float, dy: float) -> Field:
    b = np.zeros_like(u)
    b[1:-1, 1:-1] = DENSITY * (
        1 / TIME_STEP * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )
    return b


def solve_pressure(p: Field, b: Field, dx: float, dy: float, steps: int) -> Field:
    for _ in range(steps):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def run(u: Field, v: Field, p: Field, steps: int, pressure_steps: int) -> tuple[Field, Field, Field]:
    n = u.shape[0]
    dx = dy = 2 / (n - 1)
    dt = TIME_STEP
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        b = build_source(u, v, dx, dy)
        p = solve_pressure(p, b, dx, dy, pressure_steps)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * DENSITY * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + VISCOSITY
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * DENSITY * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + VISCOSITY
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
            )
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p
