"""scikit-learn fits and predicts with lazy arrays as with NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers, pending, run_python

sklearn = pytest.importorskip("sklearn")
from sklearn import (
    cluster,
    compose,
    datasets,
    decomposition,
    ensemble,
    gaussian_process,
    linear_model,
    metrics,
    model_selection,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
    utils,
)

X = numbers(60, 5)
y = X @ numpy.array([1.0, -2.0, 0.0, 0.5, 3.0]) + 0.1 * numbers(60, seed=3)
labels = (y > 0).astype(int)

MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "linear regression": (linear_model.LinearRegression, y),
    "ridge": (linear_model.Ridge, y),
    "lasso": (lambda: linear_model.Lasso(0.1), y),
    "logistic regression": (linear_model.LogisticRegression, labels),
    "gradient descent": (lambda: linear_model.SGDClassifier(random_state=0), labels),
    "support vectors": (svm.SVC, labels),
    "random forest": (lambda: ensemble.RandomForestClassifier(9, random_state=0), labels),
    "boosting": (lambda: ensemble.HistGradientBoostingRegressor(max_iter=5), y),
    "neighbours": (neighbors.KNeighborsRegressor, y),
    "naive Bayes": (naive_bayes.GaussianNB, labels),
    "decision tree": (lambda: tree.DecisionTreeRegressor(random_state=0), y),
    "neural network": (
        lambda: neural_network.MLPRegressor(hidden_layer_sizes=(4,), max_iter=50, random_state=0, tol=1.0),
        y,
    ),
    "Gaussian process": (gaussian_process.GaussianProcessRegressor, y),
    "pipeline": (
        lambda: pipeline.make_pipeline(
            compose.ColumnTransformer([("scaled", preprocessing.StandardScaler(), [0, 1, 2])]),
            linear_model.LogisticRegression(),
        ),
        labels,
    ),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_models_fit_and_predict(model: tuple[Callable[[], Any], Any]) -> None:
    make, target = model
    fitted = make().fit(pending(X), pending(target))
    expected = make().fit(X, target)
    assert_equal(fitted.predict(pending(X[:20])), expected.predict(X[:20]), 1e-8)
    assert fitted.score(pending(X), pending(target)) == pytest.approx(expected.score(X, target))


TRANSFORMS: dict[str, Callable[[], Any]] = {
    "standard scaler": preprocessing.StandardScaler,
    "range scaler": preprocessing.MinMaxScaler,
    "polynomials": preprocessing.PolynomialFeatures,
    "quantiles": lambda: preprocessing.QuantileTransformer(n_quantiles=9),
    "principal components": lambda: decomposition.PCA(2, svd_solver="full"),
    "factorisation": lambda: decomposition.TruncatedSVD(2, random_state=0),
    "distances to centres": lambda: cluster.KMeans(3, n_init=1, random_state=0),
    "one of several": lambda: preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
}


@pytest.mark.parametrize("make", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms(make: Callable[[], Any]) -> None:
    assert_equal(make().fit_transform(pending(X)), make().fit_transform(X), 1e-8)


def test_metrics_and_splits() -> None:
    for metric in (metrics.mean_squared_error, metrics.r2_score):
        assert metric(pending(y), pending(y) + 1) == pytest.approx(metric(y, y + 1))
    guess = 1 - labels
    assert metrics.accuracy_score(pending(labels), pending(guess)) == metrics.accuracy_score(labels, guess)
    assert_equal(metrics.confusion_matrix(pending(labels), pending(guess)), metrics.confusion_matrix(labels, guess))
    assert_equal(metrics.pairwise_distances(pending(X)), metrics.pairwise_distances(X), 1e-9)
    found = model_selection.train_test_split(pending(X), pending(y), random_state=0)
    assert_equal(found, model_selection.train_test_split(X, y, random_state=0))
    scores = model_selection.cross_val_score(linear_model.Ridge(), pending(X), pending(y), cv=3)
    assert_equal(scores, model_selection.cross_val_score(linear_model.Ridge(), X, y, cv=3), 1e-9)


def test_a_function_transformer_runs_a_lazy_function() -> None:
    found = preprocessing.FunctionTransformer(lambda v: lazyarray.log1p(lazyarray.asarray(v) ** 2)).transform(
        pending(X)
    )
    assert_equal(found, numpy.log1p(X**2))


def test_datasets_become_lazy_arrays() -> None:
    data, target = datasets.load_iris(return_X_y=True)
    means = lazyarray.stack([lazyarray.asarray(data)[lazyarray.asarray(target) == k].mean(axis=0) for k in range(3)])
    assert_equal(means, numpy.stack([data[target == k].mean(axis=0) for k in range(3)]))


DISPATCHED = """
import numpy
import lazyarray
import sklearn
from sklearn import decomposition, linear_model, metrics, preprocessing
from tests.ecosystem.arrays import assert_equal, numbers, pending

X, y = numbers(60, 5), numbers(60)
with sklearn.config_context(array_api_dispatch=True):
    lazy = preprocessing.MinMaxScaler().fit_transform(pending(X))
    assert type(lazy) is lazyarray.ndarray
    assert_equal(lazy, preprocessing.MinMaxScaler().fit_transform(X))
    model = decomposition.PCA(2, svd_solver="full").fit(pending(X))
    assert type(model.components_) is lazyarray.ndarray
    assert_equal(model.transform(pending(X)), decomposition.PCA(2, svd_solver="full").fit(X).transform(X), 1e-8)
    ridge = linear_model.Ridge(solver="svd").fit(pending(X), pending(X[:, :2]))
    assert type(ridge.coef_) is lazyarray.ndarray
    assert_equal(ridge.coef_, linear_model.Ridge(solver="svd").fit(X, X[:, :2]).coef_, 1e-8)
    assert abs(metrics.r2_score(pending(y), pending(y) + 1) - metrics.r2_score(y, y + 1)) < 1e-9
"""


def test_array_api_dispatch_keeps_lazy_arrays() -> None:
    """In a process of its own: SciPy reads the variable when it is imported."""
    run_python(DISPATCHED, SCIPY_ARRAY_API="1")


def test_grids_of_parameters_and_sets_of_classes_are_lazy_arrays() -> None:
    found, expected = (
        model_selection.GridSearchCV(svm.SVC(), {"C": np.logspace(-2, 1, 4), "gamma": np.array([0.1, 1.0])}).fit(
            X, labels
        )
        for np in (lazyarray, numpy)
    )
    assert found.best_params_ == expected.best_params_
    assert_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    weights = utils.compute_class_weight("balanced", classes=lazyarray.unique(pending(labels)), y=pending(labels))
    assert_equal(weights, utils.compute_class_weight("balanced", classes=numpy.unique(labels), y=labels))


@pytest.mark.parametrize("kind", ["Generator", "RandomState"])
def test_generators_draw_numpys_arrays_for_packages(kind: str) -> None:
    def seeded(np: Any) -> Any:
        return np.random.RandomState(5) if kind == "RandomState" else np.random.RandomState(np.random.PCG64(5))

    found, expected = (
        cluster.KMeans(3, n_init=2, random_state=seeded(np)).fit(X).inertia_ for np in (lazyarray, numpy)
    )
    assert found == expected
    found, expected = (
        ensemble.RandomForestRegressor(5, random_state=seeded(np)).fit(X, y).predict(X) for np in (lazyarray, numpy)
    )
    assert_equal(found, expected)
