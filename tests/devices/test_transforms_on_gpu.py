"""On a GPU: transforms of every kind that plans call give NumPy's numbers, step by step and from CUDA graphs."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy
import pytest

if os.environ.get("LAZYARRAY_TEST_DEVICE") != "cuda":
    pytest.skip("needs a GPU, and LAZYARRAY_TEST_DEVICE=cuda", allow_module_level=True)

import lazyarray as np
from lazyarray.frontend.library_nodes import TRANSFORMS

RANDOM = numpy.random.default_rng(7)
REAL = RANDOM.standard_normal((9, 48, 70))
COMPLEX = REAL + 1j * RANDOM.standard_normal(REAL.shape)  # no line of it is that of real numbers
WITHIN = {"f": 2e-6, "d": 1e-13}


def compare(ours: Any, theirs: Any) -> None:
    got = numpy.asarray(ours)
    assert (got.shape, got.dtype) == (theirs.shape, theirs.dtype)
    kind = theirs.real.dtype.char
    numpy.testing.assert_allclose(got, theirs, 0, WITHIN[kind] * float(numpy.abs(theirs).max()))


def given_to(name: str, code: str) -> Any:
    if code[0] != "c":
        return (REAL * 50).astype(code)
    return None if name.startswith("fft.rfft") else COMPLEX.astype(code)


@pytest.mark.parametrize("code", ["f4", "f8", "c8", "c16", "i2", "?"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_give_numpys_numbers(name: str, code: str) -> None:
    data = given_to(name, code)
    if data is None:
        return
    ours, theirs = getattr(np.fft, name[4:]), getattr(numpy.fft, name[4:])
    with np.device("cuda"), np.record_runs() as runs:
        for norm in (None, "ortho", "forward"):
            x = np.asarray(data, device="cuda")
            for view in (
                lambda a: a,
                lambda a: a[1:, 3:],
                lambda a: a[:, ::3, 1::2],
                lambda a: a[..., 0],
                lambda a: a[0],
            ):
                compare(ours(view(x), norm=norm), theirs(view(data), norm=norm))
                compare(ours(view(x) * 2, norm=norm), theirs(view(data) * 2, norm=norm))
    assert runs.fallbacks == {}


def test_numbers_below_the_smallest_normal_one_stay() -> None:
    data = numpy.zeros(8, numpy.complex64)
    data[0] = 3e-38 + 1e-38j
    x = np.asarray(data, device="cuda")
    numpy.testing.assert_array_equal(numpy.asarray(np.fft.ifft(x)), numpy.fft.ifft(data))
    numpy.testing.assert_array_equal(numpy.asarray(np.fft.irfft(x)), numpy.fft.irfft(data))


def test_odd_lengths_and_those_of_other_axes() -> None:
    x = np.asarray(COMPLEX, device="cuda")
    compare(np.fft.irfft(x, 139), numpy.fft.irfft(COMPLEX, 139))
    compare(np.fft.irfft2(x, s=(48, 139)), numpy.fft.irfft2(COMPLEX, s=(48, 139)))
    compare(np.fft.irfftn(x, s=(9, 48, 138), axes=(0, 1, 2)), numpy.fft.irfftn(COMPLEX, s=(9, 48, 138), axes=(0, 1, 2)))
    compare(np.fft.fft(x, axis=1), numpy.fft.fft(COMPLEX, axis=1))
    compare(np.fft.fft2(x, s=(60, 60)), numpy.fft.fft2(COMPLEX, s=(60, 60)))
    large = RANDOM.standard_normal(3_000_017).astype("f4")
    compare(np.fft.rfft(np.asarray(large, device="cuda")), numpy.fft.rfft(large))


def test_what_is_transformed_back_is_not_written() -> None:
    x = np.evaluate(np.asarray(COMPLEX, device="cuda") * 1)
    np.evaluate(np.fft.irfft2(x), np.fft.ifft(x))
    numpy.testing.assert_array_equal(numpy.asarray(x), COMPLEX)


def turn(w: Any, np: Any, shape: tuple[int, int]) -> Any:
    """A turn of a spectral method."""
    u, v = np.fft.irfft2(w, s=shape), np.fft.irfft2(w[::-1] * 1j, s=shape)
    mixed = np.fft.ifft(np.fft.fft(u * v, norm="ortho")).real
    return w + np.fft.rfft2(mixed) * 1e-3 - w * 1e-2


@pytest.mark.parametrize("shape", [(128, 128), (96, 130), (211, 101)])
def test_loops_of_transforms_give_numpys_numbers_from_graphs(shape: tuple[int, int]) -> None:
    start = numpy.fft.rfft2(RANDOM.standard_normal(shape))
    w = np.evaluate(np.asarray(start, device="cuda") * 1)
    expected, first = start, None
    for _ in range(60):
        w, expected = np.evaluate(turn(w, np, shape)), turn(expected, numpy, shape)
        first = numpy.asarray(w) if first is None else first
    compare(w, expected)
    again = np.evaluate(np.asarray(start, device="cuda") * 1)
    numpy.testing.assert_array_equal(numpy.asarray(np.evaluate(turn(again, np, shape))), first)


def test_threads_have_plans_of_their_own() -> None:
    x = np.evaluate(np.asarray(COMPLEX, device="cuda") * 1)
    wanted, found = numpy.fft.irfft2(numpy.fft.fft2(COMPLEX)[..., :36]), []

    def work() -> None:
        for _ in range(30):
            found.append(numpy.asarray(np.evaluate(np.fft.irfft2(np.fft.fft2(x)[..., :36]))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 120
    for got in found:
        compare(got, wanted)
