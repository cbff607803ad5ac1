"""Waves in shallow water on a periodic square, with rolled arrays.

The Lax-Friedrichs scheme, as in R. J. LeVeque, "Finite Volume Methods for Hyperbolic Problems" (Cambridge, 2002),
chapters 4 and 13.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (90, 15)
LARGE = (800, 25)

Field = NDArray[np.float64]

GRAVITY, COURANT = 9.81, 0.4


def prepare(n: int, steps: int) -> tuple[Field, int]:
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    return 1.0 + 0.5 * np.exp(-20.0 * (x**2 + y**2)), steps


def average(f: Field) -> Field:
    return 0.25 * (np.roll(f, 1, 0) + np.roll(f, -1, 0) + np.roll(f, 1, 1) + np.roll(f, -1, 1))


def difference(f: Field, axis: int) -> Field:
    return 0.5 * (np.roll(f, -1, axis) - np.roll(f, 1, axis))


def run(h: Field, steps: int) -> tuple[Field, Field, Field, float]:
    dx = 2.0 / h.shape[0]
    hu = np.zeros_like(h)
    hv = np.zeros_like(h)
    time = 0.0
    for _ in range(steps):
        u, v = hu / h, hv / h
        fastest = float(np.max(np.sqrt(u**2 + v**2) + np.sqrt(GRAVITY * h)))
        dt = COURANT * dx / fastest
        pressure = 0.5 * GRAVITY * h**2
        new_h = average(h) - dt / dx * (difference(hu, 0) + difference(hv, 1))
        new_hu = average(hu) - dt / dx * (difference(hu * u + pressure, 0) + difference(hu * v, 1))
        hv = average(hv) - dt / dx * (difference(hv * u, 0) + difference(hv * v + pressure, 1))
        h, hu = new_h, new_hu
        time += dt
    return h, hu, hv, time
