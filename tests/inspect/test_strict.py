"""Under `strict` a fallback or an unplanned evaluation raises where it is written, and nothing is lost by it."""

from __future__ import annotations

import numpy
import pytest

import lazyarray as np
from lazyarray.errors import StrictError


def pending() -> np.ndarray:
    return np.asarray(numpy.arange(10_000.0)) + 1.0


def test_an_evaluation_that_nobody_asked_for_raises() -> None:
    x = pending()
    with np.strict(), pytest.raises(StrictError, match="call evaluate"):
        float(x.sum())
    assert float(x.sum()) == 50_005_000.0


def test_the_message_ends_with_the_line() -> None:
    x = pending()
    with np.strict(), pytest.raises(StrictError) as caught:
        float(x.min())
    assert str(caught.value).splitlines()[-1].endswith("float(x.min())")
    assert f"{__file__}:" in str(caught.value)
    with np.strict(evaluate=False), pytest.raises(StrictError, match=r"at .*np\.sort\(x\)$"):
        np.sort(x)


def test_a_fallback_raises() -> None:
    with np.strict(evaluate=False), pytest.raises(StrictError, match="sort is not compiled"):
        np.sort(pending())


def test_evaluate_is_let_through() -> None:
    x = pending()
    with np.strict():
        np.evaluate(x)
        (x * 2.0).evaluate()


def test_each_kind_can_be_let_through() -> None:
    with np.strict(fallback=False):
        np.sort(np.evaluate(pending()))
    with np.strict(evaluate=False):
        assert float(pending()[0]) == 1.0


def test_it_ends_with_the_block() -> None:
    with np.strict():
        pass
    assert float(pending()[0]) == 1.0


def test_evaluate_of_a_scalar_is_let_through() -> None:
    total = pending().sum()
    with np.strict():
        assert total.evaluate() == 50_005_000.0
