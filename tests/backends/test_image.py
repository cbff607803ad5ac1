"""Holds that code laid out as an image runs as LLVM links it, and that what needs a linker has no image."""

from __future__ import annotations

import ctypes
import gc
import math
import platform
import sys
from pathlib import Path

import pytest

from lazyarray_llvm import hosts, image
from lazyarray_llvm.engine import Engine, find_symbol

HERE = sys.platform.startswith("linux") and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not HERE, reason="images are of ELF for x86-64")

WEIGHTS = """
@weights = private constant [3 x double] [double 2.0, double 3.0, double 5.0]
declare double @exp(double)
define internal double @weight(i64 %i) noinline {
  %p = getelementptr double, ptr @weights, i64 %i
  %w = load double, ptr %p
  ret double %w
}
define double @weighted(double %x, i64 %i) {
  %w = call double @weight(i64 %i)
  %e = call double @exp(double %x)
  %s = fmul double %e, %w
  %t = fadd double %s, 0x3FB999999999999A
  ret double %t
}
"""
WRITABLE = "@seen = global i64 0\ndefine void @f() {\n  store i64 1, ptr @seen\n  ret void\n}"


def compile_object(engine: Engine, ir_text: str) -> bytes:
    return engine.generator.generate(engine.generator.parse(ir_text, "test")).code


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(cache_root=tmp_path)


def test_an_image_runs_as_the_linked_object_does(engine: Engine) -> None:
    code = compile_object(engine, WEIGHTS)
    laid = image.lay_out(code)
    assert laid is not None
    assert laid.externals == ["exp"]
    assert image.unpack(laid.pack()) == laid
    loaded, linked = image.Loaded(laid, find_symbol), engine._link(code)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    for at, weight in enumerate((2.0, 3.0, 5.0)):
        found = [kind(module.get_function_address("weighted"))(0.7, at) for module in (loaded, linked)]
        assert found == [math.exp(0.7) * weight + 0.1] * 2
    assert loaded.get_function_address("nothing") == 0


def test_what_writes_its_own_data_is_linked_by_llvm(engine: Engine) -> None:
    assert image.lay_out(compile_object(engine, WRITABLE)) is None
    module = engine.compile_ir(WRITABLE, "test", key="k")
    ctypes.CFUNCTYPE(None)(module.address("f"))()
    assert ctypes.c_int64.from_address(module.address("seen")).value == 1
    found = Engine(cache_root=engine._cache_root).load("k")
    assert found is not None
    assert found.from_disk


def test_other_machines_objects_have_no_image(engine: Engine) -> None:
    code = bytearray(compile_object(engine, WEIGHTS))
    code[18] = 183  # AArch64
    assert image.lay_out(bytes(code)) is None
    assert image.lay_out(b"") is None


def test_what_llvm_says_of_the_cpu_is_noted(engine: Engine) -> None:
    host = engine.host
    noted = hosts.recall(engine._cache_root)
    assert noted is not None
    assert noted[1:] == host


def test_another_cpu_or_llvm_is_asked_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.host.cpu
    monkeypatch.setattr(hosts, "_identity", lambda: "another")
    assert hosts.recall(engine._cache_root) is None


def test_code_stays_when_its_engine_is_gone(tmp_path: Path) -> None:
    """The interpreter clears its modules while threads of the pool still stand in code that was compiled here."""
    module = Engine(cache_root=tmp_path).compile_ir(WEIGHTS, "test", key="k")
    address = module.address("weighted")
    del module
    gc.collect()
    ranges = [line.split()[:2] for line in Path("/proc/self/maps").read_text().splitlines()]
    found = [kind for place, kind in ranges if in_range(address, place)]
    assert found
    assert "x" in found[0]


def in_range(address: int, place: str) -> bool:
    first, last = (int(end, 16) for end in place.split("-"))
    return first <= address < last
