"""Complex numbers may lie in registers in another order than in memory: which kernels do so, and their values' bits."""

from __future__ import annotations

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Stage, Store
from lazyarray_llvm.backend import Backend
from lazyarray_llvm.engine import Host
from lazyarray_llvm.lower.pairs import in_halves, order
from tests.backends.widths import WIDTHS, backend_at

I = Instruction  # noqa: E741
AVX2 = Host("haswell", "", 32, "x86_64-unknown-linux-gnu", True)
WIDE = AVX2._replace(cpu="sapphirerapids", vector_bytes=64)
ARM = AVX2._replace(triple="aarch64-unknown-linux-gnu")
LENGTHS = (1, 3, 4, 5, 8, 9, 31, 63, 64, 65, 127, 129, 1000, 4099)


def lengthwise(code: str, *more: Access) -> Kernel:
    """(z - w) + z, of which the second operand and the result are `more`, or like the first."""
    accesses = (*more, *[Access(code, ("s", "1"))] * 3)[:3]
    body = (
        I(0, "load", (), code, 2),
        I(1, "load", (), code, 1),
        I(2, "subtract", (0, 1), code),
        I(3, "add", (2, 0), code),
    )
    return Kernel(("p", "p"), accesses, (), (Stage("full", body, stores=(Store(0, 3),)),))


def sum_of_rows(code: str, op: str = "sum", total: str = "") -> Kernel:
    """Sums of numbers that are converted first where another dtype is given."""
    total = total or code
    body = (I(0, "load", (), code, 0), *([I(1, "cast", (0,), total)] if total != code else []))
    reduction = Reduction(2, op, len(body) - 1, total)
    stages = (Stage("full", body, (reduction,)), Stage("row", (), stores=(Store(1, 2),)))
    return Kernel(("p", "r"), (Access(code, ("s", "1")), Access(total, ("s", "0"))), (), stages)


def data(code: str, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (z * 10.0 ** rng.integers(-8, 8, shape)).astype(np.dtype(code))  # sums in another order have other bits


@pytest.fixture(params=WIDTHS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    return backend_at(request.param, monkeypatch)


def test_a_register_holds_what_one_instruction_takes_of_two_vectors() -> None:
    assert list(order("c16", 4)) == [0, 2, 1, 3]
    assert list(order("c8", 8)) == [0, 1, 4, 5, 2, 3, 6, 7]
    assert list(order("c16", 8)) == [0, 2, 1, 3, 4, 6, 5, 7]
    assert list(order("c16", 2)) == [0, 1]


@pytest.mark.parametrize("code", ["c8", "c16"])
def test_only_kernels_that_move_nothing_else_have_another_order(code: str) -> None:
    usual = lengthwise(code)
    assert in_halves(usual, AVX2)
    assert not in_halves(usual, WIDE)
    assert not in_halves(usual, ARM)
    row = Access(code, ("s", "1"))
    for other in (Access("f8", ("s", "1")), Access(code, ("s", "s")), Access(code, ("s", "-1"))):
        assert not in_halves(lengthwise(code, row, other), AVX2)
    assert in_halves(lengthwise(code, row, Access("f8", ("s", "0"))), AVX2)
    (stage,) = usual.stages
    placed = stage._replace(body=(*stage.body, I(4, "index", (), "i8", 1)))
    assert not in_halves(usual._replace(stages=(placed,)), AVX2)


def test_sums_keep_it_where_a_group_is_two_vectors() -> None:
    assert in_halves(sum_of_rows("c16"), AVX2)
    assert not in_halves(sum_of_rows("c8"), AVX2)
    assert not in_halves(sum_of_rows("c16", "prod"), AVX2)
    assert not in_halves(sum_of_rows("c8", total="c16"), AVX2)
    assert not in_halves(sum_of_rows("c16", total="c8"), AVX2)


@pytest.mark.parametrize("code", ["c8", "c16"])
def test_results_have_numpys_bits(code: str, backend: Backend) -> None:
    ready = backend.compile(lengthwise(code))
    for length in LENGTHS:
        z, w = data(code, 3, length), data(code, 3, length + 1)[:, 1:]
        out = np.full((3, length), np.nan, z.dtype)
        arrays = (out, w, z)
        ready.launch(Binding(z.shape, tuple(a.ctypes.data for a in arrays), tuple(a.strides for a in arrays), ()))
        assert out.tobytes() == (z - w + z).tobytes()


@pytest.mark.parametrize(("code", "total"), [("c8", "c8"), ("c16", "c16"), ("c8", "c16"), ("c16", "c8")])
def test_sums_have_numpys_bits(code: str, total: str, backend: Backend) -> None:
    ready = backend.compile(sum_of_rows(code, total=total))
    for length in LENGTHS:
        z = data(code, 3, length)
        out = np.empty(3, np.dtype(total))
        strides = (z.strides, (out.itemsize, 0))
        ready.launch(Binding(z.shape, (z.ctypes.data, out.ctypes.data), strides, ()))
        assert out.tobytes() == z.astype(total).sum(axis=1).tobytes()
