"""Small regions of large evaluated arrays: NumPy's results, at once, with nothing recorded, planned or copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la

Program = Callable[[Any, Any], Any]
SIZE = 20_000


def vector(space: Any, code: str = "f8") -> Any:
    """A large array, evaluated and shared with nobody."""
    return evaluated(space, (space.arange(SIZE) + 0).astype(code))


def matrix(space: Any, code: str = "f8") -> Any:
    return evaluated(space, (space.arange(SIZE) + 0).astype(code).reshape(100, 200).copy())


def evaluated(space: Any, array: Any) -> Any:
    return array if space is np else la.evaluate(array)


def sieve(space: Any, made: Any) -> Any:
    for p in range(2, 50):
        made[p * p :: p] = False
    return made


def divisors(space: Any, made: Any) -> Any:
    for d in range(10, 400):
        made[2 * d :: d] += d
    return made


def windows(space: Any, made: Any) -> Any:
    return [made[i : i + 3].sum() for i in range(0, 100, 7)]


def eliminate(space: Any, made: Any) -> Any:
    for k in range(1, 50):
        made[k, k:] -= 0.5 * made[k - 1, k:]
    return made


def rows(space: Any, made: Any) -> Any:
    return [row.max() - row[3] + (row * 2)[::-5].sum() for row in made]


def table(space: Any, made: Any) -> Any:
    for i in range(1, 6):
        for j in range(1, 30):
            made[i, j] = min(made[i - 1, j], made[i, j - 1]) + made[i - 1, j - 1]
    return made


def shifts(space: Any, made: Any) -> Any:
    made[3:9] = made[1:7]
    made[1:7] = made[3:9]
    made[-6:-1] = made[-1:-6:-1]
    made[20:10:-2] += made[10:20:2]
    made[5:8] = made[5:8] ** 2 - (1 - made[0:3]) @ made[3:6]
    return made


def columns(space: Any, made: Any) -> Any:
    made[:, 3] = made[:, 4]
    made[2:7, 1::50] *= 3
    made.T[7, 5:9] = 1.5
    made[4] = made[:2, 10:12].ravel()[1]
    made[::30][1, ::40] = -1
    made[10:12, 10:12] = space.where(made[:2, :2] > 3, made[0, :2], 7)
    return made


def functions(space: Any, made: Any) -> Any:
    a, b = made[3:13], made[13:23]
    return [
        space.exp(-a / 20),
        space.maximum(a, 5),
        space.concatenate([a, b]),
        space.where(a > 5, b, 0),
        space.dot(a, b),
        -a,
        abs(a - b),
        2 // b,
        a < b,
        a.mean(),
        a.cumsum(),
        space.max(a),
        (a == b).any(),
        a**0.5,
    ]


def picks(space: Any, made: Any) -> Any:
    index = space.asarray(np.array([5, -1, 9, 5]))
    made[index] += 1
    made[[3, 4]] = made[[7, 8]] * 2
    made[[0, 1, 2]] = [7, 8, 9]
    made[30:33] = [1, 2, 3]
    row = made[40:60]
    row[row > 50] = 0
    return [made, made[index], row[row < 45], space.float64(2) * made[3:6], made[3:6] / made[9]]


def places(space: Any, made: Any) -> Any:
    i = space.asarray(np.array([0, 5, 7]))
    made[i, i] = 3
    made[2, i] *= made[i, 4]
    made[i, 0] = made[0, :3]
    made[6].fill(2)
    space.add(made[0, :3], made[1, :3], out=made[2, :3])
    space.sqrt(made[3, 4:8], out=made[3, 3:7])
    made[4, 3:6] **= 2
    return [made, made[i], made[i, i], made[0:3].astype(int), space.vstack([made[1], made[2]])]


def parts(space: Any, made: Any) -> Any:
    made.real[3:6] = 7
    made.imag[4:9] += 2
    made[10:12] = made[3:5] * 1j
    return [made, made.real[2:7] + 1, abs(made[3:6])]


CASES: list[tuple[Program, Callable[..., Any], str]] = [
    (sieve, vector, "b1"),
    (divisors, vector, "i8"),
    (windows, vector, "i8"),
    (windows, vector, "f4"),
    (eliminate, matrix, "f8"),
    (eliminate, matrix, "f4"),
    (rows, matrix, "f8"),
    (table, matrix, "i4"),
    (shifts, vector, "f8"),
    (columns, matrix, "f8"),
    (functions, vector, "f8"),
    (picks, vector, "f8"),
    (places, matrix, "f8"),
]


def flat(result: Any) -> list[Any]:
    return [np.asarray(item) for item in (result if isinstance(result, list) else [result])]


def check(ours: Any, theirs: Any) -> None:
    for a, b in zip(flat(ours), flat(theirs), strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == "f4" else 1e-14)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("program", "make", "code"), CASES, ids=[f"{program.__name__}-{code}" for program, _, code in CASES]
)
def test_results_are_numpys_and_nothing_is_planned(program: Program, make: Callable[..., Any], code: str) -> None:
    theirs = program(np, make(np, code))
    array = make(la, code)
    with la.record_runs() as runs:
        ours = program(la, array)
        assert not runs.kernels
        assert not runs.evaluations
        assert not runs.materialisations
        assert not runs.fallbacks
    check(ours, theirs)
    with la.config.set(eager_below=0):
        check(program(la, make(la, code)), theirs)


def test_parts_of_complex_elements() -> None:
    check(parts(la, vector(la, "c16")), parts(np, vector(np, "c16")))


def test_with_the_limit_at_zero_all_of_it_is_recorded() -> None:
    with la.config.set(eager_below=0), la.record_runs() as runs:
        x = vector(la)
        before = len(runs.kernels)
        x[3:6] = 1.0
        float(x[3:6].sum())
        assert len(runs.kernels) > before


def test_pending_readers_keep_the_value_that_they_read() -> None:
    x, theirs = vector(la), vector(np)
    later, again = x * 2.0, x[5:9000] + 1.0
    expected, expected_again = theirs * 2.0, theirs[5:9000] + 1.0
    total, expected_total = x.sum(), theirs.sum()
    for a in (x, theirs):
        a[3:6] = 50.0
        a[7:11] += a[3:7]
        a[0] = -1.0
        a[4::3] = 0.0
    np.testing.assert_array_equal(np.asarray(x), theirs)
    np.testing.assert_array_equal(np.asarray(later), expected)
    np.testing.assert_array_equal(np.asarray(again), expected_again)
    assert float(total) == expected_total


def test_results_do_not_follow_later_writes() -> None:
    x = vector(la)
    small, copied, picked = x[2:5] + 0.0, x[2:5].copy(), x[3]
    total = x[2:5].sum()
    x[2:5] = 9.0
    assert small.tolist() == copied.tolist() == [2.0, 3.0, 4.0]
    assert picked == 3.0
    assert float(total) == 9.0


def test_views_see_writes_and_writes_go_through_views() -> None:
    x = vector(la)
    view, wide = x[10:20], x[5:15000]
    x[12:14] = -1.0
    assert view[2] == -1.0
    assert wide[7] == -1.0
    view[0] = -2.0
    view[1:3] *= 10.0
    assert x[10] == -2.0
    assert x[11] == 110.0
    assert x[12] == -10.0
    doubled = wide * 2.0  # recorded
    view[5] = 77.0
    assert doubled[10] == 30.0
    assert wide[10] == 77.0
    outside = np.asarray(x)
    view[6:8] = 5.0
    assert outside[16] == outside[17] == 5.0
    outside[16] = 6.0
    assert view[6] == 6.0
    assert (view + 0.0)[6] == 6.0


def test_values_that_two_arrays_name_are_not_shared() -> None:
    x = vector(la)
    y = la.asarray(x)
    z = x.copy()
    w = +x
    la.evaluate(z, w)
    x[3:5] = 0.0
    assert y[3] == 0.0
    assert z[3] == 3.0
    assert w[3] == 3.0


def test_an_augmented_view_is_not_written_twice() -> None:
    x = vector(la)
    with la.record_runs() as runs:
        x[1:] *= 2.0
        la.evaluate(x)
    assert len(runs.kernels) == 1
    assert x[:3].tolist() == [0.0, 2.0, 4.0]
    y = vector(la)
    view = y[1:]
    y[2:] = view[:-1]  # the same base, another place
    assert y[:4].tolist() == [0.0, 1.0, 1.0, 2.0]


def test_pieces_written_into_a_pending_array_become_immediate() -> None:
    x = la.zeros(SIZE)
    for i in range(100):
        x[3 * i : 3 * i + 2] = i
    with la.record_runs() as runs:
        for i in range(100):
            x[3 * i + 1 : 3 * i + 3] += i
    assert not runs.kernels
    expected = np.zeros(SIZE)
    for i in range(100):
        expected[3 * i : 3 * i + 2] = i
    for i in range(100):
        expected[3 * i + 1 : 3 * i + 3] += i
    np.testing.assert_array_equal(np.asarray(x), expected)


def spread_rows(space: Any, x: Any, rows: int) -> Any:
    for k in range(rows):
        x[k:] = space.abs(space.arange(200) * (0.5 + k) - 70.0)
        x[:, 3 + k :] = x[5, k]
        x[k + 1 :, :-1] = x[k, 1:]
    return x


def test_few_values_that_are_spread_over_large_regions_again_and_again_are_written_at_once() -> None:
    x = spread_rows(la, la.zeros((200, 200)), 10)
    with la.record_runs() as runs:
        spread_rows(la, x, 80)
    assert not runs.kernels
    assert not runs.materialisations
    expected = spread_rows(np, spread_rows(np, np.zeros((200, 200)), 10), 80)
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_few_values_that_are_spread_over_a_large_region_once_are_recorded() -> None:
    x, row = evaluated(la, la.ones((200, 200)) * 2.0), la.arange(200.0)
    with la.record_runs() as runs:
        x[1:] = row
    assert not runs.evaluations
    assert x[:3, 7].tolist() == [2.0, 7.0, 7.0]


def test_a_few_boundary_values_stay_part_of_the_first_kernel() -> None:
    u = la.zeros((200, 200))
    with la.record_runs() as runs:
        u[0] = 1.0
        u[-1] = 2.0
        u[:, 0] = 3.0
        u[:, -1] = 4.0
    assert not runs.evaluations


@pytest.mark.parametrize(
    "step",
    [
        lambda a: a.__setitem__(slice(0, 3), np.ones(2)),
        lambda a: a.__setitem__(slice(0, 3), np.ones((2, 3))),
        lambda a: a.__setitem__(3 * SIZE, 1.0),
        lambda a: a[3 * SIZE],
        lambda a: a[1, 2],
        lambda a: a.__setitem__((1, 2), 1.0),
        lambda a: a[1.5:],
        lambda a: a.__setitem__(slice(0, 3), "x"),
        lambda a: a.__setitem__(0, [1, 2]),
        lambda a: a[0:3] + a[0:4],
        lambda a: a[0:3].__iadd__(a[0:4]),
        lambda a: a[0:3].__ior__(1),
    ],
)
def test_errors_are_numpys(step: Callable[[Any], Any]) -> None:
    messages = []
    for array in (vector(np), vector(la)):
        with pytest.raises(Exception) as caught:  # noqa: PT011  (the class is what is compared)
            step(array)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]


def test_read_only_views_refuse() -> None:
    x = vector(la)
    view = x[3:6]
    view.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        view += 1.0
    with pytest.raises(ValueError, match="read-only"):
        la.broadcast_to(x[:3], (2, 3))[0, 1] = 1.0
    assert x[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_large_plain_arrays_are_taken_over_by_reshape() -> None:
    x = la.asarray(np.arange(SIZE) * 1.0)
    y = x.reshape(100, 200)
    with la.record_runs() as runs:
        z = y + 1.0
        assert not runs.materialisations
    assert z[1, 0] == 201.0
    x[0] = 5.0
    assert y[0, 0] == 5.0


def test_bounds_of_indices_are_checked_again_after_a_write() -> None:
    x, index = vector(la), vector(la, "i8")
    assert float(x[index].sum()) == float(np.arange(SIZE).sum())
    index[5:7] = 10 * SIZE
    with pytest.raises(IndexError, match=f"index {10 * SIZE} is out of bounds for axis 0 with size {SIZE}"):
        x[index]


def test_a_filled_array_that_is_read_in_pieces_is_in_memory_without_a_kernel() -> None:
    results = []
    for space in (np, la):
        with la.record_runs() as runs:
            state = space.zeros((100, 200), dtype=int)
            state[0, 100] = 1
            for t in range(99):
                state[t + 1, 1:-1] = state[t, :-2] ^ state[t, 2:]
        assert not runs.kernels
        results.append(np.asarray(state))
    np.testing.assert_array_equal(*results)


def test_an_output_that_a_pending_expression_reads_is_not_written_early() -> None:
    x = vector(la)
    later = x * 1.0
    la.add(x[:3], 5.0, out=x[1:4])
    x[[7, 8]] = 0.0
    assert later[:9].tolist() == list(range(9))
    assert x[:9].tolist() == [0.0, 5.0, 6.0, 7.0, 4.0, 5.0, 6.0, 0.0, 0.0]


FIRST: dict[str, tuple[Any, Program]] = {
    "a piece": (slice(3, 900), lambda space, made: space.arange(897.0)),
    "a piece of numpy's": (slice(3, 900), lambda space, made: np.arange(897.0)),
    "every third": (slice(5, 900, 3), lambda space, made: space.arange(299)),
    "numbers": (slice(-9, None), lambda space, made: 2.0),
    "an element": (7, lambda space, made: 2.5),
    "a list": (slice(0, 2), lambda space, made: [1, 2]),
    "truth values": (slice(0, 2), lambda space, made: space.array([True, False])),
}


@pytest.mark.parametrize("name", FIRST)
def test_what_is_written_first_into_an_empty_array_takes_no_kernel(name: str) -> None:
    key, value = FIRST[name]
    results = []
    for space in (np, la):
        made = space.empty(SIZE)
        view = made[:]
        with la.record_runs() as runs:
            made[key] = value(space, made)
        assert not runs.kernels
        part = made[key] if name == "an element" else made[key].copy()
        view[1000:-1000] = space.ones(SIZE)[1000:-1000] * 2.0  # recorded, into the same memory
        results.append((np.asarray(part).tolist(), np.asarray(view[key]).tolist(), made[1000:-1000].sum()))
    assert results[0] == results[1]


def test_an_empty_array_that_an_expression_fills_gets_no_memory_before() -> None:
    pending = vector(la) * 2.0
    made = la.empty(SIZE)
    with la.record_runs() as runs:
        made[1:] = pending[1:]
        assert not runs.evaluations
        made[:1] = 5.0
        la.evaluate(made)
    assert made[:3].tolist() == [5.0, 2.0, 4.0]
    assert len(runs.evaluations) == 1
