"""The entry of the LLVM backend while a thread is loading the rest of it."""

from __future__ import annotations

import sys
import types

import pytest

from lazyarray_llvm import engine
from lazyarray_llvm.backend import Backend


def test_nobody_has_workers_while_what_makes_them_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lazyarray_llvm.threads", types.ModuleType("lazyarray_llvm.threads"))
    assert not Backend().has_workers()


def test_a_symbol_is_added_while_llvm_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", types.ModuleType("llvmlite.binding"))
    monkeypatch.setattr(engine, "_added", {})
    engine.add_symbol("la_test_symbol", 64)
    assert engine.find_symbol("la_test_symbol") == 64
