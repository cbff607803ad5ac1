"""Kernels of variances, and of sums of exponentials, join those that read the same values before, and only those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.config import config
from lazyarray.frontend.array import value
from lazyarray.ir.expression import capture, expression_of, pending_closure
from lazyarray.runtime.execute import Run
from lazyarray.schedule.kernel import Store
from lazyarray.schedule.moments import deviations_of, join_moments
from lazyarray.schedule.schedule import schedule
from tests.oracle import Oracle
from tests.triton import cases

ROWS = numpy.random.default_rng(3).standard_normal((6, 90_000))
JOINED: dict[str, Callable[[Any], Any]] = {
    "of everything": lambda x: (x.mean(), x.max(), x.std()),
    "of columns": lambda x: (x.mean(axis=0), x.std(axis=0)),
    "of long rows": lambda x: (x.var(axis=1, ddof=1),),
    "of what is computed where it is read": lambda x: ((-x).std(),),
    "and a sum of exponentials too": lambda x: (np.log(np.exp(x - x.max()).sum()),),
}
APART: dict[str, Callable[[Any], Any]] = {
    "of other values": lambda x: (x.mean(), ((x * x - x.mean()) ** 2).sum()),
    "of what is not squared": lambda x: (x.mean(), ((x - x.mean()) ** 3).sum()),
    "of complex numbers": lambda x: ((x * 1j).mean(), (x * 1j).var()),
    "that are written whole": lambda x: ((x - x.mean()) ** 2,),
}


def results(program: Callable[[Any], Any], data: numpy.ndarray) -> tuple[int, int]:
    """How many steps a program's plan has, and has left; it means the same."""
    with config.set(eager_below=0, memory_budget="100T"):
        found = program(np.array(data))
        nodes = [x._node if hasattr(x, "_node") else value(x) for x in found]
        signature, sources = capture(pending_closure(nodes), nodes)
    plan = schedule(expression_of(signature))
    joined = join_moments(plan)
    with numpy.errstate(all="ignore"):
        for made in (plan, joined):
            run = Run(made, sources, Oracle())
            run.run()
            for slot, wanted in zip(made.outputs, program(data), strict=True):
                numpy.testing.assert_allclose(run.memory[slot], wanted, 1e-9)
    assert len(joined.frees) == len(joined.steps)
    assert {s for f in joined.frees for s in f} == {s for f in plan.frees for s in f}
    return len(plan.steps), len(joined.steps)


@pytest.mark.parametrize("name", JOINED)
def test_a_variance_joins_what_reads_the_same_before(name: str) -> None:
    before, after = results(JOINED[name], ROWS)
    assert (before, after) in ((2, 1), (1, 1))  # the sum may have been evaluated before, where memory ran short


@pytest.mark.parametrize("name", APART)
def test_nothing_else_joins(name: str) -> None:
    before, after = results(APART[name], ROWS)
    assert after == before


def test_a_kernel_of_short_rows_has_both_already() -> None:
    with config.set(eager_below=0, memory_budget="100T"):
        node = value(np.array(ROWS[:, :200].repeat(9, axis=0)).var(axis=1))
        signature, _ = capture(pending_closure([node]), [node])
    (kernel,) = schedule(expression_of(signature)).kernels
    found = deviations_of(kernel)
    assert found is not None
    assert (found.kind, found.before, found.stage) == ("squares", 0, 2)


def test_what_is_written_over_before_is_read_again() -> None:
    assert deviations_of(cases.softmax("f4", "pr", keep=True)) is not None
    assert deviations_of(cases.softmax("f4", "pr", keep=True, in_place=True)) is None
    rows = cases.variance("f4", "pr")
    first = rows.stages[0]
    written = first._replace(stores=(Store(0, 0),))
    assert deviations_of(rows) is not None
    assert deviations_of(rows._replace(stages=(written, *rows.stages[1:]))) is None
