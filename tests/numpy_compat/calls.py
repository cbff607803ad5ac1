"""Owns a representative call of every public function, on arrays large enough to be recorded.

Where the arguments of a function do not matter, they are the first in a list that NumPy itself accepts; the functions
for which that would say nothing have calls of their own.
"""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable
from io import StringIO
from os import devnull
from typing import Any, Final

import numpy

import lazyarray

Call = Callable[[Any, Any], Any]  # of the module that is tried, and its operands


LARGE: Final = 80  # squared, more than `eager_below`
SMALL: Final = 4
# So small that what NumPy does of larger operands in memory at once (`frontend/at_once.py`) is recorded, too.
RECORDED_FROM: Final = 256


def _operands(side: int) -> dict[str, Callable[[], Any]]:
    """How each operand is made: `side` x `side` elements, or that many in a row."""
    count = side * side
    square = numpy.random.default_rng(7).random((side, side)) + 0.5
    return {
        "x": lambda: square,
        "y": lambda: square[::-1].copy(),
        "v": lambda: square.ravel() - 0.5,
        "w": lambda: square.ravel()[::-1].copy(),
        "spd": lambda: square @ square.T + side * numpy.eye(side),
        "i": lambda: numpy.arange(count).reshape(side, side) % (side - 1),
        "j": lambda: numpy.arange(count).reshape(side, side) % (side - 2) + 1,
        "k": lambda: numpy.arange(count) % side,
        "bits": lambda: (square > 1).astype(numpy.uint8),
        "b": lambda: square > 1,
        "ramp": lambda: numpy.arange(float(count)),
        "s": lambda: numpy.array([f"{n} item" for n in range(count)]),
        "raw": lambda: numpy.array([b"%d item" % n for n in range(count)]),
        "days": lambda: numpy.arange(count).astype("M8[D]"),
        "record": lambda: numpy.zeros(count, "f8,i8"),
        "index": lambda: numpy.array([3, 1, 2]),
    }


NUMBERS: Final = "x y v w spd i j k bits b ramp index".split()


class Operands:
    """Arrays of one package; lazyarray's numbers were computed, as most arrays of a program are, and lie in memory."""

    def __init__(self, package: Any, side: int) -> None:
        self._package = package
        self._makers = _operands(side)
        if package is lazyarray:
            for name in NUMBERS:
                array = self.__dict__[name] = getattr(self, name)[:].copy()
                array.evaluate()

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = self._package.array(self._makers[name]())
        return value


_THEIRS: Final = {side: Operands(numpy, side) for side in (LARGE, SMALL)}

# Modules whose functions are NumPy's whatever the size; they run on small arrays with `eager_below` at 0.
SMALL_MODULES: Final = ("ma", "polynomial", "lib", "testing", "ctypeslib", "matlib", "f2py", "rec", "random")

# Tried in this order on NumPy.
GUESSES: Final[tuple[Callable[[Any], tuple[Any, ...]], ...]] = (
    lambda o: (o.x,),
    lambda o: (o.x, o.y),
    lambda o: (o.i,),
    lambda o: (o.i, o.j),
    lambda o: (o.v,),
    lambda o: (o.v, o.w),
    lambda o: (o.x, 1),
    lambda o: (o.s,),
    lambda o: (o.s, o.s),
    lambda o: (o.s, "i"),
    lambda o: (o.s, 20),
    lambda o: (o.s, "i", "j"),
    lambda o: (o.raw,),
    lambda o: (o.v, o.x),
    lambda o: (o.v, o.v, o.x),
    lambda o: (o.v, o.v, o.v, o.x[:, 0]),
    lambda o: (o.x, 0, 1),
    lambda o: (o.v, 2),
    lambda o: (1, 2),
    lambda o: (o.v, o.w, 2),
    lambda o: (o.v, o.w, [2, 2]),
    lambda o: (o.v, o.w, o.v, [1, 1, 1]),
    lambda o: (o.v, [0, 1], [0, 2]),
    lambda o: (numpy.sin, 3),
    lambda o: (numpy.ma.zeros(16, "f8,i8"),),
    lambda o: (o.record,),
    lambda o: (o.record.dtype,),
    lambda o: (o.record, "f0"),
    lambda o: (o.record, o.record),
    lambda o: (o.record, o.record.dtype),
    lambda o: (o.record, "more", o.v),
    lambda o: (o.record, {"f0": "g0"}),
    lambda o: ("f0", o.record, o.record),
    lambda o: (numpy.mean, o.record),
    lambda o: (80,),
    lambda o: (),
)

CALLS: Final[dict[str, Call]] = {
    "apply_along_axis": lambda m, o: m.apply_along_axis(lambda row: row.sum(), 0, o.x),
    "apply_over_axes": lambda m, o: m.apply_over_axes(m.sum, o.x, [0]),
    "arange": lambda m, o: m.arange(6400.0),
    "array_split": lambda m, o: m.array_split(o.x, 3),
    "astype": lambda m, o: m.astype(o.x, "f4"),
    "block": lambda m, o: m.block([[o.x, o.y], [o.y, o.x]]),
    "broadcast_arrays": lambda m, o: m.broadcast_arrays(o.x, o.x[0]),
    "broadcast_shapes": lambda m, o: m.broadcast_shapes((80, 1), (1, 80)),
    "broadcast_to": lambda m, o: m.broadcast_to(o.x, (3, 80, 80)),
    "can_cast": lambda m, o: m.can_cast(o.x.dtype, "f4"),
    "choose": lambda m, o: m.choose(o.bits, [o.x, o.y]),
    "clip": lambda m, o: m.clip(o.x, 0.1, 0.9),
    "compress": lambda m, o: m.compress(o.b[0], o.x, axis=1),
    "concatenate": lambda m, o: m.concatenate([o.x, o.y]),
    "concat": lambda m, o: m.concat([o.x, o.y]),
    "copyto": lambda m, o: written(o.x, lambda x: m.copyto(x, o.y)),
    "cross": lambda m, o: m.cross(o.x[:78].reshape(-1, 3), o.y[:78].reshape(-1, 3)),
    "delete": lambda m, o: m.delete(o.x, 3, axis=0),
    "digitize": lambda m, o: m.digitize(o.v, m.linspace(0, 1, 9)),
    "dsplit": lambda m, o: m.dsplit(o.x.reshape(80, 8, 10), 2),
    "einsum": lambda m, o: m.einsum("ij,jk->ik", o.x, o.y),
    "expand_dims": lambda m, o: m.expand_dims(o.x, 0),
    "extract": lambda m, o: m.extract(o.b, o.x),
    "eye": lambda m, o: m.eye(80),
    "fill_diagonal": lambda m, o: written(o.x + 1.0, lambda x: m.fill_diagonal(x, 1.0)),
    "from_dlpack": lambda m, o: m.from_dlpack(o.x),
    "frombuffer": lambda m, o: m.frombuffer(bytes(51200)),
    "fromfunction": lambda m, o: m.fromfunction(lambda i, j: i + j, (80, 80)),
    "fromiter": lambda m, o: m.fromiter(range(6400), float),
    "fromstring": lambda m, o: m.fromstring("1 2 3", sep=" "),
    "full": lambda m, o: m.full((80, 80), 2.5),
    "full_like": lambda m, o: m.full_like(o.x, 2.5),
    "geomspace": lambda m, o: m.geomspace(1.0, 9.0, 6400),
    "histogram2d": lambda m, o: m.histogram2d(o.v, o.w),
    "hsplit": lambda m, o: m.hsplit(o.x, 2),
    "identity": lambda m, o: m.identity(80),
    "indices": lambda m, o: m.indices((80, 80)),
    "insert": lambda m, o: m.insert(o.x, 3, 1.0, axis=0),
    "interp": lambda m, o: m.interp(o.v, o.ramp, o.w),
    "isdtype": lambda m, o: m.isdtype(o.x.dtype, "integral"),
    "is_busday": lambda m, o: m.is_busday(o.days),
    "busday_count": lambda m, o: m.busday_count(o.days, o.days),
    "busday_offset": lambda m, o: m.busday_offset(o.days, 1, roll="forward"),
    "isin": lambda m, o: m.isin(o.i, o.index),
    "isnat": lambda m, o: m.isnat(o.days),
    "datetime_as_string": lambda m, o: m.datetime_as_string(o.days),
    "kron": lambda m, o: m.kron(o.x[:8, :8], o.y[:20, :20]),
    "lexsort": lambda m, o: m.lexsort((o.v, o.w)),
    "linspace": lambda m, o: m.linspace(0.0, 1.0, 6400),
    "logspace": lambda m, o: m.logspace(0.0, 1.0, 6400),
    "mask_indices": lambda m, o: m.mask_indices(80, m.triu),
    "matmul": lambda m, o: m.matmul(o.x, o.y),
    "moveaxis": lambda m, o: m.moveaxis(o.x, 0, 1),
    "nan_to_num": lambda m, o: m.nan_to_num(o.x),
    "ones": lambda m, o: m.ones((80, 80)),
    "zeros": lambda m, o: m.zeros((80, 80)),
    "empty": lambda m, o: m.empty((80, 80)),
    "pad": lambda m, o: m.pad(o.x, 1),
    "partition": lambda m, o: m.partition(o.x, 3),
    "argpartition": lambda m, o: m.argpartition(o.x, 3),
    "piecewise": lambda m, o: m.piecewise(o.x, [o.x < 1, o.x >= 1], [-1.0, 1.0]),
    "place": lambda m, o: written(o.x, lambda x: m.place(x, o.b, [1.0, 2.0])),
    "polyfit": lambda m, o: m.polyfit(o.v, o.w, 2),
    "polyval": lambda m, o: m.polyval([1.0, 2.0, 3.0], o.x),
    "promote_types": lambda m, o: m.promote_types("f4", "i8"),
    "put": lambda m, o: written(o.x + 1.0, lambda x: m.put(x, o.index, 1.0)),
    "putmask": lambda m, o: written(o.x, lambda x: m.putmask(x, o.b, 1.0)),
    "put_along_axis": lambda m, o: written(o.x, lambda x: m.put_along_axis(x, o.i, 1.0, axis=1)),
    "quantile": lambda m, o: m.quantile(o.x, 0.3),
    "nanquantile": lambda m, o: m.nanquantile(o.x, 0.3),
    "percentile": lambda m, o: m.percentile(o.x, 30),
    "nanpercentile": lambda m, o: m.nanpercentile(o.x, 30),
    "ravel_multi_index": lambda m, o: m.ravel_multi_index((o.i, o.j), (80, 80)),
    "unravel_index": lambda m, o: m.unravel_index(o.i, (8, 10)),
    "repeat": lambda m, o: m.repeat(o.x, 2, axis=0),
    "require": lambda m, o: m.require(o.x, "f4"),
    "reshape": lambda m, o: m.reshape(o.x, (40, 160)),
    "resize": lambda m, o: m.resize(o.x, (90, 90)),
    "result_type": lambda m, o: m.result_type(o.x, o.i),
    "roll": lambda m, o: m.roll(o.x, 3, axis=0),
    "rollaxis": lambda m, o: m.rollaxis(o.x, 1),
    "searchsorted": lambda m, o: m.searchsorted(o.ramp, o.v),
    "select": lambda m, o: m.select([o.b, ~o.b], [o.x, o.y]),
    "split": lambda m, o: m.split(o.x, 2),
    "stack": lambda m, o: m.stack([o.x, o.y]),
    "hstack": lambda m, o: m.hstack([o.x, o.y]),
    "vstack": lambda m, o: m.vstack([o.x, o.y]),
    "dstack": lambda m, o: m.dstack([o.x, o.y]),
    "column_stack": lambda m, o: m.column_stack([o.x, o.y]),
    "row_stack": lambda m, o: m.row_stack([o.x, o.y]),
    "swapaxes": lambda m, o: m.swapaxes(o.x, 0, 1),
    "take": lambda m, o: m.take(o.x, o.k, axis=0),
    "take_along_axis": lambda m, o: m.take_along_axis(o.x, o.i, axis=1),
    "tensordot": lambda m, o: m.tensordot(o.x, o.y, 1),
    "tile": lambda m, o: m.tile(o.x, (2, 2)),
    "trapezoid": lambda m, o: m.trapezoid(o.x),
    "trapz": lambda m, o: m.trapz(o.x),
    "tri": lambda m, o: m.tri(80),
    "vander": lambda m, o: m.vander(o.v, 3),
    "vsplit": lambda m, o: m.vsplit(o.x, 2),
    "where": lambda m, o: m.where(o.b, o.x, o.y),
    "bincount": lambda m, o: m.bincount(o.k),
    "packbits": lambda m, o: m.packbits(o.bits),
    "unpackbits": lambda m, o: m.unpackbits(o.bits),
    "ix_": lambda m, o: m.ix_(o.k, o.k),
    "kaiser": lambda m, o: m.kaiser(6400, 14.0),
    "einsum_path": lambda m, o: m.einsum_path("ij,jk->ik", o.x, o.y),
    "convolve": lambda m, o: m.convolve(o.v, o.w[:9]),
    "correlate": lambda m, o: m.correlate(o.v, o.w[:9]),
    "roots": lambda m, o: m.roots([1.0, -3.0, 2.0] + [0.0] * 9),
    "poly": lambda m, o: m.poly(o.v[:20]),
    "polydiv": lambda m, o: m.polydiv(o.v, o.w[:9]),
    "polymul": lambda m, o: m.polymul(o.v, o.w[:9]),
    "trim_zeros": lambda m, o: m.trim_zeros(o.v),
    "vecdot": lambda m, o: m.vecdot(o.x, o.y),
    "matvec": lambda m, o: m.matvec(o.x, o.y[0]),
    "vecmat": lambda m, o: m.vecmat(o.x[0], o.y),
    "ldexp": lambda m, o: m.ldexp(o.x, o.i),
    "ma.fromflex": lambda m, o: m.fromflex(numpy.ma.ones(16).toflex()),
    "ma.reshape": lambda m, o: m.reshape(o.x, (8, 2)),
    "ma.mrecords.addfield": lambda m, o: m.addfield(m.fromarrays([[1.0], [2.0]]), o.v[:1]),
    "linalg.multi_dot": lambda m, o: m.multi_dot([o.x, o.y, o.x]),
    "linalg.cross": lambda m, o: m.cross(o.x[:78].reshape(-1, 3), o.y[:78].reshape(-1, 3)),
    "linalg.matrix_power": lambda m, o: m.matrix_power(o.x, 3),
    "linalg.cholesky": lambda m, o: m.cholesky(o.spd),
    "linalg.tensorinv": lambda m, o: m.tensorinv(o.spd.reshape(8, 10, 80), ind=2),
    "linalg.tensorsolve": lambda m, o: m.tensorsolve(o.spd, o.v[:80]),
    "linalg.tensordot": lambda m, o: m.tensordot(o.x, o.y, axes=1),
    "fromregex": lambda m, o: m.fromregex(StringIO("1 2"), r"(\\d) (\\d)", [("a", int), ("b", int)]),
    "genfromtxt": lambda m, o: m.genfromtxt(StringIO("1 2")),
    "loadtxt": lambda m, o: m.loadtxt(StringIO("1 2")),
    "char.compare_chararrays": lambda m, o: m.compare_chararrays(o.s, o.s, "==", False),
    "char.partition": lambda m, o: m.partition(o.s, "i"),
    "char.split": lambda m, o: m.split(o.s),
    "strings.partition": lambda m, o: m.partition(o.s, "i"),
    "rec.fromstring": lambda m, o: m.fromstring(bytes(51200), dtype="f8"),
}

# Functions that are not called here: what a call would do, or why it could show nothing.
NOT_RUN: Final[dict[str, str]] = {
    "fromfile": "reads a file",
    "load": "reads a file",
    "rec.fromfile": "reads a file",
    "lib.format": "reads and writes files",
    "ma.mrecords.fromtextfile": "reads a file",
    "ma.mrecords.openfile": "reads a file",
    "lib.add_docstring": "changes a docstring",
    "lib.add_newdoc": "changes a docstring",
    "polynomial.set_default_printstyle": "changes a setting",
    "f2py": "reads and compiles Fortran",
}


def written(array: Any, write: Callable[[Any], object]) -> Any:
    """The array, after it was written to."""
    write(array)
    return array


def arguments(source: Callable[..., Any], side: int) -> Callable[[Any], tuple[Any, ...]]:
    """The first guess that NumPy's function accepts."""
    for guess in GUESSES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source(*copy.deepcopy(guess(_THEIRS[side])))
        except Exception:
            continue
        return guess
    raise LookupError(f"no arguments are known for {source}: it needs a call of its own")


def find(package: Any, path: str) -> Any:
    """A module of a package by its path below it."""
    if path in ("", "emath"):
        return getattr(package, path) if path else package
    return importlib.import_module(f"{package.__name__}.{path}")


def run(path: str, name: str) -> Any:
    """What runs in one call of a public function, its result evaluated."""
    side = SMALL if path.partition(".")[0] in SMALL_MODULES else LARGE
    module = find(lazyarray, path)
    call = CALLS.get(f"{path}.{name}" if path else name) or CALLS.get(name)
    if call is None:
        guess = arguments(getattr(find(numpy, path), name), side)
        return recorded(lambda o: getattr(module, name)(*guess(o)), side)
    made = call
    return recorded(lambda o: made(module, o), side)


def recorded(call: Callable[[Any], Any], side: int = LARGE) -> Any:
    """What ran, the result evaluated."""
    operands = Operands(lazyarray, side)
    limit = RECORDED_FROM if side == LARGE else 0
    with warnings.catch_warnings(), lazyarray.config.set(eager_below=limit):
        warnings.simplefilter("ignore")
        with lazyarray.record_runs() as runs:
            evaluate(call(operands))
    return runs


def evaluate(result: Any) -> None:
    """Evaluates the arrays in a result."""
    if isinstance(result, tuple | list):
        for item in result:
            evaluate(item)
    elif hasattr(type(result), "evaluate"):
        result.evaluate()


# ---- methods and attributes

METHODS: Final[dict[str, Callable[[Any], Any]]] = {
    "argpartition": lambda o: o.x.argpartition(3),
    "astype": lambda o: o.x.astype("f4"),
    "byteswap": lambda o: o.x.byteswap(),
    "choose": lambda o: o.bits.choose([o.x, o.y]),
    "clip": lambda o: o.x.clip(0.1, 0.9),
    "compress": lambda o: o.x.compress(o.b[0], axis=1),
    "dot": lambda o: o.x.dot(o.y),
    "dump": lambda o: o.x.dump(devnull),
    "fill": lambda o: written(o.x, lambda x: x.fill(1.0)),
    "getfield": lambda o: o.record.getfield("f8"),
    "item": lambda o: o.x.item(0),
    "partition": lambda o: written(o.x, lambda x: x.partition(3)),
    "put": lambda o: written(o.x, lambda x: x.put(o.index, 1.0)),
    "repeat": lambda o: o.x.repeat(2, axis=0),
    "reshape": lambda o: o.x.reshape(40, 160),
    "resize": lambda o: written(o.x, lambda x: x.resize((90, 90), refcheck=False)),
    "searchsorted": lambda o: o.ramp.searchsorted(o.v),
    "setfield": lambda o: written(o.x, lambda x: x.setfield(1.0, "f8")),
    "setflags": lambda o: o.x.setflags(write=True),
    "sort": lambda o: written(o.x, lambda x: x.sort()),
    "swapaxes": lambda o: o.x.swapaxes(0, 1),
    "take": lambda o: o.x.take(o.k, axis=0),
    "to_device": lambda o: o.x.to_device("cpu"),
    "tofile": lambda o: o.x.tofile(devnull),
    "view": lambda o: o.x.view("i8"),
}

UFUNC_METHODS: Final[dict[str, Callable[[Any], Any]]] = {
    "accumulate": lambda o: lazyarray.add.accumulate(o.x),
    "at": lambda o: written(o.x, lambda x: lazyarray.add.at(x, o.index, 1.0)),
    "outer": lambda o: lazyarray.add.outer(o.v[:80], o.w[:80]),
    "reduce": lambda o: lazyarray.add.reduce(o.x),
    "reduceat": lambda o: lazyarray.add.reduceat(o.x, [0, 20, 40]),
    "resolve_dtypes": lambda o: lazyarray.add.resolve_dtypes((o.x.dtype, o.x.dtype, None)),
}


def run_method(name: str) -> Any:
    """What runs in one use of a method or attribute of arrays."""
    call = METHODS.get(name)
    return recorded(call if call is not None else lambda o: use(o.x, name))


def run_pending_method(name: str) -> tuple[Any, bool]:
    """What runs at once where a method or attribute meets an array that is pending, and whether it gives an array."""
    call = METHODS.get(name)
    operands = Operands(lazyarray, LARGE)
    pending = operands.__dict__["x"] = operands.x + 1.0
    with lazyarray.record_runs() as runs:
        result = call(operands) if call is not None else use(pending, name)
    return runs, isinstance(result, lazyarray.ndarray)


def run_ufunc_method(name: str) -> Any:
    """What runs in one use of a method or attribute of ufuncs."""
    call = UFUNC_METHODS.get(name)
    return recorded(call if call is not None else lambda o: getattr(lazyarray.add, name))


def use(owner: Any, name: str) -> Any:
    """An attribute's value, or a method's result."""
    value = getattr(owner, name)
    return value() if callable(value) else value
