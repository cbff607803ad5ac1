"""Which operators of a code object may wait for the last of their expression."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

import pytest

from lazyarray.frontend.spans import LAST, spans_of


def chain(a: Any, b: Any, c: Any) -> Any:
    return (a * b + c) * a - b / 2


def slices(u: Any) -> Any:
    return u[2:, 1:-1] - 2.0 * u[1:-1, 1:-1] + u[:-2, 1:-1]


def call_between(a: Any, b: Any) -> Any:
    return a * b + max(a - b + 1, a) * a


def assignment(a: Any, b: Any) -> Any:
    c = a * b + a
    return c - b * a


def branch(a: Any, b: Any, which: bool) -> Any:
    c = a * b + (a - b if which else a + b) * b  # Python 3.12 has an end as short as a `return` in both branches
    return c


def one_each(a: Any, b: Any) -> Any:
    c = a * b
    d = c + a
    return d - b


def comparisons(a: Any, b: Any) -> Any:
    return (a > 1) & (b < 2) | ~(a == b)


def squares(a: Any, b: Any, n: int) -> Any:
    return (a - b) ** 2 + a**2 - (a + b) ** n


def attributes(self: Any, a: Any) -> Any:
    return self.k * a + self.q


def chained(a: Any, b: Any, c: Any) -> Any:
    return a + b < c + b < a - c


def in_place(a: Any, b: Any, c: Any) -> Any:
    a += b * c - a
    a[1:] = b[1:] * c[1:] + 1
    return a


def stored(a: Any, b: Any, c: Any, k: Any) -> Any:
    a[k] = b * c + 1
    a[b, ..., 1:] = c - b * 2
    a[k] = b = c * b + 1
    a[c * b + 1] = k


def calls(np: Any, a: Any, b: Any, exp: Any) -> Any:
    return np.sqrt(a * b + 1) - np.maximum(a, exp(-b)) * abs(a)


def other_calls(np: Any, a: Any, b: Any) -> Any:
    return np.exp(a * b, out=a) + np.sum(a * b + 1) + np.maximum(a, b, a) + np.foo(-a * b)


def told(function: Callable[..., Any]) -> str:
    """For each operator of a span what its operators need, with an L if it is the last, an S if that is stored."""
    spans, takers, stores = spans_of(function.__code__)
    places = [one.offset // 2 for one in dis.get_instructions(function) if one.opname != "PRECALL"]
    assert all([spans[place // 2] and not spans[place // 2] & LAST for place in takers])
    assert all([spans[place // 2] and not spans[place // 2] & LAST and place not in takers for place in stores])
    marks = {place: "S" if 2 * place in stores else "L" if spans[place] & LAST else "" for place in places}
    return " ".join([f"{spans[place] >> 1}{marks[place]}" for place in places if spans[place]])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (chain, "12 12 12 12 12L"),
        (slices, "36 36 36L"),
        (call_between, "48 48L 48 48L"),
        (assignment, "48 48L 48 48L"),
        (branch, "48 48L"),
        (one_each, ""),
        (comparisons, "39 39 39 39 39 39L"),
        (squares, "12 12 12 12 12L"),
        (attributes, "48 48L"),
        (chained, "48 48L"),
        (in_place, "48 48L 32 32S"),
        (stored, "24 24S 24 24S 48 48L 48 48L"),
        (calls, " ".join(["6"] * 8 + ["6L"])),
        (other_calls, "48 48L 48 48L"),
    ],
)
def test_a_span_ends_where_others_could_see_a_result(function: Callable[..., Any], expected: str) -> None:
    assert told(function) == expected
