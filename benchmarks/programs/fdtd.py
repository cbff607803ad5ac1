"""An electromagnetic wave in two dimensions by the finite-difference time-domain method.

K. S. Yee, "Numerical solution of initial boundary value problems involving Maxwell's equations in isotropic media"
(IEEE Transactions on Antennas and Propagation 14, 1966).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (150, 80)
LARGE = (1000, 60)

Field = NDArray[np.float64]


def prepare(n: int, steps: int) -> tuple[Field, Field, Field, Field]:
    x, y = np.meshgrid(np.arange(n, dtype=np.float64), np.arange(n, dtype=np.float64), indexing="ij")
    ex = x * (y + 1) / n
    ey = x * (y + 2) / n
    hz = x * (y + 3) / n
    source = np.sin(0.1 * np.arange(steps))
    return ex, ey, hz, source


def run(ex: Field, ey: Field, hz: Field, source: Field) -> tuple[Field, Field, Field]:
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz
