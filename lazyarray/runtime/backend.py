"""Owns the backend protocol and finds backends: lazyarray names none, entry points and environment do."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from lazyarray.config import config
from lazyarray.errors import BackendError

if TYPE_CHECKING:
    from lazyarray.schedule.kernel import Binding, Kernel

GROUP: Final = "lazyarray.backends"


class Program(Protocol):
    """A kernel compiled for one device."""

    @property
    def source(self) -> str:
        """The emitted code, for reading."""
        ...

    @property
    def blind(self) -> bool:
        """True where `launch` cannot say what was raised: the runtime then asks `watch` at once."""
        ...

    def launch(self, binding: Binding) -> int:
        """Runs the kernel once; returns when its stores are visible to the host.

        The floating-point errors raised, as NumPy's bits (`ir/raises.py`): none missing, there may be too many.
        """
        ...

    def watch(self, binding: Binding) -> dict[int, int]:
        """Runs the kernel once, and says exactly which of its values raised what (by value number)."""
        ...


class Backend(Protocol):
    """What turns kernel records into programs, and holds memory.

    One that has `foresee(kernels)` is told, before a plan's first run, of its kernels, their extents, and which
    run in their watched form. One that has `share(function, argument, tasks)` calls machine code on ranges of tasks,
    on its workers. One that has `workers()`, how many threads run a launch, and `banded(steps, bands)` runs several
    steps in bands (`runtime/banded.py`). One that has `quicker_loop(op, code, number)` has inner loops for small arrays
    (`runtime/quicker.py`).
    """

    name: str

    def compile(self, kernel: Kernel) -> Program:
        """The program of `kernel`, compiled, or found in memory or on disk."""
        ...

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        """A ufunc that gives small arrays the bits that compiled kernels give; None where NumPy's own does."""
        ...

    def runs_numpy_loop(self, op: str, codes: tuple[str, ...]) -> bool:
        """Whether kernels can run NumPy's own inner loop of an op for arguments and result of these dtypes."""
        ...


class Interpreter:
    """The backend called "numpy": plans are not made, `runtime/interpret.py` evaluates expressions directly."""

    name = "numpy"

    def compile(self, kernel: Kernel) -> Program:
        raise BackendError("the NumPy interpreter evaluates expressions, it compiles no kernels")

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        return None

    def runs_numpy_loop(self, op: str, codes: tuple[str, ...]) -> bool:
        return False


class NotReady(ImportError):
    """What is wanted is being made by the same thread: a signal handler evaluates in the middle of that."""


class Once:
    """A lock for what is made once. It raises `NotReady` in the thread that has it, which cannot wait for itself."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._begun = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._begun:
            self._lock.release()
            raise NotReady("a signal handler needs what is being made where it interrupts")
        self._begun = True

    def __exit__(self, *error: object) -> None:
        self._begun = False
        self._lock.release()


_loaded: dict[str, Backend] = {}
_loading = Once()


def load(name: str) -> Backend:
    """The backend called `name`, from the entry points of the group "lazyarray.backends"; one object for each."""
    found = _loaded.get(name)
    if found is None:
        with _loading:
            if name not in _loaded:
                _loaded[name] = _make(name)
            found = _loaded[name]
    return found


def _make(name: str) -> Backend:
    if name == "numpy":
        return Interpreter()
    backend: Backend = entry_point(GROUP, name, "backend", "numpy")()
    return backend


def entry_point(group: str, name: str, what: str, built_in: str = "cpu") -> Any:
    """The object that an installed package declares as entry point `name` of the group."""
    target = _declared(group, name)
    if target is None:
        points = _points(group)
        if name not in points:
            raise BackendError(
                f"no {what} called {name!r} is installed; known: {', '.join(sorted({*points, built_in}))}. "
                f"Set LAZYARRAY_{what.upper()} to one of them, or install the package that provides it."
            )
        target = points[name]
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def has_entry_point(group: str, name: str) -> bool:
    """Whether an installed package declares an entry point of this name."""
    return _declared(group, name) is not None or name in _points(group)


def _points(group: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=group)}


def _declared(group: str, name: str) -> str | None:
    """What an installed package declares for the entry point, read from its metadata file; None if not found so.

    `importlib.metadata` finds the same and more, but importing it takes as long as compiling a kernel.
    """
    for folder in sys.path:
        for text in _read_entry_points(folder or "."):
            _, found, section = text.partition(f"[{group}]")
            for line in section.partition("\n[")[0].splitlines() if found else ():
                key, equals, value = line.partition("=")
                if equals and key.strip() == name:
                    return value.strip()
    return None


def _read_entry_points(folder: str) -> Iterator[str]:
    """The texts of a folder's `*.dist-info/entry_points.txt`."""
    with contextlib.suppress(OSError):  # no folder: an archive, say
        for name in os.listdir(folder):
            if name.endswith(".dist-info"):
                with (
                    contextlib.suppress(OSError),
                    open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8", errors="replace") as file,
                ):
                    yield file.read()


def current() -> Backend:
    """The backend that evaluation uses now (`config.backend`)."""
    return load(config.backend)


def workers() -> Any:
    """`share` of the backend (see `Backend`), where it is loaded and has workers; None else.

    Nothing is loaded for it: a program's one transform is over before.
    """
    found: Any = _loaded.get(config.backend)
    ready = getattr(found, "has_workers", None)
    return getattr(found, "share", None) if ready is None or ready() else None


_missed = 0
_WORTH_SHARING: Final = 1 << 18  # elements of what would gain some tenths of a millisecond from workers


def miss_workers(size: int) -> None:
    """Something of so many elements runs without workers: `warm` for those that follow, if it is not the first."""
    global _missed
    if not _warming and size >= _WORTH_SHARING:
        _missed += 1
        if _missed >= config.compile_at or size >= COMPILED_FROM:
            warm()


_warming = False
# Elements of operations that are compiled whatever else is evaluated with them (`runtime/first.py`).
COMPILED_FROM: Final = 1 << 20


def expect(size: int) -> None:
    """`warm`, if an operation on so many elements, which is being recorded, is going to be compiled."""
    if not _warming and (size >= COMPILED_FROM or config.compile_at == 1 or not config.eager_below):
        warm()


def warm() -> None:
    """Begins to load the backend on another thread: the first evaluation is near, and then finds it loaded."""
    global _warming
    if not _warming:
        _warming = True
        threading.Thread(target=_load_quietly, name="lazyarray-backend", daemon=True).start()


def _load_quietly() -> None:
    # What goes wrong here goes wrong again, and is told, when the backend is needed.
    with contextlib.suppress(Exception):
        prepare = getattr(current(), "warm", None)
        if prepare is not None:
            prepare()
