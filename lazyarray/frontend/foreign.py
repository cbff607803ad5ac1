"""Owns objects of other packages that turn into arrays: NumPy takes only its own arrays from their `__array__`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

REFUSED: Final = "object __array__ method not producing an array"
# Types without an `__array__` to ask, or with one that is lazyarray's own: told by `array.py`, which needs this module.
OURS: Final[set[type]] = set()
_KNOWN: Final = (np.ndarray, np.generic, type)
_SILENT: Final = frozenset({np.array_equal, np.array_equiv})  # what cannot be converted is not equal to them


class Forwarder:
    """Stands for an object before NumPy: everything is the object's, but `__array__` gives NumPy's arrays."""

    __slots__ = ("given", "memory", "source")

    def __init__(self, source: Any) -> None:
        self.source = source
        self.given: Any = None
        self.memory: Any = None

    def __array__(self, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend import array as core

        made = self.source.__array__(*args, **options)
        if type(made) is core.ndarray:
            self.given = made
            made = self.memory = core.to_numpy(made)
        return made

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.source, name)
        return _wrapping(found) if name == "__array_wrap__" else found

    def restore(self, result: Any) -> Any:
        """The array that the object gave, where NumPy returned its memory; else the result."""
        return self.given if self.given is not None and result is self.memory else result


def _wrapping(method: Callable[..., Any]) -> Callable[..., Any]:
    """An `__array_wrap__` that is handed lazyarray's array, ufunc and operands, for NumPy to call."""

    def call(array: Any, *rest: Any) -> Any:
        from lazyarray.frontend.array import wrap
        from lazyarray.frontend.ufunc import own_of

        if rest and rest[0] is not None:
            function, args, place = rest[0]
            given = tuple([wrap(item.source if type(item) is Forwarder else item) for item in args])
            rest = ((own_of(function), given, place), *rest[1:])
        return method(wrap(array), *rest)

    return call


def forward(obj: Any) -> Any:
    """What NumPy takes for `obj`: a `Forwarder` where it has an `__array__` of its own."""
    kind = type(obj)
    if kind in OURS or not hasattr(kind, "__array__") or isinstance(obj, _KNOWN):
        return obj
    return Forwarder(obj)


def retried(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The function of NumPy's; again, on stand-ins, where an object among its arguments gave one of our arrays."""
    if function not in _SILENT:
        try:
            return function(*args, **options)
        except ValueError as error:
            if str(error) != REFUSED:
                raise
    return _sources_in(function(*_forward_all(args), **{name: _forward_all(item) for name, item in options.items()}))


def _sources_in(result: Any) -> Any:
    """The result; where it is an array of objects, with what stand-ins in it stand for."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        for place in np.ndindex(result.shape):
            item: Any = result[place]
            if type(item) is Forwarder:
                result[place] = item.source
    return result


def _forward_all(item: Any) -> Any:
    if type(item) in (list, tuple):
        return type(item)([_forward_all(part) for part in item])
    return forward(item)


def serves(like: Any) -> bool:
    """True where `like=` asks for our arrays: None, an array, or one of a subclass that overrides nothing."""
    if like is None or type(like) is np.ndarray:
        return True
    if not isinstance(like, np.ndarray):
        return type(like) in OURS and hasattr(type(like), "__array_function__")
    return type(like).__array_function__ is np.ndarray.__array_function__


# What makers do where nothing else is said, but for None: overrides are told of nothing that was not said.
_ORDER: Final = {"order": "C"}
_USUAL: Final[dict[str, dict[str, Any]]] = {
    "array": {"copy": True, "order": "K", "subok": False, "ndmin": 0},
    **dict.fromkeys(("zeros", "ones", "empty", "full", "eye"), _ORDER),
}


def make_like(name: str, like: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What `like`, whose class decides, makes of a call to the public function `name`."""
    override = getattr(type(like), "__array_function__", None)
    if override is None:
        raise TypeError("The `like` argument must be an array-like that implements the `__array_function__` protocol.")
    from lazyarray.frontend.array import wrap
    from lazyarray.frontend.elementwise import export
    from lazyarray.frontend.namespace import resolve
    from lazyarray.frontend.overrides import written_for_us

    usual = _USUAL.get(name, {})
    options = {key: option for key, option in options.items() if option is not usual.get(key)}
    args = args[: max((place for place, arg in enumerate(args, 1) if arg is not None), default=0)]
    if not written_for_us(override):
        return wrap(getattr(np, name)(*export(args), like=like, **export(options)))
    result = override(like, resolve(name), (type(like),), args, options)
    if result is NotImplemented:
        raise TypeError(
            f"no implementation found for 'numpy.{name}' on types that implement __array_function__: [{type(like)!r}]"
        )
    return result
