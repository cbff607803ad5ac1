"""Owns ends of rows: vectors cut short, of elements that no instruction masks, read and written inside the row."""

from __future__ import annotations

from lazyarray_llvm.builder import Value, itemsize, llvm_type, memory_code
from lazyarray_llvm.lower.elements import call_copy, from_memory, masked_store, plain, put, to_memory
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.point import Point, masks_natively

_PAGE = 4096  # bytes: the least that hosts protect at once


def load_cut(frame: Frame, code: str, at: Pointer, step: int, point: Point, hint: str) -> Value:
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
    there = plain(frame, inside, source, lanes, f"{hint}.there")
    if step == -1:
        there = b.shuffle(there, None, range(lanes - 1, -1, -1))
    first_one = b.splat(plain(frame, inside, at, 1, f"{hint}.first"), lanes)
    return from_memory(frame, b.emit(f"select {mask}, {there}, {first_one}", inside, lanes, hint), code)


def put_inside(frame: Frame, at: Pointer, point: Point, value: Value) -> None:
    """Stores the lanes of a real register that lie inside the row at `at`, side by side."""
    value = to_memory(frame, value)
    if masks_natively(frame, value.code, point.lanes):
        masked_store(frame, value, at, point.mask(value.code))
        return
    store_pieces(frame, at, point.count(), value)


def store_pieces(frame: Frame, at: Pointer, count: Value, value: Value) -> None:
    """The first lanes of a register side by side, by the bits of their number: 13 are stored as 8, 4 and 1."""
    b = frame.b
    buffer = frame.alloca(value.type, "buffer", 64)
    put(frame, value, buffer)
    places: list[Register] = [at, buffer]
    size = 1 << value.lanes.bit_length() - 1

    def move() -> list[Register]:
        to, source = places
        assert isinstance(to, Pointer)
        assert isinstance(source, Pointer)
        put(frame, plain(frame, value.code, source, size, "piece"), to)
        number = frame.number(size)
        return [frame.offset(p, number, itemsize(value.code), "piece.next") for p in (to, source)]

    while size:
        wanted = b.compare("ne", b.and_(count, frame.number(size)), frame.number(0))
        places = frame.when(wanted, move, places)
        size //= 2
