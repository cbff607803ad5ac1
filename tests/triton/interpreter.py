"""Runs emitted Triton functions on the host: Triton's interpreter, with NumPy's functions for libdevice's."""

from __future__ import annotations

import os

# Triton reads it when a function is decorated, so before anything imports triton.
os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpretedFunction, InterpreterBuilder, ReduceOps, ScanOps, TensorHandle

from lazyarray.ir.ops import dtype_of
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton import model
from lazyarray_triton.compiler import load_module
from lazyarray_triton.device import complex_functions, complexes, elementary, exact, exponential, noting, real
from lazyarray_triton.emit import emit
from lazyarray_triton.launch import Origins, arguments, choose_index, constants_of, plan_launches, shift_of
from lazyarray_triton.launcher import FLAGS
from lazyarray_triton.source import TritonSource

_TYPES = {"fp16": "float16", "fp32": "float32", "fp64": "float64"}
_NAMES = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power,
}  # fmt: skip


class Libdevice:
    """libdevice's functions as NumPy's."""

    def __getattr__(self, name: str):
        function = _NAMES.get(name) or getattr(np, name)

        def call(*tiles):
            handles = [t.handle for t in tiles]
            data = function(*[h.data for h in handles])
            scalar = tiles[0].type.scalar
            shape = np.broadcast_shapes(*[h.data.shape for h in handles])
            blocks = [t for t in tiles if t.type.is_block()]
            kind = tl.block_type(scalar, list(shape)) if blocks else scalar
            return tl.tensor(TensorHandle(data.astype(handles[0].data.dtype), scalar), kind)

        return call


def turned_sine(x, quarters: int):
    """The device's needs a multiplication and an addition that are rounded once, which the interpreter rounds twice."""
    return Libdevice().cos(x) if quarters else Libdevice().sin(x)


for module in (real, elementary, complexes, complex_functions):
    module.libdevice = Libdevice()
elementary.turned_sine = turned_sine


# What is written in PTX, without it.
@triton.jit
def divide(x, y):
    return x / y


@triton.jit
def reciprocal(x):
    return tl.full([], 1, x.dtype) / x


@triton.jit
def sqrt(x):
    return tl.sqrt(x)


@triton.jit
def note(odd, word):
    found = odd != odd
    tl.store(word + found.to(tl.int32) * 0, 1, mask=found)


@triton.jit
def join(bits, word):
    tl.atomic_or(word + bits * 0, bits, mask=bits != 0)


@triton.jit
def exp(x):
    return elementary.libdevice.exp(x)


@triton.jit
def log(x):
    return elementary.libdevice.log(x)


exponential.exp, exponential.log = exp, log
exact.divide = real.divide = complexes.divide = divide
exact.sqrt = complexes.sqrt = sqrt
exact.reciprocal = reciprocal
exact.inverse_of_count = reciprocal
noting.note = note
noting.join = join


_splat = InterpreterBuilder.create_splat


def _splat_booleans(self, kind, value):
    """The interpreter takes what a comparison gives for a number of its operands' type when it repeats it."""
    if value.data.dtype == np.bool_:
        return TensorHandle(np.full(kind.shape, value.data), tl.int1)
    return _splat(self, kind, value)


InterpreterBuilder.create_splat = _splat_booleans


def _combined(function, first, second, kinds):
    """What a combining function makes of two lists of arrays, element by element."""
    tiles = [
        tl.tensor(TensorHandle(np.ascontiguousarray(a), k), tl.block_type(k, list(a.shape)))
        for side in (first, second)
        for a, k in zip(side, kinds, strict=True)
    ]
    made = function.fn(*tiles)
    return [t.handle.data for t in (made if isinstance(made, tuple) else (made,))]


def _reduce_as_tree(self, tiles):
    """The interpreter reduces element by element; neighbours in pairs, as a device does, is faster by far."""
    kinds, arrays, axis = [t.dtype for t in tiles], [t.handle.data for t in tiles], self.axis
    while arrays[0].shape[axis] > 1:
        even, odd = ([a[(slice(None),) * axis + (slice(k, None, 2),)] for a in arrays] for k in (0, 1))
        arrays = _combined(self.combine_fn, even, odd, kinds)
    arrays = arrays if self.keep_dims else [a.squeeze(axis) for a in arrays]
    return [self.to_tensor(a, k) for a, k in zip(arrays, kinds, strict=True)]


def _scan_by_doubling(self, tiles):
    kinds, arrays, axis = [t.dtype for t in tiles], [t.handle.data.copy() for t in tiles], self.axis
    shift = 1
    while shift < arrays[0].shape[axis]:
        made = _combined(self.combine_fn, [np.roll(a, shift, axis) for a in arrays], arrays, kinds)
        later = (slice(None),) * axis + (slice(shift, None),)
        for a, new in zip(arrays, made, strict=True):
            a[later] = new[later]
        shift *= 2
    return [self.to_tensor(a, k) for a, k in zip(arrays, kinds, strict=True)]


def _call_device_function(self, *args, **kwargs):
    """Patches the language for Triton's own functions only: for ours the launch has done it."""
    if self.fn.__module__.startswith("triton."):
        interpreter._patch_lang(self.fn)
    return self.rewrite()(*args, **kwargs)


_patch_tensors = interpreter._patch_lang_tensor


def _patch_tensors_and_index(tensor, scope):
    """Triton 3.6 takes a loop's bounds for arrays of no axes, which they are not."""
    _patch_tensors(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.reshape(-1)[0]))


interpreter._patch_lang_tensor = _patch_tensors_and_index


# Half of the time goes into asking whether integers wrap, which they may.
interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
ReduceOps.generic_reduce = _reduce_as_tree
ScanOps.generic_scan = _scan_by_doubling
InterpretedFunction.__call__ = _call_device_function


class HostPointer:
    """An address of host memory, in the form that the interpreter takes arguments."""

    def __init__(self, address: int, kind: str) -> None:
        names = {"*i8": "int8", "*u8": "uint8", "*fp16": "float16", "*fp32": "float32", "*fp64": "float64"}
        self.address = address
        self.dtype = names.get(kind) or kind.replace("*i", "int").replace("*u", "uint")
        self.shape = ()

    def data_ptr(self) -> int:
        return self.address

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *args, **kwargs):
        return HostPointer(self.address, self.dtype)

    def set_(self, *args):
        return self

    def storage_offset(self) -> int:
        return 0

    def size(self):
        return ()

    def stride(self):
        return ()

    def copy_(self, other):
        return self


class Programs:
    """Emitted kernels, by record and form."""

    def __init__(self) -> None:
        self.known: dict[tuple[Kernel, str, str], tuple[TritonSource, dict]] = {}

    def get(self, kernel: Kernel, form: str, watched: str = ""):
        if (kernel, form, watched) not in self.known:
            source = emit(kernel, form, watched)
            self.known[kernel, form, watched] = source, load_module(source.text)
        return self.known[kernel, form, watched]


PROGRAMS = Programs()


def launch(
    kernel: Kernel,
    binding: Binding,
    guess: model.Guess | None = None,
    origins: Origins | None = None,
    watched: str = "",
    flags: np.ndarray | None = None,
) -> TritonSource | None:
    """Runs a kernel as a launcher would, on host memory. Gives its source, or None where nothing is to be done."""
    if any(n == 0 for n, role in zip(binding.extents, kernel.roles, strict=True) if role == "p"):
        return None
    if guess is None:
        guess = model.guess(kernel, binding.extents)
    source, functions = PROGRAMS.get(kernel, guess.form, watched)
    plan = plan_launches(source, binding.extents, guess, shift_of(kernel, binding))
    works = []
    for work, size in zip(source.works, plan.works, strict=True):
        if size == FLAGS:
            works.append(flags)
            continue
        if size < 0:
            assert origins is not None
            size = origins[work.access][1] // dtype_of(source.kernel.accesses[work.access].code).itemsize * 8
        works.append(np.full(max(size, 1), 0xCC if work.fill is None else work.fill, np.uint8))
    index = tl.int32 if choose_index(plan, binding) == "i32" else tl.int64
    addresses = [w.ctypes.data for w in works]
    for step in plan.steps:
        values = arguments(plan, step, binding, addresses, origins)
        given = {}
        for a, v in zip(step.function.arguments, values, strict=True):
            given[a.name] = HostPointer(v, a.type) if a.type.startswith("*") else v
        given |= constants_of(step, values)
        with np.errstate(all="ignore"):
            functions[step.function.name][(step.grid,)](**given, INDEX=index)
    return source
