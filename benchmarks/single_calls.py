"""What single calls cost from 1,000 to a million elements: `python -m benchmarks.single_calls [--all] [--only TEXT]`.

Each line runs under NumPy and under lazyarray in one process, turn by turn, evaluated each time, on arrays that lie in
memory: nothing fuses, so this is where a program gains least. A figure is the least of all turns. The table holds the
lines that take longer than NumPy's; no line of what a program does should be far below `LIMIT`.
"""

import argparse
import functools
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LIMIT = 0.95
TURN_SECONDS, LINE_SECONDS, MAX_TURNS, MIN_TURNS = 3e-4, 0.05, 25, 4
WARM_CALLS, SETTLED_CALLS = 5, 12  # found again by then

# `a`, `b`: float64; `f`, `g`: float32; `z`: complex128; `k`: int64; `j`: int64 from 1 to 63; `u`: uint8; `c`: a mask,
# of which a third is true; `i`: all places in no order; `few`: a hundred of them; `r`: rising; `m`: square; `t`: rows
# of eight; `w`: eight rows. What stands behind `->` is evaluated.
LINES = """
a + b | a * 2.0 | a / b | a ** 2 | a ** 0.5 | -a | abs(a) | a == b | a < 0.5 | ~c | c & c | k + k | k // 3 | k % 7
a // 0.3 | k * 2 | u + u | f * g | z * z | z + 1.0 | a % 0.3 | k << 2 | a + k | f + a | u * 2.0 | m + m[0]
m + m[:, :1] | m.T + m | t - t[0] | t * t[:, :1] | m - m.mean(axis=0) | a * (b > 0.5) | k == 3 | k & 1 | 1.0 - a
1.0 / b | divmod(k, j) | a / 2.5 | f / 2.5 | k / 2.5 | a / a.sum() | m / m.sum(axis=1, keepdims=True)
a / np.sqrt(a * a + b * b) | z / (z + 2.0) | np.exp(a[::2]) | a[::2] / 2.5 | np.degrees(m[:, ::2])
a += 1e-9 -> a | a *= b -> a | a[1:] += 1e-9 -> a | m[1:-1, 1:-1] *= 0.5 -> m | k += 1 -> k | f -= g -> f | a[::2]
a[::-1] + 0.0 | a[1:] - a[:-1] | a[100:200] | m[3] | m[:, 3] | m[5:9] + 1.0 | m[::2, ::2] + 0.0 | m.T[3] + 1.0 | a[c]
a[i] | a[few] | m[few % 31] | m[:, few % 31] | m[few % 31, few % 31] | a[c] = 0.0 -> a | a[few] = 1.0 -> a
a[i] = b -> a | a[:] = b -> a | a[::2] = 0.5 -> a | m[3] = 1.0 -> m | m[:, 3] = 1.0 -> m | a[c] = b[c] -> a
a[few] += 1.0 -> a | a[5] | float(a[5]) | m[3, 4] | a[5] = 1.0 -> a | m[3, 4] = 2.0 -> m | m[:5, :5] | a[-1] + a[0]
k[5] | a.sum() | a.mean() | a.max() | a.min() | a.std() | a.var() | a.prod() | a.argmax() | a.argmin() | a.any()
c.all() | c.sum() | k.sum() | k.max() | u.sum() | u.mean() | f.sum() | f.max() | z.sum() | z.mean() | a.dot(b)
f.dot(g) | k.dot(k) | float(a.sum()) | m.sum(axis=0) | m.sum(axis=1) | m.mean(axis=0) | m.mean(axis=1) | m.max(axis=0)
m.max(axis=1) | m.argmax(axis=0) | m.argmax(axis=1) | m.std(axis=0) | m.std(axis=1) | m.any(axis=1) | t.sum(axis=0)
t.sum(axis=1) | w.sum(axis=0) | w.sum(axis=1) | t.max(axis=1) | t.mean(axis=0) | t.std(axis=0) | m.min()
m.T.sum(axis=0) | t - t.max(axis=1, keepdims=True)
np.median(a) | np.percentile(a, 30) | np.quantile(a, 0.9) | a.cumsum() | a.cumprod() | m.cumsum(axis=0)
m.cumsum(axis=1) | k.cumsum() | np.diff(a) | np.diff(m, axis=0) | np.ediff1d(a) | np.maximum.accumulate(a)
np.add.reduce(m, axis=1) | np.add.outer(few, few) | np.add.reduceat(a, few[:20]) | np.gradient(a)
np.add.at(k, few, 1) -> k | np.logical_and.reduce(c) | np.nansum(a) | np.nanmean(a) | np.nanmax(a) | np.nanstd(a)
np.trapezoid(a) | np.exp(a) | np.log(b) | np.sin(a) | np.cos(a) | np.tanh(a) | np.sqrt(b) | np.exp(f) | np.sin(f)
np.arctan2(a, b) | np.hypot(a, b) | np.power(b, 1.5) | np.abs(z) | np.angle(z) | z.real + 0.0 | z.imag + 0.0
np.conj(z) | np.exp(z) | np.floor(a) | np.round(a, 2) | np.rint(a) | np.sign(a) | np.isnan(a) | np.isfinite(a)
np.maximum(a, b) | np.minimum(a, 0.5) | np.clip(a, 0.2, 0.8) | np.where(c, a, b) | np.where(c, a, 0.0)
np.where(a > 0.5) | np.nonzero(c) | np.flatnonzero(c) | np.argwhere(c) | np.count_nonzero(c)
np.select([c, ~c], [a, b]) | np.add(a, b, out=a) | np.multiply(a, b, where=c, out=b) | np.exp(a, out=a)
np.logaddexp(a, b) | np.gcd(k, j) | np.sinc(a) | np.deg2rad(a) | np.nan_to_num(a) | np.square(a) | np.cbrt(a)
np.fmod(a, b) | np.copysign(a, b) | np.mod(k, j) | np.bitwise_and(k, j) | np.logical_not(c) | np.isclose(a, b)
np.allclose(a, a) | np.array_equal(a, a) | np.interp(a, r, r) | np.heaviside(a, 0.5) | np.unwrap(a)
np.concatenate((a, b)) | np.vstack((a, b)) | np.hstack((a, b)) | np.stack((a, b)) | np.stack((a, b), axis=1)
np.column_stack((a, b)) | np.append(a, 1.0) | np.append(a, b) | np.insert(a, 7, 1.0) | np.insert(a, few, 1.0)
np.delete(a, 7) | np.delete(a, few) | np.delete(m, 3, axis=0) | np.repeat(a, 2) | np.repeat(m, 2, axis=0)
np.tile(a, 2) | np.roll(a, 7) | np.roll(m, 3, axis=1) | np.flip(a) + 0.0 | np.rot90(m) + 0.0 | np.pad(a, 3)
np.pad(m, 1) | np.pad(m, 1, mode='edge') | np.pad(m, 1, mode='wrap') | np.pad(m, 1, mode='reflect')
np.block([[m, m], [m, m]]) | np.split(a, 4) | np.array_split(a, 7) | a.copy() | m.T.copy() | a.reshape(-1, 2) + 0.0
m.ravel() | m.T.ravel() | m.flatten() | a.astype('f4') | a.astype(int) | k.astype(float) | u.astype(float)
a.astype('c16') | c.astype(int) | a.view('i8') | a.view('i8') + 1 | len(a.tolist()) | a.tobytes() | a.byteswap()
np.ascontiguousarray(m.T) | np.array(a) | np.asarray(a) | np.squeeze(m[None]) + 0.0 | np.expand_dims(a, 0) + 0.0
np.moveaxis(m, 0, 1) + 0.0 | np.broadcast_to(a[:10], (50, 10)) + 0.0 | np.resize(a, 50) | np.trim_zeros(a)
np.swapaxes(m, 0, 1) + 0.0 | np.atleast_2d(a) + 0.0 | np.zeros(n) | np.ones(n) | np.empty(n) | np.full(n, 2.0)
np.arange(n) | np.arange(0.0, n, 1.0) | np.linspace(0.0, 1.0, n) | np.zeros_like(a) | np.full_like(a, 3.0)
np.ones_like(a) | np.eye(30) | np.identity(30) | np.diag(a[:30]) | np.logspace(0, 1, n) | np.meshgrid(a[:30], b[:30])
np.indices((30, 30)) | np.mgrid[:30, :30] | np.ogrid[:30, :30] | np.tri(30) | np.triu(m) | np.tril(m)
np.diag(m) + 0.0 | np.trace(m) | np.fromfunction(lambda y, x: y + x, (30, 30)) | np.vander(a[:30], 4) | np.hanning(n)
np.array([a, b]) | np.array(list(w)) | np.asarray([a[0], a[1], a[2]]) | np.sort(a) | np.argsort(a)
np.sort(k) | np.sort(m, axis=0)
np.partition(a, 9) | np.unique(j) | np.unique(j, return_counts=True) | np.unique(a) | np.searchsorted(r, a)
np.digitize(a, r[:64]) | np.bincount(j) | np.bincount(j, weights=a) | np.histogram(a)
np.histogram(a, bins=64, range=(0, 1)) | np.histogram2d(a, b) | np.isin(j, few) | np.intersect1d(j, few)
np.union1d(j, few) | np.setdiff1d(j, few) | np.lexsort((a, j)) | np.take(a, i) | np.take(a, few)
np.take(m, few % 31, axis=0) | np.take_along_axis(a, i, 0) | np.compress(c, a) | np.extract(c, a)
np.put(a, few, 1.0) -> a | np.choose(u % 2, (a, b)) | np.putmask(a, c, 0.0) -> a | np.place(a, c, [1.0]) -> a
np.copyto(a, b) -> a | np.fill_diagonal(m, 1.0) -> m | a.fill(1.0) -> a | np.ix_(few[:9], few[:9])
np.unravel_index(few, (1000, 1000)) | np.ravel_multi_index((few % 31, few % 31), (31, 31)) | np.flatnonzero(a > 0.99)
np.dot(a, b) | np.inner(a, b) | np.vdot(a, b) | np.outer(few, few) | t @ t[:8] | w @ w.T | m @ m[0] | m[0] @ m
t.T @ t | np.outer(a[:30], b[:30]) | np.kron(m[:3, :3], m[:9, :9]) | np.einsum('i,i', a, b)
np.einsum('ij,ij->i', t, t) | np.einsum('ij->j', t) | np.einsum('ij,j->i', t, t[0]) | np.einsum('ii', m)
np.einsum('ij,kj->ik', w, w) | np.einsum('i,j->ij', few, few) | np.tensordot(t, t, axes=([0], [0]))
np.tensordot(w, w, axes=([1], [1])) | np.cross(m[:, :3], m[:, 1:4]) | np.cov(w) | np.corrcoef(w) | np.linalg.norm(a)
np.linalg.norm(t, axis=1) | np.linalg.norm(m) | np.convolve(a, a[:9]) | np.convolve(a, a[:9], 'same')
np.correlate(a, a[:9]) | np.polyval([1.0, 2.0, 3.0], a) | np.polyfit(r[:300], a[:300], 2)
np.linalg.solve(w[:, :8], w[:, 8]) | np.linalg.inv(w[:, :8]) | np.linalg.det(w[:, :8]) | np.average(a, weights=b)
np.average(t, axis=0) | np.fft.fft(a) | np.fft.rfft(a) | np.fft.ifft(z) | np.fft.fft2(m) | np.fft.fftshift(a)
np.fft.fftfreq(n) | np.fft.irfft(z) | rng.random(n) | rng.normal(size=n) | rng.integers(0, 9, n) | rng.permutation(n)
rng.choice(a, 50) | np.random.rand(n) | np.random.randn(n) | np.ma.masked_where(c, a)
np.apply_along_axis(np.sum, 1, w) | np.vectorize(abs)(a[:50]) | np.piecewise(a, [c, ~c], [1.0, 2.0]) | np.packbits(u)
np.unpackbits(u) | np.char.upper(np.array(['a'] * 50)) | np.array2string(a[:20]) | repr(a[:20]) | len(a) | a.shape
a.size | a.T | a.nbytes | a.flags | a.base | a.strides | a.ctypes | len(list(a[:50])) | sum(a[:50])
[x for x in m[:5]] | max(a[:50]) | np.max(a) | np.min(m, axis=0) | np.amax(m, axis=1) | np.sum(m, axis=(0, 1))
np.ndim(a) | np.shape(a) | np.rad2deg(a) | np.real(z) + 0.0 | np.iscomplexobj(z) | np.result_type(a, f)
np.can_cast('f4', 'f8') | np.finfo(float).eps | np.lib.stride_tricks.sliding_window_view(a, 3).sum(axis=1)
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """Microseconds of one line on arrays of one size."""

    line: str
    size: int
    numpy: float
    lazyarray: float

    @property
    def ratio(self) -> float:
        """How many times as fast as NumPy."""
        return self.numpy / self.lazyarray


@functools.cache
def draw_numbers(size: int) -> dict[str, Any]:
    """What lines refer to, as NumPy's arrays."""
    draw = numpy.random.default_rng(3)
    side = math.isqrt(size)
    return {
        "a": draw.random(size),
        "b": draw.random(size) + 0.5,
        "f": draw.random(size, numpy.float32),
        "g": draw.random(size, numpy.float32),
        "z": draw.random(size) + 1j * draw.random(size),
        "k": draw.integers(0, 1000, size),
        "j": draw.integers(1, 64, size),
        "u": draw.integers(0, 256, size, numpy.uint8),
        "c": draw.random(size) < 1 / 3,
        "i": draw.permutation(size),
        "few": draw.choice(size, min(size, 100), replace=False),
        "r": numpy.sort(draw.random(size)),
        "m": draw.random((side, side)),
        "t": draw.random((size // 8, 8)),
        "w": draw.random((8, size // 8)),
    }


def names_for(np: Any, size: int, shared: bool = False) -> dict[str, Any]:
    """The same numbers for each side, in arrays of its own that lie in memory; `shared`: that NumPy's refer to, too."""
    if shared:
        theirs = {name: value.copy() for name, value in draw_numbers(size).items()}
        named: dict[str, Any] = {name: np.asarray(value) for name, value in theirs.items()}
        named["theirs"] = theirs
    else:
        named = {name: np.array(value) for name, value in draw_numbers(size).items()}
    return {"np": np, "n": size, "rng": np.random.default_rng(5), **named}


def evaluated(line: str) -> str:
    """The line with what it gives evaluated; NumPy's side asks for that too, and is let through."""
    statement, _, result = line.partition(" -> ")
    return f"{statement}; done({result})" if result else f"done({line})"


def measure(line: str, size: int, shared: bool) -> Figure:
    """The least time of a call on either side."""
    work, done = evaluated(line), {"done": lazyarray.evaluate}
    alone = harness.looped(work, harness.as_alone(names_for, numpy, size) | done)
    sides: list[Callable[[int], float]] = [
        functools.partial(harness.as_alone, alone),
        harness.looped(work, names_for(lazyarray, size, shared) | done),
    ]
    for side in sides:
        harness.warm_up(functools.partial(side, 1), WARM_CALLS)
    guess = max(side(1) for side in sides)
    for side in sides:
        side(min(SETTLED_CALLS, 1 + int(LINE_SECONDS / guess)))
    guess = max(min(side(1) for _ in range(3)) for side in sides)
    calls = max(1, int(TURN_SECONDS / guess))
    turns = max(MIN_TURNS, min(MAX_TURNS, int(LINE_SECONDS / (calls * guess))))
    least = harness.least_in_turn(sides, calls, turns)
    return Figure(line, size, *(1e6 * seconds / calls for seconds in least))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.single_calls", description=__doc__)
    parser.add_argument("--all", action="store_true", help="show lines that are ahead, too")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there, too")
    parser.add_argument("--only", metavar="TEXT", default="", help="lines that contain this")
    parser.add_argument("--shared", action="store_true", help="our arrays are memory that NumPy's refer to, too")
    parser.add_argument("--sizes", metavar="N,N", default=",".join(map(str, SIZES)), help="numbers of elements")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    found = []
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for size in sizes:
            found += [
                measure(line, size, options.shared) for line in harness.split_lines(LINES) if options.only in line
            ]
    shown = sorted((f for f in found if options.all or f.ratio < LIMIT), key=lambda f: (f.line, f.size))
    rows = [[f.line, str(f.size), f"{f.numpy:.2f}", f"{f.lazyarray:.2f}", f"{f.ratio:.2f}x"] for f in shown]
    harness.print_table(("line", "elements", "NumPy us", "lazyarray us", "NumPy / lazyarray"), rows)
    print()
    for size in sizes:
        ratios = [f.ratio for f in found if f.size == size]
        behind = sum(ratio < LIMIT for ratio in ratios)
        mean = harness.find_mean(ratios)
        print(f"{size} elements: geometric mean {mean:.2f}x; {behind} of {len(ratios)} below {LIMIT}x")
    if options.json:
        harness.save_figures(options.json, [{**asdict(f), "ratio": f.ratio} for f in found])
    return 0


if __name__ == "__main__":
    sys.exit(main())
