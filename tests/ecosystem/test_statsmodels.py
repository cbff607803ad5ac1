"""statsmodels fits models of lazy arrays as of NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.ecosystem.arrays import assert_equal, numbers, pending

api = pytest.importorskip("statsmodels.api")
tsa = pytest.importorskip("statsmodels.tsa.api")

x = numbers(80, 3)
y = x @ numpy.array([1.0, -2.0, 0.5]) + 0.1 * numbers(80, seed=3)
counts = numpy.floor(numpy.exp(0.3 * x[:, 0])) + 1

MODELS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "least squares": lambda given: api.OLS(given(y), given(api.add_constant(x))).fit().params,
    "weighted": lambda given: api.WLS(given(y), given(x), weights=given(numpy.abs(y) + 1)).fit().params,
    "robust": lambda given: api.RLM(given(y), given(x)).fit().params,
    "counts": lambda given: api.GLM(given(counts), given(x), family=api.families.Poisson()).fit().params,
    "quantiles": lambda given: api.QuantReg(given(y), given(x)).fit(0.5).params,
    "lags": lambda given: tsa.AutoReg(given(y), 2).fit().params,
    "smoothed": lambda given: api.nonparametric.lowess(given(y), given(x[:, 0])),
    "correlations": lambda given: tsa.acf(given(y), nlags=5),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_are_fitted_to_lazy_arrays(name: str) -> None:
    assert_equal(MODELS[name](pending), MODELS[name](numpy.asarray), 1e-9)
