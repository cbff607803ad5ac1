"""Owns what differs between float32 and float64 where a function is computed alike in both: layouts and constants."""

from __future__ import annotations

from dataclasses import dataclass

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath import tables

Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Format:
    """A dtype's layout, the constants and tables rounded to it, and the polynomials that suffice for it."""

    code: str
    integer: str  # of the same size
    fraction_bits: int
    bias: int
    least: int  # the bits of 0.697265625
    sqrt_half: int  # the bits of sqrt(1/2)
    largest: float
    subnormal: float  # numbers below are
    lift: int  # a multiple of three: 2**lift makes subnormal numbers normal
    magic: float  # 1.5 * 2**fraction_bits: the sum with it has the nearest integer (ties to even) in its low bits
    magic_step: float  # the same for the nearest multiple of 1/16
    tiny: float  # below, x is nearer to odd functions than a tenth of an ulp
    large: float  # from here on, asinh(x) = acosh(x) = log(2 x) and 1 + x = x to this accuracy
    negligible: float  # below, x is expm1(x) and log1p(x)
    log1p_range: tuple[
        float, float
    ]  # how much less than 1 may be added for a sum that is positive, and below what it is
    exp_range: tuple[float, float]  # beyond, the result is the same as there
    exp2_range: tuple[float, float]
    exp_zero: float  # below, the result is 0
    exp2_zero: float
    sinh_limit: float
    small_divisor: tuple[float, float]  # below the first, the second scales quotients up
    large_divisor: tuple[float, float]  # above the first, the second scales them down
    scaled_by: int  # two to this keeps the terms of sinh and cosh, and products with 2**27, in range
    pi: float
    pi_rest: float
    pi_3_4: float
    pi_3_4_rest: float
    log2e: float
    log2e_rest: float
    ln2: float
    ln2_rest: float
    ln2_head: float  # so few bits that products with exponents are exact
    ln2_tail: float
    log10e: float
    log10e_rest: float
    log10_2_head: float
    log10_2_tail: float
    powers: Row
    powers_rest: Row
    logs: Row
    logs_rest: Row
    logs2: Row
    logs2_rest: Row
    logs10: Row
    logs10_rest: Row
    angles: Row
    angles_rest: Row
    exp: Row
    exp2: Row
    expm1: Row
    sinh: Row
    cosh: Row
    log: Row
    log2: Row
    log10: Row
    asin: Row
    atanh: Row
    atan: Row
    atan_step: Row
    cbrt_start: Row
    cbrt_series: Row

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction_bits

    @property
    def packed(self) -> str:
        """What `struct` calls it."""
        return "<f" if self.code == "f4" else "<d"

    @property
    def infinity(self) -> int:
        """The bits of infinity."""
        return (2 * self.bias + 1) << self.fraction_bits

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return self.infinity | ((1 << self.fraction_bits) - 1)


DOUBLE = Format(
    code="f8",
    integer="i8",
    fraction_bits=52,
    bias=1023,
    least=0x3FE6500000000000,
    sqrt_half=0x3FE6A09E667F3BCD,
    largest=1.7976931348623157e308,
    subnormal=2.0**-1022,
    lift=54,
    magic=1.5 * 2.0**52,
    magic_step=1.5 * 2.0**48,
    tiny=2.0**-28,
    large=2.0**55,
    negligible=2.0**-54,
    log1p_range=(1.0 - 2.0**-40, 2.0**900),
    exp_range=(-746.0, 710.0),
    exp2_range=(-1080.0, 1024.0),
    exp_zero=-745.14,
    exp2_zero=-1075.0,
    sinh_limit=710.5,
    small_divisor=(2.0**-500, 2.0**500),
    large_divisor=(2.0**900, 2.0**-600),
    scaled_by=-33,
    pi=3.141592653589793,
    pi_rest=1.2246467991473532e-16,
    pi_3_4=2.356194490192345,
    pi_3_4_rest=9.184850993605148e-17,
    log2e=1.4426950408889634,
    log2e_rest=2.0355273740931033e-17,
    ln2=0.6931471805599453,
    ln2_rest=2.3190468138462996e-17,
    ln2_head=0.6931471804855391,
    ln2_tail=7.440617110012397e-11,
    log10e=0.4342944819032518,
    log10e_rest=1.098319650216765e-17,
    log10_2_head=0.30102999560767785,
    log10_2_tail=5.630334806675098e-11,
    powers=tables.POWERS,
    powers_rest=tables.POWERS_REST,
    logs=tables.LOGS,
    logs_rest=tables.LOGS_REST,
    logs2=tables.LOGS2,
    logs2_rest=tables.LOGS2_REST,
    logs10=tables.LOGS10,
    logs10_rest=tables.LOGS10_REST,
    angles=tables.ANGLES,
    angles_rest=tables.ANGLES_REST,
    exp=poly.EXP_STEP,
    exp2=poly.EXP2_STEP,
    expm1=poly.EXPM1_STEP,
    sinh=poly.SINH_STEP,
    cosh=poly.COSH_STEP,
    log=poly.LOG_STEP,
    log2=poly.LOG2_STEP,
    log10=poly.LOG10_STEP,
    asin=poly.ASIN,
    atanh=poly.ATANH,
    atan=poly.ATAN,
    atan_step=poly.ATAN_STEP,
    cbrt_start=poly.CBRT_START,
    cbrt_series=poly.CBRT_SERIES,
)
FLOAT = Format(
    code="f4",
    integer="i4",
    fraction_bits=23,
    bias=127,
    least=0x3F328000,
    sqrt_half=0x3F3504F3,
    largest=3.4028234663852886e38,
    subnormal=2.0**-126,
    lift=24,
    magic=1.5 * 2.0**23,
    magic_step=1.5 * 2.0**19,
    tiny=2.0**-14,
    large=2.0**26,
    negligible=2.0**-25,
    log1p_range=(1.0 - 2.0**-16, 2.0**100),
    exp_range=(-104.0, 89.0),
    exp2_range=(-151.0, 128.0),
    exp_zero=-103.98,
    exp2_zero=-150.0,
    sinh_limit=89.5,
    small_divisor=(2.0**-60, 2.0**88),
    large_divisor=(2.0**100, 2.0**-40),
    scaled_by=-2,
    pi=3.1415927410125732,
    pi_rest=-8.742277657347586e-08,
    pi_3_4=2.356194496154785,
    pi_3_4_rest=-5.962440319251527e-09,
    log2e=1.4426950216293335,
    log2e_rest=1.925963033500011e-08,
    ln2=0.6931471824645996,
    ln2_rest=-1.9046542121259336e-09,
    ln2_head=0.693145751953125,
    ln2_tail=1.428606765330187e-06,
    log10e=0.4342944920063019,
    log10e_rest=-1.0103049952192578e-08,
    log10_2_head=0.301025390625,
    log10_2_tail=4.605039066518657e-06,
    powers=tables.POWERS_FLOAT,
    powers_rest=tables.POWERS_REST_FLOAT,
    logs=tables.LOGS_FLOAT,
    logs_rest=tables.LOGS_REST_FLOAT,
    logs2=tables.LOGS2_FLOAT,
    logs2_rest=tables.LOGS2_REST_FLOAT,
    logs10=tables.LOGS10_FLOAT,
    logs10_rest=tables.LOGS10_REST_FLOAT,
    angles=tables.ANGLES_FLOAT,
    angles_rest=tables.ANGLES_REST_FLOAT,
    exp=poly.EXP_STEP_FLOAT,
    exp2=poly.EXP2_STEP_FLOAT,
    expm1=poly.EXPM1_STEP_FLOAT,
    sinh=poly.SINH_STEP_FLOAT,
    cosh=poly.COSH_STEP_FLOAT,
    log=poly.LOG_STEP_FLOAT,
    log2=poly.LOG2_STEP_FLOAT,
    log10=poly.LOG10_STEP_FLOAT,
    asin=poly.ASIN_FLOAT,
    atanh=poly.ATANH_FLOAT,
    atan=poly.ATAN_FLOAT,
    atan_step=poly.ATAN_STEP_FLOAT,
    cbrt_start=(),
    cbrt_series=poly.CBRT_SERIES_FLOAT,
)
FORMATS = {"f4": FLOAT, "f8": DOUBLE}
