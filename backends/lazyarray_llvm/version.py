"""Owns the identity of the code that emits kernels, which is part of every disk entry's key."""

from __future__ import annotations

import functools
import os

from lazyarray.runtime.cache import source_version


@functools.cache
def emitter_version() -> str:
    """Identifies the code that lowers kernels, by the package's files."""
    return source_version(os.path.dirname(__file__))
