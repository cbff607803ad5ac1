"""Plans of sizes that nobody planned for are those that scheduling would have made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lazyarray as np
from lazyarray.ir.sizes import Drawn, structure_of, with_sizes
from lazyarray.runtime import planning
from lazyarray.schedule.family import SAMPLES, Family, Sample, are_equal, family_of
from lazyarray.schedule.schedule import schedule

DRAW = numpy.random.default_rng(39)
Program = Callable[[Any, int, int], Any]  # of the namespace, and two sizes, which the caller keeps apart


def floats(count: int, *more: int) -> Any:
    return DRAW.random((count, *more)) + 0.5


def masked(space: Any, n: int, m: int) -> Any:
    a, mask = space.asarray(floats(n)), numpy.arange(n) < m
    return a[mask] * 2.0, a[~mask] + 1.0


def scattered(space: Any, n: int, m: int) -> Any:
    out, rows = space.zeros((50, 40)), DRAW.integers(0, 50, n)
    columns = DRAW.integers(0, 40, n)
    mask = space.asarray(numpy.arange(n) < m)
    out[space.asarray(rows)[mask], space.asarray(columns)[mask]] = 3.0
    return out


def written(space: Any, n: int, m: int) -> Any:
    x = space.asarray(floats(n)) * 2.0
    x[3:] += x[:-3]
    x[:-1] *= 0.5
    return x


def written_from(space: Any, n: int, m: int, step: int) -> Any:
    x = space.asarray(floats(2 * n)) * 2.0
    x[n::step] = x[:n:step]
    return x


def written_rows(space: Any, n: int, m: int) -> Any:
    x = space.asarray(floats(n, 7)) * 2.0
    x[1:, 2:5] = x[:-1, 1:4] + 1.0
    return x


def six_lengths(space: Any, n: int, m: int) -> Any:
    apart = (n, m, n * m % 4001 + 100, n * n % 4001 + 100, m * m % 4001 + 100, n * m * m % 4001 + 100)
    return tuple([space.asarray(floats(count)) * 2.0 for count in apart])


# Of each, whether its plans are a family: for all sizes, for some (lengths are even; none is small), or not at all.
PROGRAMS: dict[str, tuple[Program, str]] = {
    "a chain": (lambda space, n, m: space.sqrt(space.asarray(floats(n)) * 2.0 + 1.0) / 3.0, "all"),
    "two lengths": (lambda space, n, m: (space.asarray(floats(n)) + 1.0, space.asarray(floats(m)) * 2.0), "all"),
    "six lengths": (six_lengths, "all"),
    "neighbours": (lambda space, n, m: (a := space.asarray(floats(n)))[1:] - 2.0 * a[:-1], "all"),
    "a mask": (masked, "some"),
    "indices": (lambda space, n, m: space.asarray(floats(n))[DRAW.integers(0, n, m)] * 2.0, "all"),
    "a scatter": (scattered, "all"),
    "writes": (written, "all"),
    "writes to rows": (written_rows, "all"),
    "a sum": (lambda space, n, m: (space.asarray(floats(n)) * 2.0).sum(), "all"),
    "rows' sums": (lambda space, n, m: (space.asarray(floats(n, 9)) * 2.0).sum(axis=1), "all"),
    "columns' sums": (lambda space, n, m: (space.asarray(floats(n, 9)) * 2.0).sum(axis=0), "all"),
    "a running sum": (lambda space, n, m: space.cumsum(space.asarray(floats(n)) * 2.0), "all"),
    "reversed": (lambda space, n, m: space.asarray(floats(n))[::-1] * space.asarray(floats(n)), "all"),
    "rolled": (lambda space, n, m: space.roll(space.asarray(floats(n)) + 1.0, 3), "all"),
    "read at another place": (lambda space, n, m: space.asarray(floats(4000))[n : n + 90] + 1.0, "some"),
    "rows left out": (lambda space, n, m: (a := space.asarray(floats(71_000, 7)))[n:] - a[n - 1], "all"),
    "cut at both ends": (lambda space, n, m: space.asarray(floats(150_000))[n:-n] + 1.0, "all"),
    "joined": (lambda space, n, m: space.concatenate([space.asarray(floats(k)) + 1.0 for k in (n, m)]), "none"),
    "written behind": (lambda space, n, m: written_from(space, n, m, 1), "none"),
    "every second written behind": (lambda space, n, m: written_from(space, n, m, 2), "none"),
    "broadcast": (lambda space, n, m: space.asarray(floats(n))[:, None] * space.asarray(floats(8)), "all"),
    "rows of other lengths": (lambda space, n, m: space.asarray(floats(5, n)) * 2.0, "none"),
    "every second": (lambda space, n, m: space.asarray(floats(n))[::2] + 1.0, "some"),
    "squares": (lambda space, n, m: space.asarray(floats(n, n)) * 2.0, "none"),
    "transposed": (lambda space, n, m: space.asarray(floats(n, 6)).T + 1.0, "all"),
}  # fmt: skip
SIZES = [(900, 131), (1210, 190), (1450, 283)]  # no two of them on a line
OTHERS = [(70, 31), (150, 60), (2000, 900), (70_001, 1203), (901, 899), (1210, 131)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("lazyarray.runtime.running.plans", {})
    planning.forget()
    with np.config.set(cache_dir=str(tmp_path), eager_below=0):
        yield
    planning.forget()


def drawn(program: Program, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    """What is planned for a program."""
    found: list[Drawn] = []
    new_plan = planning.new_plan

    def noted(given: Drawn) -> Any:
        found.append(given)
        return new_plan(given)

    with monkeypatch.context() as patch:
        patch.setattr("lazyarray.runtime.running.plans", {})
        patch.setattr(planning, "new_plan", noted)
        result = program(np, *sizes)
        np.evaluate(*(result if isinstance(result, tuple) else (result,)))
    return found


def families(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Family | None, int]]:
    """The families of what a program evaluates, with its place."""
    ways = [drawn(program, sizes, monkeypatch) for sizes in SIZES]
    assert all([[one.structure for one in way] == [one.structure for one in ways[0]] for way in ways])
    made = []
    for place, each in enumerate(zip(*ways, strict=True)):
        if len({one.sizes for one in each}) == SAMPLES:
            samples = [Sample(one.sizes, schedule(one.expression)) for one in each]
            made.append((family_of(each[0].structure, samples, schedule), place))
    assert made
    return made


def test_an_expression_is_its_structure_and_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    for program, _ in PROGRAMS.values():
        for one in drawn(program, SIZES[0], monkeypatch):
            assert structure_of(one.expression) == (one.structure, one.sizes)
            assert with_sizes(one.structure, one.sizes) == one.expression


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_of_a_family_are_those_that_scheduling_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, follow = PROGRAMS[name]
    made = families(program, monkeypatch)
    assert all([(family is None) is (follow == "none") for family, _ in made])
    for family, place in made:
        if family is None:
            continue
        found = 0
        for sizes in OTHERS:
            one = drawn(program, sizes, monkeypatch)[place]
            plan = family.plan(one.sizes)
            assert plan is None or are_equal(plan, schedule(one.expression)), sizes
            found += plan is not None
        assert found == len(OTHERS) if follow == "all" else found >= 3


def test_a_family_has_no_plans_of_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    ((family, place),) = families(PROGRAMS["writes to rows"][0], monkeypatch)
    assert family is not None

    def one(n: int, columns: int) -> Any:
        def program(space: Any, n: int, m: int) -> Any:
            x = space.asarray(floats(n, columns)) * 2.0
            x[1:, 2:5] = x[:-1, 1:4] + 1.0
            return x

        return drawn(program, (n, 0), monkeypatch)[place]

    assert family.plan(one(400, 7).sizes) is not None
    assert family.plan(one(400, 8).sizes) is None
    assert family.plan(one(2, 7).sizes) is None
    assert one(400, 8).structure == one(400, 7).structure


def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is scheduled from now on."""
    found: list[Any] = []

    def noted(expression: Any) -> Any:
        found.append(expression)
        return schedule(expression)

    monkeypatch.setattr("lazyarray.schedule.schedule.schedule", noted)
    return found


def sieve(space: Any) -> list[float]:
    """Ever fewer values, as data decide."""
    values = space.asarray(numpy.linspace(0.0, 1.0, 3000))
    found = []
    while len(values) > 40:
        values = values * 3.9 * (1.0 - values)
        values = values[values > 0.1]
        found.append(float(values.sum()))
    return found


def test_ever_new_sizes_are_scheduled_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sieve(numpy)
    made = planned(monkeypatch)
    with np.record_runs() as runs:
        found = sieve(np)
    assert numpy.allclose(found, expected, rtol=1e-12)
    assert len(expected) > 20
    assert len(runs.plans) == 2 * len(expected)
    assert len({id(plan) for plan, *_ in runs.plans}) > 1.8 * len(expected)
    assert len(made) < 40, "some for each of the structures, whatever the sizes"


def test_a_write_that_meets_what_is_read_at_some_sizes_alone() -> None:
    # Apart where the read lies behind the write, as at first, and before it; in between they meet.
    for at in (300, 400, 500, 350, 120, 16, 60, 110, 90, 149, 99):
        x, expected = np.arange(900.0) * 2.0, numpy.arange(900.0) * 2.0
        for each in (x, expected):
            each[100:150] += each[at : at + 50]
        assert numpy.asarray(x).tobytes() == expected.tobytes(), at


def test_later_processes_find_the_families(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sieve(np)
    planning.forget()
    monkeypatch.setattr("lazyarray.runtime.running.plans", {})
    made = planned(monkeypatch)
    assert sieve(np) == first
    assert made == []


def test_plans_that_do_not_follow_are_tried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned(monkeypatch)
    for n in range(300, 330):
        np.evaluate(PROGRAMS["squares"][0](np, n, 0))
    assert len(made) == 30, "no corners: it is told from the sizes that they do not"


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 5), st.integers(0, 5), st.integers(1, 3))
def test_writes_at_sizes_of_a_family_are_numpys(n: int, m: int, start: int, shift: int, step: int) -> None:
    def program(space: Any) -> list[Any]:
        found = []
        for size in (n, n + 7, n + 16, n + 33, m, m + 5):
            x = space.arange(float(size)) * 2.0
            x[start::step] *= 3.0
            x[shift:] += x[: max(size - shift, 0)]
            x[::2][: x[1::2].shape[0]] = x[1::2]
            found.append(numpy.asarray(x))
        return found

    with np.config.set(eager_below=0):
        for ours, theirs in zip(program(np), program(numpy), strict=True):
            assert ours.tobytes() == theirs.tobytes()
