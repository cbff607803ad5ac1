"""On a GPU: memory shared with CuPy and PyTorch both ways, streams, several GPUs. Needs LAZYARRAY_TEST_DEVICE=cuda."""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest

if os.environ.get("LAZYARRAY_TEST_DEVICE") != "cuda":
    pytest.skip("needs a GPU, and LAZYARRAY_TEST_DEVICE=cuda", allow_module_level=True)

import cupy

import lazyarray as np

DATA = numpy.random.default_rng(0).random((300, 400))
DTYPES = ("?", "i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")


def address(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_arrays_come_and_go_without_a_copy(dtype: str) -> None:
    there = cupy.asarray(DATA * 100).astype(dtype)
    for taken in (np.asarray(there), np.from_dlpack(there)):
        assert taken.device == "cuda:0"
        assert address(taken) == there.data.ptr
        back = cupy.asarray(taken)
        assert back.data.ptr == there.data.ptr
        numpy.testing.assert_array_equal(back.get(), there.get())
    view = np.asarray(there)[::2, 5:50]
    seen = cupy.from_dlpack(view)
    assert seen.data.ptr == there.data.ptr + 5 * there.itemsize
    numpy.testing.assert_array_equal(seen.get(), there.get()[::2, 5:50])


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_tensors_come_and_go_without_a_copy(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_dlpack(cupy.asarray(DATA * 100).astype(dtype))
    taken = np.from_dlpack(tensor)
    assert address(taken) == tensor.data_ptr()
    assert torch.from_dlpack(taken).data_ptr() == tensor.data_ptr()
    if dtype in ("f4", "f8"):
        made = torch.from_dlpack(np.evaluate(taken * 2 + 1))
        torch.testing.assert_close(made, tensor * 2 + 1)


SPIN = r"""extern "C" __global__ void spin(long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) { }
}"""


def test_copies_travel_while_kernels_run_and_later_kernels_wait_for_them() -> None:
    host = numpy.arange(40 << 20, dtype=numpy.float64)  # more than is staged at once
    landed = np.asarray(host, device="cuda")
    np.evaluate(landed + 1.0)
    del landed  # there is memory that a copy may land in, and a kernel
    cupy.cuda.Device().synchronize()
    cupy.RawKernel(SPIN, "spin")((1,), (1,), (numpy.int64(4_000_000_000),))  # two seconds
    running = cupy.cuda.Event()
    running.record()
    there = np.asarray(host, device="cuda")
    assert not running.done
    total = np.evaluate(there + 1.0)
    assert not running.done
    numpy.testing.assert_array_equal(numpy.asarray(total), host + 1)


def test_memory_of_copies_is_used_again_in_order() -> None:
    hosts = [numpy.full(1 << 19, k, numpy.float32) for k in range(40)]
    found = []
    for host in hosts:
        there = np.asarray(host, device="cuda")
        for _ in range(5):
            there = np.evaluate(there * 1.0)
        found.append(np.evaluate(there + 1.0))
    for k, result in enumerate(found):
        numpy.testing.assert_array_equal(numpy.asarray(result), hosts[k] + 1)


def test_what_another_stream_is_writing_is_waited_for() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        there = cupy.zeros(1 << 24)
        for _ in range(50):
            there += 1
        taken = np.from_dlpack(there)
    assert float(taken.min()) == 50
    made = np.evaluate(taken * 2)
    with stream:
        assert float(cupy.from_dlpack(made).max()) == 100


def test_results_made_here_are_right_on_torchs_stream() -> None:
    torch = pytest.importorskip("torch")
    x = np.asarray(numpy.ones(1 << 24), device="cuda")
    side = torch.cuda.Stream()
    for k in range(20):
        y = np.evaluate(np.sin(x) * 0 + k)
        with torch.cuda.stream(side):
            assert float(torch.from_dlpack(y).max()) == k


several = pytest.mark.skipif(cupy.cuda.runtime.getDeviceCount() < 2, reason="needs two GPUs")


@several
def test_arrays_live_on_the_gpu_that_is_named_and_meet_only_when_moved() -> None:
    x, y = np.asarray(DATA, device="cuda:0"), np.asarray(DATA, device="cuda:1")
    assert (x.device, y.device, (y * 2).device) == ("cuda:0", "cuda:1", "cuda:1")
    with pytest.raises(ValueError, match=r"cuda:0 and cuda:1|cuda:1 and cuda:0"):
        np.evaluate(x + y)
    z = np.evaluate(x + y.to_device("cuda:0"))
    assert z.device == "cuda:0"
    numpy.testing.assert_array_equal(numpy.asarray(z), DATA + DATA)
    with cupy.cuda.Device(1):
        assert cupy.asarray(y).data.ptr == address(y)


@several
def test_programs_of_two_gpus_take_turns() -> None:
    places = ("cuda:0", "cuda:1")
    state = {place: np.asarray(DATA, device=place) for place in places}
    for _ in range(20):
        for place in places:
            x = state[place]
            state[place] = np.evaluate(np.sort(x @ (x.T * 0.001), axis=0)[:, :300] @ x * 0.01 + x.mean(axis=0))
    first, second = [numpy.asarray(state[place]) for place in places]
    numpy.testing.assert_array_equal(first, second)
    with np.device("cuda:1"):
        assert np.evaluate(np.array(DATA) * 3).device == "cuda:1"


@several
def test_a_tensor_of_another_gpu_stays_there() -> None:
    with cupy.cuda.Device(1):
        there = cupy.asarray(DATA)
    for taken in (np.asarray(there), np.from_dlpack(there)):
        assert taken.device == "cuda:1"
        numpy.testing.assert_array_equal(numpy.asarray(taken + 1), DATA + 1)
