"""Owns computing again: operations on saved inputs, by the backend in use and by NumPy, and how far those are apart."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lazyarray.config import config
from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.node import leaf
from lazyarray.ir.ops import OPS
from lazyarray.runtime.backend import current
from lazyarray.runtime.device import configured
from lazyarray.runtime.interpret import interpret_all
from lazyarray.schedule.plan import Plan
from lazyarray.schedule.schedule import schedule

Array = np.ndarray[Any, Any]

_ULPS = 8  # of a transcendental function, against NumPy's, which is itself within 4


class Replay:
    """Operations on saved inputs, the last of which is the result: what a folder of `verify` holds."""

    def __init__(self, expression: Expression, inputs: Mapping[int, Any]) -> None:
        self.expression = expression
        self.inputs = inputs  # by position: arrays, and NumPy's scalars for the numbers

    @staticmethod
    def alone(entry: Entry, args: list[Any]) -> Replay:
        """One operation."""
        inputs = [
            Entry("scalar" if isinstance(a, np.generic) else "leaf", None, np.shape(a), code_of(a), ()) for a in args
        ]
        last = entry._replace(args=tuple(range(len(inputs))))
        return Replay(Expression((*inputs, last), (len(inputs),)), dict(enumerate(args)))

    @staticmethod
    def up_to(position: int, expression: Expression, values: list[Any]) -> Replay:
        """An operation with all that it is made of, fused as that is where nothing else is wanted."""
        number = {place: n for n, place in enumerate(needed_by(expression, position))}
        entries = tuple(
            expression.entries[p]._replace(args=tuple(number[a] for a in expression.entries[p].args)) for p in number
        )
        inputs = {
            n: values[p][()] if expression.entries[p].kind == "scalar" else values[p]
            for p, n in number.items()
            if expression.entries[p].kind in ("leaf", "scalar")
        }
        return Replay(Expression(entries, (len(entries) - 1,)), inputs)

    @property
    def last(self) -> Entry:
        """The operation that is looked at."""
        return self.expression.entries[-1]

    def sources(self) -> list[Any]:
        """The inputs as a run takes them, which may write into arrays."""
        values = (self.inputs.get(place) for place in range(len(self.expression.entries)))
        return [leaf(v.copy()) if isinstance(v, np.ndarray) else v if v is None else v.item() for v in values]

    def compiled(self) -> Array:
        """What the backend in use computes."""
        expression = self.expression
        if config.numerics == "numpy" and configured() is None:
            from lazyarray.passes.own_loops import use_numpy_loops

            expression = use_numpy_loops(expression, current().runs_numpy_loop)
        return computed(schedule(expression), self.sources())[0]

    def interpreted(self) -> Array:
        """What NumPy computes."""
        found: Array = interpret_all(self.expression, self.sources())[-1]
        return found

    def describe(self) -> str:
        """How far the two are apart."""
        ours, theirs = self.compiled(), self.interpreted()
        bound = sum(tolerance(entry) for entry in self.expression.entries)
        if is_close(ours, theirs, bound):
            return f"{name_of(self.last)}: equal within its bound"
        place = tuple(int(i) for i in np.argwhere(differs(ours, theirs, bound))[0])
        return f"{name_of(self.last)} differs at {place}: {ours[place]!r} compiled, {theirs[place]!r} in NumPy"

    def save(self, folder: Path) -> None:
        """Leaves the operations and their inputs in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "expression.pickle").write_bytes(pickle.dumps(self.expression))
        for place, value in self.inputs.items():
            np.save(folder / f"input{place}.npy", value)

    @staticmethod
    def load(folder: Path) -> Replay:
        """What `save` left. Folders hold pickles: open your own only."""
        expression: Expression = pickle.loads((folder / "expression.pickle").read_bytes())
        inputs: dict[int, Any] = {}
        for place, entry in enumerate(expression.entries):
            if entry.kind in ("leaf", "scalar"):
                value = np.load(folder / f"input{place}.npy")
                inputs[place] = value[()] if entry.kind == "scalar" else value
        return Replay(expression, inputs)


def needed_by(expression: Expression, position: int) -> list[int]:
    """An entry and all that it is made of, in order."""
    needed = {position}
    for place in range(position, -1, -1):
        if place in needed:
            needed.update(expression.entries[place].args)
    return sorted(needed)


def computed(plan: Plan, sources: list[Any]) -> list[Array]:
    """A plan's outputs, as the backend in use computes them, on the device in use."""
    device = configured()
    if device is None:
        from lazyarray.runtime.execute import Run

        here = Run(plan, sources, current())
        here.run()
        return [np.asarray(here.memory[slot]) for slot in plan.outputs]
    from lazyarray.runtime.device_run import DeviceRun

    there = DeviceRun(plan, sources, device)
    there.run()
    return [there.on_host(slot) for slot in plan.outputs]


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
