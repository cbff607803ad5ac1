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
import json.encoder
from collections.abc import Callable
from typing import Any

from lazyarray.frontend.scalar import LazyScalar, settled


def teach_json() -> None:
    """Makes both of `json`'s encoders, of which one is in C, write lazy float64 as they write NumPy's."""
    refuse = json.encoder.JSONEncoder.default

    @functools.wraps(refuse)
    def default(self: json.encoder.JSONEncoder, o: Any) -> Any:
        if type(o) is LazyScalar and isinstance(o, float):
            return o._now()
        return refuse(self, o)

    json.encoder.JSONEncoder.default = default  # type: ignore[method-assign]
    make: Callable[..., Any] | None = getattr(json.encoder, "_make_iterencode", None)
    if make is not None:
        setattr(json.encoder, "_make_iterencode", _with_settled_floats(make))  # noqa: B010


def _with_settled_floats(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def make_iterencode(markers: Any, default: Any, encoder: Any, indent: Any, floatstr: Any, *rest: Any) -> Any:
        return make(markers, default, encoder, indent, lambda o: floatstr(settled(o)), *rest)

    return make_iterencode
