"""Owns launches saved to a folder: a kernel with its inputs, as `LAZYARRAY_DUMP` leaves them and `replay` runs them.

A saved launch is a plan of one kernel over renumbered slots: what the kernel reads are inputs, whatever made it. The
folder holds the plan (a pickle of records, which `load` reads without running anything else), one `.npy` file per
input, and the same as text for people.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.node import leaf
from lazyarray.runtime.dump import new_folder
from lazyarray.schedule.plan import ClaimStep, KernelStep, Plan, Scalar, Step
from lazyarray.schedule.printer import format_expression, format_kernel, format_step

Array = np.ndarray[Any, Any]

LARGEST: Final = 1 << 28  # bytes of inputs that are saved
_PLAN: Final = "plan.pickle"
# Classes that a plan of one kernel is made of: nothing else is loaded from a folder.
_RECORDS: Final = {
    "lazyarray.schedule.plan": {"Plan", "KernelStep", "ClaimStep", "Walk", "Scalar"},
    "lazyarray.schedule.kernel": {"Kernel", "Access", "Stage", "Instruction", "Reduction", "Scan", "Store"},
    "lazyarray.ir.expression": {"Entry"},
    "builtins": {"complex"},
}


class Saved:
    """One launch: its plan, and per slot of the plan an array, a number or None."""

    def __init__(self, plan: Plan, values: list[Any]) -> None:
        self.plan = plan
        self.values = values

    @property
    def step(self) -> KernelStep:
        """The launch's kernel step."""
        (step,) = [step for step in self.plan.steps if isinstance(step, KernelStep)]
        return step

    def expression(self) -> Expression:
        """What the kernel computes, for the interpreter."""
        return Expression(self.plan.entries, self.plan.outputs)

    def sources(self) -> list[Any]:
        """The inputs as a run of the plan takes them."""
        return [leaf(v.copy()) if isinstance(v, np.ndarray) else v for v in self.values]

    def save(self, folder: Path, source: str) -> None:
        """Writes the folder; `source`: the code that the backend emitted."""
        (folder / _PLAN).write_bytes(pickle.dumps((self.plan, [None if is_array(v) else v for v in self.values])))
        for slot, value in enumerate(self.values):
            if is_array(value):
                np.save(folder / f"slot{slot}.npy", value, allow_pickle=False)
        text = (
            f"{format_step(self.step)}\n\n{format_kernel(self.step.kernel)}\n\n{format_expression(self.expression())}"
        )
        (folder / "kernel.txt").write_text(text + "\n", encoding="utf-8")
        (folder / "source.txt").write_text(source + "\n", encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> Saved:
        """What `save` left."""
        with (folder / _PLAN).open("rb") as file:
            plan, values = _Records(file).load()
        for slot in range(len(values)):
            saved = folder / f"slot{slot}.npy"
            if saved.exists():
                values[slot] = np.load(saved, allow_pickle=False)
        return Saved(plan, values)


class _Records(pickle.Unpickler):
    """Loads records of plans, and no other objects: what a pickle names runs when it is loaded."""

    def find_class(self, module: str, name: str) -> Any:
        if name not in _RECORDS.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a saved launch")
        return super().find_class(module, name)


def is_array(value: Any) -> bool:
    """True for what goes to a file of its own."""
    return isinstance(value, np.ndarray)


def is_saved(folder: Path) -> bool:
    """True for a folder that holds a launch."""
    return (folder / _PLAN).is_file()


def cut_out(plan: Plan, step: KernelStep, values: dict[int, Any]) -> Saved:
    """The launch alone. `values`: arrays and numbers by slot of the plan, for each of `slots_to_save`."""
    needed = inside(plan, step)
    slots = sorted({*values, *needed})
    number = {slot: place for place, slot in enumerate(slots)}
    entries = []
    for slot in slots:
        entry = plan.entries[slot]
        if slot in values and entry.kind != "scalar":
            entries.append(Entry("leaf", None, entry.shape, entry.code, ()))
        else:
            entries.append(entry._replace(args=tuple(number[a] for a in entry.args)))
    steps: list[Step] = []
    for slot in step.writes:
        if plan.entries[slot].kind in ("update", "scatter"):
            steps.append(ClaimStep(number[plan.entries[slot].args[0]], number[slot], copy=False))
    steps.append(
        step._replace(
            walks=tuple(w._replace(slot=number[w.slot]) for w in step.walks),
            scalars=tuple(s if s.slot is None else Scalar(number[s.slot]) for s in step.scalars),
            writes=tuple(number[s] for s in step.writes),
            raising=(),
            computes=tuple(number[s] for s in step.computes if s in number),
        )
    )
    alone = Plan(
        tuple(steps),
        ((),) * len(steps),
        tuple(number[s] for s in step.writes),
        tuple(range(len(slots))),
        tuple(e.shape for e in entries),
        tuple(e.code for e in entries),
        scheduled=tuple(entries),
    )
    return Saved(alone, [values.get(slot) for slot in slots])


def inside(plan: Plan, step: KernelStep) -> set[int]:
    """The slots that the kernel computes from what it reads."""
    inputs = set(slots_to_save(plan, step))
    found: set[int] = set()
    stack = list(step.writes)
    while stack:
        slot = stack.pop()
        if slot not in found and slot not in inputs:
            found.add(slot)
            stack += plan.entries[slot].args
    return found


def slots_to_save(plan: Plan, step: KernelStep) -> list[int]:
    """The slots whose values the launch takes: memory that it reads or writes a part of, and numbers."""
    written = {slot for slot in step.writes if plan.entries[slot].kind in ("update", "scatter")}
    read = {walk.slot for walk in step.walks} - set(step.writes)
    found: set[int] = {plan.entries[slot].args[0] for slot in written}
    seen: set[int] = set()
    stack = list(step.writes)
    while stack:
        slot = stack.pop()
        if slot in seen:
            continue
        seen.add(slot)
        if slot in read or plan.entries[slot].kind in ("leaf", "scalar"):
            found.add(slot)
        elif slot not in found:
            stack += plan.entries[slot].args
    return sorted(found)


def save_launch(
    plan: Plan, step: KernelStep, source: str, value_of: Callable[[int], Array], numbers: Sequence[Any]
) -> None:
    """Leaves a launch in a new folder of the dump, before it runs.

    `value_of(slot)`: the slot's array; `numbers`: per captured entry its source, where numbers are found.
    """
    values: dict[int, Any] = {}
    for slot in slots_to_save(plan, step):
        entry, origin = plan.entries[slot], plan.origins[slot]
        if entry.kind == "scalar" and origin is not None:
            number = numbers[origin]
            values[slot] = number.item() if isinstance(number, np.generic) else number
        else:
            values[slot] = claimed(plan, step, slot, value_of)
    folder = Path(new_folder("launch", step.name))
    size = sum(value.nbytes for value in values.values() if is_array(value))
    if size > LARGEST:
        (folder / "not-saved.txt").write_text(f"{size} bytes of inputs are more than is saved\n", encoding="utf-8")
        return
    cut_out(plan, step, values).save(folder, source)


def claimed(plan: Plan, step: KernelStep, slot: int, value_of: Callable[[int], Array]) -> Array:
    """A slot's memory; that of an old value which a write took over already is the write's."""
    for result in step.writes:
        entry = plan.entries[result]
        if entry.kind in ("update", "scatter") and entry.args[0] == slot:
            slot = result
    return value_of(slot)
