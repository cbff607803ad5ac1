"""Owns the tests of compiled inner loops and the ufuncs made of them: layouts, overlap, warnings, widths."""

from __future__ import annotations

import ctypes
import hashlib
import re
import threading
import time
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from lazyarray.ir.ops import OPS
from lazyarray_llvm import eager, engine, ready
from lazyarray_llvm.builder import Module
from lazyarray_llvm.eager import eager_codes, eager_ufunc, symbol_of
from lazyarray_llvm.inner_loops import define_inner_loop, inner_loop

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
TRANSCENDENTAL = [name for name, op in OPS.items() if op.transcendental]
CASES = [
    ("add", ("f8", "f8"), "f8"),
    ("less", ("i2", "i2"), "b1"),
    ("logical_not", ("b1",), "b1"),
    ("multiply", ("c8", "c8"), "c8"),
    ("absolute", ("c16",), "f8"),
    ("floor_divide", ("i8", "i8"), "i8"),
    ("remainder", ("f4", "f4"), "f4"),
    ("ldexp", ("f2", "i4"), "f2"),
    ("cast", ("f8",), "u1"),
    ("exp", ("f8",), "f8"),
    ("arctan2", ("f4", "f4"), "f4"),
]


def compiled(text: str) -> Any:
    return engine.compile_ir(text, "test", key=hashlib.sha256(text.encode()).hexdigest())


def run(function: Any, operands: list[np.ndarray]) -> None:
    pointers = (ctypes.c_void_p * len(operands))(*[a.ctypes.data for a in operands])
    size = (ctypes.c_ssize_t * 1)(operands[-1].shape[0])
    steps = (ctypes.c_ssize_t * len(operands))(*[a.strides[0] for a in operands])
    function(pointers, size, steps, None)


@cache
def functions() -> dict[str, Any]:
    module = Module()
    symbols = {op: define_inner_loop(module, op, ins, out) for op, ins, out in CASES}
    found = compiled(module.text())
    return {op: _Function(found.address(symbol)) for op, symbol in symbols.items()}


def sample(dtype_code: str, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype_code == "b1":
        return rng.random(count) < 0.5
    if dtype_code[0] == "c":
        return (rng.standard_normal(count) + 1j * rng.standard_normal(count)).astype(dtype_code)
    return (rng.standard_normal(count) * 9).astype(dtype_code)


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values in other memory."""
    n, dtype = len(values), values.dtype
    if layout == "contiguous":
        return values.copy()
    if layout == "strided":
        base = np.zeros((n, 3), dtype)
        view = base[:, 1]
    elif layout == "reversed":
        view = np.zeros(n, dtype)[::-1]
    else:
        raw = np.zeros(n * dtype.itemsize + 1, np.uint8)
        view = raw[1:].view(dtype)
    view[...] = values
    return view


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("layout", ["contiguous", "strided", "reversed", "misaligned"])
def test_every_layout_and_length_gives_the_same_bits(case: tuple[Any, ...], layout: str) -> None:
    op, ins, out = case
    function = functions()[op]
    full = [sample(c, 200, k) for k, c in enumerate(ins)]
    want = np.empty(200, out)
    run(function, [*full, want])
    for n in (0, 1, 2, 7, 8, 9, 63, 64, 65, 199):
        got = laid_out(np.zeros(n, out), layout)
        run(function, [*[laid_out(a[:n], layout) for a in full], got])
        assert got.tobytes() == want[:n].tobytes(), (n, layout)


@pytest.mark.parametrize("case", [c for c in CASES if len(c[1]) == 2], ids=lambda c: c[0])
def test_broadcast_operands(case: tuple[Any, ...]) -> None:
    op, ins, out = case
    for n in (1, 5, 64, 101):
        first, second = sample(ins[0], n, 1), sample(ins[1], n, 2)
        for pair in ([first, np.broadcast_to(second[:1], n)], [np.broadcast_to(first[:1], n), second]):
            want, got = np.empty(n, out), np.empty(n, out)
            run(functions()[op], [*[a.copy() for a in pair], want])
            run(functions()[op], [*pair, got])
            assert got.tobytes() == want.tobytes()


def test_in_place_and_shifted_operands() -> None:
    x = sample("f8", 100, 0)
    y = x.copy()
    run(functions()["add"], [y, y, y])
    assert y.tobytes() == (x + x).tobytes()
    # out[i] = out[i - 1] + x[i], as ufunc.accumulate calls its loop; and out = out + x[i], as reduce does.
    running = np.concatenate([[0.0], np.zeros(100)])
    run(functions()["add"], [running[:-1], x, running[1:]])
    assert running[1:].tobytes() == np.add.accumulate(x).tobytes()
    total = np.zeros(1)
    cell = np.broadcast_to(total, 100)
    run(functions()["add"], [cell, x, cell])
    assert total[0] == np.add.accumulate(x)[-1]


WIDTHS = [
    ("remainder", ("f8", "f8"), "f8"),
    ("floor_divide", ("i4", "i4"), "i4"),
    ("gcd", ("i2", "i2"), "i2"),
    ("power", ("u1", "u1"), "u1"),
    ("maximum", ("f4", "f4"), "f4"),
    ("divide", ("c8", "c8"), "c8"),
    ("nextafter", ("f2", "f2"), "f2"),
    ("cast", ("f8",), "f2"),
    ("cast", ("f4",), "u8"),
    ("sqrt", ("c16",), "c16"),
    ("log1p", ("f4",), "f4"),
]


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32, 64])
def test_the_number_of_lanes_does_not_change_bits(lanes: int) -> None:
    module, usual = Module(), Module()
    found = compiled_loops(module, lanes)
    expected = compiled_loops(usual, 0)
    for op, ins, out in WIDTHS:
        arrays = [sample(c, 130, k) for k, c in enumerate(ins)]
        got, want = np.empty(130, out), np.empty(130, out)
        run(found[op, ins, out], [*arrays, got])
        run(expected[op, ins, out], [*arrays, want])
        assert got.tobytes() == want.tobytes(), (op, ins, lanes)


def compiled_loops(module: Module, lanes: int) -> dict[Any, Any]:
    symbols = {case: define_inner_loop(module, *case, lanes=lanes) for case in WIDTHS}
    found = compiled(module.text())
    return {case: _Function(found.address(symbol)) for case, symbol in symbols.items()}


@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_older_cpus_give_numpys_bits(vector_bytes: int) -> None:
    at = engine.narrow(engine.host(), vector_bytes)
    if at == engine.host():
        pytest.skip("this is that CPU")
    module = Module()
    cases = [case for case in WIDTHS if case[0] not in ("log1p", "divide")]
    symbols = {case: define_inner_loop(module, *case, at=at) for case in cases}
    found = engine.Engine(at).compile_ir(module.text(), "test-narrow")
    for (op, ins, out), symbol in symbols.items():
        arrays = [sample(c, 130, k) for k, c in enumerate(ins)]
        got = np.empty(130, out)
        run(_Function(found.address(symbol)), [*arrays, got])
        with np.errstate(all="ignore"):
            want = arrays[0].astype(out) if op == "cast" else getattr(np, op)(*arrays)
        assert got.tobytes() == want.tobytes(), (op, ins)


@pytest.mark.parametrize("case", [c for c in CASES if "b1" not in c[1]], ids=lambda c: c[0])
def test_whole_chunks_of_strided_operands_go_through_no_memory(case: tuple[Any, ...]) -> None:
    """Of each operand, in the block that gathers its elements: loads of two vectors' halves wait for their stores."""
    blocks = re.split(r"\n(?=[\w.]+:)", inner_loop(*case))
    gathering = [block for block in blocks if block.startswith("whole")]
    assert len(gathering) == len(case[1])
    for block in gathering:
        assert " load " in block
        assert " store " not in block


def test_inner_loop_is_a_module_of_its_own() -> None:
    text = inner_loop("square", ["i4"], "i4")
    function = _Function(compiled(text).address(symbol_of("square", ["i4"], "i4")))
    out = np.empty(5, "i4")
    run(function, [np.arange(5, dtype="i4"), out])
    assert out.tolist() == [0, 1, 4, 9, 16]


# -- ufuncs ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", TRANSCENDENTAL)
def test_ufuncs_compute_and_resolve_as_numpys(op: str) -> None:
    ours, theirs = eager_ufunc(op), getattr(np, op)
    assert isinstance(ours, np.ufunc)
    assert (ours.__name__, ours.nin, ours.nout) == (op, theirs.nin, theirs.nout)
    assert ours.identity == theirs.identity
    for dtype_code in eager_codes(op):
        arrays = [np.abs(sample(dtype_code, 40, k)).astype(dtype_code) / 20 + 1 for k in range(ours.nin)]
        if op in ("arcsin", "arccos", "arctanh"):
            arrays = [1 / (a + 1) for a in arrays]
        got, want = ours(*arrays), theirs(*arrays)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=8 * np.finfo(want.dtype).eps)
    if op not in ("power", "float_power"):
        for small in ("b1", "i1", "u1", "i2", "i4"):
            zeros = [np.zeros(1, small)] * ours.nin
            with np.errstate(all="ignore"):
                assert ours(*zeros).dtype == theirs(*zeros).dtype


def test_ufuncs_have_what_numpys_have() -> None:
    hypot, x = eager_ufunc("hypot"), np.arange(1.0, 40.0)
    assert hypot.reduce(x) == np.hypot.reduce(x)
    np.testing.assert_allclose(hypot.accumulate(x), np.hypot.accumulate(x), rtol=1e-15)
    np.testing.assert_allclose(hypot.outer([3.0, 5.0], [4.0, 12.0]), [[5, 3 * 17**0.5], [41**0.5, 13]])
    assert eager_ufunc("logaddexp").reduce([]) == -np.inf
    out = np.zeros((2, 3), "f4")
    assert eager_ufunc("exp")(np.zeros((2, 3)), out=out, casting="same_kind") is out
    assert out.tolist() == [[1, 1, 1], [1, 1, 1]]
    masked = eager_ufunc("exp")(np.zeros(4), where=[True, False, True, False], out=np.full(4, 7.0))
    assert masked.tolist() == [1, 7, 1, 7]
    assert eager_ufunc("exp")(np.float32(0)).dtype == np.float32
    assert (eager_ufunc("power")(np.float32(2), 3.0)).dtype == np.float32
    with pytest.raises(ValueError, match="operands could not be broadcast"):
        hypot(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="NumPy itself"):
        eager_ufunc("add")


WARNING_CASES = [
    ("exp", (1000.0,), "overflow"),
    ("log", (0.0,), "divide by zero"),
    ("log", (-1.0,), "invalid value"),
    ("arctanh", (1.0,), "divide by zero"),
    ("power", (0.0, -1.0), "divide by zero"),
    ("power", (10.0, 1000.0), "overflow"),
    ("power", (-1.0, 0.5), "invalid value"),
    ("sin", (np.inf,), "invalid value"),
    ("arcsin", (2.0,), "invalid value"),
]


@pytest.mark.parametrize(("op", "args", "message"), WARNING_CASES)
def test_ufuncs_warn_as_numpys(op: str, args: tuple[float, ...], message: str) -> None:
    arrays = [np.concatenate([np.full(9, 0.5), [a]]) for a in args]
    for function in (eager_ufunc(op), getattr(np, op)):
        with pytest.warns(RuntimeWarning, match=f"{message} encountered in {op}"):
            function(*arrays)
        with np.errstate(all="raise", under="ignore"), pytest.raises(FloatingPointError, match=message):
            function(*arrays)


@pytest.mark.parametrize("op", TRANSCENDENTAL)
def test_ufuncs_do_not_warn_without_cause(op: str) -> None:
    ours, theirs = eager_ufunc(op), getattr(np, op)
    for dtype_code in ("f8",) if op == "float_power" else ("f2", "f4", "f8"):
        value = 1.25 if op == "arccosh" else 0.25
        arrays = [np.full(37, value, dtype_code) for _ in range(ours.nin)]
        for special in (None, np.nan, np.inf):
            if special is not None:
                for a in arrays:
                    a[::5] = special
            with warnings.catch_warnings(record=True) as mine:
                warnings.simplefilter("always")
                ours(*arrays)
            with warnings.catch_warnings(record=True) as numpys:
                warnings.simplefilter("always")
                theirs(*arrays)
            assert {str(w.message) for w in mine} <= {str(w.message) for w in numpys}, special


def test_ufuncs_leave_flags_of_others_alone() -> None:
    with np.errstate(all="raise"):
        for _ in range(3):
            eager_ufunc("tanh")(np.linspace(-30, 30, 99))


def test_ufuncs_have_the_same_bits_at_any_place() -> None:
    x = np.linspace(-5, 5, 333)
    for op in ("exp", "sin", "tanh", "cbrt"):
        whole = eager_ufunc(op)(x)
        assert np.array([eager_ufunc(op)(v) for v in x]).tobytes() == whole.tobytes()
        assert eager_ufunc(op)(x[::-2]).tobytes() == whole[::-2].copy().tobytes()


def test_ufuncs_work_in_threads() -> None:
    x = np.linspace(0, 1, 5000)
    want, results = eager_ufunc("log1p")(x).tobytes(), []
    threads = [threading.Thread(target=lambda: results.append(eager_ufunc("log1p")(x).tobytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [want] * 8


def test_a_ufunc_compiles_the_loops_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "load", lambda op, code, symbol: 0)  # none is ready since the installation
    logaddexp = eager._make_ufunc("logaddexp")
    before = engine.counters().compiles + engine.counters().disk_hits + engine.counters().memory_hits
    for _ in range(3):
        logaddexp(np.ones(3), 1.0)
    now = engine.counters().compiles + engine.counters().disk_hits + engine.counters().memory_hits
    assert now == before + 1


def call_and_wait(function: Any, *args: Any, **options: Any) -> None:
    function(*args, **options)
    for _ in range(1000):
        time.sleep(0.001)


def test_an_interrupt_of_a_compile_rises_and_the_result_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    load, calls = eager._load_loop, []

    def interrupted_once(op: str, code: str) -> int:
        calls.append(op)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return load(op, code)

    monkeypatch.setattr(eager, "_load_loop", interrupted_once)
    out = np.zeros(3)
    with pytest.raises(KeyboardInterrupt):
        call_and_wait(eager._make_ufunc("exp"), np.zeros(3), out=out)
    assert out.tolist() == [1, 1, 1]
    assert len(calls) == 2


def test_a_loop_that_cannot_be_compiled_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(op: str, code: str) -> int:
        raise engine.EngineError(op)

    monkeypatch.setattr(eager, "_load_loop", fail)
    monkeypatch.setattr("sys.unraisablehook", lambda told: None)
    with pytest.raises(engine.EngineError):
        call_and_wait(eager._make_ufunc("exp"), np.zeros(3))
