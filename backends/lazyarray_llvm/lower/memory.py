"""Owns loads and stores: one vector of elements along the last axis, for every step, whole or cut short."""

from __future__ import annotations

from collections.abc import Collection

from lazyarray.schedule.kernel import Access
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
from lazyarray_llvm.lower.point import Point, masks_natively
from lazyarray_llvm.lower.streaming import LINE

# Strided elements are moved one by one in inline code up to so many lanes, by a gather or a loop beyond: a 3000 x 3000
# transposed read took 5 ms so and 8 ms with AVX-512 gathers in float32, and the same in float64.
_INLINE_LANES = 16
# What no instruction gathers is moved so up to more lanes, and by a loop beyond: 1e5 bytes turned, 66 us and 116.
_MOST_INLINE_LANES = 64
_PAGE = 4096  # bytes: the least that hosts protect at once

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


def _stores_masked(frame: Frame, code: str, lanes: int) -> bool:
    """Whether a whole vector is best stored through a mask; vectors below 16 bytes have wider masks in registers."""
    return masks_natively(frame, code, lanes) and lanes * itemsize(code) >= 16


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
        return Complex(_plain(frame, part, at, 1, f"{hint}.re"), _plain(frame, part, im, 1, f"{hint}.im"))
    return from_memory(frame, _plain(frame, memory_code(code), at, 1, hint), code) if code else b.const("b1", 0, 1)


def store_scalar(frame: Frame, value: AnyValue, at: Pointer) -> None:
    """One element."""
    if isinstance(value, Complex):
        store_scalar(frame, value.re, at)
        store_scalar(frame, value.im, frame.offset(at, frame.number(1), itemsize(value.re.code), "im.at"))
        return
    _put(frame, to_memory(frame, value), at)


def store_when(frame: Frame, mask: Value, value: AnyValue, at: Pointer) -> None:
    """One element, only if a scalar mask is set."""

    def write() -> list[Register]:
        store_scalar(frame, value, at)
        return []

    frame.when(mask, write)


def _plain(frame: Frame, code: str, at: Pointer, lanes: int, hint: str) -> Value:
    text = f"load {llvm_type(code, lanes)}, ptr {at.ref}, align {itemsize(code)}"
    return frame.b.emit(text, code, lanes, hint)


def _put(frame: Frame, value: Value, at: Pointer) -> None:
    frame.b.line(f"store {value}, ptr {at.ref}, align {itemsize(value.code)}")


def fixed_step(access: Access) -> int | None:
    """The step of the last axis in elements; None when it is a runtime stride."""
    step = access.steps[-1]
    return None if step == "s" else int(step)


def step_bytes(frame: Frame, number: int) -> Value:
    """The distance in bytes of two lanes of an access."""
    access = frame.kernel.accesses[number]
    step = fixed_step(access)
    if step is None:
        return frame.argument(f"stride{number}.{len(access.steps) - 1}")
    return frame.number(step * itemsize(access.code))


def element(frame: Frame, number: int, base: Pointer, index: Value) -> Pointer:
    """The address of element `index` of the row that begins at `base`."""
    access = frame.kernel.accesses[number]
    step = fixed_step(access)
    if step == 0:
        return base
    if step is None:
        return frame.offset(base, frame.b.binary("mul", index, step_bytes(frame, number), "far"), hint=f"at{number}")
    if step < 0:
        index = frame.b.binary("sub", frame.number(0), index, "back")
    return frame.offset(base, index, abs(step) * itemsize(access.code), f"at{number}")


# -- loads -------------------------------------------------------------------------------------------------
def load(frame: Frame, number: int, base: Pointer, point: Point) -> AnyValue:
    """The elements of access `number` at a point, as registers of the point's lanes."""
    access = frame.kernel.accesses[number]
    code, at = access.code, element(frame, number, base, point.index)
    hint = f"in{number}"
    step = fixed_step(access)
    if point.lanes == 1 or step == 0:
        one = load_scalar(frame, code, at, hint)
        return one if point.lanes == 1 else splat_here(frame, one, point.lanes)
    if step == 1 and (point.whole or masks_natively(frame, COMPLEX_PARTS.get(code, code), point.lanes)):
        return _load_row(frame, code, at, point, hint)
    if step in (-1, 2, 3, 4) and point.whole:
        return _load_fixed(frame, code, at, step, point.lanes, hint)
    if step in (1, -1) and code not in COMPLEX_PARTS:
        return _load_cut(frame, code, at, step, point, hint)
    if gathers_natively(frame, code) and (not point.whole or point.lanes > _INLINE_LANES):
        return _gather(frame, code, at, _lane_offsets(frame, number, point), point.lanes, hint)
    return _load_strided(frame, code, at, step_bytes(frame, number), point, hint)


def splat_here(frame: Frame, one: AnyValue, lanes: int) -> AnyValue:
    """A one-lane register in every lane, at the current place."""
    if isinstance(one, Complex):
        return Complex(frame.b.splat(one.re, lanes), frame.b.splat(one.im, lanes))
    return frame.b.splat(one, lanes)


def _load_row(frame: Frame, code: str, at: Pointer, point: Point, hint: str) -> AnyValue:
    b, lanes = frame.b, point.lanes
    if code in COMPLEX_PARTS:
        part = COMPLEX_PARTS[code]
        if point.whole:
            pairs = _plain(frame, part, at, 2 * lanes, hint)
        else:
            pairs = _masked_pairs(frame, part, at, point, hint)
        parts = [b.shuffle(pairs, None, range(k, 2 * lanes, 2)) for k in (0, 1)]
        if not point.whole:
            mask = point.mask(part)
            first = load_scalar(frame, code, at, f"{hint}.first")
            assert isinstance(first, Complex)
            parts = [b.select(mask, v, b.splat(f, lanes)) for v, f in zip(parts, (first.re, first.im), strict=True)]
        return Complex(parts[0], parts[1])
    inside = memory_code(code)
    if point.whole:
        return from_memory(frame, _plain(frame, inside, at, lanes, hint), code)
    first_one = b.splat(_plain(frame, inside, at, 1, f"{hint}.first"), lanes)
    return from_memory(frame, masked_load(frame, at, point.mask(inside), first_one, hint), code)


def _load_cut(frame: Frame, code: str, at: Pointer, step: int, point: Point, hint: str) -> Value:
    """A vector cut short of neighbours, forwards or backwards, where no instruction masks them.

    It is read whole if that stays in the page of the first element: what lies there can be read as that can, and what
    is beyond the row is not used. Else elements are copied one by one, which took 60 ns for the 16 bytes of a row.
    """
    b, lanes, inside = frame.b, point.lanes, memory_code(code)
    size = itemsize(inside)
    mask = point.mask(inside)  # made here: what is made within one way is unknown after it
    address = b.emit(f"ptrtoint ptr {at.ref} to i64", "i8", 1, "address")
    within = b.and_(address, frame.number(_PAGE - 1))
    beyond = (lanes - 1) * size  # bytes from the first lane to the last
    if step == 1:
        crosses = b.compare("sgt", within, frame.number(_PAGE - size - beyond))
        low = at
    else:
        crosses = b.compare("slt", within, frame.number(beyond))
        low = frame.offset(at, frame.number(-beyond), hint="low")
    buffer = frame.alloca(llvm_type(inside, lanes), "buffer", 64)

    def copied() -> list[Register]:
        first = buffer if step == 1 else frame.offset(buffer, frame.number(beyond), hint="first")
        unit = frame.number(step * size)
        call_copy(frame, size, first, unit, at, unit, point.count())
        return [buffer]

    (source,) = frame.when(crosses, copied, [low])
    assert isinstance(source, Pointer)
    there = _plain(frame, inside, source, lanes, f"{hint}.there")
    if step == -1:
        there = b.shuffle(there, None, range(lanes - 1, -1, -1))
    first_one = b.splat(_plain(frame, inside, at, 1, f"{hint}.first"), lanes)
    return from_memory(frame, b.emit(f"select {mask}, {there}, {first_one}", inside, lanes, hint), code)


def masked_load(frame: Frame, at: Pointer, mask: Value, otherwise: Value, hint: str) -> Value:
    b, code = frame.b, otherwise.code
    name = f"llvm.masked.load.{_mangled(code, otherwise.lanes)}.p0"
    align = itemsize(code)
    # The alignment as an operand is the spelling up to LLVM 21; later parsers upgrade it.
    b.module.declare(name, otherwise.type, ["ptr", "i32", mask.type, otherwise.type])
    text = f"call {otherwise.type} @{name}(ptr {at.ref}, i32 {align}, {mask}, {otherwise})"
    return b.emit(text, code, otherwise.lanes, hint)


def masked_store(frame: Frame, value: Value, at: Pointer, mask: Value) -> None:
    b, align = frame.b, itemsize(value.code)
    name = f"llvm.masked.store.{_mangled(value.code, value.lanes)}.p0"
    b.module.declare(name, "void", [value.type, "ptr", "i32", mask.type])
    b.line(f"call void @{name}({value}, ptr {at.ref}, i32 {align}, {mask})")


def expand_load(frame: Frame, code: str, at: Pointer, mask: Value, lanes: int) -> Value:
    """Elements that lie one after another, spread over the lanes of a mask; other lanes are 0."""
    b, type_ = frame.b, llvm_type(code, lanes)
    name = f"llvm.masked.expandload.{_mangled(code, lanes)}"
    b.module.declare(name, type_, [f"ptr align {itemsize(code)}", mask.type, type_])
    none = b.const(code, 0, lanes)
    return b.emit(f"call {type_} @{name}(ptr align {itemsize(code)} {at.ref}, {mask}, {none})", code, lanes, "spread")


def _mangled(code: str, lanes: int) -> str:
    spelled = {"half": "f16", "float": "f32", "double": "f64"}
    return f"v{lanes}{spelled.get(REAL_TYPES[code], REAL_TYPES[code])}"


def _masked_pairs(frame: Frame, part: str, at: Pointer, point: Point, hint: str) -> Value:
    mask = twice(frame, point.mask(part))
    return masked_load(frame, at, mask, frame.b.const(part, 0.0, 2 * point.lanes), hint)


def twice(frame: Frame, mask: Value) -> Value:
    """A mask with every lane twice, for (re, im) pairs."""
    return frame.b.shuffle(mask, None, [k // 2 for k in range(2 * mask.lanes)])


def _load_fixed(frame: Frame, code: str, at: Pointer, step: int, lanes: int, hint: str) -> AnyValue:
    """A whole vector with a small step: one wide load and a shuffle per part."""
    b = frame.b
    part = COMPLEX_PARTS.get(code, memory_code(code))
    width = 2 if code in COMPLEX_PARTS else 1
    if step == -1:
        at = frame.offset(at, frame.number(1 - lanes), itemsize(code), "low")
        wide = _plain(frame, part, at, lanes * width, hint)
        picks = [[(lanes - 1 - k) * width + w for k in range(lanes)] for w in range(width)]
    else:
        wide = _plain(frame, part, at, lanes * width * step, hint)
        picks = [[k * width * step + w for k in range(lanes)] for w in range(width)]
    parts = [b.shuffle(wide, None, pick) for pick in picks]
    return Complex(parts[0], parts[1]) if width == 2 else from_memory(frame, parts[0], code)


def gathers_natively(frame: Frame, code: str) -> bool:
    """Whether the host gathers such elements by one instruction, of any lane mask."""
    part = COMPLEX_PARTS.get(code, code)
    return frame.host.vector_bytes == 64 and itemsize(part) in (4, 8)


def _lane_offsets(frame: Frame, number: int, point: Point) -> Value:
    """Byte offsets of the lanes from the first one; lanes outside the row have 0."""
    b = frame.b
    step = fixed_step(frame.kernel.accesses[number])
    if step is None:
        spread = frame.splat(step_bytes(frame, number), point.lanes, frame.entry)
        assert isinstance(spread, Value)
        return b.mul(point.clamped(), spread)
    unit = step * itemsize(frame.kernel.accesses[number].code)
    offsets = b.vector("i8", [unit * k for k in range(point.lanes)])
    return offsets if point.whole else b.select(point.mask("i8"), offsets, b.like(offsets, 0))


def _gather(frame: Frame, code: str, at: Pointer, offsets: Value, lanes: int, hint: str) -> AnyValue:
    b = frame.b
    if code in COMPLEX_PARTS:
        part = COMPLEX_PARTS[code]
        re = _gather(frame, part, at, offsets, lanes, f"{hint}.re")
        later = frame.offset(at, frame.number(1), itemsize(part), "im.at")
        im = _gather(frame, part, later, offsets, lanes, f"{hint}.im")
        assert isinstance(re, Value)
        assert isinstance(im, Value)
        return Complex(re, im)
    name = "%" + b.fresh("where")
    b.line(f"{name} = getelementptr i8, ptr {at.ref}, {offsets}")
    full = f"llvm.masked.gather.{_mangled(code, lanes)}.v{lanes}p0"
    type_, pointers = llvm_type(code, lanes), f"<{lanes} x ptr>"
    b.module.declare(full, type_, [pointers, "i32", f"<{lanes} x i1>", type_])
    every = b.const("b1", True, lanes)
    text = f"call {type_} @{full}({pointers} {name}, i32 {itemsize(code)}, {every}, {type_} poison)"
    return b.emit(text, code, lanes, hint)


def along_lanes(frame: Frame, number: int, offsets: Value, point: Point) -> Value:
    """Byte offsets of lanes with what the access itself moves along the last axis."""
    if fixed_step(frame.kernel.accesses[number]) == 0:
        return offsets
    b = frame.b
    if point.lanes == 1:
        return b.add(offsets, b.mul(point.index, step_bytes(frame, number)))
    lanes = b.add(b.splat(point.index, point.lanes), point.clamped())
    return b.add(offsets, b.mul(lanes, b.splat(step_bytes(frame, number), point.lanes)))


def gather_bytes(frame: Frame, number: int, base: Pointer, offsets: Value, point: Point) -> AnyValue:
    """Elements at `base` + byte offsets that a kernel computed; lanes outside the row repeat lane 0's offset."""
    code = frame.kernel.accesses[number].code
    b = frame.b
    if offsets.lanes == 1:
        return load_scalar(frame, code, frame.offset(base, offsets), f"in{number}")
    if point.active is not None:
        first = b.splat(b.extract(offsets, 0), point.lanes)
        offsets = b.select(point.mask("i8"), offsets, first)
    if gathers_natively(frame, code):
        return _gather(frame, code, base, offsets, point.lanes, f"in{number}")
    ones = [
        load_scalar(frame, code, frame.offset(base, b.extract(offsets, k)), f"in{number}") for k in range(point.lanes)
    ]
    return assemble(frame, code, ones)


def assemble(frame: Frame, code: str, ones: list[AnyValue]) -> AnyValue:
    """A vector out of scalar registers."""
    if code in COMPLEX_PARTS:
        part = COMPLEX_PARTS[code]
        re = assemble(frame, part, [one.re for one in ones if isinstance(one, Complex)])
        im = assemble(frame, part, [one.im for one in ones if isinstance(one, Complex)])
        assert isinstance(re, Value)
        assert isinstance(im, Value)
        return Complex(re, im)
    vector = Value("poison", code, len(ones))
    for k, one in enumerate(ones):
        assert isinstance(one, Value)
        vector = frame.b.insert(vector, one, k)
    return vector


def _load_strided(frame: Frame, code: str, at: Pointer, stride: Value, point: Point, hint: str) -> AnyValue:
    """Any step by scalar loads: inline when whole, through a buffer otherwise."""
    lanes = point.lanes
    if point.whole and lanes <= _MOST_INLINE_LANES:
        ones, here = [], at
        for k in range(lanes):
            ones.append(load_scalar(frame, code, here, f"{hint}.lane"))
            if k + 1 < lanes:
                here = frame.offset(here, stride, hint="next")
        return assemble(frame, code, ones)
    part = COMPLEX_PARTS.get(code, memory_code(code))
    width = 2 if code in COMPLEX_PARTS else 1
    type_ = llvm_type(part, lanes * width)
    buffer = frame.alloca(type_, "buffer", 64)
    if not point.whole:
        first = load_scalar(frame, code, at, f"{hint}.first")
        parts = [first.re, first.im] if isinstance(first, Complex) else [to_memory(frame, first)]
        pair = [frame.b.splat(p, lanes) for p in parts]
        _put(frame, interleave(frame, pair), buffer)
    unit = frame.number(itemsize(code))
    call_copy(frame, itemsize(code), buffer, unit, at, stride, point.count())
    wide = _plain(frame, part, buffer, lanes * width, hint)
    if width == 1:
        return from_memory(frame, wide, code)
    parts = [frame.b.shuffle(wide, None, range(k, 2 * lanes, 2)) for k in (0, 1)]
    return Complex(parts[0], parts[1])


def interleave(frame: Frame, parts: list[Value]) -> Value:
    """(re, im) to pairs in memory order; one part stays as it is."""
    if len(parts) == 1:
        return parts[0]
    lanes = parts[0].lanes
    if lanes == 1:
        pair = Value("poison", parts[0].code, 2)
        return frame.b.insert(frame.b.insert(pair, parts[0], 0), parts[1], 1)
    order = [k // 2 + (k % 2) * lanes for k in range(2 * lanes)]
    return frame.b.shuffle(parts[0], parts[1], order)


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


# -- stores ------------------------------------------------------------------------------------------------
def store_or_stream(
    frame: Frame,
    past: Collection[int],
    number: int,
    base: Pointer,
    point: Point,
    value: AnyValue,
    mask: Value | None = None,
) -> None:
    """`store`; through accesses of `past` whole vectors go past the caches where the launch says so.

    Points of the walk begin whole vectors after an address that is a multiple of `streaming.LINE` then.
    """
    if number not in past or mask is not None:
        store(frame, number, base, point, value, mask)
        return
    access = frame.kernel.accesses[number]
    parts = [value.re, value.im] if isinstance(value, Complex) else [to_memory(frame, value)]
    nbytes = sum(part.lanes * itemsize(part.code) for part in parts)
    rest = point.active is not None and not point.often_whole
    if not frame.can_stream or fixed_step(access) != 1 or point.lanes == 1 or nbytes % (LINE // 2) or rest:
        store(frame, number, base, point, value)
        return
    condition = frame.streaming()
    if point.active is not None:
        condition = frame.b.and_(condition, frame.b.compare("sge", point.active, frame.number(point.lanes)))
        if masks_natively(frame, parts[0].code, point.lanes):
            point.mask(parts[0].code)  # made here: what is made within one way is unknown after it

    def stream() -> None:
        at = element(frame, number, base, point.index)
        wide = interleave(frame, parts)
        align = min(LINE, nbytes)
        frame.b.line(f"store {wide}, ptr {at.ref}, align {align}, !nontemporal !{{i32 1}}")

    frame.either(condition, stream, lambda: store(frame, number, base, point, value))


def store(frame: Frame, number: int, base: Pointer, point: Point, value: AnyValue, mask: Value | None = None) -> None:
    """Writes the lanes of a point through access `number`, only those of `mask` if given."""
    access = frame.kernel.accesses[number]
    code, at = access.code, element(frame, number, base, point.index)
    if point.lanes == 1:
        if mask is None:
            store_scalar(frame, value, at)
        else:
            store_when(frame, mask, value, at)
        return
    parts = [value.re, value.im] if isinstance(value, Complex) else [to_memory(frame, value)]
    step, part = fixed_step(access), parts[0].code
    if step == 1 and point.whole and mask is None:
        _put(frame, interleave(frame, parts), at)
    elif step == 1 and point.whole and mask is not None and not _stores_masked(frame, part, point.lanes):
        wide = interleave(frame, parts)
        mask = mask if len(parts) == 1 else twice(frame, mask)
        _put(frame, frame.b.select(mask, wide, _plain(frame, part, at, wide.lanes, "old")), at)
    elif step == 1 and masks_natively(frame, part, point.lanes):
        if mask is None:
            mask = point.mask(part)
        elif not point.whole:
            mask = frame.b.and_(mask, point.mask(part))
        if len(parts) == 2:
            mask = twice(frame, mask)
        masked_store(frame, interleave(frame, parts), at, mask)
    elif step == -1 and point.whole and mask is None:
        turned = [frame.b.shuffle(p, None, range(point.lanes - 1, -1, -1)) for p in parts]
        _put(
            frame,
            interleave(frame, turned),
            frame.offset(at, frame.number(1 - point.lanes), itemsize(code), "low"),
        )
    else:
        _store_strided(frame, code, at, step_bytes(frame, number), point, parts, mask)


def _store_strided(
    frame: Frame,
    code: str,
    at: Pointer,
    stride: Value,
    point: Point,
    parts: list[Value],
    mask: Value | None,
) -> None:
    b, lanes = frame.b, point.lanes
    if point.whole and mask is None and lanes <= _MOST_INLINE_LANES:
        for k in range(lanes):
            ones = [b.extract(p, k) for p in parts]
            store_scalar(frame, Complex(ones[0], ones[1]) if len(ones) == 2 else ones[0], at)
            if k + 1 < lanes:
                at = frame.offset(at, stride, hint="next")
        return
    wide = interleave(frame, parts)
    if mask is None and len(parts) == 1 and stride.ref == str(itemsize(code)):
        _store_pieces(frame, at, point.count(), wide)
        return
    buffer = frame.alloca(wide.type, "buffer", 64)
    _put(frame, wide, buffer)
    wanted = None
    if mask is not None:
        wanted = frame.alloca(f"<{lanes} x i8>", "wanted", 64)
        _put(frame, b.convert("zext", mask, "u1"), wanted)
    unit = frame.number(itemsize(code))
    call_copy(frame, itemsize(code), at, stride, buffer, unit, point.count(), wanted)


def put_inside(frame: Frame, at: Pointer, point: Point, value: Value) -> None:
    """Stores the lanes of a real register that lie inside the row at `at`, side by side."""
    value = to_memory(frame, value)
    if masks_natively(frame, value.code, point.lanes):
        masked_store(frame, value, at, point.mask(value.code))
        return
    _store_pieces(frame, at, point.count(), value)


def _store_pieces(frame: Frame, at: Pointer, count: Value, value: Value) -> None:
    """The first lanes of a register side by side, by the bits of their number: 13 are stored as 8, 4 and 1."""
    b = frame.b
    buffer = frame.alloca(value.type, "buffer", 64)
    _put(frame, value, buffer)
    places: list[Register] = [at, buffer]
    size = 1 << value.lanes.bit_length() - 1

    def move() -> list[Register]:
        to, source = places
        assert isinstance(to, Pointer)
        assert isinstance(source, Pointer)
        _put(frame, _plain(frame, value.code, source, size, "piece"), to)
        number = frame.number(size)
        return [frame.offset(p, number, itemsize(value.code), "piece.next") for p in (to, source)]

    while size:
        wanted = b.compare("ne", b.and_(count, frame.number(size)), frame.number(0))
        places = frame.when(wanted, move, places)
        size //= 2
