"""Owns the constants of the functions that are computed alike in float32 and float64, for each of both.

Tables have 16 numbers.  They were computed in 200-bit arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyarray_llvm.vecmath import polynomial as poly

Row = tuple[float, ...]

# 2**(j/16) rounded, and what that leaves out, divided by it.
POWERS = (
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    1.4142135623730951,
    1.4768261459394993,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971474,
)
POWERS_REST = (
    0.0,
    8.189317638195515e-17,
    -2.7939114859515733e-17,
    7.826573258636076e-17,
    3.3484623336251524e-17,
    3.750854201303127e-17,
    1.9572585293112036e-17,
    5.68648095791174e-17,
    -6.835808657661922e-17,
    -2.3591094770850053e-17,
    5.1548301170786783e-17,
    1.5341410053603723e-17,
    4.875160526227062e-17,
    1.685487290628973e-17,
    1.790126907604513e-17,
    -5.545065618639427e-17,
)
POWERS_FLOAT = (
    1.0,
    1.0442737340927124,
    1.0905077457427979,
    1.1387885808944702,
    1.1892070770263672,
    1.2418577671051025,
    1.2968395948410034,
    1.3542555570602417,
    1.4142135381698608,
    1.4768261909484863,
    1.5422108173370361,
    1.610490322113037,
    1.6817928552627563,
    1.7562521696090698,
    1.8340080976486206,
    1.9152065515518188,
)
POWERS_REST_FLOAT = (
    0.0,
    4.6285471455576044e-08,
    -1.199215748926008e-08,
    4.7297824323777604e-08,
    3.1934181521364735e-08,
    3.621057231839586e-08,
    -3.0990719324108795e-08,
    -7.475213337215791e-09,
    1.7114270889351246e-08,
    -3.047683350132502e-08,
    5.233334210430485e-09,
    6.10759176566944e-09,
    -1.4719605090363075e-08,
    -5.258795177098818e-09,
    -6.128259677495862e-09,
    5.140609271592211e-09,
)
# A number r near 1/m for m in each sixteenth of [0.697265625, 1.39453125): 1 around 1, of so few bits that r m - 1 is
# exact.
INVERSES = (
    1.40625,
    1.34375,
    1.28125,
    1.25,
    1.1875,
    1.15625,
    1.125,
    1.0625,
    1.03125,
    1.0,
    0.96875,
    0.90625,
    0.84375,
    0.8125,
    0.765625,
    0.734375,
)
# -log(r), -log2(r), -log10(r): so few bits that sums with multiples of the logarithm of 2 are exact, and the rest.
LOGS = (
    -0.34092658697068146,
    -0.2954642128938758,
    -0.2478361639045943,
    -0.22314355131425145,
    -0.17185025692674571,
    -0.14518200984457508,
    -0.11778303565643,
    -0.06062462181648698,
    -0.03077165866670839,
    0.0,
    0.03174869831468641,
    0.09844007281321865,
    0.16989903679541385,
    0.20763936477828793,
    0.2670627852489815,
    0.30873548164959175,
)
LOGS_REST = (
    8.82452633212564e-14,
    3.993416384387844e-14,
    1.3029797173308663e-14,
    4.169796584527195e-14,
    8.649239607212071e-14,
    7.718001336828099e-14,
    4.654729747598445e-14,
    5.213620639136504e-14,
    -4.529814257790929e-14,
    0.0,
    -1.0610652735224087e-13,
    3.3871241029241416e-14,
    -1.6376276414097503e-14,
    -4.3425422595242564e-14,
    6.371947269815667e-14,
    2.1522127491642888e-14,
)
LOGS2 = (
    -0.49185309632957797,
    -0.4262647547020606,
    -0.3575520046179008,
    -0.32192809488697094,
    -0.24792751344375574,
    -0.20945336562908778,
    -0.16992500144260703,
    -0.0874628412502716,
    -0.04439411935800308,
    0.0,
    0.04580368961342174,
    0.1420190048720542,
    0.24511249783608946,
    0.29956028185915784,
    0.3852901558848316,
    0.4454111483219094,
)
LOGS2_REST = (
    -9.67451159139632e-14,
    -3.733907276649932e-14,
    -1.82872716976671e-13,
    -3.914087556296025e-13,
    1.7024883460791358e-13,
    1.3800246976244608e-13,
    2.9466363971563933e-13,
    -6.781363655020842e-14,
    -4.5035636491329477e-13,
    0.0,
    -2.9694741952048217e-13,
    3.736684162192024e-13,
    4.4199545957345896e-13,
    -2.500001867992647e-13,
    -3.983479855974919e-14,
    4.532053086411405e-13,
)
LOGS10 = (
    -0.1480625354552103,
    -0.12831847726010892,
    -0.1076338783996107,
    -0.09691001300780044,
    -0.07463361829650239,
    -0.06305174574754346,
    -0.051152522447409865,
    -0.026328938722144812,
    -0.01336396155784314,
    0.0,
    0.013788284485599434,
    0.042751980420689506,
    0.07378621416137321,
    0.09017663034865109,
    0.1159838939556721,
    0.1340821160483756,
)
LOGS10_REST = (
    -2.2739429762340136e-13,
    4.2837040915790654e-13,
    -2.1882440855494843e-13,
    -2.5597032951171317e-13,
    -4.017898049655052e-13,
    4.5444320935786833e-13,
    2.857603188831182e-14,
    -2.043353397095547e-13,
    -1.3836165009306655e-13,
    0.0,
    3.38628644177512e-14,
    2.603827452530852e-13,
    -4.5454502463928193e-13,
    4.3692380556874144e-13,
    -2.985917253309722e-13,
    -2.0590339394156393e-13,
)
LOGS_FLOAT = (
    -0.340911865234375,
    -0.29547119140625,
    -0.247833251953125,
    -0.22314453125,
    -0.171844482421875,
    -0.145172119140625,
    -0.1177978515625,
    -0.060638427734375,
    -0.03076171875,
    0.0,
    0.03173828125,
    0.09844970703125,
    0.169891357421875,
    0.2076416015625,
    0.267059326171875,
    0.308746337890625,
)
LOGS_REST_FLOAT = (
    -1.4721736079081893e-05,
    6.9785123741894495e-06,
    -2.9119514692865778e-06,
    9.799357485462679e-07,
    -5.774504643341061e-06,
    -9.890703950077295e-06,
    1.4815906069998164e-05,
    1.3805917660647538e-05,
    -9.939916708390228e-06,
    0.0,
    1.041706491378136e-05,
    -9.634218258725014e-06,
    7.679373084101826e-06,
    -2.236784212072962e-06,
    3.45907710652682e-06,
    -1.085624080587877e-05,
)
LOGS2_FLOAT = (
    -0.491851806640625,
    -0.42626953125,
    -0.3575439453125,
    -0.321929931640625,
    -0.2479248046875,
    -0.209442138671875,
    -0.169921875,
    -0.08746337890625,
    -0.044403076171875,
    0.0,
    0.045806884765625,
    0.14202880859375,
    0.2451171875,
    0.299560546875,
    0.385284423828125,
    0.445404052734375,
)
LOGS2_REST_FLOAT = (
    -1.2896890666524996e-06,
    4.776547939400189e-06,
    -8.059305400820449e-06,
    1.8367533130003721e-06,
    -2.7087560283689527e-06,
    -1.1226957212784328e-05,
    -3.1264423796528718e-06,
    5.376559215619636e-07,
    8.956813871918712e-06,
    0.0,
    -3.195152430635062e-06,
    -9.803721695789136e-06,
    -4.68966345579247e-06,
    -2.650160979555949e-07,
    5.732056706619915e-06,
    7.0955879891698714e-06,
)
LOGS10_FLOAT = (
    -0.1480560302734375,
    -0.1283111572265625,
    -0.107635498046875,
    -0.0969085693359375,
    -0.0746307373046875,
    -0.06304931640625,
    -0.0511474609375,
    -0.0263214111328125,
    -0.01336669921875,
    0.0,
    0.0137939453125,
    0.042755126953125,
    0.07379150390625,
    0.090179443359375,
    0.1159820556640625,
    0.1340789794921875,
)
LOGS10_REST_FLOAT = (
    -6.505182227556361e-06,
    -7.320033091673395e-06,
    1.6196470369322924e-06,
    -1.4436720903177047e-06,
    -2.8809922696382273e-06,
    -2.4293408387165982e-06,
    -5.061509909864981e-06,
    -7.5275893323123455e-06,
    2.737660679485998e-06,
    0.0,
    -5.6608269005664624e-06,
    -3.146532208120334e-06,
    -5.289745331538143e-06,
    -2.8130102691648062e-06,
    1.8382912685410702e-06,
    3.1365559607365867e-06,
)
# 2**(-j/3) for j = -1, 0, 1, modulo 16.
THIRDS = (1.0, 0.7937005259840998, *[0.0] * 13, 1.2599210498948732)
THIRDS_FLOAT = (1.0, 0.7937005162239075, *[0.0] * 13, 1.2599210739135742)


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
    exp_range: tuple[float, float]  # beyond, the result is the same as there
    exp2_range: tuple[float, float]
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
    thirds: Row
    exp: Row
    exp2: Row
    expm1: Row
    sinh: Row
    cosh: Row
    log: Row
    log2: Row
    log10: Row
    asin: Row
    atan: Row
    cbrt_inverse: Row
    cbrt_series: Row  # of ((1 - e)**(-2/3) - 1) / e

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction_bits


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
    exp_range=(-746.0, 710.0),
    exp2_range=(-1080.0, 1024.0),
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
    powers=POWERS,
    powers_rest=POWERS_REST,
    logs=LOGS,
    logs_rest=LOGS_REST,
    logs2=LOGS2,
    logs2_rest=LOGS2_REST,
    logs10=LOGS10,
    logs10_rest=LOGS10_REST,
    thirds=THIRDS,
    exp=poly.EXP_STEP,
    exp2=poly.EXP2_STEP,
    expm1=poly.EXPM1_STEP,
    sinh=poly.SINH_STEP,
    cosh=poly.COSH_STEP,
    log=poly.LOG_STEP,
    log2=poly.LOG2_STEP,
    log10=poly.LOG10_STEP,
    asin=poly.ASIN,
    atan=poly.ATAN,
    cbrt_inverse=poly.CBRT_INVERSE,
    cbrt_series=(2.0 / 3.0, 5.0 / 9.0, 40.0 / 81.0),
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
    exp_range=(-104.0, 89.0),
    exp2_range=(-151.0, 128.0),
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
    powers=POWERS_FLOAT,
    powers_rest=POWERS_REST_FLOAT,
    logs=LOGS_FLOAT,
    logs_rest=LOGS_REST_FLOAT,
    logs2=LOGS2_FLOAT,
    logs2_rest=LOGS2_REST_FLOAT,
    logs10=LOGS10_FLOAT,
    logs10_rest=LOGS10_REST_FLOAT,
    thirds=THIRDS_FLOAT,
    exp=poly.EXP_STEP_FLOAT,
    exp2=poly.EXP2_STEP_FLOAT,
    expm1=poly.EXPM1_STEP_FLOAT,
    sinh=poly.SINH_STEP_FLOAT,
    cosh=poly.COSH_STEP_FLOAT,
    log=poly.LOG_STEP_FLOAT,
    log2=poly.LOG2_STEP_FLOAT,
    log10=poly.LOG10_STEP_FLOAT,
    asin=poly.ASIN_FLOAT,
    atan=poly.ATAN_FLOAT,
    cbrt_inverse=poly.CBRT_INVERSE_FLOAT,
    cbrt_series=(2.0 / 3.0, 5.0 / 9.0),
)
FORMATS = {"f4": FLOAT, "f8": DOUBLE}
