"""Owns the backend protocol and finds backends: lazyarray names none, entry points and environment do."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Protocol

import numpy as np

from lazyarray.config import config
from lazyarray.errors import BackendError
from lazyarray.schedule.kernel import Binding, Kernel


class Program(Protocol):
    """A kernel compiled for one device."""

    @property
    def source(self) -> str:
        """The emitted code, for reading."""
        ...

    def launch(self, binding: Binding) -> None:
        """Runs the kernel once; returns when its stores are visible to the host."""
        ...


class Backend(Protocol):
    """What turns kernel records into programs, and holds memory."""

    name: str

    def compile(self, kernel: Kernel) -> Program:
        """The program of `kernel`, compiled, or found in memory or on disk."""
        ...

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        """A ufunc that gives small arrays the bits that compiled kernels give; None where NumPy's own does."""
        ...


class Interpreter:
    """The backend called "numpy": plans are not made, `runtime/interpret.py` evaluates expressions directly."""

    name = "numpy"

    def compile(self, kernel: Kernel) -> Program:
        raise BackendError("the NumPy interpreter evaluates expressions, it compiles no kernels")

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        return None


@lru_cache(maxsize=8)
def load(name: str) -> Backend:
    """The backend called `name`, from the entry points of the group "lazyarray.backends"."""
    if name == "numpy":
        return Interpreter()
    found = [point for point in entry_points(group="lazyarray.backends") if point.name == name]
    if not found:
        known = sorted({point.name for point in entry_points(group="lazyarray.backends")} | {"numpy"})
        raise BackendError(
            f"no backend called {name!r} is installed; known: {', '.join(known)}. "
            "Set LAZYARRAY_BACKEND to one of them, or install the package that provides it."
        )
    factory: Any = found[0].load()
    backend: Backend = factory()
    return backend


def current() -> Backend:
    """The backend that evaluation uses now (`config.backend`)."""
    return load(config.backend)
