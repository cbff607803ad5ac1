"""Evaluations on the host that come again run the plan that they ran before, where all that made it so is as it was."""

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime import evaluate, execute, recalled
from lazyarray.runtime.remote import seen
from lazyarray.runtime.run import AnyDirect


@pytest.fixture(autouse=True)
def everything_is_recorded(monkeypatch: Any) -> Iterator[None]:
    monkeypatch.setattr(seen, "any", False)
    monkeypatch.setattr(evaluate, "_plans", {}, raising=False)
    with np.config.set(eager_below=0, device="cpu"):
        recalled.forget()
        yield


COUNT = 1 << 15  # elements of which a result may take a value's memory


def known() -> int:
    """How many evaluations are kept."""
    return sum(len(ways) for ways in recalled.recalled.values())


def made(*shape: int) -> Any:
    """Values in memory."""
    found = np.asarray(numpy.arange(1.0, 1.0 + int(numpy.prod(shape))).reshape(shape))
    np.evaluate(found)
    return found


def test_what_comes_a_third_time_is_kept_and_then_found() -> None:
    x, y = made(6), made(6)
    for turn in range(6):
        z = (x + y) * 2.0
        assert z.tolist() == (numpy.arange(1.0, 7.0) * 4).tolist()
        assert known() == (0 if turn < 2 else 1)


def test_numbers_may_differ() -> None:
    x = made(4)
    for turn in range(6):
        scale = float(turn)
        assert (x * scale + 1.0).tolist() == (numpy.arange(1.0, 5.0) * turn + 1.0).tolist()
    assert known() == 1


def test_a_number_that_stood_in_two_places_does_not_stand_for_two() -> None:
    x = made(4)
    for turn in range(4):
        same = float(turn)
        assert (x * same + same).tolist() == (numpy.arange(1.0, 5.0) * same + same).tolist()
    for turn in range(4):
        one, other = float(turn), float(turn + 7)
        assert (x * one + other).tolist() == (numpy.arange(1.0, 5.0) * one + other).tolist()


def test_values_that_were_two_may_be_one_and_the_other_way_round() -> None:
    x, y = made(4), made(4) * 3.0
    np.evaluate(y)
    for _ in range(5):
        assert (x + y).tolist() == [4.0, 8.0, 12.0, 16.0]
    for _ in range(5):
        assert (x + x).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert (x + y).tolist() == [4.0, 8.0, 12.0, 16.0]


def test_values_of_another_shape_are_not_taken_for_those() -> None:
    wide, row, column = made(3, 4), made(4), made(3, 1)
    for other in (row, column, wide, row, column, wide) * 3:
        expected = numpy.asarray(wide) + numpy.asarray(other)
        assert numpy.array_equal(numpy.asarray(wide + other), expected)


def test_what_the_program_names_is_kept_as_before() -> None:
    x = made(5)
    held: list[Any] = []
    for turn in range(8):
        part = np.exp(x * 0.5)
        if turn % 2:
            held.append(part)
        whole = part + 1.0
        np.evaluate(whole)
        assert (part._node is None or part._node.data is not None) or not turn % 2
        del part
    expected = numpy.exp(numpy.arange(1.0, 6.0) * 0.5)
    assert all(numpy.allclose(numpy.asarray(part), expected) for part in held)


def test_small_results_are_still_computed_along() -> None:
    x = made(50)
    for _ in range(5):
        low, high = x.min(), x.max()
        with np.record_runs() as runs:
            assert float(low) == 1.0
            assert float(high) == 50.0
        assert len(runs.kernels) == 1


@pytest.mark.parametrize("turns", [8])
def test_updates_leave_what_others_read(turns: int) -> None:
    x, theirs = made(6), numpy.arange(1.0, 7.0)
    kept: list[tuple[Any, Any]] = []
    for turn in range(turns):
        if turn in (3, 5):
            kept.append((x.copy() if turn == 3 else x + 0.0, theirs.copy()))
        view, their_view = x[1:], theirs[1:]
        view += 1.0
        their_view += 1.0
        x[:2] = x[-2:] * 2.0
        theirs[:2] = theirs[-2:] * 2.0
        np.evaluate(x)
    assert x.tolist() == theirs.tolist()
    assert all(own.tolist() == other.tolist() for own, other in kept)


def test_a_loop_that_writes_in_place_copies_nothing_from_the_third_turn_on() -> None:
    x = np.zeros((40, 40)) + 1.0
    np.evaluate(x)
    for turn in range(8):
        x[1:-1, 1:-1] += 0.5 * x[1:-1, 1:-1]
        with np.record_runs() as runs:
            np.evaluate(x)
        if turn > 2:
            assert not runs.materialisations
            assert runs.bytes_allocated == 0


def test_settings_forget_what_was_kept() -> None:
    x = made(6)
    for _ in range(4):
        assert (x + 1.5).tolist()[0] == 2.5
    assert known() == 1
    with np.config.set(numerics="numpy"):
        assert known() == 0
        for _ in range(4):
            assert np.exp(x)[0] == numpy.exp(1.0)
        assert known() == 0


def test_what_is_kept_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(recalled, "TOGETHER_LIMIT", 20)
    for size in range(2, 40):
        x = made(size)
        for _ in range(4):
            assert (x * 2.0 + 1.0).tolist()[0] == 3.0
        assert known() <= 12


def test_warnings_are_told_each_time() -> None:
    x = made(4)
    for _ in range(5):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert (x / np.zeros(4)).tolist() == [numpy.inf] * 4


def direct() -> list[bool]:
    """Of the evaluations that are kept, whether each is launched without a run."""
    return [way.direct is not None for ways in recalled.recalled.values() for way in ways]


class NoMemory(AnyDirect):
    """A kernel for whose results there is no memory."""

    def launch(self, values: list[Any], scalars: list[Any]) -> list[Any] | None:
        raise MemoryError

    def numbers(self, sources: list[Any]) -> list[Any]:
        return []


def test_an_error_leaves_what_comes_again_usable(monkeypatch: Any) -> None:
    x = made(4)
    for _ in range(5):
        assert (x * 2.0 + 3.0).tolist()[0] == 5.0
    ((way,),) = recalled.recalled.values()
    kept = way.direct
    way.direct = NoMemory()
    way.direct.backend = kept.backend

    y = x * 2.0 + 3.0
    with monkeypatch.context() as patch:
        patch.setattr(execute, "reserve", NoMemory.launch)
        with pytest.raises(MemoryError) as told:
            y.tolist()
    assert "was evaluating what was recorded at" in told.value.__notes__[0]
    way.direct = kept
    assert y.tolist()[0] == 5.0
    assert (x * 2.0 + 3.0).tolist()[0] == 5.0


def test_one_kernel_is_launched_without_a_run() -> None:
    x = made(6)
    expected = (numpy.arange(1.0, 7.0) + 2.0) * 3.0
    for turn in range(8):
        before = np.counters()
        y = (x + 2.0) * 3.0
        assert y.tolist() == expected.tolist()
        after = np.counters()
        assert [after[name] - before[name] for name in ("evaluations", "launches", "allocations")] == [1, 1, 1]
        assert after["bytes_allocated"] - before["bytes_allocated"] == 48
        assert direct() == ([True] if turn > 2 else [False] if turn == 2 else [])
        assert "(x + 2.0) * 3.0" in str(np.explain(y))


def test_two_results_of_one_kernel_get_their_values() -> None:
    x = made(5)
    for _ in range(8):
        low = x * 2.0
        high = low + 1.0
        np.evaluate(low, high)
        assert (low.tolist(), high.tolist()) == ([2.0, 4.0, 6.0, 8.0, 10.0], [3.0, 5.0, 7.0, 9.0, 11.0])
        assert numpy.asarray(low).ctypes.data != numpy.asarray(high).ctypes.data


def test_what_is_recorded_by_somebody_is_launched_by_a_run() -> None:
    x = made(6)
    for _ in range(5):
        np.evaluate(x * 2.0)
    with np.record_runs() as runs:
        y = x * 2.0
        np.evaluate(y)
    assert (len(runs.evaluations), len(runs.kernels), runs.allocations) == (1, 1, 1)
    assert runs.kernels[0].site is not None


def test_a_value_that_ends_is_written_over_and_one_that_does_not_is_not() -> None:
    x, expected = made(COUNT), numpy.arange(1.0, COUNT + 1)
    for turn in range(9):
        if turn in (4, 7):
            kept, before_it = x, expected
        before = np.counters()["bytes_allocated"]
        x = x * 0.5 + 1.0
        np.evaluate(x)
        allocated = np.counters()["bytes_allocated"] - before
        assert allocated == (8 * COUNT if turn in (0, 4, 7) else 0), turn
        expected = expected * 0.5 + 1.0
        if turn >= 4:
            assert numpy.array_equal(kept, before_it)
    assert numpy.array_equal(x, expected)


def test_errors_that_come_later_are_told_all_the_same() -> None:
    x, y = made(4), made(4)
    for _ in range(6):
        assert (x / y).tolist() == [1.0] * 4
    assert direct() == [True]
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert (x / np.zeros(4)).tolist() == [numpy.inf] * 4
        zeros = made(4) * 0.0
        np.evaluate(zeros)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert (x / zeros).tolist() == [numpy.inf] * 4
    assert (x / y).tolist() == [1.0] * 4


def test_much_memory_makes_nothing_be_kept_twice(monkeypatch: Any) -> None:
    monkeypatch.setattr(evaluate, "HELD_UNSEEN", 100)
    x = made(6)
    for _ in range(12):
        assert (x * 2.0).tolist()[0] == 2.0
        assert known() <= 1
    pending = x + 1.0
    for _ in range(12):
        assert (x * 2.0).tolist()[0] == 2.0
        assert known() == 1
    assert pending.tolist()[0] == 2.0
