"""Programs on large memory that others refer to: what they compute and write is NumPy's, whoever writes when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyarray as la

ROWS, COLUMNS = 96, 50

# Ways to memory that somebody else refers to: of NumPy's array, what that somebody has, and the array under test.
FORMS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "in C order": lambda values: (values, la.asarray(values)),
    "in Fortran order": lambda values: (theirs := np.asfortranarray(values), la.asarray(theirs)),
    "a transposed view": lambda values: (theirs := np.ascontiguousarray(values.T), la.asarray(theirs.T)),
    "rows of more": lambda values: (theirs := np.concatenate([values, values]), la.asarray(theirs[:ROWS])),
    "backwards": lambda values: (theirs := values[::-1].copy(), la.asarray(theirs[::-1])),
    "handed out": lambda values: (np.asarray(ours := la.evaluate(la.array(values))), ours),
    "a view of what is handed out": lambda values: (np.asarray(ours := la.evaluate(la.array(values))), ours[:]),
    "reshaped": lambda values: (np.asarray(ours := la.evaluate(la.array(values.ravel()))), ours.reshape(ROWS, COLUMNS)),
}
COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "+ 1": lambda np, x: x + 1.0,
    "2 -": lambda np, x: 2.0 - x,
    "np.float64 *": lambda np, x: np.float64(0.5) * x,
    "squared": lambda np, x: x * x,
    "negated": lambda np, x: -x,
    "transposed": lambda np, x: x.T + 1.0,
    "with its rows": lambda np, x: x - x[0],
    "with its columns": lambda np, x: x[:, 1:] - x[:, :-1],
    "below": lambda np, x: x < 0.5,
    "a chain": lambda np, x: (x * 2.0 + 1.0) * x - x[::-1],
    "sum": lambda np, x: x.max() - x.min(),
    "rows' largest": lambda np, x: x.max(axis=1),
    "means": lambda np, x: np.mean(x * 0.0 + 2.0, axis=0),
    "running": lambda np, x: np.maximum.accumulate(x, axis=0),
    "clip": lambda np, x: np.clip(x, 0.2, 0.8),
    "round": lambda np, x: np.round(x, 1),
    "stack": lambda np, x: np.stack([x, x + 1.0]),
    "joined": lambda np, x: np.concatenate((x, x[:3]), axis=0),
    "rolled": lambda np, x: np.roll(x, 3, axis=1),
    "copied": lambda np, x: x.copy(),
    "flat": lambda np, x: x.ravel() * 1.0,
    "chosen": lambda np, x: x[x > 0.5],
    "where": lambda np, x: np.where(x > 0.5, x, 0.0),
    "a row": lambda np, x: x[3] * 1.0,
    "an element": lambda np, x: x[3, 4] + 0.0,
    "some rows": lambda np, x: x[np.array([1, 5, 1])],
    "slopes": lambda np, x: np.gradient(x, axis=0),
    "padded": lambda np, x: np.pad(x, 1, mode="edge"),
    "appended": lambda np, x: np.append(x, x[:2]),
    "less a row": lambda np, x: np.delete(x, 3, axis=0),
    "triangle": lambda np, x: np.triu(x, 1),
    "close": lambda np, x: np.isclose(x, x[::-1], atol=0.1),
    "sorted along": lambda np, x: np.take_along_axis(x, np.argsort(x, axis=0, kind="stable"), 0),
    "taken": lambda np, x: np.take(x, np.argsort(x, axis=None, kind="stable")),
    "places": lambda np, x: np.argwhere(x > 0.5),
    "places of itself": lambda np, x: np.flatnonzero(x),
    "any": lambda np, x: np.any(x, axis=0),
    "shifted": lambda np, x: np.fft.fftshift(x),
    "repaired": lambda np, x: np.nan_to_num(x),
    "no difference": lambda np, x: np.copy(np.diff(x, 0)),
}
WRITTEN: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda np, x: x.__setitem__((2, 3), 7.0),
    "a row": lambda np, x: x.__setitem__(4, 0.25),
    "a column": lambda np, x: x.__setitem__((slice(None), 2), np.arange(float(ROWS)) / ROWS),
    "all": lambda np, x: x.__setitem__(slice(None), 0.75),
    "a mask": lambda np, x: x.__setitem__(x > 0.9, 0.1),
    "some": lambda np, x: x.__setitem__(np.array([0, 7]), 0.5),
    "added": lambda np, x: x.__iadd__(0.125),
    "multiplied": lambda np, x: x.__imul__(x * 0.5),
    "a part": lambda np, x: x[1:-1].__isub__(0.5),
    "out": lambda np, x: np.multiply(x, 0.5, out=x),
    "out under a mask": lambda np, x: np.multiply(x, 0.5, out=x, where=x > 0.5),
    "out beside": lambda np, x: np.add(x[1:], 0.5, out=x[:-1], where=x[1:] < 0.5),
    "putmask": lambda np, x: np.putmask(x, x < 0.2, x + 0.25),
    "copyto": lambda np, x: np.copyto(x, x[::-1].copy(), where=x < 0.4),
    "copyto itself": lambda np, x: np.copyto(x, x[::-1], where=x[0] < 0.4),
    "a mask's values": lambda np, x: x.__setitem__(x > 0.8, (x * 0.5)[x > 0.8]),
    "a mask of a view": lambda np, x: x[1:].__setitem__(x[:-1] > 0.7, 0.6),
}
# What of: ours, or what somebody else has.
STEPS = st.one_of(
    st.tuples(st.just("compute"), st.sampled_from(sorted(COMPUTED))),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITTEN))),
    st.tuples(st.just("write elsewhere"), st.sampled_from(sorted(WRITTEN))),
)


def numbers() -> Any:
    return np.random.default_rng(4).random((ROWS, COLUMNS))


@given(st.sampled_from(sorted(FORMS)), st.lists(STEPS, min_size=2, max_size=12))
@settings(max_examples=150, deadline=None)
def test_what_programs_compute_and_write_is_numpys(form: str, steps: list[tuple[str, str]]) -> None:
    theirs, ours = FORMS[form](numbers())
    want = np.array(numbers(), order="F" if form in ("in Fortran order", "a transposed view") else "C")
    seen: Any = {  # what somebody else has, as the same view of it
        "a transposed view": lambda: theirs.T,
        "rows of more": lambda: theirs[:ROWS],
        "backwards": lambda: theirs[::-1],
        "reshaped": lambda: theirs.reshape(ROWS, COLUMNS),
    }.get(form, lambda: theirs)()
    results: list[tuple[str, Any, Any]] = []
    for what, name in steps:
        if what == "compute":
            results.append((name, COMPUTED[name](la, ours), np.copy(COMPUTED[name](np, want))))
        elif what == "write":
            WRITTEN[name](la, ours)
            WRITTEN[name](np, want)
        else:
            WRITTEN[name](np, seen)
            WRITTEN[name](np, want)
    for name, got, expected in results:
        np.testing.assert_array_equal(np.asarray(got), expected, err_msg=name)
    np.testing.assert_array_equal(np.asarray(ours), want)
    np.testing.assert_array_equal(seen, want)
