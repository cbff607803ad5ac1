"""Operators on large arrays with axes in another order, and ufuncs with `out=`: NumPy's values, order and aliasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray

SHAPE = (60, 70, 80)

Body = Callable[..., Any]


def draw() -> Any:
    return numpy.random.default_rng(7).uniform(0.5, 90.0, SHAPE)


def _steps(array: Any) -> list[int]:
    """The strides along axes of two elements and more: those of others mean nothing."""
    return [stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1]


def alike(body: Body) -> Any:
    """What the body returns lies in memory as NumPy's result and has its values; several times over."""
    for _ in range(3):
        want = body(numpy, draw())
        found = body(lazyarray, lazyarray.evaluate(lazyarray.array(draw())))
        assert type(found) is lazyarray.ndarray
        assert (found.dtype, found.shape) == (want.dtype, want.shape)
        assert _steps(found) == _steps(want)
        assert found.flags.c_contiguous == want.flags.c_contiguous
        assert found.flags.f_contiguous == want.flags.f_contiguous
        assert found.flags.writeable == want.flags.writeable
        assert _steps(numpy.asarray(found)) == _steps(want)
        numpy.testing.assert_array_equal(numpy.asarray(found), want)
    return found


TURNS: list[Body] = [
    lambda x: x.T,
    lambda x: x.transpose(1, 0, 2),
    lambda x: x.transpose(1, 2, 0),
    lambda x: x.swapaxes(0, 2),
    lambda x: x[:, ::-1].T,
    lambda x: x[5:].T,
    lambda x: x[:, :1].T,
    lambda x: x.reshape(-1, 60).T,
    lambda x: x.reshape(1, -1, 60).T,
]


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(
    "body",
    [
        lambda np, x: -x,
        lambda np, x: np.sqrt(x),
        lambda np, x: x + 1,
        lambda np, x: 1.5 - x,
        lambda np, x: x < 30.0,
        lambda np, x: x * numpy.float64(0.5),
        lambda np, x: x * x,
        lambda np, x: (x + 1.0) * x - 2.0,
        lambda np, x: x / x.sum(),
        lambda np, x: x + x.max(),
        lambda np, x: np.maximum(x, 4),
        lambda np, x: x**2,
        lambda np, x: x + x[:1],
        lambda np, x: (x > 3.0) & (x < 40.0),
    ],
)
def test_operators_keep_the_order_of_axes(turn: Body, body: Body) -> None:
    alike(lambda np, x: body(np, turn(x)))


def test_operands_in_two_orders() -> None:
    alike(lambda np, x: x[:60, :60, :60].T + x[:60, :60, :60])
    alike(lambda np, x: x.T + x.T.copy())
    alike(lambda np, x: x.T * x.transpose(2, 1, 0))
    alike(lambda np, x: x.reshape(80, 70, 60) + x.T)


def test_results_share_nothing_with_their_operands() -> None:
    x = lazyarray.evaluate(lazyarray.array(draw()))
    y = x.T + 1.0
    y[0] = 0.0
    x[:, 0] = -1.0
    want = draw().T + 1.0
    want[0] = 0.0
    numpy.testing.assert_array_equal(numpy.asarray(y), want)
    assert y.T.base is y.base or y.T.base is y


def test_writes_come_after_what_was_recorded() -> None:
    x = lazyarray.evaluate(lazyarray.array(draw()))
    y = x.T * 2.0
    x += 1.0
    z = x.T * 2.0
    numpy.testing.assert_array_equal(numpy.asarray(y), draw().T * 2.0)
    numpy.testing.assert_array_equal(numpy.asarray(z), (draw() + 1.0).T * 2.0)


# ---- out=


OUTS: list[Body] = [
    lambda np, x, w: np.add(x, 1.0, out=w),
    lambda np, x, w: np.multiply(x, x, out=w),
    lambda np, x, w: np.multiply(x, w, out=w),
    lambda np, x, w: np.add(w, 2, out=w),
    lambda np, x, w: np.sqrt(x, out=w),
    lambda np, x, w: np.sqrt(x, out=(w,)),
    lambda np, x, w: np.sqrt(x, w),
    lambda np, x, w: np.add(x[0], x, out=w),
    lambda np, x, w: np.add(x, x[0], out=w),
    lambda np, x, w: np.add(x[0], x[0], out=w),
    lambda np, x, w: np.power((x * 10).astype(int), 2, out=w),
    lambda np, x, w: np.add(x.T, 1.0, out=w.T),
    lambda np, x, w: np.subtract(x[::-1], x, out=w),
    lambda np, x, w: np.add(x.astype("f4"), x, out=w),
    lambda np, x, w: np.add(x.astype("f4"), numpy.float32(1), out=w),
    lambda np, x, w: np.add(2.5, x, out=w),
    lambda np, x, w: np.add(x, None, out=w),
    lambda np, x, w: np.greater(x, 30.0, out=w),
    lambda np, x, w: np.add(x, x[:, :3], out=w),
    lambda np, x, w: np.add(x, x, out=w[0]),
    lambda np, x, w: np.add(x, 1j, out=w),
    lambda np, x, w: np.negative(x, out=w[::-1]),
    lambda np, x, w: np.add(x, "1", out=w),
]


@pytest.mark.parametrize("call", OUTS)
def test_ufuncs_write_into_large_arrays(call: Body) -> None:
    for _ in range(3):
        said: list[Any] = []
        for np in (numpy, lazyarray):
            x, w = np.array(draw()), np.array(draw()[::-1].copy())
            if np is lazyarray:
                lazyarray.evaluate(x, w)
            shown, earlier = w[1:, 2], w * 3.0
            try:
                found = call(np, x, w)
                said.append((found is w, numpy.asarray(found).tobytes()))
            except (TypeError, ValueError) as error:
                said.append((type(error), str(error)))
            said.append([numpy.asarray(a).tobytes() for a in (x, w, shown, earlier)])
        assert said[2:] == said[:2]


def test_a_large_output_that_refuses_writes() -> None:
    x, w = lazyarray.array(draw()), lazyarray.array(draw())
    lazyarray.evaluate(x, w)
    w.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lazyarray.add(x, 1.0, out=w)
    numpy.testing.assert_array_equal(numpy.asarray(w), draw())


def test_writing_into_large_arrays_is_recorded() -> None:
    x, w = lazyarray.array(draw()), lazyarray.array(draw())
    lazyarray.evaluate(x, w)
    with lazyarray.record_runs() as runs:
        for _ in range(3):
            lazyarray.add(x, w, out=w)
            lazyarray.sqrt(w, out=w)
        assert not runs.kernels
        lazyarray.evaluate(w)
    assert len(runs.kernels) == 1
