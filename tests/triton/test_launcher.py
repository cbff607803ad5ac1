"""Launches against a fake driver, which reads the slots as cuLaunchKernel does; cubins kept on disk."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_triton import launcher, model
from lazyarray_triton.backend import Program
from lazyarray_triton.compiler import Binary, Job
from lazyarray_triton.cubins import Cubins
from lazyarray_triton.emit import emit, forms
from lazyarray_triton.launch import Variant
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.prepared import Prepared
from lazyarray_triton.source import TritonSource, Watched
from lazyarray_triton.sources import Sources
from tests.triton import cases

ROOT = Path(__file__).resolve().parents[2]
C_TYPES = {
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float, "fp64": ctypes.c_double,
}  # fmt: skip


class FakeDriver:
    """Hands out addresses and handles, and reads what it is asked to launch at the arguments' own sizes."""

    capability = 90
    multiprocessors = 132

    def __init__(self) -> None:
        self.loaded: list[Binary] = []
        self.types: dict[int, tuple[str, ...]] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.allocated: list[tuple[int, int | None]] = []
        self.kept: list[Any] | None = None

    def load(self, binary: Binary) -> int:
        self.loaded.append(binary)
        return len(self.loaded)

    def allocate(self, size: int, fill: int | None) -> int:
        self.allocated.append((size, fill))
        return 1 << 40 | len(self.allocated) << 20

    def stream(self) -> int:
        return 77

    def launch(self, handle: int, grid: int, threads: int, shared: int, arguments: int) -> None:
        self.launch_kernel(handle, grid, 1, 1, threads, 1, 1, shared, self.stream(), arguments, 0)

    def launch_kernel(self, handle: int, *given: int) -> None:
        *dimensions, shared, stream, arguments, extra = given
        assert extra == 0
        types = self.loaded[handle - 1].ptx.split()
        slots = (ctypes.c_void_p * (len(types) + 2)).from_address(arguments)
        read = [
            C_TYPES.get(kind, ctypes.c_uint64).from_address(address or 0).value
            for address, kind in zip(slots, (*types, "*", "*"), strict=True)
        ]
        self.calls.append((self.loaded[handle - 1].name, tuple(dimensions), shared, stream, read))


class Compiler:
    """In the place of Triton's: notes what is compiled. The types travel as PTX, for the driver to read by."""

    def __init__(self) -> None:
        self.made: list[Job] = []
        self.taken: list[Job] = []

    def __call__(self, job: Job) -> Callable[[], Binary]:
        self.made.append(job)
        types = " ".join([type_ for _, type_ in job.signature if type_ != "constexpr"])

        def take() -> Binary:
            self.taken.append(job)
            return Binary(b"cubin", job.function, 1 << 16, 32 * job.warps, (0, 0), types)

        return take


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    made = Compiler()
    monkeypatch.setattr(launcher, "begin", made)
    return made


def values_of(prepared: Prepared, step: int, read: list[int | float]) -> dict[str, int | float]:
    return dict(zip([a.name for a in prepared.source.functions[step].arguments], read, strict=False))


def test_a_prepared_launch_takes_other_memory_and_scalars(compiler: Compiler) -> None:
    driver, kernel = FakeDriver(), cases.mixed_elementwise(2)
    strides = ((8000, 8), (0, 4), (4, 0), (-40000, 40), (8000, 8))
    first = (0x10000, 0x20000, 0x30000, 0x40000, 0x50000)
    prepared = Prepared(Launcher(driver), kernel, Binding((30, 1000), first, strides, (0.1,)))
    assert driver.calls == []
    prepared.launch(first)
    second = tuple(0x7FFF_0000_0000 + p for p in first)
    prepared.launch(second, (2.5,), stream=5)
    for (name, dimensions, shared, stream, read), pointers, wanted, scalar in zip(
        driver.calls, (first, second), (77, 5), (0.1, 2.5), strict=True
    ):
        got = values_of(prepared, 0, read)
        assert (name, shared, stream) == ("kernel", 1 << 16, wanted)
        assert dimensions[1:] == (1, 1, 32 * compiler.made[0].warps, 1, 1)
        assert [got[f"a{k}"] for k in range(5)] == list(pointers)
        assert (got["n0"], got["n1"], got["s0"], got["t0_0"], got["t3_0"]) == (30, 1000, scalar, 1000, -5000)
        assert read[-2:] == [0, 0]
    assert len(compiler.made) == 1


def test_a_launch_in_the_middle_of_another_has_arguments_of_its_own(compiler: Compiler) -> None:
    """As a signal handler's, which comes when the first has packed its arguments and the driver has not read them."""

    class Interrupted(FakeDriver):
        meanwhile: Callable[[], None] | None = None

        def launch_kernel(self, handle: int, *given: int) -> None:
            handler, self.meanwhile = self.meanwhile, None
            if handler is not None:
                handler()
            super().launch_kernel(handle, *given)

    driver, kernel = Interrupted(), cases.mixed_elementwise(2)
    strides = ((8000, 8), (0, 4), (4, 0), (-40000, 40), (8000, 8))
    first = (0x10000, 0x20000, 0x30000, 0x40000, 0x50000)
    second = tuple(p << 8 for p in first)
    prepared = Prepared(Launcher(driver), kernel, Binding((30, 1000), first, strides, (0.1,)))
    for scalars in ((0.0,), (3.5,)):
        driver.meanwhile = lambda: prepared.launch(second, (2.5,))
        prepared.launch(first, scalars)
        inner, outer = [values_of(prepared, 0, call[-1]) for call in driver.calls[-2:]]
        assert ([inner[f"a{k}"] for k in range(5)], inner["s0"]) == (list(second), 2.5)
        assert ([outer[f"a{k}"] for k in range(5)], outer["s0"]) == (list(first), *scalars)


def test_a_prepared_launch_refuses_memory_that_its_loads_cannot_take(compiler: Compiler) -> None:
    driver, kernel = FakeDriver(), cases.activation("f4")
    binding = Binding((1000,), (16, 32, 48), ((4,),) * 3, ())
    prepared = Prepared(Launcher(driver), kernel, binding)
    with pytest.raises(ValueError, match="aligned to 16 bytes"):
        prepared.launch((16, 36, 48))
    assert driver.calls == []
    # Prepared for memory that is not aligned it takes any.
    Prepared(Launcher(driver), kernel, binding._replace(pointers=(4, 36, 8))).launch((16, 36, 48))
    assert driver.calls[0][-1][:3] == [16, 36, 48]


def test_work_memory_is_new_in_every_launch_and_shared_by_its_functions(compiler: Compiler) -> None:
    driver, kernel = FakeDriver(), cases.reduction("sum", "f4", "pr")
    binding = Binding((2, 1 << 22), (1 << 20, 1 << 30), ((1 << 24, 4), (4, 0)), ())
    guess = replace(model.guess(kernel, binding.extents), form="split")
    prepared = Prepared(Launcher(driver), kernel, binding, guess)
    prepared.launch(binding.pointers)
    prepared.launch((1 << 21, 1 << 31))
    assert [c[0] for c in driver.calls] == ["stage0", "together0"] * 2
    works = [values_of(prepared, k % 2, c[-1])["w0"] for k, c in enumerate(driver.calls)]
    assert works[0] == works[1] != works[2] == works[3]
    assert len(driver.allocated) == 2
    assert values_of(prepared, 0, driver.calls[2][-1])["a0"] == 1 << 21
    assert values_of(prepared, 1, driver.calls[3][-1])["a1"] == 1 << 31


def test_programs_that_share_a_row_count_one_another_in_memory_of_their_stream(compiler: Compiler) -> None:
    """The program that ends last leaves zeros again. What is recorded in a graph counts in memory from before."""
    driver, kernel = FakeDriver(), cases.reduction("sum", "f4", "pr")
    binding = Binding((2, 1 << 22), (1 << 20, 1 << 30), ((1 << 24, 4), (4, 0)), ())
    prepared = Prepared(Launcher(driver), kernel, binding)
    for stream in (1, 1, 2, 1):
        prepared.launch(binding.pointers, stream=stream)
    driver.kept = []
    prepared.launch(binding.pointers, stream=3)
    assert [c[0] for c in driver.calls] == ["stage0"] * 5
    counts = [values_of(prepared, 0, c[-1])["w1"] for c in driver.calls]
    assert counts[0] == counts[1] == counts[3] == counts[4] != counts[2]
    assert [size for size, fill in driver.allocated if fill == 0] == [8, 8]


def test_a_scatter_fills_memory_as_large_as_what_it_writes(compiler: Compiler) -> None:
    driver, kernel = FakeDriver(), cases.put("f4", masked=False)
    binding = Binding((60,), (1 << 20, 1 << 21, 1 << 22, (1 << 23) + 64), ((4,), (8,), (1,), (0,)), ())
    prepared = Prepared(Launcher(driver), kernel, binding, origins={3: (1 << 23, 400)})
    prepared.launch(binding.pointers)
    assert driver.allocated == [(800, prepared.source.works[0].fill)]
    assert [c[0] for c in driver.calls] == ["claim", "put"]


def test_nothing_is_launched_where_a_parallel_extent_is_zero(compiler: Compiler) -> None:
    driver = FakeDriver()
    binding = Binding((0, 4), (16, 32), ((16, 4), (4, 0)), ())
    Prepared(Launcher(driver), cases.reduction("sum", "f4", "pr"), binding).launch((16, 32))
    assert driver.calls == []
    assert compiler.made == []


def test_a_new_process_finds_its_cubins_on_disk(compiler: Compiler, tmp_path: Path) -> None:
    kernel, binding = cases.activation("f4"), Binding((1000,), (16, 32, 48), ((4,),) * 3, ())
    for count in (1, 1, 2):
        driver = FakeDriver()
        Launcher(driver, Cubins(tmp_path)).run(kernel, binding._replace(extents=(1000 if count == 1 else 1001,)))
        assert len(compiler.made) == count
        (binary,) = driver.loaded
        assert (binary.cubin, binary.name, binary.shared, binary.threads) == (b"cubin", "kernel", 1 << 16, 128)


def test_a_cubin_is_for_one_text_variant_and_target(tmp_path: Path) -> None:
    def source_and_variant(kernel: Kernel) -> tuple[TritonSource, Variant]:
        started = Launcher(FakeDriver())
        source = started.source(kernel, model.guess(kernel, (1000,)).form)
        return source, Variant("kernel", "i32", (), 4, 0, (), ())

    cubins = Cubins(tmp_path)
    assert cubins.are_new
    source, made = source_and_variant(cases.activation("f4"))
    cubins.store(source, made, 90, Binary(b"x", "kernel", 1, 2, (3, 4), "text"))
    assert not cubins.are_new
    assert not Cubins(tmp_path).are_new
    found = cubins.load(source, made, 90)
    assert found == Binary(b"x", "kernel", 1, 2, (3, 4), "")
    assert cubins.load(source, made, 100) is None
    assert cubins.load(source, Variant("kernel", "i64", (), 4, 0, (), ()), 90) is None
    assert cubins.load(source_and_variant(cases.activation("f8"))[0], made, 90) is None
    entry = max(tmp_path.glob("*.entry"), key=lambda path: path.stat().st_size)  # the other says that there is one
    damaged = bytearray(entry.read_bytes())
    damaged[-1] ^= 1
    entry.write_bytes(damaged)
    assert cubins.load(source, made, 90) is None
    assert not entry.exists()


@pytest.mark.parametrize("name", ["activation", "softmax", "sum", "put", "several"])
def test_a_module_on_disk_is_launched_as_it_was_emitted(tmp_path: Path, name: str) -> None:
    kernel = {
        "activation": cases.activation("c8"),
        "softmax": cases.softmax("f4", "pr", keep=True),
        "sum": cases.reduction("sum", "f4", "rp", where=True),
        "put": cases.put("f4", masked=True),
        "several": cases.several("prp"),
    }[name]
    for form in forms(kernel):
        watched: Watched
        for watched in ("", "apart"):
            made = emit(kernel, form, watched)
            Sources(tmp_path).store(kernel, watched, made)
            found = Sources(tmp_path).load(kernel, form, watched)
            assert found == replace(made, functions=tuple(replace(f, text="") for f in made.functions))
    assert Sources(tmp_path).load(kernel._replace(scalars=("f4",)), form, "") is None


def test_a_process_that_finds_a_module_on_disk_does_not_emit_it(
    compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, binding = cases.softmax("f4", "pr", keep=True), Binding((100, 100), (16, 32), ((400, 4),) * 2, ())
    for _ in range(2):
        driver = FakeDriver()
        Prepared(Launcher(driver, Cubins(tmp_path), stored=Sources(tmp_path)), kernel, binding).launch((16, 32))
        assert [call[0] for call in driver.calls] == ["kernel"]
        monkeypatch.delattr(launcher, "emit", raising=False)


WARM = """
import sys
from lazyarray.schedule.kernel import Binding
from lazyarray_triton import launcher
from lazyarray_triton.compiler import Binary, Job
from lazyarray_triton.cubins import Cubins
from lazyarray_triton.prepared import Prepared
from tests.triton import cases
from tests.triton.test_launcher import FakeDriver

if sys.argv[2] == "cold":
    launcher.begin = lambda job: lambda: Binary(b"cubin", "kernel", 0, 128, (0, 0), "")
started = launcher.Launcher(FakeDriver(), Cubins(__import__("pathlib").Path(sys.argv[1])))
Prepared(started, cases.activation("f4"), Binding((1000,), (16, 32, 48), ((4,),) * 3, ()))
assert "triton" not in sys.modules
"""


def test_a_warm_start_imports_no_triton(tmp_path: Path) -> None:
    settings = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "backends")))}
    for state in ("cold", "warm"):
        command = [sys.executable, "-c", WARM, str(tmp_path), state]
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    assert np.size(list(tmp_path.glob("*.entry"))) == 2  # and one that says that there are others


@pytest.mark.parametrize(("count", "forms"), [(3, 3), (20, 2)])
def test_odd_addresses_of_many_arrays_are_one_form(count: int, forms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler()
    monkeypatch.setattr("lazyarray_triton.launcher.begin", compiler)
    body = [Instruction(k, "load", (), "f4", k) for k in range(count - 1)]
    body += [Instruction(count + k, "add", (count + k - 1 if k else 0, k + 1), "f4") for k in range(count - 2)]
    last = body[-1].target
    accesses = (Access("f4", ("1",)),) * count
    kernel = Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(count - 1, last),)),))
    program = Program(Launcher(FakeDriver(), None), kernel)
    bound = program.launcher((4096,), ((4,),) * count, (1 << 20,) * count)
    bases = [(k + 1) << 20 for k in range(count)]
    for odd in ((), (0,), (1,)):
        bound.start([base + 4 * (k in odd) for k, base in enumerate(bases)], [], bases)
    assert len(bound._prepared) == forms


def test_functions_are_begun_with_before_any_of_them_is_waited_for(compiler: Compiler) -> None:
    kernel = cases.activation("f4")
    program = Program(Launcher(FakeDriver()), kernel)
    bases = [1 << 20, 1 << 21, 1 << 22]
    bounds = [program.launcher((n,), ((4,),) * 3, (1 << 16,) * 3) for n in (1024, 1000)]
    for bound in bounds:
        bound.foresee(bases, [], bases, 1 << 30)
    foreseen = [job.function for job in compiler.made]
    assert foreseen == ["kernel", "look_kernel"] * 2
    assert compiler.taken == []
    for bound in bounds:
        bound.start([base << 1 for base in bases], [], [base << 1 for base in bases], 1 << 31)
    assert [job.function for job in compiler.taken] == foreseen
    assert len(compiler.made) == 4


def test_a_launch_that_was_not_foreseen_so_is_prepared_as_it_is(compiler: Compiler) -> None:
    driver = FakeDriver()
    bound = Program(Launcher(driver), cases.activation("f4")).launcher((1000,), ((4,),) * 3, (1 << 16,) * 3)
    bound.foresee([16, 32, 48], [], [16, 32, 48], 0)
    bound.start([20, 36, 48], [], [16, 32, 48])
    assert driver.calls[0][-1][:3] == [20, 36, 48]
    assert compiler.taken == [compiler.made[1]]
