"""Integers become floats as NumPy has them, rounded once, where no instruction does that for vectors."""

from __future__ import annotations

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_llvm.backend import Backend
from tests.backends.widths import WIDTHS, backend_at

I = Instruction  # noqa: E741


@pytest.fixture(params=WIDTHS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    return backend_at(request.param, monkeypatch)


def integers(code: str) -> np.ndarray:
    """The ends of the dtype, powers of two, middles between doubles, with what is beside them, and any others."""
    info = np.iinfo(code)
    low, high = int(info.min), int(info.max)
    draw = np.random.default_rng(8)
    found = {0, 1, low, high, low + 1, high - 1}
    for bit in range(8 * np.dtype(code).itemsize):
        for step in (0, 1, 2, 3, 511, 512, 513, 1023, 1024, 1025, 1536):
            found |= {sign * ((1 << bit) + sign_of_step * step) for sign in (1, -1) for sign_of_step in (1, -1)}
    found |= {int(n) >> int(draw.integers(0, 63)) for n in draw.integers(-(1 << 63), 1 << 63, 3001)}
    found |= {-value for value in found}
    return np.array(sorted([value for value in found if low <= value <= high]), code)


@pytest.mark.parametrize("to", ["f8", "f4", "c16"])
@pytest.mark.parametrize("code", ["i8", "u8", "i4", "u4"])
def test_casts_are_numpys(backend: Backend, code: str, to: str) -> None:
    x = integers(code)
    result = np.empty(len(x), to)
    stage = Stage("full", (I(0, "load", (), code, 0), I(1, "cast", (0,), to)), stores=(Store(1, 1),))
    kernel = Kernel(("p",), (Access(code, ("1",)), Access(to, ("1",))), (), (stage,))
    pointers, strides = (x.ctypes.data, result.ctypes.data), ((x.itemsize,), (result.itemsize,))
    raised = backend.compile(kernel).launch(Binding(x.shape, pointers, strides, ()))
    assert result.tobytes() == x.astype(to).tobytes()
    assert not raised
    assert len(x) > 500


def test_indices_are_counted_in_doubles(backend: Backend) -> None:
    result = np.empty(1003)
    body = (I(0, "index", (), "i8", 0), I(1, "cast", (0,), "f8"))
    kernel = Kernel(("p",), (Access("f8", ("1",)),), (), (Stage("full", body, stores=(Store(0, 1),)),))
    backend.compile(kernel).launch(Binding(result.shape, (result.ctypes.data,), ((8,),), ()))
    assert result.tolist() == list(range(1003))
