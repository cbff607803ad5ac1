"""Operations on large memory that others can write read it where it lies, at once, and see no later write."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.runtime import recalled
from lazyarray.runtime.along import pending
from lazyarray.runtime.evaluate import BUDGET, SHARED, evaluate_unasked
from lazyarray.runtime.remote import seen

COUNT = 1 << 17


def theirs() -> Any:
    return np.linspace(0.5, 2.0, COUNT)


@pytest.fixture
def others() -> Any:
    # What earlier tests left to be evaluated would be when the tape is full, and be counted here.
    with warnings.catch_warnings(action="ignore"):
        evaluate_unasked(pending(), BUDGET)
    return theirs()


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda np, x: x * 2.0,
    "reflected": lambda np, x: 1.0 - x,
    "unary": lambda np, x: -x,
    "a function": lambda np, x: np.sqrt(x),
    "itself": lambda np, x: np.maximum(x, x),
    "comparison": lambda np, x: x > 1.0,
    "two results": lambda np, x: np.divmod(x, 0.3),
    "a chain": lambda np, x: (x * 2.0 + 1.0) * x - x / 3.0,
    "a sum of it": lambda np, x: (x * 2.0).sum(),
    "rows": lambda np, x: x.reshape(256, -1) * x.reshape(256, -1)[:, :1],
    "transposed": lambda np, x: x.reshape(256, -1).T + 1.0,
    "every second": lambda np, x: x[::2] + 1.0,
    "chosen": lambda np, x: np.where(x > 1.0, x, 0.0),
}
MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "copy": lambda np, x: x.copy(),
    "copied rows": lambda np, x: x.reshape(256, -1).T.copy(),
    "another dtype": lambda np, x: x.astype("f4"),
    "flat": lambda np, x: x.reshape(256, -1).T.flatten(),
    "one after another": lambda np, x: np.concatenate((x, x[:9])),
    "columns": lambda np, x: np.concatenate((x.reshape(256, -1).T, x.reshape(-1, 256)), axis=1),
    "together": lambda np, x: np.stack((x, x), axis=1),
    "again and again": lambda np, x: np.tile(x, 3),
    "each again": lambda np, x: np.repeat(x.reshape(256, -1), 2, axis=0),
    "moved": lambda np, x: np.roll(x, 5),
    "moved columns": lambda np, x: np.roll(x.reshape(256, -1).T, 5, axis=1),
    "under a mask": lambda np, x: x[x > 1.0],
    "compress": lambda np, x: np.compress(x > 1.0, x),
}
PLACES = np.random.default_rng(7).permutation(COUNT)
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda np, x: np.append(x, 1.0),
    "block": lambda np, x: np.block([[x], [x]]),
    "delete": lambda np, x: np.delete(x, 7),
    "insert": lambda np, x: np.insert(x, 7, 1.0),
    "pad": lambda np, x: np.pad(x, 3),
    "resize": lambda np, x: np.resize(x, COUNT + 5),
    "any": lambda np, x: x.reshape(256, -1).any(axis=1),
    "trace": lambda np, x: np.trace(x[: 300 * 300].reshape(300, 300)),
    "slopes": lambda np, x: np.gradient(x),
    "two slopes": lambda np, x: np.gradient(x.reshape(256, -1)),
    "triangle": lambda np, x: np.triu(x[: 300 * 300].reshape(300, 300), 1),
    "mean without NaN": lambda np, x: np.nanmean(x.reshape(256, -1), axis=0),
    "weighed": lambda np, x: np.average(x, weights=x),
    "close": lambda np, x: np.isclose(x, x[::-1]),
    "all close": lambda np, x: np.allclose(x, x),
    "equal": lambda np, x: np.array_equal(x, x),
    "taken": lambda np, x: np.take(x, np.asarray(PLACES)),
    "picked": lambda np, x: x[np.asarray(PLACES)],
    "taken along": lambda np, x: np.take_along_axis(x, np.asarray(PLACES), 0),
    "places by axis": lambda np, x: np.nonzero(x.reshape(256, -1)),
    "not zero": lambda np, x: np.flatnonzero(x),
    "selected": lambda np, x: np.select([x < 1.0, x > 1.5], [x, -x], 0.5),
    "counted": lambda np, x: np.bincount(np.asarray(PLACES), weights=x),
    "summed by letters": lambda np, x: np.einsum("ij,ij->i", x.reshape(-1, 8), x.reshape(-1, 8)),
    "crossed": lambda np, x: np.cross(x[: 3 * 40_000].reshape(-1, 3), x[: 3 * 40_000].reshape(-1, 3)[::-1]),
    "shifted": lambda np, x: np.fft.fftshift(x),
    "repaired": lambda np, x: np.nan_to_num(x),
}


REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda np, x: x.sum(),
    "sum of rows": lambda np, x: np.sum(x.reshape(256, -1), axis=1, keepdims=True),
    "sum of columns": lambda np, x: x.reshape(256, -1).T.sum(axis=1),
    "add.reduce": lambda np, x: np.add.reduce(x),
    "product": lambda np, x: np.prod(x[: COUNT // 2]),
    "largest": lambda np, x: x.max(),
    "mean": lambda np, x: np.mean(x.reshape(-1, 256), axis=0),
    "standard deviation": lambda np, x: x.std(),
    "variance of rows": lambda np, x: np.var(x.reshape(256, -1), axis=1, ddof=1),
    "range": lambda np, x: np.ptp(x),
    "count": lambda np, x: np.count_nonzero(x),
    "where it is largest": lambda np, x: x.reshape(-1, 256).argmax(axis=0),
    "without NaN": lambda np, x: np.nansum(x),
    "length": lambda np, x: np.linalg.norm(x.reshape(256, -1), axis=1),
    "running sum": lambda np, x: np.cumsum(x),
    "running sum of columns": lambda np, x: np.cumsum(x.reshape(256, -1), axis=0),
    "between": lambda np, x: np.clip(x, 0.75, 1.5),
    "rounded": lambda np, x: np.round(x, 2),
    "differences": lambda np, x: np.diff(x),
}


ALL = OPERATIONS | MOVES | FUNCTIONS | REDUCTIONS


@pytest.mark.parametrize("name", ALL)
def test_what_the_owner_writes_later_is_not_seen(name: str, others: Any) -> None:
    ours = la.asarray(others)
    want = ALL[name](np, theirs())
    got = ALL[name](la, ours)
    others[:] = -1.0
    for a, b in zip(want if type(want) is tuple else (want,), got if type(got) is tuple else (got,), strict=True):
        if name == "summed by letters":
            np.testing.assert_allclose(np.asarray(b), a, rtol=1e-15)  # NumPy adds in another order
        else:
            np.testing.assert_array_equal(np.asarray(b), a)
    assert float(ours[5]) == -1.0  # the same memory


FORMS: dict[str, Callable[[Any], Any]] = {
    "theirs": la.asarray,
    "handed out": lambda others: ours_handed_out(others)[0],
    "a view of what is handed out": lambda others: ours_handed_out(others)[0][:],
}
_handed_out: list[Any] = []


def ours_handed_out(values: Any) -> tuple[Any, Any]:
    """An array of our own with these values, and NumPy's view of its memory, which stays alive."""
    ours = la.evaluate(la.array(values))
    _handed_out[:] = [np.asarray(ours)]
    return ours, _handed_out[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_reduced_is_read_once_by_kernels_whenever_it_is_asked_for(name: str, form: str, others: Any) -> None:
    ours = FORMS[form](others)
    want = REDUCTIONS[name](np, others)
    for _ in range(4):  # a recipe is made of the second one
        with la.record_runs() as runs:
            got = REDUCTIONS[name](la, ours)
            assert runs.kernels
        assert not runs.fallbacks
        assert not runs.materialisations
        ran = [(run.name, run.bytes_written, run.site) for run in runs.kernels]
        allowed = want.nbytes + 4096 * 8  # what threads hand each other
        assert runs.bytes_allocated <= allowed, f"evaluated {runs.evaluations}: {ran}"
        np.testing.assert_array_equal(np.asarray(got), want)
    memory = _handed_out[0] if _handed_out else others
    assert not np.shares_memory(np.asarray(got), memory)
    _handed_out.clear()


@pytest.mark.parametrize("rows", [slice(None, None, 2), (slice(None), slice(1, None))])
def test_sums_over_gaps_are_numpys_to_the_bit(rows: Any) -> None:
    others = np.random.default_rng(3).random((400, 500))
    ours = la.asarray(others)
    for _ in range(3):
        assert float(ours[rows].sum()) == others[rows].sum()
        assert float(la.mean(ours[rows])) == others[rows].mean()


def test_rounding_integers_copies_them() -> None:
    numbers = np.arange(COUNT)
    ours = la.asarray(numbers)
    for _ in range(3):
        rounded = np.asarray(la.round(ours))
        assert not np.shares_memory(rounded, numbers)
        np.testing.assert_array_equal(rounded, numbers)


@pytest.mark.parametrize("name", ["sum of rows", "a number", "reflected", "unary", "itself"])
def test_what_lies_in_fortran_order_is_read_so(name: str) -> None:
    others = np.asfortranarray(theirs().reshape(256, -1))
    want = ALL[name](np, others)
    for _ in range(3):
        with la.record_runs() as runs:
            got = ALL[name](la, la.asarray(others))
            assert runs.evaluations == [SHARED]
        assert not runs.materialisations
        assert runs.bytes_allocated <= want.nbytes
        np.testing.assert_array_equal(np.asarray(got), want)
        assert np.asarray(got).strides == want.strides


def test_an_operation_that_comes_again_is_evaluated_as_before(others: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(seen, "any", False)  # no value is on a device
    ours = la.asarray(others)
    with la.config.set(device="cpu"):
        recalled.forget()
        for turn in range(5):
            np.testing.assert_array_equal(np.asarray(ours - turn), others - turn)
            assert sum(len(ways) for ways in recalled.recalled.values()) == (0 if turn < 2 else 1)


def test_one_operation_is_one_kernel_and_no_copy(others: Any) -> None:
    ours = la.asarray(others)
    with la.record_runs() as runs:
        result = ours * 2.0
        assert runs.evaluations == [SHARED]
    assert [kernel.ops for kernel in runs.kernels] == [("multiply",)]
    assert runs.bytes_allocated == others.nbytes
    assert not runs.materialisations
    np.testing.assert_array_equal(np.asarray(result), others * 2.0)


@pytest.mark.parametrize("name", MOVES)
def test_what_moves_values_moves_them_once(name: str, others: Any) -> None:
    ours = la.asarray(others)
    with la.record_runs() as runs:
        result = MOVES[name](la, ours)
        assert SHARED in runs.evaluations
    want = MOVES[name](np, others)
    assert np.asarray(result).strides == want.strides
    masks = 2 * COUNT if want.dtype == bool or want.size < COUNT else 0  # and what is counted in it
    assert want.nbytes <= runs.bytes_allocated <= want.nbytes + masks
    assert not runs.fallbacks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_functions_make_is_recorded_and_evaluated_at_once(name: str, form: str, others: Any) -> None:
    want = FUNCTIONS[name](np, others)
    ours = FORMS[form](others)
    for _ in range(3):
        with la.record_runs() as runs:
            got = FUNCTIONS[name](la, ours)
            assert runs.evaluations
        assert not runs.fallbacks
        with la.record_runs() as runs:
            for a, b in zip(as_results(want), as_results(got), strict=True):
                np.testing.assert_allclose(np.asarray(b), a, rtol=1e-13)
                assert getattr(b, "dtype", None) == getattr(a, "dtype", None)
        assert not runs.kernels  # it was there
    _handed_out.clear()


def as_results(result: Any) -> Any:
    return result if isinstance(result, tuple | list) else (result,)


def test_what_is_the_memory_itself_stays_so(others: Any) -> None:
    ours = la.asarray(others)
    for _ in range(3):
        assert np.shares_memory(np.asarray(la.diff(ours, 0)), others)  # NumPy returns what it was given
        assert np.shares_memory(np.asarray(la.einsum("i->i", ours)), others)
        assert not np.shares_memory(np.asarray(la.pad(ours, 0)), others)
        assert not np.shares_memory(np.asarray(la.where(True, ours, ours)), others)


def test_a_vector_beside_rows_that_lie_in_fortran_order_is_a_row() -> None:
    rows, vector = np.asfortranarray(theirs().reshape(2, -1)), theirs()[: COUNT // 2]
    result = la.asarray(rows) + la.asarray(vector)
    np.testing.assert_array_equal(np.asarray(result), rows + vector)
    assert np.asarray(result).flags.f_contiguous


def test_the_same_for_numpys_arrays_beside_ours_and_for_what_was_handed_out(others: Any) -> None:
    ours = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    with la.record_runs() as runs:
        result = ours + others
    assert runs.bytes_allocated == others.nbytes
    handed_out = np.asarray(ours)
    with la.record_runs() as runs:
        doubled = ours * 2.0
    assert runs.bytes_allocated == others.nbytes
    want = handed_out + others, handed_out * 2.0
    handed_out[:] = others[:] = 3.0
    np.testing.assert_array_equal(np.asarray(result), want[0])
    np.testing.assert_array_equal(np.asarray(doubled), want[1])


MATRICES: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda np, m: m * 2.0,
    "product": lambda np, m: m @ np.ones((m.shape[1], 8)),
    "gram": lambda np, m: m.T @ m,
    "dot": lambda np, m: np.dot(m, m.T),
    "a vector": lambda np, m: m @ np.arange(float(m.shape[1])),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_read_where_they_lie(name: str, order: Any) -> None:
    others = np.asarray(theirs().reshape(512, 256), order=order)
    copy = others.copy(order="K")
    ours = la.asarray(others)
    with la.record_runs() as runs:
        got = MATRICES[name](la, ours)
        short = name in ("a vector", "product")
        assert runs.evaluations == ([] if short else [SHARED])  # short products run in NumPy
    others[:] = -1.0
    want = MATRICES[name](np, copy)
    assert np.asarray(got).strides == want.strides
    np.testing.assert_array_equal(np.asarray(got), want)


def test_what_is_pending_is_part_of_it(others: Any) -> None:
    ours = la.evaluate(la.linspace(0.0, 1.0, COUNT))
    with la.record_runs() as runs:
        result = (ours * 3.0 + 1.0) * la.asarray(others)
    assert [kernel.ops for kernel in runs.kernels] == [("multiply", "add", "multiply")]
    np.testing.assert_array_equal(np.asarray(result), (np.linspace(0.0, 1.0, COUNT) * 3.0 + 1.0) * others)


def test_memory_of_our_own_is_recorded() -> None:
    ours = la.asarray(theirs())  # nobody else refers to it: it is taken over
    with la.record_runs() as runs:
        later = ours * 2.0 + 1.0
        assert not runs.evaluations
    np.testing.assert_array_equal(np.asarray(later), theirs() * 2.0 + 1.0)


def test_warnings_are_numpys_at_the_line_of_the_operation(others: Any) -> None:
    others[7] = 0.0
    ours = la.asarray(others)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as told:
        result = 1.0 / ours
    assert [warning.filename for warning in told] == [__file__]
    assert np.isinf(np.asarray(result)[7])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        1.0 / ours
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        (1.0 / ours).evaluate()


def test_strict_sees_no_evaluation(others: Any) -> None:
    ours = la.asarray(others)
    with la.strict():
        later = ours * 2.0
    np.testing.assert_array_equal(np.asarray(later), others * 2.0)


def test_jit_replays_with_such_an_argument(others: Any) -> None:
    @la.jit
    def twice(x: Any) -> Any:
        return x * 2.0 + 1.0

    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(twice(la.asarray(others))), others * 2.0 + 1.0)
    assert twice.misses[0].endswith("recorded")
    assert len(twice.misses) == 1


def in_part(np: Any, x: Any, y: Any) -> None:
    x[1:-3] *= y[4:]


def where_less(np: Any, x: Any, y: Any) -> None:
    np.multiply(x, 3.0, out=x, where=y < 0.5)


def chosen(np: Any, x: Any, y: Any) -> None:
    x[y < 0.5] = 7.0


def chosen_values(np: Any, x: Any, y: Any) -> None:
    x[y < 0.5] = y[y >= 0.5][: int((y < 0.5).sum())]


def chosen_of_itself(np: Any, x: Any, y: Any) -> None:
    x[x > 1.0] = x[::-1][x > 1.0]


def chosen_reversed(np: Any, x: Any, y: Any) -> None:
    np.copyto(x[1:], x[:-1], where=y[1:] < 0.5)


def places(np: Any, x: Any, y: Any) -> None:
    x[np.asarray(PLACES)] = y


def places_of_itself(np: Any, x: Any, y: Any) -> None:
    x[np.asarray(PLACES)] = x


def masked(function: str) -> Callable[[Any, Any, Any], None]:
    return lambda np, x, y: getattr(np, function)(x, y < 0.5, -y)


def copied_under_a_mask(np: Any, x: Any, y: Any) -> None:
    np.copyto(x.reshape(256, -1), y[:512], where=(y < 0.5).reshape(256, -1))


def two_under_a_mask(np: Any, x: Any, y: Any) -> None:
    np.multiply(x, y, out=x, where=y < 0.5)
    np.add(x[1:], y[1:], out=x[:-1], where=y[1:] > 0.7)


def into(function: str) -> Callable[[Any, Any, Any], None]:
    return lambda np, x, y: getattr(np, function)(x, y, out=x)


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a number": lambda np, x, y: x.__iadd__(1e-9),
    "an array": lambda np, x, y: x.__imul__(y),
    "over itself": lambda np, x, y: x[1:].__iadd__(x[:-1]),
    "a part": in_part,
    "a mask": where_less,
    "out": into("subtract"),
    "a power": into("power"),
    "an angle": into("arctan2"),
    "a quotient": into("true_divide"),
    "chosen": chosen,
    "chosen values": chosen_values,
    "chosen of itself": chosen_of_itself,
    "chosen reversed": chosen_reversed,
    "places": places,
    "places of itself": places_of_itself,
    "putmask": masked("putmask"),
    "place": masked("place"),
    "copied under a mask": copied_under_a_mask,
    "two under a mask": two_under_a_mask,
}


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_over_is_seen_by_the_owner(name: str, pending: bool, others: Any) -> None:
    want, other = theirs(), np.linspace(0.1, 0.9, COUNT)
    WRITES[name](np, want, other)
    ours, mine = la.asarray(others), la.linspace(0.1, 0.9, COUNT)
    if not pending:
        la.evaluate(mine)
    before = ours * 2.0
    WRITES[name](la, ours, mine)
    transcendental = name in ("a power", "an angle")
    np.testing.assert_allclose(others, want, rtol=1e-15 if transcendental else 0.0, atol=0.0)
    np.testing.assert_array_equal(np.asarray(ours), others)
    np.testing.assert_array_equal(np.asarray(before), theirs() * 2.0)


def test_values_that_are_there_are_written_over_in_one_pass(others: Any) -> None:
    ours, mine = la.asarray(others), la.evaluate(la.linspace(0.1, 0.9, COUNT))
    before = la.counters()
    ours *= mine
    ours += 1.0
    after = la.counters()
    assert after["fallbacks"] - before["fallbacks"] == 2
    assert after["bytes_allocated"] == before["bytes_allocated"]
    with la.record_runs() as runs:
        la.evaluate(mine + 1.0)  # still nobody else's, and recorded
    assert SHARED not in runs.evaluations
    np.testing.assert_array_equal(others, theirs() * np.linspace(0.1, 0.9, COUNT) + 1.0)


UNDER_MASKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "chosen": lambda np, x, m: x.__setitem__(m, 7.0),
    "putmask": lambda np, x, m: np.putmask(x, m, 7.0),
    "copyto": lambda np, x, m: np.copyto(x, 7.0, where=m),
    "a ufunc": lambda np, x, m: np.multiply(x, 2.0, out=x, where=m),
}


@pytest.mark.parametrize("form", ["theirs", "handed out"])
@pytest.mark.parametrize("name", UNDER_MASKS)
def test_what_is_written_under_a_mask_is_written_where_it_lies(name: str, form: str, others: Any) -> None:
    mask = np.random.default_rng(11).random(COUNT) < 0.5
    want = theirs()
    ours = FORMS[form](others)
    for _ in range(3):
        UNDER_MASKS[name](np, want, mask)
        with la.record_runs() as runs:
            UNDER_MASKS[name](la, ours, la.asarray(mask))
        assert not runs.fallbacks
        assert runs.kernels
        assert runs.bytes_allocated <= want.nbytes + 4096  # what is read and written over is copied
        np.testing.assert_array_equal(_handed_out[0] if form == "handed out" else others, want)
    _handed_out.clear()


def test_a_write_that_is_refused_changes_nothing(others: Any) -> None:
    ours, mask = la.asarray(others), la.asarray(theirs() > 1.0)
    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment cannot assign 3 input values"):
        ours[mask] = np.ones(3)
    with pytest.raises(IndexError, match="out of bounds"):
        ours[la.asarray(PLACES + 1)] = 0.0
    with pytest.raises(TypeError, match="Cannot cast"):
        la.copyto(ours, 1j * ours, where=mask)
    np.testing.assert_array_equal(others, theirs())
    others.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        la.asarray(others)[mask] = 1.0


def test_what_is_repaired_in_place_is_the_owners(others: Any) -> None:
    others[7] = np.nan
    ours = la.asarray(others)
    assert la.nan_to_num(ours, False) is ours
    assert others[7] == 0.0


@pytest.mark.parametrize("convert", ["ascontiguousarray", "asfortranarray"])
def test_what_lies_in_another_order_is_copied_by_kernels(convert: str) -> None:
    others = theirs().reshape(256, -1)
    shown = others.T if convert == "ascontiguousarray" else others
    want = getattr(np, convert)(shown)
    ours = la.asarray(shown)
    with la.record_runs() as runs:
        got = getattr(la, convert)(ours)
        assert runs.kernels
    assert not runs.fallbacks
    others[:] = -1.0
    np.testing.assert_array_equal(np.asarray(got), want)
    assert np.asarray(got).strides == want.strides
