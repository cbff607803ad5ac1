"""Quotients and rests of integers are exact where floats form them: by one divisor and by many, near every multiple."""

from __future__ import annotations

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_llvm.backend import Backend
from tests.backends.widths import WIDTHS, backend_at

CODES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
LENGTH = 301
I = Instruction  # noqa: E741


@pytest.fixture(params=WIDTHS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    return backend_at(request.param, monkeypatch)


def edges(code: str) -> np.ndarray:
    """The numbers about which something changes: the ends of dtypes and of what floats hold."""
    low, high = int(np.iinfo(code).min), int(np.iinfo(code).max)
    powers = [
        sign * (1 << k) + d for k in (0, 1, 7, 15, 22, 24, 31, 49, 50, 51, 53) for d in (-1, 0, 1) for sign in (-1, 1)
    ]
    return np.array([v for v in (low, low + 1, *powers, high - 1, high) if low <= v <= high], code)


def near_multiples(divisor: int, code: str, draw: np.random.Generator) -> np.ndarray:
    """Numbers next to multiples of the divisor, of all sizes that the dtype has."""
    low, high = int(np.iinfo(code).min), int(np.iinfo(code).max)
    bits = draw.integers(1, 8 * np.dtype(code).itemsize, LENGTH)
    found = [int(draw.integers(0, 1 << int(n), dtype=np.uint64)) // max(1, abs(divisor)) for n in bits]
    signs, beside = draw.choice([-1, 1], LENGTH), draw.integers(-1, 2, LENGTH)
    values = [int(s) * f * divisor + int(d) for s, f, d in zip(signs, found, beside, strict=True)]
    return np.array([v if low <= v <= high else 0 for v in values], code)


def launch(backend: Backend, op: str, x: np.ndarray, divisor: np.ndarray | np.generic) -> np.ndarray:
    """The operation of a kernel, by an array or by a number that comes with the launch."""
    code = f"{x.dtype.kind}{x.itemsize}"
    result = np.empty_like(x)
    pointers, steps = [x.ctypes.data], [(x.itemsize,)]
    if isinstance(divisor, np.ndarray):
        accesses, scalars, second = 3, (), I(1, "load", (), code, 1)
        pointers.append(divisor.ctypes.data)
        steps.append((x.itemsize,))
    else:
        accesses, scalars, second = 2, (code,), I(1, "scalar", (), code, 0)
    pointers.append(result.ctypes.data)
    steps.append((x.itemsize,))
    body = (I(0, "load", (), code, 0), second, I(2, op, (0, 1), code))
    stage = Stage("full", body, stores=(Store(accesses - 1, 2),))
    kernel = Kernel(("p",), (Access(code, ("1",)),) * accesses, scalars, (stage,))
    numbers = () if isinstance(divisor, np.ndarray) else (divisor,)
    backend.compile(kernel).launch(Binding(x.shape, tuple(pointers), tuple(steps), numbers))
    return result


@pytest.mark.parametrize("op", ["floor_divide", "remainder", "fmod"])
@pytest.mark.parametrize("code", CODES)
def test_quotients_by_one_number_are_exact(op: str, code: str, backend: Backend) -> None:
    draw = np.random.default_rng(0)
    divisors = [*edges(code), *draw.integers(np.iinfo(code).min, np.iinfo(code).max, 8, code)]
    for divisor in divisors:
        for x in (near_multiples(int(divisor), code, draw), np.resize(edges(code), LENGTH)):
            with np.errstate(all="ignore"):
                expected = getattr(np, op)(x, divisor)
            np.testing.assert_array_equal(launch(backend, op, x, divisor), expected)


@pytest.mark.parametrize("op", ["floor_divide", "remainder", "fmod"])
@pytest.mark.parametrize("code", CODES)
def test_quotients_by_many_are_exact(op: str, code: str, backend: Backend) -> None:
    draw = np.random.default_rng(1)
    few = edges(code)
    pairs = [(np.repeat(few, len(few)), np.tile(few, len(few)))]
    divisor = draw.integers(max(np.iinfo(code).min, -90), 90, LENGTH).astype(code)
    pairs.append((near_multiples(7, code, draw), divisor))
    for x, divisors in pairs:
        with np.errstate(all="ignore"):
            expected = getattr(np, op)(x, divisors)
        np.testing.assert_array_equal(launch(backend, op, x, divisors), expected)
