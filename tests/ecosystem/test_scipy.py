"""SciPy's functions take lazy arrays where they take NumPy's, and call functions that compute with lazy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, assert_same, numbers, pending

pytest.importorskip("scipy")
from scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, special, stats

square = numbers(6, 6) + 6 * numpy.eye(6)
positive = numpy.abs(numbers(40)) + 0.1
image = numbers(30, 20)
x = numpy.sort(numbers(50))
y = numbers(50, seed=2)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "special.gamma": (special.gamma, (positive,)),
    "special.erf": (special.erf, (numbers(5000),)),
    "special.jv": (special.jv, (2, positive)),
    "special.logsumexp": (lambda a: special.logsumexp(a, axis=1), (image,)),
    "special.softmax": (lambda a: special.softmax(a, axis=0), (image,)),
    "special.xlogy": (special.xlogy, (positive, positive)),
    "special.expit": (special.expit, (image,)),
    "stats.norm.pdf": (lambda a: stats.norm.pdf(a, loc=0.5), (image,)),
    "stats.norm.ppf": (stats.norm.ppf, (numpy.linspace(0.1, 0.9, 9),)),
    "stats.norm.fit": (stats.norm.fit, (y,)),
    "stats.gamma.logcdf": (lambda a: stats.gamma(2.0).logcdf(a), (positive,)),
    "stats.zscore": (stats.zscore, (image,)),
    "stats.skew": (stats.skew, (image,)),
    "stats.ttest_ind": (lambda a, b: tuple(stats.ttest_ind(a, b)), (x, y)),
    "stats.pearsonr": (lambda a, b: tuple(stats.pearsonr(a, b)), (x, y)),
    "stats.spearmanr": (lambda a, b: tuple(stats.spearmanr(a, b)), (x, y)),
    "stats.ks_2samp": (lambda a, b: tuple(stats.ks_2samp(a, b))[:2], (x, y)),
    "stats.describe": (lambda a: tuple(stats.describe(a))[2:], (image,)),
    "stats.gaussian_kde": (lambda a, b: stats.gaussian_kde(a)(b), (y, x)),
    "stats.linregress": (lambda a, b: tuple(stats.linregress(a, b)), (x, y)),
    "stats.binned_statistic": (lambda a, b: stats.binned_statistic(a, b, "mean", 3)[0], (x, y)),
    "linalg.solve": (linalg.solve, (square, numbers(6))),
    "linalg.lu": (linalg.lu, (square,)),
    "linalg.qr": (linalg.qr, (square,)),
    "linalg.svd": (linalg.svd, (image,)),
    "linalg.expm": (linalg.expm, (square / 6,)),
    "linalg.cholesky": (linalg.cholesky, (square @ square.T,)),
    "linalg.eigh": (linalg.eigh, (square + square.T,)),
    "linalg.lstsq": (lambda a, b: linalg.lstsq(a, b)[0], (image, numbers(30))),
    "linalg.inv": (linalg.inv, (square,)),
    "ndimage.gaussian_filter": (lambda a: ndimage.gaussian_filter(a, 1.5), (image,)),
    "ndimage.convolve": (ndimage.convolve, (image, numbers(3, 3))),
    "ndimage.zoom": (lambda a: ndimage.zoom(a, 2.0), (image,)),
    "ndimage.label": (lambda a: ndimage.label(a)[0], (image > 0.5,)),
    "ndimage.map_coordinates": (lambda a, b: ndimage.map_coordinates(a, b), (image, numpy.abs(numbers(2, 9)) * 5)),
    "ndimage.distance_transform_edt": (ndimage.distance_transform_edt, (image > 0,)),
    "ndimage.rotate": (lambda a: ndimage.rotate(a, 30.0), (image,)),
    "signal.convolve": (signal.convolve, (x, y)),
    "signal.fftconvolve": (lambda a, b: signal.fftconvolve(a, b, "same"), (image, numbers(5, 5))),
    "signal.filtfilt": (lambda a: signal.filtfilt(*signal.butter(3, 0.2), a), (y,)),
    "signal.lfilter": (signal.lfilter, (numbers(3), numpy.array([1.0, 0.2]), y)),
    "signal.sosfilt": (lambda a: signal.sosfilt(signal.butter(4, 0.1, output="sos"), a), (y,)),
    "signal.welch": (lambda a: signal.welch(a, nperseg=16), (y,)),
    "signal.find_peaks": (lambda a: signal.find_peaks(a)[0], (y,)),
    "signal.detrend": (signal.detrend, (y,)),
    "signal.resample": (lambda a: signal.resample(a, 20), (y,)),
    "signal.savgol_filter": (lambda a: signal.savgol_filter(a, 5, 2), (y,)),
    "fft.rfft": (fft.rfft, (image,)),
    "fft.dct": (lambda a: fft.dct(a, norm="ortho"), (image,)),
    "integrate.trapezoid": (integrate.trapezoid, (y, x)),
    "integrate.simpson": (lambda a, b: integrate.simpson(a, x=b), (y, x)),
    "integrate.cumulative_trapezoid": (integrate.cumulative_trapezoid, (y, x)),
    "interpolate.CubicSpline": (lambda a, b, c: interpolate.CubicSpline(a, b)(c), (x, y, x[:-1] + 0.01)),
    "interpolate.PchipInterpolator": (lambda a, b, c: interpolate.PchipInterpolator(a, b)(c), (x, y, x)),
    "interpolate.make_interp_spline": (lambda a, b, c: interpolate.make_interp_spline(a, b)(c), (x, y, x)),
    "interpolate.UnivariateSpline": (lambda a, b, c: interpolate.UnivariateSpline(a, b)(c), (x, y, x)),
    "interpolate.RegularGridInterpolator": (
        lambda a, b, c, d: interpolate.RegularGridInterpolator((a, b), c)(d),
        (numpy.arange(30.0), numpy.arange(20.0), image, numpy.abs(numbers(7, 2)) * 3),
    ),
    "interpolate.griddata": (
        lambda a, b, c: interpolate.griddata(a, b, c, "nearest"),
        (image[:, :2], x[:30], image[:9, :2]),
    ),
    "interpolate.RBFInterpolator": (
        lambda a, b, c: interpolate.RBFInterpolator(a, b)(c),
        (image[:, :2], x[:30], image[:9, :2]),
    ),
    "sparse.csr_matrix": (lambda a: sparse.csr_matrix(a).toarray(), (image * (image > 1),)),
    "sparse.coo_array": (
        lambda d, i, j: sparse.coo_array((d, (i, j)), shape=(9, 9)).toarray(),
        (x[:5], numpy.arange(5), numpy.arange(5) + 2),
    ),
    "sparse product": (
        lambda a, b: sparse.csr_array(image) @ a + sparse.csc_array(image).T.dot(b).sum(),
        (x[:20], y[:30]),
    ),
    "sparse.linalg.spsolve": (lambda a, b: sparse.linalg.spsolve(sparse.csc_array(a), b), (square, numbers(6))),
    "sparse.linalg.cg": (
        lambda a, b: sparse.linalg.cg(sparse.csr_array(a), b, rtol=1e-10)[0],
        (square @ square.T, numbers(6)),
    ),
    "sparse.diags": (lambda a: sparse.diags_array(a, offsets=1, shape=(51, 51)).toarray(), (y,)),
    "spatial.KDTree": (lambda a, b: spatial.KDTree(a).query(b, k=2), (image[:, :3], image[:5, :3])),
    "spatial.distance.cdist": (spatial.distance.cdist, (image, image[:4])),
    "spatial.ConvexHull": (lambda a: spatial.ConvexHull(a).vertices, (image[:, :2],)),
    "optimize.linear_sum_assignment": (optimize.linear_sum_assignment, (image,)),
    "optimize.nnls": (optimize.nnls, (image, numbers(30))),
    "optimize.linprog": (lambda c: optimize.linprog(c, A_ub=[[1.0, 1.0]], b_ub=[4.0]).x, (numpy.array([-1.0, -2.0]),)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_those_of_numpys_arrays(call: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
    assert_same(call[0], *call[1], tolerance=1e-9)


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    "method", ["Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "COBYLA", "SLSQP", "trust-constr"]
)
def test_minimize_takes_functions_that_compute_with_lazy_arrays(method: str) -> None:
    found = optimize.minimize(lambda v: rosenbrock(lazyarray, lazyarray.asarray(v)), pending([1.3, 0.7]), method=method)
    expected = optimize.minimize(lambda v: rosenbrock(numpy, v), numpy.array([1.3, 0.7]), method=method)
    assert_equal(found.x, expected.x, 1e-6)


@pytest.mark.parametrize(
    ("method", "size"),
    [(name, 5) for name in ("CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr")]
    + [("CG", 6000), ("L-BFGS-B", 6000)],
)
def test_minimize_takes_gradients_that_are_lazy_arrays(method: str, size: int) -> None:
    def gradient(np: Any) -> Callable[[Any], Any]:
        return lambda v: 2 * (np.asarray(v) - np.cos(np.arange(v.size)))

    def distance(np: Any) -> Callable[[Any], Any]:
        return lambda v: ((np.asarray(v) - np.cos(np.arange(v.size))) ** 2).sum()

    found, expected = (
        optimize.minimize(distance(np), np.full(size, 3.0), jac=gradient(np), method=method)
        for np in (lazyarray, numpy)
    )
    assert_equal(found.x, expected.x, 1e-6)
    assert found.nit == expected.nit


def test_constraints_and_residuals_have_lazy_jacobians() -> None:
    def fit(np: Any, method: str) -> Any:
        t = np.arange(1.0, 6.0)
        return optimize.least_squares(
            lambda v: np.exp(-v[0] * t) * v[1] - 0.3,
            np.array([1.0, 2.0]),
            jac=lambda v: np.stack([-t * v[1] * np.exp(-v[0] * t), np.exp(-v[0] * t)], axis=1),
            method=method,
        ).x

    for method in ("trf", "dogbox", "lm"):
        assert_equal(fit(lazyarray, method), fit(numpy, method), 1e-6)

    def bound(np: Any) -> Any:
        return optimize.minimize(
            lambda v: rosenbrock(np, np.asarray(v)),
            np.array([1.3, 0.7]),
            method="SLSQP",
            constraints=[
                {"type": "ineq", "fun": lambda v: 1.0 - v[:1] ** 2, "jac": lambda v: np.array([[-2 * v[0], 0]])}
            ],
        ).x

    assert_equal(bound(lazyarray), bound(numpy), 1e-6)


def test_fortran_routines_leave_their_arguments_as_they_are() -> None:
    lower, diagonal = lazyarray.ones(5), lazyarray.full(6, 4.0)
    found = linalg.lapack.dgttrf(lower, diagonal, lower)
    expected = linalg.lapack.dgttrf(numpy.ones(5), numpy.full(6, 4.0), numpy.ones(5))
    for ours, theirs in zip(found, expected, strict=True):
        assert_equal(ours, theirs)
    assert_equal(diagonal, numpy.full(6, 4.0))
    assert_equal(lower, numpy.ones(5))


OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a >= b,
]


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "bsr"])
def test_operators_between_dense_and_sparse_arrays(layout: str) -> None:
    thin = getattr(sparse, f"{layout}_array")(numpy.where(numbers(6, 6, seed=4) > 0, square, 0.0))
    for name in OPERATORS:
        for found, expected in (
            (name(pending(square), thin), name(square, thin)),
            (name(thin, pending(square)), name(thin, square)),
        ):
            kept = sparse.issparse(expected)
            assert sparse.issparse(found) is kept
            assert_equal(found.toarray() if kept else found, expected.toarray() if kept else expected)


@pytest.mark.parametrize("solve", ["cg", "gmres", "bicg", "minres"])
def test_iterative_solvers_take_dense_lazy_matrices(solve: str) -> None:
    matrix, right = square @ square.T, numbers(6)
    found, state = getattr(sparse.linalg, solve)(pending(matrix), pending(right))
    assert state == 0
    assert_equal(found, getattr(sparse.linalg, solve)(matrix, right)[0])


def test_eigenvalues_of_dense_lazy_matrices() -> None:
    matrix, start = square @ square.T, numpy.ones(6)
    assert_equal(
        sparse.linalg.eigsh(pending(matrix), 2, v0=start)[0], sparse.linalg.eigsh(matrix, 2, v0=start)[0], 1e-12
    )
    assert_equal(sparse.linalg.eigs(pending(square), 2, v0=start)[0], sparse.linalg.eigs(square, 2, v0=start)[0], 1e-12)
    operator = sparse.linalg.aslinearoperator(pending(image))
    assert_equal(operator.rmatvec(numpy.ones(30)), sparse.linalg.aslinearoperator(image).rmatvec(numpy.ones(30)))


def test_minimize_takes_lazy_gradients_and_jacobians() -> None:
    def gradient(v: Any) -> Any:
        v = lazyarray.asarray(v)
        return 2 * (v - lazyarray.arange(v.size))

    found = optimize.minimize(
        lambda v: ((lazyarray.asarray(v) - lazyarray.arange(3)) ** 2).sum(), [9.0, 9, 9], jac=gradient
    )
    assert_equal(found.x, numpy.arange(3.0), 1e-6)
    fitted = optimize.least_squares(lambda v: pending(v) ** 2 - pending([1.0, 4.0]), pending([0.5, 0.5]))
    assert_equal(fitted.x, numpy.array([1.0, 2.0]), 1e-6)


def test_roots_and_curve_fits_of_lazy_functions() -> None:
    grid = numpy.linspace(0, 1, 30)
    found, _ = optimize.curve_fit(
        lambda t, a, b: a * lazyarray.exp(b * lazyarray.asarray(t)), pending(grid), pending(2 * numpy.exp(0.5 * grid))
    )
    assert_equal(found, numpy.array([2.0, 0.5]), 1e-6)
    assert optimize.brentq(lambda t: lazyarray.cos(lazyarray.asarray(t)), 1, 2) == pytest.approx(numpy.pi / 2)
    assert_equal(optimize.root(lambda v: lazyarray.asarray(v) ** 2 - 2, pending([1.0])).x, numpy.array([2**0.5]), 1e-6)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_differential_equations_with_lazy_right_sides(method: str) -> None:
    def swing(np: Any) -> Callable[..., Any]:
        return lambda t, v: np.stack([v[1], -np.sin(v[0])])

    moments = numpy.linspace(0, 3, 20)
    lazy = swing(lazyarray)
    found = integrate.solve_ivp(
        lambda t, v: lazy(t, lazyarray.asarray(v)), (0, 3), pending([1.0, 0.0]), method, t_eval=pending(moments)
    )
    expected = integrate.solve_ivp(swing(numpy), (0, 3), numpy.array([1.0, 0.0]), method, t_eval=moments)
    assert_equal(found.y, expected.y, 1e-9)
    assert found.nfev == expected.nfev


def test_quadrature_of_lazy_functions() -> None:
    assert integrate.quad(lambda t: lazyarray.exp(lazyarray.asarray(t)), 0, 1)[0] == pytest.approx(numpy.e - 1)
    assert_equal(integrate.fixed_quad(lambda t: lazyarray.sin(lazyarray.asarray(t)), 0, 1)[0], 1 - numpy.cos(1), 1e-7)


def test_a_linear_operator_computes_with_lazy_arrays() -> None:
    matrix = pending(square @ square.T)
    operator = sparse.linalg.LinearOperator((6, 6), matvec=lambda v: matrix @ lazyarray.asarray(v), dtype=float)
    found = sparse.linalg.eigsh(operator, k=2, v0=numpy.ones(6), return_eigenvectors=False)
    assert_equal(found, numpy.linalg.eigvalsh(square @ square.T)[-2:], 1e-8)


def test_ufuncs_of_scipy_write_to_lazy_arrays() -> None:
    into = pending(numpy.zeros(40))
    assert special.gamma(pending(positive), out=into) is into
    assert_equal(into, special.gamma(positive))
