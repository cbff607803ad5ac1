"""Owns what Python's library has to be told of lazy scalars: code that takes a `float` by its layout in memory.

NumPy's float64 is a Python float, so C code reads its value without asking. A lazy scalar has no value there (it may
not even be computed), and so it is no float for such code, only for `isinstance`. Returning NumPy's own scalar from
every full reduction instead would end an expression there: `x - x.mean()`, or a minimum, a maximum and a mean of one
operand, would no longer share a pass over memory. So scalars stay lazy, everything that goes through a protocol
(`__float__`, `__index__`, `__format__`, `__conform__`, the buffer) answers with the value, and `json`, whose encoders
can be told, is. Left are functions in C that take floats only by layout: `decimal.Decimal`, `datetime.timedelta` and
`time.sleep` raise TypeError and want `float(x)`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

from lazyarray.frontend.scalar import LazyScalar, settled

_ENCODER: Final = "json.encoder"


def teach_json() -> None:
    """Makes both of `json`'s encoders, of which one is in C, write lazy float64 as they write NumPy's.

    Once a program imports `json`: that takes longer than five of lazyarray's modules.
    """
    known = sys.modules.get(_ENCODER)
    if known is not None:
        _teach(known)
    else:
        finder: Any = _Teacher()  # no subclass of `importlib.abc.MetaPathFinder`
        sys.meta_path.insert(0, finder)


class _Teacher:
    """Finds `json.encoder` as Python would, and teaches it when it has been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _ENCODER:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        loader: Any = None if found is None else found.loader
        if loader is not None:
            execute = loader.exec_module

            def execute_and_teach(module: ModuleType) -> None:
                execute(module)
                _teach(module)

            loader.exec_module = execute_and_teach
        return found


def _teach(encoder: Any) -> None:
    refuse = encoder.JSONEncoder.default

    @functools.wraps(refuse)
    def default(self: Any, o: Any) -> Any:
        if type(o) is LazyScalar and isinstance(o, float):
            return o._now()
        return refuse(self, o)

    encoder.JSONEncoder.default = default
    make: Callable[..., Any] | None = getattr(encoder, "_make_iterencode", None)
    if make is not None:
        encoder._make_iterencode = _with_settled_floats(make)


def _with_settled_floats(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def make_iterencode(markers: Any, default: Any, encoder: Any, indent: Any, floatstr: Any, *rest: Any) -> Any:
        return make(markers, default, encoder, indent, lambda o: floatstr(settled(o)), *rest)

    return make_iterencode
