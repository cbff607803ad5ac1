"""Clusters of points: the nearest centre of each, then the mean of each cluster, until nothing moves.

S. P. Lloyd, "Least squares quantization in PCM" (IEEE Transactions on Information Theory 28, 1982).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (2500, 8, 6, 10)
LARGE = (60_000, 16, 12, 10)

Matrix = NDArray[np.float64]


def prepare(points: int, features: int, clusters: int, steps: int) -> tuple[Matrix, int, int]:
    rng = np.random.default_rng(1)
    centres = 4.0 * rng.standard_normal((clusters, features))
    of = rng.integers(0, clusters, points)
    return centres[of] + rng.standard_normal((points, features)), clusters, steps


def run(data: Matrix, clusters: int, steps: int) -> tuple[Matrix, NDArray[np.int64], float]:
    centres = data[:clusters].copy()
    labels = np.zeros(len(data), dtype=np.int64)
    for _ in range(steps):
        distances = ((data[:, np.newaxis, :] - centres[np.newaxis, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        moved = centres.copy()
        for k in range(clusters):
            members = data[labels == k]
            if len(members):
                moved[k] = members.mean(axis=0)
        if np.allclose(moved, centres, rtol=0.0, atol=1e-12):
            break
        centres = moved
    inertia = ((data - centres[labels]) ** 2).sum()
    return centres, labels, inertia
