"""Owns `python -m lazyarray doctor`: what is installed, found and working here; with a script, what slows it."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, Final

import numpy

from lazyarray import native
from lazyarray.config import config
from lazyarray.inspect.text import bytes_text, seconds_text
from lazyarray.runtime import backend, device, processors

_PACKAGES: Final = ("lazyarray-numpy", "numpy", "llvmlite")
# Distributions that are needed for something only, and for what; the first installed one of a group counts.
_OPTIONAL: Final = {
    ("triton",): "kernels on NVIDIA GPUs",
    ("cupy", "cupy-cuda12x", "cupy-cuda13x"): "memory and libraries of NVIDIA GPUs",
    ("pygraphviz",): "lazyarray.visualize()",
    ("matplotlib",): "plot() of a profile",
    ("tqdm",): "progress bars",
    ("cython",): "compiling the hot modules again after a change of their source",
}
_LONGEST_TEST: Final = 5.0  # seconds


def diagnose() -> tuple[str, bool]:
    """The report as text, and whether everything that is needed works."""
    lines: list[str] = []
    lines += section("versions", versions())
    lines += section("hot modules", hot_modules())
    lines += section("backends", backends())
    lines += section("devices", devices())
    lines += section("settings", settings())
    lines += section("cache", cache())
    lines += section("self-test", checks := list(self_test()))
    return "\n".join(lines), all(": equal" in line for line in checks)


def section(name: str, rows: Iterator[str] | list[str]) -> list[str]:
    """A heading and its indented lines."""
    return [name, *("  " + row for row in rows)]


def versions() -> Iterator[str]:
    """Python's, the machine's, and those of the packages in use."""
    yield f"Python {platform.python_version()} ({platform.python_implementation()}) on {platform.platform()}"
    for package in _PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package} is not installed"
    for group, use in _OPTIONAL.items():
        yield optional(group, use)


def optional(group: tuple[str, ...], use: str) -> str:
    """Whether a package of the group is installed."""
    for package in group:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            continue
    return f"{group[0]} is not installed (needed for {use})"


def hot_modules() -> Iterator[str]:
    """Whether the modules that run for every operation are compiled, and why not."""
    if native.COMPILED:
        yield f"{len(native.COMPILED)} run compiled, from {native.LIBRARY}"
    else:
        yield f"run as Python, 2 to 4 times slower for each operation: {native.WHY_PYTHON}"
        yield "python -m lazyarray.native.build compiles them (needs Cython, setuptools and a C compiler)"


def devices() -> Iterator[str]:
    """Every kind of device that is declared, and whether one opens."""
    yield f"cpu: {processors.usable()} cores for us"
    for name in sorted({point.name for point in entry_points(group=device.GROUP)}):
        used = " (in use)" if config.device.partition(":")[0] == name else ""
        try:
            found: Any = device.open_device(name)
            about: Callable[[], str] | None = getattr(found, "about", None)
            yield f"{found.name}{used}: {about() if about else 'opens'}"
        except Exception as error:  # drivers and libraries fail in many ways
            yield f"{name}{used} does not open: {type(error).__name__}: {first_line(error)}"


def first_line(error: Exception) -> str:
    """The start of a message, which libraries of devices make long."""
    return str(error).strip().partition("\n")[0]


def backends() -> Iterator[str]:
    """Every backend that is declared, whether it loads, and what it says of itself."""
    names = sorted({point.name for point in entry_points(group=backend.GROUP)} | {"numpy", config.backend})
    for name in names:
        used = " (in use)" if name == config.backend else ""
        try:
            found = backend.load(name)
            about: Callable[[], dict[str, str]] | None = getattr(found, "about", None)
            facts = "; ".join(f"{key} {value}" for key, value in about().items()) if about else "interprets with NumPy"
            yield f"{name}{used}: {facts}"
        except Exception as error:  # whatever keeps a backend from loading is what is to be told
            yield f"{name}{used} does not load: {type(error).__name__}: {first_line(error)}"


def settings() -> Iterator[str]:
    """The settings in force."""
    for name in type(config).__slots__:
        yield f"{name} = {getattr(config, name)!r}"


def cache() -> Iterator[str]:
    """Where kernels are kept, and how much is there."""
    folder = Path(config.cache_dir)
    if not folder.is_dir():
        yield f"{folder} (nothing there yet)"
        return
    count, size = 0, 0
    for name, _, files in os.walk(folder):
        for file in files:
            with contextlib.suppress(OSError):  # another process may have removed it
                size += os.stat(os.path.join(name, file)).st_size
                count += 1
    yield f"{folder}: {count} files, {bytes_text(size)}"
    if not os.access(folder, os.W_OK):
        yield "it cannot be written: every process compiles anew what is not there"


def _programs() -> dict[str, Callable[[Any], Any]]:
    def softmax(np: Any) -> Any:
        x = np.sin(np.arange(200_000.0).reshape(200, 1000))
        e = np.sqrt(abs(x - x.max(axis=1, keepdims=True)))
        return e / e.sum(axis=1, keepdims=True)

    def stencil(np: Any) -> Any:
        u = np.zeros((300, 300))
        u[0] = 1.0
        for _ in range(20):
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u

    def integers(np: Any) -> Any:
        x = np.arange(300_000) * 7919 % 1009
        return np.where(x > 500, x // 3, -x).cumsum()

    def masks(np: Any) -> Any:
        x = np.linspace(-1, 1, 100_001, dtype="f4")
        x[x < 0] *= -2
        return x[x > 0.25].sum() + np.sort(x)[::1000]

    return {f.__name__: f for f in (softmax, stencil, integers, masks)}


def self_test() -> Iterator[str]:
    """Runs small programs here and in NumPy, and compares; stops early on a slow machine."""
    lazyarray = import_module("lazyarray")
    begin = time.perf_counter()
    for name, program in _programs().items():
        if time.perf_counter() - begin > _LONGEST_TEST:
            yield f"{name}: left out, since the programs before took {seconds_text(time.perf_counter() - begin)}"
            continue
        try:
            start = time.perf_counter()
            ours = numpy.asarray(program(lazyarray))
            seconds = time.perf_counter() - start
            equal = numpy.allclose(ours, program(numpy), rtol=1e-6, atol=1e-12)
            yield f"{name}: {'equal' if equal else 'DIFFERS from NumPy'}, {seconds_text(seconds)}"
        except Exception as error:  # a broken installation fails in any way
            yield f"{name}: FAILED: {type(error).__name__}: {error}"
