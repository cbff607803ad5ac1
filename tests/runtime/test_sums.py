"""Sums have NumPy's bits where its layout makes its order the natural one: in both modes, at any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np

# Long enough that a launch is cut into many tasks: one row, few long rows, many rows, and columns.
SHAPES = ((400_003,), (3, 130_001), (1501, 263), (5, 40, 1999))
SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "memory": lambda m, x: x.sum(axis=-1),
    "everything": lambda m, x: x.sum(),
    "an expression": lambda m, x: (x * x + x).sum(axis=-1),
    "row by row": lambda m, x: x.sum(axis=0),
    "an expression row by row": lambda m, x: (x * x - x).sum(axis=0),
    "a mean": lambda m, x: x.mean(axis=-1),
    "a variance": lambda m, x: x.var(axis=-1),
    "two of one pass": lambda m, x: m.stack([x.sum(axis=-1), (x * x).sum(axis=-1)]),
    "kept axes": lambda m, x: x / x.sum(axis=-1, keepdims=True),
}


def drawn(shape: tuple[int, ...], code: str) -> Any:
    """Numbers of many sizes, so that the order of additions shows."""
    random = numpy.random.default_rng(3)
    made = random.normal(size=shape) * 10.0 ** random.uniform(-3, 3 if code != "f2" else -1, shape)
    return (made + 1j * made[..., ::-1] if code[0] == "c" else made).astype(code)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("code", ["f2", "f4", "f8", "c8", "c16"])
def test_sums_in_natural_layouts_are_numpys(code: str, threads: int) -> None:
    for shape in SHAPES:
        x = drawn(shape, code)
        for numerics in ("fast", "numpy"):
            with np.config.set(num_threads=threads, numerics=numerics):
                lazy = np.array(x)
                for name, total in SUMS.items():
                    ours, theirs = numpy.asarray(total(np, lazy)), numpy.asarray(total(numpy, x))
                    assert ours.tobytes() == theirs.tobytes(), (name, shape, numerics)


@pytest.mark.parametrize("numerics", ["fast", "numpy"])
def test_sums_of_functions_do_not_depend_on_the_number_of_threads(numerics: str) -> None:
    x = drawn((700_001,), "f8")
    found = set()
    for threads in (1, 2, 7):
        with np.config.set(num_threads=threads, numerics=numerics):
            lazy = np.array(x)
            found.add((float(np.tanh(lazy).sum()), float((np.cos(lazy) * lazy).sum())))
    assert len(found) == 1
