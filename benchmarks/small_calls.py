"""What single calls on small arrays cost: `python -m benchmarks.small_calls [--quick] [--json FILE] [--only TEXT]`.

Each line runs under NumPy and under lazyarray in one process, turn by turn, on arrays of 3 and of 10 elements. A figure
is the least of all turns: whatever else the machine does only adds. The aim is `LIMIT` times NumPy for each line.
"""

import argparse
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

SIZES = (3, 10)
LIMIT = 1.3
CALLS, TURNS, QUICK_TURNS = 1000, 60, 15

# `a`, `b`: float64; `m`: a square matrix; `c`: a mask; `i`: places; `k`: int64; `s`: a NumPy scalar; `l`: a list;
# `d`, `e`: arrays of NumPy's own, on either side, `e` without axes; `y`, `z`: a complex scalar and array; `q`: a matrix
# that has an inverse; `g`: a generator; `t`: an array of text.
LINES = """
a + b | a * 2.0 | 2.0 * a | s * a | a / b | a % b | a ** 2 | -a | abs(a) | a == b | a < b | c & c | ~c | k // 2
m @ m
a += 1.0 | a -= b
a[2] | a[-1] | a[1:3] | a[::-1] | a[...] | a[None] | m[1] | m[1, 2] | m[:, 1] | m[1:3, 1:3] | a[c] | a[i] | c[0]
a[2] = 1.0 | m[1, 2] = 3.0 | a[1:3] = 0.5 | a[1:3] = b[1:3] | m[1] = a[0] | a[c] = 0.0
len(a) | a.shape | a.dtype | a.ndim | a.size | a.T | m.T | a.nbytes | a.flat | a.real
list(a) | a.tolist() | a.item(1) | bool(c[0]) | float(a.sum()) | int(k[1]) | float(a[1])
a.sum() | a.max() | a.min() | a.mean() | a.any() | a.argmax() | a.cumsum() | m.sum(axis=1) | a.dot(b) | a.std()
a.copy() | a.reshape(-1, 1) | a.ravel() | a.flatten() | a.astype(int) | a.transpose() | a.fill(1.0) | a.round(2)
a.clip(0.0, 1.0) | a.argsort() | k.tobytes()
np.add(a, b) | np.exp(a) | np.sin(a) | np.sqrt(a) | np.abs(a) | np.maximum(a, b) | np.minimum(a, 1.0) | np.isnan(a)
np.add(a, b, out=b) | np.arctan2(a, b) | np.floor(a)
np.where(c, a, b) | np.dot(a, b) | np.dot(m, m) | np.sum(a) | np.sum(m, axis=0) | np.mean(a) | np.outer(a, b)
np.clip(a, 0.0, 1.0) | np.cumsum(a) | np.round(a) | np.roll(a, 1) | np.concatenate((a, b)) | np.stack((a, b))
np.linalg.norm(a) | np.abs(a).max() | np.diff(a) | np.cross(a[:3], b[:3]) | np.sort(a) | np.allclose(a, b)
np.ravel(m)
np.transpose(m) | np.any(c)
np.zeros(n) | np.zeros((3, 3)) | np.ones(n) | np.empty(n) | np.full(n, 2.0) | np.arange(n) | np.linspace(0.0, 1.0, n)
np.array([1.0, 2.0, 3.0]) | np.asarray(a) | np.array(a) | np.zeros_like(a) | np.empty_like(a) | np.eye(3)
a + l | l + a | a * (1.0,) | a < l | a -= l | np.add(l, a) | np.maximum(a, l) | np.sqrt(l) | np.array([s, 2.0, s])
np.maximum(s, 0.0) | np.hypot(s, 4.0) | np.arctan2(s, s) | np.exp(s) | np.sqrt(2.0) | [row for row in m] | a[[0, 2]]
np.log(7) | np.exp(j) | np.hypot(3, 4) | np.log([1, 2, 3]) | 2 ** k | 2.0 ** k | np.power(2, k) | np.hypot(3.0, a)
np.zeros(j) | np.ones((j, 3)) | np.arange(j) | np.arange(0, n, j) | np.linspace(0.0, 1.0, j) | np.repeat(a, j)
j * a | a * j | j - k | a[j] | a[:j] | a.repeat(2) | a.take([1, 2]) | a.take(i) | m.diagonal() | m.swapaxes(0, 1)
a.squeeze() | np.maximum.reduce(a) | np.add.accumulate(a) | np.add.reduceat(k, [0, 2])
a + d | d + a | a < d | np.add(d, a) | np.exp(d) | np.sqrt(d) | np.maximum(d, 1.0)
s < a | s == a | s ** a | a ** s | y * z | z * y | y - z | e * a | a * e | a ** e | numpy.matmul(m, m)
np.matmul(m, m)
numpy.exp(a) | numpy.add(a, b) | numpy.sum(a) | numpy.concatenate((a, b)) | numpy.where(c, a, b)
numpy.linalg.norm(a)
np.subtract.outer(m[:, 0], m[:, 1]) | np.multiply(a, 2.0, out=b, where=c) | np.tile(a, 2) | np.any(a > 2.0)
np.pad(a, 1) | np.pad(m, 1, mode="edge") | np.cross(m[:, :3], m[:, :3]) | np.isclose(a, b)
np.allclose(a, b, atol=0.1)
np.linalg.inv(q) | np.linalg.solve(q, q[0]) | np.linalg.det(q) | q.dot(q) | np.dot(q, q[0]) | np.linalg.norm(q)
a.nonzero() | np.diag(m) | np.require(a) | np.result_type(a, k) | a.flags | a.base | numpy.asarray(a)
isinstance(a, np.ndarray) | isinstance(a, list) | isinstance(a, (int, float, list))
np.zeros([3, 3]) | np.zeros((n, 2), dtype=int) | np.zeros([n, 2], int) | np.ones([n, 2], dtype=int)
np.zeros(shape=(n, 2))
np.full([n, 2], 0.5) | np.full(n, fill_value=1.5) | np.zeros((n, 2), order="F") | np.eye(3, 4) | np.eye(3, k=1)
np.eye(n, dtype=int)
np.arange(n, dtype=float) | np.linspace(0.0, 1.0, num=n) | np.linspace(0.0, 1.0, n, endpoint=False) | np.zeros_like(l)
np.array(l, dtype=np.float32) | np.array(l, float) | np.asarray(l, dtype=float) | np.array(range(n))
np.array(a, copy=True)
np.diag(a) | np.diag(a, 1) | np.diag(l) | np.shape(l) | np.ndim(3) | np.size(l) | np.power(2, 3)
np.fromiter(l, float)
g.choice(a, 2) | g.choice([-1, 1], n) | g.permutation(a) | g.shuffle(a) | g.random() | g.random(n) | g.normal(size=n)
t == "a"
np.broadcast_to(a, (2, n)) | np.hanning(n) | np.angle(z) | np.logspace(0.0, 2.0, n)
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """Nanoseconds of one line on arrays of one size."""

    line: str
    size: int
    numpy: float
    lazyarray: float

    @property
    def ratio(self) -> float:
        return self.lazyarray / self.numpy


def names_for(np: Any, size: int) -> dict[str, Any]:
    """What a line refers to."""
    a = np.linspace(0.5, 1.5, size)
    side = 3 if size < 9 else 4
    m = np.arange(float(side * side)).reshape(side, side).copy()
    places = np.array([0, 2, 1])
    return {
        "np": np,
        "n": size,
        "a": a,
        "b": np.linspace(1.0, 2.0, size),
        "c": a > 0.9,
        "i": places,
        "k": np.arange(size),
        "m": m,
        "q": m + 20.0 * np.eye(side),
        "s": numpy.float64(3.0),
        "j": numpy.int64(2),
        "l": numpy.linspace(0.5, 1.5, size).tolist(),
        "d": numpy.linspace(0.5, 1.5, size),
        "e": numpy.array(1.5),
        "y": numpy.complex128(2j),
        "z": np.linspace(0.5, 1.5, size) * (1 + 0.5j),
        "g": np.random.default_rng(0),
        "t": np.array(["a", "b"]),
        "numpy": numpy,
    }


def measure(line: str, size: int, turns: int) -> Figure:
    """The least time of a call on either side."""
    sides = [harness.looped(line, names_for(np, size)) for np in (numpy, lazyarray)]
    for side in sides:
        side(CALLS // 10)
    least = harness.least_in_turn(sides, CALLS, turns)
    return Figure(line, size, *(1e9 * seconds / CALLS for seconds in least))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_calls", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there, too")
    parser.add_argument("--only", metavar="TEXT", default="", help="lines that contain this")
    options = parser.parse_args()
    turns = QUICK_TURNS if options.quick else TURNS
    found = [
        measure(line, size, turns) for line in harness.split_lines(LINES) if options.only in line for size in SIZES
    ]
    rows = [[f.line, str(f.size), f"{f.numpy:.0f}", f"{f.lazyarray:.0f}", f"{f.ratio:.2f}"] for f in found]
    harness.print_table(("line", "elements", "NumPy ns", "lazyarray ns", "ratio"), rows)
    mean = harness.find_mean([f.ratio for f in found])
    beyond = sum(f.ratio > LIMIT for f in found)
    print(f"\ngeometric mean {mean:.2f}; {beyond} of {len(found)} beyond {LIMIT}")
    if options.json:
        harness.save_figures(options.json, [{**asdict(f), "ratio": f.ratio} for f in found])
    return 0


if __name__ == "__main__":
    sys.exit(main())
