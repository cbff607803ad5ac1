"""What a caller does with a result is read in its code, where that is plain to see."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from lazyarray.frontend.taking import _is_operand

Calls = Callable[..., Any]


def stored_and_used(given: Calls, x: Any) -> Any:
    m = given()
    y = x - m
    return y / m


def stored_and_kept(given: Calls, x: Any) -> Any:
    m = given()
    y = x - m
    return y, m


def stored_and_handed_on(given: Calls, x: Any) -> Any:
    m, y = given(), x
    return [y - m, len(m)]


def held_by_another_function(given: Calls, x: Any) -> Any:
    m = given()
    return lambda: x - m


CASES: dict[str, tuple[Calls, bool]] = {
    "left operand": (lambda given, x: given() + x, True),
    "right operand": (lambda given, x: x - given(), True),
    "operand of a later operator": (lambda given, x: given() * x.sum(0, 1), True),
    "operand beside a call": (lambda given, x: x.take([1, 2], axis=0) / given(), True),
    "comparison": (lambda given, x: x > given(), True),
    "negative": (lambda given, x: -given(), True),
    "operand inside a call": (lambda given, x: max(given() + x, 1), True),
    "result": (lambda given, x: given(), False),
    "argument": (lambda given, x: max(given(), x), False),
    "first of two arguments": (lambda given, x: max(given(), x + 1), False),
    "argument by name": (lambda given, x: max(x, default=given()), False),
    "item": (lambda given, x: [given(), x], False),
    "value of a name": (lambda given, x: {"a": given()}, False),
    "label": (lambda given, x: x[given()], False),
    "attribute": (lambda given, x: given().real, False),
    "truth": (lambda given, x: 1 if given() else x, False),
    "text": (lambda given, x: f"{given()}", False),
    "in between": (lambda given, x: 0 < given() < 1, False),
    "stored, then used": (stored_and_used, True),
    "stored, then kept": (stored_and_kept, False),
    "stored, then handed on": (stored_and_handed_on, False),
    "held by another function": (held_by_another_function, False),
}


@pytest.mark.parametrize("case", CASES)
def test_results_that_are_operands_only_are_told_from_others(case: str) -> None:
    function, wanted = CASES[case]
    assert isinstance(function, FunctionType)
    found: list[bool] = []

    class Given:
        def __call__(self) -> Any:
            import sys

            frame = sys._getframe(1)
            found.append(_is_operand(frame.f_code, frame.f_lasti))
            return Answer()

    function(Given(), Answer())
    assert found == [wanted]


class Answer:
    """Takes part in all of the cases."""

    real = 1.0

    def __add__(self, other: Any) -> Any:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __truediv__ = __add__

    def __neg__(self) -> Any:
        return self

    def __lt__(self, other: Any) -> Any:
        return True

    __gt__ = __lt__

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and key > 1:
            raise IndexError
        return self

    def __len__(self) -> int:
        return 2

    def sum(self, *args: Any) -> Any:
        return self

    def take(self, *args: Any, **options: Any) -> Any:
        return self
