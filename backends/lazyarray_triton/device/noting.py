"""Owns notes of what a tile holds: a word of memory is written by the threads that found something, and by nobody else.

Atomic operations on a tile would do the same, but each of them is laid out anew by the compiler: a look at 189 values
took 19 s to compile with them.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import num_threads

_SEVERAL = tl.constexpr(4)  # elements of a thread that are joined first, if it has as many
_NOTE_4 = tl.constexpr(
    "{ .reg .pred odd; .reg .f32 all;"
    " add.f32 all, $4, $5; add.f32 all, all, $6; add.f32 all, all, $7;"
    " setp.nan.f32 odd, all, all; @odd st.global.u32 [$8], 1;"
    " mov.u32 $0, 0; mov.u32 $1, 0; mov.u32 $2, 0; mov.u32 $3, 0; }"
)
_NOTE_1 = tl.constexpr(
    "{ .reg .pred odd; setp.nan.f32 odd, $1, $1; @odd st.global.u32 [$2], 1; mov.u32 $0, 0; }"
)  # fmt: skip
# What is there already is not joined again: thousands of lanes may have found the same.
_JOIN = tl.constexpr(
    "{ .reg .pred some; .reg .b32 new;"
    " setp.ne.b32 some, $1, 0; mov.b32 new, 0; @some ld.global.b32 new, [$2];"
    " not.b32 new, new; and.b32 new, new, $1;"
    " setp.ne.b32 some, new, 0; @some red.relaxed.gpu.global.or.b32 [$2], new; mov.u32 $0, 0; }"
)


@triton.jit
def join(bits, word):
    """Joins the bits of all elements of a tile of int32 into a word of memory."""
    place = tl.full(bits.shape, 0, tl.int64) + word.to(tl.int64)
    tl.inline_asm_elementwise(_JOIN, "=r,r,l", [bits, place], tl.int32, is_pure=False, pack=1)


@triton.jit
def one(value, x, limit: tl.constexpr):
    """NumPy's bits of real values of one argument: 8 where it was one and they are none, `limit` for infinities."""
    invalid = (value != value) & (x == x)
    infinite = (tl.abs(value) == float("inf")) & (tl.abs(x) < float("inf"))
    return tl.where(invalid, 8, 0) | tl.where(infinite, limit, 0)


@triton.jit
def two(value, x, y, limit: tl.constexpr):
    """The same of two arguments."""
    invalid = (value != value) & (x == x) & (y == y)
    infinite = (tl.abs(value) == float("inf")) & (tl.abs(x) < float("inf")) & (tl.abs(y) < float("inf"))
    return tl.where(invalid, 8, 0) | tl.where(infinite, limit, 0)


@triton.jit
def note(odd, word):
    """Writes 1 to a word of memory if some element of `odd`, which are zeros otherwise, is no number.

    A store of a tile would have its elements go through shared memory to be spread over the threads.
    """
    place = tl.full(odd.shape, 0, tl.int64) + word.to(tl.int64)
    if odd.numel // num_threads() >= _SEVERAL:
        tl.inline_asm_elementwise(
            _NOTE_4, "=r,=r,=r,=r,f,f,f,f,l,l,l,l", [odd, place], tl.int32, is_pure=False, pack=_SEVERAL
        )
    else:
        tl.inline_asm_elementwise(_NOTE_1, "=r,f,l", [odd, place], tl.int32, is_pure=False, pack=1)
