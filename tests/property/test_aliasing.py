"""Live arrays, views and writes in any order equal NumPy's after every step; the machine finds planted faults."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy
import pytest
from hypothesis.stateful import run_state_machine_as_test

import lazyarray
from tests.property.aliasing import (
    DEFAULT,
    Failure,
    Tally,
    machine,
    machine_settings,
    report,
    run_chunk,
    shortest,
)
from tests.property.aliasing_draw import DRAWS, SMALL, Drawer, draw_source
from tests.property.aliasing_twins import LOOK, Differs, Twins, replay
from tests.property.draw import SeededChooser
from tests.property.programs import Step, execute

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
EXAMPLES = 2000 if SOAK else 40


def run_machine(names: tuple[str, ...], examples: int, xp: Any = lazyarray) -> list[Failure]:
    """The first failure among the examples, if there is one."""
    found: list[Failure] = []
    made = machine(names, found, Tally(), xp=xp)
    try:
        run_state_machine_as_test(made, settings=machine_settings(examples, derandomize=not SOAK))
    except Differs:
        assert found
    return found[:1]


@pytest.mark.parametrize("names", [DEFAULT, ("recorded",), ("interpreted",)], ids=["default", "recorded", "numpy"])
def test_arrays_that_share_memory_equal_numpys_after_every_step(names: tuple[str, ...]) -> None:
    found = run_machine(names, EXAMPLES)
    assert not found, report(shortest(found[0]))


def test_numpy_itself_passes() -> None:
    found = run_machine(("default",), EXAMPLES, numpy)
    assert not found, report(found[0])


class Planted:
    """NumPy, but for some functions."""

    def __init__(self, **functions: Any) -> None:
        self.functions = functions

    def __getattr__(self, name: str) -> Any:
        return self.functions[name] if name in self.functions else getattr(numpy, name)


def take_late(x: Any, y: Any, out: Any = None, **options: Any) -> Any:
    """An add that reads elements of `x` after it has written them."""
    if out is None or options or out.ndim != 1 or numpy.shape(x) != out.shape or numpy.ndim(y):
        return numpy.add(x, y, out=out, **options)
    for place in range(len(out)):
        numpy.add(x[place : place + 1], y, out=out[place : place + 1])
    return out


def refuse(*args: Any, **options: Any) -> Any:
    raise ValueError("not today")


FAULTS = {
    "foreign memory is copied": Planted(asarray=lambda a, **options: numpy.array(a, **options)),
    "a view is a copy": Planted(expand_dims=lambda a, axis: numpy.expand_dims(a, axis).copy()),
    "a copy is a view": Planted(array=lambda a, **options: numpy.asarray(a, order=options.get("order"))),
    "a mask is forgotten": Planted(copyto=lambda a, b, where=True, **options: numpy.copyto(a, b, **options)),
    "reads follow writes": Planted(multiply=take_late, add=take_late),
    "a dtype is wrong": Planted(zeros=lambda shape, dtype: numpy.zeros(shape)),
    "an order is wrong": Planted(array=lambda a, **options: numpy.array(a, **options | {"order": "C"})),
    "an error is another": Planted(add=refuse),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_shown_in_few_steps(fault: str) -> None:
    found = run_machine(("near",), 2000, FAULTS[fault])
    assert found
    assert len(shortest(found[0], FAULTS[fault]).program) <= 5


def test_what_is_not_looked_at_stays_pending() -> None:
    twins = Twins()
    with lazyarray.record_runs() as runs:
        twins.do(Step("v0 = np.arange(5000.0)"))
        twins.do(Step("v1 = v0[::-1] + 1"))
        assert not runs.evaluations
        twins.do(Step("x.tobytes()", LOOK, ("v1",)))
        assert runs.evaluations


def test_an_error_on_one_side_only_is_a_difference() -> None:
    assert replay((Step("np.copy(1)"),), Planted(copy=refuse)) is not None
    assert replay((Step("np.copy(1)"),), numpy) is None


def test_statements_of_every_kind_are_drawn_and_some_fail() -> None:
    drawn: Counter[str] = Counter()
    failed = 0
    for seed in range(300):
        chooser = SeededChooser(seed)
        drawer = Drawer(chooser, Twins(numpy), SMALL)
        draw_source(drawer)
        for _ in range(10):
            name = chooser.pick(tuple(DRAWS))
            drawn[name] += 1
            DRAWS[name](drawer)
        env: dict[str, Any] = {}
        failed += sum(execute(step, numpy, env) is not None for step in drawer.twins.steps if step.rule == "exact")
    assert drawn.keys() == DRAWS.keys()
    assert 0.01 < failed / drawn.total() < 0.2


def test_a_chunk_counts_what_it_ran() -> None:
    number, tally, found = run_chunk((7, 5, ("interpreted",)))
    assert (number, found) == (7, [])
    assert tally.examples >= 5
    assert tally.steps >= 5
