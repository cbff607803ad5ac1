"""The Triton backend's entry: kernels to programs for a GPU, and programs to prepared launches.

It compiles for devices only, whose memory and library calls are another package's (`lazyarray_cupy`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from lazyarray.errors import BackendError, CompileError
from lazyarray.runtime.dump import show
from lazyarray.runtime.run import AnyRun
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton import workers
from lazyarray_triton.cubins import Cubins
from lazyarray_triton.emit import emit, forms
from lazyarray_triton.errors import watchable
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.model import Guess
from lazyarray_triton.ones import numerators
from lazyarray_triton.prepared import Prepared
from lazyarray_triton.source import Watched
from lazyarray_triton.sources import Sources
from lazyarray_triton.tuning import Choices, Tuning, candidates, launches_until
from lazyarray_triton.worker import Refused

_LAUNCHERS_LIMIT: Final = 256  # extents and strides of one kernel that are kept
_PREPARED_LIMIT: Final = 64  # launches kept of one of them
_MANY_POINTERS: Final = 12  # arrays beyond which some that are not aligned have all of them taken for such


class Program:
    """One kernel on one GPU."""

    def __init__(self, launcher: Launcher, kernel: Kernel) -> None:
        self.kernel = kernel
        self.device = launcher
        self.sources: dict[str, None] = {}  # the modules of the forms that were launched so far
        self._launchers: dict[Any, BoundLauncher] = {}

    @property
    def source(self) -> str:
        """The modules of the forms that were launched so far; of the first possible form before the first launch."""
        return "\n".join(self.sources) or emit(self.kernel, forms(self.kernel)[0]).text

    @functools.cached_property
    def words(self) -> dict[int, int]:
        """The values whose errors can be looked for, with the numbers of their words."""
        return watchable(self.kernel)

    @functools.cached_property
    def numerators(self) -> tuple[int, ...]:
        """The scalars for which it matters whether they are 1."""
        return numerators(self.kernel)

    @functools.cached_property
    def tile_text(self) -> str:
        """What names the kernel where choices of block shapes are kept."""
        return emit(self.kernel, "tile").text

    def launcher(
        self, extents: tuple[int, ...], strides: tuple[tuple[int, ...], ...], sizes: tuple[int, ...]
    ) -> BoundLauncher:
        """The kernel at fixed extents and strides."""
        key = (extents, strides, sizes if self.kernel.scatters else None)
        found = self._launchers.get(key)
        if found is None:
            if len(self._launchers) >= _LAUNCHERS_LIMIT:
                self._launchers.clear()
            found = self._launchers[key] = BoundLauncher(self, extents, strides, sizes)
        return found


class BoundLauncher:
    """A kernel at fixed extents and strides: its launches are prepared once for each alignment of its memory."""

    __slots__ = (
        "_extents", "_foreseen", "_guess", "_left", "_numerators", "_prepared", "_program", "_sizes", "_stored",
        "_strides", "_tuned_key", "_tuning",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        sizes: tuple[int, ...],
    ) -> None:
        self._program = program
        self._numerators = program.numerators
        self._extents, self._strides, self._sizes = extents, strides, sizes
        self._stored = program.kernel.written
        self._prepared: dict[Any, Prepared] = {}
        self._foreseen: dict[Any, Prepared] = {}  # not loaded yet
        self._guess: Guess | None = None  # what measuring has chosen; None for the model's
        self._left = launches_until(program.kernel, extents) if program.device.choices is not None else 0
        self._tuning: Tuning | None = None
        self._tuned_key: Any = None

    def start(
        self, pointers: list[int], scalars: list[Any], bases: list[int], flags: int = 0, run: AnyRun | None = None
    ) -> None:
        """Queues one run on the current stream; one that looks for errors if it is given memory for them.

        `run`: what is to know whether it was queued, by its `launched`.
        """
        key, watched, described = self._key(pointers, scalars, bases, flags)
        prepared = self._prepared.get(key)
        if prepared is None:
            binding = Binding(self._extents, tuple(described), self._strides, tuple(scalars))
            prepared = self._prepare(key, binding, bases, watched)
        if self._left:
            self._left -= 1
            if not self._left:
                self._begin_tuning(
                    key, Binding(self._extents, tuple(described), self._strides, tuple(scalars)), watched
                )
        if self._tuning is not None and key == self._tuned_key:
            if not self._tuning.queued:
                self._tuning.launch(pointers, scalars, flags, run)
                return
            prepared = self._end_tuning(self._tuning, prepared)
        prepared.launch(pointers, scalars, None, flags, run)

    def foresee(self, pointers: list[int], scalars: list[Any], bases: list[int], flags: int) -> None:
        """Has what such a run needs compiled until then. The pointers need not be those of memory, only aligned so."""
        key, watched, described = self._key(pointers, scalars, bases, flags)
        if key in self._prepared or key in self._foreseen or self._program.kernel.scatters:
            return
        binding = Binding(self._extents, tuple(described), self._strides, tuple(scalars))
        program = self._program
        with contextlib.suppress(Exception):  # the run meets it again
            self._foreseen[key] = Prepared(
                program.device, program.kernel, binding, self._known(), None, watched, at_once=False
            )

    def _key(
        self, pointers: list[int], scalars: list[Any], bases: list[int], flags: int
    ) -> tuple[Any, Watched, list[int]]:
        """What a prepared launch is found by, how it looks for errors, and the pointers that describe it."""
        together = 0
        for pointer in pointers:
            together |= pointer
        key: Any = 0  # every pointer is aligned to 16 bytes, and no errors are looked for
        watched: Watched = ""
        described = pointers
        kernel = self._program.kernel
        if together & 15 or flags or kernel.scatters:
            if flags:
                watched = self._watched(bases)
            places = None
            if kernel.scatters:
                places = tuple([pointer - base for pointer, base in zip(pointers, bases, strict=True)])
            if together & 15 and len(pointers) > _MANY_POINTERS and not kernel.scatters:
                # One form for all of them: each takes seconds to compile where so much is read.
                described = [pointer + (8 if pointer & 15 == 0 else 0) for pointer in pointers]
            key = (tuple([pointer & 15 == 0 for pointer in described]), watched, places)
        if self._numerators:
            key = (key, tuple([scalars[k] == 1 for k in self._numerators]))
        return key, watched, described

    def _begin_tuning(self, key: Any, binding: Binding, watched: Watched) -> None:
        """Has the next launches take turns among block shapes."""
        program = self._program
        first = self._prepared[key]
        asked: list[tuple[Guess, Prepared]] = []
        made: list[tuple[Guess, Prepared]] = []
        for guess in candidates(first.guess, first.source.tiles.kind == "line"):
            with contextlib.suppress(Exception):  # as below
                one = Prepared(program.device, program.kernel, binding, guess, watched=watched, at_once=False)
                asked.append((guess, one))
        for guess, one in asked:
            try:
                one.load()
            except MemoryError:
                raise
            except Exception:
                continue
            made.append((guess, one))
        if len(made) > 1 and made[0][0] == first.guess:
            self._tuning, self._tuned_key = Tuning(program.device.driver, made), key

    def _end_tuning(self, tuning: Tuning, prepared: Prepared) -> Prepared:
        """The fastest, from now on; as before, while that is not known."""
        found = tuning.best()
        choices = self._program.device.choices
        if found is None or choices is None:
            return prepared
        best: Prepared
        self._guess, best = found
        choices.store(self._program.tile_text, self._extents, self._strides, self._guess)
        self._prepared.clear()  # launches of other alignments get the same shape
        self._prepared[self._tuned_key] = best
        self._tuning = None
        return best

    def _known(self) -> Guess | None:
        """What was chosen before, in this process or another one."""
        choices = self._program.device.choices
        if self._left and choices is not None and not self._prepared:
            self._guess = choices.load(self._program.tile_text, self._extents, self._strides)
            if self._guess is not None:
                self._left = 0
        return self._guess

    def _watched(self, bases: list[int]) -> Watched:
        """How errors are looked for: a kernel that writes memory which it reads cannot be looked at afterwards."""
        if 0 in self._extents:
            return "exact"
        written = {bases[k] for k in self._stored}
        if any(base in written for k, base in enumerate(bases) if k not in self._stored):
            return "exact" if self._program.kernel.reduces else "checked"
        return "apart"

    def _prepare(self, key: Any, binding: Binding, bases: list[int], watched: Watched) -> Prepared:
        if len(self._prepared) >= _PREPARED_LIMIT:
            self._prepared.clear()
        program = self._program
        try:
            scatters = program.kernel.scatters
            places = dict(enumerate(zip(bases, self._sizes, strict=True))) if scatters else None
            prepared = self._foreseen.pop(key, None)
            if prepared is None:
                guess = self._known()
                prepared = Prepared(program.device, program.kernel, binding, guess, places, watched, at_once=False)
            prepared.load()
        except MemoryError:
            raise
        except Exception as error:
            if watched in ("apart", "checked"):
                return self._prepare(key, binding, bases, "exact")
            # Triton has many classes of errors; whatever it cannot do runs on the host, and is counted and told.
            told = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
            raise CompileError(f"Triton: {told}") from error
        text = prepared.source.text
        show("kernels", "triton", lambda: text, "py")
        program.sources[text] = None
        self._prepared[key] = prepared
        return prepared


class Backend:
    """Compiles kernels with Triton for NVIDIA GPUs."""

    name = "triton"
    device_kind = "cuda"
    joins_moments = True  # it finds variances along with other reductions

    def __init__(self) -> None:
        self._launchers: dict[str, Launcher] = {}
        self._programs: dict[tuple[str, Kernel], Program] = {}

    def compile(self, kernel: Kernel) -> Any:
        """There are no programs for the host."""
        raise BackendError("the Triton backend compiles for GPUs: choose a device, such as LAZYARRAY_DEVICE=cuda")

    def expect(self) -> None:
        """A device is being opened: what compiles for it starts, where nothing was ever compiled."""
        if Cubins().are_new:
            workers.expect()

    def compile_for(self, device: Any, kernel: Kernel) -> Program:
        """The program of a kernel on a device, whose `driver` loads and launches it."""
        program = self._programs.get((device.name, kernel))
        if program is None:
            launcher = self._launchers.get(device.name)
            if launcher is None:
                launcher = Launcher(device.driver, Cubins(), Choices(device.about()), Sources())
                self._launchers[device.name] = launcher
            program = self._programs[device.name, kernel] = Program(launcher, kernel)
        return program

    def about(self) -> dict[str, str]:
        """What it compiles with, as `python -m lazyarray doctor` tells it; an error where that is missing."""
        if importlib.util.find_spec("triton") is None:
            raise BackendError("it needs the package triton; kernels that are on disk run without it")
        return {"compiles for": "GPUs (LAZYARRAY_DEVICE=cuda)", "with Triton": version("triton")}

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        """Small arrays are NumPy's, with its own functions."""
        return None

    def runs_numpy_loop(self, op: str, codes: tuple[str, ...]) -> bool:
        return False
