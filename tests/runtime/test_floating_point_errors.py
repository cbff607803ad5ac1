"""Floating-point errors are told as NumPy tells them: same text, at the user's line, under the state of that line."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
import lazyarray.errors

N = 5000  # enough elements to be recorded


def told(program: Callable[[Any], Any], module: Any) -> list[tuple[str, int]]:
    """The RuntimeWarnings of a program, with the line below its `def` that each names, 0 for a line elsewhere."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program(module)
    code = program.__code__
    return [(str(w.message), w.lineno - code.co_firstlineno if w.filename == code.co_filename else 0) for w in caught]


def same(program: Callable[[Any], Any]) -> list[tuple[str, int]]:
    """What lazyarray tells, which must be what NumPy tells; NumPy names lines of its own inside sum() and the like."""
    ours, theirs = sorted(told(program, np)), sorted(told(program, numpy))
    assert [message for message, _ in ours] == [message for message, _ in theirs]
    for message, line in theirs:
        assert not line or (message, line) in ours
    assert all(line for _, line in ours)
    return ours


def test_each_line_of_a_fused_kernel_is_named() -> None:
    def program(np: Any) -> None:
        x = np.linspace(-1, 1, N + 1)
        a = 1 / x
        b = np.log(x)
        c = np.sqrt(x) + np.exp(x * 1000)
        (a + b * c).sum().item()

    lines = {message: line for message, line in same(program)}
    assert lines["divide by zero encountered in divide"] == 2
    assert lines["divide by zero encountered in log"] == lines["invalid value encountered in log"] == 3
    assert lines["invalid value encountered in sqrt"] == lines["overflow encountered in exp"] == 4


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_overflow_of_each_dtype(dtype: str) -> None:
    def program(np: Any) -> None:
        x = np.full(N, numpy.finfo(dtype).max, dtype)
        bool((x + x)[0] == 0)
        bool((x * x.real)[0] == 0)

    same(program)


def test_an_operation_obeys_the_state_it_is_written_under() -> None:
    def program(np: Any) -> Any:
        x = np.zeros(N)
        with np.errstate(all="ignore"):
            quiet = 1 / x
        loud = 2 / x
        with np.errstate(all="ignore"):
            return float(quiet[0]), float(loud[0])

    assert same(program) == [("divide by zero encountered in divide", 4)]


def test_raise_is_obeyed_at_the_operation() -> None:
    x = np.zeros(N)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        1 / x
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
        np.full(N, 1e308).sum()


def test_call_is_obeyed_at_the_operation() -> None:
    calls: list[tuple[str, int]] = []
    with np.errstate(all="call", call=lambda kind, flag: calls.append((kind, flag))):
        np.zeros(N) / np.zeros(N)
    assert calls == [("invalid value", 8)]


def test_underflow_is_told_where_it_is_asked_for() -> None:
    def program(np: Any) -> None:
        with np.errstate(under="warn"):
            np.full(N, 1e-300) * 1e-300

    assert same(program) == [("underflow encountered in multiply", 2)]


def test_what_is_obeyed_at_once_is_not_computed_along_with_its_arguments() -> None:
    with np.errstate(all="warn"):
        assert float(np.sqrt((np.ones(9000, "i8") + 3).max())) == 2.0


def test_what_a_mask_leaves_out_raises_nothing() -> None:
    def program(np: Any) -> Any:
        x = np.linspace(-1, 1, N + 1)
        out = np.zeros(N + 1)
        np.divide(1.0, x, out=out, where=x != 0)
        np.log(x, out=out, where=x > 0)
        np.arctanh(x, out=out, where=abs(x) < 1)
        return out.sum().item()

    assert same(program) == []


def test_what_is_not_selected_raises_nothing() -> None:
    def program(np: Any) -> Any:
        x = np.linspace(-1, 1, N + 1)
        chosen = x[x > 0.25]
        x[x < 0] = np.sqrt(-x[x < 0])
        return (np.log(chosen) / chosen + 1 / np.sqrt(chosen)).sum().item() + x.sum().item()

    assert same(program) == []


def test_what_is_selected_raises() -> None:
    def program(np: Any) -> Any:
        x = np.linspace(-1, 1, N + 1)
        return np.log(x[x <= 0]).sum().item()

    assert len(same(program)) == 2


def test_an_operation_in_place_raises() -> None:
    def program(np: Any) -> Any:
        x = np.ones(N)
        x.sum().item()
        x /= np.zeros(N)
        x[1:-1] = x[2:] - x[:-2]
        return x.sum().item()

    assert [message for message, _ in same(program)] == [
        "divide by zero encountered in divide",
        "invalid value encountered in subtract",
    ]


def test_reductions_scans_and_casts_raise() -> None:
    def program(np: Any) -> Any:
        x = np.full((N, 2), 1e308)
        bool(x.sum() == 0)
        bool(x.sum(axis=0)[0] == 0)
        bool(x.prod(axis=1)[0] == 0)
        bool(np.cumsum(x)[5] == 0)
        bool(x.astype("f4")[0, 0] == 0)
        bool((x * numpy.nan).astype("i4")[0, 0] == 0)

    assert len(same(program)) == 6


def test_numbers_that_do_not_fit_raise() -> None:
    def program(np: Any) -> Any:
        x = np.ones(N, "f4")
        bool((x * 1e300)[0] == 0)
        bool((1e39 - x)[0] == 0)
        x += 1e50
        bool((np.ones(N, "f2") + 70000)[0] == 0)
        return (x * numpy.inf).sum().item(), (x * 3e38)[0].item()

    assert len([message for message, _ in same(program) if message == "overflow encountered in cast"]) == 4


def test_the_casts_that_a_dtype_asks_for_raise() -> None:
    def program(np: Any) -> Any:
        x = np.full(N, numpy.nan)
        return np.add(x, x, dtype=int, casting="unsafe")[0].item()

    assert {message for message, _ in same(program)} == {"invalid value encountered in cast"}


def test_integer_division_by_zero() -> None:
    def program(np: Any) -> Any:
        x, zero = np.arange(N), np.zeros(N, int)
        bool((x // zero)[1] == 0)
        bool((x % zero)[1] == 0)
        bool((np.full(N, -128, "i1") // -1)[1] == 0)

    assert len(same(program)) == 3


def test_two_lines_that_say_the_same_are_both_told() -> None:
    def program(np: Any) -> Any:
        x = np.zeros(N)
        first = 1 / x
        second = 1 / x
        return (first * 2 + second).sum().item()

    assert [line for _, line in same(program)] == [2, 3]


def test_divmod_is_one_operation() -> None:
    def program(np: Any) -> Any:
        x, zero = np.arange(N), np.zeros(N, int)
        quotient, rest = np.divmod(x, zero)
        bool(quotient[1] == rest[1])
        quotient, rest = divmod(x + 1.0, zero)
        bool(quotient[1] == rest[1])

    assert [message for message, _ in same(program)] == [
        "divide by zero encountered in divmod",
        "divide by zero encountered in divmod",
        "invalid value encountered in divmod",
    ]


def test_it_is_told_once_however_often_it_is_computed() -> None:
    def program(np: Any) -> Any:
        y = 1 / np.zeros(N)
        return y[0].item(), y.sum().item(), (y + 1).max().item(), y.tolist()

    assert same(program) == [("divide by zero encountered in divide", 1)]


def test_catch_warnings_holds_for_what_is_written_in_it() -> None:
    x = np.zeros(N)
    with warnings.catch_warnings(record=True) as outer:
        warnings.simplefilter("always")
        before = 1 / x
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inside = 2 / x
            before.sum().item()
        inside.sum().item()
    assert len(outer) == 1


def test_a_block_ends_even_if_evaluating_raises() -> None:
    def program() -> None:
        with np.strict(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept.append(1 / np.zeros(N))

    filters = warnings.filters
    kept: list[Any] = []
    with pytest.raises(lazyarray.errors.StrictError):
        program()
    assert warnings.filters is filters


def test_two_lines_both_warn() -> None:
    def program(np: Any) -> None:
        x = np.zeros(3)
        1 / x
        1 / x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        program(np)
    assert [w.lineno - program.__code__.co_firstlineno for w in caught] == [2, 3]


def test_nan_raises_nothing() -> None:
    def program(np: Any) -> Any:
        x = np.full(N, numpy.nan)
        x[::3] = numpy.inf
        y = np.where(x > 1, x, 0) + np.maximum(x, 2) - np.sqrt(x)
        return (x < y).any(), np.exp(x).sum().item(), x.min().item(), (x == x).sum().item(), x.sum().item()

    same(program)


def test_a_program_without_a_file_is_warned_too() -> None:
    program = "import lazyarray as np\nx = np.zeros(100_000)\nprint((x / x)[0])"
    ran = subprocess.run([sys.executable, "-W", "default", "-c", program], capture_output=True, text=True)
    assert ran.stdout == "nan\n"
    assert "<string>:3: RuntimeWarning: invalid value encountered in divide" in ran.stderr
