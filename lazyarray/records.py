"""Owns `NamedTuple`, of which the records are made: typing's, whose classes are made at once.

`typing.NamedTuple` compiles each annotation that is a text, to see whether it could be a type, and
`collections.namedtuple` compiles each class's constructor: both some milliseconds of a program's start. Here it is
compiled for the first record of a class. Type checkers see typing's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    _MOST = 32  # fields
    _MODEL = namedtuple("_MODEL", [f"f{place}" for place in range(_MOST)])
    # What reads a field of any tuple by its place, as quickly as Python can.
    _READERS = [vars(_MODEL)[name] for name in _MODEL._fields]
    _OF_TUPLES = frozenset({"__slots__", "__qualname__", "__module__", "__dict__", "__weakref__"})

    class _Record(tuple):
        """What `collections.namedtuple` gives its classes, by their `_fields`."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            values = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self):
            return tuple(self)

    def _constructor(cls):
        """The class's `__new__`, which takes the place of the one that is called first."""
        names = ", ".join(cls._fields)
        made = eval(f"lambda _cls, {names}: _new(_cls, ({names},))", {"_new": tuple.__new__})
        made.__name__, made.__qualname__ = "__new__", f"{cls.__qualname__}.__new__"
        made.__defaults__ = tuple(cls._field_defaults.values())
        return made

    class _Maker(type):
        """Makes the class of a record of its body: fields from annotations, their defaults, methods."""

        def __new__(maker, name, bases, body):
            if not bases:
                return super().__new__(maker, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))

            def first(cls, /, *values, **named):
                new = made.__new__ = staticmethod(_constructor(made))
                return new(cls, *values, **named)

            space = {key: item for key, item in body.items() if key not in fields and key not in _OF_TUPLES}
            space.update(zip(fields, _READERS[: len(fields)], strict=True))
            space.setdefault("__new__", first)
            space.update(
                __slots__=(),
                __module__=body["__module__"],
                __qualname__=body["__qualname__"],
                __match_args__=fields,
                _fields=fields,
                _field_defaults={field: body[field] for field in fields if field in body},
            )
            made = type(name, (_Record,), space)
            return made

    class NamedTuple(metaclass=_Maker):
        """A record: a tuple with named fields, in the order of the annotations."""
