"""Calls on arrays that live on devices are recorded again from recipes, products too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend import products, recipes
from tests.devices.fake import FakeDevice

DATA = numpy.random.default_rng(5).random((40, 40))
OTHER = numpy.random.default_rng(6).random((40, 40))

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda np, x, y: x.sum(axis=1, keepdims=True),
    "variance": lambda np, x, y: np.var(x, axis=0),
    "choice": lambda np, x, y: np.where(x > 0.5, x, y),
    "an operand twice": lambda np, x, y: np.where(x > 0.5, y, y),
    "product": lambda np, x, y: x @ y,
    "square": lambda np, x, y: x @ x,
    "product by name": lambda np, x, y: np.matmul(y, x),
    "dot": lambda np, x, y: x.dot(y),
}


def there(data: Any, place: str = "fake") -> Any:
    return np.asarray(data.copy(), device=place)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of the calls that take the long look."""
    found: list[Any] = []
    for each in recipes._all:
        look = each.function
        monkeypatch.setattr(each, "function", lambda *a, _look=look, **k: found.append(a) or _look(*a, **k))
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_third_call_takes_no_long_look(name: str, devices: list[FakeDevice], looks: list[Any]) -> None:
    x, y = there(DATA), there(OTHER)
    for turn in range(4):
        seen = len(looks)
        first, second = (x, y) if turn % 2 else (y, x)
        result = CALLS[name](np, first, second)
        assert turn < 2 or len(looks) == seen
        assert result.device == "fake:0"
        want = CALLS[name](numpy, *((DATA, OTHER) if turn % 2 else (OTHER, DATA)))
        numpy.testing.assert_allclose(numpy.asarray(result), want, 1e-12)


def test_a_square_and_a_product_of_two_are_other_calls(devices: list[FakeDevice]) -> None:
    x, y = there(DATA), there(OTHER)
    for _ in range(3):
        numpy.testing.assert_allclose(numpy.asarray(x @ x), DATA @ DATA, 1e-12)
        numpy.testing.assert_allclose(numpy.asarray(x @ y), DATA @ OTHER, 1e-12)
        numpy.testing.assert_allclose(numpy.asarray(y @ y), OTHER @ OTHER, 1e-12)


def test_products_of_host_arrays_stay_the_hosts(devices: list[FakeDevice]) -> None:
    x, y = there(DATA), there(OTHER)
    for _ in range(3):
        np.evaluate(x @ y)
    calls = len(devices[0].calls)
    with np.config.set(eager_below=0):
        here = np.array(DATA), np.array(OTHER)
        for _ in range(3):
            result = here[0] @ here[1]
            assert result.device == "cpu"
            numpy.testing.assert_allclose(numpy.asarray(result), DATA @ OTHER, 1e-12)
    assert len(devices[0].calls) == calls


def test_a_product_on_the_device_that_is_set_is_not_kept_for_the_hosts(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_keys", {})
    with np.device("fake"):
        np.evaluate(there(DATA) @ there(OTHER))
        assert not products._keys
    np.evaluate(there(DATA) @ there(OTHER))
    with np.config.set(eager_below=0):
        assert (np.array(DATA) @ np.array(OTHER)).device == "cpu"
        assert (np.array(DATA) @ there(OTHER)).device == "fake:0"
    assert products._keys


def test_operands_of_two_devices_are_refused_each_time(devices: list[FakeDevice]) -> None:
    x, y = there(DATA), there(OTHER, "fake:1")
    for _ in range(4):
        with pytest.raises(ValueError, match="move one of them"):
            np.evaluate(x @ y)
