"""Owns docs/coverage.md: how every public name of NumPy runs, read from the code and checked by running it.

python -m tests.numpy_compat.coverage           compares the page with the code and with what runs
python -m tests.numpy_compat.coverage --write   writes the page
python -m tests.numpy_compat.coverage --name N  says what one name runs
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import numpy

import lazyarray
from lazyarray.frontend import manipulation, namespace, ways
from lazyarray.frontend.ufunc import ufunc
from tests.numpy_compat import calls, suite

PAGE: Final = suite.ROOT / "docs" / "coverage.md"

# Attributes of arrays that are views, and so record whatever they are asked of.
VIEWING_MEMBERS: Final = frozenset(
    """
    T mT real imag diagonal reshape ravel squeeze swapaxes transpose view copy flatten astype conj conjugate getfield
    to_device
    """.split()
)
VIEWS: Final = VIEWING_MEMBERS.union(manipulation.VIEWING, ("broadcast_arrays", "broadcast_to", "diag"))

MODULES: Final = """
    linalg fft random ma ma.mrecords char strings rec polynomial polynomial.polynomial polynomial.chebyshev
    polynomial.legendre polynomial.hermite polynomial.hermite_e polynomial.laguerre polynomial.polyutils lib
    lib.array_utils lib.format lib.introspect lib.mixins lib.npyio lib.recfunctions lib.scimath lib.stride_tricks
    lib.user_array testing testing.overrides emath dtypes exceptions typing ctypeslib matlib f2py version
    """.split()

CUPY: Final = "CuPy"
COMPILED, VIEW, LIBRARY, REBASED, BOUNDARY, ABOUT, NUMPY, UNCOUNTED, OWN, SAME, MODULE = (
    "compiled",
    "view",
    "library",
    "NumPy's Python code",
    "boundary",
    "no values",
    "NumPy",
    "NumPy, not counted",
    "own class",
    "same object",
    "module",
)
MEANING: Final = {
    COMPILED: "Records; evaluation runs compiled kernels.",
    VIEW: "Records a view, or shares a value until it is written to; nothing is computed.",
    LIBRARY: "Records; evaluation calls a library (BLAS through NumPy) on evaluated operands, and is counted.",
    BOUNDARY: "Evaluates the array and hands out its values or its memory ([which do](evaluation.md)).",
    REBASED: "NumPy's own Python function, with lazyarray's functions for what it calls: records what those record. "
    "Where part of it is NumPy's on large arrays, the page says which.",
    ABOUT: "Looks at dtypes and shapes: evaluates nothing.",
    NUMPY: "Arguments are evaluated and NumPy runs; the result is wrapped. Counted as a fallback.",
    UNCOUNTED: "NumPy runs and the result is wrapped; nothing that could be compiled is lost: random streams, text, "
    "dates, files, what takes no array.",
    OWN: "A class or object of lazyarray's in the place of NumPy's.",
    SAME: "NumPy's own object: classes, constants, dtypes, exceptions, settings.",
    MODULE: "A module of lazyarray's over NumPy's.",
}
ON_A_GPU: Final = {
    COMPILED: "Records; evaluation runs Triton's kernels. What Triton refuses runs on the CPU, on copies.",
    LIBRARY: "Records; evaluation calls cuBLAS through CuPy.",
    CUPY: "Arguments are evaluated and stay on the GPU. CuPy runs where it means what NumPy means, else NumPy runs.",
    NUMPY: "Arguments are evaluated and copied to the host, where NumPy runs. Transfers are counted.",
}


def read_served() -> frozenset[str]:
    """The names that CuPy serves on a GPU. The table needs no CuPy to be read, and is read again where one is."""
    with patch.dict(sys.modules):
        if importlib.util.find_spec("cupy") is None:
            sys.modules["cupy"] = ModuleType("cupy")
        return frozenset(importlib.import_module("lazyarray_cupy.functions").FUNCTIONS)


SERVED: Final = read_served()


@dataclass(frozen=True)
class Row:
    """One name: where it is, how it runs, and what of it runs in NumPy."""

    module: str
    name: str
    way: str
    inside: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}" if self.module else self.name

    @property
    def on_gpu(self) -> str:
        """How it runs on arrays that live on a GPU."""
        served = self.path.removeprefix("ndarray.") in SERVED
        return CUPY if served and self.way == NUMPY else self.way


class Mismatch(AssertionError):
    """What ran is not what the code declares."""


# ---- which names there are


def modules_of(path: str) -> tuple[Any, Any]:
    """NumPy's module and lazyarray's."""
    return calls.find(numpy, path), calls.find(lazyarray, path)


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: `__all__`, and functions and classes that are its own beside it."""
    listed = {name for name in getattr(module, "__all__", ()) if not name.startswith("_")}
    for name in dir(module):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        if module.__name__ == "numpy.matlib" and getattr(numpy, name, None) is value:
            listed.discard(name)  # it holds all names of numpy beside its own
            continue
        if isinstance(value, ModuleType) and not value.__name__.startswith("numpy"):
            continue  # a module of the standard library that NumPy imported
        if module is numpy or not listed or str(getattr(value, "__module__", "")).startswith("numpy"):
            listed.add(name)
    return sorted(listed)


def missing() -> list[str]:
    """Public names of NumPy's that lazyarray does not have."""
    absent: list[str] = []
    for path in ("", *MODULES):
        theirs, ours = modules_of(path)
        absent += [f"{path}.{name}".lstrip(".") for name in public_names(theirs) if not hasattr(ours, name)]
    absent += [f"ndarray.{name}" for name in members(numpy.ndarray) if not hasattr(lazyarray.ndarray, name)]
    absent += [f"ufunc.{name}" for name in members(numpy.ufunc) if not hasattr(lazyarray.add, name)]
    return absent


def members(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


# ---- what the code declares


def declared(path: str, name: str) -> str:
    """How a name runs, from the tables that the namespace is made from; recorded ones are told apart by running."""
    theirs, ours = (getattr(module, name) for module in modules_of(path))
    if isinstance(theirs, ModuleType):
        return MODULE
    if ours is theirs:
        return SAME
    if isinstance(ours, ufunc):
        return COMPILED
    public = name if not path else public_name(ours)
    if public is not None:
        return declared_public(public)
    dotted = f"{ours_of(path)}.{name}"
    if dotted == manipulation.WINDOWS:
        return COMPILED
    if dotted in namespace.RECORDED_MEMBERS:
        return REBASED if ways.way_of_recorded(dotted) == ways.REBASED else COMPILED
    if dotted in namespace.REBASED_MEMBERS:
        return REBASED
    if isinstance(theirs, type):
        return OWN
    return UNCOUNTED if path.partition(".")[0] in namespace.UNCOUNTED else NUMPY


def ours_of(path: str) -> str:
    """The path that a module has of its own: `emath` is `lib.scimath`."""
    return str(modules_of(path)[0].__name__).partition(".")[2]


def declared_public(name: str) -> str:
    """The same for a name of the top level."""
    if name in namespace.OBJECTS or isinstance(getattr(numpy, name), type):
        return OWN
    if name in namespace.REBASED or name in namespace.WITH_LOOPS:
        return REBASED
    if name in namespace.BY_DTYPE or name in namespace.SAME or name in ("shape", "ndim", "size"):
        return ABOUT
    recorded = (namespace.RECORDED, namespace._NEW, manipulation.UNCONDITIONAL, manipulation.VIEWING)
    return COMPILED if any(name in table for table in recorded) else NUMPY


def public_name(ours: Any) -> str | None:
    """The name at the top level of the very same object."""
    name = getattr(ours, "__name__", "")
    return name if name in numpy.__all__ and getattr(lazyarray, name, None) is ours else None


# ---- what runs


def observed(way: str, runs: Any, path: str) -> tuple[str, tuple[str, ...]]:
    """The way that a run shows, which the declared one must allow."""
    name = path.rpartition(".")[2]
    inside = tuple(sorted(runs.fallbacks))
    if way == REBASED:
        return REBASED, inside
    if way == NUMPY:
        if not inside and (runs.kernels or runs.library_runs):
            raise Mismatch(f"{path}: meant to be NumPy's, but {describe(runs)}")
        return (NUMPY if inside else UNCOUNTED), ()
    if way == ABOUT:
        if inside or runs.kernels or runs.library_runs:
            raise Mismatch(f"{path}: meant to evaluate nothing, but {describe(runs)}")
        return ABOUT, ()
    if inside:
        if (runs.kernels or runs.library_runs) and not path.startswith("ndarray."):
            raise Mismatch(f"{path}: meant to be recorded, but {describe(runs)}")
        return NUMPY, ()
    if runs.library_runs:
        return LIBRARY, ()
    computed = any(kernel.ops or name not in VIEWS for kernel in runs.kernels)  # a view may be copied to be evaluated
    return (COMPILED if computed else VIEW), ()


def describe(runs: Any) -> str:
    """What a recording holds, in a line."""
    ops = sorted({op for kernel in runs.kernels for op in kernel.ops})
    return f"kernels {ops}, library {sorted(set(runs.library_calls))}, fallbacks {sorted(runs.fallbacks)}"


def row_of(path: str, name: str) -> Row:
    """One name, run where its way is settled by running."""
    way = declared(path, name)
    if way in (SAME, MODULE, OWN, UNCOUNTED):
        return Row(path, name, way)
    dotted = f"{path}.{name}" if path else name
    if dotted in calls.NOT_RUN or path in calls.NOT_RUN:
        return Row(path, name, UNCOUNTED)
    way, inside = observed(way, calls.run(path, name), dotted)
    if way == VIEW and isinstance(getattr(modules_of(path)[1], name), ufunc):
        way = UNCOUNTED  # a ufunc gives no views: NumPy ran, on a dtype that is never compiled
    return Row(path, name, way, inside)


def rows_of_modules(paths: tuple[str, ...] = ("", *MODULES)) -> Iterator[Row]:
    for path in paths:
        for name in public_names(modules_of(path)[0]):
            yield row_of(path, name)


def rows_of_members() -> Iterator[Row]:
    """Methods and attributes of arrays, then those of ufuncs."""
    yield from map(row_of_method, members(numpy.ndarray))
    for name in members(numpy.ufunc):
        way, inside = observed(COMPILED, calls.run_ufunc_method(name), f"ufunc.{name}")
        yield Row("ufunc", name, ABOUT if way == VIEW else way, inside)


def row_of_method(name: str) -> Row:
    """One method or attribute of arrays."""
    way, inside = observed(COMPILED, calls.run_method(name), f"ndarray.{name}")
    if way == VIEW and name not in VIEWING_MEMBERS:
        runs, gives_array = calls.run_pending_method(name)
        if gives_array:
            way = NUMPY if runs.fallbacks else UNCOUNTED if runs.evaluations else COMPILED
        else:
            way = BOUNDARY if runs.evaluations else ABOUT
    return Row("ndarray", name, way, inside)


# ---- the page


def page(rows: list[Row]) -> str:
    """The page as Markdown."""
    top = numpy.__version__.rpartition(".")[0]
    counts = {way: sum(row.way == way for row in rows) for way in MEANING}
    lines = [
        "# How every name runs",
        "",
        "`python -m tests.numpy_compat.coverage --write` made this page from the code and from a run of each name on",
        f"large arrays; a test compares them. It is the namespace of NumPy {top}: {len(rows)} names, none missing.",
        "",
        "| on the CPU | names | what it means |",
        "| --- | ---: | --- |",
        *(f"| {way} | {counts[way]} | {MEANING[way]} |" for way in MEANING),
        "",
        "On arrays that [live on a GPU](gpu.md) these are other, as `lazyarray_cupy/functions.py` declares; the rest",
        "is the same:",
        "",
        "| on a GPU | names | what it means |",
        "| --- | ---: | --- |",
        *(f"| {way} | {sum(row.on_gpu == way for row in rows)} | {ON_A_GPU[way]} |" for way in ON_A_GPU),
        "",
        "Small arrays run in NumPy at once in all of these ways ([when does it evaluate](evaluation.md)), and so do",
        "arrays of dtypes that are never compiled (strings, objects, dates, structures). A call with arguments that",
        "only NumPy serves falls back and is counted; `LAZYARRAY_DEBUG=fallback` names each one. Operators are their",
        "ufuncs.",
        "",
    ]
    for place in dict.fromkeys(row.module for row in rows):
        lines += [f"## {title(place)}", "", "| on the CPU | on a GPU | names |", "| --- | --- | --- |"]
        for way, on_gpu in product(MEANING, (*MEANING, CUPY)):
            names = [row for row in rows if (row.module, row.way, row.on_gpu) == (place, way, on_gpu)]
            if names:
                lines.append(f"| {way} | {on_gpu} | {', '.join(cell(row) for row in names)} |")
        lines.append("")
    return "\n".join(lines)


def title(place: str) -> str:
    return {
        "": "numpy",
        "ndarray": "Methods and attributes of arrays",
        "ufunc": "Methods and attributes of ufuncs",
    }.get(place, f"numpy.{place}")


def cell(row: Row) -> str:
    return f"`{row.name}`" + (f" ({', '.join(row.inside)} in NumPy)" if row.inside else "")


def read_page() -> tuple[str, list[Row]]:
    """NumPy's version and the rows of the page as it is written."""
    text = PAGE.read_text(encoding="utf-8")
    version = re.search(r"namespace of NumPy (\S+):", text)
    assert version is not None
    places = {title(place): place for place in ("", "ndarray", "ufunc", *MODULES)}
    rows: list[Row] = []
    for section in text.split("\n## ")[1:]:
        place = places[section.partition("\n")[0]]
        for way, names in re.findall(r"^\| ([^|`]+) \| [^|`]+ \| (`.*) \|$", section, re.MULTILINE):
            for name, inside in re.findall(r"`(\w+)`(?: \(([^)]*) in NumPy\))?", names):
                rows.append(Row(place, name, way, tuple(inside.split(", ")) if inside else ()))
    return version[1], rows


def allows(way: str) -> frozenset[str]:
    """What a run may show of a name that the code declares to run in a way."""
    if way == COMPILED:
        return frozenset({COMPILED, VIEW, LIBRARY, NUMPY, UNCOUNTED})
    return frozenset({NUMPY, UNCOUNTED}) if way == NUMPY else frozenset({way})


def all_rows() -> list[Row]:
    return [*rows_of_modules(), *rows_of_members()]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_compat.coverage", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--name", metavar="NAME", help="say what one name runs")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    lazyarray.config.eager_below = 4096  # as in tests: the arrays of `calls.py` are to be recorded
    if options.name:
        path, _, name = options.name.rpartition(".")
        print(declared(path, name), "|", describe(calls.run(path, name)))
        return 0
    absent = missing()
    if absent:
        print("missing:", *absent)
    made = page(all_rows())
    if options.write:
        PAGE.write_text(made, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != made:
        print("docs/coverage.md is out of date: write it with --write")
        return 1
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
