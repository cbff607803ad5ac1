"""Owns the kernel oracle: a backend that runs kernel records with NumPy, step by step as the record defines them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from lazyarray.ir.installed import SUMS_IN_BUFFERS
from lazyarray.ir.ops import OPS, REDUCTIONS, dtype_of
from lazyarray.runtime.interpret import SPECIAL, buffered_sum
from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Stage, Store

Array = np.ndarray[Any, Any]


def memory(access: Access, pointer: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """The memory that an access walks, as a writable array with one axis per loop."""
    dtype = dtype_of(access.code)
    reach = [s * (n - 1) for s, n in zip(strides, extents, strict=True)]
    low = sum(min(r, 0) for r in reach)
    high = sum(max(r, 0) for r in reach) + dtype.itemsize
    raw = (ctypes.c_char * (high - low)).from_address(pointer + low)
    return np.ndarray(extents, dtype, raw, -low, strides)


def pairwise_sum(values: Array) -> Array:
    """The sum along the last axis, kept, as one pairwise run whatever its length: NumPy before 2.3 cuts it."""
    count = values.shape[-1]
    if not SUMS_IN_BUFFERS or count <= 8192:
        return np.add.reduce(values, axis=-1, keepdims=True)  # type: ignore[no-any-return]
    if values.dtype == np.float16:
        return pairwise_sum(values.astype(np.float32)).astype(np.float16)
    left = (count - count % 8) // 2 if values.dtype.kind == "c" else count // 2 - count // 2 % 8
    return pairwise_sum(values[..., :left]) + pairwise_sum(values[..., left:])  # type: ignore[no-any-return]


class OracleProgram:
    """A kernel that NumPy interprets."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.source = str(kernel)
        self.blind = True

    def launch(self, binding: Binding) -> int:
        self.watch(binding)
        return 0

    def watch(self, binding: Binding) -> dict[int, int]:
        if 0 in binding.extents and not self.kernel.reduces:
            return {}
        interpretation = Interpretation(self.kernel, binding)
        with np.errstate(all="call", under="ignore", call=interpretation.note):
            interpretation.run()
        return interpretation.raised


class Interpretation:
    """One launch."""

    def __init__(self, kernel: Kernel, binding: Binding) -> None:
        self.kernel = kernel
        self.binding = binding
        self.axes = tuple(k for k, role in enumerate(kernel.roles) if role == "r")
        self.values: dict[int, Any] = {}
        self.raised: dict[int, int] = {}  # value number -> floating-point errors, as NumPy's bits
        self.computed = 0  # the value being computed

    def note(self, kind: str, bits: int) -> None:
        self.raised[self.computed] = self.raised.get(self.computed, 0) | bits

    def run(self) -> None:
        for stage in self.kernel.stages:
            scope = dict(self.values)
            for instruction in stage.body:
                self.computed = instruction.target
                scope[instruction.target] = self.compute(instruction, scope)
                if stage.level == "row":
                    self.values[instruction.target] = scope[instruction.target]
            for kept in stage.kept:
                self.values[("kept", kept)] = scope[kept]  # type: ignore[index]
            self.reduce(stage, scope)
            self.scan(stage, scope)
            self.store(stage, scope)

    def view(self, number: int) -> Array:
        binding = self.binding
        return memory(self.kernel.accesses[number], binding.pointers[number], binding.extents, binding.strides[number])

    def addresses(self, number: int) -> Array:
        """The address of an access at every point, with extent 1 where it does not move."""
        steps, rank = self.binding.strides[number], len(self.binding.extents)
        found = np.full((1,) * rank, self.binding.pointers[number])
        for axis, (extent, step) in enumerate(zip(self.binding.extents, steps, strict=True)):
            if step:
                found = found + (np.arange(extent) * step).reshape(-1, *(1,) * (rank - axis - 1))
        return found

    def compute(self, instruction: Instruction, scope: dict[Any, Any]) -> Any:
        op, dtype = instruction.op, dtype_of(instruction.code)
        args = [scope[a] for a in instruction.args]
        attr: Any = instruction.attr
        if op == "load":
            return self.view(attr).copy()
        if op == "scalar":
            return np.asarray(self.binding.scalars[attr]).astype(dtype)
        if op == "const":
            return np.asarray(attr, dtype)
        if op == "index":
            shape = [1] * len(self.binding.extents)
            shape[attr] = -1
            return np.arange(self.binding.extents[attr]).reshape(shape)
        if op == "cast":
            return np.asarray(args[0]).astype(dtype)
        if op == "recall":
            return self.values["kept", attr]
        if op == "gather":
            addresses = self.addresses(attr) + args[0]
            flat = [(ctypes.c_char * dtype.itemsize).from_address(int(a)).raw for a in np.ravel(addresses)]
            return np.frombuffer(b"".join(flat), dtype).reshape(np.shape(addresses))
        if op == "expand":
            mask = self.full(args[0])
            count = int(np.count_nonzero(mask))
            values = np.zeros(mask.shape, dtype)
            if count:
                packed = Access(instruction.code, ("1",))
                values[mask] = memory(packed, self.binding.pointers[attr], (count,), (dtype.itemsize,))
            return values
        result = SPECIAL[op](*args) if op in SPECIAL else OPS[op].ufunc(*args)  # type: ignore[misc]
        if isinstance(result, tuple):
            result = result[OPS[op].output]
        assert result.dtype == dtype, (instruction, result.dtype)
        return result

    def full(self, value: Any) -> Array:
        return np.ascontiguousarray(np.broadcast_to(value, self.binding.extents))

    def reduce(self, stage: Stage, scope: dict[Any, Any]) -> None:
        for reduction in stage.reductions:
            self.computed = reduction.target
            result = self.reduction(reduction, scope)
            scope[reduction.target] = self.values[reduction.target] = result

    def reduction(self, reduction: Reduction, scope: dict[Any, Any]) -> Array:
        value = self.full(scope[reduction.value])
        options: dict[str, Any] = {"keepdims": True}
        if reduction.op in ("argmin", "argmax"):
            (axis,) = self.axes
            return getattr(np, reduction.op)(value, axis=axis, **options)  # type: ignore[no-any-return]
        last = value.ndim - 1
        if reduction.op == "buffered_sum" and last in self.axes:
            initial = 0 if reduction.start is None else np.ravel(scope[reduction.start])[0]
            summed = buffered_sum(np.moveaxis(value, self.axes, range(-len(self.axes), 0)), len(self.axes), initial)
            return np.expand_dims(summed, self.axes)
        ufunc: Any = REDUCTIONS[reduction.op].ufunc
        if reduction.where is not None:
            options["where"] = self.full(scope[reduction.where])
        if reduction.start is not None:
            options["initial"] = np.ravel(scope[reduction.start])[0]
        if reduction.op not in ("any", "all"):
            options["dtype"] = dtype_of(reduction.code)
        if reduction.where is None and last in self.axes and reduction.op == "sum" and value.dtype.kind in "fc":
            value = pairwise_sum(value)
        elif len(self.axes) > 1 and reduction.where is None and last in self.axes:
            value = ufunc.reduce(value, axis=-1, keepdims=True)
            options.pop("dtype", None)
        return ufunc.reduce(value, axis=self.axes, **options)  # type: ignore[no-any-return]

    def scan(self, stage: Stage, scope: dict[Any, Any]) -> None:
        if stage.scan is not None:
            self.computed = stage.scan.target
            (axis,) = self.axes
            ufunc: Any = REDUCTIONS[stage.scan.op].ufunc
            scope[stage.scan.target] = ufunc.accumulate(self.full(scope[stage.scan.value]), axis=axis)
            for instruction in stage.after:
                self.computed = instruction.target
                scope[instruction.target] = self.compute(instruction, scope)

    def store(self, stage: Stage, scope: dict[Any, Any]) -> None:
        for store in stage.stores:
            if store.offset is not None or store.packed:
                self.store_one_by_one(store, scope)
                continue
            target = self.view(store.access)
            value = np.broadcast_to(scope[store.value], target.shape)
            if stage.level == "row":
                index = tuple(slice(0, 1) if k in self.axes else slice(None) for k in range(target.ndim))
                value, target = value[index], target[index]
            if store.mask is None:
                target[...] = value
            else:
                np.copyto(target, value, where=np.broadcast_to(scope[store.mask], target.shape))

    def store_one_by_one(self, store: Store, scope: dict[Any, Any]) -> None:
        """A store whose place depends on data, in C order."""
        code = self.kernel.accesses[store.access].code
        values = self.full(scope[store.value]).ravel()
        mask = np.ones(values.size, bool) if store.mask is None else self.full(scope[store.mask]).ravel()
        if store.offset is None:
            places = self.binding.pointers[store.access] + (np.cumsum(mask) - mask) * dtype_of(code).itemsize
        else:
            places = self.full(self.addresses(store.access) + scope[store.offset]).ravel()
        for value, place in zip(values[mask], places[mask], strict=True):
            if store.op == "add":
                there = np.frombuffer(ctypes.string_at(int(place), value.nbytes), value.dtype)
                value = np.add(there, value)[0]
            ctypes.memmove(int(place), value.tobytes(), value.nbytes)


class Oracle:
    """The backend made of oracle programs."""

    name = "oracle"

    def __init__(self) -> None:
        self.compiled: list[Kernel] = []

    def compile(self, kernel: Kernel) -> OracleProgram:
        self.compiled.append(kernel)
        return OracleProgram(kernel)

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        return None
