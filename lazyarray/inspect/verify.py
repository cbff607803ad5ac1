"""Owns `verify`: a share of evaluations is computed again by the NumPy interpreter and compared."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lazyarray.config import config
from lazyarray.errors import VerifyError
from lazyarray.inspect.lines import Line, find_line
from lazyarray.ir.expression import Entry, Expression, Signature, expression_of
from lazyarray.ir.node import Node, Site, leaf
from lazyarray.ir.ops import OPS
from lazyarray.runtime.backend import current
from lazyarray.runtime.evaluate import shadows
from lazyarray.runtime.execute import Run
from lazyarray.runtime.interpret import interpret_all
from lazyarray.schedule.schedule import schedule

Array = np.ndarray[Any, Any]

_ULPS = 8  # of a transcendental function, against NumPy's, which is itself within 4


class Replay:
    """One operation on saved inputs: what a folder of `verify` holds."""

    def __init__(self, entry: Entry, args: list[Any]) -> None:
        self.entry = entry
        self.args = args

    def expression(self) -> Expression:
        """The operation as an expression over its inputs."""
        inputs = [
            Entry("scalar" if isinstance(a, np.generic) else "leaf", None, np.shape(a), code_of(a), ())
            for a in self.args
        ]
        entry = self.entry._replace(args=tuple(range(len(inputs))))
        return Expression((*inputs, entry), (len(inputs),))

    def compiled(self) -> Array:
        """What the backend in use computes."""
        expression = self.expression()
        sources = [a.item() if isinstance(a, np.generic) else leaf(a) for a in self.args]
        run = Run(schedule(expression), [*sources, None], current())
        run.run()
        found = run.memory[run.plan.outputs[0]]
        assert found is not None
        return found

    def interpreted(self) -> Array:
        """What NumPy computes."""
        sources = [a.item() if isinstance(a, np.generic) else leaf(a) for a in self.args]
        found: Array = interpret_all(self.expression(), [*sources, None])[-1]
        return found

    def describe(self) -> str:
        """How far the two are apart."""
        ours, theirs = self.compiled(), self.interpreted()
        if is_close(ours, theirs, tolerance(self.entry)):
            return f"{name_of(self.entry)}: equal within its bound"
        place = tuple(int(i) for i in np.argwhere(differs(ours, theirs, tolerance(self.entry)))[0])
        return f"{name_of(self.entry)} differs at {place}: {ours[place]!r} compiled, {theirs[place]!r} in NumPy"

    def save(self, folder: Path) -> None:
        """Leaves the operation and its inputs in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "entry.pickle").write_bytes(pickle.dumps(self.entry))
        for number, arg in enumerate(self.args):
            np.save(folder / f"arg{number}.npy", arg)

    @staticmethod
    def load(folder: Path) -> Replay:
        """What `save` left. Folders hold pickles: open your own only."""
        entry: Entry = pickle.loads((folder / "entry.pickle").read_bytes())
        args: list[Any] = [np.load(folder / f"arg{number}.npy") for number in range(len(entry.args))]
        return Replay(entry, [a if a.ndim else a[()] for a in args])


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
    for position, ours in zip(expression.outputs, found, strict=True):
        # Errors of an operation may be magnified by those after it: only gross ones show here.
        if is_close(ours, np.asarray(values[position]), 1e6 * loose):
            continue
        culprit, place, alone = find_culprit(expression, values)
        if loose and not alone:
            continue  # each operation is within its bound, and a rounding apart can choose another branch or integer
        where = Path(tempfile.mkdtemp(prefix="lazyarray-replay-") if folder is None else folder)
        culprit.save(where)
        line: Line | None = find_line(sites[place])
        fused = "" if alone else ", but not as it was fused"
        raise VerifyError(
            f"{culprit.describe()}{fused}\n  written at {line or 'an unknown line'}\n"
            f"  backend {config.backend}; again with: python -m lazyarray.inspect replay {where}"
        )


def find_culprit(expression: Expression, values: list[Any]) -> tuple[Replay, int, bool]:
    """The first operation that differs by itself; else the last one, and False."""
    replay, place = None, -1
    for position, entry in enumerate(expression.entries):
        if entry.kind in ("leaf", "scalar", "empty"):
            continue
        args = [values[a] if expression.entries[a].shape else np.asarray(values[a])[()] for a in entry.args]
        replay, place = Replay(entry, [np.ascontiguousarray(a) if np.ndim(a) else a for a in args]), position
        if not is_close(replay.compiled(), replay.interpreted(), tolerance(entry)):
            return replay, place, True
    assert replay is not None
    return replay, place, False


def tolerance(entry: Entry) -> float:
    """How far a result may be from NumPy's, relative to its size; 0 for bit-equal."""
    if entry.code[0] not in "fc":
        return 0.0
    unit = float(np.finfo(np.dtype(entry.code)).eps)
    if entry.kind == "map" and entry.attr[0] in OPS and OPS[entry.attr[0]].transcendental:
        return _ULPS * unit
    if entry.kind in ("reduce", "scan") and entry.attr[0] in ("sum", "buffered_sum", "prod"):
        return 1024 * unit
    return unit if entry.kind == "call" else 0.0


def differs(ours: Array, theirs: Array, bound: float) -> Array:
    """Where two results are further apart than the bound."""
    with np.errstate(all="ignore"):
        equal = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        if bound and theirs.dtype.kind in "fc":
            scale = np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))
            equal |= np.abs(ours - theirs) <= bound * np.maximum(np.abs(theirs), scale * 1e-3)
    return np.asarray(~np.asarray(equal))


def is_close(ours: Array, theirs: Array, bound: float) -> bool:
    """True when results are within the bound everywhere."""
    return not differs(np.asarray(ours), np.asarray(theirs), bound).any()


def name_of(entry: Entry) -> str:
    """An operation as users know it."""
    attr = entry.attr
    return str(attr[0]) if entry.kind in ("map", "reduce", "scan") else str(getattr(attr, "name", entry.kind))


def code_of(value: Any) -> str:
    """The dtype code of an array or NumPy scalar."""
    dtype = value.dtype
    return str(dtype.kind) + str(dtype.itemsize)
