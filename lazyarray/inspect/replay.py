"""Owns the replay of saved launches: a dumped kernel runs again on its inputs and is compared with the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lazyarray.config import config
from lazyarray.inspect.again import Array, Replay, computed, differs, is_close, tolerance
from lazyarray.runtime.device import configured
from lazyarray.runtime.interpret import interpret_all
from lazyarray.runtime.saved import Saved, is_saved


def replay(folder: Path) -> tuple[list[str], bool]:
    """Runs what a folder holds, a dump's launches or what `verify` left: a line for each, and whether all agree."""
    if is_saved(folder):
        return launch(folder)
    launches = sorted(inner for inner in folder.iterdir() if inner.is_dir() and is_saved(inner))
    if not launches:
        text = Replay.load(folder).describe()
        return [text], text.endswith("within its bound")
    lines, agree = [], True
    for inner in launches:
        told, same = launch(inner)
        lines += [f"{inner.name}:", *("  " + line for line in told)]
        agree = agree and same
    return lines, agree


def launch(folder: Path) -> tuple[list[str], bool]:
    """One saved launch: a line for each output, and whether all are within their bounds."""
    saved = Saved.load(folder)
    expression = saved.expression()
    bound = sum(tolerance(entry) for entry in expression.entries)
    values = interpret_all(expression, saved.sources())
    place = config.device if configured() is not None else config.backend
    lines, agree = [f"{saved.step.name} on {place}: {' '.join(saved.step.ops)}"], True
    for slot, ours in zip(saved.plan.outputs, run(saved), strict=True):
        theirs = np.asarray(values[slot])
        # As `verify` has it: errors of an operation may be magnified by those after it.
        same = is_close(ours, theirs, 1e6 * bound)
        agree = agree and same
        lines.append(f"output {ours.dtype}{list(ours.shape)}: {compared(ours, theirs, bound, same)}")
    return lines, agree


def run(saved: Saved) -> list[Array]:
    """The kernel's outputs, as the backend in use computes them, on the device in use."""
    return computed(saved.plan, saved.sources())


def compared(ours: Array, theirs: Array, bound: float, same: bool) -> str:
    """How two results stand to each other."""
    unequal = differs(ours, theirs, 0.0)
    if not unequal.any():
        return "equal to NumPy's, bit for bit"
    place = tuple(int(i) for i in np.argwhere(unequal)[0])
    with np.errstate(all="ignore"):
        distance = np.abs(ours.astype(np.complex128) - theirs) / np.abs(theirs.astype(np.complex128))
    most = float(np.max(distance, initial=0.0, where=np.isfinite(distance)))
    word = "within its bound" if same else "DIFFERS"
    return (
        f"{word}: {int(unequal.sum())} of {unequal.size} elements are not NumPy's, "
        f"by at most {most:.2g} of their size; the first at {place}: {ours[place]!r}, not {theirs[place]!r}"
    )
