"""Owns how reports are spelled: bytes, times, and text in notebooks."""

from __future__ import annotations

import html


def bytes_text(count: float) -> str:
    """A number of bytes with a unit of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def seconds_text(seconds: float) -> str:
    """A time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale or unit == "us":
            return f"{seconds / scale:.3g} {unit}"
    raise AssertionError


def html_of(text: str) -> str:
    """Text as notebooks show it."""
    return f"<pre>{html.escape(text)}</pre>"
