"""Holds how much memory programs take, in bytes, and what is left when there is not enough."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.runtime import evaluate, execute, pool
from lazyarray.runtime.budget import TAPE_LIMIT

COUNT = 1 << 18
BLOCK = 8 * COUNT
SMALL = np.linspace(0.0, 1.0 / COUNT, COUNT).reshape(512, 512)


def test_the_activation_needs_its_inputs_and_its_result(memory: pool.MemoryPool) -> None:
    x, y = la.evaluate(la.linspace(0.0, 1.0, COUNT), la.linspace(1.0, 2.0, COUNT))
    assert memory.stats().bytes_peak == 2 * BLOCK
    la.evaluate(la.maximum((la.sin(x) * la.cos(y) + x) * y, 0))
    assert memory.stats().bytes_peak == 3 * BLOCK


def test_a_loop_that_is_evaluated_step_by_step_holds_two_buffers(memory: pool.MemoryPool) -> None:
    x = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    for _ in range(1000):
        x = la.evaluate(la.sqrt(x * 0.5 + 0.25))
    stats = memory.stats()
    assert stats.bytes_peak == 2 * BLOCK
    assert stats.allocations - stats.reuses == 2


@pytest.mark.parametrize("step", [lambda x: x + 1.0, lambda x: x * x * 0.1 + x * 0.2 - 0.3])
def test_a_loop_that_is_only_recorded_holds_one_buffer(step: Callable[[Any], Any], memory: pool.MemoryPool) -> None:
    x = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    for _ in range(1000):
        x = step(x)
    la.evaluate(x)
    assert memory.stats().bytes_peak == BLOCK  # each piece is written over the one before
    assert memory.stats().bytes_in_use == BLOCK


@pytest.mark.parametrize(
    "step",
    [
        lambda x: la.sqrt(x * 0.5 + 0.25),
        lambda x: la.sin(x) + 0.1,
        lambda x: 0.5 * (la.roll(x, 1) + la.roll(x, -1)),
        lambda x: x / (1.0 + x.sum()),
        lambda x: (x.reshape(512, 512) @ SMALL).reshape(-1),
    ],
)
def test_one_whose_pieces_take_several_kernels_holds_one_more(
    step: Callable[[Any], Any], memory: pool.MemoryPool
) -> None:
    # The plan keeps its input, since after an error everything must still be computable, and a value between kernels.
    x = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    for _ in range(1000):
        x = step(x)
    la.evaluate(x)
    assert memory.stats().bytes_peak <= 3 * BLOCK
    assert memory.stats().bytes_in_use == BLOCK


def selected(x: Any) -> tuple[Any, Any]:
    """What a mask leaves of x, and one more value of that; nobody has x any more."""
    x = x[la.evaluate(x > 0.25)]
    return x * x + 1.0, x


def test_a_value_that_somebody_has_stays(memory: pool.MemoryPool) -> None:
    x = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    y, _ = selected(x)
    la.evaluate(y)
    np.testing.assert_array_equal(np.asarray(x), np.linspace(0.0, 1.0, COUNT))
    z = x + 1.0
    y, _ = selected(x)
    del x
    la.evaluate(y)
    np.testing.assert_array_equal(np.asarray(z), np.linspace(0.0, 1.0, COUNT) + 1.0)


@pytest.mark.parametrize("granted", range(3))
def test_an_error_leaves_all_that_was_recorded_of_a_value_without_a_name(
    granted: int, memory: pool.MemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = np.linspace(0.0, 1.0, COUNT)
    want = want[want > 0.25]
    y, x = selected(la.evaluate(la.linspace(0.0, 1.0, COUNT)))
    allocate, left = execute.reserve, [granted]

    def allocate_so_often(*args: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError
        return allocate(*args)

    with monkeypatch.context() as patch:
        patch.setattr(execute, "reserve", allocate_so_often)
        if granted < 2:
            with pytest.raises(MemoryError):
                la.evaluate(y)
    np.testing.assert_array_equal(np.asarray(y), want * want + 1.0)
    np.testing.assert_array_equal(np.asarray(x), want)


def twice_the_same(np: Any, x: Any) -> Any:
    """Two equal running sums, which a plan computes once."""
    return np.cumsum(np.cumsum(x)[::-1]) * np.cumsum(x)


def cut_to_pieces(np: Any, x: Any) -> Any:
    """A sum of rolls is written piece by piece, which no node stands for."""
    a = x.reshape(512, 512)
    b = np.roll(a, 1, 0) + np.roll(a, 1, 1)
    return np.cumsum(b @ b, axis=0) @ b


@pytest.mark.parametrize("granted", range(6))
@pytest.mark.parametrize("program", [twice_the_same, cut_to_pieces])
def test_what_plans_compute_otherwise_than_it_was_recorded_outlives_an_error(
    program: Callable[[Any, Any], Any], granted: int, memory: pool.MemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = program(np, np.linspace(0.1, 2.0, COUNT))
    y = program(la, la.evaluate(la.linspace(0.1, 2.0, COUNT)))
    allocate, left = execute.reserve, [granted]

    def allocate_but_once(*args: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            raise MemoryError
        return allocate(*args)

    with monkeypatch.context() as patch, la.config.set(compile_at=1):
        patch.setattr(execute, "reserve", allocate_but_once)
        la.evaluate(y)  # an evaluation is tried once more, without what was computed along
    np.testing.assert_allclose(np.asarray(y), want, rtol=1e-12)


@pytest.mark.parametrize("function", [lambda x: la.divmod(x, 0.3), lambda x: la.modf(x), lambda x: la.frexp(x)])
def test_results_of_one_function_leave_its_argument(function: Callable[[Any], Any]) -> None:
    x = la.evaluate(la.linspace(0.0, 1.0, COUNT) * 2.0)
    la.evaluate(*function(x))
    np.testing.assert_array_equal(np.asarray(x), np.linspace(0.0, 1.0, COUNT) * 2.0)


def test_a_stencil_that_writes_its_array_holds_it_and_one_more(memory: pool.MemoryPool) -> None:
    u = la.evaluate(la.linspace(0.0, 1.0, COUNT)).reshape(512, 512)
    for _ in range(1000):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    la.evaluate(u)
    assert memory.stats().bytes_peak <= 2 * BLOCK
    assert memory.stats().bytes_in_use == BLOCK


def test_what_is_written_on_the_way_is_kept_by_no_cut(memory: pool.MemoryPool) -> None:
    # Each step writes the parts of a new array (updates), and reads them by operations of other kinds.
    x = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    for _ in range(200):
        even, odd = x[: COUNT // 2], x[COUNT // 2 :]
        x = la.concatenate((even + 0.5 * odd, even - 0.5 * odd))
    la.evaluate(x)
    assert memory.stats().bytes_peak <= 4 * BLOCK


IMPOSSIBLE: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda np: np.zeros((1 << 40, 1 << 10)),
    "empty": lambda np: np.empty(1 << 45, dtype="f4"),
    "arange": lambda np: np.arange(1 << 48),
    "sum of a column and a row": lambda np: np.ones((1 << 20, 1)) + np.ones((1, 1 << 28)),
    "outer": lambda np: np.outer(np.ones(1 << 22), np.ones(1 << 22)),
    "copy of a broadcast": lambda np: np.broadcast_to(np.ones(1 << 20), (1 << 30, 1 << 20)).copy(),
    "too many bytes to count": lambda np: np.zeros((1 << 20, 1 << 60)),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_does_not_fit_raises_numpys_error_and_leaves_the_rest(name: str) -> None:
    before = la.ones(1 << 17) * 2.0 + 1.0
    with pytest.raises((MemoryError, ValueError)) as wanted:
        IMPOSSIBLE[name](np)
    with pytest.raises(wanted.type) as raised:
        la.evaluate(IMPOSSIBLE[name](la))
    assert str(raised.value) == str(wanted.value)
    assert np.array_equal(np.asarray(before), np.full(1 << 17, 3.0))


def test_what_does_not_fit_fails_only_who_asks_for_it() -> None:
    with pytest.raises(MemoryError) as wanted:
        IMPOSSIBLE["sum of a column and a row"](np)
    large = IMPOSSIBLE["sum of a column and a row"](la)
    with warnings.catch_warnings():  # both ends evaluate what may warn
        total = la.ones(1 << 17) * 2.0
    x = la.ones(1 << 17)
    for _ in range(TAPE_LIMIT + 10):  # as does the budget
        x = x * 1.0 + 0.5
        x[0] = 0.0
    assert float(x[0]) == 0.0
    assert float(total.sum()) == 2.0 * (1 << 17)
    for _ in range(2):
        with pytest.raises(MemoryError) as raised:
            la.evaluate(large)
        assert str(raised.value) == str(wanted.value)
    assert float(large[3, 5]) == 2.0


def test_memory_that_ends_within_a_plan_leaves_everything_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.linspace(0.5, 1.5, 300 * 400).reshape(300, 400)
    x = la.array(data)
    y = x * 2.0
    y[10:20] += 1.0
    z = (y - y.mean(axis=0)) @ y.T
    allocate, taken = execute.reserve, []

    def allocate_once(*args: Any, **options: Any) -> Any:
        taken.append(args)
        if len(taken) > 1:
            raise MemoryError("no more")
        return allocate(*args, **options)

    monkeypatch.setattr(execute, "reserve", allocate_once)
    with pytest.raises(MemoryError, match="no more"):
        la.evaluate(z)
    assert len(taken) >= 2
    monkeypatch.undo()
    want = data * 2.0
    want[10:20] += 1.0
    assert np.array_equal(np.asarray(y), want)
    np.testing.assert_allclose(np.asarray(z), (want - want.mean(axis=0)) @ want.T, rtol=1e-12)
    assert np.array_equal(np.asarray(x), data)


def test_a_sum_of_what_the_steps_make_holds_no_steps(memory: pool.MemoryPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "HELD_UNSEEN", BLOCK)
    total, x = la.evaluate(la.zeros(COUNT), la.linspace(0.0, 1.0, COUNT))
    for step in range(40):
        total += 0.5 * x
        x = la.sqrt(x + step)
        la.evaluate(x)
    assert memory.stats().bytes_peak <= 6 * BLOCK
    want, y = np.zeros(COUNT), np.linspace(0.0, 1.0, COUNT)
    for step in range(40):
        want += 0.5 * y
        y = np.sqrt(y + step)
    np.testing.assert_array_equal(np.asarray(total), want)


def test_a_sum_of_what_a_library_returns_holds_little_of_it(memory: pool.MemoryPool) -> None:
    """Nothing else is evaluated meanwhile."""
    given = np.random.default_rng(5).standard_normal((200, 200))
    matrix, total = la.asarray(given), la.zeros((200, 400))
    side = la.asarray(np.random.default_rng(6).standard_normal((200, 400)))
    alive: list[weakref.ref[Any]] = []
    most = 0
    with la.record_runs() as runs:
        for step in range(40):
            found = la.linalg.solve(matrix, side)
            total += found * (1.0 + step)
            alive.append(weakref.ref(found._node))
            most = max(most, sum(one() is not None for one in alive))
    assert set(runs.evaluations) == {"it held memory that nothing else refers to"}
    assert most * found.nbytes <= 2 * (4 << 20)
    want = sum(np.linalg.solve(given, np.asarray(side)) * (1.0 + step) for step in range(40))
    np.testing.assert_allclose(np.asarray(total), want, rtol=1e-9)


def test_a_pending_result_whose_operands_have_names_stays_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "HELD_UNSEEN", BLOCK)
    x, y = la.evaluate(la.linspace(0.0, 1.0, COUNT), la.linspace(1.0, 2.0, COUNT))
    total = x + y
    for _ in range(3):
        la.evaluate(x * 2.0)
    with la.record_runs() as runs:
        la.evaluate(total)
    assert len(runs.kernels) == 1
