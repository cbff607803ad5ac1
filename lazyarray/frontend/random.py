"""Owns `lazyarray.random`: NumPy's generators, hence its streams, that take and give lazyarray's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend import draws
from lazyarray.frontend.array import ndarray, plain
from lazyarray.frontend.callables import ANY, FEW, PLAINLY
from lazyarray.frontend.callers import called_by_package
from lazyarray.frontend.dispatch import describe
from lazyarray.frontend.exchange import adopt, export, same
from lazyarray.frontend.foreign import retried
from lazyarray.frontend.modules import Later
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.small import INERT  # cimport
from lazyarray.frontend.vectors import drawing  # cimport
from lazyarray.frontend.ways import NUMPY, tell, with_way

# Methods that call others of the same generator.
_CALLING_OTHERS: Final = frozenset({"choice", "multivariate_normal", "permutation", "permuted"})
_DRAWN: Final[dict[str, Callable[..., Any]]] = {"random": draws.random, "uniform": draws.uniform}


def _method(base: type, name: str) -> Callable[..., Any]:
    source = getattr(base, name)
    if name == "shuffle":
        return _shuffling(source)
    draw = _DRAWN.get(name) if base is np.random.Generator else None
    calls_others = base is np.random.Generator and name in _CALLING_OTHERS

    def draw_for_package(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = (_plain(self) or base(self.bit_generator)) if calls_others else self
        return retried(source, (own, *export(args)), export(kwargs))

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if called_by_package():
            return draw_for_package(self, *args, **kwargs)
        drawn = None
        if draw is not None and (args or kwargs):
            try:
                drawn = draw(self, *args, **kwargs)
            except TypeError:
                drawn = None  # NumPy's error
        if drawn is not None:
            return adopt(drawn)
        if calls_others:
            self = _plain(self) or self
        if INERT.issuperset(map(type, args)) and (not kwargs or INERT.issuperset(map(type, kwargs.values()))):
            result = source(self, *args, **kwargs)
            return plain(result) if type(result) is np.ndarray else adopt(result)
        passed = [export(arg) for arg in args]
        named = {key: export(value) for key, value in kwargs.items()}
        result = retried(source, (self, *passed), named)
        return same(result, (*args, *kwargs.values()), (*passed, *named.values()))

    call.__name__ = name
    call.__qualname__ = f"{base.__name__}.{name}"
    call.__doc__ = with_way(source.__doc__, NUMPY)
    guard = PLAINLY if calls_others else ANY if draw is None else FEW
    served: Callable[..., Any] = drawing(call, source, guard, draw_for_package, _plain)
    if served is not call:
        for attribute in ("__name__", "__qualname__", "__doc__"):
            served.__dict__[attribute] = getattr(call, attribute)
    return served


def _plain(generator: Any) -> Any:
    """NumPy's own generator of the same stream, whose methods give one another NumPy's arrays; None of a subclass."""
    if type(generator).__base__ is not np.random.Generator:
        return None
    known = generator.__dict__
    bits = generator.bit_generator
    found = known.get("_plain")
    if found is None or found.bit_generator is not bits:
        found = known["_plain"] = np.random.Generator(bits)
    return found


def _shuffling(source: Callable[..., Any]) -> Callable[..., Any]:
    """`shuffle`, which moves the items of any sequence: a list is passed as it is, not as a copy."""

    def shuffle(*args: Any, **kwargs: Any) -> Any:
        own = ndarray, LazyScalar
        passed = [export(arg) if type(arg) in own else arg for arg in args]
        return source(*passed, **{key: export(item) if type(item) in own else item for key, item in kwargs.items()})

    shuffle.__doc__ = with_way(source.__doc__, NUMPY)
    return shuffle


class _Accepting(type):
    """Makes NumPy's instances instances of the class that stands for theirs."""

    _source: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, cls._source)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, cls._source)


def _seeded(base: type) -> type:
    """A class of bit generators whose seeds may be lazyarray's arrays; its instances are NumPy's."""

    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        given, named = export(args), export(kwargs)
        return base(*given, **named) if cls is made else base.__new__(cls, *given, **named)

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        above: Any = base
        above.__init__(self, *export(args), **export(kwargs))

    space = {
        "__new__": make,
        "__init__": init,
        "__module__": "lazyarray.random",
        "__doc__": base.__doc__,
        "_source": base,
    }
    made: type = _Accepting(base.__name__, (base,), space)
    return made


def _wrapped(base: type, reduce: Callable[[Any], Any]) -> type:
    """A subclass of a generator class whose methods take and give lazyarray's arrays."""
    space: dict[str, Any] = {
        name: _method(base, name)
        for name in dir(base)
        if not name.startswith("_") and callable(getattr(base, name)) and name not in _PLAIN
    }
    space.update(__module__="lazyarray.random", __doc__=base.__doc__, __reduce__=reduce)
    space["_source"] = base
    return _Accepting(base.__name__, (base,), space)


_SEEDED = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")
_PLAIN = frozenset({"spawn", "get_state", "set_state", "seed", "bit_generator"})


def _reduce_generator(self: Any) -> Any:
    return generator_of, (self.bit_generator,), None


def _reduce_state(self: Any) -> Any:
    return state_of, (self._bit_generator,), self.get_state(legacy=False)


def generator_of(bit_generator: Any = "MT19937") -> Any:
    """A `Generator` out of a pickle, where NumPy's older ones have the name of the bit generator only."""
    return _made("Generator", bit_generator)


def state_of(bit_generator: Any = "MT19937") -> Any:
    """A `RandomState` out of a pickle."""
    return _made("RandomState", bit_generator)


def _made(name: str, bit_generator: Any) -> Any:
    import lazyarray.random as module  # layer: the module made of this one

    bits = getattr(np.random, bit_generator)() if isinstance(bit_generator, str) else bit_generator
    return getattr(module, name)(bits)


def extend() -> dict[str, Any]:
    """The names that `lazyarray.random` has of its own."""
    generator = _wrapped(np.random.Generator, _reduce_generator)

    def spawn(self: Any, n_children: int) -> list[Any]:
        return [generator(bits) for bits in self.bit_generator.spawn(n_children)]

    generator.spawn = spawn  # type: ignore[attr-defined]

    def default_rng(seed: Any = None) -> Any:
        given = export(seed)
        if isinstance(given, generator):
            return given
        made = np.random.default_rng(given)
        if isinstance(given, np.random.RandomState) or type(made) is np.random.Generator:
            return generator(made.bit_generator)
        return made

    functions = {
        "shuffle": describe(_shuffling(np.random.shuffle), np.random.shuffle, "random.shuffle"),
        **{name: _seeded(getattr(np.random, name)) for name in _SEEDED},
        "default_rng": describe(default_rng, np.random.default_rng, "random.default_rng"),
    }
    told = {name: tell(made, getattr(np.random, name), NUMPY) for name, made in functions.items()}
    state = Later(lambda: _wrapped(np.random.RandomState, _reduce_state))
    return {"Generator": generator, "RandomState": state, **told}
