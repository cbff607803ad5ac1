"""Owns `lazyarray.random`: NumPy's generators, hence its streams, that take and give lazyarray's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyarray.frontend.dispatch import adopt, describe, export, same


def _method(base: type, name: str) -> Callable[..., Any]:
    source = getattr(base, name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        passed = [export(arg) for arg in args]
        named = {key: export(value) for key, value in kwargs.items()}
        result = source(self, *passed, **named)
        if not args and not kwargs:
            return adopt(result)
        return same(result, (*args, *kwargs.values()), (*passed, *named.values()))

    call.__name__ = name
    call.__qualname__ = f"{base.__name__}.{name}"
    call.__doc__ = source.__doc__
    return call


def _wrapped(base: type, reduce: Callable[[Any], Any]) -> type:
    """A subclass of a generator class whose methods take and give lazyarray's arrays."""
    space: dict[str, Any] = {
        name: _method(base, name)
        for name in dir(base)
        if not name.startswith("_") and callable(getattr(base, name)) and name not in _PLAIN
    }
    space.update(__module__="lazyarray.random", __doc__=base.__doc__, __reduce__=reduce)
    return type(base.__name__, (base,), space)


_PLAIN = frozenset({"spawn", "get_state", "set_state", "seed", "bit_generator"})


def _reduce_generator(self: Any) -> Any:
    return rebuild, ("Generator", self.bit_generator, None)


def _reduce_state(self: Any) -> Any:
    return rebuild, ("RandomState", self._bit_generator, self.get_state(legacy=False))


def rebuild(name: str, bit_generator: Any, state: Any) -> Any:
    """A generator out of a pickle."""
    import lazyarray.random as module  # type: ignore[import-not-found]  # layer: the module made of this one

    made = getattr(module, name)(bit_generator)
    if state is not None:
        made.set_state(state)
    return made


def extend() -> dict[str, Any]:
    """The names that `lazyarray.random` has of its own."""
    generator = _wrapped(np.random.Generator, _reduce_generator)
    state = _wrapped(np.random.RandomState, _reduce_state)

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

    return {
        "Generator": generator,
        "RandomState": state,
        "default_rng": describe(default_rng, np.random.default_rng, "random.default_rng"),
    }
