"""Lazy arrays are copied, pickled, and sent to threads and processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers, pending

values = numbers(60, 100)


def work(array: Any) -> Any:
    """What a worker does; at the top of a module, so that a process that was spawned finds it."""
    assert type(array) is lazyarray.ndarray
    return lazyarray.sqrt(abs(array)) @ array.T


def expected() -> Any:
    return numpy.sqrt(abs(values)) @ values.T


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_hold_values_and_come_back_as_ours(protocol: int) -> None:
    for array in (pending(values), pending(values).T, pending(values)[::2, ::-1], pending(values).sum()):
        again = pickle.loads(pickle.dumps(array, protocol))
        assert type(again) is (lazyarray.ndarray if array.ndim else numpy.float64)
        assert_equal(again, numpy.asarray(array))


def test_pickles_out_of_band_share_memory() -> None:
    buffers: list[Any] = []
    array = pending(values)
    stream = pickle.dumps(array, 5, buffer_callback=buffers.append)
    assert len(stream) < 1000
    assert_equal(pickle.loads(stream, buffers=buffers), values)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_copies_are_apart(duplicate: Any) -> None:
    array = pending(values)
    other = duplicate(array)
    other[0] = 0
    assert_equal(array, values)
    both = copy.deepcopy({"a": array, "b": [array]})
    assert both["a"] is both["b"][0]
    assert both["a"] is not array


@pytest.mark.parametrize(
    "method", [m for m in ("fork", "spawn", "forkserver") if m in multiprocessing.get_all_start_methods()]
)
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_processes_take_and_return_lazy_arrays(method: str) -> None:
    assert_equal(work(pending(values)), expected(), 1e-9)  # the pool of threads runs before a fork
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as workers:
        found = list(workers.map(work, [pending(values), pending(values * 1)]))
    for item in found:
        assert type(item) is lazyarray.ndarray
        assert_equal(item, expected(), 1e-9)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_pool_of_processes_shares_what_was_pending_before_the_fork() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.starmap(lazyarray.add, [(pending(values), 1.0), (pending(values), pending(values))])
    assert_equal(found, [values + 1, values + values])


def test_threads_compute_with_one_array_at_once() -> None:
    array = pending(values)
    with ThreadPoolExecutor(8) as workers:
        for item in workers.map(work, [array] * 32):
            assert_equal(item, expected(), 1e-9)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_joblib(backend: str) -> None:
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(work)(pending(values)) for _ in range(3))
    for item in found:
        assert_equal(item, expected(), 1e-9)


def test_joblib_remembers_calls_by_value(tmp_path: Any) -> None:
    joblib = pytest.importorskip("joblib")
    calls = []

    def function(array: Any) -> Any:
        calls.append(1)
        return array * 2

    cached = joblib.Memory(tmp_path, verbose=0).cache(function)
    for _ in range(2):
        assert_equal(cached(pending(values)), values * 2)
    assert len(calls) == 1
    joblib.dump({"a": pending(values)}, tmp_path / "kept")
    assert_equal(joblib.load(tmp_path / "kept")["a"], values)
    assert joblib.hash(pending(values)) == joblib.hash(pending(values)) != joblib.hash(pending(values + 1))
