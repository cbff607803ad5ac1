"""NumPy's arrays begin at cache lines from 2 KiB on, and are NumPy's in all else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import lazyarray
from lazyarray.native import COMPILED
from lazyarray.native.placement import place_at_lines
from lazyarray.runtime import heap

HANDLER = np.empty(1000)
multiarray: Any = sys.modules["numpy._core.multiarray"]
PLACED = bool(COMPILED) and os.environ.get("LAZYARRAY_ALIGN") != "0"
needs_placing = pytest.mark.skipif(not PLACED, reason="the modules run as Python, or LAZYARRAY_ALIGN=0")
LENGTHS = [0, 1, 100, 255, 256, 257, 1000, 4097, 1 << 14, 1 << 19, (1 << 19) + 1, 1 << 21]


@needs_placing
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("make", [np.empty, np.zeros, np.ones, np.arange, lambda n: np.arange(float(n)) * 2.0])
def test_arrays_of_2_kib_and_more_begin_at_lines(make: Any, length: int) -> None:
    array = make(length)
    assert array.flags.owndata
    if array.nbytes >= 2048:
        assert array.ctypes.data % 64 == 0


@needs_placing
def test_zeros_are_zeros_where_memory_comes_again() -> None:
    for length in LENGTHS * 3:
        array = np.zeros(length)
        assert not array.any()
        array[...] = 1.0


@pytest.mark.parametrize("before", LENGTHS)
@pytest.mark.parametrize("after", LENGTHS)
def test_resized_arrays_keep_their_elements(before: int, after: int) -> None:
    array = np.arange(float(before))
    array.resize(after, refcheck=False)
    kept = min(before, after)
    np.testing.assert_array_equal(array[:kept], np.arange(float(kept)))
    assert not array[kept:].any()
    again = array.copy()
    array.resize(before, refcheck=False)
    np.testing.assert_array_equal(array[:kept], again[:kept])


def test_memory_that_numpy_cuts_is_given_back() -> None:
    text = " ".join(map(str, range(5000)))
    for _ in range(50):
        assert np.fromstring(text, sep=" ").size == 5000
        assert np.fromiter(range(3000), float).size == 3000
        assert np.fromiter((k for k in range(300)), float, count=300).size == 300
        assert np.loadtxt([text]).size == 5000
        array = np.arange(4096).reshape(64, 64)
        assert array.view(np.uint8).size == 8 * 4096
        assert np.nonzero(array)[0].size == 4095


def test_threads_have_memory_from_whom_they_like() -> None:
    """A new thread's context has NumPy's own allocator; arrays go back where they came from."""
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.extend(np.arange(float(n)) for n in LENGTHS))
    thread.start()
    thread.join()
    for array, length in zip(made, LENGTHS, strict=True):
        np.testing.assert_array_equal(array, np.arange(float(length)))
    handed = [np.arange(float(n)) for n in LENGTHS]
    thread = threading.Thread(target=handed.clear)
    thread.start()
    thread.join()
    assert not handed


def test_what_arrays_take_is_traced() -> None:
    tracemalloc.start()
    try:
        array = np.empty(100_000)
        assert array.nbytes <= tracemalloc.get_traced_memory()[0] <= array.nbytes + 100_000
    finally:
        tracemalloc.stop()


def test_an_allocator_of_somebody_elses_stays() -> None:
    assert not place_at_lines(False)
    assert multiarray.get_handler_name() == multiarray.get_handler_name(HANDLER)


@needs_placing
def test_the_environment_leaves_memory_where_it_is() -> None:
    program = "import lazyarray, numpy; print(numpy._core.multiarray.get_handler_name(numpy.empty(1000)))"
    for value, name in (("0", "default_allocator"), ("1", "lazyarray_at_lines")):
        environment = {**os.environ, "LAZYARRAY_ALIGN": value}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
        )
        assert done.stdout.split() == [name]


def test_large_pages_are_asked_for_as_numpy_does() -> None:
    before = multiarray._set_madvise_hugepage(False)
    try:
        assert not heap._wants_large_pages()
        multiarray._set_madvise_hugepage(True)
        assert heap._wants_large_pages()
        assert multiarray._set_madvise_hugepage(True)
    finally:
        multiarray._set_madvise_hugepage(before)


@needs_placing
def test_lazyarrays_own_small_arrays_lie_there_too() -> None:
    x = lazyarray.arange(1000.0)
    assert lazyarray.asarray(x * 2.0 + 1.0).ctypes.data % 64 == 0
