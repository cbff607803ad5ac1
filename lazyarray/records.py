"""Owns `NamedTuple`, of which the records are made: typing's, whose classes are made at once.

`typing.NamedTuple` compiles each annotation that is a text, to see whether it could be a type: some milliseconds of a
program's start. Type checkers see typing's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    _OF_TUPLES = frozenset({"__slots__", "__qualname__", "__module__", "__dict__", "__weakref__"})

    class _Maker(type):
        """Makes the class of a record of its body: fields from annotations, their defaults, methods."""

        def __new__(maker, name, bases, body):
            if not bases:
                return super().__new__(maker, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            made.__qualname__ = body["__qualname__"]
            for key, item in body.items():
                if key not in fields and key not in _OF_TUPLES:
                    setattr(made, key, item)
            return made

    class NamedTuple(metaclass=_Maker):
        """A record: a tuple with named fields, in the order of the annotations."""
