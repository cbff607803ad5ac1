"""Owns conformance of the elementwise lowering: the op table x dtypes x special values against NumPy."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from lazyarray.ir.installed import SUMS_IN_BUFFERS
from lazyarray.ir.ops import COMPILED, OPS, Op, code, is_own_loop
from lazyarray_llvm import engine
from lazyarray_llvm.builder import Module
from lazyarray_llvm.elementwise import supported
from lazyarray_llvm.inner_loops import define_inner_loop

Loop = tuple[tuple[str, ...], str]

ULP_BOUND = 4  # vector math is within 1 ULP of the exact value; the rest is room for NumPy's own error

# Before 2.3 NumPy has functions of its own for these, whose infinities and NaNs are others where C leaves the choice.
NUMPYS_OWN = frozenset({"arcsin", "arcsinh", "arccosh", "arctanh"}) if SUMS_IN_BUFFERS else frozenset()

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def loops_of(op: Op) -> list[Loop]:
    """The loops that NumPy has for an op over compiled dtypes: argument codes and result code."""
    assert op.ufunc is not None
    found: dict[Loop, None] = {}
    for signature in op.ufunc.types:
        ins, outs = signature.split("->")
        if any(c in "gGOmM" for c in ins + outs):
            continue
        result = code(np.dtype(outs[op.output]))
        found[tuple(code(np.dtype(c)) for c in ins), result] = None
    return list(found)


def run(function: Any, arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
    """One call of an inner loop over one-dimensional arrays."""
    operands = [*arrays, out]
    pointers = (ctypes.c_void_p * len(operands))(*[a.ctypes.data for a in operands])
    size = (ctypes.c_ssize_t * 1)(out.shape[0])
    steps = (ctypes.c_ssize_t * len(operands))(*[a.strides[0] for a in operands])
    function(pointers, size, steps, None)


GROUPS = {
    "integer": [c for c in COMPILED if c[0] in "iub"],
    "half": ["f2"],
    "single": ["f4"],
    "double": ["f8"],
    "complex": ["c8", "c16"],
}


def loops_in(group: str) -> list[tuple[str, Loop]]:
    codes = GROUPS[group]
    return [
        (op.name, loop)
        for op in OPS.values()
        if op.ufunc is not None and not is_own_loop(op.name)  # NumPy's own loops, which nothing lowers
        for loop in loops_of(op)
        if loop[0][0] in codes
    ]


@cache
def functions(group: str) -> dict[tuple[str, tuple[str, ...]], Any]:
    """Every loop of a dtype group, compiled in modules of moderate size."""
    found: dict[tuple[str, tuple[str, ...]], Any] = {}
    loops = [(op, loop) for op, loop in loops_in(group) if supported(op, loop[0][0])]
    for first in range(0, len(loops), 48):
        module = Module()
        symbols = {
            (op, loop[0]): define_inner_loop(module, op, loop[0], loop[1]) for op, loop in loops[first : first + 48]
        }
        found.update({key: _Function(at) for key, at in compile_symbols(module, symbols).items()})
    return found


def compile_symbols(module: Module, symbols: dict[Any, str]) -> dict[Any, int]:
    text = module.text()
    compiled = engine.compile_ir(text, "test", key=hashlib.sha256(text.encode()).hexdigest())
    return {key: compiled.address(symbol) for key, symbol in symbols.items()}


# -- values ----------------------------------------------------------------------------------------------
def specials(dtype_code: str) -> np.ndarray:
    """The numbers of a dtype where implementations differ."""
    dtype = np.dtype(dtype_code)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = {info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 8, 12, 63, 64, 100}
        numbers |= {info.max // 2, info.max // 3}
        if dtype.kind == "i":
            numbers |= {-1, -2, -3, -7, -12, -100, info.min // 2}
        if dtype.itemsize == 8:
            numbers |= {2**52, 2**52 - 1, 2**53 + 1, 3**33}
            numbers |= {-(2**52), -(2**53) - 1} if dtype.kind == "i" else {2**63, 2**63 + 1}
        return np.array(sorted(numbers), dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        positive = [
            0.0,
            info.smallest_subnormal,
            info.smallest_normal,
            info.smallest_normal * 0.75,
            info.eps,
            0.1,
            0.25,
            0.5,
            0.9999,
            1.0,
            1.5,
            2.0,
            2.5,
            3.0,
            3.5,
            7.0,
            10.3,
            100.0,
            1000.5,
            float(info.max) / 2,
            info.max,
            np.inf,
        ]
        values = np.array(positive, np.float64).astype(dtype)
        return np.concatenate([values, -values, [dtype.type(np.nan)]])
    part = np.dtype("f4" if dtype_code == "c8" else "f8")
    picked = np.array([0.0, 0.3, 1.0, 2.0, 5.5, np.finfo(part).max, np.finfo(part).tiny, np.inf], part)
    values = np.concatenate([picked, -picked, [part.type(np.nan)]])
    return pairs(values, values, dtype)


def pairs(re: np.ndarray, im: np.ndarray, dtype: np.dtype) -> np.ndarray:
    out = np.empty(len(re) * len(im), dtype)
    out.real, out.imag = np.repeat(re, len(im)), np.tile(im, len(re))
    return out


def random_values(dtype_code: str, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype_code)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        near = rng.integers(max(info.min, -20), 21, count).astype(dtype)
        return np.where(rng.random(count) < 0.5, wide, near)
    if dtype.kind == "f":
        scale = {"f2": 12, "f4": 30, "f8": 200}[dtype_code]
        spread = rng.standard_normal(count) * 2.0 ** rng.integers(-scale, scale, count)
        return np.where(rng.random(count) < 0.3, spread, rng.standard_normal(count) * 8).astype(dtype)
    part = "f4" if dtype_code == "c8" else "f8"
    out = np.empty(count, dtype)
    out.real = random_values(part, count, seed + 1)
    out.imag = random_values(part, count, seed + 2)
    return out


def arguments(op: str, codes: tuple[str, ...]) -> list[np.ndarray]:
    """Special values (all pairs for two arguments), then random ones, in a length that leaves an odd rest."""
    values = [specials(c) for c in codes]
    if len(codes) == 2:
        if codes[0][0] == "c":
            values = [v[::5] for v in values]
        first, second = values
        values = [np.repeat(first, len(second)), np.tile(second, len(first))]
    arrays = [
        np.concatenate([v, random_values(c, 509, seed=7 + k)])
        for k, (v, c) in enumerate(zip(values, codes, strict=True))
    ]
    if op == "power" and codes[0][0] == "i":
        arrays[1] = np.where(arrays[1] < 0, 3, arrays[1]).astype(codes[1])
    if op == "power" and codes[0][0] in "iu":
        arrays[1] = arrays[1] % np.array(100, codes[1])
    if op == "ldexp":
        arrays[1] = np.where(np.arange(len(arrays[1])) % 3, arrays[1] % 1100 - 500, arrays[1]).astype(codes[1])
    return arrays


# -- comparison ------------------------------------------------------------------------------------------
def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distance in units of the last place; 0 for two NaNs, large for NaN against a number."""
    integer = np.dtype(f"i{got.dtype.itemsize}")
    low = np.iinfo(integer).min

    def line(x: np.ndarray) -> np.ndarray:
        bits = x.view(integer).astype(np.int64)
        return np.where(bits < 0, int(low) - bits, bits)

    with np.errstate(over="ignore"):
        exact = np.abs(line(got) - line(want))
    rough = np.abs(line(got).astype(np.float64) - line(want).astype(np.float64))
    distance = np.where(rough < 2.0**60, exact, rough)
    both = np.isnan(got) & np.isnan(want)
    one = np.isnan(got) != np.isnan(want)
    return np.where(both, 0.0, np.where(one, np.inf, distance))


def differing(got: np.ndarray, want: np.ndarray, bound: int) -> np.ndarray:
    """Where results differ: in bits (all NaNs alike), or by more than `bound` units of the last place."""
    if got.dtype.kind == "c":
        return differing(got.real.copy(), want.real.copy(), bound) | differing(got.imag.copy(), want.imag.copy(), bound)
    if got.dtype.kind != "f":
        return got != want
    if bound:
        return (ulps(got, want) > bound) | ((want == 0) & (np.signbit(got) != np.signbit(want)))
    bits = np.dtype(f"u{got.dtype.itemsize}")
    return (got.view(bits) != want.view(bits)) & ~(np.isnan(got) & np.isnan(want))


def expected(op: Op, arrays: Sequence[np.ndarray], loop: Loop) -> np.ndarray:
    assert op.ufunc is not None
    if op.name in ("fmax", "fmin") and loop[0][0] in ("f4", "f8"):
        # The last incomplete vector of NumPy's loop goes through C's fmax, which has another rule for +0
        # and -0.
        padded = [np.concatenate([a, np.ones(64, a.dtype)]) for a in arrays]
        result: np.ndarray = op.ufunc(*padded)[:-64]
        return result
    if len(set(loop[0])) > 1 and op.name != "ldexp":
        # NumPy reaches its loops of int64 with uint64 by the arrays' dtypes only.
        mixed: np.ndarray = op.ufunc(*arrays)
        return mixed
    signature = (*[np.dtype(c) for c in loop[0]], *[None] * op.ufunc.nout)
    result = op.ufunc(*arrays, signature=signature)
    return result[op.output] if op.ufunc.nout > 1 else result


def accurate(op: Op, arrays: Sequence[np.ndarray], got: np.ndarray) -> np.ndarray:
    """Is a transcendental result within the bound of one computed in a wider dtype (NumPy's may not be)."""
    if got.dtype.kind == "c":
        return np.zeros(got.shape, bool)
    assert op.ufunc is not None
    wide = np.longdouble if got.dtype == np.float64 else np.float64
    exact = op.ufunc(*[a.astype(wide) for a in arrays])
    distance = ulps(got, exact.astype(got.dtype))
    if op.name.startswith("logaddexp"):
        # Near zero its result is a difference: NumPy's bits and ours are as good as the larger argument's
        # last place.
        room = np.spacing(np.maximum(np.abs(arrays[0]), np.abs(arrays[1])))
        return np.abs(got - exact) <= ULP_BOUND * room
    near: np.ndarray = (distance <= ULP_BOUND) & (np.signbit(got) == np.signbit(exact))
    return near


def check(op: Op, loop: Loop, function: Any) -> str:
    """Empty, or what is wrong."""
    arrays = arguments(op.name, loop[0])
    with np.errstate(all="ignore"):
        want = expected(op, arrays, loop)
        assert code(want.dtype) == loop[1]
        got = np.empty_like(want)
        run(function, arrays, got)
        bad = differing(got, want, ULP_BOUND if op.transcendental else 0)
        if op.transcendental and bad.any():
            bad &= ~accurate(op, arrays, got)
        if op.name in NUMPYS_OWN and loop[0][0][0] == "c":
            bad &= ~np.isnan(arrays[0])
    wrong = np.flatnonzero(bad)
    if not len(wrong):
        return ""
    shown = [f"({', '.join(repr(a[k].item()) for a in arrays)}) gave {got[k]!r}, NumPy {want[k]!r}" for k in wrong[:4]]
    return f"{op.name} {'x'.join(loop[0])}: {len(wrong)} of {len(want)} wrong: " + "; ".join(shown)


@pytest.mark.parametrize("group", GROUPS)
def test_every_numpy_loop_has_a_lowering(group: str) -> None:
    missing = [f"{op} {'x'.join(loop[0])}" for op, loop in loops_in(group) if not supported(op, loop[0][0])]
    assert not missing


@pytest.mark.parametrize("group", GROUPS)
def test_results_are_those_of_numpy(group: str) -> None:
    compiled = functions(group)
    wrong = [
        message
        for op, loop in loops_in(group)
        if (op, loop[0]) in compiled
        for message in [check(OPS[op], loop, compiled[op, loop[0]])]
        if message
    ]
    assert not wrong, "\n".join(wrong)


# -- casts -----------------------------------------------------------------------------------------------
def cast_values(source: str) -> np.ndarray:
    values = specials(source)
    if source[0] == "f":
        edges = [2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        halves = [
            65503.9,
            65519.99,
            65520.0,
            2049.0,
            2051.0,
            2.0**-24,
            2.0**-25,
            2.0**-25 * 1.0000001,
            1.0004883,
        ]
        more = np.array([*edges, *halves, 1e20, 1e30, 1e300, 1e-300])
        with np.errstate(over="ignore"):
            values = np.concatenate([values, more.astype(source), -more.astype(source)])
    return np.concatenate([values, random_values(source, 501, seed=3)])


@cache
def casts() -> dict[tuple[str, str], Any]:
    module = Module()
    symbols = {
        (source, target): define_inner_loop(module, "cast", [source], target)
        for source in sorted(COMPILED)
        for target in sorted(COMPILED)
        if source != target
    }
    return {key: _Function(at) for key, at in compile_symbols(module, symbols).items()}


@pytest.mark.parametrize("source", sorted(COMPILED))
def test_casts_are_those_of_numpy(source: str) -> None:
    values = cast_values(source)
    wrong = []
    for target in sorted(COMPILED - {source}):
        got = np.empty(len(values), target)
        run(casts()[source, target], [values], got)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            # 64 more elements keep all of them in the vector part of NumPy's loop, which for uint32 has a
            # rule of its own for numbers out of range.
            want = np.concatenate([values, values[:64]]).astype(target)[: len(values)]
        bad = np.flatnonzero(differing(got, want, 0))
        if len(bad):
            k = bad[0]
            wrong.append(f"{source} to {target}: {len(bad)}, {values[k]!r} gave {got[k]!r}, NumPy {want[k]!r}")
    assert not wrong, "\n".join(wrong)


# -- floating-point status -----------------------------------------------------------------------------
FLAGS = {1: "invalid", 4: "divide by zero", 8: "overflow"}  # of the C library on x86
# NumPy sets the flag by hand here, for NaNs and infinities that no instruction objects to.
SET_BY_HAND = {("spacing", "f2")}
# Kernels look at the divisors themselves, and no eager loop is one of integers.
LOOKED_AT = {(op, code) for op in ("floor_divide", "remainder", "fmod") for code in sorted(COMPILED) if code[0] in "iu"}


def warned(call: Any) -> set[str]:
    """Which of the flags NumPy reports."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        call()
    return {name for name in FLAGS.values() for w in caught if str(w.message).startswith(name)}


def raised(function: Any, arrays: Sequence[np.ndarray], out: np.ndarray) -> set[str]:
    """Which of the flags a compiled loop leaves set."""
    libm = ctypes.CDLL("libm.so.6")
    libm.feclearexcept(0x3D)
    run(function, arrays, out)
    status = libm.fetestexcept(0x0D)
    return {name for flag, name in FLAGS.items() if status & flag}


def usual(dtype_code: str, special: float | None) -> np.ndarray:
    values = np.linspace(0.2, 3.0, 67) if dtype_code[0] in "fc" else np.arange(67) % 9 + 1
    array = values.astype(dtype_code)
    if special is not None and (dtype_code[0] in "fc" or special == 0):
        array[::3] = special
    return array


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="reads the status of x86 on Linux"
)
@pytest.mark.parametrize("special", [None, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("group", GROUPS)
def test_loops_raise_the_flags_that_numpy_reports(group: str, special: float | None) -> None:
    wrong = []
    for op, loop in loops_in(group):
        if (op, loop[0][0]) in SET_BY_HAND | LOOKED_AT or "b1" in loop[0]:
            continue
        if op in NUMPYS_OWN and loop[0][0][0] == "c" and special is not None and np.isnan(special):
            continue
        arrays = [usual(c, special) for c in loop[0]]
        want = warned(lambda op=op, arrays=arrays, loop=loop: expected(OPS[op], arrays, loop))
        got = raised(functions(group)[op, loop[0]], arrays, np.empty(67, loop[1]))
        if got != want:
            wrong.append(f"{op} {loop[0]}: {got or 'none'}, NumPy {want or 'none'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="reads the status of x86 on Linux"
)
def test_casts_raise_the_flags_that_numpy_reports() -> None:
    wrong = []
    for (source, target), function in casts().items():
        for special in (None, np.inf, np.nan, 1e5, -1.5, 1e30):
            if source[0] not in "fc":
                continue
            with np.errstate(all="ignore"):
                array = usual(source, special)
            want = warned(lambda array=array, target=target: array.astype(target))
            got = raised(function, [array], np.empty(67, target))
            if got != want:
                wrong.append(f"{source} to {target}, {special}: {got or 'none'}, NumPy {want or 'none'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="reads the status of x86 on Linux"
)
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_complex_divisors_of_all_sizes_raise_nothing(vector_bytes: int) -> None:
    """What only lanes with a divisor of 0 need was computed of the others' bits: from 2.0 on a signaling NaN."""
    at = engine.narrow(engine.host(), vector_bytes)
    module = Module()
    symbol = define_inner_loop(module, "divide", ("c16", "c16"), "c16", at=at)
    divide = _Function(engine.Engine(at).compile_ir(module.text(), "test-narrow").address(symbol))
    divisors = np.geomspace(1e-3, 1e3, 64) * np.exp(1j * np.linspace(0.0, 6.0, 64))
    out = np.empty(64, "c16")
    assert not raised(divide, [np.ones(64, "c16"), divisors], out)
    np.testing.assert_allclose(out, 1 / divisors, rtol=1e-15)
