"""Matrix products that come again are recorded as the first one was, and nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import products

ROWS, INNER, COLUMNS = 300, 280, 290


@pytest.fixture(autouse=True)
def large_arrays_are_recorded() -> Any:
    with lazyarray.config.set(eager_below=65536):
        yield


def draw(*shape: int, dtype: Any = float) -> Any:
    return numpy.random.default_rng(7).uniform(-2, 2, shape).astype(dtype)


def recorded_at_length(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The products that were recorded as if none such had been recorded before."""
    seen: list[Any] = []
    keep = products.keep

    def counted(node: Any, operands: Any) -> None:
        seen.append(node)
        keep(node, operands)

    monkeypatch.setattr(products, "keep", counted)
    return seen


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("turned", [False, True])
def test_the_second_product_is_recorded_at_once(dtype: str, turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a = draw(ROWS, INNER, dtype=dtype)
    b = draw(COLUMNS, INNER, dtype=dtype).T if turned else draw(INNER, COLUMNS, dtype=dtype)
    x = lazyarray.asarray(a.copy()) * 1
    y = (lazyarray.asarray(b.T.copy()) * 1).T if turned else lazyarray.asarray(b.copy()) * 1
    seen = recorded_at_length(monkeypatch)
    for _ in range(3):
        numpy.testing.assert_array_equal(numpy.asarray(x @ y + 1), a @ b + 1)
    assert len(seen) == 1


def test_a_later_write_does_not_change_it() -> None:
    a, b = draw(ROWS, INNER), draw(INNER, COLUMNS)
    x, y = lazyarray.asarray(a.copy()) * 1, lazyarray.asarray(b.copy()) * 1
    for _ in range(3):
        found = x @ y.T.T
        x[0] = 5.0
        y[:, 0] = 6.0
        expected = a @ b
        a[0] = 5.0
        b[:, 0] = 6.0
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)


def test_memory_that_others_write_is_read_when_it_is_asked_for() -> None:
    a, b = draw(ROWS, INNER), draw(INNER, COLUMNS)
    x, y = lazyarray.asarray(a.copy()) * 1, lazyarray.asarray(b.copy()) * 1
    x @ y
    seen_by_others = numpy.asarray(x)
    for number in (1.0, 2.0):
        found = x @ y
        expected = numpy.array(seen_by_others) @ b
        seen_by_others[:] = number
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)


def test_a_short_product_of_memory_is_made_at_once() -> None:
    with lazyarray.config.set(eager_below=4096):
        x = lazyarray.asarray(draw(90, 90)) * 1
        y = lazyarray.asarray(draw(90, 10)) * 1
        pending = (x + 1) @ y
        lazyarray.evaluate(x, y, pending)
        with lazyarray.profile() as profile:
            found = x @ y
        assert not profile.evaluations
        numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(x) @ numpy.asarray(y))


def test_a_product_that_the_budget_has_evaluated_is_made_once() -> None:
    a, b = draw(300, 400), draw(400, 500)
    with lazyarray.config.set(memory_budget=100_000):
        x, y = lazyarray.array(a), lazyarray.array(b)
        before = lazyarray.counters()
        found = x @ y
        numpy.testing.assert_allclose(numpy.asarray(found), a @ b)
        after = lazyarray.counters()
    assert after["fallbacks"] == before["fallbacks"]
    assert after["library_calls"] == before["library_calls"] + 1


def test_a_product_with_a_vector_in_memory_is_made_at_once_whatever_its_size() -> None:
    a, b = draw(3000, 2000), draw(2000)
    x, y = lazyarray.asarray(a), lazyarray.asarray(b)
    lazyarray.evaluate(x, y)
    before = lazyarray.counters()["evaluations"]
    for found, expected in ((x @ y, a @ b), (y @ x.T, b @ a.T)):
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    assert lazyarray.counters()["evaluations"] == before


def test_an_expression_of_which_parts_are_multiplied_again_is_evaluated_once() -> None:
    data = draw(600, 200)

    def correlate(np: Any, array: Any) -> Any:
        array = np.asarray(array) * 2.0 - 1.0
        return [array[:, i] @ array[:, i:] for i in range(20)]

    expected = correlate(numpy, data)
    for _ in range(3):
        with lazyarray.record_runs() as runs:
            found = correlate(lazyarray, data)
        for one, other in zip(found, expected, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(one), other)
    assert sum("subtract" in run.ops for run in runs.kernels) == 1


def test_shapes_that_do_not_fit_raise_numpys_error() -> None:
    a, b = draw(ROWS, INNER), draw(COLUMNS, ROWS)
    x, y = lazyarray.asarray(a) * 1, lazyarray.asarray(b) * 1
    y @ x
    with pytest.raises(ValueError, match="matmul: Input operand 1 has a mismatch") as expected:
        a @ b
    with pytest.raises(ValueError, match="matmul: Input operand 1 has a mismatch") as found:
        x @ y
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("turned", [False, True])
def test_products_with_a_vector_come_again_too(dtype: str, turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = draw(ROWS, INNER, dtype=dtype), draw(ROWS if turned else INNER, dtype=dtype)
    x, y = lazyarray.asarray(a.copy()) * 1, lazyarray.asarray(b.copy())
    seen = recorded_at_length(monkeypatch)
    for _ in range(3):
        have, want = (y @ (x + 1), b @ (a + 1)) if turned else ((x + 1) @ y, (a + 1) @ b)
        assert have.shape == want.shape
        assert have.dtype == want.dtype
        numpy.testing.assert_array_equal(numpy.asarray(have), want)
    assert len(seen) == 1


@pytest.mark.parametrize(("left", "right"), [("f8", "f4"), ("f4", "f8"), ("f8", "u1"), ("?", "f8"), ("i4", "f4")])
def test_short_products_of_two_types_are_made_at_once(left: str, right: str) -> None:
    a, b = draw(4, 270, dtype=left), draw(270, 300, dtype=right)
    x, y = lazyarray.array(a), lazyarray.array(b) * numpy.ones((), right)
    lazyarray.evaluate(y)
    with lazyarray.record_runs() as runs:
        have = x @ y
    assert not runs.evaluations
    assert not runs.library_calls
    assert have.dtype == (a @ b).dtype
    numpy.testing.assert_array_equal(numpy.asarray(have), a @ b)
