"""Owns loads and stores: one vector of elements along the last axis, for every step, whole or cut short."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lazyarray.schedule.kernel import Access
from lazyarray_llvm.builder import (
    COMPLEX_PARTS,
    AnyValue,
    Complex,
    Value,
    itemsize,
    llvm_type,
    memory_code,
)
from lazyarray_llvm.lower.elements import (
    call_copy,
    from_memory,
    load_scalar,
    mangled,
    masked_load,
    masked_store,
    plain,
    put,
    store_scalar,
    store_when,
    to_memory,
)
from lazyarray_llvm.lower.ends import load_cut, store_pieces
from lazyarray_llvm.lower.frame import Frame, Pointer
from lazyarray_llvm.lower.pairs import order
from lazyarray_llvm.lower.point import Point, masks_natively
from lazyarray_llvm.lower.streaming import LINE

# Strided elements are moved one by one in inline code up to so many lanes, by a gather or a loop beyond: a 3000 x 3000
# transposed read took 5 ms so and 8 ms with AVX-512 gathers in float32, and the same in float64.
_INLINE_LANES = 16
# What no instruction gathers is moved so up to more lanes, and by a loop beyond: 1e5 bytes turned, 66 us and 116.
_MOST_INLINE_LANES = 64


def _stores_masked(frame: Frame, code: str, lanes: int) -> bool:
    """Whether a whole vector is best stored through a mask; vectors below 16 bytes have wider masks in registers."""
    return masks_natively(frame, code, lanes) and lanes * itemsize(code) >= 16


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
        return load_cut(frame, code, at, step, point, hint)
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
            pairs = plain(frame, part, at, 2 * lanes, hint)
        else:
            pairs = _masked_pairs(frame, part, at, point, hint)
        places = lane_order(frame, code, point)
        parts = [b.shuffle(pairs, None, [2 * place + k for place in places]) for k in (0, 1)]
        if not point.whole:
            mask = point.mask(part)
            first = load_scalar(frame, code, at, f"{hint}.first")
            assert isinstance(first, Complex)
            parts = [b.select(mask, v, b.splat(f, lanes)) for v, f in zip(parts, (first.re, first.im), strict=True)]
        return Complex(parts[0], parts[1])
    inside = memory_code(code)
    if point.whole:
        return from_memory(frame, plain(frame, inside, at, lanes, hint), code)
    first_one = b.splat(plain(frame, inside, at, 1, f"{hint}.first"), lanes)
    return from_memory(frame, masked_load(frame, at, point.mask(inside), first_one, hint), code)


def lane_order(frame: Frame, code: str, point: Point) -> Sequence[int]:
    """Which of a point's complex numbers every lane holds."""
    return order(code, point.lanes) if frame.in_halves and point.whole else range(point.lanes)


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
        wide = plain(frame, part, at, lanes * width, hint)
        picks = [[(lanes - 1 - k) * width + w for k in range(lanes)] for w in range(width)]
    else:
        wide = plain(frame, part, at, lanes * width * step, hint)
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
    full = f"llvm.masked.gather.{mangled(code, lanes)}.v{lanes}p0"
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
        put(frame, interleave(frame, pair), buffer)
    unit = frame.number(itemsize(code))
    call_copy(frame, itemsize(code), buffer, unit, at, stride, point.count())
    wide = plain(frame, part, buffer, lanes * width, hint)
    if width == 1:
        return from_memory(frame, wide, code)
    parts = [frame.b.shuffle(wide, None, range(k, 2 * lanes, 2)) for k in (0, 1)]
    return Complex(parts[0], parts[1])


def interleave(frame: Frame, parts: list[Value], places: Sequence[int] | None = None) -> Value:
    """(re, im) to pairs in memory order; one part stays as it is. `places`: which number every lane holds, if told."""
    if len(parts) == 1:
        return parts[0]
    lanes = parts[0].lanes
    if lanes == 1:
        pair = Value("poison", parts[0].code, 2)
        return frame.b.insert(frame.b.insert(pair, parts[0], 0), parts[1], 1)
    picks = [0] * (2 * lanes)
    for lane, place in enumerate(range(lanes) if places is None else places):
        picks[2 * place], picks[2 * place + 1] = lane, lanes + lane
    return frame.b.shuffle(parts[0], parts[1], picks)


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
        places = lane_order(frame, code, point) if len(parts) == 2 else None
        put(frame, interleave(frame, parts, places), at)
    elif step == 1 and point.whole and mask is not None and not _stores_masked(frame, part, point.lanes):
        wide = interleave(frame, parts)
        mask = mask if len(parts) == 1 else twice(frame, mask)
        put(frame, frame.b.select(mask, wide, plain(frame, part, at, wide.lanes, "old")), at)
    elif step == 1 and masks_natively(frame, part, point.lanes):
        if mask is None:
            mask = point.mask(part)
        elif not point.whole:
            mask = frame.b.and_(mask, point.mask(part))
        if len(parts) == 2:
            mask = twice(frame, mask)
        masked_store(frame, interleave(frame, parts), at, mask)
    elif step == 1 and mask is None and len(parts) == 1:
        store_pieces(frame, at, point.count(), parts[0])
    elif step == -1 and point.whole and mask is None:
        turned = [frame.b.shuffle(p, None, range(point.lanes - 1, -1, -1)) for p in parts]
        put(
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
    buffer = frame.alloca(wide.type, "buffer", 64)
    put(frame, wide, buffer)
    wanted = None
    if mask is not None:
        wanted = frame.alloca(f"<{lanes} x i8>", "wanted", 64)
        put(frame, b.convert("zext", mask, "u1"), wanted)
    unit = frame.number(itemsize(code))
    call_copy(frame, itemsize(code), at, stride, buffer, unit, point.count(), wanted)
