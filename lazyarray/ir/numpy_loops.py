"""Owns NumPy's own inner loops: where they lie in memory, and with which steps NumPy calls them."""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lazyarray.records import NamedTuple

# PyUFunc_FromFuncAndDataAndSignatureAndIdentity in NumPy's table of ufunc C functions.
_FROM_FUNC_AND_DATA: Final = 42
_NO_IDENTITY: Final = -1
_IDENTITY_VALUE: Final = -3


class _Head(ctypes.Structure):
    """The public begin of `PyUFuncObject` (NumPy's C API reference), behind the head of every object."""

    _fields_ = [
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_ubyte)),
    ]


class Loop(NamedTuple):
    """`void function(char **args, intp *dimensions, intp *steps, void *data)`, for the CPU at hand."""

    function: int
    data: int


@functools.cache
def loop_of(ufunc: np.ufunc, codes: tuple[str, ...]) -> Loop | None:
    """The loop of a ufunc with one output for arguments and result of these dtype codes; None where none is found."""
    if sys.implementation.name != "cpython":
        return None
    head = _Head.from_address(id(ufunc) + object.__basicsize__)
    # The struct is what it is taken for if it says what Python does.
    found = (head.nin, head.nout, head.nargs, head.ntypes, head.name)
    if found != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes, ufunc.__name__.encode()):
        return None
    numbers = [np.dtype(code).num for code in codes]
    for k in range(head.ntypes):  # the first that fits is NumPy's choice
        if head.types[k * head.nargs : (k + 1) * head.nargs] == numbers:
            function = head.functions[k]
            return Loop(function, head.data[k] or 0 if head.data else 0) if function else None
    return None


# ---- steps

# Of an operand in an inner loop: x one element after the other, 0 always the same one, s further apart, n backwards.
# NumPy's loops have code of their own for some of these, which gives other bits.
Steps = str


class Layout(NamedTuple):
    """An operand as NumPy would have it: strides in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    code: str


_LOOP: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ssize_t), ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_void_p
)
_seen: list[tuple[int, tuple[int, ...]]] = []
_kept: list[Any] = []  # NumPy keeps pointers to these
_probes: dict[tuple[str, ...], np.ufunc] = {}
_known: dict[Any, Steps] = {}
_KNOWN_LIMIT: Final = 4096
_BUFFER: Final = 4 * 8192  # elements: some of NumPy's buffers


def steps_of(operands: Sequence[Layout], codes: tuple[str, ...]) -> Steps:
    """A letter for each operand and the result: how NumPy's inner loop for `codes` walks them in one call.

    Asked of NumPy itself, by a ufunc that only notes what it is called with. (NumPy moves some operands to buffers, by
    rules that differ between its versions.)
    """
    small = _cut(operands)
    key = (tuple(small), codes)
    found = _known.get(key)
    if found is None:
        if len(_known) >= _KNOWN_LIMIT:
            _known.clear()
        found = _known[key] = _ask(small, codes)
    return found


def _ask(operands: Sequence[Layout], codes: tuple[str, ...]) -> Steps:
    probe = _probes.get(codes)
    if probe is None:
        probe = _probes[codes] = _make_probe(codes)
    _seen.clear()
    with np.errstate(all="ignore"):
        probe(*[_blank(operand) for operand in operands])
    if not _seen:
        return "x" * len(codes)
    sizes = [np.dtype(code).itemsize for code in codes]
    counts: Counter[Steps] = Counter()
    for elements, steps in _seen:
        counts["".join(_letter(step, size) for step, size in zip(steps, sizes, strict=True))] += elements
    return counts.most_common(1)[0][0]


def _letter(step: int, size: int) -> str:
    return "x" if step == size else "0" if step == 0 else "s" if step > 0 else "n"


def _cut(operands: Sequence[Layout]) -> list[Layout]:
    """The same operands with fewer elements, of which NumPy makes the same inner loops."""
    shape = np.broadcast_shapes(*[operand.shape for operand in operands])
    wanted: list[int] = []
    budget = _BUFFER
    for extent in reversed(shape):
        wanted.append(min(extent, max(2, budget)))
        budget //= max(1, wanted[-1])
    return [_cut_one(operand, wanted) for operand in operands]


def _cut_one(operand: Layout, wanted: Sequence[int]) -> Layout:
    shape: list[int] = []
    strides: list[int] = []
    behind: tuple[int, int] | None = None  # extent and stride, as they were, of the axis behind
    for extent, stride, limit in zip(reversed(operand.shape), reversed(operand.strides), wanted, strict=False):
        continues = behind is not None and stride == behind[0] * behind[1]
        behind = (extent, stride)
        strides.append(shape[-1] * strides[-1] if continues else stride)
        shape.append(min(extent, limit))
    return Layout(tuple(reversed(shape)), tuple(reversed(strides)), operand.code)


def _blank(operand: Layout) -> np.ndarray[Any, Any]:
    """Zeros so laid out; memory that nobody reads costs nothing."""
    dtype = np.dtype("?" if operand.code == "b1" else operand.code)
    if 0 in operand.shape:
        return np.zeros(operand.shape, dtype)
    spans = [(n - 1) * step for n, step in zip(operand.shape, operand.strides, strict=True)]
    before, after = -sum(min(0, s) for s in spans), sum(max(0, s) for s in spans)
    memory = np.zeros(before + after + dtype.itemsize, np.uint8)
    return np.ndarray(operand.shape, dtype, memory, before, operand.strides)


def _make_probe(codes: tuple[str, ...]) -> np.ufunc:
    nargs = len(codes)

    def note(_args: Any, dimensions: Any, steps: Any, _data: Any) -> None:
        _seen.append((dimensions[0], tuple(steps[:nargs])))

    loop = _LOOP(note)
    functions = (ctypes.c_void_p * 1)(ctypes.cast(loop, ctypes.c_void_p).value)
    types = (ctypes.c_ubyte * nargs)(*[np.dtype(code).num for code in codes])
    data = (ctypes.c_void_p * 1)()
    _kept.append(loop)
    return make_ufunc(functions, data, types, nargs - 1, "steps", "Notes the steps that it is called with.")


# ---- ufuncs


def make_ufunc(functions: Any, data: Any, types: Any, nin: int, name: str, doc: str, identity: Any = None) -> np.ufunc:
    """A `numpy.ufunc` with one output over inner loops; `types`: NumPy's numbers of their dtypes, loop after loop."""
    spelled, text = name.encode(), doc.encode()
    _kept.append((functions, data, types, spelled, text))
    kind = _NO_IDENTITY if identity is None else _IDENTITY_VALUE
    made = _ufunc_api(_FROM_FUNC_AND_DATA)(
        functions, data, types, len(functions), nin, 1, kind, spelled, text, 0, None, identity
    )
    assert isinstance(made, np.ufunc)
    return made


def _ufunc_api(index: int) -> Any:
    """Function number `index` of NumPy's ufunc C API."""
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = get(umath._UFUNC_API, None)
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[index]
    signature = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.py_object,
    )
    return signature(address)
