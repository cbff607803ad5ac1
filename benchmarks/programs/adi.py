"""Diffusion in two dimensions by alternating directions: tridiagonal sweeps over columns, then over rows.

D. W. Peaceman and H. H. Rachford, "The numerical solution of parabolic and elliptic differential equations" (Journal
of the Society for Industrial and Applied Mathematics 3, 1955).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (50, 6)
LARGE = (500, 25)

Field = NDArray[np.float64]


def prepare(n: int, steps: int) -> tuple[Field, int]:
    u = np.fromfunction(lambda i, j: (i + n - j) / n, (n, n))
    return u, steps


def run(u: Field, steps: int) -> Field:
    n = u.shape[0]
    v = np.empty_like(u)
    p = np.empty_like(u)
    q = np.empty_like(u)
    dx = dy = 1.0 / n
    dt = 1.0 / steps
    mul1 = 2.0 * dt / dx**2
    mul2 = 1.0 * dt / dy**2
    a = -mul1 / 2.0
    b = 1.0 + mul2
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]

        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (
                -a * v[j - 1, 1:-1] + (1.0 + 2.0 * a) * v[j, 1:-1] - c * v[j + 1, 1:-1] - d * q[1:-1, j - 1]
            ) / (d * p[1:-1, j - 1] + e)
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u
