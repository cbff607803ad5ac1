"""Owns methods that are ours or NumPy's, as their arguments are: in C the choice between the two.

As `vectors.py`: these functions in the hot modules' Python form, those of `shared.pxd` in the compiled one.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from lazyarray.frontend.callables import ANY, Served


class Shared(Served):
    """A method of the class. An array has it as it is: frames and references are those of a plain method."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return (self._method_of(args[0]) if args else self.source)(*args, **options)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self._method_of(instance), instance)

    def _method_of(self, instance: Any) -> Any:
        return self.function if type(instance) is self.inner else self.source


def sharing(own: Any, others: Any, kind: type) -> Any:
    """A method that is `own` where the first argument is of this class, and `others` where it is anything else."""
    made = Shared(own, others, ANY)
    made.inner = kind
    return made


def knowing(own: Any, source: Any, kind: type) -> Any:
    """A method that is `own` where an argument is this very class, or of it, and `source` where none is."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        named = any([item is kind or type(item) is kind for item in (*args, *options.values())])
        return (own if named else source)(self, *args, **options)

    return method


def wrapping(own: Any, _source: Any) -> Any:
    """`own`: `_source`, but that NumPy's own arrays, alone or in a tuple, are lazy where it returns them."""
    return own
