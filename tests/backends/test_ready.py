"""Loops that are compiled at installation have the bits of those compiled when needed, and run where they belong."""

from __future__ import annotations

import ctypes
import platform
import sys
from pathlib import Path

import numpy
import pytest

from lazyarray.ir.ops import OPS
from lazyarray_llvm import hosts, ready
from lazyarray_llvm.eager import eager_ufunc, symbol_of
from lazyarray_llvm.moves.names import SIZES, module_name, symbol

HERE = sys.platform.startswith("linux") and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not HERE, reason="images are of ELF for x86-64")
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
LOOPS = [(op, code) for op, code, _ in ready.wanted() if OPS[op].transcendental]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("ready") / "loops")
    assert ready.build(made) == len(ready.wanted()) + len(SIZES)
    return made


@pytest.fixture(autouse=True)
def taken_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "_fits", {})
    monkeypatch.delenv("LAZYARRAY_NATIVE", raising=False)


def address_of(op: str, code: str, folder: str) -> int:
    return ready.load(op, code, symbol_of(op, [code] * OPS[op].nin, code), folder)


@pytest.mark.parametrize(("op", "code"), LOOPS)
def test_a_ready_loop_gives_the_bits_of_the_compiled_one(op: str, code: str, folder: str) -> None:
    draw = numpy.random.default_rng(7)
    parts = numpy.ldexp(draw.standard_normal((4, 999)), draw.integers(-40, 40, (4, 999)))
    parts[0, :6] = 0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0
    whole = parts[::2] + 1j * parts[1::2] if code[0] == "c" else parts[:2]
    with numpy.errstate(over="ignore"):
        given = list(whole.astype(code)[: OPS[op].nin])
    with numpy.errstate(all="ignore"):
        expected = eager_ufunc(op)(*given)
        found = numpy.empty_like(expected)
        arrays = [*given, found]
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        extents = (ctypes.c_ssize_t * 1)(found.size)
        steps = (ctypes.c_ssize_t * len(arrays))(*[a.itemsize for a in arrays])
        LOOP(address_of(op, code, folder))(pointers, extents, steps, None)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_what_moves_short_rows_is_ready_too(size: int, folder: str) -> None:
    found = ready.find(module_name(size), folder)
    assert found is not None
    copy = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * 2, ctypes.c_int64)
    wide, line = numpy.arange(9 * 5 * size, dtype="u1").reshape(9, 5 * size), numpy.zeros((9 * 3 + 64) * size, "u1")
    address = found.get_function_address(symbol("copy", size))
    copy(address)(line.ctypes.data, 3 * size, wide.ctypes.data, 5 * size, 9)
    numpy.testing.assert_array_equal(line[: 27 * size].reshape(9, -1), wide[:, : 3 * size])


def test_loops_of_other_sources_or_another_cpu_are_not_taken(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_of("exp", "f8", folder)
    monkeypatch.setattr(ready, "_fits", {})
    monkeypatch.setattr(hosts, "describe_cpu", lambda: "flags : of another one")
    assert not address_of("exp", "f8", folder)


def test_loops_are_left_out_with_the_other_compiled_modules(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYARRAY_NATIVE", "0")
    assert not address_of("exp", "f8", folder)


def test_what_was_not_made_is_not_there(folder: str, tmp_path: Path) -> None:
    assert not address_of("exp", "f2", folder)
    assert not address_of("exp", "f8", str(tmp_path / "nowhere"))


def test_where_the_system_does_not_describe_its_cpu_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "describe_cpu", lambda: None)
    assert ready.build(str(tmp_path / "loops")) == 0
    assert not (tmp_path / "loops").exists()
