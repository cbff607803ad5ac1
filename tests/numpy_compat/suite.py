"""Owns which tests of NumPy's suite take part: the files, the part held back, exclusions, the three modes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import platform
import re
from functools import cache
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]

MODES: Final[dict[str, dict[str, str]]] = {
    "default": {},
    "recorded": {"LAZYARRAY_EAGER_BELOW": "0"},
    "interpreter": {"LAZYARRAY_EAGER_BELOW": "0", "LAZYARRAY_BACKEND": "numpy"},
}

# Of the functions, how many are not run here; files.txt says why.
HELD_BACK_PERCENT: Final = 25


@cache
def wheel() -> Path:
    """The folder that holds the installed NumPy."""
    spec = importlib.util.find_spec("numpy")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).resolve().parents[1]


def read_lines(name: str) -> list[str]:
    """The lines of a list beside this file, without comments."""
    text = (HERE / name).read_text(encoding="utf-8")
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def find_files(wanted: list[str] | None = None) -> list[str]:
    """The test files by their path below the wheel; `wanted` are parts of their names.

    Files listed with a plus are run when they are wanted only.
    """
    listed = [line.rpartition(" ") for line in read_lines("files.txt")]
    files = [file for plus, _, file in listed if (wanted or not plus) and (wheel() / file).is_file()]
    return [file for file in files if not wanted or any(Path(file).stem == part or part in file for part in wanted)]


def function_of(test: str) -> str:
    """A test without its parameters."""
    return test.partition("[")[0]


def is_chosen(test: str, names: str) -> bool:
    """Whether a test is among, or below, the classes and functions that `names` lists; without names all are."""
    inside = function_of(test).partition("::")[2]
    return not names or any(inside == name or inside.startswith(f"{name}::") for name in names.split())


def held_back(test: str) -> bool:
    """Whether a test function belongs to the quarter that is not run here."""
    digest = hashlib.sha256(function_of(test).encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < HELD_BACK_PERCENT


@cache
def exclusions() -> tuple[tuple[str, re.Pattern[str] | None, str], ...]:
    """Pattern, its expression where it has stars, and the reason."""
    found: list[tuple[str, re.Pattern[str] | None, str]] = []
    for line in read_lines("exclusions.txt"):
        pattern, _, reason = (part.strip() for part in line.partition("  #"))
        if not reason:
            raise ValueError(f"exclusions.txt: no reason for {pattern}")
        expression = re.compile(".*".join(map(re.escape, pattern.split("*")))) if "*" in pattern else None
        found.append((pattern, expression, reason))
    return tuple(found)


def exclusion(test: str) -> str | None:
    """Why a test is not asked of lazyarray; None where it is."""
    function = function_of(test)
    for pattern, expression, reason in exclusions():
        if expression is not None:
            if expression.fullmatch(test):
                return reason
        elif test == pattern or function == pattern or function.startswith(pattern + "::"):
            return reason
    return None


def versions() -> dict[str, str]:
    """What a baseline depends on."""
    return {
        "numpy": importlib.metadata.version("numpy"),
        "pytest": importlib.metadata.version("pytest"),
        "hypothesis": importlib.metadata.version("hypothesis"),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
