"""Owns lazyarray's own exceptions; what NumPy would raise is raised as NumPy's class and not listed here."""

from __future__ import annotations


class LazyArrayError(Exception):
    """The root of every exception that only lazyarray raises."""


class ConfigError(LazyArrayError, ValueError):
    """A setting has no such name or no such value."""


class BackendError(LazyArrayError):
    """A backend is missing, or cannot do what it was asked."""


class CompileError(BackendError):
    """A backend could not compile a kernel."""


class EvaluationError(LazyArrayError, RuntimeError):
    """Evaluating a recorded expression failed; the message names the line that recorded it."""


class StrictError(LazyArrayError, RuntimeError):
    """Under `lazyarray.strict()`: a fallback or an unplanned evaluation."""


class VerifyError(LazyArrayError, RuntimeError):
    """Under `lazyarray.verify()`: compiled code gave another result than NumPy."""


class InspectError(LazyArrayError, TypeError):
    """A report was asked of something that it cannot speak of."""


class DeviceMemoryError(LazyArrayError, MemoryError):
    """A device has no room for a buffer."""
