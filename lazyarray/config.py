"""Owns the settings: their types, defaults, environment variables (read once, at import) and checks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Literal

from lazyarray.errors import ConfigError

Numerics = Literal["fast", "numpy"]

DEBUG_STAGES: Final = ("graph", "passes", "plan", "kernels", "asm", "cache", "fallback")
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _refuse(name: str, value: object, wanted: str) -> ConfigError:
    return ConfigError(f"lazyarray setting {name!r}: {value!r} is not {wanted}")


def _name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _refuse(name, value, "a name")
    return value


def _numerics(name: str, value: Any) -> Numerics:
    if value == "fast":
        return "fast"
    if value == "numpy":
        return "numpy"
    raise _refuse(name, value, "'fast' or 'numpy'")


def _count(name: str, value: Any) -> int:
    try:
        number = int(value) if isinstance(value, str) else value.__index__()
    except (ValueError, AttributeError, TypeError):
        raise _refuse(name, value, "a whole number") from None
    if number < 0:
        raise _refuse(name, value, "0 or more")
    return int(number)


def _number(name: str, value: Any) -> int:
    number = _count(name, value)
    if number == 0:
        raise _refuse(name, value, "1 or more")
    return number


def _threads(name: str, value: Any) -> int | None:
    if value is None or value == "":
        return None
    return _number(name, value)


def _bytes(name: str, value: Any) -> int | None:
    """A number of bytes: "2G", "512MiB", 1073741824; None leaves the choice to the runtime."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        text = value.strip().upper().removesuffix("B").removesuffix("I")
        unit = text[-1:] if text[-1:] in _UNITS and not text[-1:].isdigit() else ""
        try:
            number = float(text.removesuffix(unit)) if unit else int(text)
        except ValueError:
            raise _refuse(name, value, "a number of bytes like 1073741824, 512M or 2G") from None
        value = int(number * _UNITS[unit])
    return _count(name, value)


def _folder(name: str, value: Any) -> str:
    if value is None or value == "":
        return _default_cache_dir()
    try:
        return str(os.path.expanduser(os.fspath(value)))
    except TypeError:
        raise _refuse(name, value, "a folder") from None


def _switch(name: str, value: Any) -> bool:
    if isinstance(value, str):
        value = {"": False, "0": False, "1": True}.get(value, value)
    if value is True or value is False:
        return bool(value)
    raise _refuse(name, value, "True or False (1 or 0 in the environment)")


def _optional_folder(name: str, value: Any) -> str | None:
    return None if value is None or value == "" else _folder(name, value)


def _stages(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    stages = tuple(value)
    for stage in stages:
        if stage not in DEBUG_STAGES:
            raise _refuse(name, stage, "one of " + ", ".join(DEBUG_STAGES))
    return stages


def _default_cache_dir() -> str:
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    elif sys.platform == "darwin":
        root = os.path.expanduser("~/Library/Caches")
    else:
        root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(root, "lazyarray")


_CHECKS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "backend": _name,
    "device": _name,
    "eager_below": _count,
    "compile_at": _number,
    "numerics": _numerics,
    "num_threads": _threads,
    "cache_dir": _folder,
    "memory_budget": _bytes,
    "debug": _stages,
    "dump": _optional_folder,
    "progress": _switch,
}
_DEFAULTS: Final[dict[str, Any]] = {
    "backend": "llvm",
    "device": "cpu",
    "eager_below": 65536,
    "compile_at": 3,
    "numerics": "fast",
    "num_threads": None,
    "cache_dir": None,
    "memory_budget": None,
    "debug": (),
    "dump": None,
    "progress": False,
}


class Config:
    """The settings in force. Assigning a field checks it; `set` changes fields for the length of a `with` block."""

    __slots__ = tuple(_CHECKS)

    backend: str
    device: str
    eager_below: int
    compile_at: int  # the evaluation of a cheap expression from which on it may be compiled
    numerics: Numerics
    num_threads: int | None  # None: one per CPU core that the process may use
    cache_dir: str
    memory_budget: int | None  # bytes that pending expressions may pin; None: chosen by the runtime
    debug: tuple[str, ...]
    dump: str | None  # folder for debug output; None: standard error
    progress: bool  # a bar for evaluations beyond 2 s

    followers: ClassVar[list[Callable[[], None]]] = []  # called when settings have changed

    def __init__(self, environment: Mapping[str, str]) -> None:
        for name, default in _DEFAULTS.items():
            setattr(self, name, environment.get("LAZYARRAY_" + name.upper(), default))

    def __setattr__(self, name: str, value: Any) -> None:
        check = _CHECKS.get(name)
        if check is None:
            raise ConfigError(f"lazyarray has no setting {name!r}; it has {', '.join(_CHECKS)}")
        object.__setattr__(self, name, check(name, value))
        for follow in self.followers:
            follow()

    @contextmanager
    def set(self, **changes: Any) -> Iterator[Config]:
        """Settings changed for the length of the block; all are checked before any is changed."""
        checked = Config({})
        for name, value in changes.items():
            setattr(checked, name, value)
        before = {name: getattr(self, name) for name in changes}
        self._take({name: getattr(checked, name) for name in changes})
        try:
            yield self
        finally:
            self._take(before)

    def _take(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            object.__setattr__(self, name, value)
        for follow in self.followers:
            follow()

    def __repr__(self) -> str:
        return "Config(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in _CHECKS) + ")"


config: Final = Config(os.environ)
