"""Holds docs/coverage.md: every public name of NumPy is there, as the code declares it and as it runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator

import numpy
import pytest

from lazyarray.frontend import ways
from tests.numpy_compat import calls, coverage

VERSION, ROWS = coverage.read_page()
of_this_numpy = pytest.mark.skipif(
    not numpy.__version__.startswith(f"{VERSION}."), reason=f"the page is of NumPy {VERSION}"
)
SAMPLE = 7  # one row in so many is run here; `python -m tests.numpy_compat.coverage` runs all


@pytest.fixture(autouse=True)
def deprecated_names_may_warn() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_no_public_name_of_numpy_is_missing() -> None:
    assert coverage.missing() == []


@of_this_numpy
def test_the_page_has_every_public_name_once() -> None:
    names = [f"{path}.{name}" for path in ("", *coverage.MODULES) for name in public(path)]
    names += [f"ndarray.{name}" for name in coverage.members(numpy.ndarray)]
    names += [f"ufunc.{name}" for name in coverage.members(numpy.ufunc)]
    assert sorted(f"{row.module}.{row.name}" for row in ROWS) == sorted(names)


def public(path: str) -> list[str]:
    return coverage.public_names(coverage.modules_of(path)[0])


@of_this_numpy
def test_the_page_says_what_the_code_declares() -> None:
    wrong = []
    for row in ROWS:
        if row.module in ("ndarray", "ufunc") or row.module in calls.NOT_RUN or row.path in calls.NOT_RUN:
            continue
        declared = coverage.declared(row.module, row.name)
        if row.way not in coverage.allows(declared):
            wrong.append((row, declared))
    assert not wrong


@of_this_numpy
def test_the_page_says_what_runs() -> None:
    rows = ROWS[::SAMPLE]
    assert len(rows) > 150
    again = []
    for row in rows:
        if row.module == "ndarray":
            again.append(coverage.row_of_method(row.name))
        elif row.module != "ufunc":
            again.append(coverage.row_of(row.module, row.name))
    assert again == [row for row in rows if row.module != "ufunc"]


@of_this_numpy
def test_the_page_is_as_the_command_writes_it() -> None:
    assert coverage.page(sorted_as_written(ROWS)) == coverage.PAGE.read_text(encoding="utf-8")


def sorted_as_written(rows: list[coverage.Row]) -> list[coverage.Row]:
    places = list(dict.fromkeys(row.module for row in rows))
    return sorted(rows, key=lambda row: (places.index(row.module), row.name))


HELP = {
    coverage.COMPILED: ways.COMPILED,
    coverage.VIEW: ways.VIEW,
    coverage.LIBRARY: ways.LIBRARY,
    coverage.REBASED: ways.REBASED,
    coverage.ABOUT: ways.ABOUT,
    coverage.NUMPY: ways.NUMPY,
    coverage.UNCOUNTED: ways.NUMPY,
}


@of_this_numpy
def test_help_ends_with_the_way_that_the_page_tells() -> None:
    told = 0
    for row in ROWS:
        if row.module in ("ndarray", "ufunc", *calls.NOT_RUN) or row.path in calls.NOT_RUN or row.way not in HELP:
            continue
        theirs, ours = (getattr(module, row.name) for module in coverage.modules_of(row.module))
        if isinstance(theirs, type) or not callable(theirs) or not (theirs.__doc__ or "").strip():
            continue
        text, _, way = inspect.cleandoc(ours.__doc__).rpartition("\n\nlazyarray: ")
        if coverage.public_name(ours) is not None or not row.module:
            assert text == inspect.cleandoc(theirs.__doc__), row
        assert way == HELP[row.way], row
        told += 1
    assert told > 500


def test_a_name_that_falls_back_though_it_is_recorded_is_found() -> None:
    runs = calls.recorded(lambda o: (o.x + 1.0, numpy_of(o)))
    with pytest.raises(coverage.Mismatch, match="meant to be recorded"):
        coverage.observed(coverage.COMPILED, runs, "made_up")


def numpy_of(operands: calls.Operands) -> object:
    return operands.x.argsort()
