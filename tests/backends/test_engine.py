"""The engine compiles, links, refuses bad IR without harm, and finds compiled code in memory and on disk."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lazyarray_llvm import engine as engine_module
from lazyarray_llvm.engine import Engine, EngineError, narrow

ROOT = Path(engine_module.__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends")])}

ADD = """
define i64 @add(i64 %a, i64 %b) nounwind {
  %c = add i64 %a, %b
  ret i64 %c
}
@table = constant [2 x i64] [i64 7, i64 8]
"""


def vector_ir(lanes: int) -> str:
    return f"""
define void @axpb(ptr noalias %x, ptr noalias %y, i64 %n) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %px = getelementptr float, ptr %x, i64 %i
  %v = load <{lanes} x float>, ptr %px, align 4
  %m = fmul <{lanes} x float> %v, splat (float 0x3FF19999A0000000)
  %s = fadd <{lanes} x float> %m, splat (float 0x3FB99999A0000000)
  %py = getelementptr float, ptr %y, i64 %i
  store <{lanes} x float> %s, ptr %py, align 4
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %leave
leave:
  ret void
}}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(cache_root=tmp_path / "cache")


def test_host_describes_this_cpu() -> None:
    at = engine_module.host()
    assert at.vector_bytes in (16, 32, 64)
    assert at.cpu
    assert at.triple.count("-") >= 2
    assert at is engine_module.host()
    if at.vector_bytes >= 32:
        assert at.has_fma


def test_compiled_code_runs_and_addresses_stay(engine: Engine) -> None:
    module = engine.compile_ir(ADD, "adder")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(module.address("add"))
    for number in range(5):  # modules with equal symbols do not meet
        engine.compile_ir(ADD.replace("add i64 %a, %b", f"sub i64 %a, {number}"), "other")
    assert function(40, 2) == 42
    assert (ctypes.c_int64 * 2).from_address(module.address("table"))[:] == [7, 8]
    with pytest.raises(EngineError, match="no symbol 'nope'"):
        module.address("nope")


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_every_vector_width_gives_numpys_bits(tmp_path: Path, vector_bytes: int) -> None:
    engine = Engine(narrow(engine_module.host(), vector_bytes), tmp_path)
    lanes = vector_bytes // 4  # wider than the host's: LLVM splits the vectors
    module = engine.compile_ir(vector_ir(lanes), "axpb")
    x = np.linspace(-1e3, 1e3, 16 * 33, dtype="f4")
    y = np.empty_like(x)
    ctypes.CFUNCTYPE(None, *[ctypes.c_size_t] * 3)(module.address("axpb"))(x.ctypes.data, y.ctypes.data, x.size)
    # Not contracted into a fused multiply-add: two roundings, as in NumPy.
    np.testing.assert_array_equal(y, x * np.float32(1.1) + np.float32(0.1))


@pytest.mark.parametrize("name", ["sin", "pow", "atan2", "cbrt", "expm1", "fmod", "lgamma"])
def test_libm_resolves(engine: Engine, name: str) -> None:
    two = name in ("pow", "atan2", "fmod")
    arguments = ", ".join(["double %a", "double %b"][: 1 + two])
    ir_text = (
        f"declare double @{name}({'double, double' if two else 'double'})\n"
        f"define double @f({arguments}) {{\n  %r = call double @{name}({arguments})\n  ret double %r\n}}"
    )
    address = engine.compile_ir(ir_text, name).address("f")
    if two:
        got = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(address)(1.75, 2.5)
        assert got == pytest.approx(getattr(math, name)(1.75, 2.5), rel=1e-15)
    else:
        got = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(0.7)
        expected = math.cbrt(0.7) if name == "cbrt" else getattr(math, name)(0.7)
        assert got == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("ir_text", "message"),
    [
        ("define i64 @f( {", "expected"),
        ("define i64 @f() {\n  ret i32 1\n}", "value doesn't match function result type"),
        ("declare void @nobody_has_this()\ndefine void @f() {\n call void @nobody_has_this()\n ret void\n}",
         "unknown symbols: nobody_has_this"),
        ("@elsewhere = external global i32\ndefine ptr @f() {\n ret ptr @elsewhere\n}",
         "unknown symbols: elsewhere"),
    ],
)  # fmt: skip
def test_bad_ir_raises_and_the_engine_goes_on(engine: Engine, ir_text: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        engine.compile_ir(ir_text, "bad", key="bad")
    assert engine.load("bad") is None
    assert engine.compile_ir(ADD, "good", key="good").address("add")


def test_passes_inline_and_hoist(engine: Engine) -> None:
    ir_text = """
define internal i64 @helper(i64 %a) {
  %b = mul i64 %a, 3
  ret i64 %b
}
define i64 @f(i64 %a) {
  %b = call i64 @helper(i64 %a)
  ret i64 %b
}
"""
    assert "helper" in engine.assembly(ir_text)
    assert "helper" not in engine.assembly(ir_text, passes=True)
    module = engine.compile_ir(ir_text, "inlined", passes=True)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(module.address("f"))(14) == 42


def test_a_key_is_found_in_memory_and_on_disk(engine: Engine, tmp_path: Path) -> None:
    assert engine.load("k") is None
    first = engine.compile_ir(ADD, "adder", key="k")
    assert engine.compile_ir(ADD, "adder", key="k") is first
    assert engine.load("k") is first
    counted = engine.counters
    assert (counted.compiles, counted.disk_hits, counted.memory_hits) == (1, 0, 2)
    assert counted.compile_seconds > 0

    other = Engine(cache_root=tmp_path / "cache")
    module = other.compile_ir("never read", "adder", key="k")
    assert module.from_disk
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(module.address("add"))(1, 2) == 3
    assert (other.counters.compiles, other.counters.disk_hits) == (0, 1)

    narrower = Engine(narrow(engine.host, 16), tmp_path / "cache")
    if narrower.host != engine.host:
        assert narrower.load("k") is None


def test_a_corrupt_entry_is_compiled_again(engine: Engine, tmp_path: Path) -> None:
    engine.compile_ir(ADD, "adder", key="k")
    for path in (tmp_path / "cache").glob("*.entry"):
        data = bytearray(path.read_bytes())
        data[-20] ^= 1
        path.write_bytes(bytes(data))
    other = Engine(cache_root=tmp_path / "cache")
    assert not other.compile_ir(ADD, "adder", key="k").from_disk
    assert Engine(cache_root=tmp_path / "cache").compile_ir(ADD, "adder", key="k").from_disk


def test_a_stored_module_whose_symbols_are_gone_is_compiled_again(engine: Engine, tmp_path: Path) -> None:
    ir_text = "declare i64 @from_test()\ndefine i64 @f() {\n  %r = call i64 @from_test()\n  ret i64 %r\n}"
    callback = ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: 5)
    engine_module.add_symbol("from_test", ctypes.cast(callback, ctypes.c_void_p).value or 0)
    module = engine.compile_ir(ir_text, "user", key="user")
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(module.address("f"))() == 5
    script = (
        "import sys; from pathlib import Path; from lazyarray_llvm.engine import Engine\n"
        "engine = Engine(cache_root=Path(sys.argv[1]))\n"
        "assert engine.load('user') is None\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "cache")], env=ENVIRONMENT, check=True)


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from lazyarray_llvm.engine import Engine\n"
        "engine = Engine(cache_root=Path(sys.argv[1]))\n"
        "engine.compile_ir(sys.argv[2], 'a', key='a').address('add')\n"
        "print(engine.counters.compiles, engine.counters.disk_hits)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), ADD]
    outputs = [
        subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    ]
    assert outputs == [["1", "0"], ["0", "1"]]


def test_importing_the_engine_does_not_import_llvmlite() -> None:
    script = "import sys, lazyarray_llvm.engine, lazyarray_llvm.threads; assert 'llvmlite' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, check=True)


def test_warming_in_the_background_and_compiling_at_once(tmp_path: Path) -> None:
    script = (
        "import sys, threading; from pathlib import Path; from lazyarray_llvm import engine\n"
        "engine.warm()\n"
        "work = lambda: engine.compile_ir(sys.argv[1], 'a', 'a')\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert engine.load('a').address('add')\n"
        "assert engine.counters().compiles == 1, engine.counters()\n"
    )
    environment = {**ENVIRONMENT, "LAZYARRAY_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script, ADD], env=environment, check=True)
