"""Owns `verify`: a share of evaluations is computed again by the NumPy interpreter and compared."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lazyarray.config import config
from lazyarray.errors import VerifyError
from lazyarray.inspect.again import Array, Replay, differs, is_close, name_of, needed_by, tolerance
from lazyarray.inspect.lines import Line, find_line
from lazyarray.ir.expression import Expression, Signature, expression_of
from lazyarray.ir.node import Node, Site, leaf
from lazyarray.runtime.evaluate import shadows
from lazyarray.runtime.interpret import interpret_all


class Fault(NamedTuple):
    """The first operation beyond its bound."""

    replay: Replay
    position: int
    text: str


@contextmanager
def verify(rate: float = 0.01, folder: str | Path | None = None) -> Iterator[None]:
    """Inside the block, every (1/rate)-th evaluation is computed again with NumPy and compared.

    The first operation whose result is beyond its bound raises VerifyError, with the line that wrote it and a folder
    (in `folder`, else in the system's temporary one) from which `python -m lazyarray.inspect replay FOLDER` computes it
    again. Bounds: bit for bit, but a few units in the last place for transcendental functions and a bound that grows
    with the number of elements for sums.
    """
    if not 0 < rate <= 1:
        raise ValueError(f"verify() takes a rate above 0 and up to 1, not {rate!r}")
    due = 1.0 - rate  # the first evaluation is compared

    def shadow(signature: Signature, sources: list[Any]) -> Callable[[list[Any]], None] | None:
        nonlocal due
        due += rate
        if due < 1.0:
            return None
        due -= 1.0
        expression = expression_of(signature)
        # Copies: the evaluation may write into its inputs.
        copies = [leaf(s.data.copy()) if type(s) is Node and s.data is not None else s for s in sources]
        values = interpret_all(expression, copies)
        sites = [s.site if type(s) is Node else None for s in sources]

        def check(found: list[Any]) -> None:
            compare(expression, values, found, sites, folder)

        return check

    shadows.append(shadow)
    try:
        yield
    finally:
        shadows.remove(shadow)


def compare(
    expression: Expression, values: list[Any], found: list[Any], sites: list[Site | None], folder: str | Path | None
) -> None:
    """Raises VerifyError when an output is not what NumPy makes of it."""
    loose = sum(tolerance(entry) for entry in expression.entries)
    for output, ours in zip(expression.outputs, found, strict=True):
        # Errors of an operation may be magnified by those after it: only gross ones show here.
        if is_close(ours, np.asarray(values[output]), 1e6 * loose):
            continue
        fault = find_alone(expression, values) or find_fused(expression, values, output, np.asarray(ours))
        if fault is None:
            continue  # each operation is within its bound, and a rounding apart can choose another branch or integer
        where = Path(tempfile.mkdtemp(prefix="lazyarray-replay-") if folder is None else folder)
        fault.replay.save(where)
        line: Line | None = find_line(sites[fault.position])
        raise VerifyError(
            f"{fault.text}\n  written at {line or 'an unknown line'}\n"
            f"  backend {config.backend}; again with: python -m lazyarray.inspect replay {where}"
        )


def find_alone(expression: Expression, values: list[Any]) -> Fault | None:
    """The first operation that differs by itself, on NumPy's arguments."""
    for position, entry in enumerate(expression.entries):
        if entry.kind not in ("leaf", "scalar", "empty"):
            replay = alone(expression, position, values)
            if not is_close(replay.compiled(), replay.interpreted(), tolerance(entry)):
                return Fault(replay, position, replay.describe())
    return None


def alone(expression: Expression, position: int, values: list[Any]) -> Replay:
    """One operation of an expression on given values."""
    entries = expression.entries
    args = [values[a] if entries[a].shape else np.asarray(values[a])[()] for a in entries[position].args]
    return Replay.alone(entries[position], [np.ascontiguousarray(a) if np.ndim(a) else a for a in args])


def find_fused(expression: Expression, values: list[Any], output: int, ours: Array) -> Fault | None:
    """The first operation that differs where it is fused, though each by itself is right; None if none does.

    Fused or not, compiled operations have the same bits: what they compute one after another is what is to be expected.
    """
    steps: list[Any] = []
    for position, entry in enumerate(expression.entries):
        given = entry.kind in ("leaf", "scalar", "empty")
        steps.append(values[position] if given else alone(expression, position, steps).compiled())
    expected = np.asarray(steps[output])
    if is_close(ours, expected, 0.0):
        return None
    inside = [p for p in needed_by(expression, output) if expression.entries[p].args]
    right, wrong = -1, len(inside)  # of `inside`: the last found right, the first found wrong
    while wrong - right > 1:
        middle = (right + wrong) // 2
        replay = Replay.up_to(inside[middle], expression, values)
        if is_close(replay.compiled(), np.asarray(steps[inside[middle]]), 0.0):
            right = middle
        else:
            wrong = middle
    position = inside[wrong] if wrong < len(inside) else output
    replay = Replay.up_to(position, expression, values)
    if wrong < len(inside):
        text = f"{replay.describe()}, fused with what it is made of (by itself it is right)"
    else:
        place = tuple(int(i) for i in np.argwhere(differs(ours, expected, 0.0))[0])
        text = (
            f"{name_of(replay.last)} differs at {place}: {ours[place]!r}, but {expected[place]!r} when computed again"
        )
    return Fault(replay, position, text)
