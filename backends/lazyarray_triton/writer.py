"""Owns the text of one function: lines at a depth, and the values that they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from lazyarray_triton.codes import PARTS, VALUE

Axes = frozenset[str]
NONE: Final[Axes] = frozenset()
X: Final[Axes] = frozenset("x")
Y: Final[Axes] = frozenset("y")
BOTH: Final[Axes] = X | Y


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a kernel in a function: its name (two for complex ones), dtype, and the tile axes it varies along."""

    refs: tuple[str, ...]
    code: str
    axes: Axes

    @property
    def ref(self) -> str:
        (only,) = self.refs
        return only


class Writer:
    """Lines of Python, indented."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.modules: set[str] = set()  # device modules that the lines name
        self._depth = 1
        self._counts: dict[str, int] = {}

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def comment(self, text: str) -> None:
        self.line(f"# {text}")

    def fresh(self, stem: str) -> str:
        """A name that no line uses yet."""
        count = self._counts[stem] = self._counts.get(stem, -1) + 1
        return f"{stem}_{count}" if count else stem

    def call(self, function: str, *arguments: str) -> str:
        """A call of a device function `module.name`."""
        self.modules.add(function.partition(".")[0])
        return f"{function}({', '.join(arguments)})"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    # -- values -------------------------------------------------------------------------------------------------
    def define(self, name: str, code: str, axes: Axes, expression: str) -> Value:
        """Assigns an expression (a pair for complex dtypes) to a name, or to its two parts."""
        refs = (f"{name}r", f"{name}i") if code in PARTS else (name,)
        self.line(f"{', '.join(refs)} = {expression}")
        return Value(refs, code, axes)

    def to(self, value: Value, code: str) -> Value:
        """A real value in another dtype, without NumPy's special cases."""
        return value if value.code == code else Value((f"{value.ref}.to({VALUE[code]})",), code, value.axes)
