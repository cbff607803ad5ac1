"""Owns the lines that warnings name: the user's, though lazyarray's frames lie between him and NumPy.

NumPy's C code warns at the innermost Python frame, which is one of lazyarray's.  Such a warning is sent again from
the first frame outside, under that place's filters and registry.  A place of lazyarray's own never counts as warned
of, so that no user's line is silenced by another's.

Entering and leaving `warnings.catch_warnings` evaluates what is pending and may warn: whether a warning is shown is
settled by where the operation is written.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from lazyarray.ir.node import Site

BEGINS: Final = "a catch_warnings block begins"
ENDS: Final = "a catch_warnings block ends"
_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__)) + "/"


class _Place(threading.local):
    site: Site | None = None


_place: Final = _Place()
_forgotten: Final[set[str]] = set()  # files of lazyarray's that remember nothing


def line_of(site: Site) -> int:
    """The line number of a site."""
    code, instruction, _ = site
    return next((n for a, b, n in code.co_lines() if a <= instruction < b and n is not None), code.co_firstlineno)


def warn_at(site: Site | None, message: Any, category: type[Warning]) -> None:
    """Warns as if the site's line had."""
    if site is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        _warn(message, category, site[0].co_filename, line_of(site), site[2])


def _warn(message: Any, category: type[Warning], file: str, line: int, space: dict[str, Any]) -> None:
    registry = space.setdefault("__warningregistry__", {})
    # The globals are not handed on, as in `warnings.warn`: their loader is asked for the source then, and the one of
    # `__main__` in the interpreter, or under `python -c`, raises ImportError.
    warnings.warn_explicit(message, category, file, line, space.get("__name__") or "<unknown>", registry)


class at:
    """Warnings of NumPy's inside the block name the site's line."""

    __slots__ = ("before", "site")

    def __init__(self, site: Site | None) -> None:
        self.site = site

    def __enter__(self) -> None:
        self.before = _place.site
        _place.site = self.site

    def __exit__(self, *_error: object) -> None:
        _place.site = self.before


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_globals.get("__name__") != "warnings":
            return frame
        frame = frame.f_back
    return None


def _sent_on(show: Callable[[Any], None]) -> Callable[[Any], None]:
    """`warnings._showwarnmsg`, with what names a line of lazyarray's sent again from the user's."""

    def show_at_user(message: Any) -> None:
        if str(message.filename).startswith(_PACKAGE):
            _forget(message.filename)
            if _place.site is not None:
                warn_at(_place.site, message.message, message.category)
                return
            frame = _user_frame()
            if frame is not None:
                file, line = frame.f_code.co_filename, frame.f_lineno
                _warn(message.message, message.category, file, line, frame.f_globals)
                return
        show(message)

    return show_at_user


def _forget(filename: str) -> None:
    """Lets the module at `filename` warn again: C code takes a registry of None for one that remembers nothing."""
    if filename in _forgotten:
        return
    _forgotten.add(filename)
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == filename:
            module.__dict__["__warningregistry__"] = None


def _before(method: Callable[..., Any], settle: Callable[[str], None], reason: str) -> Callable[..., Any]:
    """The method, after what is pending was evaluated; it runs even if that raises."""

    @functools.wraps(method)
    def evaluating(self: Any, *args: Any) -> Any:
        try:
            settle(reason)
        except BaseException:
            if method.__name__ == "__exit__":
                method(self, *args)
            raise
        return method(self, *args)

    evaluating.__module__ = __name__
    return evaluating


def install(settle: Callable[[str], None]) -> None:
    """Puts both in place, once; `settle(reason)` evaluates what is pending and may warn."""
    block: Any = warnings.catch_warnings
    if getattr(block.__exit__, "__module__", None) == __name__:
        return
    block.__enter__ = _before(block.__enter__, settle, BEGINS)
    block.__exit__ = _before(block.__exit__, settle, ENDS)
    setattr(warnings, "_showwarnmsg", _sent_on(warnings._showwarnmsg))  # type: ignore[attr-defined]  # noqa: B010
