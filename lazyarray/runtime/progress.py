"""Owns the progress bar of long evaluations (`config.progress`): steps of the plan done, by the bytes they move.

The bar is tqdm's, text or notebook. A thread of its own watches the evaluation, which knows nothing of it.
"""

from __future__ import annotations

import threading
import warnings
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from lazyarray.schedule.plan import Plan, Step

DELAY: Final = 2.0  # seconds from which an evaluation is long
_EVERY: Final = 0.1  # seconds between looks
MISSING: Final = (
    "lazyarray.config.progress is set, but tqdm, which draws the bar, cannot be imported: "
    "pip install 'lazyarray-numpy[inspect]'"
)


class Watched(Protocol):
    """A run of a plan, as far as a bar is concerned."""

    plan: Plan
    done: set[int]


def weight(plan: Plan, step: Step) -> int:
    """What a step counts for: the bytes that it moves; any step counts for something."""
    from lazyarray.schedule.plan import CallStep, KernelStep

    if isinstance(step, KernelStep):
        return 1 + step.loaded + step.stored
    if isinstance(step, CallStep):
        return 1 + sum(plan.nbytes(slot) for slot, _ in step.args) + plan.nbytes(step.result)
    return 1


def results(step: Step) -> tuple[int, ...]:
    """The slots that are done when the step is."""
    from lazyarray.schedule.plan import KernelStep

    return step.writes if isinstance(step, KernelStep) else (step.result,)


def make_bar(total: int) -> Any:
    """A bar of tqdm's, or None (with a warning) where there is no tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warnings.warn(MISSING, stacklevel=2)
        return None
    return tqdm(total=total, unit="B", unit_scale=True, desc="lazyarray", leave=False)


@contextmanager
def shown(run: Watched, bar: Callable[[int], Any] = make_bar) -> Iterator[None]:
    """A bar beside the block, from `DELAY` seconds on, for the steps of the run."""
    over = threading.Event()
    watcher = threading.Thread(target=watch, args=(run, over, bar), name="lazyarray-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def watch(run: Watched, over: threading.Event, bar: Callable[[int], Any]) -> None:
    """Draws until the run is over; nothing if that is soon."""
    from lazyarray.runtime.running import running

    if over.wait(DELAY):
        return
    running.apart.add(get_ident())  # what tqdm does here, `catch_warnings` for one, is not to wait for the evaluation
    try:
        draw(run, over, bar)
    finally:
        running.apart.discard(get_ident())


def draw(run: Watched, over: threading.Event, bar: Callable[[int], Any]) -> None:
    """Draws the steps that are done until the run is over."""
    steps = [(results(step), weight(run.plan, step)) for step in run.plan.steps]
    drawn = bar(sum(size for _, size in steps))
    if drawn is None:
        return
    with drawn:
        while True:
            ended = over.wait(_EVERY)
            done = sum(size for slots, size in steps if run.done.issuperset(slots))
            drawn.update(done - drawn.n)
            if ended:
                return
