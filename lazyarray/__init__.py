"""A NumPy that compiles itself: `import lazyarray as np`.

Every public name of the installed NumPy is here.  Names are resolved when first asked for and then stay in
the module, so that importing costs little more than NumPy itself.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import Any

from lazyarray import native as _native
from lazyarray.frontend import modules as _modules

_modules.install()
_native.install()  # before the modules whose form it chooses, and asked for them first

from lazyarray.native.apart import apart as _apart  # noqa: E402

if "numpy" not in _sys.modules:
    _apart(lambda: _import_module("numpy"))

import numpy as _np  # noqa: E402

from lazyarray.config import config as config  # noqa: E402
from lazyarray.runtime import heap as _heap  # noqa: E402

_OWN = (
    "config", "counters", "device", "evaluate", "explain", "jit", "profile", "record_runs", "set_device", "strict",
    "verify", "visualize",
)  # fmt: skip

# What NumPy says about itself as a module, and to the array API's programs.
_OF_NUMPY = frozenset(
    {
        "__array_api_version__",
        "__array_namespace_info__",
        "__config__",
        "__expired_attributes__",
        "__former_attrs__",
        "__future_scalars__",
        "__numpy_submodules__",
    }
).intersection(vars(_np))

__version__ = _np.__version__
__all__ = [*_np.__all__, *_OWN]

_heap.keep_freed_memory()
_heap.lay_at_lines()


_evaluate_all: Any = None  # imported when first called


def evaluate(*arrays: Any) -> Any:
    """Computes the values of arrays now, all in one evaluation; returns the array, or a tuple of several."""
    global _evaluate_all
    if _evaluate_all is None:
        from lazyarray.frontend.boundary import evaluate_all as _evaluate_all
    return _evaluate_all(arrays)


_resolve_name: Any = None  # imported when the first name is asked for


def _resolve(name: str) -> Any:
    """What a public name means."""
    global _resolve_name
    if _resolve_name is None:
        _resolve_name = _apart(_load_resolver)
    return _resolve_name(name)


def _load_resolver() -> Any:
    from lazyarray.frontend.namespace import resolve

    return resolve


def __getattr__(name: str) -> Any:
    if name in ("record_runs", "counters"):
        from lazyarray.runtime import ledger

        value = getattr(ledger, name)
    elif name == "jit":
        from lazyarray.frontend.jit import jit as value
    elif name in ("device", "set_device"):
        value = getattr(_import_module("lazyarray.frontend.devices"), name)
    elif name in ("explain", "profile", "strict", "verify", "visualize"):
        value = getattr(_import_module(f"lazyarray.inspect.{name}"), name)
    elif name.startswith("__"):
        if name not in _OF_NUMPY:
            raise AttributeError(f"module 'lazyarray' has no attribute {name!r}")
        value = getattr(_np, name)
    else:
        try:
            value = _resolve(name)
        except AttributeError as error:
            # NumPy's words, which may name what to use instead.
            raise AttributeError(str(error).replace("module 'numpy'", "module 'lazyarray'", 1)) from None
    if name in _OWN or name in vars(_np):  # else NumPy's own `__getattr__` gave it, and may warn each time
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    # NumPy's names, and no others that its module lacks: who looks at all of them reads each.
    names = {name for name in dir(_np) if not name.startswith("__") or name in globals() or name in _OF_NUMPY}
    return sorted(names.union(_OWN))
