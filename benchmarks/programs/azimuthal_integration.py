"""Mean intensity of a detector's pixels in rings about the beam: a mask for each ring, and by histograms.

J. Kieffer and D. Karkoulis, "PyFAI, a versatile library for azimuthal regrouping" (Journal of Physics: Conference
Series 425, 2013).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (60_000, 70)
LARGE = (1_500_000, 200)

Vector = NDArray[np.float64]


def prepare(pixels: int, rings: int) -> tuple[Vector, Vector, int]:
    rng = np.random.default_rng(1)
    return rng.random(pixels), rng.random(pixels), rings


def average_by_masks(intensity: Vector, radius: Vector, rings: int) -> Vector:
    furthest = radius.max()
    found = np.zeros(rings)
    for i in range(rings):
        inner = furthest * i / rings
        outer = furthest * (i + 1) / rings
        inside = np.logical_and(inner <= radius, radius < outer)
        found[i] = intensity[inside].mean()
    return found


def average_by_histograms(intensity: Vector, radius: Vector, rings: int) -> Vector:
    counts = np.histogram(radius, rings)[0]
    sums = np.histogram(radius, rings, weights=intensity)[0]
    return sums / counts


def run(intensity: Vector, radius: Vector, rings: int) -> tuple[Vector, Vector]:
    return average_by_masks(intensity, radius, rings), average_by_histograms(intensity, radius, rings)
