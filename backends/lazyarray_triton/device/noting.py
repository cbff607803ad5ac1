"""Owns the note that something is odd in a tile: a word is written by the threads that have it, and by nobody else."""

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
