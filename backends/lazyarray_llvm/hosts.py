"""Owns what LLVM says of this machine's CPU, kept on disk: programs with all their kernels there need not load it."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from lazyarray.records import NamedTuple
from lazyarray.runtime.cache import KernelCache

if TYPE_CHECKING:
    from pathlib import Path

_CPUINFO = "/proc/cpuinfo"
# Lines about the model and what it can do; others (clocks, numbers of cores) change from one moment to the next.
_LASTING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


class Described(NamedTuple):
    """The versions of llvmlite and LLVM, and the host as this LLVM calls it."""

    versions: str
    cpu: str
    features: str
    vector_bytes: int
    triple: str
    has_fma: bool


def describe_cpu() -> str | None:
    """This CPU, as the system describes it; None where it does not."""
    try:
        with open(_CPUINFO, encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 14)
    except OSError:
        return None
    first = text.partition("\n\n")[0]
    lines = [line for line in first.splitlines() if line.partition(":")[0].strip() in _LASTING]
    if not any(line.startswith("flags") for line in lines):
        return None
    return "\n".join([os.uname().machine, *lines])


def _identity() -> str | None:
    """This CPU, as the system describes it, and this LLVM's library; None where nobody tells without loading it."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or not found.origin:
        return None
    library = os.path.join(os.path.dirname(found.origin), "binding", "libllvmlite.so")
    try:
        status = os.stat(library)
    except OSError:
        return None
    described = describe_cpu()
    return None if described is None else f"{library}\n{status.st_mtime_ns}\n{status.st_size}\n{described}"


def recall(root: Path | None) -> Described | None:
    """What a run before noted of this very CPU and LLVM."""
    identity = _identity()
    payload = None if identity is None else KernelCache(root, "host").load(identity)
    if payload is None:
        return None
    versions, cpu, features, vector_bytes, triple, has_fma = payload.decode().split("\n")
    return Described(versions, cpu, features, int(vector_bytes), triple, has_fma == "True")


def remember(described: Described, root: Path | None) -> None:
    """Notes it for runs to come."""
    identity = _identity()
    if identity is not None:
        KernelCache(root, "host").store(identity, "\n".join(map(str, described)).encode())
