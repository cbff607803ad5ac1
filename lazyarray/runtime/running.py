"""Owns the running of plans: what `config` says of where, the plan of an expression, and one run of it at a time.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lazyarray.config import config
from lazyarray.ir.expression import Signature, expression_of
from lazyarray.ir.node import Node
from lazyarray.ir.sizes import Drawn, draw, structure_of
from lazyarray.native.primitives import thread_here  # cimport
from lazyarray.runtime.backend import current
from lazyarray.runtime.floating import tell
from lazyarray.runtime.progress import shown
from lazyarray.runtime.remote import stays_home
from lazyarray.runtime.settling import Wanted, under_way, where, with_equals

# The build reads such imports by the line.
# isort: split
from lazyarray.runtime.run import AnyRun  # cimport
from lazyarray.runtime.settling import hand_out  # cimport

# Imported where needed: scheduling and running plans, which programs of small arrays never come to.
if TYPE_CHECKING:
    from lazyarray.runtime.device_run import DeviceRun
    from lazyarray.schedule.plan import Plan

PLANS_LIMIT: Final = 2048

plans: Final[dict[Signature, Plan]] = {}
exact_plans: Final[dict[str, dict[Signature, Plan]]] = {}
"""Those of numerics="numpy", by backend."""

_under_way: Final = under_way  # in C


class Running:
    """How many plans are running, one inside another, and in which thread: who holds the lock."""

    __slots__ = ("apart", "depth", "thread")

    def __init__(self) -> None:
        self.depth = 0
        self.thread = 0
        self.apart: set[int] = set()  # threads that do not wait for evaluations, beside that one

    def here(self) -> bool:
        """True in a thread that is running a plan, or does not wait for one."""
        if not self.depth and not self.apart:
            return False
        thread = thread_here()
        return (self.depth > 0 and thread == self.thread) or thread in self.apart


class Settings:
    """What `config` says of where evaluations run, worked out when it has changed."""

    __slots__ = ("away", "backend", "changes", "exact", "home", "progress", "tries")

    def __init__(self) -> None:
        self.backend: Any = None  # None: not worked out
        self.changes = 0
        self.home = False  # on the host, unless a value is on a device
        self.away = False  # a device may be where values are made
        self.forget()

    def work_out(self) -> Any:
        """The backend. Settings that change meanwhile are worked out again."""
        while True:
            before = self.changes
            backend = current()
            away = not stays_home()
            if before == self.changes:
                self.home = backend.name != "numpy" and not away
                self.away = away
                self.backend = backend
                return backend

    def forget(self) -> None:
        """Settings have changed."""
        self.changes += 1
        self.backend = None
        self.exact = config.numerics == "numpy"
        self.progress = config.progress
        # How often a cheap expression may be interpreted. Who asks for stages, or for all to be compiled, gets that.
        shown = self.exact or config.debug or config.dump is not None
        self.tries = 0 if shown or not config.eager_below else config.compile_at - 1


running: Final = Running()
_running: Final = running  # in C
settings: Final = Settings()
config.followers.append(settings.forget)

_runs: list[Any] = []  # what makes runs, once it is imported: each evaluation makes one
_runs_there: list[Any] = []


def enter() -> None:
    """The thread that holds the lock begins to run a plan."""
    _running.depth += 1
    _running.thread = thread_here()


def leave() -> None:
    """What was entered last is over."""
    _running.depth -= 1


def run_there(plan: Plan, sources: list[Any], device: Any, uses: dict[int, int]) -> DeviceRun:
    """One evaluation of a plan on a device."""
    if not _runs_there:
        from lazyarray.runtime import device_run

        _runs_there.append(device_run.DeviceRun)
    made: DeviceRun = _runs_there[0](plan, sources, device, uses)
    return made


def run_of(plan: Plan, sources: list[Any], backend: Any, uses: dict[int, int]) -> AnyRun:
    """One evaluation of a plan on the host."""
    if not _runs:
        from lazyarray.runtime.execute import new_run

        _runs.append(new_run)
    made: AnyRun = _runs[0](plan, sources, backend, uses)
    return made


def run_plan(run: AnyRun, outputs: list[Node], wanted: Wanted) -> None:
    """Runs a plan and settles its outputs; after an error everything that was reached."""
    enter()
    told: list[tuple[Node, int]] = []
    finished = False
    try:
        _under_way.append(run)
        if settings.progress:
            run_shown(run)
        else:
            run.run()
        finished = True
        if run.raised:
            told = with_equals(run.raised, run.sources)
    except BaseException as error:
        error.add_note(where(outputs))
        raise
    finally:
        leave()
        try:
            hand_out(run, outputs, wanted, finished)
        finally:
            if _under_way and _under_way[-1] is run:
                _under_way.pop()
    for node, bits in told:
        tell(node, bits)


def run_shown(run: AnyRun) -> None:
    """Runs a plan beside a progress bar."""
    with shown(run):
        run.run()


def is_planned(signature: Signature) -> bool:
    """True if an expression has its plan, for the host and numerics="fast"."""
    return signature in plans


def plan_of(signature: Signature, device: bool = False, drawn: Drawn | None = None) -> Plan:
    """The plan of an expression, made once; `device`: for a device that has no NumPy. `drawn`: the same expression."""
    exact = settings.exact and not device
    known: Any = plans if not exact else exact_plans.setdefault(config.backend, {})
    plan: Plan | None = known.get(signature)
    if plan is None:
        from lazyarray.runtime.planning import new_plan

        if len(known) >= PLANS_LIMIT:
            for old in list(known)[: PLANS_LIMIT // 4]:
                del known[old]
        if exact:
            from lazyarray.passes.own_loops import use_numpy_loops

            expression = use_numpy_loops(expression_of(signature), current().runs_numpy_loop)
            drawn = Drawn(expression, *structure_of(expression))
        elif drawn is None:
            drawn = draw(signature)
        plan = known[signature] = new_plan(drawn)
    return plan
