"""Owns backends of hosts with narrower vectors than this one, for tests of kernels at every width."""

from __future__ import annotations

import pytest

from lazyarray_llvm import engine
from lazyarray_llvm.backend import Backend

WIDTHS = (16, 32, 64)


def backend_at(vector_bytes: int, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A backend that compiles for vectors of at most so many bytes, and keeps nothing on disk."""
    at = engine.Engine(engine.narrow(engine.host(), vector_bytes))
    monkeypatch.setattr(engine, "host", lambda: at.host)
    monkeypatch.setattr(engine, "load", lambda key, purpose: None)

    def compile_ir(text: str, name: str, key: str | None, level: int = 2) -> engine.JitModule:
        return at.compile_ir(text, name, None, level=level)  # threads, which start with the first kernel, say which

    monkeypatch.setattr(engine, "compile_ir", compile_ir)
    return Backend()
