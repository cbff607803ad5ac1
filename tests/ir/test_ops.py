"""Owns the tests of the op table: rows, dtype rules and errors are NumPy's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lazyarray.ir.ops import COMPILED, OPS, REDUCTIONS, SPLIT, code, is_compiled, loop_dtypes

DTYPES = [np.dtype(c) for c in sorted(COMPILED)]
UFUNCS = {name: op for name, op in OPS.items() if op.ufunc is not None}


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def by_numpy(op: Any, given: tuple[Any, ...]) -> Any:
    """The dtype of NumPy's result for empty arrays and Python scalars, or its error."""
    samples = {int: 1, float: 1.0, complex: 1j}
    result = op.ufunc(*[samples[t] if isinstance(t, type) else np.empty(0, t) for t in given])
    return result[op.output].dtype if op.ufunc.nout > 1 else result.dtype


@pytest.mark.parametrize("name", UFUNCS)
def test_result_dtypes_and_errors_are_those_of_numpy(name: str) -> None:
    op = OPS[name]
    kinds: list[Any] = [*DTYPES, int, float, complex]
    given = itertools.product(*[kinds] * op.nin)
    for dtypes in given:
        if all(isinstance(t, type) for t in dtypes):
            continue
        expected = outcome(lambda dtypes=dtypes: by_numpy(op, dtypes))
        got = outcome(lambda dtypes=dtypes: loop_dtypes(name, dtypes)[-1])
        assert got == expected, (name, dtypes)


def test_loops_have_one_dtype_per_argument_and_one_for_the_result() -> None:
    f4, i4 = np.dtype("f4"), np.dtype("i4")
    assert loop_dtypes("add", (f4, i4)) == (np.dtype("f8"),) * 3
    assert loop_dtypes("add", (f4, float)) == (f4,) * 3
    assert loop_dtypes("frexp_exponent", (f4,)) == (f4, i4)
    assert loop_dtypes("frexp_mantissa", (f4,)) == (f4, f4)
    assert loop_dtypes("ldexp", (f4, i4)) == (f4, i4, f4)
    assert [code(t) for t in loop_dtypes("less", (np.dtype("i8"), np.dtype("u8")))] == ["i8", "u8", "b1"]


def test_functions_that_are_not_ufuncs_have_rules_too() -> None:
    flag, f4, c8 = np.dtype(bool), np.dtype("f4"), np.dtype("c8")
    assert loop_dtypes("where", (flag, f4, float)) == (flag, f4, f4, f4)
    assert loop_dtypes("real", (c8,)) == (c8, f4)
    assert loop_dtypes("imag", (f4,)) == (f4, f4)
    assert loop_dtypes("complex", (f4, f4)) == (f4, f4, c8)


def test_answers_are_remembered() -> None:
    given = (np.dtype("f8"), int)
    assert loop_dtypes("multiply", given) is loop_dtypes(OPS["multiply"], given)


def test_every_numpy_ufunc_on_numbers_is_in_the_table() -> None:
    named = {getattr(np, name).__name__ for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
    elsewhere = {"matmul", "vecdot", "matvec", "vecmat", "isnat"}
    assert named - elsewhere <= set(OPS) | set(SPLIT)


def test_split_ufuncs_name_the_output_they_are() -> None:
    for name in ("modf", "frexp"):
        parts = [OPS[part] for part in SPLIT[name]]
        assert [op.output for op in parts] == [0, 1]
        assert all(op.ufunc is getattr(np, name) for op in parts)


@pytest.mark.parametrize("name", [op.name for op in UFUNCS.values() if op.commutative])
def test_commutative_means_in_every_bit(name: str) -> None:
    op = OPS[name]
    assert op.ufunc is not None
    numbers = [0, 1, 2, 3, 5, 7, 100]
    for dtype in ("i4", "f8") if "d" in "".join(op.ufunc.types) else ("i4",):
        values = np.array(numbers, dtype)
        if dtype == "f8":
            if name in ("gcd", "lcm") or name.startswith("bitwise"):
                continue
            values = np.concatenate([values / 3, -values / 7, [np.inf, -np.inf]])
        if dtype == "i4" and name in ("hypot", "logaddexp", "logaddexp2"):
            continue
        first, second = np.repeat(values, len(values)), np.tile(values, len(values))
        with np.errstate(all="ignore"):
            assert op.ufunc(first, second).tobytes() == op.ufunc(second, first).tobytes()


def test_reductions_have_the_identities_of_numpy() -> None:
    for row in REDUCTIONS.values():
        if row.ufunc is not None:
            assert row.identity == row.ufunc.identity or row.ufunc.identity is None
    assert {row.name for row in REDUCTIONS.values() if row.ordered} == {"sum", "buffered_sum", "prod"}


def test_only_native_numbers_are_compiled() -> None:
    assert all(is_compiled(t) for t in DTYPES)
    for other in (">f8", "g", "G", "O", "M8[s]", "m8[s]", "S3", "U3", "V4"):
        assert not is_compiled(np.dtype(other))
