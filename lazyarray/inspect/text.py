"""Owns how reports are spelled: bytes, times, tables of text and of HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


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


def page(title: str, *parts: str) -> str:
    """A report as notebooks show it: a line of text, and parts that are HTML already."""
    return f"<div><p>{html.escape(title)}</p>{''.join(parts)}</div>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML already; nothing where there are no rows."""
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    if not body:
        return ""
    return f"<table><thead><tr>{''.join(f'<th>{html.escape(h)}</th>' for h in heads)}</tr></thead>{body}</table>"
