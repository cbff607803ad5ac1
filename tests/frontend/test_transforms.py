"""Fourier transforms of large arrays have NumPy's bits, dtypes, errors and warnings, on any number of threads."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.frontend import transforms
from lazyarray.runtime import backend
from lazyarray.runtime.backend import current, workers

SHAPE = (280, 300)


@pytest.fixture(autouse=True)
def shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "LEAST", 1 << 16)


@pytest.fixture(params=["by the backend's workers", "by threads of Python"], autouse=True)
def runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "by threads of Python":
        monkeypatch.setattr(transforms, "run_by_backend", lambda *_: None)
    elif hasattr(transforms, "lines_of"):  # in the compiled form it is C
        pytest.skip("the modules run as Python")
    else:
        current()  # the workers of a backend that is not loaded are not waited for
    found: str = request.param
    return found


def arrays(code: str = "D") -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(SHAPE) + (1j * rng.standard_normal(SHAPE) if code in "FD" else 0)).astype(code)
    assert x.size >= transforms.LEAST
    lazy = la.array(x) + 0
    la.evaluate(lazy)
    return x + 0, lazy


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "options", [{}, {"norm": "ortho"}, {"axis": 0}, {"n": 77}, {"n": 512, "norm": "forward"}], ids=repr
)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name: str, options: dict[str, Any], threads: int) -> None:
    x, lazy = arrays("d" if name in ("rfft", "ihfft") else "D")
    want = getattr(np.fft, name)(x, **options)
    with la.config.set(num_threads=threads):
        got = getattr(la.fft, name)(lazy, **options)
    assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("code", ["f", "d", "F", "D"])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name: str, code: str) -> None:
    x, lazy = arrays(code if name.startswith(("fft", "ifft")) else code.lower() if name[0] == "r" else code.upper())
    want = getattr(np.fft, name)(x)
    with la.config.set(num_threads=3):
        got = getattr(la.fft, name)(lazy)
        turned = getattr(la.fft, name)(lazy.T)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.asarray(got), want)
    np.testing.assert_array_equal(np.asarray(turned), getattr(np.fft, name)(x.T))


@pytest.mark.parametrize("options", [{"axis": 7}, {"n": 0}, {"norm": "none"}, {"n": "3"}], ids=repr)
def test_errors_are_numpys(options: dict[str, Any]) -> None:
    x, lazy = arrays()
    with pytest.raises(Exception) as want:  # noqa: PT011
        np.fft.fft(x, **options)
    with la.config.set(num_threads=2), pytest.raises(type(want.value)) as got:
        la.fft.fft(lazy, **options)
    assert str(got.value) == str(want.value)


def test_what_overflows_warns_once_and_raises_where_asked() -> None:
    x, lazy = (space.full(SHAPE, 1e308) * (1 + 0j) for space in (np, la))
    la.evaluate(lazy)
    with la.config.set(num_threads=2), warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        found = la.fft.fft(lazy)
    with warnings.catch_warnings(record=True) as want:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(np.asarray(found), np.fft.fft(x))
    assert [str(w.message) for w in got] == [str(w.message) for w in want]
    with la.config.set(num_threads=2), np.errstate(all="ignore"):
        assert np.isinf(np.asarray(la.fft.fft(lazy))).any()


@pytest.mark.parametrize("shape", [(40, 50, 60), (3, 5, 7, 800), (2, 60_000), (60_000, 1, 2), (1, 90_000)], ids=str)
@pytest.mark.parametrize("cut", [np.s_[...], np.s_[..., ::-1], np.s_[::-1], np.s_[..., 1:]], ids=str)
def test_lines_of_any_layout(shape: tuple[int, ...], cut: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    lazy = la.array(x)
    with la.config.set(num_threads=3):
        for axis in range(len(shape)):
            for turned in ((lambda a: a), (lambda a: a.T)):
                got = la.fft.fft(turned(lazy[cut]), axis=axis)
                np.testing.assert_array_equal(np.asarray(got), np.fft.fft(turned(x[cut]), axis=axis))


def test_workers_of_the_backend_take_the_lines(runner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if transforms.function_of("fft") is None or runner == "by threads of Python":
        pytest.skip("another runner, or NumPy before 2.0")
    asked: list[int] = []
    current().warm()  # type: ignore[attr-defined]
    share = workers()
    monkeypatch.setattr(current(), "share", lambda *task: asked.append(task[2]) or share(*task), raising=False)
    with la.config.set(num_threads=4, device="cpu"):
        _, lazy = arrays()
        la.fft.fft2(lazy)
    assert asked == [280, 300]


def test_the_lines_are_shared_out(runner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if runner != "by threads of Python":
        pytest.skip("another runner")
    if transforms.function_of("fft") is None:
        pytest.skip("NumPy before 2.0")
    asked: list[int] = []
    made = transforms.python_threads()

    class Counting:
        def submit(self, function: Any, part: int) -> Any:
            asked.append(part)
            return made.submit(function, part)

    monkeypatch.setattr(transforms, "python_threads", Counting)
    with la.config.set(num_threads=4, device="cpu"):
        _, lazy = arrays()
        la.fft.fft2(lazy)
    assert asked == [1, 2, 3] * 2


def test_the_backend_is_loaded_for_what_runs_without_workers_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(backend, "_warming", False, raising=False)
    monkeypatch.setattr(backend, "warm", lambda: warmed.append("warm"))
    monkeypatch.setattr(backend, "_missed", 0, raising=False)
    with la.config.set(compile_at=3):
        for size, expected in ((1000, 0), (1 << 18, 0), (1 << 18, 0), (1000, 0), (1 << 18, 1)):
            backend.miss_workers(size)
            assert len(warmed) == expected
        monkeypatch.setattr(backend, "_missed", 0, raising=False)
        backend.miss_workers(1 << 20)
    assert len(warmed) == 2
