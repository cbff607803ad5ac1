"""Owns logarithms and exponentials of real floats, of several elements of a thread at once: one branch for all of them.

libdevice's take up to a third of their instructions for what they do to numbers that are rare, and those of float64 a
branch for each element, across which the compiler moves nothing. Here a check tells whether all elements are usual
ones, and all go a longer way if one is not; both ways give a usual element the same bits, so that none depends on its
neighbours. The exponential of float32 is libdevice's, of eight instructions: with the GPU's guess of 2**h for a whole h
and what is left over put right, it would take six, but be off by up to 2.54 ULP.

The polynomials were computed by Remez' exchange algorithm in 140-bit arithmetic (64-bit for float32), with the error
weighted by what the formula around them makes of it, and then rounded; that of float32 was then moved by a few units
in its last places to where the largest error was least. On an H200 the logarithm of float32 is off by 1.05 ULP at most,
of all arguments; of 2**21 float64 logarithms by 1.18 and exponentials by 0.91.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice, num_threads

from lazyarray_triton.device.exact import DOUBLES, SINGLES, code


def _horner(kind: str, result: str, x: str, factors: str) -> str:
    """Lines for a polynomial, highest power first."""
    first, second, *rest = factors.split()
    lines = [f"fma.rn.{kind} {result}, {first}, {x}, {second};"]
    return "\n".join(lines + [f"fma.rn.{kind} {result}, {result}, {x}, {factor};" for factor in rest])


def _none_of_none(kind: str) -> str:
    """Lines for the result where the argument is no number, as the GPU's own functions have it."""
    return f"""add.rn.{kind} n, {{1}}, {{1}};
setp.nan.{kind} odd, {{1}}, {{1}};
selp.{kind} {{0}}, n, {{0}}, odd;
"""


def _logs_of_rare(kind: str, zero: str, lowest: str, none: str, infinite: str) -> str:
    """Lines for logarithms of zeros, of what is below them, of infinity and of what is no number."""
    return f"""setp.eq.{kind} odd, {{1}}, {zero};
selp.{kind} {{0}}, {lowest}, {{0}}, odd;
setp.lt.{kind} odd, {{1}}, {zero};
selp.{kind} {{0}}, {none}, {{0}}, odd;
setp.eq.{kind} odd, {{1}}, {infinite};
selp.{kind} {{0}}, {{1}}, {{0}}, odd;
{_none_of_none(kind)}"""


# -- logarithms -----------------------------------------------------------------------------------------------------
# x is 2**e times m in [2/3, 4/3); then r = m - 1 and log(x) = e log(2) + r + r**2 P(r). Where |e| is 125 at most, x is
# a positive normal number. h is e times 2**23, as it is cut from the bits. Error of P: 2**-25.2 of the logarithm.
_LOG_SINGLE_POLYNOMIAL = """
    0f3E0FA144 0fBE1D9422 0f3E0F512B 0fBE281975 0f3E4CEA18 0fBE800A3F
    0f3EAAAA7D 0fBEFFFFEB
"""
_LOG_OF_SINGLE = f"""
add.u32 a, b, 0xC0D55555;
and.b32 a, a, 0xFF800000;
sub.u32 b, b, a;
cvt.rn.f32.s32 h, a;
mov.b32 r, b;
add.rn.f32 r, r, 0fBF800000;
{_horner("f32", "t", "r", _LOG_SINGLE_POLYNOMIAL)}
mul.rn.f32 t, r, t;
fma.rn.f32 t, t, r, r;"""
_LOG_SINGLE = f"""
mov.b32 b, {{1}};{_LOG_OF_SINGLE}
fma.rn.f32 {{0}}, h, 0f33B17218, t;
below h, 0f4E7A0001
"""
# Subnormal numbers have 23 added to their exponent first.
_ANY_LOG_SINGLE = f"""
setp.lt.f32 odd, {{1}}, 0f00800000;
mul.rn.f32 n, {{1}}, 0f4B000000;
selp.f32 n, n, {{1}}, odd;
selp.f32 k, 0fCD380000, 0f00000000, odd;
mov.b32 b, n;{_LOG_OF_SINGLE}
add.rn.f32 h, h, k;
fma.rn.f32 {{0}}, h, 0f33B17218, t;
{_logs_of_rare("f32", "0f00000000", "0fFF800000", "0f7FC00000", "0f7F800000")}"""
# m is in [sqrt(1/2), sqrt(2)), f is m - 1 and s is f / (m + 1), a step from the GPU's guess. log(m) is 2 atanh(s), or
# s (2 + R(s**2)); with f, which has no error, in front that is f - f**2 / 2 + s (f**2 / 2 + R(s**2)). Error of R:
# 2**-59.3 of the logarithm. The exponent, times 2**20, is made a float64 in the low word of 2**52.
_LOG_DOUBLE_POLYNOMIAL = """
    0d3FC2F02FB68214B9 0d3FC39A1F990C5734 0d3FC74663C66A13E6 0d3FCC71C5215F57A9
    0d3FD24924941E1252 0d3FD999999997FEE3 0d3FE5555555555592
"""
_LOG_OF_DOUBLE = f"""
mov.b64 {{{{a, b}}}}, n;
add.u32 c, b, 0xC0195F62;
and.b32 c, c, 0xFFF00000;
sub.u32 b, b, c;
mov.b64 h, {{{{a, b}}}};
xor.b32 c, c, 0x80000000;
mov.b32 a, 0x43300000;
mov.b64 k, {{{{c, a}}}};
add.rn.f64 k, k, 0dC330000080000000;
add.rn.f64 n, h, 0d3FF0000000000000;
add.rn.f64 h, h, 0dBFF0000000000000;
rcp.approx.ftz.f64 r, n;
neg.f64 n, n;
fma.rn.f64 t, n, r, 0d3FF0000000000000;
fma.rn.f64 t, t, t, t;
fma.rn.f64 r, r, t, r;
mul.rn.f64 r, h, r;
mul.rn.f64 z, r, r;
mul.rn.f64 n, h, 0dBFE0000000000000;
mul.rn.f64 n, n, h;
{_horner("f64", "t", "z", _LOG_DOUBLE_POLYNOMIAL)}
neg.f64 m, n;
fma.rn.f64 t, t, z, m;
fma.rn.f64 n, r, t, n;
add.rn.f64 h, h, n;"""
_LOG_DOUBLE = f"""
mov.b64 {{{{a, b}}}}, {{1}};
add.u32 b, b, 0xFFF00000;
count b, 0x7FE00000
mov.f64 n, {{1}};{_LOG_OF_DOUBLE}
fma.rn.f64 {{0}}, k, 0d3EA62E42FEFA39EF, h;
"""
_ANY_LOG_DOUBLE = f"""
setp.lt.f64 odd, {{1}}, 0d0010000000000000;
mul.rn.f64 n, {{1}}, 0d4350000000000000;
selp.f64 n, n, {{1}}, odd;{_LOG_OF_DOUBLE}
add.rn.f64 n, k, 0dC18B000000000000;
selp.f64 k, n, k, odd;
fma.rn.f64 {{0}}, k, 0d3EA62E42FEFA39EF, h;
{_logs_of_rare("f64", "0d0000000000000000", "0dFFF0000000000000", "0d7FF8000000000000", "0d7FF0000000000000")}"""

# -- exponentials -----------------------------------------------------------------------------------------------------
# exp(x) is 2**a times 1 + r + r**2 P(r), for whole a and |r| at most log(2) / 2. Error of P: 2**-56.4 of the result.
_EXP_DOUBLE_POLYNOMIAL = """
    0d3E5AD7F67810053C 0d3E928AD72E267DB9 0d3EC71DF255796FE2 0d3EFA0199A0C4E7A1
    0d3F2A01A012A54E5A 0d3F56C16C1842A1AE 0d3F81111111127BEF 0d3FA555555555087C
    0d3FC55555555554FA 0d3FE000000000000A 0d3FF0000000000000 0d3FF0000000000000
"""
_EXP_OF_DOUBLE = f"""
fma.rn.f64 h, n, 0d3FF71547652B82FE, 0d4338000000000000;
mov.b64 {{{{a, b}}}}, h;
add.rn.f64 h, h, 0dC338000000000000;
fma.rn.f64 r, h, 0dBFE62E42FEFA39EF, n;
fma.rn.f64 r, h, 0dBC7ABC9E3B39803F, r;
{_horner("f64", "t", "r", _EXP_DOUBLE_POLYNOMIAL)}"""
_EXP_DOUBLE = f"""
mov.f64 n, {{1}};
below n, 0f40862000{_EXP_OF_DOUBLE}
shl.b32 a, a, 20;
mov.b64 {{{{b, c}}}}, t;
add.u32 c, c, a;
mov.b64 {{0}}, {{{{b, c}}}};
"""
# Elsewhere the power of two is two factors.
_ANY_EXP_DOUBLE = f"""
min.f64 n, {{1}}, 0d4089000000000000;
max.f64 n, n, 0dC089000000000000;{_EXP_OF_DOUBLE}
shr.s32 b, a, 1;
sub.u32 c, a, b;
add.u32 b, b, 1023;
shl.b32 b, b, 20;
add.u32 c, c, 1023;
shl.b32 c, c, 20;
mov.b32 a, 0;
mov.b64 k, {{{{a, b}}}};
mul.rn.f64 t, t, k;
mov.b64 k, {{{{a, c}}}};
mul.rn.f64 {{0}}, t, k;
{_none_of_none("f64")}"""

_LOG_1, _ONE_SINGLE = code("f32", _LOG_SINGLE, _ANY_LOG_SINGLE, 1, 1)
_LOG_4, _FOUR_SINGLES = code("f32", _LOG_SINGLE, _ANY_LOG_SINGLE, 4, 1)
_EXP_WIDE_1, _ONE_DOUBLE = code("f64", _EXP_DOUBLE, _ANY_EXP_DOUBLE, 1, 1)
_EXP_WIDE_2, _TWO_DOUBLES = code("f64", _EXP_DOUBLE, _ANY_EXP_DOUBLE, 2, 1)
_LOG_WIDE_1, _ = code("f64", _LOG_DOUBLE, _ANY_LOG_DOUBLE, 1, 1)
_LOG_WIDE_2, _ = code("f64", _LOG_DOUBLE, _ANY_LOG_DOUBLE, 2, 1)


@triton.jit
def exp(x):
    if x.dtype == tl.float64:
        if x.numel // num_threads() >= DOUBLES:
            found = tl.inline_asm_elementwise(_EXP_WIDE_2, _TWO_DOUBLES, [x], x.dtype, is_pure=True, pack=DOUBLES)
        else:
            found = tl.inline_asm_elementwise(_EXP_WIDE_1, _ONE_DOUBLE, [x], x.dtype, is_pure=True, pack=1)
    else:
        found = libdevice.exp(x)
    return found


@triton.jit
def log(x):
    if x.dtype == tl.float64:
        if x.numel // num_threads() >= DOUBLES:
            found = tl.inline_asm_elementwise(_LOG_WIDE_2, _TWO_DOUBLES, [x], x.dtype, is_pure=True, pack=DOUBLES)
        else:
            found = tl.inline_asm_elementwise(_LOG_WIDE_1, _ONE_DOUBLE, [x], x.dtype, is_pure=True, pack=1)
    elif x.numel // num_threads() >= SINGLES:
        found = tl.inline_asm_elementwise(_LOG_4, _FOUR_SINGLES, [x], x.dtype, is_pure=True, pack=SINGLES)
    else:
        found = tl.inline_asm_elementwise(_LOG_1, _ONE_SINGLE, [x], x.dtype, is_pure=True, pack=1)
    return found
