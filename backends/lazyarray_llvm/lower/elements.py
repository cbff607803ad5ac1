"""Owns loads, stores and copies of elements at an address: one, some side by side, some chosen by a mask."""

from __future__ import annotations

from lazyarray_llvm.builder import (
    COMPLEX_PARTS,
    REAL_TYPES,
    AnyValue,
    Complex,
    Value,
    itemsize,
    llvm_type,
    memory_code,
)
from lazyarray_llvm.lower.frame import Frame, Pointer, Register

_STRIDED_COPY = """define internal void @strided_copy.{size}({arguments}) nounwind noinline {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %{latch} ]
  %to.at = mul i64 %k, %to.step
  %from.at = mul i64 %k, %from.step
  %from.p = getelementptr i8, ptr %from, i64 %from.at
  %to.p = getelementptr i8, ptr %to, i64 %to.at
{copy}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
_COPY = """  %v = load {type}, ptr %from.p, align {align}
  store {type} %v, ptr %to.p, align {align}"""
_MASKED_COPY = """  %mask.p = getelementptr i8, ptr %mask, i64 %k
  %byte = load i8, ptr %mask.p
  %wanted = icmp ne i8 %byte, 0
  br i1 %wanted, label %copy, label %skip
copy:
{copy}
  br label %skip
skip:"""


def from_memory(frame: Frame, value: Value, code: str) -> Value:
    return frame.b.compare("ne", value, frame.b.like(value, 0)) if code == "b1" else value


def to_memory(frame: Frame, value: Value) -> Value:
    return frame.b.convert("zext", value, "u1") if value.code == "b1" else value


def load_scalar(frame: Frame, code: str, at: Pointer, hint: str = "x") -> AnyValue:
    """One element."""
    b = frame.b
    if code in COMPLEX_PARTS:
        part = COMPLEX_PARTS[code]
        size = itemsize(part)
        im = frame.offset(at, frame.number(1), size, "im.at")
        return Complex(plain(frame, part, at, 1, f"{hint}.re"), plain(frame, part, im, 1, f"{hint}.im"))
    return from_memory(frame, plain(frame, memory_code(code), at, 1, hint), code) if code else b.const("b1", 0, 1)


def store_scalar(frame: Frame, value: AnyValue, at: Pointer) -> None:
    """One element."""
    if isinstance(value, Complex):
        store_scalar(frame, value.re, at)
        store_scalar(frame, value.im, frame.offset(at, frame.number(1), itemsize(value.re.code), "im.at"))
        return
    put(frame, to_memory(frame, value), at)


def store_when(frame: Frame, mask: Value, value: AnyValue, at: Pointer) -> None:
    """One element, only if a scalar mask is set."""

    def write() -> list[Register]:
        store_scalar(frame, value, at)
        return []

    frame.when(mask, write)


def plain(frame: Frame, code: str, at: Pointer, lanes: int, hint: str) -> Value:
    text = f"load {llvm_type(code, lanes)}, ptr {at.ref}, align {itemsize(code)}"
    return frame.b.emit(text, code, lanes, hint)


def put(frame: Frame, value: Value, at: Pointer) -> None:
    frame.b.line(f"store {value}, ptr {at.ref}, align {itemsize(value.code)}")


def masked_load(frame: Frame, at: Pointer, mask: Value, otherwise: Value, hint: str) -> Value:
    b, code = frame.b, otherwise.code
    name = f"llvm.masked.load.{mangled(code, otherwise.lanes)}.p0"
    align = itemsize(code)
    # The alignment as an operand is the spelling up to LLVM 21; later parsers upgrade it.
    b.module.declare(name, otherwise.type, ["ptr", "i32", mask.type, otherwise.type])
    text = f"call {otherwise.type} @{name}(ptr {at.ref}, i32 {align}, {mask}, {otherwise})"
    return b.emit(text, code, otherwise.lanes, hint)


def masked_store(frame: Frame, value: Value, at: Pointer, mask: Value) -> None:
    b, align = frame.b, itemsize(value.code)
    name = f"llvm.masked.store.{mangled(value.code, value.lanes)}.p0"
    b.module.declare(name, "void", [value.type, "ptr", "i32", mask.type])
    b.line(f"call void @{name}({value}, ptr {at.ref}, i32 {align}, {mask})")


def expand_load(frame: Frame, code: str, at: Pointer, mask: Value, lanes: int) -> Value:
    """Elements that lie one after another, spread over the lanes of a mask; other lanes are 0."""
    b, type_ = frame.b, llvm_type(code, lanes)
    name = f"llvm.masked.expandload.{mangled(code, lanes)}"
    b.module.declare(name, type_, [f"ptr align {itemsize(code)}", mask.type, type_])
    none = b.const(code, 0, lanes)
    return b.emit(f"call {type_} @{name}(ptr align {itemsize(code)} {at.ref}, {mask}, {none})", code, lanes, "spread")


def mangled(code: str, lanes: int) -> str:
    spelled = {"half": "f16", "float": "f32", "double": "f64"}
    return f"v{lanes}{spelled.get(REAL_TYPES[code], REAL_TYPES[code])}"


def call_copy(
    frame: Frame,
    size: int,
    to: Pointer,
    to_step: Value,
    source: Pointer,
    from_step: Value,
    count: Value,
    mask: Pointer | None = None,
) -> None:
    """Copies `count` elements of `size` bytes between two walks; only where the byte of `mask` is set, if given."""
    type_, align = (f"i{8 * size}", size) if size <= 8 else ("<2 x i64>", 8)
    copy = _COPY.format(type=type_, align=align)
    name = f"strided_copy.{size}" if mask is None else f"strided_copy.masked{size}"
    arguments = "ptr %to, i64 %to.step, ptr %from, i64 %from.step, i64 %count"
    spelled = f"ptr {to.ref}, {to_step}, ptr {source.ref}, {from_step}, {count}"
    if mask is not None:
        copy = _MASKED_COPY.format(copy=copy)
        arguments += ", ptr %mask"
        spelled += f", ptr {mask.ref}"
    text = _STRIDED_COPY.format(
        size=name.removeprefix("strided_copy."),
        arguments=arguments,
        copy=copy,
        latch="skip" if mask else "loop",
    )
    frame.b.module.define(name, text)
    frame.b.line(f"call void @{name}({spelled})")
