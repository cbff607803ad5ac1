"""Records are what `typing.NamedTuple` makes of the same class body."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any

import pytest

from lazyarray import records


class Ours(records.NamedTuple):
    """A place."""

    name: str
    extents: tuple[int, ...]
    offset: int = 0
    scale: float | None = None

    @property
    def rank(self) -> int:
        return len(self.extents)

    def moved(self, by: int) -> Ours:
        return self._replace(offset=self.offset + by)

    @staticmethod
    def origin() -> Ours:
        return Ours("origin", ())


class Typings(typing.NamedTuple):
    """A place."""

    name: str
    extents: tuple[int, ...]
    offset: int = 0
    scale: float | None = None


@pytest.mark.parametrize("name", ["_fields", "_field_defaults", "__doc__", "__module__", "__slots__", "__match_args__"])
def test_the_class_says_of_itself_what_typings_says(name: str) -> None:
    assert getattr(Ours, name) == getattr(Typings, name)
    assert Ours.__qualname__ == "Ours"
    assert issubclass(Ours, tuple)


def test_records_are_tuples_with_names_and_defaults() -> None:
    given: tuple[Any, ...] = ("a", (2, 3), 5)
    ours, theirs = Ours(*given), Typings(*given)
    assert ours == theirs == (*given, None)
    assert hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Typings", "Ours")
    assert ours._asdict() == theirs._asdict()
    assert Ours(name="a", extents=(2, 3), offset=5) == ours
    assert not hasattr(ours, "__dict__")
    assert inspect.signature(Ours).parameters.keys() == inspect.signature(Typings).parameters.keys()
    with pytest.raises(ValueError, match=r"^Got unexpected field names: \['color'\]$"):
        ours._replace(color=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Expected 4 arguments, got 1$"):
        Ours._make(["a"])
    for wrong in ({}, {"name": "a"}, {"name": "a", "extents": (), "color": 1}):
        with pytest.raises(TypeError):
            Ours(**wrong)


def test_methods_properties_and_copies() -> None:
    ours = Ours("a", (2, 3))
    assert ours.rank == 2
    assert ours.moved(4).offset == 4
    assert Ours.origin() == ("origin", (), 0, None)
    for same in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert type(same) is Ours
        assert same == ours
