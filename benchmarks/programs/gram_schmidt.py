"""QR factors by the modified Gram-Schmidt process, a column at a time.

G. H. Golub and C. F. Van Loan, "Matrix Computations" (4th edition, 2013), section 5.2.8.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (120, 70)
LARGE = (600, 420)

Matrix = NDArray[np.float64]


def prepare(rows: int, columns: int) -> tuple[Matrix]:
    return (np.random.default_rng(1).random((rows, columns)) + np.eye(rows, columns),)


def run(a: Matrix) -> tuple[Matrix, Matrix]:
    columns = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((columns, columns))
    for k in range(columns):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, columns):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r
