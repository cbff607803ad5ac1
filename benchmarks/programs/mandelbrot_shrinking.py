"""The Mandelbrot set: points that have escaped are taken out of the arrays, which shrink.

D. Goodwin's version, as in N. P. Rougier, "From Python to Numpy" (2017), section 4.3.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (220, 180, 60)
LARGE = (1600, 1300, 80)


def prepare(width: int, height: int, iterations: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    x = np.linspace(-2.25, 0.75, width)
    y = np.linspace(-1.25, 1.25, height)
    return x, y, iterations


def run(
    x: NDArray[np.float64], y: NDArray[np.float64], iterations: int
) -> tuple[NDArray[np.complex128], NDArray[np.int64]]:
    xi, yi = np.mgrid[0 : len(x), 0 : len(y)]
    c = x[xi] + 1j * y[yi]
    last = np.zeros(c.shape, dtype=np.complex128)
    escaped = np.zeros(c.shape, dtype=np.int64)
    xi = xi.reshape(c.size)
    yi = yi.reshape(c.size)
    c = c.reshape(c.size)
    z = np.zeros(c.shape, dtype=np.complex128)
    for i in range(iterations):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        gone = abs(z) > 2.0
        escaped[xi[gone], yi[gone]] = i + 1
        last[xi[gone], yi[gone]] = z[gone]
        stays = ~gone
        xi, yi = xi[stays], yi[stays]
        z, c = z[stays], c[stays]
    return last.T, escaped.T
