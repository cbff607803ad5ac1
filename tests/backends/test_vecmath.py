"""Vector math: ULP error over the whole range, NumPy's special values, equal bits at any width."""

from __future__ import annotations

import ctypes
import platform
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from lazyarray_llvm import engine as engines
from lazyarray_llvm import vecmath
from lazyarray_llvm.builder import Builder, Module, itemsize, llvm_type
from lazyarray_llvm.vecmath.formats import FORMATS, Format
from lazyarray_llvm.vecmath.real import Real
from lazyarray_llvm.vecmath.registers import abnormal, not_finite, not_positive
from lazyarray_llvm.vecmath.tables import INVERSES

BINARY = frozenset({"arctan2", "hypot", "logaddexp", "logaddexp2", "power"})
UNARY = sorted(vecmath.NAMES - BINARY)
DTYPES: dict[str, Any] = {"f4": np.float32, "f8": np.float64}
# float64 is measured against long double, whose functions are good to about 2**-63 where it has the bits.
HAS_EXTENDED = np.finfo(np.longdouble).nmant >= 63
needs_extended = pytest.mark.skipif(not HAS_EXTENDED, reason="long double is no wider than double here")
# Both infinite and normal results come out near these, of one or other dtype.
CRITICAL = (
    *(0.0, 0.125, 0.25, 0.5, 2**-0.5, 0.875, 1.0, 2**0.5, 2.0, 2.0**-27, 2.0**-28, 2.0**-54, 20.0, 22.0, 2.0**55),
    *(0.34657359027997264, 1.0397207708399179, 0.4142135623730951, 2.414213562373095),
    *(709.782712893384, 710.4758600739439, -708.3964185322641, -745.1332191019411, 1024.0, -1022.0, -1074.5),
    *(88.72283905206835, 89.41598629223294, -87.33654475, -103.97207708, 128.0, -126.0, -149.5),
    *(1.6e6, 2.6e7, 2.0**28, 1e22, np.pi / 4, np.pi / 2, np.pi, 1.5 * np.pi, 2 * np.pi, 100 * np.pi),
)
SPECIAL = (
    *(np.nan, np.inf, 0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 5e-324, 1e-310, 1.7e308, 1e-45, 1e-40, 3.4e38, 1e5, 1e30),
    *(10.0, 100.0, 1000.0, 8.0, 27.0, 710.0, 746.0, 104.0, 150.0, 1024.0, 1075.0, 2.0**53, 2.0**53 + 2),
    2.0**24 + 2,
)  # fmt: skip


@cache
def compiled(name: str, code: str, lanes: int, host: str = "") -> Callable[..., np.ndarray[Any, Any]]:
    """`name` over contiguous arrays, by a loop over registers of `lanes` elements."""
    target = {"": engines.engine(), "avx2": narrowed(32), "baseline": narrowed(16)}[host]
    arity = 2 if name in BINARY else 1
    module = Module()
    b = Builder(module, **target.host.abilities)
    vector = llvm_type(code, lanes)
    b.jump("loop")
    b.start("loop")
    b.line("%i = phi i64 [ 0, %entry ], [ %next, %LAST ]")
    arguments = []
    for n in range(arity):
        b.line(f"%p{n} = getelementptr {vector}, ptr %a{n}, i64 %i")
        arguments.append(b.emit(f"load {vector}, ptr %p{n}, align {itemsize(code)}", code, lanes, "x"))
    result = vecmath.emit(name, b, arguments)
    b.line(f"%to = getelementptr {vector}, ptr %out, i64 %i")
    b.line(f"store {result}, ptr %to, align {itemsize(code)}")
    b.line("%next = add i64 %i, 1")
    b.line("%more = icmp ult i64 %next, %n")
    b.line("br i1 %more, label %loop, label %done")
    body = "\n".join(b.lines).replace("%LAST", f"%{b.block}")
    pointers = ", ".join(f"ptr %a{n}" for n in range(arity))
    text = f"define void @run({pointers}, ptr %out, i64 %n) {{\nentry:\n{body}\ndone:\n  ret void\n}}"
    module.define("run", text)
    address = target.compile_ir(module.text(), f"vecmath-{name}-{code}x{lanes}").address("run")
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)(address)

    def call(*arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        count = len(arrays[0])
        padded = [np.concatenate([a, np.ones(-count % lanes, a.dtype)]) for a in arrays]
        out = np.empty_like(padded[0])
        run(*(a.ctypes.data for a in (*padded, out)), len(out) // lanes)
        return out[:count]

    return call


@cache
def narrowed(vector_bytes: int) -> engines.Engine:
    return engines.Engine(engines.narrow(engines.host(), vector_bytes))


def ulps(got: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Error in units of the last place of the correctly rounded result; inf for another kind of result."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        finite = np.isfinite(rounded)
        unit = np.spacing(np.abs(np.where(finite, rounded, 1))).astype(exact.dtype)
        error = np.where(finite, np.abs(got.astype(exact.dtype) - exact) / unit, 0)
        same = np.isnan(rounded) == np.isnan(got)
        same &= finite | np.isnan(rounded) | (got == rounded)
        same &= np.isnan(rounded) | (np.signbit(got) == np.signbit(rounded))
        return np.asarray(np.where(same & ~np.isnan(error), error, np.inf), np.float64)


def bit_patterns(rng: np.random.Generator, code: str, n: int) -> np.ndarray[Any, Any]:
    return rng.integers(0, 2 ** (8 * itemsize(code)), n, dtype=f"u{itemsize(code)}").view(DTYPES[code])


def neighbours(value: float, code: str, reach: int = 200) -> np.ndarray[Any, Any]:
    dtype = DTYPES[code]
    integer = f"i{itemsize(code)}"
    bits = np.array([value], dtype).view(integer) + np.arange(-reach, reach + 1).astype(integer)
    return np.asarray(bits).view(dtype)


def unary_points(code: str, n: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(20)
    sign = rng.choice([-1.0, 1.0], n)
    rows = [
        bit_patterns(rng, code, 2 * n),
        rng.uniform(-1, 1, n),
        rng.uniform(0.5, 2, n),
        rng.uniform(-10, 10, n),
        rng.uniform(-750, 750, n),
        rng.uniform(-1100, 1100, n),
        rng.uniform(-2.6e7, 2.6e7, n),
        sign * np.exp(rng.uniform(-40, 17, n)),
        1 + rng.normal(size=n) * 10.0 ** rng.integers(-16, 0, n),
        rng.integers(-(10**7), 10**7, n) * (np.pi / 2),
        *(neighbours(s * value, code) for value in CRITICAL for s in (1, -1)),
        [s * value for value in SPECIAL for s in (1, -1)],
        [s * x for x in (np.finfo(DTYPES[code]).max, np.finfo(DTYPES[code]).tiny) for s in (1, -1)],
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([np.asarray(row).astype(DTYPES[code]) for row in rows])


def binary_points(name: str, code: str, n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(21)
    dtype = DTYPES[code]
    x = rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n)
    pairs = [
        (bit_patterns(rng, code, n), bit_patterns(rng, code, n)),
        (np.exp(rng.uniform(-5, 5, n)) * rng.choice([-1, 1], n), rng.uniform(-10, 10, n)),
        (rng.uniform(-30, 30, n), rng.uniform(-30, 30, n)),
        (x, rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n)),
        (x, x * (1 + rng.normal(size=n) * 10.0 ** rng.integers(-10, 1, n))),
    ]
    if name == "power":
        limit = 745 if code == "f8" else 103
        near = (1 + rng.normal(size=n) * 10.0 ** rng.integers(-15, -1, n)).astype(dtype).astype(np.float64)
        wide = np.exp(rng.uniform(-30, 30, n)).astype(dtype).astype(np.float64)
        for base in (np.where((near == 1) | (near <= 0), 2, near), wide):
            pairs.append((base, rng.uniform(-limit, 0.95 * limit, n) / np.log(base)))
        pairs.append((rng.integers(-20, 20, n), rng.integers(-20, 20, n)))
    with np.errstate(over="ignore"):
        grid = np.array([s * value for value in SPECIAL for s in (1, -1)]).astype(dtype)
        pairs.append((np.repeat(grid, len(grid)), np.tile(grid, len(grid))))
        columns = zip(*pairs, strict=True)
        first, second = (np.concatenate([np.asarray(c).astype(dtype) for c in column]) for column in columns)
    return first, second


def points(name: str, code: str, n: int) -> tuple[np.ndarray[Any, Any], ...]:
    return binary_points(name, code, n) if name in BINARY else (unary_points(code, n),)


def exact(name: str, code: str, arguments: tuple[np.ndarray[Any, Any], ...]) -> np.ndarray[Any, Any]:
    # Sums of logarithms may cancel, which double does not forgive.
    wide = np.longdouble if code == "f8" or name.startswith("logadd") else np.float64
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, name)(*(a.astype(wide) for a in arguments)))


def assert_within_one_ulp(name: str, code: str, lanes: int, host: str, n: int) -> None:
    arguments = points(name, code, n)
    wanted = exact(name, code, arguments)
    got = compiled(name, code, lanes, host)(*arguments)
    error = ulps(got, wanted)
    if name.startswith("logadd") and code == "f8":
        # Where a negative maximum and the logarithm cancel, the error is absolute.
        with np.errstate(all="ignore"):
            cancels = np.maximum(*arguments) < -2 * np.abs(wanted)
            error = np.where(cancels & (np.abs(got - wanted) < 2.0**-57), 0, error)
    worst = int(np.argmax(error))
    where = tuple(float(a[worst]) for a in arguments)
    assert error[worst] <= 1.0, f"{name}{where!r}: {got[worst]!r} is off by {error[worst]:.3g} ULP"


@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_float32_within_one_ulp(name: str) -> None:
    assert_within_one_ulp(name, "f4", 16, "", 30_000)


@needs_extended
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_float64_within_one_ulp(name: str) -> None:
    assert_within_one_ulp(name, "f8", 8, "", 30_000)


@needs_extended
@pytest.mark.parametrize("host", ["avx2", "baseline"])
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_narrow_hosts_within_one_ulp(name: str, host: str) -> None:
    wide = 32 if host == "avx2" else 16
    for code in ("f4", "f8"):
        assert_within_one_ulp(name, code, wide // itemsize(code), host, 3_000)


@pytest.mark.parametrize("name", UNARY)
def test_float32_strided_over_every_pattern(name: str) -> None:
    """One bit pattern in 8191 (a prime), from -nan to nan."""
    x = np.arange(0, 2**32, 8191, dtype=np.uint32).view(np.float32)
    error = ulps(compiled(name, "f4", 16)(x), exact(name, "f4", (x,)))
    assert error.max() <= 1.0, float(x[int(np.argmax(error))])


LARGEST_ERRORS = {
    "tan": ((0.75, 0.8), (2.34, 2.37), (3.91, 3.93)),  # next to pi/4 times 1, 3, 5
    "tanh": ((0.49, 0.52), (0.74, 0.78)),  # where the table's first intervals meet
    "sinh": ((0.86, 0.89),),  # where the formula changes
    "expm1": ((0.12, 0.16), (-0.16, -0.12)),
    "arctanh": ((0.12, 0.14),),
    "arccosh": ((1.0, 1.01),),
    "log1p": ((-0.055, -0.05), (-0.99999, -0.9999)),
    "cbrt": ((7.4, 7.6),),
}


@pytest.mark.parametrize("name", LARGEST_ERRORS)
def test_float32_where_the_error_is_largest(name: str) -> None:
    """Every float32 of the places where what is rounded is largest beside what is exact."""
    for ends in LARGEST_ERRORS[name]:
        bits = np.sort(np.array(ends, np.float32).view(np.int32))
        x = np.arange(*bits, dtype=np.int32).view(np.float32)
        assert ulps(compiled(name, "f4", 16)(x), exact(name, "f4", (x,))).max() <= 1.0


def test_tan_of_float32_next_to_its_poles() -> None:
    """Where the parts of pi/2 cancel the argument but for its last digits."""
    x = (np.arange(-3800, 3800) * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([np.nextafter(x, np.float32(side)) for side in (-1e9, 1e9)] + [x])
    assert ulps(compiled("tan", "f4", 16)(x), exact("tan", "f4", (x,))).max() <= 1.0


@pytest.mark.parametrize("host", ["", "avx2"])
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_kinds_of_numbers_are_told_alike_on_every_host(code: str, host: str) -> None:
    largest, tiny = np.finfo(DTYPES[code]).max, np.finfo(DTYPES[code]).tiny
    x = np.array([0.0, tiny / 2, tiny, 1.0, largest, np.inf, np.nan], DTYPES[code])
    x = np.concatenate([x, -x, np.ones(2, x.dtype)])
    kinds: dict[str, Any] = {
        "abnormal": (abnormal, ~np.isfinite(x) | (np.abs(x) < tiny)),
        "not_positive": (not_positive, ~(np.isfinite(x) & (x >= tiny))),
        "not_finite": (not_finite, ~np.isfinite(x)),
    }
    target = engines.engine() if not host else narrowed(32)
    for name, (test, wanted) in kinds.items():
        module = Module()
        b = Builder(module, **target.host.abilities)
        loaded = b.emit(f"load {llvm_type(code, 16)}, ptr %x, align 1", code, 16, "loaded")
        found = b.convert("zext", test(Real(b, loaded)).v, "u1")
        b.line(f"store {found}, ptr %out, align 1")
        module.define("run", "define void @run(ptr %x, ptr %out) {\nentry:\n" + "\n".join(b.lines) + "\n  ret void\n}")
        address = target.compile_ir(module.text(), f"kinds-{name}-{code}").address("run")
        out = np.empty(16, np.uint8)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(x.ctypes.data, out.ctypes.data)
        np.testing.assert_array_equal(out.astype(bool), wanted, err_msg=name)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_special_values_are_numpys(name: str, code: str) -> None:
    with np.errstate(all="ignore"):
        grid = np.array([s * value for value in SPECIAL for s in (1, -1)]).astype(DTYPES[code])
        arguments = (np.repeat(grid, len(grid)), np.tile(grid, len(grid))) if name in BINARY else (grid,)
        wanted = getattr(np, name)(*arguments)
    got = compiled(name, code, 8)(*arguments)
    exceptional = ~np.isfinite(wanted) | (wanted == 0)
    if name == "logaddexp2" and code == "f4":
        # NumPy loses results below half the smallest subnormal's neighbourhood; ours are correctly rounded.
        exceptional &= ~((got != 0) & (wanted == 0))
    np.testing.assert_array_equal(got[exceptional], wanted[exceptional])
    signs = exceptional & ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[signs]), np.signbit(wanted[signs]))


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_same_bits_at_every_width(name: str, code: str) -> None:
    arguments = tuple(a[::61] for a in points(name, code, 2_000))
    narrow = compiled(name, code, 1)(*arguments)
    for lanes in (4, 8, 16, 32):
        np.testing.assert_array_equal(compiled(name, code, lanes)(*arguments), narrow)
        shifted = compiled(name, code, lanes)(*(np.roll(a, 3) for a in arguments))
        np.testing.assert_array_equal(shifted, np.roll(narrow, 3))


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_tables_in_registers_and_in_memory_give_the_same_bits(name: str, code: str) -> None:
    """CPUs with FMA agree, whether they look up and scale in one instruction or in several."""
    if not engines.host().has_avx512:
        pytest.skip("this CPU has the second way alone")
    arguments = tuple(a[::7] for a in points(name, code, 2_000))
    one = compiled(name, code, 8)(*arguments)
    np.testing.assert_array_equal(compiled(name, code, 4, "avx2")(*arguments), one)


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_products_with_inverses_leave_exact_remainders(form: Format) -> None:
    """m c - 1 is a number of the format for every m of the sixteenth that the table has c for."""
    step = 1 << (form.fraction_bits - 4)
    rng = np.random.default_rng(3)
    for place, inverse in enumerate(INVERSES):
        bits = form.least + place * step + np.array([0, step - 1, *rng.integers(0, step, 200)])
        for m in bits.astype(f"i{itemsize(form.code)}").view(form.code).tolist():
            remainder = Fraction(m) * Fraction(inverse) - 1
            assert remainder == Fraction(float(DTYPES[form.code](float(remainder))))


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_table_logarithms_add_exactly_to_those_of_exponents(form: Format) -> None:
    for k in range(-form.bias - form.fraction_bits, form.bias + 1):
        for logs, unit in ((form.logs, form.ln2_head), (form.logs2, 1.0), (form.logs10, form.log10_2_head)):
            for row in logs:
                total = Fraction(k) * Fraction(unit) + Fraction(row)
                assert total == Fraction(float(DTYPES[form.code](float(total))))


@pytest.mark.parametrize(
    ("name", "base"), [("exp2", 2.0), ("log2", 2.0), ("log10", 10.0), ("cbrt", 3.0), ("power", 2.0)]
)
def test_exact_results_are_exact(name: str, base: float) -> None:
    n = np.arange(-20.0, 21.0)
    if name == "cbrt":
        n, wanted = n**3, n
    elif name == "power":
        n, wanted = np.full_like(n, base), base**n
    else:
        wanted = base**n if name == "exp2" else np.arange(0.0, 20.0)
    arguments: tuple[np.ndarray[Any, Any], ...] = (n,) if name not in ("log2", "log10") else (base**wanted,)
    if name == "power":
        arguments = (n, np.arange(-20.0, 21.0))
    np.testing.assert_array_equal(compiled(name, "f8", 8)(*arguments), wanted)


def test_hot_path_calls_nothing() -> None:
    for name in vecmath.NAMES:
        module = Module()
        b = Builder(module)
        arity = 2 if name in BINARY else 1
        vecmath.emit(name, b, [b.const("f8", 0.5, 8)] * arity)
        called = {c for c in re.findall(r"call [^@]*@([\w.]+)", "\n".join(b.lines)) if not c.startswith("llvm.")}
        rare = {name: name for name in ("sin", "cos", "tan", "log", "log2", "log10")} | {"power": "pow"}
        assert called == ({f"vecmath.{rare[name]}.f8x8"} if name in rare else set())


VANISHING = [
    ("exp", "f8", (-746.0,)), ("exp", "f8", (-np.inf,)), ("exp", "f4", (-1000.0,)), ("exp", "f4", (-np.inf,)),
    ("exp2", "f8", (-1080.0,)), ("exp2", "f4", (-160.0,)), ("power", "f8", (0.0, 20.0)), ("power", "f8", (1e-200, 3.0)),
    ("logaddexp", "f8", (3.0, -1000.0)), ("logaddexp2", "f8", (3.0, -2000.0)), ("sinh", "f8", (700.0,)),
    ("cosh", "f8", (-700.0,)),
]  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="flags as C's library has them")
@pytest.mark.parametrize("host", ["", "avx2", "baseline"])
@pytest.mark.parametrize(("name", "code", "arguments"), VANISHING)
def test_what_vanishes_is_not_computed_to_numbers_that_are_not_normal(
    name: str, code: str, arguments: tuple[float, ...], host: str
) -> None:
    """Such results raise the underflow flag, and take a core a hundred cycles or more."""
    lanes = {"": 64, "avx2": 32, "baseline": 16}[host] // itemsize(code)
    run = compiled(name, code, lanes, host)
    arrays = [np.full(lanes, argument, DTYPES[code]) for argument in arguments]
    libc, underflow = ctypes.CDLL("libm.so.6"), 0x10
    run(*arrays)
    libc.feclearexcept(underflow)
    found = run(*arrays)
    raised = libc.fetestexcept(underflow)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, getattr(np, name)(*arrays), rtol=1e-6)
    assert not raised or (code == "f4" and host == "baseline")  # there in float64, and narrowed
