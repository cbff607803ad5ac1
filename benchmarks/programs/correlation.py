"""Correlations of many series: means, deviations and products, a row of the matrix at a time.

K. Pearson, "Notes on regression and inheritance in the case of two parents" (Proceedings of the Royal Society of
London 58, 1895); computed as in L.-N. Pouchet, "PolyBench", the kernel correlation.
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (2500, 130)
LARGE = (5000, 800)

Matrix = NDArray[np.float64]


def prepare(samples: int, series: int) -> tuple[Matrix]:
    return (np.random.default_rng(1).random((samples, series)),)


def run(data: Matrix) -> Matrix:
    samples, series = data.shape
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(samples) * deviation
    found = np.eye(series)
    for i in range(series - 1):
        found[i + 1 :, i] = found[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return found
