"""Owns the user's lines as reports show them: file, number and text of the place where an operation was written."""

from __future__ import annotations

import dis
import linecache
from typing import NamedTuple

from lazyarray.ir.node import Site
from lazyarray.runtime.warned import line_of


class Line(NamedTuple):
    """A line of the user's program; `text` is empty where the source cannot be read."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.number}"
        return f"{place}  {self.text}" if self.text else place


def find_line(site: Site | None) -> Line | None:
    """The line of a site, or None where none is known."""
    if site is None:
        return None
    file, number = site[0].co_filename, line_of(site)
    return Line(file, number, linecache.getline(file, number, site[2]).strip())


def is_assignment(site: Site | None) -> bool:
    """True when the program assigns to an item there (and does not call a function that does, say)."""
    if site is None:
        return False
    code, at = site[0].co_code, site[1]
    while dis.opname[code[at]] == "CACHE":  # of the instruction before
        at -= 2
    return dis.opname[code[at]] in ("STORE_SUBSCR", "STORE_SLICE")  # slices have an instruction of their own since 3.12
