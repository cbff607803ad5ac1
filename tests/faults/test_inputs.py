"""Sizes at the limits, foreign byte orders, misaligned and read-only buffers, and very long recordings."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, Program, agree

RAW = numpy.arange(64, dtype="u1").tobytes() * 64


def unaligned(dtype: str, count: int) -> Any:
    """Values whose memory begins one byte after a boundary."""
    source = numpy.arange(count).astype(dtype)
    memory = numpy.zeros(source.nbytes + 1, "u1")
    memory[1:] = source.view("u1")
    return memory[1:].view(dtype)


PROGRAMS: dict[str, Program] = {
    "size 0": lambda np: (
        np.data(numpy.zeros((0, 3))).sum(axis=0),
        np.data(numpy.zeros((3, 0))) @ np.data(numpy.zeros((0, 4))),
        np.sort(np.data(numpy.zeros(0))),
        np.data(numpy.zeros((2, 0, 5))).reshape(0, 7) + 1,
        np.concatenate([np.data(numpy.zeros(0)), np.data(numpy.ones(2))]),
        np.cumsum(np.data(numpy.zeros((0, 2))), axis=0),
        np.data(numpy.zeros((0,), "?")).all(),
    ),
    "maximum of nothing": lambda np: np.data(numpy.zeros((0, 3))).max(),
    "64 dimensions": lambda np: (
        (np.data(numpy.arange(8.0)).reshape((1,) * 61 + (2, 2, 2)) * 2 + 1).sum(axis=-1),
        np.transpose(np.data(numpy.arange(8.0)).reshape((2,) * 3 + (1,) * 61)).ravel() + 1,
        np.data(numpy.arange(4.0)).reshape((1,) * 63 + (4,))[..., 1:].max(),
    ),
    "65 dimensions": lambda np: np.data(numpy.arange(4.0)).reshape((1,) * 64 + (4,)),
    "a 65th axis": lambda np: np.data(numpy.zeros((1,) * 64))[None],
    "foreign byte order": lambda np: (
        np.data(numpy.arange(5000, dtype=">f8")) + 1,
        np.data(numpy.arange(5000, dtype=">i2")) * np.data(numpy.arange(5000, dtype="<i4")),
        np.data(numpy.arange(5000, dtype=">c8")).sum(),
        np.data(numpy.arange(9, dtype=">u4")).astype("<u2"),
        np.data(numpy.arange(9, dtype=">f4"))[::-1].copy(),
        np.data(numpy.arange(5000, dtype="<f8")).astype(">f8"),
        np.sqrt(np.data(numpy.arange(5000, dtype=">f4"))),
    ),
    "writes to foreign byte order": lambda np: write(np, np.data(numpy.arange(5000, dtype=">i4"))),
    "misaligned": lambda np: (
        np.asarray(unaligned("f8", 5000)) * 2,
        np.asarray(unaligned("i4", 5000)).sum(),
        np.asarray(unaligned("c16", 300))[::3] + 1,
        np.asarray(unaligned("f4", 5000)).reshape(50, 100).max(axis=1),
        np.asarray(unaligned("i8", 30)).astype("f4"),
    ),
    "writes to misaligned memory": lambda np: write(np, np.asarray(unaligned("i4", 5000))),
    "fields of packed records": lambda np: (
        np.asarray(numpy.zeros(5000, "u1,f8,i2"))["f1"] + 1,
        np.asarray(numpy.zeros(5000, "u1,f8,i2"))["f2"].sum(),
    ),
    "read-only buffers": lambda np: (
        np.frombuffer(RAW, "f8") + 1,
        np.frombuffer(RAW, "i4")[::2].sum(),
        np.asarray(memoryview(RAW)) * 2,
        np.frombuffer(RAW, ">i2").max(),
    ),
    "a write to a read-only buffer": lambda np: write(np, np.frombuffer(RAW, "i4")),
}


def write(np: Any, x: Any) -> Any:
    x[::2] += 5
    x[1:4] = [9, 8, 7]
    np.multiply(x, 2, out=x)
    return x, x.sum()


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_is_numpys(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


def test_a_million_pending_operations() -> None:
    """Recording stays shallow and short: no recursion, and a bounded number of nodes."""
    x = lazyarray.zeros(100_000)
    with lazyarray.config.set(eager_below=0):
        y = lazyarray.zeros(8) + 0.0
        for _ in range(1_000_000):
            y = y + 1.0
    assert y.tolist() == [1e6] * 8
    assert float(x.sum()) == 0.0


@pytest.mark.large
def test_more_than_two_to_the_31_elements() -> None:
    count = (1 << 31) + 10
    x = lazyarray.zeros(count, dtype="i1")
    x[-3:] = 5
    x[0] = 7
    assert int(x.sum(dtype="i8")) == 22
    assert int(x.argmax()) == 0
    y = x[::-1]
    assert y[:4].tolist() == [5, 5, 5, 0]
    x += 1
    assert int(x[count - 1]) == 6
    assert int((x == 6).sum()) == 3
    assert x.reshape(2, -1)[1, -1] == 6
