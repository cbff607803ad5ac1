"""Shortest paths between all pairs of nodes: a minimum over the whole matrix for each node.

R. W. Floyd, "Algorithm 97: Shortest path" (Communications of the ACM 5, 1962).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (220,)
LARGE = (900,)

Matrix = NDArray[np.int32]


def prepare(n: int) -> tuple[Matrix]:
    rng = np.random.default_rng(1)
    path = rng.integers(1, 1000, (n, n), dtype=np.int32)
    path[rng.random((n, n)) < 0.7] = 999_999
    np.fill_diagonal(path, 0)
    return (path,)


def run(path: Matrix) -> Matrix:
    n = path.shape[0]
    for k in range(n):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return path
