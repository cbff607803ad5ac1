"""Advanced and boolean reads and writes on arrays that are recorded: NumPy's values, in compiled kernels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.runtime.device import in_use
from tests.frontend.agreement import MODES, agree

DRAW = numpy.random.default_rng(11)
N = 9000
FLAT = DRAW.integers(-100, 100, N).astype(float)
GRID = DRAW.integers(-100, 100, (90, 110)).astype(float)
INDEX = DRAW.integers(-N, N, N)
ROWS = DRAW.integers(0, 90, 200)
MASK = DRAW.random(N) < 0.3
GRID_MASK = DRAW.random((90, 110)) < 0.5
ROW_MASK = DRAW.random(90) < 0.5
COLUMN_MASK = DRAW.random(110) < 0.5


def overlap_forward(np: Any, x: Any, i: Any, m: Any) -> None:
    x[i] = x[::-1]


def overlap_gathered(np: Any, x: Any, i: Any, m: Any) -> None:
    x[i] = x[i[::-1]] * 2 + x


def overlap_itself(np: Any, x: Any, i: Any, m: Any) -> None:
    x[i] = x


def add_in_place(np: Any, x: Any, i: Any, m: Any) -> None:
    x[i] += 1


def index_from_target(np: Any, x: Any, i: Any, m: Any) -> None:
    x[x.astype(np.int64)] = i


def region_from_gather(np: Any, x: Any, i: Any, m: Any) -> None:
    x[1:] = x[i][:-1]


def masked_add(np: Any, x: Any, i: Any, m: Any) -> None:
    x[m] = x[m] * 2 + 1


def masked_from_front(np: Any, x: Any, i: Any, m: Any) -> None:
    x[m] = x[: x[m].size]


def masked_by_itself(np: Any, x: Any, i: Any, m: Any) -> None:
    x[x > 0] = x[x > 0][::-1]


def masked_pending(np: Any, x: Any, i: Any, m: Any) -> None:
    y = x * 3 - 1
    y[y > 5] = (y + x)[y > 5]
    x[:] = y


def masked_view(np: Any, x: Any, i: Any, m: Any) -> None:
    x[::2][m[::2]] = x[m][: int(m[::2].sum())]


def masked_reversed(np: Any, x: Any, i: Any, m: Any) -> None:
    x[::-1][m] = np.arange(int(m.sum()))


def into_integers(np: Any, x: Any, i: Any, m: Any) -> None:
    y = x.astype(np.int16)
    y[m] = x[m] / 3
    y[i] = y[i[::-1]] // 2
    x[:] = y


def old_value_lives(np: Any, x: Any, i: Any, m: Any) -> None:
    before = x + 0
    y = x + 1
    x[i] = 5
    x[m] = before[m] + y[m]
    x += y


def conditions(np: Any, x: Any, i: Any, m: Any) -> None:
    flags = x > 0
    flags[i] = m
    flags[m] = flags[m][::-1]
    x[flags] = 1


PROGRAMS = [
    overlap_forward, overlap_gathered, overlap_itself, add_in_place, index_from_target, region_from_gather, masked_add,
    masked_from_front, masked_by_itself, masked_pending, masked_view, masked_reversed, into_integers,
    old_value_lives, conditions,
]  # fmt: skip


@MODES
@pytest.mark.parametrize("body", PROGRAMS, ids=lambda f: f.__name__)
def test_writes_agree(body: Any, eager_below: int) -> None:
    def program(np: Any) -> Any:
        x, i, m = np.data(FLAT) + 0, np.data(INDEX) + 0, np.data(MASK)
        body(np, x, i, m)
        return x, i, m

    agree(program, eager_below)


@MODES
def test_grids_agree(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x, rows, m = np.data(GRID) + 0, np.data(ROWS), np.data(GRID_MASK)
        a, b = np.data(ROW_MASK), np.data(COLUMN_MASK)
        read = [x[m], x[a], x[:, b], x.T[b], x.T[m.T], (x * 2)[a], (x + x[0])[:, b], x[1:-1][m[1:-1]], x[None][:, a]]
        read += [x[3, b], x[a, 3], x[m][::3], (x[m] + 1).sum(), x[a].max(axis=0), x[a][:, b]]
        x[rows] = np.arange(110.0)
        x[:, rows] = x[:, :200:2][:, :1]
        x[rows, rows[::-1]] = np.arange(200)
        x[a] = np.arange(110.0 * int(a.sum())).reshape(-1, 110)
        x[:, b] = x[:, b][::-1] + np.arange(90.0)[:, None]
        x[m] = np.sqrt(np.arange(int(m.sum())))
        x.T[m.T] = x.T[m.T][::-1]
        x[a, 5] = np.arange(int(a.sum()))
        return read, x

    agree(program, eager_below)


@MODES
def test_nothing_selected_and_wrong_counts(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x, none = np.data(FLAT) + 0, np.data(MASK) & False
        x[none] = np.arange(0.0)
        x[none] = 3
        kept = x[none], x[none] + 1
        try:
            x[np.data(MASK)] = np.arange(5.0)
        except ValueError as error:
            return str(error), x, kept
        return x, kept

    agree(program, eager_below)


def test_the_bounds_of_an_index_follow_its_writes() -> None:
    x, i = lazyarray.array(FLAT), lazyarray.array(INDEX % N)
    x[i] = 1
    i[5] = N
    with pytest.raises(IndexError, match=f"index {N} is out of bounds for axis 0 with size {N}"):
        x[i] = 2
    i[5] = 0
    i += 1
    i[i == N] = 0
    x[i] = 3
    expected = FLAT.copy()
    index = INDEX % N
    expected[index] = 1
    index[5] = 0
    expected[(index + 1) % N] = 3
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_index_writes_and_masked_reads_are_kernels() -> None:
    x, y, i, m = (lazyarray.array(a) for a in (FLAT, FLAT[::-1], INDEX % N, MASK))
    lazyarray.evaluate(x[i])  # bounds are known
    with lazyarray.record_runs() as runs:
        x[i] = x * 2 + y
        lazyarray.evaluate(x)
    assert [run.ops for run in runs.kernels] == [("multiply", "add"), ("scatter",)]  # reads what it overwrites
    with lazyarray.record_runs() as runs:
        x[i] = y * 2 + 1
        lazyarray.evaluate(x)
    assert [run.ops for run in runs.kernels] == [("multiply", "add", "scatter")]
    with lazyarray.record_runs() as runs:
        chosen = (x * 2 + y)[m]
        lazyarray.evaluate(chosen)
    assert [run.ops for run in runs.kernels] == [("multiply", "add", "compress")]
    with lazyarray.record_runs() as runs:
        x[m] = chosen
        lazyarray.evaluate(x)
    assert [run.ops for run in runs.kernels] == [("expand", "update")]
    assert runs.library_calls == []


def test_selections_by_one_mask_are_one_kernel() -> None:
    x, y, m = lazyarray.array(FLAT), lazyarray.array(FLAT[::-1].copy()), lazyarray.array(MASK)
    with lazyarray.record_runs() as runs:
        chosen = x[m] ** 2 + y[m] * x[m]
        lazyarray.evaluate(chosen)
    # The two `where` keep what the mask leaves out from raising.
    assert [sorted(run.ops) for run in runs.kernels] == [["add", "compress", "multiply", "square", "where", "where"]]
    numpy.testing.assert_array_equal(
        numpy.asarray(chosen), FLAT[MASK] ** 2 + FLAT[::-1][MASK] * FLAT[MASK], strict=True
    )
    with lazyarray.record_runs() as runs:  # dear, and most elements are left out
        lazyarray.evaluate(lazyarray.exp(x[m]))
    assert [run.ops for run in runs.kernels] == [("compress",), ("exp",)]
    with lazyarray.record_runs() as runs:  # the selection is wanted, too
        selection = x[m]
        lazyarray.evaluate(selection, selection + 1)
    assert [run.ops for run in runs.kernels] == [("compress",), ("add",)]


def test_a_write_back_under_a_mask_packs_nothing() -> None:
    x, m = lazyarray.array(FLAT), lazyarray.array(MASK)
    with lazyarray.record_runs() as runs:
        x[m] = x[m] * 2 + 1
        x[m] += 3
        lazyarray.evaluate(x)
    assert [set(run.ops) for run in runs.kernels] in (
        [{"multiply", "add", "update", "where"}, {"add", "update", "where"}],
        [{"multiply", "add", "update", "where"}],
    )
    expected = FLAT.copy()
    expected[MASK] = FLAT[MASK] * 2 + 4
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)


@MODES
def test_positions_and_selections_agree(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x, m, grid, a = np.data(FLAT), np.data(MASK), np.data(GRID), np.data(ROW_MASK)
        picked = [np.compress(m, x), np.compress(a, grid, axis=0), np.compress(a, grid, -2), np.compress(m[:50], grid)]
        picked += [np.compress(m[:20], grid, 1), np.compress(x > 0, x), x.compress(m), np.extract(grid > 3, grid)]
        found = [np.nonzero(m), np.nonzero(x), m.nonzero(), np.nonzero(grid), np.where(m), np.where(grid > 0)]
        return picked, found, np.flatnonzero(x > 5), np.argwhere(m), x[np.nonzero(x > 0)], x[np.where(m)[0]] * 2

    agree(program, eager_below)


@pytest.mark.parametrize("most", [1e150, 1e160], ids=["quiet", "overflow"])
def test_what_is_selected_beside_a_selection_that_stays_warns_as_numpy_does(most: float) -> None:
    def step(np: Any) -> tuple[Any, Any]:
        z, c = np.array(numpy.linspace(1.0, 1e200, 200_000)), np.array(numpy.linspace(-1e307, 1e307, 200_000))
        low = z < most
        z, c = z[low], c[low]
        return z * z + c, c

    told: list[list[str]] = []
    found: list[Any] = []
    for np in (numpy, lazyarray):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append([numpy.asarray(part) for part in step(np)])
        told.append([str(warning.message) for warning in caught])
    assert told[0] == told[1]
    for want, got in zip(*found, strict=True):
        numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(300, 300), (70_001, 2), (41, 50, 60)])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_indices_by_axis_lie_as_numpy_lays_them(shape: tuple[int, ...], share: float) -> None:
    mask = numpy.random.default_rng(0).random(shape) < share
    for values in (mask, mask.astype(float), numpy.asfortranarray(mask)):
        for function in (lambda m, x: m.nonzero(x), lambda m, x: m.where(x.T), lambda m, x: (m.argwhere(x),)):
            with lazyarray.record_runs() as runs:
                found = function(lazyarray, lazyarray.asarray(values.copy(order="K")))
                lazyarray.evaluate(*found)
            assert runs.kernels or not share
            assert not runs.fallbacks
            for ours, theirs in zip(found, function(numpy, values), strict=True):
                assert ours.dtype == theirs.dtype
                assert ours.strides == theirs.strides or theirs.size < 2
                assert (ours.base is None) == (theirs.base is None)
                numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize("share", [0.001, 0.7])
def test_index_arrays_selected_by_one_mask_are_evaluated_together_and_few_are_checked_in_memory(share: float) -> None:
    rng = numpy.random.default_rng(5)
    shape, count = (300, 400), 30_000
    rows, columns = rng.integers(0, 300, count), rng.integers(0, 400, count)
    chosen = rng.random(count) < share
    expected = numpy.zeros(shape)
    expected[rows[chosen], columns[chosen]] = 3.0
    target, mine = (
        lazyarray.zeros(shape) + 0.0,
        [lazyarray.evaluate(lazyarray.asarray(item) + 0) for item in (rows, columns)],
    )
    mask = lazyarray.evaluate(lazyarray.asarray(chosen) & True)
    with lazyarray.record_runs() as runs:
        target[mine[0][mask], mine[1][mask]] = 3.0
    many = chosen.sum() >= lazyarray.config.eager_below or in_use()
    ends = [("min", "max")] * 2 if many else []
    assert [kernel.ops for kernel in runs.kernels] == [("compress", "compress"), *ends]
    numpy.testing.assert_array_equal(numpy.asarray(target), expected)
    mine[1][int(numpy.flatnonzero(chosen)[0])] = 400
    with pytest.raises(IndexError, match="index 400 is out of bounds for axis 1 with size 400"):
        target[mine[0][mask], mine[1][mask]] = 3.0
