"""Holds products and `linalg` to NumPy, and their laziness to what the record shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, Program, agree

RNG = numpy.random.default_rng(11)
A = RNG.normal(size=(4, 5))
B = RNG.normal(size=(5, 3))
S = RNG.normal(size=(4, 4))
V = RNG.normal(size=5)
T = RNG.normal(size=(2, 4, 5))
K = RNG.integers(-5, 5, (5, 4))
C = A + 1j * A[::-1]

PROGRAMS: dict[str, Program] = {
    "matmul": lambda np: (
        np.matmul(np.data(A), np.data(B)),
        np.data(A) @ np.data(B),
        np.data(A) @ np.data(V),
    ),
    "matmul-stack": lambda np: (np.data(T) @ np.data(B), np.data(V) @ np.data(B), np.data(V) @ np.data(V)),
    "matmul-mixed": lambda np: (
        np.data(A) @ np.data(K),
        np.data(K) @ np.data(C),
        np.data(K, "i1") @ np.data(K, "i1").T,
    ),
    "matmul-lists": lambda np: (np.matmul([[1, 2]], [[3], [4]]), [1.0, 2.0, 3.0, 4.0] @ np.data(A)),
    "matmul-views": lambda np: (np.data(A).T @ np.data(A), np.data(A)[::2, ::-1] @ np.data(B)),
    "matmul-refused": lambda np: np.data(A) @ np.data(A),
    "matmul-scalar": lambda np: np.matmul(np.data(A), 3),
    "matmul-stacks-refused": lambda np: np.data(T) @ numpy.zeros((3, 5, 2)),
    "matmul-out": lambda np: _out(np),
    "matmul-in-place": lambda np: _in_place(np),
    "dot": lambda np: (
        np.dot(np.data(A), np.data(B)),
        np.data(A).dot(np.data(V)),
        np.dot(np.data(V), np.data(V)),
    ),
    "dot-scalars": lambda np: (np.dot(np.data(A), 2), np.dot(3, 4), np.dot(np.data(2.0), np.data(3.0))),
    "dot-many": lambda np: np.dot(np.data(T), np.data(T).transpose(0, 2, 1)),
    "dot-refused": lambda np: np.dot(np.data(A), np.data(A)),
    "dot-bool": lambda np: np.dot(np.data(A > 0), np.data(B > 0)),
    "vdot": lambda np: (np.vdot(np.data(C), np.data(C)), np.vdot(np.data(V), np.data(V))),
    "vdot-refused": lambda np: np.vdot(np.data(V), np.data(A)),
    "inner": lambda np: (
        np.inner(np.data(A), np.data(A)),
        np.inner(np.data(V), np.data(V)),
        np.inner(np.data(A), 2),
    ),
    "inner-refused": lambda np: np.inner(np.data(A), np.data(B)),
    "outer": lambda np: (np.outer(np.data(V), np.data(A)), np.outer([1, 2], [3, 4])),
    "tensordot": lambda np: (
        np.tensordot(np.data(T), np.data(A), ([1, 2], [0, 1])),
        np.tensordot(np.data(A), np.data(B), 1),
    ),
    "tensordot-refused": lambda np: np.tensordot(np.data(A), np.data(B), 2),
    "einsum": lambda np: (
        np.einsum("ij,jk->ik", np.data(A), np.data(B)),
        np.einsum("ij->", np.data(A)),
        np.einsum("ij,ij->i", np.data(A), np.data(A)),
    ),
    "einsum-implicit": lambda np: (np.einsum("ij,jk", np.data(A), np.data(B)), np.einsum("ii", np.data(S))),
    "einsum-views": lambda np: (np.einsum("ij->ji", np.data(A)), np.einsum("ii->i", np.data(S))),
    "einsum-optimize": lambda np: np.einsum("ij,jk,kl->il", np.data(A), np.data(B), np.data(B).T, optimize=True),
    "einsum-ellipsis": lambda np: np.einsum("...ij,jk->...ik", np.data(T), np.data(B)),
    "einsum-lists": lambda np: np.einsum(np.data(A), [0, 1], np.data(V), [1], [0]),
    "einsum-refused": lambda np: np.einsum("ij,jk->ik", np.data(A), np.data(A)),
    "einsum-unknown": lambda np: np.einsum("ij,jk->iz", np.data(A), np.data(B)),
    "cross": lambda np: np.cross(np.data(B)[:2], np.data(B)[2:4]),
    "vecdot": lambda np: (np.vecdot(np.data(A), np.data(V)), np.linalg.vecdot(np.data(A), np.data(A))),
    "solve": lambda np: (
        np.linalg.solve(np.data(S), np.data(S)),
        np.linalg.inv(np.data(S)),
        np.linalg.det(np.data(S)),
    ),
    "norm": lambda np: (
        np.linalg.norm(np.data(A)),
        np.linalg.norm(np.data(A), axis=1),
        np.linalg.norm(np.data(V), 1),
    ),
    "svd": lambda np: (
        np.linalg.svd(np.data(A)),
        np.linalg.qr(np.data(A)),
        np.linalg.eigh(np.data(S) + np.data(S).T),
    ),
    "singular": lambda np: np.linalg.inv(np.data(numpy.zeros((2, 2)))),
    "linalg-products": lambda np: (
        np.linalg.matmul(np.data(A), np.data(B)),
        np.linalg.outer(np.data(V), np.data(V)),
    ),
    "lstsq": lambda np: np.linalg.lstsq(np.data(A), np.data(S))[0],
}


def _out(np: Any) -> Any:
    out = np.zeros((4, 3))
    assert np.matmul(np.data(A), np.data(B), out=out) is out
    return out


def _in_place(np: Any) -> Any:
    square = np.data(S)
    square @= np.data(S)
    return square


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_agree_with_numpy(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


def test_named_results_keep_their_names() -> None:
    found = lazyarray.linalg.svd(lazyarray.array(A))
    assert type(found).__name__ == "SVDResult"
    assert isinstance(found.S, lazyarray.ndarray)
    assert type(found.S) is lazyarray.ndarray


def test_an_unused_product_is_not_computed() -> None:
    x = lazyarray.arange(10_000.0).reshape(100, 100)
    with lazyarray.record_runs() as runs:
        product = x @ x
        trace = lazyarray.einsum("ij,jk->ik", x, x)
        del product, trace
        lazyarray.evaluate(x + 1)
    assert not runs.library_calls
    assert not runs.fallbacks


def test_products_are_recorded_with_lazy_operands() -> None:
    x = lazyarray.arange(10_000.0).reshape(100, 100)
    with lazyarray.record_runs() as runs:
        product = lazyarray.dot((x + 1).T, x * 2) + 1
        assert not runs.evaluations
    y = numpy.arange(10_000.0).reshape(100, 100)
    numpy.testing.assert_array_equal(numpy.asarray(product), numpy.dot((y + 1).T, y * 2) + 1)


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "vector @ part": lambda np, x: x[:, 3] @ x[:, 4:],
    "part @ vector": lambda np, x: x[5:, :] @ x[0],
    "dot of columns": lambda np, x: np.dot(x[:, 1], x[:, 2]),
    "dot of a part": lambda np, x: np.dot(x[:20].T, x[:20, 0]),
    "inner": lambda np, x: np.inner(x, x[2]),
    "vdot": lambda np, x: np.vdot(x[:, 0], x[:, 1]),
    "matmul": lambda np, x: np.matmul(x[:4], x.T),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_short_products_of_what_is_in_memory_are_made_at_once(name: str) -> None:
    data = numpy.random.default_rng(0).standard_normal((300, 40))
    want = PRODUCTS[name](numpy, data)
    x = lazyarray.evaluate(lazyarray.array(data) * 1.0)
    with lazyarray.record_runs() as runs:
        got = PRODUCTS[name](lazyarray, x)
        assert not runs.library_calls
        assert not runs.evaluations
    assert type(got) is (lazyarray.ndarray if isinstance(want, numpy.ndarray) else type(want))
    numpy.testing.assert_array_equal(numpy.asarray(got), want)
    x *= 0.0  # what was made is no view
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_a_column_times_a_large_matrix_in_memory_is_made_at_once() -> None:
    x = lazyarray.evaluate(lazyarray.ones((3000, 700)) * 1.0)
    with lazyarray.record_runs() as runs:
        got = x[:, 0] @ x[:, 1:]
        assert not runs.library_calls
    assert float(got[0]) == 3000.0


def test_products_that_are_long_or_of_pending_arrays_are_recorded() -> None:
    x = lazyarray.evaluate(lazyarray.ones((300, 400)) * 1.0)
    with lazyarray.record_runs() as runs:
        unused = x.T @ x
        pending = (x * 2.0)[0] @ x.T
        assert not runs.library_calls
        del unused
        assert float(pending[0]) == 800.0
    assert runs.library_calls == ["matmul"]


def test_products_that_do_not_fit_are_numpys_error() -> None:
    data = numpy.ones((300, 40))
    x = lazyarray.evaluate(lazyarray.array(data) * 1.0)
    for call in (lambda x: x[0] @ x, lambda x: x @ x[:, 0]):
        with pytest.raises(ValueError, match="matmul") as theirs:
            call(data)
        with pytest.raises(ValueError, match="matmul") as ours:
            call(x)
        assert str(ours.value) == str(theirs.value)


ORDERS: list[Any] = [None, 1, -1, 2, -2, 0, 3, numpy.inf, -numpy.inf, "fro", "nuc", "none such"]


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (1, 0), 2])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("code", ["f4", "f8", "c16", "i4"])
def test_norms_are_numpys(code: str, order: Any, axis: Any) -> None:
    data = (numpy.random.default_rng(3).standard_normal((30, 20)) * 9).astype(code)

    def norm(np: Any, x: Any) -> Any:
        try:
            return numpy.asarray(np.linalg.norm(x, order, axis, keepdims=True))
        except ValueError as error:
            return str(error)

    with lazyarray.config.set(eager_below=0), numpy.errstate(all="ignore"):
        found, wanted = norm(lazyarray, lazyarray.array(data)), norm(numpy, data)
    if isinstance(wanted, str):
        assert found == wanted
    else:
        assert found.dtype == wanted.dtype
        # Powers are within 1 ULP, and BLAS adds parts of complex numbers in another order where these lie apart.
        numpy.testing.assert_allclose(found, wanted, rtol=4 * numpy.finfo(wanted.dtype).eps)


def test_norms_of_rows_are_one_kernel_with_what_they_are_of() -> None:
    a, b = (numpy.random.default_rng(n).standard_normal((400, 300)) for n in (1, 2))
    x, y = (lazyarray.evaluate(lazyarray.array(data)) for data in (a, b))
    with lazyarray.record_runs() as runs:
        found = lazyarray.evaluate(lazyarray.linalg.norm(x - y, axis=1))
    assert len(runs.kernels) == 1
    assert not runs.fallbacks
    assert numpy.asarray(found).tobytes() == numpy.linalg.norm(a - b, axis=1).tobytes()
