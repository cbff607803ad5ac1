"""Short rows are reduced as columns, with the bits that NumPy has along rows; others stay rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.schedule.columns import by_columns
from lazyarray.schedule.plan import KernelStep

DTYPES = ("f8", "f4", "f2", "i8", "i4", "u1", "b1", "c16", "c8")
LENGTHS = (2, 3, 4, 5, 7, 8, 9, 10, 16, 17)
Program = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Program] = {
    "sum": lambda np, x: x.sum(axis=-1),
    "mean": lambda np, x: x.mean(axis=-1),
    "deviation": lambda np, x: x.std(axis=-1, ddof=1),
    "product": lambda np, x: x.prod(axis=-1),
    "extremes": lambda np, x: (
        x.max(axis=-1, keepdims=True) ^ x.min(axis=-1, keepdims=True)
        if x.dtype == bool
        else x.max(axis=-1, keepdims=True) - x.min(axis=-1, keepdims=True)
    ),
    "places": lambda np, x: x.argmax(axis=-1) - x.argmin(axis=-1),
    "truths": lambda np, x: (x > 1).any(axis=-1) & (x == x).all(axis=-1),
    "a count": lambda np, x: np.count_nonzero(x > 0, axis=-1),
    "a sum of some": lambda np, x: x.sum(axis=-1, where=x > 0),
    "a sum from a start": lambda np, x: x.sum(axis=-1, initial=3),
    "an extreme of some": lambda np, x: x.max(axis=-1, initial=1, where=x > 0),
    "lengths": lambda np, x: np.sqrt((x * x).sum(axis=-1)),
    "unit vectors": lambda np, x: x / (1 + np.abs(x).sum(axis=-1, keepdims=True)),
    "two passes": lambda np, x: ((x - x.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1),
    "places in a row": lambda np, x: (x * np.arange(x.shape[-1])).sum(axis=-1),
    "places of rows": lambda np, x: (x + np.arange(x.shape[-2])[:, None]).max(axis=-1),
    "a running sum": lambda np, x: np.cumsum(x, axis=-1),
    "a running maximum": lambda np, x: np.maximum.accumulate(x, axis=-1),
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "side by side": lambda x: x[..., 1:-1].copy(),
    "apart": lambda x: x[..., 1:-1],
    "elements backwards": lambda x: x[..., -2:0:-1],
    "rows backwards": lambda x: x[..., ::-1, 1:-1],
}


def values(code: str, *shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)
    if code[0] == "c":
        x = x + 1j * rng.standard_normal(shape)
    if code[0] in "fc":
        x[rng.random(shape) < 0.01] = np.nan
    return x > 0.5 if code == "b1" else (abs(x) if code[0] == "u" else x).astype(code)


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_short_rows_have_the_bits_of_numpys(name: str, code: str) -> None:
    for length in LENGTHS:
        for shape in ((200, length + 2), (3, 70, length + 2)):
            x = values(code, *shape)
            with la.config.set(eager_below=100), np.errstate(all="ignore"):
                lazy = la.array(x)
                for layout in LAYOUTS.values():
                    wanted, found = (PROGRAMS[name](lib, layout(a)) for lib, a in ((np, x), (la, lazy)))
                    assert found.dtype == wanted.dtype
                    np.testing.assert_array_equal(np.asarray(found), wanted)


def step_of(program: Program, x: Any) -> KernelStep:
    """The last kernel of a program."""
    with la.config.set(eager_below=0), la.record_runs() as runs:
        la.evaluate(program(la, la.array(x)))
    return [step for plan, *_ in runs.plans for step in plan.steps if isinstance(step, KernelStep)][-1]


def is_turned(program: Program, x: Any) -> bool:
    step = step_of(program, x)
    turned = by_columns(step)
    assert by_columns(turned) is turned
    return turned is not step


def test_what_goes_along_rows_is_exchanged_with_what_goes_from_row_to_row() -> None:
    step = step_of(lambda np, x: (x * np.arange(3)).sum(axis=-1), values("f8", 500, 3))
    turned = by_columns(step)
    assert (step.kernel.roles, step.extents) == (("p", "r"), (500, 3))
    assert (turned.kernel.roles, turned.extents) == (("r", "p"), (3, 500))
    assert [a.steps for a in turned.kernel.accesses] == [("s", "3"), ("0", "1")]
    assert [w.strides for w in turned.walks] == [w.strides[::-1] for w in step.walks]
    assert turned.strides == tuple([w.strides for w in turned.walks])
    indices = [i.attr for stage in turned.kernel.stages for i in stage.body if i.op == "index"]
    assert indices == [0]


@pytest.mark.parametrize(
    ("program", "code", "longest"),
    [
        ("sum", "f8", 7), ("sum", "f2", 0), ("sum", "c16", 3), ("sum", "i8", 7), ("product", "f8", 7),
        ("product", "c16", 0), ("a sum of some", "f8", 0), ("a sum from a start", "f8", 0), ("a sum of some", "i8", 7),
        ("extremes", "f8", 9), ("unit vectors", "f8", 7), ("a running sum", "f2", 7),
    ],
)  # fmt: skip
def test_rows_are_turned_as_long_as_numpy_adds_one_element_after_another(program: str, code: str, longest: int) -> None:
    turned = [length for length in range(2, 12) if is_turned(PROGRAMS[program], values(code, 200, length))]
    assert turned == list(range(2, longest + 1))


def test_few_rows_and_reductions_of_other_axes_stay_as_they_are() -> None:
    assert not is_turned(lambda np, x: x.sum(axis=-1), values("f8", 63, 3))
    assert not is_turned(lambda np, x: x.sum(axis=0), values("f8", 300, 3))
    assert not is_turned(lambda np, x: x.max(), values("f8", 300, 3))
