"""Owns what AVX-512 does in one instruction and other CPUs in several: looking numbers up, scaling by powers of two.

A table has 16 numbers, which are two registers: `vpermi2pd` looks eight of them up at once.  Elsewhere they lie in
memory.  Both ways give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarray_llvm.builder import Builder, Value, literal, llvm_type
from lazyarray_llvm.vecmath.real import Real

# 1.5 * 2**48: added to |x| < 2**47, it leaves the nearest multiple of 1/16 (ties to even) in the low bits of the sum.
MAGIC_STEP = 422212465065984.0
_GROUP = 8  # doubles of a register
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
# A number r near 1/m for m in each sixteenth of [LEAST, 2 LEAST): 1 around 1, of so few bits that r m - 1 is a double.
LEAST = 0x3FE6500000000000
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
# -log(r), -log2(r) and -log10(r): a multiple of 2**-42 (2**-40),  and what that leaves out.
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
# 2**(-j/3) for j = -1, 0, 1, modulo 16.
THIRDS = (1.0, 0.7937005259840998, *[0.0] * 13, 1.2599210498948732)


def lookup(b: Builder, table: Sequence[float], index: Value) -> Real:
    """The numbers of `table`, 16 doubles, at the four low bits of the integers `index`."""
    if b.has_avx512:
        low, high = b.vector("f8", table[:_GROUP]), b.vector("f8", table[_GROUP:])
        name = "llvm.x86.avx512.vpermi2var.pd.512"
        b.module.declare(name, low.type, [low.type, llvm_type("i8", _GROUP), low.type])
        return Real(b, _by_groups(b, lambda part: b.call(name, "f8", _GROUP, [low, part, high], "found"), index))
    place = b.and_(index, b.like(index, len(table) - 1))
    return Real(b, _gather(b, _in_memory(b, table), place))


def scaled(y: Real, shifted: Real, by: int = 0) -> Real:
    """y * 2**k, rounded once: k = floor(shifted - MAGIC_STEP) + by in [-1088, 1025], 1/2 < |y| < 4."""
    b = y.b
    n = shifted - (MAGIC_STEP - by)
    if b.has_avx512:
        return _scalef(y, n)
    # Two factors, both of them normal numbers, also where the result is subnormal or 2**n would overflow alone.
    negative = n < 0.0
    bits = (shifted + negative.pick(by + 1023.0 + 64.0, by + 1023.0 - 1.0)).bits()
    exponent = b.and_(b.binary("shl", bits, b.like(bits, 48)), b.like(bits, -(1 << 52)))
    return y * Real(b, b.bitcast(exponent, "f8")) * negative.pick(2.0**-64, 2.0)


def _scalef(y: Real, n: Real) -> Real:
    b = y.b
    vector = llvm_type("f8", _GROUP)
    name = "llvm.x86.avx512.mask.scalef.pd.512"
    b.module.declare(name, vector, [vector, vector, vector, "i8", "i32"])

    def scale(part: Value, exponent: Value) -> Value:
        rest = [Value("poison", "f8", _GROUP), Value("-1", "i1", 1), Value("4", "i4", 1)]
        return b.call(name, "f8", _GROUP, [part, exponent, *rest], "scaled")

    return Real(b, _by_groups(b, scale, y.v, n.v))


def _by_groups(b: Builder, call: Callable[..., Value], *arguments: Value) -> Value:
    """`call` on registers of eight elements, whatever the number of lanes."""
    lanes = arguments[0].lanes
    if lanes == _GROUP:
        return call(*arguments)
    if lanes < _GROUP:
        return _narrowed(b, call(*(_widened(b, a) for a in arguments)), lanes)
    parts = []
    for start in range(0, lanes, _GROUP):
        parts.append(call(*(b.shuffle(a, None, range(start, start + _GROUP)) for a in arguments)))
    while len(parts) > 1:
        both = range(2 * parts[0].lanes)
        parts = [b.shuffle(first, second, both) for first, second in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _widened(b: Builder, a: Value) -> Value:
    """The lanes over and over: what is computed of the others must raise nothing of its own."""
    return b.splat(a, _GROUP) if a.lanes == 1 else b.shuffle(a, None, [i % a.lanes for i in range(_GROUP)])


def _narrowed(b: Builder, a: Value, lanes: int) -> Value:
    return b.extract(a, 0) if lanes == 1 else b.shuffle(a, None, range(lanes))


def _in_memory(b: Builder, table: Sequence[float]) -> str:
    """The symbol of the table, defined once in the module."""
    words = [literal("f8", number) for number in table]
    name = "table." + words[3].removeprefix("0x")
    numbers = ", ".join(f"double {word}" for word in words)
    b.module.define(name, f"@{name} = private unnamed_addr constant [{len(table)} x double] [{numbers}], align 64")
    return name


def _gather(b: Builder, symbol: str, place: Value) -> Value:
    lanes = place.lanes
    at = "%" + b.fresh("table_entry")
    if lanes == 1:
        b.line(f"{at} = getelementptr double, ptr @{symbol}, i64 {place.ref}")
        return b.emit(f"load double, ptr {at}, align 8", "f8", 1, "found")
    vector = llvm_type("f8", lanes)
    name = f"llvm.masked.gather.v{lanes}f64.v{lanes}p0"
    b.module.declare(name, vector, [f"<{lanes} x ptr>", "i32", llvm_type("b1", lanes), vector])
    b.line(f"{at} = getelementptr double, ptr @{symbol}, <{lanes} x i64> {place.ref}")
    everywhere = b.const("b1", True, lanes)
    return b.emit(
        f"call {vector} @{name}(<{lanes} x ptr> {at}, i32 8, {everywhere}, {vector} poison)", "f8", lanes, "found"
    )
