"""PyTorch and JAX share memory with lazy arrays through DLPack, both ways."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers, pending, run_python

values = numbers(64, 80)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_numpy_shares_the_memory() -> None:
    array = pending(values)
    found = numpy.from_dlpack(array)
    found[0, 0] = 5.0
    assert array[0, 0] == 5.0
    array[0, 1] = 6.0
    assert found[0, 1] == 6.0
    assert lazyarray.from_dlpack(found)[0, 1] == 6.0
    with pytest.raises(BufferError):
        numpy.from_dlpack(lazyarray.array([1, 2], dtype=">i4"))


def test_torch_shares_the_memory_both_ways() -> None:
    torch = pytest.importorskip("torch")
    array = pending(values)
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == address(array)
    tensor[0, 0] = 5.0
    assert array[0, 0] == 5.0
    array[1] = 7.0
    assert float(tensor[1].sum()) == 560.0
    back = lazyarray.from_dlpack(tensor)
    assert type(back) is lazyarray.ndarray
    assert address(back) == tensor.data_ptr()
    assert_equal(back * 2, numpy.asarray(array) * 2)


def test_functions_of_torch_take_lazy_arrays() -> None:
    torch = pytest.importorskip("torch")
    assert_equal(torch.as_tensor(pending(values)).numpy(), values)
    assert_equal(torch.tensor(pending(values)).numpy(), values)
    found = torch.from_dlpack(pending(values)) @ torch.as_tensor(pending(values)).T
    assert_equal(found.numpy(), values @ values.T, 1e-9)
    assert_equal(lazyarray.asarray(torch.arange(5.0)) + 1, numpy.arange(1, 6, dtype="f4"))
    assert_equal(lazyarray.asarray(torch.ones(3, 2)), numpy.ones((3, 2), "f4"))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_dtypes_and_strides_survive(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    kept = (abs(values) * 10).astype("i1").astype(dtype)
    for view in (lambda a: a, lambda a: a[::2, 1:], lambda a: a.T):
        array = view(pending(kept))
        tensor = torch.from_dlpack(array)
        assert tuple(tensor.shape) == array.shape
        assert_equal(tensor.numpy(), view(kept))
        assert_equal(lazyarray.from_dlpack(tensor), view(kept))


JAX = """
import jax, numpy, lazyarray
from tests.ecosystem.arrays import assert_equal, numbers, pending

kept = numbers(64, 80).astype("f4")
array = jax.dlpack.from_dlpack(pending(kept))
assert_equal(numpy.asarray(array), kept)
found = lazyarray.from_dlpack(array)
assert found.__array_interface__["data"][0] == array.unsafe_buffer_pointer()
assert_equal(found + 1, kept + 1)
assert not found.flags.writeable

base = lazyarray.zeros(4096 + 64, dtype="f4") + 1
start = -base.__array_interface__["data"][0] // 4 % 16  # JAX shares memory that begins on a boundary of 64 bytes
aligned = base[start : start + 4096]
shared = jax.dlpack.from_dlpack(aligned, copy=False)
assert shared.unsafe_buffer_pointer() == aligned.__array_interface__["data"][0]

assert_equal(numpy.asarray(jax.numpy.asarray(pending(kept))), kept)
assert_equal(numpy.asarray(jax.jit(lambda a: a + 1)(jax.numpy.asarray(pending(kept)))), kept + 1)
assert_equal(lazyarray.asarray(jax.numpy.arange(4.0)) * 2, numpy.arange(4, dtype="f4") * 2)
"""


@pytest.mark.skipif(find_spec("jax") is None, reason="needs JAX")
def test_jax_shares_the_memory_both_ways_and_takes_lazy_arrays() -> None:
    """In a process of its own: JAX refuses forks from then on."""
    run_python(JAX, JAX_PLATFORMS="cpu")
