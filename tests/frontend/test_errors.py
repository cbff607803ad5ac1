"""Holds wrong and unusual calls to NumPy: the class and the text of the error, at the same operation, and warnings."""

from __future__ import annotations

import io
import json
import sqlite3
import statistics
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import to_numpy
from tests.frontend.agreement import MODES, agree

FLAT = numpy.arange(-3, 9).astype("i8")
TABLE = numpy.arange(12.0).reshape(3, 4) - 4
WHOLE = numpy.arange(12).reshape(3, 4) % 5

# Programs over f (float64 of (3, 4)), i (int64 of (3, 4)), m (bool of (3, 4)), v (int64 of 12, some negative).
WRONG = """
np.sum(f, axis=2)
np.sum(f, axis=(0, 0))
np.sum(f, axis=1.5)
np.sum(f, axis="a")
np.max(f, axis=True)
np.sum(f, bogus=1)
np.sum(axis=0)
np.sum(f, keepdims="x")
np.any(f, keepdims=None)
np.mean(f, keepdims=None)
np.ptp(f, keepdims="x")
np.count_nonzero(f, keepdims="x")
np.sum(f, dtype="bogus")
np.sum(f, dtype="bogus", axis=5)
np.sum(f, initial=[1, 2])
np.sum(f, out=[1])
np.sum(f, axis=0, out=np.zeros(3))
np.sum(f, axis=0, out=np.zeros(4, "i4"))
np.max(f[:0])
np.max(f, where=m)
np.max(f, where=i, initial=0)
np.argmax(f[:0])
np.argmax(f, axis=0, out=np.zeros(4))
f.any(1.5, np.float64(1), True, 1)
f.argmax(0, None, "x")
f.mean(1.5, None, None, False, m)
np.add.reduce(f, axis=0, where=m[:, :3])
np.add.reduce(f, keepdims="x")
np.minimum.reduce(f, out=f, initial=2.5)
np.bitwise_xor.reduce(i, dtype="c16")
np.fmax.reduce(f, initial="a")
np.add.accumulate(f, axis=3)
np.var(f, ddof=1, correction=1)
np.cumsum(f, axis=(0, 1))
np.add(f, f[:, :3])
np.add(f, f, f[0])
np.add(f, f, out=f[0])
np.add(f, f, f, out=None)
np.add(f, f, out=i)
np.add(f, f, out="a")
np.add(f, f, where=m[:, :3])
np.add(f, f, out=np.zeros((3, 4)), where=m[:2])
np.add(f, f, out=np.zeros((3, 4)), where=i)
np.add(f, f, dtype="bogus")
np.add(f, f, dtype="i4")
np.add(f, f, subok=1)
np.add(f, f, casting="bogus")
np.add(f, f, casting=None)
np.add(f, f, order="X")
np.add(f, f, bogus=1)
np.add(i, 1.5, out=i)
np.add(f)
np.sqrt(f, f, f)
np.sin(f, f[0])
np.sin(None)
np.invert(f)
np.maximum(f, f, f, out=f)
np.bitwise_and(f, m)
f + f[:, :3]
f + "a"
m - m
i + 2**70
np.power(i, v[:4])
np.power(v, v)
np.power(f, f[:, :3])
300 ** v.astype("i1")
i ** np.array(-1)
i ** v[:4]
np.power.outer(i, v)
np.power(v + 3, np.full(12, 2**63 + 3 * 2**31, "u8"), dtype="i4", casting="unsafe")
np.power(i, v[:4], out=np.zeros((3, 4), "i8"))
np.power(v[:4].astype("i1"), v[:3])
np.clip(f)
np.clip(f, 0, 1, out=f[0])
np.round(f, "a")
np.transpose(f, (0, 0))
f.transpose(axes=(1, 0))
f.reshape(5)
f.reshape(-1, -1)
np.reshape(f, (4, 3), order="X")
f.swapaxes(0, 2)
np.squeeze(f, axis=0)
np.broadcast_to(f, (3, 5))
np.broadcast_to(f, None)
np.concatenate([f, f[0]])
np.concatenate([f, i], axis=2)
np.stack([f, f[0]])
np.take(f, [99])
np.take(f, [0.5])
np.put(i, [0], "a")
np.repeat(f, [1, 2])
np.where(m, f[:, :3], f)
np.diag(f, "a")
np.eye(True)
np.indices(3)
np.zeros((2, -1))
np.full((2, 2), 1, bogus=1)
np.zeros_like(f, subok=None)
np.size(f, 2)
f.fill()
f.fill(fill_value=1)
f.fill([1, 2])
f.item(n=0)
f.item(12)
f.conj(out=None)
f[5]
f[[0.5]]
f[["a"]]
f[f]
f[m[:, :3]]
f[0, 0, 0]
np.copyto(f, f[:, :3])
np.copyto(i, f)
np.copyto(f, 1, where=m[:2])
np.matmul(f, f)
np.dot(f, f)
""".strip().splitlines()


def prepare(np: Any) -> dict[str, Any]:
    return {
        "np": np,
        "f": np.data(TABLE),
        "i": np.data(WHOLE),
        "m": np.data(TABLE > 0),
        "v": np.data(FLAT),
    }


@MODES
@pytest.mark.parametrize("source", WRONG)
def test_a_wrong_call_raises_what_numpy_raises(eager_below: int, source: str) -> None:
    def program(np: Any) -> Any:
        found = eval(source, prepare(np))
        # An error has to come from the call itself, not from reading what it returned.
        return "no error" if isinstance(found, lazyarray.ndarray | numpy.ndarray) else found

    agree(program, eager_below)


@pytest.mark.parametrize("call", ["np.power(i, v)", "i ** v", "np.power(i, v, out=i)", "np.power.outer(i, v)"])
def test_integer_powers_look_at_their_exponents(call: str) -> None:
    def run(lowest: int) -> Any:
        with lazyarray.config.set(eager_below=0):
            i = lazyarray.array(WHOLE.ravel()).copy()
            v = lazyarray.array(numpy.arange(lowest, lowest + 12)).copy()
            return to_numpy(eval(call, {"np": lazyarray, "i": i, "v": v}))

    with pytest.raises(ValueError, match=r"^Integers to negative integer powers are not allowed\.$"):
        run(-1)
    expected = numpy.power.outer if "outer" in call else numpy.power
    numpy.testing.assert_array_equal(run(0), expected(WHOLE.ravel(), numpy.arange(12)))


@MODES
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, 300.0, 1e30, -7.5, 2.0])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i8"])
def test_one_element_takes_only_a_scalar_that_fits(eager_below: int, value: float, dtype: str) -> None:
    def program(np: Any) -> Any:
        x = np.data(numpy.zeros(3), dtype)
        x[1] = np.data([value, value]).max()
        return x

    agree(program, eager_below)


@MODES
@pytest.mark.parametrize("value", [numpy.nan, 300.0, 2.0])
@pytest.mark.parametrize("write", ["x[1:] = s", "x[...] = s", "x[[0, 2]] = s", "x[x == 0] = s", "x.fill(s)"])
def test_many_elements_take_only_a_scalar_that_fits(eager_below: int, value: float, write: str) -> None:
    def program(np: Any) -> Any:
        names = {"x": np.data(numpy.zeros(3), "i1"), "s": np.data([value, value]).max()}
        exec(write, names)
        return names["x"]

    agree(program, eager_below)


UNUSUAL = """
np.sum(z, keepdims=True)
np.mean(z, keepdims=True)
np.argmin(z, keepdims=True)
np.add.reduce(z)
np.round(z, 1)
np.round(np.max(i), 1)
f.T + [1, 2, 3]
f[:3, :3].T == [1, 2, 3]
[1, 2, 3] * f.T
np.sum(f, keepdims=1)
np.add(f, 1, None)
np.add(f, f, out=(None,))
np.add(f, f, where=[True, False, True, True], out=np.zeros((3, 4)))
np.add(f, f, out=..., where=True)
np.var(f, mean=np.zeros((1, 1), "i8"))
np.put(i, [0, 1], 7.9)
np.full_like(f, np.float32(2), subok=True)
np.diag(i[0], np.int8(1))
np.sin([1.0, 2.0])
f.conj(None)
""".strip().splitlines()


@MODES
@pytest.mark.parametrize("source", UNUSUAL)
def test_an_unusual_call_gives_what_numpy_gives(eager_below: int, source: str) -> None:
    agree(lambda np: eval(source, prepare(np) | {"z": np.data(5)}), eager_below)


@MODES
@pytest.mark.parametrize(
    "source",
    [
        "np.copy(b)",
        "b.copy('K')",
        "b.astype('f4')",
        "np.array(b)",
        "np.concatenate([b, b])",
        "np.isreal(f.T)",
        "np.fft.fft(f.T)",
        "np.partition(f.T, 1)",
        "f.T != 'a'",
        "np.imag(f.T)",
        "np.asarray(f.T, 'f4', 'c')",
        "f.T.astype('i4', order='C')",
        "f.astype('i4', order='F')",
        "f.T.astype('i4', order='A')",
    ],
)
def test_results_lie_in_memory_as_numpys_do(eager_below: int, source: str) -> None:
    def program(np: Any) -> Any:
        f = np.data(TABLE)
        found = eval(source, {"np": np, "f": f, "b": np.broadcast_to(f, (2, 3, 4))})
        return found, found.flags.c_contiguous, found.flags.f_contiguous, found.strides

    agree(program, eager_below)


@MODES
@pytest.mark.parametrize(
    "source",
    [
        "np.mean(f[:0])",
        "np.var(f[0, :1], ddof=1)",
        "np.nanvar(f[0, :1], ddof=1)",
        "np.var(f[0, :1], ddof=1, mean=np.zeros(1, 'i8'))",
        "np.nanmean(f[:0], keepdims='x')",
        "f.astype('c16').astype('f4')",
        "np.add(i, 1, where=m[:, :3])",
        *(["np.row_stack([f, f[0, :1]])"] if hasattr(numpy, "row_stack") else []),  # gone from NumPy 2.5
    ],
)
def test_a_warning_is_given_once(eager_below: int, source: str) -> None:
    with numpy.errstate(all="ignore"):
        agree(lambda np: eval(source, prepare(np)), eager_below)


def test_a_program_s_own_function_is_not_called_again_for_numpys_error() -> None:
    calls = []

    def refuse(row: Any) -> Any:
        calls.append(row)
        raise ValueError("no")

    x = lazyarray.ones((3, 4000)) + 1
    with pytest.raises(ValueError, match=r"^no$"):
        lazyarray.apply_along_axis(refuse, 1, x)
    assert len(calls) == 1


def test_pythons_library_takes_a_pending_scalar() -> None:
    def make() -> Any:
        return (lazyarray.array(numpy.ones(9000)) + 1).mean()

    assert json.dumps({"mean": make()}) == '{"mean": 2.0}'
    assert json.dumps([make()], indent=0) == "[\n2.0\n]"
    file = io.StringIO()
    json.dump(make(), file)
    assert file.getvalue() == "2.0"
    with pytest.raises(TypeError, match=r"^Object of type int64 is not JSON serializable$"):
        json.dumps(lazyarray.array(numpy.ones(9000, "i8")).sum())
    assert statistics.mean([make(), make() + 2]) == 3.0
    table = sqlite3.connect(":memory:")
    assert table.execute("select ?", (make(),)).fetchone() == (2.0,)
    table.close()


def test_a_pending_scalar_is_no_iterable() -> None:
    scalar = (lazyarray.array(numpy.ones(9000)) + 1).sum()
    assert not hasattr(scalar, "__iter__")
    assert not lazyarray.iterable(scalar)
    with pytest.raises(TypeError):
        list(scalar)
    assert scalar[()] == 18000
    with pytest.raises(TypeError, match=r"^'numpy.float64' object does not support item assignment$"):
        scalar[...] = 1
