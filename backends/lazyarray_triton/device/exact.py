"""Owns exact division and roots of several elements of a thread at once: one branch for all of them.

The compiler makes one for each element, with its own check of what the short way covers and its own end, which takes a
third of the instructions and keeps elements from being computed side by side. Here the short way is written out, its
result tells what it did not cover, and only then all elements go the compiler's way: the bits are the same.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import num_threads

SINGLES = tl.constexpr(4)  # elements of float32 at once, where a thread has as many
DOUBLES = tl.constexpr(2)


def assembly(kind: str, short: str, exact: str, count: int, inputs: int) -> str:
    """PTX for `count` elements. `short`: lines with {0} for a result, {1} and {2} for arguments, and those of a check,
    which begin with "check": a magnitude, or the high word of one, and the least that is covered; of float64 also what
    has no inverse that is covered. Or with "below": a magnitude, and what it has to be below; or with "count": a whole
    number without sign, likewise."""
    lines = [
        "{",
        ".reg .pred covered, odd;",
        f".reg .{kind} r, n, t, h, k, m, z;",
        ".reg .f32 low, high, other;",
        ".reg .b32 a, b, c;",
    ]
    begun = False
    names = [[f"${count * part + k}" for part in range(inputs + 1)] for k in range(count)]
    for refs in names:
        for line in short.strip().splitlines():
            word, _, rest = line.strip().partition(" ")
            if word not in ("check", "below", "count"):
                lines.append(line.strip().format(*refs))
                continue
            value, bound, *inverted = (part.strip().format(*refs) for part in rest.split(","))
            if word != "count":
                lines.append(f"mov.b64 {{low, high}}, {value};" if kind == "f64" else f"mov.f32 high, {value};")
                # High words of numbers from 2**1017 on are infinite or none: 0 times them is none.
                for other in inverted:
                    lines += [f"mov.b64 {{low, other}}, {other};", "fma.rn.f32 high, other, 0f00000000, high;"]
                lines.append("abs.f32 high, high;")
            how, what, value = {
                "check": ("ge", "f32", "high"),
                "below": ("lt", "f32", "high"),
                "count": ("lt", "u32", value),
            }[word]
            joined, before = (".and", ", covered") if begun else ("", "")
            lines.append(f"setp.{how}{joined}.{what} covered, {value}, {bound}{before};")
            begun = True
    exactly = [line.strip().format(*refs) for refs in names for line in exact.strip().splitlines()]
    lines += ["@covered bra DONE;", *exactly, "DONE:", "}"]
    return "\n".join(lines)


def constraints(kind: str, count: int, inputs: int) -> str:
    letter = "f" if kind == "f32" else "d"
    return ",".join([f"=&{letter}"] * count + [letter] * (count * inputs))


# A reciprocal is right after one step (three for float64) from the GPU's guess, and a quotient after one more (as
# many), as long as no remainder is too small a number. What overflows, underflows, is infinite, zero or no number on
# the way leaves a result that is small or no number. Least magnitudes: 2**-60 and 2**-100, of float64 2**-900 by its
# high word.
_DIVIDE_SINGLE = """
rcp.approx.ftz.f32 r, {2};
neg.f32 n, {2};
fma.rn.f32 t, n, r, 0f3F800000;
fma.rn.f32 r, r, t, r;
mul.rn.f32 h, {1}, r;
fma.rn.f32 t, n, h, {1};
fma.rn.f32 {0}, t, r, h;
check {0}, 0f21800000
check {1}, 0f0D800000
"""
_RECIPROCAL_SINGLE = """
rcp.approx.ftz.f32 r, {1};
neg.f32 n, {1};
fma.rn.f32 t, n, r, 0f3F800000;
fma.rn.f32 {0}, r, t, r;
check {0}, 0f00800000
"""
# Of negative numbers next to zero the guess is minus infinity; with its magnitude the result is no number.
_ROOT_SINGLE = """
rsqrt.approx.ftz.f32 r, {1};
mul.rn.f32 h, {1}, r;
abs.f32 n, r;
mul.rn.f32 n, n, 0f3F000000;
neg.f32 t, h;
fma.rn.f32 t, t, h, {1};
fma.rn.f32 {0}, t, n, h;
check {0}, 0f26800000
"""
# The guess for a float64 has no low word. With that of the compiler's own way its steps lead to the same bits: from 1,
# for the number just below 1, they would not lead to the one above. Where the guess is 0, as for numbers whose inverse
# is subnormal, the low word alone is a number far from it: quotients by such numbers go the compiler's way.
_INVERSE_DOUBLE = """
rcp.approx.ftz.f64 r, {1};
mov.b64 {{a, b}}, r;
mov.b32 a, 1;
mov.b64 r, {{a, b}};
neg.f64 n, {1};
fma.rn.f64 t, n, r, 0d3FF0000000000000;
fma.rn.f64 t, t, t, t;
fma.rn.f64 r, r, t, r;
fma.rn.f64 t, n, r, 0d3FF0000000000000;
fma.rn.f64 r, r, t, r;"""
_DIVIDE_DOUBLE = (
    _INVERSE_DOUBLE.replace("{1}", "{2}")
    + """
mul.rn.f64 h, {1}, r;
fma.rn.f64 t, n, h, {1};
fma.rn.f64 {0}, r, t, h;
check {0}, 0f07B00000, {2}
check {1}, 0f07B00000
"""
)
_RECIPROCAL_DOUBLE = (
    _INVERSE_DOUBLE
    + """
fma.rn.f64 t, n, r, 0d3FF0000000000000;
fma.rn.f64 {0}, r, t, r;
check {0}, 0f07B00000
"""
)
_ROOT_DOUBLE = """
mov.b64 {{a, b}}, {1};
add.u32 a, b, 0xFCB00000;
rsqrt.approx.ftz.f64 r, {1};
mov.b64 {{low, high}}, r;
mov.b64 r, {{a, high}};
mul.rn.f64 t, r, r;
neg.f64 n, {1};
fma.rn.f64 t, n, t, 0d3FF0000000000000;
fma.rn.f64 h, t, 0d3FD8000000000000, 0d3FE0000000000000;
mul.rn.f64 t, r, t;
fma.rn.f64 r, h, t, r;
mul.rn.f64 h, {1}, r;
mov.b64 {{a, b}}, r;
add.u32 b, b, 0xFFF00000;
mov.b64 k, {{a, b}};
neg.f64 n, h;
fma.rn.f64 t, n, h, {1};
fma.rn.f64 {0}, t, k, h;
check {0}, 0f23B00000
"""
# One over a whole number from 1 on, where a reciprocal's short way covers every one.
_INVERSE_OF_COUNT = tl.constexpr(
    """{
.reg .f32 r, n, t;
rcp.approx.ftz.f32 r, $1;
neg.f32 n, $1;
fma.rn.f32 t, n, r, 0f3F800000;
fma.rn.f32 $0, r, t, r;
}"""
)


def code(kind: str, short: str, exact: str, count: int, inputs: int) -> tuple[tl.constexpr, tl.constexpr]:
    return tl.constexpr(assembly(kind, short, exact, count, inputs)), tl.constexpr(constraints(kind, count, inputs))


_DIVIDE_4, _FROM_TWO_4 = code("f32", _DIVIDE_SINGLE, "div.rn.f32 {0}, {1}, {2};", 4, 2)
_RECIPROCAL_4, _FROM_ONE_4 = code("f32", _RECIPROCAL_SINGLE, "rcp.rn.f32 {0}, {1};", 4, 1)
_ROOT_4, _ = code("f32", _ROOT_SINGLE, "sqrt.rn.f32 {0}, {1};", 4, 1)
_DIVIDE_2, _FROM_TWO_2 = code("f64", _DIVIDE_DOUBLE, "div.rn.f64 {0}, {1}, {2};", 2, 2)
_RECIPROCAL_2, _ = code("f64", _RECIPROCAL_DOUBLE, "rcp.rn.f64 {0}, {1};", 2, 1)
_ROOT_2, _FROM_ONE_2 = code("f64", _ROOT_DOUBLE, "sqrt.rn.f64 {0}, {1};", 2, 1)


@triton.jit
def divide(x, y):
    x, y = tl.broadcast(x, y)
    if x.dtype == tl.float64:
        if x.numel // num_threads() >= DOUBLES:
            ratio = tl.inline_asm_elementwise(_DIVIDE_2, _FROM_TWO_2, [x, y], x.dtype, is_pure=True, pack=DOUBLES)
        else:
            ratio = x / y
    elif x.numel // num_threads() >= SINGLES:
        ratio = tl.inline_asm_elementwise(_DIVIDE_4, _FROM_TWO_4, [x, y], x.dtype, is_pure=True, pack=SINGLES)
    else:
        ratio = tl.div_rn(x, y)
    return ratio


@triton.jit
def reciprocal(x):
    one = tl.full([], 1, x.dtype)
    if x.dtype == tl.float64:
        if x.numel // num_threads() >= DOUBLES:
            ratio = tl.inline_asm_elementwise(_RECIPROCAL_2, _FROM_ONE_2, [x], x.dtype, is_pure=True, pack=DOUBLES)
        else:
            ratio = one / x
    elif x.numel // num_threads() >= SINGLES:
        ratio = tl.inline_asm_elementwise(_RECIPROCAL_4, _FROM_ONE_4, [x], x.dtype, is_pure=True, pack=SINGLES)
    else:
        ratio = tl.div_rn(one, x)
    return ratio


@triton.jit
def inverse_of_count(count):
    """1 over a whole number from 1 on, without a branch."""
    if count.dtype == tl.float32:
        inverse = tl.inline_asm_elementwise(_INVERSE_OF_COUNT, "=f,f", [count], count.dtype, is_pure=True, pack=1)
    else:
        inverse = reciprocal(count)
    return inverse


@triton.jit
def sqrt(x):
    if x.dtype == tl.float64:
        if x.numel // num_threads() >= DOUBLES:
            root = tl.inline_asm_elementwise(_ROOT_2, _FROM_ONE_2, [x], x.dtype, is_pure=True, pack=DOUBLES)
        else:
            root = tl.sqrt(x)
    elif x.numel // num_threads() >= SINGLES:
        root = tl.inline_asm_elementwise(_ROOT_4, _FROM_ONE_4, [x], x.dtype, is_pure=True, pack=SINGLES)
    else:
        root = tl.sqrt_rn(x)
    return root
