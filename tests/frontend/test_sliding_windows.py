"""Holds that windows over an array are views of it that are recorded, and behave as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray

DRAW = numpy.random.default_rng(8)
X = DRAW.standard_normal(30_000) * 10.0 ** DRAW.integers(-9, 9, 30_000)
M = DRAW.standard_normal((150, 170))


def windows(np: Any, *args: Any, **options: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(*args, **options)


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sums": lambda np, x, m: windows(np, x, 3).sum(axis=1),
    "means": lambda np, x, m: windows(np, x, 50).mean(axis=-1),
    "deviations": lambda np, x, m: windows(np, x, 20).std(axis=1),
    "extremes": lambda np, x, m: windows(np, x, 5).max(axis=1) - windows(np, x, 5).min(axis=1),
    "places of extremes": lambda np, x, m: windows(np, x, 5).argmax(axis=1),
    "sums over the first axis": lambda np, x, m: windows(np, x, 7).sum(axis=0),
    "sums of all": lambda np, x, m: windows(np, x.astype(int) % 7, 4).sum(),
    "running sums": lambda np, x, m: np.cumsum(windows(np, x, 4), axis=1),
    "every eighth": lambda np, x, m: windows(np, x, 8)[::8].sum(axis=1),
    "differences": lambda np, x, m: windows(np, x, 3)[:, 2] - windows(np, x, 3)[:, 0],
    "a copy": lambda np, x, m: windows(np, x, 3).copy(),
    "turned": lambda np, x, m: windows(np, x, 3).T * 2.0,
    "flattened": lambda np, x, m: windows(np, x, 3).reshape(-1),
    "picked": lambda np, x, m: windows(np, x, 3)[np.array([5, 1, -1])],
    "masked": lambda np, x, m: windows(np, x, 3)[windows(np, x, 3) > 0],
    "squares": lambda np, x, m: windows(np, m, (3, 3)).sum(axis=(2, 3)),
    "a convolution": lambda np, x, m: (windows(np, m, (3, 3)) * m[:3, :3]).sum(axis=(-2, -1)),
    "along an axis": lambda np, x, m: windows(np, m, 4, axis=0).mean(axis=-1),
    "along axes": lambda np, x, m: windows(np, m, (2, 3), axis=(1, 0)).sum(axis=-1),
    "twice along an axis": lambda np, x, m: windows(np, m, (2, 3), axis=(0, 0)).sum(axis=-1),
    "of a view": lambda np, x, m: windows(np, x[100:9000:2], 3).sum(axis=1),
    "of what is pending": lambda np, x, m: windows(np, np.abs(x) + 1.0, 3).sum(axis=1),
    "of windows": lambda np, x, m: windows(np, windows(np, x, 3), 2, axis=0).sum(axis=(1, 2)),
    "all of it": lambda np, x, m: windows(np, x, x.size).sum(axis=1),
    "no window": lambda np, x, m: windows(np, x, 0).sum(axis=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_made_of_windows_is_numpys(name: str) -> None:
    expected = CALLS[name](numpy, X, M)
    found = numpy.asarray(CALLS[name](lazyarray, lazyarray.array(X), lazyarray.array(M)))
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def test_means_of_windows_are_one_kernel() -> None:
    x = lazyarray.array(X)
    with lazyarray.record_runs() as runs:
        lazyarray.evaluate(windows(lazyarray, x, 3).mean(axis=1))
    assert len(runs.kernels) == 1
    assert not runs.fallbacks
    assert runs.kernels[0].bytes_read < 2 * X.nbytes


@pytest.mark.parametrize("size", [10, X.size])
def test_windows_are_views_that_nobody_writes(size: int) -> None:
    x = lazyarray.array(X[:size])
    seen = windows(lazyarray, x, 3)
    theirs = windows(numpy, X[:size], 3)
    assert type(seen) is lazyarray.ndarray
    assert seen.strides == theirs.strides
    assert not seen.flags.writeable
    assert not seen.flags.owndata
    assert lazyarray.shares_memory(seen, x)
    with pytest.raises(ValueError, match="read-only"):
        seen[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        seen += 1.0
    x[4] = 7.0
    assert seen[2:5].tolist()[0][2] == 7.0
    assert (seen[:, 1] == 7.0).sum() == 1


def test_windows_that_are_written_show_memory() -> None:
    x = lazyarray.array(X)
    seen = windows(lazyarray, x, 3, writeable=True)
    seen[5, 1] = 3.0
    assert x[6] == 3.0
    assert seen[6, 0] == seen[4, 2] == 3.0


def test_an_array_may_be_written_with_what_its_windows_make() -> None:
    def smooth(np: Any) -> Any:
        x = np.array(X)
        for _ in range(3):
            x[1:-1] = windows(np, x, 3).mean(axis=1)
            x[2:] += windows(np, x, 3).max(axis=1)
        return x

    assert numpy.asarray(smooth(lazyarray)).tobytes() == smooth(numpy).tobytes()


def test_windows_keep_what_was_there_when_they_were_asked() -> None:
    x = lazyarray.array(X)
    sums = windows(lazyarray, x, 3).sum(axis=1)
    x[:] = 0.0
    assert numpy.asarray(sums).tobytes() == windows(numpy, X, 3).sum(axis=1).tobytes()


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: windows(np, x, -1),
        lambda np, x: windows(np, x, x.size + 1),
        lambda np, x: windows(np, x, (2, 2)),
        lambda np, x: windows(np, x, 2, axis=1),
        lambda np, x: windows(np, x, (2, 2), axis=0),
        lambda np, x: windows(np, x, 2, mode="x"),
        lambda np, x: windows(np, x),
        lambda np, x: windows(np),
    ],
)
def test_errors_are_numpys(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011
        call(numpy, X)
    with pytest.raises(type(expected.value)) as found:
        call(lazyarray, lazyarray.array(X))
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("size", [8, 30_000, 100_000])
@pytest.mark.parametrize("of", ["memory", "what is pending"])
@pytest.mark.parametrize("form", ["windows", "a part", "turned", "their view"])
@pytest.mark.parametrize("way", ["setflags", "flags"])
def test_windows_are_never_made_writeable(size: int, of: str, form: str, way: str) -> None:
    """What lends them its memory is no array to NumPy, however writeable it is."""
    for np in (numpy, lazyarray):
        x: Any = np.arange(float(size))
        if of == "what is pending":
            x = x + 1.0
        made = windows(np, x, 2)
        made = {"windows": made, "a part": made[1:], "turned": made.T, "their view": made.view()}[form]
        with pytest.raises(ValueError, match=r"^cannot set WRITEABLE flag to True of this array$"):
            make_writeable(made, way)
        assert not made.flags.writeable
        assert x.flags.writeable
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            made[0, 0] = 5.0


def make_writeable(array: Any, way: str) -> None:
    if way == "setflags":
        array.setflags(write=True)
    else:
        array.flags.writeable = True
