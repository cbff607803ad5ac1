"""What a loop carries from one step to the next is kept in memory once it was computed again: counted in bytes."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime import liveness, recalled
from lazyarray.runtime.remote import seen

COUNT = 1 << 15  # elements of 256 KiB, from which values are large (`runtime/liveness.py`)


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(seen, "any", False)
    liveness.needed_again.clear()
    with np.config.set(eager_below=0, device="cpu"):
        recalled.forget()
        yield
    liveness.needed_again.clear()


def made(count: int = COUNT) -> Any:
    """Values in memory."""
    return np.evaluate(np.asarray(numpy.linspace(0.5, 1.5, count)))


def steps(carry: Callable[[Any, Any], Any], state: Any, change: Any, number: int) -> list[tuple[int, int, int]]:
    """Of each step of a loop that asks for a sum: operations, bytes read, bytes written."""
    found = []
    for _ in range(number):
        state = carry(state, change)
        with np.record_runs() as runs:
            float((state * state).sum())
        found.append((sum(len(k.ops) for k in runs.kernels), runs.bytes_read, runs.bytes_written))
    return found


def test_a_state_is_read_in_each_step_and_written_for_the_next() -> None:
    first, *later = steps(lambda r, v: r - 0.25 * v, made(), made(), 12)
    nbytes = 8 * COUNT
    assert first == (4, 2 * nbytes, 8)
    assert {written for _, _, written in later} == {nbytes + 8}
    assert later[0][0] == 5  # the first step's subtraction once more
    assert set(later[1:]) == {(4, 2 * nbytes, nbytes + 8)}


def test_a_state_that_is_changed_in_place_is_kept_alike() -> None:
    def change(r: Any, v: Any) -> Any:
        r -= 0.25 * v
        return r

    nbytes = 8 * COUNT
    assert steps(change, made(), made(), 6)[2:] == [(4, 2 * nbytes, nbytes + 8)] * 4


def test_two_states_that_depend_on_each_other_are_kept_both() -> None:
    r, p, written = made(), made(), []
    for _ in range(6):
        r = r - 0.25 * p
        p = r + 0.5 * p
        with np.record_runs() as runs:
            float((r * p).sum())
        written.append(runs.bytes_written)
    assert set(written[2:]) == {2 * 8 * COUNT + 8}


def test_results_are_those_of_numpy() -> None:
    r, v = made(), made()
    expected, change = numpy.array(r), numpy.array(v)
    for _ in range(6):
        r = r - 0.25 * v
        expected = expected - 0.25 * change
        assert float((r * r).sum()) == float((expected * expected).sum())
    assert numpy.array_equal(numpy.asarray(r), expected)


def ask_twice(x: Any) -> list[int]:
    """Bytes that two evaluations of what is computed of one value write, each time that the lines run."""
    written = []
    for _ in range(4):
        with np.record_runs() as runs:
            y = x * 2.0
            float(y.max())
            float((y + 1.0).sum())
        written.append(runs.bytes_written)
    return written


def test_what_is_computed_of_one_value_is_computed_again_rather_than_written() -> None:
    count = liveness.CACHED // 8 + 1
    assert ask_twice(made(count)) == [8 * count + 16] * 4  # by the second, who finds it named: no third time computed
    assert not liveness.needed_again


def test_what_caches_hold_is_written_when_it_is_computed_first() -> None:
    def state(r: Any, v: Any) -> Any:
        return r - v[:1]

    assert ask_twice(made()) == [8 * COUNT + 16] * 4
    assert len(liveness.needed_again) == 1
    nbytes = 8 * COUNT
    found = steps(state, made(), made(), 6)
    assert {(read, written) for _, read, written in found[2:]} == {(nbytes + 8, nbytes + 8)}


def test_small_values_are_kept_when_they_are_computed_again_only() -> None:
    steps(lambda r, v: r - 0.25 * v, made(64), made(64), 6)
    assert not liveness.needed_again


def test_who_looks_ahead_leaves_no_trace() -> None:
    r, v = made(), made()
    r = r - 0.25 * v
    float((r * r).sum())
    s = (r * v).sum()
    np.explain(s)
    assert not liveness.needed_again
