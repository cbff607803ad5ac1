"""Owns lazyarray's submodules: `lazyarray.linalg`, `.fft`, `.random`, `.lib.stride_tricks`, ... over NumPy's.

Each is a module object that resolves names when first asked: a public object of NumPy's namespace is lazyarray's
own, a function is wrapped (arguments exported, results wrapped), everything else is NumPy's.  A finder on
`sys.meta_path` makes them importable under their names; modules of the package come before them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

PACKAGE: Final = "lazyarray"
SOURCE: Final = "numpy"

# What the import system gives a module itself: with NumPy's path it would load NumPy's files again.
_MACHINERY: Final = frozenset({"__path__", "__file__", "__cached__"})

Wrap = Callable[[str, Any], Any]
Extend = Callable[[], dict[str, Any]]

# What a submodule has of its own, by the name below the package: made when the submodule is first used.
EXTENSIONS: dict[str, Extend] = {}
_wrap: Wrap | None = None


class Later:
    """What an extension makes when it is first asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def configure(wrap: Wrap) -> None:
    """Sets how an object of NumPy's (with its name below the package) becomes lazyarray's."""
    global _wrap
    _wrap = wrap


_RESOLVERS: Final = frozenset({"__getattr__", "__dir__"})


def _module(name: str, source: ModuleType) -> ModuleType:
    """A module of NumPy as a module of lazyarray.

    Of Python's own class of modules: of what derives from it attributes take three times as long.
    """
    module = ModuleType(name, source.__doc__)
    tail = name.partition(".")[2]
    above = tail.rpartition(".")[0]
    own = module.__dict__

    def resolve(asked: str) -> Any:
        if asked in _MACHINERY:
            raise AttributeError(f"module {name!r} has no attribute {asked!r}")
        if asked in later:
            return own.setdefault(asked, later[asked].make())
        try:
            value = getattr(source, asked)
        except AttributeError:
            raise AttributeError(f"module {name!r} has no attribute {asked!r}") from None
        if above in EXTENSIONS and getattr(sys.modules[f"{SOURCE}.{above}"], asked, None) is value:
            value = getattr(submodule(above), asked)  # `random.mtrand.RandomState` is that of `random`
        else:
            value = convert(f"{tail}.{asked}", value)
        if asked in source.__dict__:  # else NumPy's own `__getattr__` gave it, which may warn each time
            own[asked] = value
        return value

    def names() -> list[str]:
        return sorted({*dir(source), *(own.keys() - _RESOLVERS)})

    names_of_all = getattr(source, "__all__", None)
    if names_of_all is not None:
        own["__all__"] = list(names_of_all)
    extend = EXTENSIONS.get(tail)
    later: dict[str, Later] = {}
    if extend is not None:
        for known, value in extend().items():
            (later if type(value) is Later else own)[known] = value
    own["__getattr__"], own["__dir__"] = resolve, names
    return module


def convert(name: str, value: Any) -> Any:
    """The object of lazyarray that stands for NumPy's; `name` is its dotted name below the package."""
    if isinstance(value, ModuleType):
        if value.__name__ == SOURCE or value.__name__.startswith(SOURCE + "."):
            return submodule(value.__name__.partition(".")[2])
        return value
    assert _wrap is not None
    return _wrap(name, value)


def submodule(tail: str) -> ModuleType:
    """The module `lazyarray.<tail>`, which must exist in NumPy."""
    name = f"{PACKAGE}.{tail}" if tail else PACKAGE
    found = sys.modules.get(name)
    return found if found is not None else importlib.import_module(name)


class NamesakeFinder:
    """Finds and loads `lazyarray.x` where only NumPy has a module `x`.

    Without the abstract classes of `importlib.abc`, whose import costs more than all of this module's.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        head, _, tail = fullname.partition(".")
        if head != PACKAGE or not tail:
            return None
        own = PathFinder.find_spec(fullname, path, target)
        if own is not None and own.loader is not None:
            return own
        # Otherwise nothing is there, or a folder of stubs, which Python would take for a namespace package.
        from importlib.util import find_spec

        try:
            source = find_spec(f"{SOURCE}.{tail}")
        except ModuleNotFoundError:
            return None
        if source is None:
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=source.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        # `configure` and the extensions come with the namespace, which `import lazyarray.random` alone does not load.
        importlib.import_module(f"{PACKAGE}.frontend.namespace")
        source = importlib.import_module(f"{SOURCE}.{spec.name.partition('.')[2]}")
        return _module(spec.name, source)

    def exec_module(self, module: ModuleType) -> None:
        return None


def install() -> None:
    """Makes the submodules importable."""
    if not any(isinstance(finder, NamesakeFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, NamesakeFinder())
