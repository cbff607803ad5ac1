"""The op table x dtypes x special values: every loop that NumPy has is emitted, interpreted, and compared with it."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("triton") is None:
    pytest.skip("needs the optional dependency triton", allow_module_level=True)

from lazyarray.ir.ops import COMPILED, OPS, Op, dtype_of
from lazyarray_triton.model import Blocks, Guess, power_of_two
from lazyarray_triton.table import find_rule
from tests.backends.test_elementwise import Loop, differing, expected, loops_of, random_values, specials
from tests.triton import cases
from tests.triton.cases import bind
from tests.triton.target import ON_DEVICE, launch

GROUPS = {
    "bool and bytes": ["b1", "i1", "u1"],
    "signed": ["i2", "i4", "i8"],
    "unsigned": ["u2", "u4", "u8"],
    "half": ["f2"],
    "single": ["f4"],
    "double": ["f8"],
    "complex": ["c8", "c16"],
}
# The interpreter of earlier releases rounds a fused multiply-add twice.
FUSED = tuple(int(n) for n in version("triton").split(".")[:2]) >= (3, 9)
LOOPS = [(op, loop) for op in OPS.values() if op.ufunc is not None for loop in loops_of(op)]


def operands(op: Op, codes: tuple[str, ...]) -> list[np.ndarray]:
    """Special values (all pairs of them for two arguments) and some random ones."""
    values = [specials(c) for c in codes]
    if len(codes) == 2:
        values = [v[::3] for v in values] if codes[0][0] == "c" else values
        first, second = values
        values = [np.repeat(first, len(second)), np.tile(second, len(first))]
    arrays = [
        np.concatenate([v, random_values(c, 60, 7 + k)]) for k, (v, c) in enumerate(zip(values, codes, strict=True))
    ]
    if op.name == "power" and codes[1][0] == "i":
        arrays[1] = np.where(arrays[1] < 0, 3, arrays[1]).astype(codes[1])
    return arrays


def run(op: Op, loop: Loop, arrays: list[np.ndarray]) -> np.ndarray:
    out = np.empty(len(arrays[0]), dtype_of(loop[1]))
    # Interpreted, a program costs more than its elements; on a GPU ptxas takes minutes for many elements of a thread.
    blocks = Blocks(1, 128, 4) if ON_DEVICE else Blocks(1, power_of_two(len(out)), 1)
    launch(cases.elementwise(op.name, *loop), bind([*arrays, out], out.shape), Guess("tile", blocks, blocks))
    return out


def wrong(op: Op, got: np.ndarray, want: np.ndarray, arrays: list[np.ndarray]) -> np.ndarray:
    """Where results differ: in bits, or for what is computed by another formula than NumPy's by more than it may."""
    if not op.transcendental and arrays[0].dtype.kind != "c":
        return differing(got, want, 0)
    if op.name.startswith("logaddexp"):
        # NumPy's float32 loses bits where the maximum and the logarithm added to it cancel.
        room = np.finfo(got.dtype).eps * 4 * np.maximum(np.maximum(np.abs(arrays[0]), np.abs(arrays[1])), 1)
        return ~((np.abs(got - want) <= room) | (got == want) | (np.isnan(got) & np.isnan(want)))
    if got.dtype.kind == "c":
        return apart(got, want, arrays)
    return differing(got, want, 4 if op.transcendental else 0)


def apart(got: np.ndarray, want: np.ndarray, arrays: list[np.ndarray]) -> np.ndarray:
    """Complex results far from NumPy's against their size; NaN and infinite parts at the same places."""
    room = 64 * np.finfo(got.dtype).eps * np.where(np.isfinite(want), np.abs(want), 1) + np.finfo(got.real.dtype).tiny
    far = np.zeros(got.shape, bool)
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        far |= ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room))
    return far


def tame(op: Op, arrays: list[np.ndarray]) -> np.ndarray:
    """Arguments for which a complex function is compared: NumPy's own formulas lose bits, or overflow, beyond these."""
    if arrays[0].dtype.kind != "c":
        return np.ones(len(arrays[0]), bool)
    usable = np.ones(len(arrays[0]), bool)
    if not FUSED and op.name in ("multiply", "square", "absolute"):
        return np.zeros(len(arrays[0]), bool)
    for a in arrays:
        size = np.maximum(np.abs(a.real), np.abs(a.imag))
        if op.name in ("power", "float_power", "exp2"):
            usable &= (size < 20) & (size > 1e-3)
        if op.name == "log1p":
            usable &= ~(np.isfinite(size) & ((size > 1e30) | (size < 1e-2)))
    return usable


@pytest.mark.parametrize("group", GROUPS)
def test_every_loop_gives_numpys_results(group: str) -> None:
    failures = []
    for op, loop in LOOPS:
        if loop[0][0] not in GROUPS[group]:
            continue
        arrays = operands(op, loop[0])
        usable = tame(op, arrays)
        arrays = [np.ascontiguousarray(a[usable]) for a in arrays]
        with np.errstate(all="ignore"):
            want = expected(op, arrays, loop)
            got = run(op, loop, arrays)
            bad = np.flatnonzero(wrong(op, got, want, arrays))
        if len(bad):
            examples = [(*(a[i] for a in arrays), got[i], want[i]) for i in bad[:3]]
            failures.append(f"{op.name} {loop}: {len(bad)} of {len(got)}, such as {examples}")
    assert not failures, "\n".join(failures)


def test_no_loop_is_missing() -> None:
    assert [(op.name, loop) for op, loop in LOOPS if find_rule(op.name, loop[0]) is None] == []


@pytest.mark.parametrize("op", ["where", "real", "imag", "complex"])
def test_the_ops_without_a_ufunc(op: str) -> None:
    for code in sorted(COMPILED):
        values = specials(code)
        other = values[::-1].copy()
        if op == "where":
            mask = np.arange(len(values)) % 2 == 0
            arrays, ins, out, want = [mask, values, other], ("b1", code, code), code, np.where(mask, values, other)
        elif op == "complex":
            if code not in ("f4", "f8"):
                continue
            out = {"f4": "c8", "f8": "c16"}[code]
            arrays, ins, want = [values, other], (code, code), np.empty(len(values), out)
            want.real, want.imag = values, other
        else:
            want = np.ascontiguousarray(getattr(values, op))
            arrays, ins, out = [values], (code,), {"c8": "f4", "c16": "f8"}.get(code, code)
        got = np.empty(len(values), dtype_of(out))
        kernel = cases.elementwise(op, ins, out)
        launch(kernel, bind([*arrays, got], got.shape))
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("source", sorted(COMPILED))
def test_casts(source: str) -> None:
    values = np.concatenate([specials(source), random_values(source, 60, 3)])
    for target in sorted(COMPILED):
        got = np.empty(len(values), dtype_of(target))
        launch(cases.elementwise("cast", (source,), target), bind([values, got], got.shape))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            want = values.astype(got.dtype)
        bad = differing(got, want, 0)
        assert not bad.any(), (target, values[bad][:3], got[bad][:3], want[bad][:3])
