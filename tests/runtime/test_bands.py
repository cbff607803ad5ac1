"""Kernels that run in bands of rows give NumPy's values, warnings and errors, on any number of threads."""

from __future__ import annotations

import contextlib
import gc
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime import banded, execute, recalled, running
from lazyarray.runtime.backend import current
from lazyarray.runtime.remote import seen
from lazyarray.schedule import bands

threads = pytest.importorskip("lazyarray_llvm.threads")

Program = Callable[[Any, list[Any]], list[Any]]
SHAPE = (60, 7)


@pytest.fixture(autouse=True)
def small_bands(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bands of one row each, in whatever plan has two kernels."""
    monkeypatch.setattr(seen, "any", False)
    with np.config.set(eager_below=0, device="cpu", num_threads=2):
        if not hasattr(current(), "banded"):
            pytest.skip("this backend has no bands")
        for name, value in {
            "WORTH_MOVED": 0,
            "WORTH_TOUCHED": 0,
            "SAVED": 1 << 60,
            "ROW_BYTES": 1,
            "TILE_BYTES": 1,
            "SMALL": 16,
            "GAPS": 1,
        }.items():
            monkeypatch.setattr(bands, name, value)
        forget()
        yield
    forget()


def forget() -> None:
    """All plans are made anew."""
    running.plans.clear()
    running.exact_plans.clear()
    recalled.forget()


def data(count: int = 3, shape: tuple[int, ...] = SHAPE) -> list[Any]:
    rng = numpy.random.default_rng(7)
    return [rng.standard_normal(shape) for _ in range(count)]


def assert_equal(found: list[Any], wanted: list[Any]) -> None:
    """All arrays have NumPy's bits."""
    for one, other in zip(found, wanted, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(one), other)


def check(program: Program, arrays: list[Any] | None = None) -> int:
    """How many kernels ran in bands; what the program returns has NumPy's bits."""
    given = data() if arrays is None else arrays
    wanted = program(numpy, [array.copy() for array in given])
    before = np.counters()["in_bands"]
    found = program(np, [np.evaluate(np.array(array)) for array in given])
    np.evaluate(*found)
    assert_equal(found, wanted)
    return int(np.counters()["in_bands"] - before)


def stencil(np: Any, arrays: list[Any]) -> list[Any]:
    a, b, _ = arrays
    for _ in range(4):
        b[1:-1, 1:-1] = a[2:, 1:-1] + a[:-2, 1:-1] - a[1:-1, 2:] * a[1:-1, :-2]
        a[1:-1, 1:-1] = 0.25 * b[2:, 1:-1] + b[:-2, 1:-1] - b[1:-1, 2:]
    return [a, b]


def fields(np: Any, arrays: list[Any]) -> list[Any]:
    x, y, z = arrays
    for step in range(4):
        y[0, :] = float(step)
        y[1:, :] -= 0.5 * (z[1:, :] - z[:-1, :])
        x[:, 1:] -= 0.5 * (z[:, 1:] - z[:, :-1])
        z[:-1, :-1] -= 0.75 * (x[:-1, 1:] - x[:-1, :-1] + y[1:, :-1] - y[:-1, :-1])
    return [x, y, z]


def columns(np: Any, arrays: list[Any]) -> list[Any]:
    x, y, z = arrays
    for k in range(1, x.shape[1]):
        y[:, k] = x[:, k] * 0.5 + y[:, k - 1] * z[:, k]
        z[:, k - 1] = y[:, k] - z[:, k]
    return [y, z]


def copies(np: Any, arrays: list[Any]) -> list[Any]:
    u, v, _ = arrays
    for _ in range(5):
        change = u[1:-1] * v[1:-1] * v[1:-1]
        around = u[2:] + u[:-2] - 2 * u[1:-1]
        u[1:-1] += 0.25 * around - change
        v[1:-1] += 0.125 * (v[2:] + v[:-2]) + change
    return [u, v]


def backwards(np: Any, arrays: list[Any]) -> list[Any]:
    x, y, _ = arrays
    for _ in range(3):
        y[:-3] = x[3:] * 2.0
        x[5:] = y[:-5] - x[5:]
        y[::2] = x[::2] * 3.0
    return [x, y]


def periodic(np: Any, arrays: list[Any]) -> list[Any]:
    a, b, c = arrays
    for _ in range(3):
        b = a * 0.5 - b
        c = a + b
        a = np.roll(b, 1, axis=0) + np.roll(b, -1, axis=0) - np.roll(np.roll(c, 1, axis=1), 2, axis=0)
    return [a, b, c]


@pytest.mark.parametrize("program", [stencil, fields, columns, copies, backwards, periodic])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_values_have_numpys_bits_on_any_number_of_threads(program: Program, threads: int) -> None:
    with np.config.set(num_threads=threads):
        used = check(program)
        again = check(program)
    assert used == again
    if threads < 3 and program is not backwards:
        assert used > 3


def test_the_number_of_threads_may_change_between_runs_of_a_plan() -> None:
    for threads in (2, 1, 4, 2):
        with np.config.set(num_threads=threads):
            check(stencil)
            check(fields)


@pytest.mark.parametrize("shape", [(301,), (40, 3, 5), (33, 1), (7, 200), (2, 3, 4, 5)])
def test_rows_are_indices_of_the_first_axis_or_several_of_them(shape: tuple[int, ...], monkeypatch: Any) -> None:
    def program(np: Any, arrays: list[Any]) -> list[Any]:
        a, b, _ = arrays
        for _ in range(3):
            b[1:-1] = a[2:] - a[:-2] * 0.5
            a[1:-1] += b[2:] - b[:-2]
        return [a, b]

    for row_bytes in (1, 64, 1024):
        monkeypatch.setattr(bands, "ROW_BYTES", row_bytes)
        forget()
        check(program, data(3, shape))


@pytest.mark.parametrize("seed", range(60))
def test_updates_of_random_parts(seed: int) -> None:
    def program(np: Any, arrays: list[Any]) -> list[Any]:
        rng = numpy.random.default_rng(seed)
        arrays = list(arrays)
        for _ in range(12):
            rows, width = int(rng.integers(1, SHAPE[0] + 1)), int(rng.integers(1, SHAPE[1] + 1))

            def part(number: int, rows: int = rows, width: int = width) -> Any:
                row, column = int(rng.integers(0, SHAPE[0] - rows + 1)), int(rng.integers(0, SHAPE[1] - width + 1))
                return slice(row, row + rows), slice(column, column + width)

            to, one, two = (int(n) for n in rng.integers(0, 3, 3))
            value = arrays[one][part(one)] * 0.5 - arrays[two][part(two)]
            kind = int(rng.integers(0, 4))
            if kind == 0:
                arrays[to][part(to)] += value
            elif kind == 1:
                arrays[to] = arrays[to] * 0.5 + arrays[one]
            elif kind == 2:
                arrays[to][part(to)] = arrays[one][part(one)][::-1]
            else:
                arrays[to][part(to)] = value
        return arrays

    check(program)


def test_random_programs_do_run_in_bands() -> None:
    before = np.counters()["in_bands"]
    for seed in range(10):
        test_updates_of_random_parts(seed)
    assert np.counters()["in_bands"] - before > 20


def told(program: Program, module: Any, arrays: list[Any]) -> list[tuple[str, int]]:
    """The warnings of a program with the lines that they name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = program(module, arrays)
        if module is np:
            np.evaluate(*found)
    return sorted((str(w.message), w.lineno) for w in caught)


def overflowing(np: Any, arrays: list[Any]) -> list[Any]:
    a, b, c = arrays
    c[1:-1] = a[2:] * b[:-2]
    b[1:-1] = c[1:-1] / (a[1:-1] - a[1:-1])
    c[2:] = b[2:] * 1e300
    a[1:] *= 1e200
    a[1:] *= 1e200
    return [a, b, c]


def test_what_kernels_raise_in_bands_is_told_once_for_its_line() -> None:
    given = data()
    wanted = told(overflowing, numpy, [array.copy() for array in given])
    before = np.counters()["in_bands"]
    assert told(overflowing, np, [np.evaluate(np.array(array)) for array in given]) == wanted
    assert told(overflowing, np, [np.evaluate(np.array(array)) for array in given]) == wanted
    assert np.counters()["in_bands"] > before
    assert any("overflow" in text for text, _ in wanted)
    assert any("divide by zero" in text for text, _ in wanted)


def test_what_is_raised_is_told_where_the_cpu_cannot_say_that_anything_was(monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    wanted = told(overflowing, numpy, [array.copy() for array in given])
    monkeypatch.setattr(type(current().compile(any_kernel())), "blind", True)
    assert told(overflowing, np, [np.evaluate(np.array(array)) for array in given]) == wanted


def any_kernel() -> Any:
    """A kernel of some plan."""
    np.evaluate(np.evaluate(np.array(data(1)[0])) * 2.0)
    return next(kernel for plan in running.plans.values() for kernel in plan.kernels)


def test_nothing_is_told_of_what_does_not_raise() -> None:
    assert told(stencil, np, [np.evaluate(np.array(array)) for array in data()]) == []


def forms_asked_for(monkeypatch: pytest.MonkeyPatch, watched_fail: bool = False) -> list[str]:
    """The forms of kernels that are compiled or found from here on. Watched ones may not compile."""
    program = type(current().compile(any_kernel()))
    forms: list[str] = []
    addresses = program.addresses

    def asked(self: Any, form: str) -> Any:
        forms.append(form)
        if watched_fail and "watched" in form:
            raise OSError("no room for code")
        return addresses(self, form)

    monkeypatch.setattr(program, "addresses", asked)
    return forms


def test_kernels_that_raise_nothing_are_not_compiled_in_their_watched_form(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [np.evaluate(np.array(array)) for array in data()]
    forms = forms_asked_for(monkeypatch)
    np.evaluate(*stencil(np, arrays))
    assert set(forms) == {"whole"}


def late(np: Any, arrays: list[Any]) -> list[Any]:
    """Overflows in the last rows of its second kernel, and in what is computed from these."""
    a, b, c = arrays
    a[-3:] = 1e308
    c[1:-1] = a[2:] + b[:-2]
    b[2:-2] = c[3:-1] * 10.0
    c[4:-4] = b[5:-3] * 2.0 - b[2:-6]
    a[:-8] = b[7:-1] - c[5:-3]
    return [a, b, c]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_what_only_some_rows_raise_is_told_and_compiled_then(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    wanted = told(late, numpy, [array.copy() for array in given])
    assert wanted
    forms = forms_asked_for(monkeypatch)
    with np.config.set(num_threads=threads):
        for _ in range(3):
            assert told(late, np, [np.evaluate(np.array(array)) for array in given]) == wanted
        with numpy.errstate(all="ignore"):
            assert check(late, given) > 0
    assert "whole" in forms
    assert "whole watched" in forms


def test_a_watched_form_that_cannot_be_compiled_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    with numpy.errstate(all="ignore"):
        wanted = late(numpy, [array.copy() for array in given])
    found = late(np, [np.evaluate(np.array(array)) for array in given])
    with monkeypatch.context() as patch:
        forms_asked_for(patch, watched_fail=True)
        with pytest.raises(OSError, match="no room for code"):
            np.evaluate(*found)
    gc.collect()  # frames of the traceback, which hold what raised: it would be told later
    assert_equal(found, wanted)


def test_an_error_before_the_kernels_run_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    wanted = copies(numpy, [array.copy() for array in given])
    for number in range(4):
        arrays = [np.evaluate(np.array(array)) for array in given]
        found = copies(np, arrays)
        reserve, calls = execute.reserve, iter(range(100))

        def fail(*args: Any, number: int = number, reserve: Any = reserve, calls: Any = calls) -> Any:
            if next(calls) == number:
                raise MemoryError("no room")
            return reserve(*args)

        with monkeypatch.context() as patch:
            patch.setattr(execute, "reserve", fail)
            with contextlib.suppress(MemoryError):
                np.evaluate(*found)
        assert_equal(found, wanted)


def test_an_interrupt_after_the_kernels_ran_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    wanted = fields(numpy, [array.copy() for array in given])
    found = fields(np, [np.evaluate(np.array(array)) for array in given])

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(banded, "tell_ledger", interrupted)
        with pytest.raises(KeyboardInterrupt):
            np.evaluate(*found)
    assert_equal(found, wanted)


@pytest.mark.parametrize("number", range(4))
def test_an_interrupt_between_walks_finds_all_of_them_run_or_none(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    wanted = fields(numpy, [array.copy() for array in given])
    found = fields(np, [np.evaluate(np.array(array)) for array in given])
    pool = type(threads.get_pool())
    run, calls = pool.run, itertools.count()

    def interrupted(*args: Any) -> None:
        """Interrupted before the first launch, after it, before the second, after that."""
        call = next(calls)
        if 2 * call == number:
            raise KeyboardInterrupt
        run(*args)
        if 2 * call + 1 == number:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pool, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            np.evaluate(*found)
    assert_equal(found, wanted)


def test_numpys_own_loops_do_not_run_in_bands() -> None:
    def program(np: Any, arrays: list[Any]) -> list[Any]:
        a, b, _ = arrays
        b[1:] = np.exp(a[:-1])
        a[1:] = np.sin(b[:-1])
        return [a, b]

    with np.config.set(numerics="numpy"):
        assert check(program) == 0


def test_the_record_says_which_kernels_ran_together() -> None:
    arrays = [np.evaluate(np.array(array)) for array in data()]
    with np.record_runs() as runs:
        np.evaluate(*stencil(np, arrays))
    assert [kernel.together for kernel in runs.kernels] == [len(runs.kernels)] * len(runs.kernels)
    assert all(kernel.seconds > 0 for kernel in runs.kernels)
    starts = [kernel.start for kernel in runs.kernels]
    assert starts == sorted(starts)


def test_explain_says_which_kernels_run_together() -> None:
    arrays = [np.evaluate(np.array(array)) for array in data()]
    told = np.explain(lambda: stencil(np, arrays))
    assert {kernel.together for kernel in told.kernels} == {len(told.kernels)}
    assert f"in bands of rows with {len(told.kernels) - 1} other kernels" in str(told)


def test_memory_of_what_is_not_needed_any_more_is_used_again() -> None:
    def program(np: Any, arrays: list[Any]) -> list[Any]:
        (a,) = arrays
        for _ in range(10):
            b = np.empty(a.shape)
            b[0] = a[0]
            b[-1] = a[-1]
            b[1:-1] = a[2:] - a[:-2]
            a = b
        return [a]

    check(program, data(1))
    before = np.counters()["allocations"]
    check(program, data(1))
    assert np.counters()["allocations"] - before <= 5
