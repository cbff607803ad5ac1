"""A NumPy that compiles itself: `import lazyarray as np`.

Every public name of the installed NumPy is here.  Names are resolved when first asked for and then stay in
the module, so that importing costs little more than NumPy itself.
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from lazyarray.config import config as config
from lazyarray.frontend import modules as _modules

_OWN = ("config", "counters", "evaluate", "record_runs")

__version__ = _np.__version__
__all__ = [name for name in _np.__all__ if not name.startswith("__array_namespace")] + list(_OWN)

_modules.install()


def evaluate(*arrays: Any) -> Any:
    """Computes the values of arrays now, all in one evaluation; returns the array, or a tuple of several."""
    from lazyarray.frontend.boundary import evaluate_all

    return evaluate_all(arrays)


def __getattr__(name: str) -> Any:
    if name in ("record_runs", "counters"):
        from lazyarray.runtime import ledger

        value = getattr(ledger, name)
    elif name.startswith("__") and name not in ("__array_namespace_info__",):
        raise AttributeError(f"module 'lazyarray' has no attribute {name!r}")
    else:
        from lazyarray.frontend.namespace import resolve

        try:
            value = resolve(name)
        except AttributeError as error:
            # NumPy's words, which may name what to use instead.
            raise AttributeError(str(error).replace("module 'numpy'", "module 'lazyarray'", 1)) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    public = {name for name in dir(_np) if not name.startswith("__")}
    return sorted(public.union(_OWN, (name for name in globals() if name.startswith("__"))))
