"""Owns emitted modules on disk: a process that finds a kernel there does not emit it, which would take longer."""

from __future__ import annotations

import json
from pathlib import Path

from lazyarray.runtime.cache import KernelCache
from lazyarray.schedule.kernel import Kernel
from lazyarray_triton.cubins import made_by
from lazyarray_triton.emit import normalise
from lazyarray_triton.source import Argument, Form, Function, TritonSource, Watched, Work
from lazyarray_triton.tiles import flat_tiles, tiles_of


class Sources:
    """The modules that this machine's user has had emitted before, in a given folder or the configured one."""

    def __init__(self, root: Path | None = None) -> None:
        self._cache = KernelCache(root, f"source {made_by()}")

    def load(self, kernel: Kernel, form: Form, watched: Watched) -> TritonSource | None:
        """What was stored for a kernel; its functions without texts of their own, which only emitting needs."""
        payload = self._cache.load(_key(kernel, form, watched))
        if payload is None:
            return None
        text, functions, works, looks_so = json.loads(payload)
        kernel = normalise(kernel)
        return TritonSource(
            kernel,
            form,
            flat_tiles(kernel) if form == "packed" else tiles_of(kernel),
            tuple([_function(*function) for function in functions]),
            tuple([Work(*work) for work in works]),
            text,
            looks_so,
        )

    def store(self, kernel: Kernel, watched: Watched, source: TritonSource) -> None:
        """Keeps the module of a kernel; `watched`: as it was asked for, which some forms do otherwise."""
        functions = [
            [f.name, f.grid, [[a.name, a.kind, a.type, a.which] for a in f.arguments], f.constants, f.looks]
            for f in source.functions
        ]
        works = [[w.code, w.size, w.access, w.fill] for w in source.works]
        payload = json.dumps([source.text, functions, works, source.watched]).encode()
        self._cache.store(_key(kernel, source.form, watched), payload)


def _key(kernel: Kernel, form: Form, watched: Watched) -> str:
    return f"{kernel!r} {form} {watched}"


def _function(name: str, grid: list[str], arguments: list[list[str]], constants: list[str], looks: bool) -> Function:
    made = tuple([Argument(n, kind, type_, tuple(which)) for n, kind, type_, which in arguments])  # type: ignore[arg-type]
    return Function(name, tuple(grid), made, tuple(constants), "", looks)
