"""Holds that the lines of `benchmarks.single_calls` run, and give NumPy's results."""

import warnings
from typing import Any

import numpy
import pytest

import lazyarray
from benchmarks import harness, single_calls

SIZE = 5000
# Of what these give, neither side's is the other's.
OWN = ("a.base", "a.ctypes", "a.flags", "np.random.", "np.empty")


LINES = [line for line in harness.split_lines(single_calls.LINES) if not any(word in line for word in OWN)]


@pytest.mark.parametrize("line", LINES)
def test_the_line_gives_numpys_results(line: str) -> None:
    results = []
    statement, _, result = line.partition(" -> ")
    for np in (numpy, lazyarray):
        names: dict[str, Any] = single_calls.names_for(np, SIZE)
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if result:
                exec(statement, names)
            results.append(eval(result or line, names))
    compare(*results)


def compare(want: Any, got: Any) -> None:
    if isinstance(want, tuple | list):
        assert len(want) == len(got)
        for one, other in zip(want, got, strict=True):
            compare(one, other)
    elif isinstance(want, numpy.ndarray | numpy.generic | float):
        made = numpy.asarray(got)
        assert made.dtype == numpy.asarray(want).dtype
        if made.dtype.kind in "fc":
            numpy.testing.assert_allclose(made, want, rtol=1e-5 if made.dtype.itemsize < 8 else 1e-11, atol=1e-12)
        else:
            numpy.testing.assert_array_equal(made, want)
    else:
        assert got == want
