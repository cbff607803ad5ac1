"""Plans are found on disk by later processes, as they were made; what has no lasting name is made anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.node import Library
from lazyarray.runtime import kept_plans
from lazyarray.runtime.kept_plans import Kept, key_of, load_plan
from lazyarray.schedule.plan import Plan
from lazyarray.schedule.schedule import schedule

FIELDS = ("steps", "frees", "outputs", "origins", "shapes", "codes", "why", "entries", "again", "apart")


def written(x: Any) -> Any:
    y = x * 2.0
    y[1:, 1:] += x[:-1, :-1]
    y[y > 1.0] = 0.25
    return y


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a chain": lambda x: np.sqrt(x * 2.0 + 1.0) / 3.0,
    "sums": lambda x: (x - x.mean(axis=0)) / x.std(axis=0) + x.sum(),
    "writes": written,
    "a product": lambda x: np.maximum((x + 1.0) @ (x * 2.0).T, 0.5),
    "indices": lambda x: (x * 3.0)[np.array([2, 0, 1, 5])] + np.cumsum(x, axis=1)[:4],
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Kept, "count", 0)
    with np.config.set(cache_dir=str(tmp_path), eager_below=0):
        yield


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr("lazyarray.runtime.running.plans", {})


def evaluated(program: Callable[[Any], Any]) -> tuple[Any, Plan]:
    x = np.asarray(numpy.random.default_rng(1).random((40, 40)))
    with np.record_runs() as runs:
        result = numpy.asarray(np.evaluate(program(x)))
    return result, runs.plans[-1][0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plan_is_found_as_it_was_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)
    expected, made = evaluated(PROGRAMS[name])
    forget(monkeypatch)
    monkeypatch.setattr("lazyarray.schedule.schedule.schedule", None)  # no plan can be made any more
    result, found = evaluated(PROGRAMS[name])
    assert result.tobytes() == expected.tobytes()
    assert found is not made
    for field in FIELDS:
        assert getattr(found, field) == getattr(made, field)


def test_other_shapes_and_operations_are_other_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf, other = Entry("leaf", None, (3,), "f8", ()), Entry("leaf", None, (4,), "f8", ())
    add = Entry("map", ("negative", ("f8",)), (3,), "f8", (0,))
    keys = [
        key_of(Expression((leaf, add), (1,))),
        key_of(Expression((other, add._replace(shape=(4,))), (1,))),
        key_of(Expression((leaf, add._replace(attr=("absolute", ("f8",)))), (1,))),
        key_of(Expression((leaf, add), (0, 1))),
    ]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_what_has_no_lasting_name_is_not_kept() -> None:
    leaf = Entry("leaf", None, (3,), "f8", ())

    def call(function: Any, options: Any = ()) -> Expression:
        return Expression((leaf, Entry("call", Library("f", function, options), (3,), "f8", (0,))), (1,))

    assert key_of(call(numpy.matmul)) is not None
    assert key_of(call(lambda a: a)) is None
    assert key_of(call(numpy.sort, (("by", object()),))) is None


def test_a_damaged_or_foreign_entry_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = kept_plans._cache()
    cache.store("a", b"no pickle")
    cache.store("b", pickle.dumps(["no plan"]))
    assert load_plan("a") is None
    assert load_plan("b") is None
    assert load_plan("c") is None


def test_a_process_leaves_a_bounded_number_of_plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept_plans, "MOST", 2)
    leaf = Entry("leaf", None, (3,), "f8", ())
    plan = schedule(Expression((leaf, Entry("map", ("negative", ("f8",)), (3,), "f8", (0,))), (1,)))
    for key in "abc":
        kept_plans.keep_plan(key, plan)
    assert [load_plan(key) is not None for key in "abc"] == [True, True, False]
