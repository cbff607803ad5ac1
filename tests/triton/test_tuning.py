"""Block shapes by measuring: launches of a program take turns, the fastest stays, and is known in the next process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lazyarray_triton import tuning
from lazyarray_triton.backend import Program
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.model import Blocks, Guess
from lazyarray_triton.tuning import Choices, candidates, launches_until
from tests.triton import cases
from tests.triton.test_launcher import Compiler, FakeDriver

N = 1 << 20


class TimedDriver(FakeDriver):
    """Launches take the longer the further their block is from 256 elements of 4 warps."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.waiting = False
        self.shapes: list[tuple[int, int]] = []

    def launch_kernel(self, handle: int, *given: int) -> None:
        super().launch_kernel(handle, *given)
        shape = (N // given[0], given[3] // 32)
        self.shapes.append(shape)
        self.now += 1.0 + abs(shape[0] - 256) + abs(shape[1] - 4)

    def event(self) -> float:
        return self.now

    def is_over(self, event: Any) -> bool:
        return not self.waiting

    def seconds_between(self, before: float, after: float) -> float:
        return after - before


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(tuning, "WORTH", 20 * 12 * N)
    compiler = Compiler()
    monkeypatch.setattr("lazyarray_triton.launcher.begin", compiler)

    def make() -> tuple[Any, TimedDriver]:
        driver = TimedDriver()
        program = Program(Launcher(driver, None, Choices("a GPU", tmp_path)), cases.activation("f4"))
        return program.launcher((N,), ((4,),) * 3, (4 * N,) * 3), driver

    return make


def run(bound: Any, times: int) -> None:
    for _ in range(times):
        bound.start([1 << 20, 1 << 21, 1 << 22], [], [1 << 20, 1 << 21, 1 << 22])


def test_the_fastest_shape_stays_and_is_known_in_the_next_process(bound: Any) -> None:
    launcher, driver = bound()
    run(launcher, 19)
    assert set(driver.shapes) == {(512, 4)}  # the model's
    run(launcher, 100)
    assert len(set(driver.shapes)) >= 5
    assert driver.shapes[-40:] == [(256, 4)] * 40
    assert len(driver.shapes) == 119  # what the program launches, and nothing else
    again, other = bound()
    run(again, 60)
    assert set(other.shapes) == {(256, 4)}


def test_nobody_waits_for_what_is_measured(bound: Any) -> None:
    launcher, driver = bound()
    driver.waiting = True
    run(launcher, 100)
    assert driver.shapes[-40:] == [(512, 4)] * 40
    driver.waiting = False
    run(launcher, 1)
    assert driver.shapes[-1] == (256, 4)


def test_results_that_follow_from_the_shape_are_not_tuned() -> None:
    assert launches_until(cases.reduction("sum", "f4", "pr"), (4096, 4096)) == 0
    assert launches_until(cases.softmax("f4", "pr", keep=True), (4096, 4096)) == 0
    assert launches_until(cases.activation("f4"), (1000,)) == 0
    assert launches_until(cases.activation("f4"), (20 << 20,)) == (1 << 40) // (12 * 20 << 20)


def test_candidates_begin_with_the_models_guess() -> None:
    from lazyarray_triton import model

    first = model.guess(cases.activation("f4"), (N,))
    found = candidates(first, True)
    assert found[0] == first
    assert len(set(found)) == len(found) >= 5


def test_what_is_kept_is_the_whole_shape(tmp_path: Path) -> None:
    """A stencil's first guess has a limit of registers."""
    shape = Blocks(4, 256, 4, 64)
    choice = Guess("tile", shape, shape)
    Choices("a GPU", tmp_path).store("text", (N,), ((4,),), choice)
    assert Choices("a GPU", tmp_path).load("text", (N,), ((4,),)) == choice
