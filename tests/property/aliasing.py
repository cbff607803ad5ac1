"""Owns the aliasing machine: live arrays, views and writes in any order, NumPy beside lazyarray, compared to the bit.

    python -m tests.property.aliasing --examples 20000 --seed 1 [--settings recorded] [--jobs 2]

runs that many programs and prints what differs, each as the shortest program that shows it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import lazyarray
from lazyarray.config import config
from tests.property.aliasing_draw import DRAWS, MOST_NAMES, SHAPES, SMALL, Drawer, draw_deletion, draw_source
from tests.property.aliasing_twins import LOOK, SETTINGS, SHARES, WAYS, Differs, Twins, replay, to_lines
from tests.property.draw import HypothesisChooser
from tests.property.programs import Program, Step, minimise

STEPS = 15
CHUNK = 250  # examples for one seed
MOST_SHORTENED = 60  # failures of a chunk that are minimised
DEFAULT = ("default", "near", "near", "one thread")
LOOKS = ("none", "none", "none", "none", "none", "one", "all")  # after a step


@dataclass
class Failure:
    """A program after which the twins differ."""

    settings: str
    program: Program
    problem: str


@dataclass
class Tally:
    """What a run has seen so far."""

    examples: int = 0
    steps: int = 0


def problem_of(settings_name: str, program: Program, xp: Any = lazyarray) -> str | None:
    """How the program's replay differs."""
    return replay(program, xp, **SETTINGS[settings_name])


def shortest(failure: Failure, xp: Any = lazyarray) -> Failure:
    """The failure with every step dropped that it does not need."""

    def fails(program: Program) -> bool:
        problem = problem_of(failure.settings, program, xp)
        return problem is not None and sort_of(problem) == sort_of(failure.problem)

    if not fails(failure.program):
        return failure
    program = minimise(failure.program, fails)
    return Failure(failure.settings, program, problem_of(failure.settings, program, xp) or failure.problem)


def sort_of(problem: str) -> str:
    """The start of what is said about a name, without numbers."""
    return re.sub(r"\d+", "", problem.partition(": ")[2])[:24]


def report(failure: Failure) -> str:
    return f"[{failure.settings}] {failure.problem}\n{to_lines(failure.program)}\n"


def machine(
    names: tuple[str, ...], found: list[Failure], tally: Tally, stops: bool = True, xp: Any = lazyarray
) -> type[RuleBasedStateMachine]:
    """The machine under the named settings. It collects failures in `found`, and `stops` at the first."""

    class Aliasing(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.drawer: Drawer | None = None
            self.name = names[0]
            self.undo: Any = None

        @initialize(data=st.data())
        def begin(self, data: st.DataObject) -> None:
            chooser = HypothesisChooser(data.draw)
            self.name = chooser.pick(names)
            self.undo = config.set(**SETTINGS[self.name])
            self.undo.__enter__()
            self.drawer = Drawer(chooser, Twins(xp), SHAPES.get(self.name, SMALL))
            self.attempt(draw_source)

        def attempt(self, draw: Callable[[Drawer], None]) -> None:
            drawer = self.drawer
            if drawer is None:
                return
            try:
                draw(drawer)
            except Differs as problem:
                self.fail(drawer.twins.steps, str(problem))
            except Exception as error:  # one side refused to be looked at, or a step ended in an internal error
                self.fail(drawer.twins.steps, f"{type(error).__name__}: {error}", error)

        def fail(self, steps: list[Step], problem: str, cause: BaseException | None = None) -> None:
            self.drawer = None
            failure = Failure(self.name, tuple(steps), problem)
            found.append(failure)
            if stops:
                raise Differs("\n" + report(failure)) from cause

        def step(self, draw: Callable[[Drawer], None], data: st.DataObject) -> None:
            if self.drawer is None:
                return
            self.drawer.chooser = HypothesisChooser(data.draw)
            self.attempt(draw)
            if self.drawer is not None and len(self.drawer.env) > MOST_NAMES:
                self.attempt(draw_deletion)
            self.attempt(look_around)

        def teardown(self) -> None:
            drawer = self.drawer
            tally.examples += 1
            try:
                if drawer is not None:
                    self.attempt(lambda d: d.twins.finish())
                    tally.steps += len(drawer.twins.steps)
            finally:  # a difference that the end shows leaves the settings as they were, too
                self.drawer = None
                if self.undo is not None:
                    self.undo.__exit__(None, None, None)
                    self.undo = None

    for name, draw in DRAWS.items():
        setattr(Aliasing, name, _rule(name, draw))
    return Aliasing


def _rule(name: str, draw: Callable[[Drawer], None]) -> Any:
    def take(self: Any, data: st.DataObject) -> None:
        self.step(draw, data)

    take.__name__ = name
    return rule(data=st.data())(take)


def look_around(drawer: Drawer) -> None:
    """Compares all, one or none of the values: what is not looked at stays as it is."""
    kind = drawer.chooser.pick(LOOKS)
    names = tuple(drawer.env)
    if kind == "none" or not names:
        return
    way = drawer.chooser.pick(tuple(WAYS))
    drawer.twins.do(Step(way, LOOK, names if kind == "all" else (drawer.chooser.pick(names),)))


def machine_settings(examples: int, **changed: Any) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
        **changed,
    )


def run_chunk(task: tuple[int, int, tuple[str, ...]]) -> tuple[int, Tally, list[Failure]]:
    """One seed's examples: what they found, each failure as short as it gets."""
    number, examples, names = task
    found: list[Failure] = []
    tally = Tally()
    made = hypothesis.seed(number)(machine(names, found, tally, stops=False))
    run_state_machine_as_test(made, settings=machine_settings(examples))
    return number, tally, [shortest(failure) for failure in found[:MOST_SHORTENED]] + found[MOST_SHORTENED:]


def chunks(examples: int, seed: int, names: tuple[str, ...]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for place, start in enumerate(range(0, examples, CHUNK)):
        yield seed * 100_000 + place, min(CHUNK, examples - start), names


def kind_of(failure: Failure) -> str:
    """What tells one finding from another: the names out, and of a wrong value no more than that it is wrong."""
    statements = [step.source for step in failure.program if step.rule not in (LOOK, SHARES)]
    last = statements[-1] if statements and failure.problem.startswith(("v", "n")) else failure.problem
    return re.sub(r"\d+|'\w\d*'", "", last)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.property.aliasing", description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--settings", choices=["all", *SETTINGS], help="default: thresholds met")
    options = parser.parse_args()
    names = (
        DEFAULT if options.settings is None else tuple(SETTINGS) if options.settings == "all" else (options.settings,)
    )
    total, began, kinds = Tally(), time.monotonic(), Counter[str]()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=8) as pool:
        for number, tally, found in pool.imap_unordered(run_chunk, chunks(options.examples, options.seed, names)):
            total.examples += tally.examples
            total.steps += tally.steps
            for failure in found:
                kind = kind_of(failure)
                kinds[kind] += 1
                if kinds[kind] == 1:
                    print(f"seed {number} {report(failure)}", flush=True)
            spent = time.monotonic() - began
            print(
                f"{total.examples} examples, {total.steps} steps, {kinds.total()} failures, {spent:.0f} s", flush=True
            )
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
