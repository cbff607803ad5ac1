"""What the aliasing machine found: each claim is the smallest program that showed the fault."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tests.property.aliasing_twins import SETTINGS, replay
from tests.property.programs import Step

FOUND = {
    "resize counts the names of an array": "x = np.arange(30); y = x; x.resize(32)",
    "resize to the same size keeps sharing memory": "x = np.arange(12.0); y = x[::-1]; x.resize((3, 4)); x[0] = 7",
    "a read-only array stays so when it is resized": "x = np.arange(25.0); x.setflags(write=False); x.resize((2, 12))",
    "resize after a shape was set owns the memory": "x = np.arange(30.0); x.T; x.shape = (5, 6); x.resize(32)",
    "an array in Fortran order is resized": "x = np.ones((5, 6), order='F'); x.resize((2, 12))",
    "the real part of a real array is the array": "x = np.arange(30.0); y = x.real; y.shape = (5, 6)",
    "what nothing is squeezed out of is the array": "x = np.arange(30.0); y = x.squeeze(); y.shape = (5, 6)",
    "what needs no broadcasting is the array": "x = np.ones(4); y = np.broadcast_arrays(x, 1)[0]; y.shape = (2, 2)",
    "an output that does not fit is refused in NumPy's words": (
        "x = np.arange(30.0); np.negative(x, out=np.ones((2, 3))); np.negative(x, out=np.ones(3)); "
        "np.add(x, 1, out=x, where=np.ones(3, bool)); np.modf(x, x, np.ones(4))"
    ),
    "an output of the transposed shape is refused": (
        "x = np.ones((3, 4)); y = x.T; np.add(y, y, out=x); np.logical_or(y, y, out=x)"
    ),
    "copying a read-only array to itself is nothing": "x = np.arange(30.0); x.setflags(write=False); np.copyto(x, x)",
    "a view of a read-only array stays so": (
        "x = np.arange(30.0); y = np.flip(x); x.setflags(write=False); y.flags.writeable = True; x = 0; "
        "y.flags.writeable = True"
    ),
    "a view that was made writeable is still a view": (
        "x = np.arange(30.0); y = x.view(); y.flags.writeable = True; x.flags.writeable = False; "
        "y.flags.writeable = True"
    ),
    "a view of the imaginary part of real numbers stays read-only": (
        "x = np.arange(30.0); y = x.imag.T; y.flags.writeable = True; z = x.imag; z.flags.writeable = True; z += 1"
    ),
    "what a read-only array is read for stays when it is writeable again": (
        "x = np.arange(30); x.flags.writeable = False; v = x[1:]; y = x | 1; x.flags.writeable = True; x *= x"
    ),
    "what lies with others, too, is read before it is written again": (
        "x = np.array(numpy.arange(36.0)); n = numpy.asarray(x)[::2]; x.setflags(write=False); y = x + x; z = x * 2; "
        "x.setflags(write=True); x *= 3"
    ),
    "what is nobody else's is read before it is written again": (
        "x = np.array(numpy.arange(36.0)); x.setflags(write=False); y = x + x; x.flags.writeable = True; x *= 3; "
        "z = x + x; x.flags.writeable = False; u = x + x; x.flags.writeable = True; x *= 3"
    ),
    "a view from before an array refused writes writes all the same": (
        "x = np.array(numpy.arange(36).reshape(6, 6)); n = numpy.asarray(x)[1:]; x.setflags(write=False); y = x + x; "
        "n *= n"
    ),
    "an array over NumPy's read-only memory is read before it is written": (
        "x = np.ones(2); n = numpy.arange(36.0); n.setflags(write=False); v = np.asarray(n); y = v + v; "
        "v.flags.writeable = True; v *= 3"
    ),
    "a read-only array has a new shape for who reads it then": (
        "x = np.array(numpy.arange(36.0).reshape(6, 6)); x.setflags(write=False); y = x + x; x.shape = (36, 1); "
        "z = -x; x.flags.writeable = True; x *= 3; u = -x"
    ),
    "what a read-only array of others is read for stays when its shape is set": (
        "x = np.zeros((2, 3, 5)); n = numpy.ones((2, 3, 5)); n.flags.writeable = False; v = np.asarray(n); y = v != x; "
        "v.shape = -1"
    ),
    "a part of complex numbers is copied when it is ravelled": (
        "x = np.zeros(30, 'c16'); y = x.imag.ravel(); y[3] = 4.0; z = x[4:5].real.ravel(); z[0] = 2.0"
    ),
    "what is taken along an axis is in C order": (
        "x = np.asfortranarray(np.arange(30.0).reshape(2, 3, 5)); y = np.take(x, [-2, -1, 1], axis=0); "
        "z = x.take([0, 2, 1], axis=1)"
    ),
    "an iterator over what became read-only writes nothing": (
        "x = np.ones((5, 6), order='F'); h = x.flat; x.setflags(write=False); h[0] = 2; "
        "i = x.flat; x.setflags(write=True); i[:] = 3"
    ),
    "errors of index arrays count the array's axes": (
        "x = np.zeros((5, 6)); x[0, [9]]; x[0, [9]] += 1; x[None, [9]]; x[..., 0, [9]]"
    ),
    "a small mask selects in itself": "x = np.arange(36).reshape(6, 6); y = np.take(x > 40, [3, 2], 0); y[y] = 0.5",
    "stacks of Fortran order keep it": (
        "x = np.ones((5, 6), order='F'); y = np.stack((x, x)); z = np.stack((x, x), -1); np.stack((y, y.T))"
    ),
    "stacks of what is broadcast run along it": (
        "x = np.arange(30).reshape(2, 3, 5); y = np.broadcast_to(x, (2, 2, 3, 5)); z = np.stack((y, y))"
    ),
    "what is indexed first keeps the order of the axes behind": (
        "x = np.array(np.arange(24.0).reshape(2, 3, 4), order='F'); y = x[[0, 1, 0]]; z = x[[[0, 1]], [1, 2]]; "
        "w = x.T[[3, 0]]; v = x[[0, 1], None]"
    ),
    "what is indexed behind others has its index axes first in memory": (
        "x = np.arange(12).reshape(3, 4); y = x[:, [0, -1]]; z = (~y).reshape(-1); z[1:] = z[:-1] * 2; "
        "w = x.reshape(2, 3, 2)[:, [[0, 1], [2, 0]], :]; v = x.reshape(2, 3, 2).T[None, :, [0, 2, 1]]"
    ),
    "a mask within the memory that is written over is read meanwhile": (
        "x = np.arange(30) % 7 < 3; y = x[::-1]; np.copyto(y, x, where=x); y[x] = False; x[1:] = ~x[:-1]; "
        "np.copyto(x[1:], True, where=x[:-1])"
    ),
    "whole scalars that do not fit are refused": (
        "x = np.arange(30, dtype='i4'); s = x.sum() * 10**9; x[::-1] = s; x[0] = s; x.fill(s); x[...] = x.sum(); "
        "y = np.arange(9, dtype='u1'); y[...] = s"
    ),
    "complex values lose their imaginary part with a warning": (
        "x = np.arange(30.0); x[[0, 1]] = (x * 2j).sum(); x[3:5] = (x * 1j).sum(); y = x > 3; y[...] = (x * 1j).sum()"
    ),
    "empty axes have no position of an extreme": (
        "x = np.zeros((0, 0)); x.argmax(-1); x.argmin(0, keepdims=True); y = np.zeros((0, 3)).argmax(1)"
    ),
    "what index arrays alone make keeps their order": (
        "x = np.arange(30); i = np.array([[0, 1, 2], [3, 4, 5]], order='F'); y = x[i]; z = x.reshape(5, 6)[i % 5, i]; "
        "w = x.reshape(5, 6)[i % 5, i.copy()]; v = x[i.T]"
    ),
    "more index arrays than NumPy iterates over are refused": (
        "x = np.ones((1,) * 64); x[(np.array([0]),) * 64]; x[(np.array([0]),) * 64] = 2; x[(np.array([0]),) * 33]"
    ),
    "a number written into a part keeps the dtype": (
        "x = np.ones(30, 'c8'); y = x * 2; y.imag = 7; z = x / 1j; z.real = 0.5; w = z + y; w.imag[::2] = 3"
    ),
    "a slice of a small copy shows its memory": (
        "x = np.array(np.arange(30).reshape(2, 3, 5), order='F'); y = x[0].reshape(-1, order='A'); y.tobytes(); "
        "z = np.expand_dims(np.flip(y), 0)[:, ::2]; y[3:6] += 1; z[...] = 7"
    ),
    "clip keeps the sign of zero": (
        "x = -np.zeros(30); y = np.clip(x, 0, 3); np.clip(x, -1.0, 0, out=x); z = np.clip(np.zeros(30), -0.0, 3)"
    ),
}


@pytest.mark.parametrize("settings", ["default", "near", "recorded", "interpreted"])
@pytest.mark.parametrize("claim", FOUND)
def test_it_is_as_in_numpy(claim: str, settings: str) -> None:
    assert replay(program_of(FOUND[claim]), **SETTINGS[settings]) is None


def program_of(text: str) -> tuple[Step, ...]:
    return tuple(Step(statement.strip()) for statement in text.split(";"))


def test_the_programs_show_something() -> None:
    """A program all of whose statements fail would pass on anything."""
    for claim, text in FOUND.items():
        env: dict[str, Any] = {"np": numpy, "numpy": numpy}
        exec(text.split(";")[0], env)
        assert "x" in env, claim
