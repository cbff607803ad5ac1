"""Owns compiled variants on disk: a process that finds all of its cubins there never imports Triton."""

from __future__ import annotations

import functools
import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lazyarray.ir import ops as ops_module
from lazyarray.ir import raises
from lazyarray.runtime.cache import KernelCache
from lazyarray.schedule import printer
from lazyarray_triton.compiler import Binary
from lazyarray_triton.launch import Variant
from lazyarray_triton.source import TritonSource

# Raise it whenever entries of an earlier release could not be read.
_FORMAT = 1
_ANY = "any"  # the key of an entry that says that there are others


@functools.cache
def made_by() -> str:
    """What a cubin follows from besides text, variant and target, and a text besides its kernel: Triton, the modules
    that emit texts, that every text imports, or that set the compiler's options, and the ops that kernels name."""
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "none"
    here = Path(__file__).parent
    digest = hashlib.sha256()
    ops = [Path(str(module.__file__)) for module in (ops_module, raises, printer)]
    for path in (*ops, *sorted(here.glob("*.py")), *sorted((here / "device").glob("*.py"))):
        digest.update(path.read_bytes())
    return f"cubin {_FORMAT} triton {triton} {digest.hexdigest()}"


def _key(source: TritonSource, made: Variant, capability: int) -> str:
    return f"{hashlib.sha256(source.text.encode()).hexdigest()} {made!r} sm {capability}"


class Cubins:
    """The cubins that this machine's user has compiled before, in a given folder or the configured one."""

    def __init__(self, root: Path | None = None) -> None:
        self._cache = KernelCache(root, made_by())
        self._marked = False

    @property
    def are_new(self) -> bool:
        """True where nothing was ever stored by this release."""
        return self._cache.load(_ANY) is None

    def load(self, source: TritonSource, made: Variant, capability: int) -> Binary | None:
        """What was stored for a variant, without its PTX."""
        payload = self._cache.load(_key(source, made, capability))
        if payload is None:
            return None
        end = 4 + int.from_bytes(payload[:4], "little")
        name, shared, threads, scratch = json.loads(payload[4:end])
        return Binary(payload[end:], name, shared, threads, (scratch[0], scratch[1]), "")

    def store(self, source: TritonSource, made: Variant, capability: int, binary: Binary) -> None:
        head = json.dumps([binary.name, binary.shared, binary.threads, binary.scratch]).encode()
        payload = len(head).to_bytes(4, "little") + head + binary.cubin
        self._cache.store(_key(source, made, capability), payload)
        if not self._marked:
            self._marked = True
            self._cache.store(_ANY, b"")
