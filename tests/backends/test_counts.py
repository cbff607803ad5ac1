"""Sums of masks are counts: the rewriting of stages, and counts at every width of vectors, in rows and split."""

from __future__ import annotations

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Stage, Store
from lazyarray_llvm.backend import Backend
from lazyarray_llvm.lower.kernel import count_masks
from tests.backends.widths import WIDTHS, backend_at

I = Instruction  # noqa: E741
MASK, NUMBER = I(0, "load", (), "b1", 0), I(1, "cast", (0,), "i8")


@pytest.fixture(params=WIDTHS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    return backend_at(request.param, monkeypatch)


def test_a_sum_of_a_mask_is_a_count() -> None:
    before = Stage("full", (MASK, NUMBER), (Reduction(2, "sum", 1, "i8"),))
    assert count_masks(before) == Stage("full", (MASK,), (Reduction(2, "count", 0, "i8"),))
    whole = before._replace(
        body=(MASK, NUMBER._replace(code="f8")), reductions=(Reduction(2, "buffered_sum", 1, "f8"),)
    )
    assert count_masks(whole) == Stage("full", (MASK,), (Reduction(2, "count", 0, "f8"),))


def test_numbers_that_others_need_are_summed() -> None:
    summed = (Reduction(2, "sum", 1, "i8"),)
    for stage in (
        Stage("full", (MASK, NUMBER, I(3, "negative", (1,), "i8")), summed, stores=(Store(1, 3),)),
        Stage("full", (MASK, NUMBER), summed, stores=(Store(1, 1),)),
        Stage("full", (MASK, NUMBER), summed, kept=(1,)),
        Stage("full", (MASK, NUMBER), (*summed, Reduction(3, "max", 1, "i8"))),
        Stage("full", (I(0, "load", (), "u1", 0), NUMBER), summed),
        Stage("full", (MASK, NUMBER._replace(code="f4")), (Reduction(2, "sum", 1, "f4"),)),
    ):
        assert count_masks(stage) is stage


@pytest.mark.parametrize("code", ["i8", "u8", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 63), (2, 64), (5, 130), (1, 70001), (400, 9)])
def test_counts_are_those_of_numpy(code: str, shape: tuple[int, int], backend: Backend) -> None:
    """Of all, and of those under another mask."""
    draw = np.random.default_rng(0)
    mask, where = (draw.random(shape) < p for p in (0.3, 0.8))
    body = (MASK, NUMBER._replace(code=code), I(2, "load", (), "b1", 1))
    reductions = (Reduction(3, "sum", 1, code), Reduction(4, "sum", 1, code, where=2))
    stores = Stage("row", (), stores=(Store(2, 3), Store(3, 4)))
    accesses = (*[Access("b1", ("s", "1"))] * 2, *[Access(code, ("s", "0"))] * 2)
    kernel = Kernel(("p", "r"), accesses, (), (Stage("full", body, reductions), stores))
    counts = [np.empty(shape[0], code) for _ in range(2)]
    arrays = [mask, where, *counts]
    steps = [(shape[1], 1), (shape[1], 1), (8, 0), (8, 0)]
    backend.compile(kernel).launch(Binding(shape, tuple(a.ctypes.data for a in arrays), tuple(steps), ()))
    np.testing.assert_array_equal(counts[0], mask.sum(axis=1))
    np.testing.assert_array_equal(counts[1], mask.sum(axis=1, where=where))
