"""The Mandelbrot set: a mask says which points are still near, and all points are kept to the end.

N. P. Rougier, "From Python to Numpy" (2017), section 4.3; the set after B. B. Mandelbrot (1980).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (200, 150, 50)
LARGE = (1200, 1000, 100)


def prepare(width: int, height: int, iterations: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    x = np.linspace(-2.25, 0.75, width)
    y = np.linspace(-1.25, 1.25, height)
    return x, y, iterations


def run(
    x: NDArray[np.float64], y: NDArray[np.float64], iterations: int
) -> tuple[NDArray[np.complex128], NDArray[np.int64]]:
    c = x + y[:, None] * 1j
    escaped = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for n in range(iterations):
        near = np.less(abs(z), 2.0)
        escaped[near] = n
        z[near] = z[near] ** 2 + c[near]
    escaped[escaped == iterations - 1] = 0
    return z, escaped
