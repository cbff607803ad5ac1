"""Launch plans as plain data: grids that cover, arguments in their slots, variants; read back as a driver does."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import numpy as np
import pytest

from lazyarray.schedule.kernel import Access, Binding, Kernel, Stage, Store
from lazyarray_triton import launch, launcher, model
from lazyarray_triton.compiler import Binary, Job
from lazyarray_triton.emit import emit
from lazyarray_triton.launch import Plan, Step, Variant
from lazyarray_triton.model import Blocks, Guess
from tests.triton import cases
from tests.triton.cases import I

_C = {
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float, "fp64": ctypes.c_double,
}  # fmt: skip


class FakeDriver:
    """Takes a launch as cuLaunchKernel does: an array of pointers to the arguments, read at their own sizes."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int, list[int | float]]] = []

    def launch_kernel(self, made: Variant, grid: int, pointers: ctypes.Array) -> None:  # type: ignore[type-arg]
        read: list[int | float] = []
        for address, kind in zip(pointers, (*made.types, "*scratch", "*profile"), strict=True):
            slot = _C.get(kind, ctypes.c_uint64)
            assert address is not None
            read.append(slot.from_address(address).value)
        self.calls.append((made.function, grid, 32 * made.warps, read))


class FakeDevice:
    """A device for `Launcher`: hands out addresses, notes what is launched, and reads the arguments."""

    capability = 90
    multiprocessors = 132

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int | None]] = []
        self.loaded: list[Binary] = []
        self.launched: list[tuple[int, int, int, list[int]]] = []

    def load(self, binary: Binary) -> int:
        self.loaded.append(binary)
        return len(self.loaded)

    def allocate(self, size: int, fill: int | None) -> int:
        self.sizes.append((size, fill))
        return len(self.sizes) << 40

    def launch(self, handle: int, grid: int, threads: int, shared: int, arguments: int) -> None:
        first = ctypes.c_void_p.from_address(arguments).value
        assert first is not None
        words = [ctypes.c_uint64.from_address(first + 8 * k).value for k in range(5)]
        self.launched.append((handle, grid, threads, words))


def planned(kernel: Kernel, extents: tuple[int, ...], guess: Guess | None = None) -> Plan:
    chosen = guess or model.guess(kernel, extents)
    return launch.plan_launches(emit(kernel, chosen.form), extents, chosen)


def run(driver: FakeDriver, plan: Plan, binding: Binding) -> None:
    """What a torch-free launcher does for every step, on a fixed block of slots."""
    works = [1 << 40 | k << 12 for k in range(len(plan.works))]
    index = launch.choose_index(plan, binding)
    for step in plan.steps:
        values = launch.arguments(plan, step, binding, works)
        made = launch.variant(step, index, values)
        slots = launch.packer(made)
        block = ctypes.create_string_buffer(slots.size)
        slots.pack_into(block, 0, *values, 0, 0)
        base = ctypes.addressof(block)
        pointers = (ctypes.c_void_p * (len(values) + 2))(*[base + 8 * k for k in range(len(values) + 2)])
        driver.launch_kernel(made, step.grid, pointers)


def named(step: Step, read: list[int | float]) -> dict[str, int | float]:
    return dict(zip([a.name for a in step.function.arguments], read, strict=False))


def test_a_launcher_compiles_a_variant_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(job: Job) -> Callable[[], Binary]:
        return lambda: Binary(b"", job.function, 64 << 10, 32 * job.warps, (0, 0), "")

    monkeypatch.setattr(launcher, "begin", begin)
    device = FakeDevice()
    started = launcher.Launcher(device)
    kernel = cases.reduction("sum", "f4", "pr")
    for rows in (2, 2, 3):
        binding = Binding((rows, 1 << 22), (1 << 20, 1 << 30), ((1 << 24, 4), (4, 0)), ())
        assert started.run(kernel, binding) is not None
    assert started.run(kernel, Binding((0, 4), (0, 0), ((16, 4), (4, 0)), ())) is None
    names = [b.name for b in device.loaded]
    # Two rows and three differ in how many segments each is cut into, whose results are one tile.
    assert names == ["stage0"]
    assert len(device.launched) == 3
    assert device.launched[0][3][:4] == [1 << 20, 1 << 30, 1 << 40, 2 << 40]  # the arrays, then work memory
    assert device.sizes[0] == (2 * 4 * planned(kernel, (2, 1 << 22)).numbers["segments"], None)


def test_arguments_reach_the_driver_in_their_types() -> None:
    kernel = cases.mixed_elementwise(2)
    extents = (30, 1000)
    pointers = (0x10000, 0x20000, 0x30000, 0x40000, 0x7FFF_0000_0000)
    strides = ((8000, 8), (0, 4), (4, 0), (-40000, 40), (8000, 8))
    driver, plan = FakeDriver(), planned(kernel, extents)
    run(driver, plan, Binding(extents, pointers, strides, (0.1,)))
    ((name, grid, threads, read),) = driver.calls
    got = named(plan.steps[0], read)
    assert (name, threads) == ("kernel", 32 * plan.steps[0].blocks.warps)
    assert grid * plan.steps[0].blocks.x * plan.steps[0].blocks.y >= math.prod(extents)
    assert [got[f"a{k}"] for k in range(5)] == list(pointers)
    assert (got["n0"], got["n1"], got["s0"]) == (30, 1000, 0.1)
    # Strides count elements.
    assert (got["t0_0"], got["t2_0"], got["t3_0"], got["t3_1"]) == (1000, 1, -5000, 5)
    assert read[-2:] == [0, 0]  # Triton's scratch pointers


def test_scalars_are_rounded_and_wrapped_as_their_dtypes() -> None:
    assert launch.scalar("f4", 0.1, ()) == float(np.float32(0.1))
    assert launch.scalar("f2", 0.1, ()) == float(np.float16(0.1))
    assert launch.scalar("f4", 1e300, ()) == math.inf
    assert launch.scalar("f2", -1e9, ()) == -math.inf
    assert launch.scalar("u1", -1, ()) == 255
    assert launch.scalar("i1", 200, ()) == -56
    assert launch.scalar("u8", -1, ()) == 2**64 - 1
    assert launch.scalar("c8", 0.1 - 0.3j, (1,)) == float(np.float32(-0.3))
    assert launch.scalar("b1", 2, ()) == 1


def test_the_index_type_grows_with_the_memory() -> None:
    kernel = cases.activation("f4")
    for n, index in ((1 << 20, "i32"), (1 << 31, "i64")):
        binding = Binding((n,), (0,) * 3, ((4,),) * 3, ())
        assert launch.choose_index(planned(kernel, (n,)), binding) == index
    far = Binding((4, 4), (0, 0), ((1 << 33, 4), (1 << 33, 0)), ())
    assert launch.choose_index(planned(cases.reduction("sum", "f4", "pr"), (4, 4)), far) == "i64"


def test_variants_differ_by_alignment_and_not_by_size() -> None:
    kernel = cases.activation("f4")

    def variant(n: int, pointer: int) -> Variant:
        plan = planned(kernel, (n,))
        (step,) = plan.steps
        binding = Binding((n,), (pointer, 256, 256), ((4,),) * 3, ())
        return launch.variant(step, "i32", launch.arguments(plan, step, binding, ()))

    assert variant(1 << 19, 256) == variant(3 << 18, 512)
    assert variant(1 << 20, 256) == variant(3 << 20, 512)  # large, and nothing is outside of a tile
    assert variant(1 << 20, 256) != variant(1 << 20, 260)
    # The end of a row that is a multiple of 8 only is said too: vectors of four need no more.
    assert (3, 8) in variant((1 << 20) + 8, 256).aligned
    assert all(k != 3 for k, _ in variant((1 << 20) + 1, 256).aligned)


def test_memory_between_elements_is_refused() -> None:
    kernel = cases.reduction("sum", "f4", "pr")
    plan = planned(kernel, (4, 4))
    with pytest.raises(ValueError, match="no multiple of 4"):
        launch.arguments(plan, plan.steps[0], Binding((4, 4), (0, 0), ((18, 4), (4, 0)), ()), ())
    with pytest.raises(ValueError, match="no multiple of 4"):
        launch.arguments(plan, plan.steps[0], Binding((4, 4), (6, 0), ((16, 4), (4, 0)), ()), ())


def test_segments_cover_what_is_reduced_once() -> None:
    for reduced in (1, 100, 20_000, 1_000_003):
        for wanted in (1, 5, 132, 5000):
            for step in (64, 2048):
                segments, length = model.cut_segments(reduced, wanted, step)
                assert segments * length >= reduced > (segments - 1) * length
                assert segments <= 1024
                assert segments == 1 or length % step == 0


def test_few_long_rows_are_split_and_put_together() -> None:
    kernel, extents = cases.reduction("sum", "f4", "pr"), (2, 1 << 22)
    plan = planned(kernel, extents)
    assert [s.function.name for s in plan.steps] == ["stage0"]
    segments = plan.numbers["segments"]
    assert plan.steps[0].grid == 2 * segments
    assert plan.works == (2 * segments * 4, 2 * 4)  # results of segments, and how many have ended of each row
    assert plan.steps[0].segments >= segments
    split = launch.plan_launches(emit(kernel, "split"), extents, model.guess(kernel, extents))
    assert [s.function.name for s in split.steps] == ["stage0", "together0"]
    assert split.steps[1].blocks.y >= segments


def test_many_results_of_segments_are_put_together_by_a_launch_of_their_own() -> None:
    kernel = cases.reduction("sum", "f4", "rp")
    assert model.guess(kernel, (8192, 8192)).form == "joined"
    assert model.guess(kernel, (1 << 22, 128)).form == "split"


def test_the_model_holds_rows_that_fit_and_loops_beyond() -> None:
    softmax = cases.softmax("f4", "pr", keep=True)
    assert model.guess(softmax, (100, 8192)).blocks == Blocks(1, 8192, 16)
    assert [model.guess(softmax, (100, n)).form for n in (100, 8192, 100_000)] == ["tile", "tile", "joined"]
    assert model.guess(softmax, (1, 10_000_000)).form == "joined"
    assert model.guess(cases.activation("f4"), (20 << 20,)).blocks == Blocks(1, 512, 4)
    assert model.guess(cases.activation("f8"), (20 << 20,)).blocks == Blocks(1, 512, 4)
    norms = [model.guess(cases.layer_norm("f4"), (400, n)).form for n in (8192, 16384, 32768)]
    assert norms == ["tile", "tile", "joined"]  # weights and biases take registers beside the row
    assert model.guess(cases.softmax("f8", "pr", keep=True), (8192, 8192)).form == "tile"
    assert model.guess(cases.softmax("f8", "pr", keep=True), (8192, 16384)).form == "loop"


def test_many_rows_are_read_again_and_not_held() -> None:
    """The caches hold the rows that are being worked on; what is cheap is computed again."""
    softmax = cases.softmax("f4", "pr", keep=True)
    assert [model.guess(softmax, (1 << 26 >> k, 1 << k)).form for k in (10, 11, 13)] == ["tile", "loop", "loop"]
    assert model.guess(softmax, (8192, 8192)).blocks == Blocks(1, 2048, 16, 40)
    assert model.guess(softmax, (8192, 8192), watched=True).blocks == Blocks(1, 2048, 16)
    assert model.guess(softmax, (4096, 16384)).blocks == Blocks(1, 4096, 32)
    assert model.guess(cases.layer_norm("f4"), (8192, 8192)).form == "loop"
    assert model.guess(cases.softmax("f4", "pr", keep=True, in_place=True), (8192, 8192)).form == "tile"


def test_guesses_depend_on_nothing_but_kernel_extents_and_device() -> None:
    for seed_kernel, extents in ((cases.several("pr"), (30, 5000)), (cases.several("rp"), (5000, 30))):
        assert len({model.guess(seed_kernel, extents) for _ in range(5)}) == 1


def test_blocks_are_powers_of_two() -> None:
    for kernel, roles in ((cases.several(r), r) for r in ("r", "pr", "rp", "prp")):
        for n in (1, 2, 3, 17, 1000, 70_000):
            found = model.guess(kernel, (n,) * len(roles) if n < 1000 else (3,) * (len(roles) - 1) + (n,))
            for blocks in (found.blocks, found.together):
                for number in (blocks.x, blocks.y, blocks.warps):
                    assert number & (number - 1) == 0
                    assert number > 0


def test_registers_of_rows_that_are_read_again_follow_from_their_length() -> None:
    """Not those of kernels that compute much, look for errors, or work on two rows at once and have no room."""

    def registers(code: str, n: int, watched: bool = False) -> int:
        kernel = cases.layer_norm(code)
        return model.guess(kernel, ((1 << 26) // n, n), watched=watched).blocks.registers

    assert [registers("f4", 1 << k) for k in (11, 12, 13, 14, 15)] == [64, 48, 40, 0, 64]
    assert [registers("f8", 1 << k) for k in (10, 11, 12, 13, 14)] == [64, 48, 0, 0, 64]
    assert not any(registers("f4", 1 << k, watched=True) for k in (11, 12, 13, 14, 15))


@pytest.mark.parametrize(("code", "count", "room"), [("f8", 10, 80), ("f8", 2, 0), ("f4", 10, 0), ("c16", 10, 0)])
def test_long_code_that_looks_for_errors_has_registers_for_what_it_notes(code: str, count: int, room: int) -> None:
    body = [I(0, "load", (), code, 0), *(I(k, "exp", (k - 1,), code) for k in range(1, count + 1))]
    accesses = (Access(code, ("1",)), Access(code, ("1",)))
    kernel = Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(1, count),)),))
    assert model.guess(kernel, (1 << 20,)).blocks.registers == 0
    assert model.guess(kernel, (1 << 20,), watched=True).blocks.registers == room


def test_threads_do_less_where_each_element_takes_much_code() -> None:
    def chain(count: int) -> Kernel:
        body = [I(0, "load", (), "f4", 0), *(I(k, "sin", (k - 1,), "f4") for k in range(1, count + 1))]
        return Kernel(("p",), (Access("f4", ("1",)),) * 2, (), (Stage("full", tuple(body), stores=(Store(1, count),)),))

    each = [model.guess(chain(count), (1 << 20,)).blocks for count in (1, 32, 64)]
    assert [b.y // (32 * b.warps) for b in each] == [4, 2, 1]


def test_tiles_of_a_stencil_begin_where_lines_of_memory_do() -> None:
    loads = [I(k, "load", (), "f4", k) for k in range(3)]
    adds = [I(3, "add", (0, 1), "f4"), I(4, "add", (3, 2), "f4")]
    stage = Stage("full", (*loads, *adds), stores=(Store(3, 4),))
    kernel = Kernel(("p", "p"), (Access("f4", ("s", "1")),) * 4, (), (stage,))
    extents, strides = (8190, 8190), ((8192 * 4, 4),) * 4

    def shift(*places: int) -> int:
        return launch.shift_of(kernel, Binding(extents, tuple([1 << 20 | 4 * p for p in places]), strides, ()))

    assert shift(1, 0, 2, 1) == 1
    assert shift(0, 0, 0, 3) == 0  # most of what is read begins a line
    assert shift(8, 7, 9, 8 + 32) == 8
    source = emit(kernel, "tile")
    guess = model.guess(kernel, extents, shifted=True)
    plan = launch.plan_launches(source, extents, guess, 1)
    binding = Binding(extents, tuple([1 << 20 | 4 * p for p in (1, 0, 2, 1)]), strides, ())
    made = launch.variant(plan.steps[0], "i32", launch.arguments(plan, plan.steps[0], binding, ()))
    assert ("SHIFTED", True) in made.constants
    # 8190 elements and the one before them take as many tiles as 8191 do.
    assert plan.steps[0].grid == -(-8191 // guess.blocks.y) * -(-8190 // guess.blocks.x)
