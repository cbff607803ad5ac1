"""Methods of ufuncs, parts of small arrays and functions of numbers: NumPy's own results, errors and memory."""

from __future__ import annotations

import inspect
from typing import Any

import numpy
import pytest

import lazyarray

# `a`, `b`: float64; `k`: int64; `m`: a matrix, `t` its transpose; `c`: a mask; `j`: NumPy's 2; `e`: an empty array.
REDUCTIONS = """
np.add.reduce(a) | np.add.reduce(m, 1) | np.add.reduce(m, axis=None) | np.add.reduce(m, (0, 1))
np.add.reduce(m, axis=-1, keepdims=True)
np.maximum.reduce(a) | np.maximum.reduce(e) | np.maximum.reduce(e, initial=0.0) | np.add.reduce(e)
np.add.reduce(a, where=c)
np.add.reduce(a, initial=5.0) | np.add.reduce(a, dtype='f4') | np.add.reduce(a, 0, complex)
np.add.reduce(k, dtype=bool) | np.add.reduce(c)
np.multiply.reduce(k) | np.logical_and.reduce(c) | np.bitwise_or.reduce(k) | np.bitwise_or.reduce(a)
np.hypot.reduce(a) | np.logaddexp.reduce(a)
np.add.reduce(m, 2) | np.add.reduce(a, 0.5) | np.add.reduce(a, other=1) | np.add.reduce()
np.add.reduce(a, 0, None, None, False, 0.0, True, 1)
np.subtract.reduce(m, axis=(0, 1)) | np.sin.reduce(a) | np.divmod.reduce(a) | np.matmul.reduce(a)
np.add.reduce([a, b]) | np.add.reduce(l)
np.add.accumulate(a) | np.add.accumulate(m) | np.add.accumulate(m, 1) | np.multiply.accumulate(k, dtype=float)
np.maximum.accumulate(t, axis=1)
np.add.accumulate(m, None) | np.add.accumulate(a, 1) | np.hypot.accumulate(a) | np.logaddexp.accumulate(a)
np.add.accumulate(e) | np.add.accumulate(l)
np.add.reduceat(a, [0, 2]) | np.add.reduceat(a, k) | np.add.reduceat(a, (0, 1, 0)) | np.add.reduceat(m, [0, 1], 1)
np.add.reduceat(a, [0, 99])
np.maximum.reduceat(k, [1, 0]) | np.hypot.reduceat(a, [0, 2]) | np.add.reduceat(a, [0.5]) | np.add.reduceat(a)
np.add.reduceat(a, 0, 0, None)
np.add.reduce(a, out=z) | np.add.reduce(m, 0, None, b) | np.add.reduce(m, 0, None, (b,))
np.add.reduce(m, out=(b,)) | np.add.reduce(m, 0, out=a[:2])
np.add.accumulate(a, out=b) | np.add.accumulate(a, 0, None, (b,)) | np.add.reduceat(a, [0, 1, 2], out=b)
np.add.reduceat(a, [0, 1, 2], 0, None, (b,))
np.gcd(k, 2) | np.gcd(k, k) | np.ldexp(a, k) | np.nextafter(a, b) | np.spacing(a) | np.gcd(a, 2)
np.bitwise_count(k) | np.signbit(a)
"""

PARTS = """
a.take([1, 2]) | a.take((0, -1)) | a.take(i) | a.take([9]) | a.take([-9]) | a.take([]) | a.take([True, False])
a.take(c) | a.take(1) | a.take([0.5])
a.take([1 << 80]) | m.take([1, 5]) | k.take([j, 0]) | np.take(a, [1, 2]) | np.take(m, [1], 0)
np.take(a, i, mode='wrap') | h.take([1, -1]) | a[::-1].take(i)
a.repeat(2) | a.repeat(j) | a.repeat(0) | a.repeat(-1) | m.repeat(3) | t.repeat(2) | a.repeat([1, 0, 2])
a.repeat(2.0) | a.repeat(1 << 80) | np.repeat(a, 2)
np.repeat(m, 2, 0) | np.repeat(h, 3) | np.repeat(c, j) | k.repeat(True) | z.repeat(3) | a.repeat(30)
m.diagonal() | m.diagonal(1) | t.diagonal() | w.diagonal() | a.diagonal() | np.diagonal(m) | np.diagonal(w, 0, 1, 0)
m[:, :2].diagonal()
m.swapaxes(0, 1) | m.swapaxes(-1, 0) | m.swapaxes(0, 0) | m.swapaxes(0, 2) | m.swapaxes(0, 1 << 80)
m.swapaxes(0.5, 1) | a.swapaxes(0, 0) | v.swapaxes(0, 2)
np.swapaxes(v, 1, -1) | np.swapaxes(m, axis1=0, axis2=1) | np.swapaxes(m, 0, -3)
a[:j] | a[j:] | a[::j] | m[:j, 1] | m[j - 1, :j] | a[: -j] | a[: numpy.int32(2)] | a[: numpy.uint64(2)]
np.zeros((j, 3)) | np.zeros(-j) | np.arange(j) | np.arange(-j)
np.empty(j).shape | np.ones((j, j), int) | np.zeros((j, 0))
"""

# Of `exp` and its like compiled kernels' bits are within 1 ULP of NumPy's: these give bits that both have.
NUMBERS = """
np.exp(0.0) | np.exp(s) * 0 | np.sqrt(2.0) | np.sqrt(s) | np.isnan(s) | np.maximum(s, 0.0) | np.maximum(0.0, -0.0)
np.floor_divide(s, 0.5) | np.less(s, 3) | np.logical_and(s, 0.0) | np.hypot(3, 4) | np.power(2, k) | np.power(k, 2)
np.power(k, -1) | np.power(2, k - 3) | np.power(2.0, k) | np.power(c, 2) | np.power(2, c) | np.power(k, c)
np.exp(k * 0) | np.power(g, 2) | np.log(k + 1)[:1] | np.log([1, 1]) | np.sqrt([1, 4]) | np.log(x) | np.exp(x.T * 0)
np.power(x.T, 2) | np.hypot(h, 0) | np.hypot(h, 0.0) | np.log(y) | np.arange(0, 7, 2) | np.arange(5, 0, -2)
np.arange(3, 1) | np.arange(0, 5, 0) | np.arange(1, j) | np.arange(0, 1 << 40, 1 << 39) | np.arange(1 << 80, 2)
np.arange(-1) | np.arange(0, 6, -1) | np.arange(0, True) | 2**k | k**2 | k ** (-1) | j - k | j * a | s * a
j / k[1:] | j**k | numpy.int64(1 << 60) * a | numpy.int64(3) // f
"""


def lines_of(text: str) -> list[str]:
    return [line.strip() for row in text.strip().splitlines() for line in row.split("|")]


def names_for(np: Any) -> dict[str, Any]:
    a = np.array([3.0, 1.0, 2.5])
    m = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0], [7.0, -0.0, 9.0]])
    return {
        "np": np,
        "numpy": numpy,
        "a": a,
        "b": np.array([0.5, 2.0, -1.0]),
        "c": a > 2.0,
        "e": np.array([]),
        "f": np.array([1.0, 2.0], dtype="f4"),
        "g": np.array([1, 2], dtype="i1"),
        "h": np.array([1, 2, 3], dtype="f2"),
        "i": np.array([0, 2, -2]),
        "j": numpy.int64(2),
        "k": np.arange(3),
        "s": numpy.float64(1.5),
        "x": np.ones((2, 3), dtype="i4").T,
        "y": np.array([1.0], dtype=">f8"),
        "l": [1.0, 2.0],
        "m": m,
        "t": m.T,
        "v": np.arange(24.0).reshape(2, 3, 4),
        "w": np.arange(6.0).reshape(2, 3),
        "z": np.array(0.0),
    }


def outcome(np: Any, line: str) -> tuple[Any, ...]:
    """What a line gives, or its error: values, whose memory it is, and what `out` holds after it."""
    names = names_for(np)
    try:
        found = eval(line, names)
    except Exception as error:
        return type(error).__name__, str(error).replace("lazyarray", "numpy")
    data = numpy.asarray(found)
    same = [name for name in "abz" if found is names[name]]
    writes = getattr(getattr(found, "flags", None), "writeable", None)
    shared = [name for name in "amtvw" if numpy.shares_memory(numpy.asarray(names[name]), data)]
    held = [numpy.asarray(names[name]).tobytes() for name in "abz"]
    return (
        type(found).__name__,
        data.dtype,
        data.shape,
        data.tobytes(),
        data.strides if shared else None,
        same,
        shared,
        writes,
        held,
    )


@pytest.mark.parametrize("line", lines_of(REDUCTIONS) + lines_of(PARTS) + lines_of(NUMBERS))
def test_the_line_does_what_numpy_does(line: str) -> None:
    assert outcome(lazyarray, line) == outcome(numpy, line)


def test_what_a_view_shows_follows_its_owner() -> None:
    m = lazyarray.array([[1.0, 2.0], [3.0, 4.0]])
    shown = m.diagonal(), m.swapaxes(0, 1), m[: numpy.int64(1)]
    m[0, 0] = 9.0
    assert [float(view.ravel()[0]) for view in shown] == [9.0, 9.0, 9.0]
    with pytest.raises(ValueError, match="read-only"):
        shown[0][0] = 1.0


def test_methods_of_small_arrays_record_nothing() -> None:
    a = lazyarray.array([1.0, 2.0])
    with lazyarray.record_runs() as runs:
        lazyarray.add.reduce(a), lazyarray.add.accumulate(a), lazyarray.add.reduceat(a, [0])
    assert not runs.evaluations
    assert not runs.fallbacks


def test_methods_are_attributes_as_numpys() -> None:
    reduce = lazyarray.add.reduce
    assert reduce(lazyarray.array([1.0, 2.0])) == 3.0
    assert reduce.__name__ == "reduce"
    assert reduce.__doc__ == numpy.add.reduce.__doc__
    assert lazyarray.ufunc.reduce(lazyarray.add, lazyarray.array([1.0, 2.0])) == 3.0
    assert callable(inspect.unwrap(lazyarray.ufunc.accumulate))
