"""The Triton backend's entry: kernels to programs for a GPU, and programs to prepared launches.

It compiles for devices only, whose memory and library calls are another package's (`lazyarray_cupy`).
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from lazyarray.errors import BackendError, CompileError
from lazyarray.runtime.device import Origins
from lazyarray.runtime.dump import show
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton.cubins import Cubins
from lazyarray_triton.emit import emit, forms
from lazyarray_triton.errors import watchable
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.prepared import Prepared
from lazyarray_triton.source import Watched

_PREPARED_LIMIT: Final = 256  # launches kept of one kernel


class Program:
    """One kernel on one GPU: its launches are prepared once for each extents, strides and alignments."""

    def __init__(self, launcher: Launcher, kernel: Kernel) -> None:
        self.kernel = kernel
        self._launcher = launcher
        self._scatters = kernel.scatters
        self._rereads = kernel.reduces
        self._stored = {t.access for s in kernel.stages for t in s.stores}
        self._prepared: dict[Any, Prepared] = {}

    @property
    def source(self) -> str:
        """The modules of the forms that were launched so far; of the first possible form before the first launch."""
        texts = dict.fromkeys([prepared.source.text for prepared in self._prepared.values()])
        return "\n".join(texts) or emit(self.kernel, forms(self.kernel)[0]).text

    @functools.cached_property
    def words(self) -> dict[int, int]:
        """The values whose errors can be looked for, with the numbers of their words."""
        return watchable(self.kernel)

    def start(self, binding: Binding, origins: Origins, flags: int = 0) -> None:
        """Queues one run on the current stream; one that looks for errors if it is given memory for them."""
        extents, pointers, strides, scalars = binding
        bits = 0
        for pointer in pointers:
            bits = bits << 1 | (pointer & 15 == 0)
        places = None
        if self._scatters:
            places = tuple([(pointers[k] - start, size) for k, (start, size) in origins.items()])
        watched: Watched = ""
        if flags:
            watched = ("exact" if self._rereads else "checked") if self._in_place(origins) else "apart"
            if 0 in extents:
                watched = "exact"
        key = (extents, strides, bits, places, watched)
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._prepare(key, binding, origins, watched)
        elif scalars:
            prepared.set_scalars(scalars)
        prepared.launch(pointers, flags=flags)

    def _in_place(self, origins: Origins) -> bool:
        """True when the kernel writes memory that it reads."""
        written = {origins[k][0] for k in self._stored}
        return any(start in written for k, (start, _) in origins.items() if k not in self._stored)

    def _prepare(self, key: Any, binding: Binding, origins: Origins, watched: Watched) -> Prepared:
        if len(self._prepared) >= _PREPARED_LIMIT:
            self._prepared.clear()
        launcher = self._launcher
        try:
            places = origins if self._scatters else None
            prepared = Prepared(launcher, self.kernel, binding, origins=places, watched=watched)
        except MemoryError:
            raise
        except Exception as error:
            if watched in ("apart", "checked"):
                return self._prepare(key, binding, origins, "exact")
            # Triton has many classes of errors; whatever it cannot do runs on the host, and is counted and told.
            raise CompileError(f"Triton: {type(error).__name__}: {error}") from error
        show("kernels", "triton", lambda: prepared.source.text, "py")
        self._prepared[key] = prepared
        return prepared


class Backend:
    """Compiles kernels with Triton for NVIDIA GPUs."""

    name = "triton"
    device_kind = "cuda"

    def __init__(self) -> None:
        self._launchers: dict[str, Launcher] = {}
        self._programs: dict[tuple[str, Kernel], Program] = {}

    def compile(self, kernel: Kernel) -> Any:
        """There are no programs for the host."""
        raise BackendError("the Triton backend compiles for GPUs: choose a device, such as LAZYARRAY_DEVICE=cuda")

    def compile_for(self, device: Any, kernel: Kernel) -> Program:
        """The program of a kernel on a device, whose `driver` loads and launches it."""
        program = self._programs.get((device.name, kernel))
        if program is None:
            launcher = self._launchers.get(device.name)
            if launcher is None:
                launcher = self._launchers[device.name] = Launcher(device.driver, Cubins())
            program = self._programs[device.name, kernel] = Program(launcher, kernel)
        return program

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        """Small arrays are NumPy's, with its own functions."""
        return None

    def runs_numpy_loop(self, op: str, codes: tuple[str, ...]) -> bool:
        return False
