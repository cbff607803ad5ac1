"""Sequences of arrays that are no lists: NumPy's functions take them, and find what is in them."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

import lazyarray as np
from tests.frontend.agreement import outcome, same


class Frames(Sequence[Any]):
    """A program's own sequence."""

    def __init__(self, items: Any) -> None:
        self._items = list(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: Any) -> Any:
        return self._items[place]


class Rows(list[Any]):
    """A program's own list."""


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "deque": deque,
    "UserList": UserList,
    "sequence": Frames,
    "list": Rows,
    "values": lambda items: dict(enumerate(items)).values(),
    "generator": iter,
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "concatenate": lambda n, held: n.concatenate(held),
    "stack": lambda n, held: n.stack(held),
    "vstack": lambda n, held: n.vstack(held),
    "hstack": lambda n, held: n.hstack(held),
    "column_stack": lambda n, held: n.column_stack(held),
    "multi_dot": lambda n, held: n.linalg.multi_dot(held),
    "block": lambda n, held: n.block(held),
    "select": lambda n, held: n.select([n.eye(3) > 0, n.eye(3) < 1, n.eye(3) > 5], held),
    "choose": lambda n, held: n.choose(n.zeros((3, 3), int), held),
    "mean": lambda n, held: n.mean(list(held), axis=0),
}


def _held(n: Any, holder: str, size: int) -> Any:
    side = round(size**0.5)
    return HOLDERS[holder]([n.arange(float(side * side)).reshape(side, side) + part for part in range(3)])


def _agree(holder: str, call: str, size: int) -> None:
    if call == "block" and holder in ("values", "generator"):
        pytest.skip("an array of that one object")
    expected, warned = outcome(lambda n: CALLS[call](n, _held(n, holder, size)), numpy)
    found, told = outcome(lambda n: CALLS[call](n, _held(n, holder, size)), np)
    same(found, expected)
    assert told == warned


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_functions_find_the_arrays_in_it(holder: str, call: str) -> None:
    _agree(holder, call, 9)


@pytest.mark.parametrize("call", ["concatenate", "stack", "vstack", "hstack", "block", "mean"])
@pytest.mark.parametrize("holder", HOLDERS)
def test_large_arrays_are_found_too(holder: str, call: str) -> None:
    _agree(holder, call, 40_000)


@pytest.mark.parametrize("call", ["concatenate", "stack", "multi_dot"])
def test_numpys_own_functions_find_them(call: str) -> None:
    expected = CALLS[call](numpy, _held(numpy, "deque", 9))
    numpy.testing.assert_array_equal(CALLS[call](numpy, _held(np, "deque", 9)), expected)


def test_objects_that_are_arrays_of_different_sizes_are_no_integers() -> None:
    held = np.array([None, None], dtype=object)
    held[0], held[1] = np.arange(3), np.arange(2)
    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        np.array(held, dtype=int)
