"""Principal components of standardised data: covariance, eigenvectors, projection, reconstruction error, outliers.

H. Hotelling, "Analysis of a complex of statistical variables into principal components" (Journal of Educational
Psychology 24, 1933).
"""

import numpy as np
from numpy.typing import NDArray

SMALL = (16_000, 32, 6)
LARGE = (500_000, 40, 8)

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def prepare(samples: int, features: int, components: int) -> tuple[Matrix, int]:
    rng = np.random.default_rng(1)
    hidden = rng.standard_normal((samples, components)) * np.arange(1, components + 1)
    return hidden @ rng.standard_normal((components, features)) + rng.standard_normal((samples, features)), components


def run(data: Matrix, components: int) -> tuple[Vector, Vector, Vector, NDArray[np.bool_]]:
    standard = (data - data.mean(axis=0)) / data.std(axis=0)
    covariance = standard.T @ standard / (len(data) - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    explained = values / values.sum()
    scores = standard @ vectors[:, :components]
    rebuilt = scores @ vectors[:, :components].T
    errors = np.sqrt(((standard - rebuilt) ** 2).mean(axis=1))
    scaled = ((scores / np.sqrt(values[:components])) ** 2).sum(axis=1)
    outliers = (errors > errors.mean() + 3.0 * errors.std()) | (scaled > 3.0 * components)
    return explained, errors, scaled, outliers
