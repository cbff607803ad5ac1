"""Pooled arrays are plain NumPy arrays, and their memory is used again only when nothing can reach it."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from lazyarray.runtime import pool as pool_module
from lazyarray.runtime.blocks import size_class
from lazyarray.runtime.buffer import owns_alone
from lazyarray.runtime.pool import MemoryPool

BIG = 1 << 20


def address(array: np.ndarray[Any, Any]) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def resident() -> int:
    """Bytes that the process has in memory, on Linux."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(max_idle=64 << 20)


@pytest.mark.parametrize("shape", [(BIG,), (512, 1024), (3, 5, 70_000), BIG, [512, 1024], (np.int64(BIG), 1)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "c16", "?", "f2", "M8[s]", "U3"])
def test_it_is_what_numpy_would_give(pool: MemoryPool, shape: Any, dtype: str) -> None:
    ours, numpys = pool.allocate(shape, dtype), np.empty(shape, dtype)
    assert type(ours) is np.ndarray
    assert (ours.shape, ours.dtype, ours.strides) == (numpys.shape, numpys.dtype, numpys.strides)
    assert ours.flags.writeable
    assert ours.flags.aligned
    assert ours.flags.c_contiguous
    assert address(ours) % 64 == 0
    ours[...] = np.zeros(1, dtype)[0]
    assert pool.stats().allocations == 1


def test_orders(pool: MemoryPool) -> None:
    shape = (30, 40, 500)
    fortran = pool.allocate(shape, "f8", "F")
    assert fortran.strides == np.empty(shape, "f8", "F").strides
    for perm in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]:
        ours = pool.allocate(shape, "f8", strides_perm=perm)
        assert ours.shape == shape
        assert ours.transpose(perm).flags.c_contiguous
        small = pool.allocate((3, 4, 5), "f8", strides_perm=perm)
        assert small.shape == (3, 4, 5)
        assert small.transpose(perm).flags.c_contiguous
    with pytest.raises(ValueError, match="axes don't match array"):
        pool.allocate(shape, "f8", strides_perm=(0, 0, 1))


def test_small_and_object_arrays_are_numpys_own(pool: MemoryPool) -> None:
    assert pool.allocate((10,), "f8").base is None
    assert pool.allocate((0, BIG), "f8").shape == (0, BIG)
    objects = pool.allocate((BIG,), object)
    assert objects.base is None
    assert objects[5] is None
    assert pool.stats().allocations == 0


def test_memory_is_used_again_when_the_array_dies(pool: MemoryPool) -> None:
    first = pool.allocate((BIG,), "f8")
    where = address(first)
    second = pool.allocate((BIG,), "f8")
    assert address(second) != where
    del first
    third = pool.allocate((BIG // 2,), "c16")  # the same size class, another dtype
    assert address(third) == where
    record = pool.stats()
    assert (record.allocations, record.reuses) == (3, 1)
    assert record.bytes_idle == 0
    assert record.bytes_in_use == record.bytes_peak >= 2 * 8 * BIG
    del second, third
    assert pool.stats().bytes_in_use == 0


@pytest.mark.parametrize(
    "derive",
    [
        lambda a: a[5:],
        lambda a: a.reshape(-1, 2).T[1:, ::3],
        lambda a: np.asarray(a).view("u1")[1:],
        lambda a: memoryview(a),
        lambda a: np.frombuffer(a, "i8"),
        lambda a: np.lib.stride_tricks.as_strided(a, (3,), (8,)),
        lambda a: a.ctypes,
        lambda a: a.base,
        lambda a: a.base[3:] if isinstance(a.base, np.ndarray) else a.base,  # a capsule in the compiled form
        lambda a: a.base.view(np.ndarray) if isinstance(a.base, np.ndarray) else a.base,
        lambda a: np.from_dlpack(a),
        lambda a: a.view(np.recarray),
        lambda a: [a],
    ],
)
def test_every_view_and_export_keeps_the_memory(pool: MemoryPool, derive: Any) -> None:
    array = pool.allocate((BIG,), "f8")
    where = address(array)
    derived = derive(array)
    del array
    gc.collect()
    other = pool.allocate((BIG,), "f8")
    assert address(other) != where
    del derived
    gc.collect()
    assert address(pool.allocate((BIG,), "f8")) == where


@pytest.mark.parametrize("shape", [(-1024, -1024), (BIG,) + (1,) * 71])
def test_memory_goes_back_where_numpy_refuses_the_shape(pool: MemoryPool, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"negative dimensions|maximum supported dimension") as expected:
        np.empty(shape)
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        pool.allocate(shape, "f8")
    assert pool.stats().bytes_in_use == 0


def test_only_pooled_memory_has_a_lease(pool: MemoryPool) -> None:
    """What other libraries hand over has a capsule for its base, too."""
    array = pool.allocate((BIG,), "f8")
    foreign = np.from_dlpack(np.ones(BIG))
    assert pool_module.is_lease(array.base)
    for other in (foreign.base, np.ones(BIG)[1:].base, array[1:].base, None):
        assert not pool_module.is_lease(other)
    del other
    assert owns_alone(array)
    assert not owns_alone(foreign)


def test_a_cycle_is_freed_by_the_collector(pool: MemoryPool) -> None:
    cycle: list[Any] = [pool.allocate((BIG,), "f8")]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.stats().bytes_in_use == 0


def test_waste_is_bounded() -> None:
    for nbytes in [65536, 65537, 100_000, (1 << 20) + 1, (9 << 20) - 3, (1 << 27) + 1, 10**9 + 7]:
        size = size_class(nbytes)
        assert nbytes <= size <= nbytes * 1.125
        assert size_class(size) == size


def test_a_smaller_array_takes_a_part_of_the_idle_memory_that_is_least_too_large(pool: MemoryPool) -> None:
    large, larger = pool.allocate((8 << 20,), "u1"), pool.allocate((19 << 20,), "u1")
    where, end = address(larger), address(larger) + larger.nbytes
    del large, larger
    parts = [pool.allocate((9 << 20,), "u1") for _ in range(2)]
    assert all(where - (1 << 16) <= address(part) < end for part in parts)
    assert abs(address(parts[0]) - address(parts[1])) >= 9 << 20
    assert pool.stats().reuses == 2
    del parts[0]
    gc.collect()
    other = pool.allocate((9 << 20,), "u1")
    assert pool.stats().reuses == 3
    del parts, other
    assert address(pool.allocate((19 << 20,), "u1")) == where, "its parts are one again"
    assert pool.stats().reuses == 4


def test_a_small_array_leaves_a_large_block_whole(pool: MemoryPool) -> None:
    large = pool.allocate((32 << 20,), "u1")
    where = address(large)
    del large
    small = pool.allocate((1 << 20,), "u1")
    assert pool.stats().reuses == 0
    assert address(pool.allocate((32 << 20,), "u1")) == where
    del small


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1)])
def test_parts_become_one_in_whatever_order_they_die(pool: MemoryPool, order: tuple[int, ...]) -> None:
    whole = pool.allocate((17 << 20,), "u1")
    where = address(whole)
    del whole
    parts: list[Any] = [pool.allocate((4 << 20,), "u1") for _ in range(4)]
    for mark, part in enumerate(parts):
        part[:] = mark
    del part
    for place in order:
        assert (parts[place] == place).all(), "nobody else wrote there"
        parts[place] = None
        assert pool.stats().bytes_in_use == 4 * sum([part is not None for part in parts]) << 20
    again = pool.allocate((17 << 20,), "u1")
    assert address(again) == where
    assert pool.stats().bytes_idle == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_an_idle_part_of_a_region_in_use_is_given_back_to_the_system(pool: MemoryPool) -> None:
    whole = pool.allocate((40 << 20,), "u1")
    whole[:] = 1
    del whole
    part = pool.allocate((4 << 20,), "u1")
    part[:] = 7
    used = resident()
    pool.trim()
    assert pool.stats().bytes_idle == 0
    assert resident() < used - (30 << 20)
    assert (part == 7).all()
    rest = pool.allocate((30 << 20,), "u1")  # the addresses serve again, with other pages
    rest[:] = 9
    assert (part == 7).all()
    del part, rest
    assert pool.stats().bytes_in_use == 0


def test_arrays_of_changing_sizes_hold_little_more_than_were_in_use_at_once() -> None:
    pool = MemoryPool(max_idle=1 << 30)
    for turn in range(40):
        arrays = [pool.allocate(((60 - turn) << 20,), "u1") for _ in range(2)]
        held = pool.stats()
        assert held.bytes_in_use + held.bytes_idle <= held.bytes_peak + pool_module._SLACK
        del arrays
    for turn in range(20, 60):
        arrays = [pool.allocate((turn << 20,), "u1") for _ in range(2)]
        held = pool.stats()
        assert held.bytes_in_use + held.bytes_idle <= held.bytes_peak + pool_module._SLACK
        del arrays
    assert pool.stats().bytes_peak <= 128 << 20


def test_a_request_that_nobody_can_grant_leaves_the_bound(pool: MemoryPool) -> None:
    with pytest.raises((MemoryError, ValueError)):
        pool.allocate((1 << 50,), "f8")
    assert pool.stats().bytes_peak == 0
    kept = pool.allocate((1 << 20,), "u1")
    assert pool.stats().bytes_peak == kept.nbytes


def test_idle_bytes_are_bounded_and_the_oldest_go_first() -> None:
    pool = MemoryPool(max_idle=3 << 20)
    arrays = [pool.allocate((1 << 20,), "u1") for _ in range(5)]
    where = [address(array) for array in arrays]
    while arrays:
        del arrays[0]
    record = pool.stats()
    assert record.bytes_idle == 3 << 20
    kept = [pool.allocate((1 << 20,), "u1") for _ in range(3)]
    assert {address(array) for array in kept} == set(where[2:])
    kept.clear()
    pool.trim(1 << 20)
    assert pool.stats().bytes_idle == 1 << 20
    pool.trim()
    assert pool.stats().bytes_idle == 0
    pool.max_idle = 0
    pool.allocate((1 << 20,), "u1")
    assert pool.stats().bytes_idle == 0


@pytest.mark.parametrize("shape", [(1 << 58,), (1 << 40, 1 << 40), (-5, BIG), (-BIG, -BIG), (1 << 45,)])
def test_errors_are_numpys_and_idle_memory_goes_first(pool: MemoryPool, shape: tuple[int, ...]) -> None:
    try:
        np.empty(shape, "f8")
    except (MemoryError, ValueError) as error:
        expected: Exception = error
    else:
        pytest.skip("this system grants the request")
    pool.allocate((BIG,), "f8")
    with pytest.raises(type(expected)) as caught:
        pool.allocate(shape, "f8")
    assert str(caught.value) == str(expected)
    del caught
    gc.collect()
    assert pool.stats().bytes_in_use == 0


def test_threads_get_disjoint_memory(pool: MemoryPool) -> None:
    wrong: list[int] = []

    def work(mark: int) -> None:
        for turn in range(200):
            size = 700_000 + 10_000 * (turn % 3)
            array = pool.allocate((size,), "u1")
            array[:] = mark
            second = pool.allocate((size,), "u1")
            second[:] = mark + 100
            if not (array == mark).all():
                wrong.append(turn)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    record = pool.stats()
    assert record.bytes_in_use == 0
    assert record.reuses > 0


def test_finalisers_during_allocation_do_not_deadlock(pool: MemoryPool) -> None:
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            cycle: list[Any] = [pool.allocate((70_000,), "u1")]
            cycle.append(cycle)
    finally:
        gc.set_threshold(*before)
    del cycle
    gc.collect()
    assert pool.stats().bytes_in_use == 0


@pytest.mark.skipif(not isinstance(MemoryPool.trim, FunctionType), reason="compiled, nobody can have its lock")
def test_a_handler_that_interrupts_the_pool_does_not_wait_for_it(pool: MemoryPool) -> None:
    """Nor what is finalised there: both run in the thread that has the lock, between two of its instructions."""
    made: list[Any] = []

    def handle() -> None:
        first = pool.allocate((BIG,), "u1")
        with pool._lock:
            made.append(pool.allocate((BIG,), "u1"))
            made.append(pool.stats())
            del first
            for _ in range(12):
                kept = pool.allocate((BIG,), "u1")
                del kept
            pool.trim()
            pool.max_idle = 1 << 20

    thread = threading.Thread(target=handle, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    array, record = made
    assert not pool_module.is_lease(array.base)
    assert (record.allocations, record.bytes_in_use) == (1, BIG)
    assert pool.stats().bytes_in_use == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_its_own_memory(pool: MemoryPool) -> None:
    array = pool.allocate((BIG,), "u1")
    array[:] = 1
    child = os.fork()
    if child == 0:
        array[:] = 2
        other = pool_module.allocate((BIG,), "u1")
        other[:] = 3
        os._exit(0 if (array == 2).all() else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert (array == 1).all()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_trim_gives_memory_back_to_the_system(pool: MemoryPool) -> None:
    array = pool.allocate((48 << 20,), "u1")
    array[:] = 1
    used = resident()
    del array
    assert resident() > used - (8 << 20)
    pool.trim()
    assert resident() < used - (32 << 20)
