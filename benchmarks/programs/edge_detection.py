"""Edges of a photograph: grey, blur, gradients, thinning along the gradient's direction, and two thresholds.

J. Canny, "A computational approach to edge detection" (IEEE Transactions on Pattern Analysis and Machine Intelligence
8, 1986).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (240, 320)
LARGE = (1600, 2200)

Image = NDArray[np.float64]


def prepare(height: int, width: int) -> tuple[NDArray[np.uint8]]:
    y, x = np.mgrid[0:height, 0:width]
    rng = np.random.default_rng(1)
    shapes = 90 * ((x // 40 + y // 30) % 2) + 60 * (np.hypot(x - width / 2, y - height / 2) < height / 3)
    image = shapes[:, :, None] + np.array([20, 40, 60]) + rng.integers(0, 20, (height, width, 3))
    return (image.astype(np.uint8),)


def filter_along(image: Image, taps: list[float], axis: int) -> Image:
    half = len(taps) // 2
    width = [(half, half) if a == axis else (0, 0) for a in range(2)]
    padded = np.pad(image, width, mode="reflect")
    size = image.shape[axis]
    result = np.zeros_like(image)
    for i, tap in enumerate(taps):
        part = padded[i : i + size, :] if axis == 0 else padded[:, i : i + size]
        result += tap * part
    return result


def thin(strength: Image, direction: NDArray[np.int64]) -> Image:
    padded = np.pad(strength, 1)
    kept = np.zeros_like(strength)
    height, width = strength.shape
    for sector, (dy, dx) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1)]):
        ahead = padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
        behind = padded[1 - dy : 1 - dy + height, 1 - dx : 1 - dx + width]
        largest = (direction == sector) & (strength >= ahead) & (strength >= behind)
        kept[largest] = strength[largest]
    return kept


def run(image: NDArray[np.uint8]) -> tuple[Image, NDArray[np.bool_], NDArray[np.int64]]:
    grey = image @ np.array([0.299, 0.587, 0.114])
    gauss = [0.06136, 0.24477, 0.38774, 0.24477, 0.06136]
    smooth = filter_along(filter_along(grey, gauss, 0), gauss, 1)
    dx = filter_along(filter_along(smooth, [-1.0, 0.0, 1.0], 1), [1.0, 2.0, 1.0], 0)
    dy = filter_along(filter_along(smooth, [-1.0, 0.0, 1.0], 0), [1.0, 2.0, 1.0], 1)
    strength = np.hypot(dx, dy)
    direction = np.rint(np.arctan2(dy, dx) / (np.pi / 4)).astype(np.int64) % 4
    kept = thin(strength, direction)
    strong = kept > 0.5 * kept.max()
    weak = kept > 0.2 * kept.max()
    for _ in range(4):
        near = np.pad(strong, 1)
        grown = near[:-2, 1:-1] | near[2:, 1:-1] | near[1:-1, :-2] | near[1:-1, 2:] | strong
        strong = grown & weak
    counts = np.histogram(kept[strong], bins=16)[0]
    return kept, strong, counts
