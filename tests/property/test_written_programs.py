"""Programs written by hand: aliasing, order of reads and writes, scalars, errors that must change nothing."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.config import config
from tests.property.programs import Policy, Step, compare, run

PROGRAMS = {
    "a write through a view is seen through its base": "x = np.arange(6.0); y = x[1:4]; y[1] = 50; z = x * 2",
    "a write to the base is seen through a view": "x = np.arange(6.0); y = x[::-2]; x[:] = x * 3; z = y + 1",
    "a view of a view of a view": (
        "x = np.arange(24.0).reshape(2, 3, 4); y = x[:, 1:].T[1:3, :, 0]; y *= -1; z = x + 0"
    ),
    "a pending reader keeps the old value": "x = np.arange(5.0); y = x + 1; x[0] = 99; z = y * 2",
    "a pending reader of a pending write": "x = np.arange(5); y = x * 2; y[1:] = x[:-1]; z = y + x; y[0] = 7",
    "the right side is computed first": "x = np.arange(8); x[1:] = x[:-1] * 2",
    "a reversal in place": "x = np.arange(9.0); x[:] = x[::-1]",
    "a transpose added in place": "x = np.arange(9.0).reshape(3, 3); x += x.T",
    "an overlapping out": "x = np.arange(8.0); np.add(x[:-1], x[1:], out=x[1:])",
    "an overlapping out the other way": "x = np.arange(8.0); np.multiply(x[1:], 2, out=x[:-1])",
    "two names, one array": "x = np.zeros(4); y = x; y += 1; del x; y[0] = 5",
    "in place makes no new array": "x = np.ones((2, 2)); y = x.ravel(); x -= 3; y[0] = 8",
    "ravel of a transpose copies": "x = np.arange(6).reshape(2, 3); y = x.T.ravel(); y[0] = 9; z = x + 0",
    "a scalar keeps the value it had": "x = np.arange(4.0); s = x.sum(); x[0] = 100; t = s + 1",
    "a scalar rebinds": "x = np.arange(4.0); s = x[2]; t = s; s += 1; x[2] = 9",
    "a zero-dimensional array mutates": "x = np.array(3.0); y = x; x += 1; z = y * 2",
    "real and imag alias": "x = np.array([1 + 2j, 3 - 4j]); x.imag[...] = 7; y = x.real; y *= 2; z = x + 0",
    "diagonal reads later writes": "x = np.zeros((3, 3)); d = np.diagonal(x); x[1, 1] = 4; y = d + 1",
    "broadcast_to reads later writes": "x = np.zeros(3); b = np.broadcast_to(x, (2, 3)); x[1] = 4; y = b + 1",
    "a mask of the array itself": "x = np.arange(-4.0, 4.0); x[x < 0] = 0; x[x > 2] *= 10",
    "repeated places, last one wins": "x = np.zeros(4); x[[0, 1, 0]] = [1, 2, 3]; x[[2, 2, 3]] += 5",
    "a fancy read copies": "x = np.arange(5); y = x[[1, 1, 3]]; y[0] = 40; x[1] = 50; z = y + 0",
    "a boolean read copies": "x = np.arange(5); y = x[x > 1]; x[:] = 0; z = y * 2",
    "np.where and copyto": "x = np.arange(6.0); m = x > 2; y = np.where(m, x, -x); np.copyto(x, y, where=~m)",
    "an error writes nothing": ("x = np.arange(4.0); y = x * 2; x[:] = np.zeros(3); x += y; x[7] = 1; x[:, 0] = 2"),
    "a wrong dtype writes nothing": "x = np.arange(4); x += 0.5; x /= 2; y = x + 1; np.add(x, 0.5, out=x)",
    "a wrong shape in out": "x = np.ones(3); y = np.ones(4); np.add(x, x, out=y); z = x @ y",
    "a read-only view refuses": ("x = np.zeros(3); b = np.broadcast_to(x, (2, 3)); b[0, 0] = 1; b += 1; y = x + 1"),
    "concatenate then write": ("x = np.arange(3); y = np.concatenate((x, x[::-1])); x[:] = 9; y[0] = -1; z = y + 0"),
    "roll and pad then write": "x = np.arange(4); y = np.roll(x, 1); z = np.pad(x, 1); x += 1; y += z[:4]",
    "in-place scan": "x = np.arange(1.0, 6.0); np.cumsum(x, out=x); y = x - x.max()",
    "a reduction of what is then written": (
        "x = np.arange(6.0).reshape(2, 3); m = x.mean(axis=0); x -= m; x /= x.std(axis=0)"
    ),
    "a reduction into a row": "x = np.arange(6.0).reshape(2, 3); x.sum(axis=0, out=x[0]); y = x + 0",
    "swapping rows": "x = np.arange(6).reshape(3, 2); t = x[0].copy(); x[0] = x[2]; x[2] = t",
    "swapping rows by places": "x = np.arange(6).reshape(3, 2); x[[0, 2]] = x[[2, 0]]",
    "fill and flat": "x = np.arange(4.0); y = x * 2; x.fill(3); x.flat[1] = 8; z = x + y",
    "setting one element of an expression": "x = np.arange(4.0) + 1; x[2] = -1; y = x * x; y[0] = x[2]",
    "real parts computed, then written": "x = (np.arange(3) * 1j).imag; x[1] = 5; y = x + 1",
    "a shape set in place": "x = np.arange(6); y = x.view(); x.shape = (2, 3); x[0, 1] = 10; z = y + 0",
    "unsigned wraps": ("x = np.array([250, 5], dtype='u1'); x += 10; y = x - np.array([10, 20], dtype='u1'); z = -x"),
    "signed zeros": (
        "x = np.array([0.0, -0.0]); y = x + 0.0; z = x * 1; w = x - x; v = -x; u = np.abs(x); s = x.sum()"
    ),
    "integer division by zero": "x = np.array([7, -7, 0]); y = x // 0; z = x % 0; w = x / 0",
}
LOOPS = {
    "a heat equation": """
a = np.zeros((6, 7)); a[0] = 1.0; b = a.copy()
for i in range(9):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    a, b = b, a
""",
    "a long chain": """
x = np.arange(5.0)
for i in range(400):
    x = x * 0.5 + i
""",
    "many writes to one array": """
x = np.zeros(16)
for i in range(16):
    x[i] = x[i - 1] + i
    x[i:] += 0.5
""",
    "a loop over a scalar": """
x = np.arange(10.0); n = 0
while x.sum() > 1:
    x /= 2; n += 1
y = x * n
""",
    "a Fibonacci of views": """
x = np.ones(20)
for i in range(2, 20):
    x[i] = x[i - 1] + x[i - 2]
""",
}
CASES = {n: [s.strip() for s in text.split(";")] for n, text in PROGRAMS.items()}
CASES |= {name: [text] for name, text in LOOPS.items()}


@pytest.mark.parametrize("policy", ["never", "each"])
@pytest.mark.parametrize("eager_below", [None, 0], ids=["small arrays eager", "all recorded"])
@pytest.mark.parametrize("name", CASES)
def test_written_program_equals_numpy(name: str, eager_below: int | None, policy: Policy) -> None:
    program = tuple(Step(line) for line in CASES[name])
    wanted = run(program, numpy, policy)
    changed: dict[str, Any] = {} if eager_below is None else {"eager_below": eager_below}
    with config.set(**changed):
        got = run(program, lazyarray, policy)
    assert compare(wanted, got) == []
