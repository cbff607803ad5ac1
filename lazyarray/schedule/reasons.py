"""Owns why a root does not join a nest, as users read it."""

from __future__ import annotations

from typing import Final

LONGEST_ROW: Final = 65536  # elements of a row that stays in cache between the stages of one nest
APART: Final = "they have nothing in common"
OTHER_LOOPS: Final = "its loops have other extents"
SUMMED: Final = "NumPy's order of summation asks for it"
OTHER_AXES: Final = "it reduces other axes"
FULL: Final = "the nest before it takes nothing else"
ELSEWHERE: Final = "it reads other elements than the nest before has at that point, or what comes later"
SERIAL: Final = "a running value runs on one core along its axis"
NOT_YET: Final = "something that it reads must be in memory first"
DEAR: Final = "several nests would compute it again"
WRAPPED: Final = "the nest that reads it crosses where it wraps around"
LONG_ROWS: Final = f"a row of it would not stay in cache (more than {LONGEST_ROW} elements), or the rows are too few"
TOO_LONG: Final = "the nest would become too long to compile fast"
TOO_WIDE: Final = "the nest would read more of memory at once than the CPU fetches ahead"
NOUNS: Final = {
    "call": "a library call",
    "update": "a write into an array",
    "scatter": "a write at index arrays",
    "gather": "a read at index arrays",
    "compress": "a selection by a mask",
    "expand": "a write under a mask",
    "scan": "a running sum, product or extreme",
    "empty": "new memory",
}
