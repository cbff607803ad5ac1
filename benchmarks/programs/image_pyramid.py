"""A Laplacian pyramid of a colour image, its small coefficients set to zero, and the image rebuilt from it.

P. J. Burt and E. H. Adelson, "The Laplacian pyramid as a compact image code" (IEEE Transactions on Communications 31,
1983).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-6
SMALL = (208, 4)
LARGE = (2048, 6)

Image = NDArray[Any]


def prepare(side: int, levels: int) -> tuple[NDArray[np.uint8], int]:
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:side, 0:side] / side
    waves = np.stack([np.sin(9 * x + 3 * y), np.cos(7 * x * y), np.sin(20 * y)], axis=-1)
    image = 128 + 90 * waves + 20 * rng.random((side, side, 3))
    return image.astype(np.uint8), levels


def blur(image: Image) -> Image:
    padded = np.pad(image, ((2, 2), (0, 0), (0, 0)), mode="edge")
    image = (padded[:-4] + 4 * padded[1:-3] + 6 * padded[2:-2] + 4 * padded[3:-1] + padded[4:]) / 16
    padded = np.pad(image, ((0, 0), (2, 2), (0, 0)), mode="edge")
    return (padded[:, :-4] + 4 * padded[:, 1:-3] + 6 * padded[:, 2:-2] + 4 * padded[:, 3:-1] + padded[:, 4:]) / 16


def grow(image: Image) -> Image:
    return blur(image.repeat(2, axis=0).repeat(2, axis=1))


def run(image: NDArray[np.uint8], levels: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], Image]:
    current = image.astype(np.float32) / 255
    details = []
    for _ in range(levels):
        smaller = blur(current)[::2, ::2]
        details.append(current - grow(smaller))
        current = smaller
    kept = np.zeros(levels, dtype=np.int64)
    for level, detail in enumerate(details):
        detail[np.abs(detail) < 0.02] = 0
        kept[level] = np.count_nonzero(detail)
    for detail in reversed(details):
        current = grow(current) + detail
    return np.clip(np.rint(current * 255), 0, 255).astype(np.uint8), kept, current
