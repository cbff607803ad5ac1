"""Owns plans on disk: what scheduling found for an expression or a family of them, kept for later processes.

Scheduling takes Python some milliseconds for each new expression; a plan is read in a fraction of one, and what
schedules is then not even imported. Beside the kernels' entries, private and checked as these (`cache.py`).
"""

from __future__ import annotations

import functools
import os
import pickle
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.digests import name_of
from lazyarray.ir.expression import Expression
from lazyarray.ir.node import Library
from lazyarray.runtime.cache import KernelCache, source_version

if TYPE_CHECKING:
    from lazyarray.ir.sizes import Structure
    from lazyarray.schedule.family import Family
    from lazyarray.schedule.plan import Plan

MOST: Final = 256  # plans that one process leaves: programs whose shapes always change would fill the folder
_SOURCES: Final = ("ir", "passes", "schedule")


class Kept:
    """How many plans this process has left."""

    count = 0


@functools.cache
def planner_version() -> str:
    """Identifies the code that makes plans, by its files, and what writes them."""
    root = os.path.dirname(os.path.dirname(__file__))
    made_by = source_version(*[os.path.join(root, name) for name in _SOURCES])
    return "|".join(["plan", sys.version, np.__version__, made_by])


@functools.cache
def _cache_in(folder: str) -> KernelCache:
    """The cache in the folder that is configured now."""
    return KernelCache(None, planner_version())


def _cache() -> KernelCache:
    return _cache_in(config.cache_dir)


def key_of(expression: Expression) -> str | None:
    """What an expression is found by, spelled out and hashed; None where a library function has no lasting name."""
    return _hashed(expression.entries, expression.outputs)


def _hashed(entries: Iterable[Any], outputs: tuple[int, ...]) -> str | None:
    """`key_of` for entries, with their shapes or without."""
    spelled = []
    for kind, attr, shape, code, args in entries:
        if isinstance(attr, Library):
            name = _name_of(attr.function)
            if name is None or any(callable(given) and not isinstance(given, type) for _, given in attr.options):
                return None
            attr = (attr.name, name, attr.options, attr.into)
        spelled.append(f"{kind}{attr!r}{shape}{code}{args}")
    text = "\n".join([*spelled, str(outputs)])
    return None if " at 0x" in text else name_of(text)


def _name_of(function: Any) -> str | None:
    """Where a function is found, if it is found there."""
    module = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__qualname__", getattr(function, "__name__", None))
    found = getattr(sys.modules.get(module), str(name), None)
    return f"{module}.{name}" if found is function else None


def load_plan(key: str) -> Plan | None:
    """The plan that was kept for an expression."""
    from lazyarray.schedule.plan import Plan

    plan = _loaded(key)
    return plan if type(plan) is Plan else None


def _loaded(key: str) -> Any:
    """What was kept, if it can be read."""
    payload = _cache().load(key)
    if payload is None:
        return None
    try:
        return pickle.loads(payload)
    except Exception:  # of another version of a library that it names, say
        return None


def keep_plan(key: str, plan: Plan) -> None:
    """Leaves a plan that nothing was added to yet for later processes."""
    if Kept.count < MOST:
        _keep(key, plan)


def _keep(key: str, kept: Any) -> None:
    """Leaves something for later processes."""
    try:
        payload = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        return
    Kept.count += 1
    _cache().store(key, payload)


def load_families(structure: Structure) -> list[Family] | None:
    """The families that were kept for a structure; None where no process has planned it."""
    key = _hashed(structure[:-1], structure[-1])
    found = None if key is None else _loaded(key)
    return found if type(found) is list else None


def keep_families(structure: Structure, families: list[Family]) -> None:
    """Leaves the families of a structure for later processes."""
    key = _hashed(structure[:-1], structure[-1])
    if key is not None:
        _keep(key, families)
