"""Owns what Numba has to be told: functions that it compiles take lazy arrays, and call NumPy's functions for ours.

Numba calls `register` when a program compiles its first function (the entry point `numba_extensions`). A compiled
function returns NumPy's arrays, as it does in a program of NumPy's. Nothing of Numba is imported before.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np


def register() -> None:
    from numba.core import boxing, types  # noqa: F401  (boxing registers what is replaced)
    from numba.core.pythonapi import _unboxers
    from numba.core.rewrites.registry import register_rewrite
    from numba.extending import typeof_impl

    from lazyarray.frontend.array import ndarray

    typeof_impl.register(ndarray)(lambda array, context: typeof_impl(array.to_numpy(), context))
    _unboxers.functions[types.Array] = _unbox
    register_rewrite("before-inference")(_rewrite_of_globals())


def _unbox(kind: Any, given: Any, c: Any) -> Any:
    """A native array of an argument: of NumPy's memory, or of what `to_numpy` gives.

    In place of Numba's own for `types.Array`, which signatures that are written out want, too.
    """
    from numba.core import cgutils
    from numba.core.pythonapi import NativeValue
    from numba.np import numpy_support

    native = c.context.make_array(kind)(c.context, c.builder)
    pointer = native._getpointer()
    untyped = c.builder.bitcast(pointer, c.pyapi.voidptr)
    adapt = c.pyapi.nrt_adapt_ndarray_from_python if c.context.enable_nrt else c.pyapi.numba_array_adaptor
    status = cgutils.alloca_once_value(c.builder, adapt(given, untyped))
    with c.builder.if_then(cgutils.is_not_null(c.builder, c.builder.load(status)), likely=False):
        method = c.pyapi.object_getattr_string(given, "to_numpy")
        with c.builder.if_then(cgutils.is_not_null(c.builder, method)):
            memory = c.pyapi.call_function_objargs(method, ())
            c.pyapi.decref(method)
            with c.builder.if_then(cgutils.is_not_null(c.builder, memory)):
                c.builder.store(adapt(memory, untyped), status)
                c.pyapi.decref(memory)  # the native array holds it
    failed = cgutils.is_not_null(c.builder, c.builder.load(status))
    size = numpy_support.as_dtype(kind.dtype).itemsize
    failed = c.builder.or_(failed, c.builder.icmp_unsigned("!=", native.itemsize, native.itemsize.type(size)))
    with c.builder.if_then(failed, likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", f"no array of {kind.dtype} was given where {kind} is wanted")
    return NativeValue(c.builder.load(pointer), is_error=failed)


def _rewrite_of_globals() -> Any:
    from numba.core import ir
    from numba.core.rewrites.registry import Rewrite

    class NumpysForOurs(Rewrite):
        """`lazyarray` and its modules and functions, as a function's globals or closure hold them, are NumPy's."""

        def match(self, function: Any, block: Any, types_of: Any, calls: Any) -> bool:
            self.block = block
            self.found = [
                (item, twin)
                for item in block.find_insts(ir.Assign)
                if isinstance(item.value, ir.Global | ir.FreeVar) and (twin := numpys(item.value.value)) is not None
            ]
            return bool(self.found)

        def apply(self) -> Any:
            for item, twin in self.found:
                item.value = ir.Global(item.value.name, twin, item.value.loc)
            return self.block

    return NumpysForOurs


def numpys(value: Any) -> Any:
    """NumPy's module, function, ufunc or class of the name of one of ours; None for anything else."""
    name = getattr(value, "__name__", None)
    space = name if isinstance(value, ModuleType) else f"{getattr(value, '__module__', None)}.{name}"
    root, *parts = str(space).split(".")
    if root not in ("lazyarray", "numpy"):
        return None
    ours: Any = sys.modules["lazyarray"]
    theirs: Any = np
    for part in parts:
        ours, theirs = getattr(ours, part, None), getattr(theirs, part, None)
    return theirs if ours is value and theirs is not value else None
