"""Owns the compiled inner loops of small arrays: `numpy.ufunc` objects over them (C7), and those in NumPy's place.

A ufunc has a loop for each of its dtypes, and a program uses one or two of them. So a loop is compiled, or found on
disk, when NumPy first runs it: until then its place is held by a function in Python that puts the loop there.
"""

from __future__ import annotations

import ctypes
import threading
from _thread import start_new_thread
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lazyarray.digests import name_of
from lazyarray.ir.numpy_loops import make_ufunc
from lazyarray.ir.ops import OPS, QUICKER
from lazyarray_llvm import engine, ready
from lazyarray_llvm.version import emitter_version

_CODES: Final = {"e": "f2", "f": "f4", "d": "f8", "F": "c8", "D": "c16"}
_TYPE_NUMBERS: Final = {code: np.dtype(code).num for code in _CODES.values()}
_ENVIRONMENT_BYTES: Final = 512  # C's fenv_t: 28 bytes on x86-64, 8 on ARM, all known ones are less
_UFUNCS: dict[str, np.ufunc] = {}
_KEPT: list[Any] = []  # NumPy keeps pointers to these functions
_LOCK = threading.RLock()  # a signal handler may want a ufunc while one is made

_Loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def eager_codes(op: str) -> tuple[str, ...]:
    """The dtype codes that `eager_ufunc(op)` has loops for, in NumPy's order of preference."""
    ufunc = OPS[op].ufunc
    types = ufunc.types if ufunc is not None else []
    return tuple(dict.fromkeys(_CODES[t[0]] for t in types if t[0] in _CODES and {*t} - {*"->"} == {t[0]}))


def quicker_codes(op: str) -> tuple[str, ...]:
    """The dtype codes of the loops that an op has in the place of NumPy's, whatever the second operand is."""
    if op == "sqrt":
        return ("f8",)
    ufunc = OPS[op].ufunc if op in QUICKER else None
    types = ufunc.types if ufunc is not None else []
    plain = [np.dtype(t[0]) for t in types if t[0] in "bBhHiIlLfd" and {*t} - {*"->"} == {t[0]}]
    return tuple(dict.fromkeys([f"{dtype.kind}{dtype.itemsize}" for dtype in plain]))


def number_codes(op: str) -> tuple[str, ...]:
    """Those of the loops that an op has of its own where the second operand is a number, which divides.

    Integers over one NumPy computes in vectors, too: of 64 bits in twice the time, of fewer in less.
    """
    if op == "divide":
        return ("f8", "f4")
    if op not in ("remainder", "fmod", "floor_divide"):
        return ()
    return tuple([code for code in quicker_codes(op) if code[0] == "f" or code == "i8" or op != "floor_divide"])


def quicker_loop(op: str, code: str, number: bool) -> int:
    """The address of a loop with NumPy's bits for operands of one dtype, compiled with the package; 0 if there is none.

    `number`: the second operand is one.
    """
    own = number and code in number_codes(op)
    slower = number and op == "floor_divide" and code[0] in "iu"
    if not own and (slower or code not in quicker_codes(op)):
        return 0
    return ready.load(op, code, symbol_of(op, [code] * OPS[op].nin, code, own), number=own)


def eager_ufunc(op: str) -> np.ufunc:
    """A numpy.ufunc whose results have the bits of a compiled kernel, for every transcendental op.

    Its loops are those of floats and complex numbers; the other dtypes are NumPy's own business.
    """
    found = _UFUNCS.get(op)
    if found is None:
        with _LOCK:
            found = _UFUNCS.get(op)
            if found is None:
                found = _UFUNCS[op] = _make_ufunc(op)
    return found


def _make_ufunc(op: str) -> np.ufunc:
    row = OPS[op]
    if not row.transcendental:
        raise ValueError(f"{op} is computed with NumPy's bits by NumPy itself")
    codes = eager_codes(op)
    functions = (ctypes.c_void_p * len(codes))()
    places = [_Place(op, code, functions, number).function for number, code in enumerate(codes)]
    functions[:] = [ctypes.cast(place, ctypes.c_void_p).value for place in places]
    data = (ctypes.c_void_p * len(codes))()
    numbers = [_TYPE_NUMBERS[code] for code in codes for _ in range(row.nin + 1)]
    types = (ctypes.c_ubyte * len(numbers))(*numbers)
    _KEPT.append(places)
    return make_ufunc(functions, data, types, row.nin, op, f"{op}, compiled by lazyarray.", row.identity)


class _Place:
    """Holds the place of a loop until NumPy runs it: then it puts the loop there and runs it."""

    def __init__(self, op: str, code: str, functions: Any, number: int) -> None:
        self.op = op
        self.code = code
        self.functions = functions
        self.number = number
        self.function = _Loop(self.run)

    def run(self, args: int, extents: int, steps: int, data: int) -> None:
        """What NumPy calls as a loop. The loop finds the floating-point flags as they were at the call."""
        environment = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
        _get_environment(environment)
        interrupted = False
        try:
            try:
                address = _load_loop(self.op, self.code)
            except KeyboardInterrupt:
                address = _load_loop(self.op, self.code)
                interrupted = True
        except BaseException as error:
            _raise_later(type(error))  # NumPy's loops cannot fail
            raise  # and here Python prints it
        self.functions[self.number] = address
        loop = _Loop(address)
        _set_environment(environment)
        loop(args, extents, steps, data)
        if interrupted:
            _raise_later(KeyboardInterrupt)


def _load_loop(op: str, code: str) -> int:
    codes = [code] * OPS[op].nin
    address = ready.load(op, code, symbol_of(op, codes, code))
    if address:
        return address
    key = name_of(f"{emitter_version()}|loop|{op}|{code}")
    module = engine.load(key, f"loops.{op}")
    if module is None:
        from lazyarray_llvm.inner_loops import inner_loop

        module = engine.compile_ir(inner_loop(op, codes, code), f"loops.{op}", key=key)
    return module.address(symbol_of(op, codes, code))


def symbol_of(op: str, in_codes: Sequence[str], out_code: str, number: bool = False) -> str:
    """The name of an inner loop in its module; `number`: of that over a number."""
    return f"loop.{op}.{'.'.join((*in_codes, out_code))}{'.number' * number}"


def _raise_later(kind: type[BaseException]) -> None:
    """Has Python raise an error of this kind in this thread after the function that NumPy has called."""
    # From another thread, which does not run before this one is back in NumPy: raised here it would stop there.
    raising = ctypes.pythonapi.PyThreadState_SetAsyncExc
    start_new_thread(raising, (ctypes.c_ulong(threading.get_ident()), ctypes.py_object(kind)))


def _environment_function(name: str) -> Any:
    found = next(function for library in engine.system_libraries() if (function := getattr(library, name, None)))
    found.argtypes = [ctypes.c_void_p]
    return found


_get_environment: Final = _environment_function("fegetenv")
_set_environment: Final = _environment_function("fesetenv")
