"""Owns the graphs that `visualize` draws: what was recorded, and the plan with its kernels as clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from lazyarray.inspect.ahead import Made
from lazyarray.inspect.lines import Line, find_line
from lazyarray.inspect.text import bytes_text
from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import IndexMap, c_strides, is_identity, size_of
from lazyarray.ir.node import Library, Shape
from lazyarray.schedule.plan import CallStep, ClaimStep, KernelStep, Plan

_LONGEST: Final = 44  # characters of a source line in a drawing


@dataclass(slots=True)
class Vertex:
    """One value. `role`: "input", "operation", "memory" (a value that a kernel or call puts into memory), "result"."""

    key: str
    label: str
    role: str
    line: Line | None = None
    cluster: str | None = None


@dataclass(slots=True)
class Graph:
    """Values, what they are computed from, and the clusters that they are computed in."""

    title: str
    vertices: list[Vertex] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    clusters: dict[str, str] = field(default_factory=dict)  # key -> label


def recorded(expression: Expression, sources: Sequence[Any], asked: int) -> Graph:
    """The DAG as the program wrote it; so many of its outputs were asked for. Numbers stand in the labels of what uses
    them.
    """
    results = expression.outputs[:asked]
    graph = Graph(f"recorded: {sum(e.kind not in ('leaf', 'scalar') for e in expression.entries)} operations")
    for position, entry in enumerate(expression.entries):
        if entry.kind == "scalar":
            continue
        site = getattr(sources[position], "site", None)
        role = "result" if position in results else "input" if entry.kind == "leaf" else "operation"
        words = [number(sources[a]) for a in entry.args if expression.entries[a].kind == "scalar"]
        line = None if entry.kind == "leaf" else find_line(site)
        graph.vertices.append(Vertex(f"e{position}", label(expression.entries, position, words), role, line))
        graph.edges += edges_to(expression.entries, position)
    return graph


def planned(made: Made, sources: Sequence[Any]) -> Graph:
    """What runs: each kernel and library call a cluster of the operations in it, in the order in which they run."""
    plan, sites, (asked, *_) = made
    graph = Graph(f"plan: {len(plan.steps)} steps")
    home: dict[int, str] = {}
    written: set[int] = set()
    copied: list[str] = []  # what the next kernel's label says of the array that it writes into
    for place, step in enumerate(plan.steps):
        key = f"step{place}"
        if isinstance(step, KernelStep):
            moved = f"reads {bytes_text(step.loaded)}, writes {bytes_text(step.stored)}"
            named = f"{place + 1}: kernel {step.name}\n{moved}; NumPy {bytes_text(step.unfused)}"
            graph.clusters[key] = named + "".join(copied)
            copied.clear()
            written |= set(step.writes)
            for slot in (*step.computes, *step.writes):
                home.setdefault(slot, key)
        elif isinstance(step, CallStep):
            graph.clusters[key] = f"{place + 1}: library call {step.library.name}"
            written.add(step.result)
            home[step.result] = key
        elif isinstance(step, ClaimStep) and step.copy:
            copied.append(f"\nwrites into a copy of {bytes_text(plan.nbytes(step.result))}")
    for slot, entry in enumerate(plan.entries):
        if entry.kind == "scalar":
            continue
        origin = plan.origins[slot]
        site = None if origin is None else sites[origin]
        role = "input" if entry.kind == "leaf" else "operation"
        if slot in plan.outputs[:asked]:
            role = "result"
        elif slot in written:
            role = "memory"
        words = [number(source_of(plan, a, sources)) for a in entry.args if plan.entries[a].kind == "scalar"]
        line = None if entry.kind == "leaf" else find_line(site)
        graph.vertices.append(Vertex(f"e{slot}", label(plan.entries, slot, words), role, line, home.get(slot)))
        graph.edges += edges_to(plan.entries, slot)
    place_views(graph)
    return graph


def place_views(graph: Graph) -> None:
    """Puts what is computed nowhere by itself (views, constants) into the cluster of its only reader."""
    by_key = {vertex.key: vertex for vertex in graph.vertices}
    readers: dict[str, set[str | None]] = {}
    for vertex in reversed(graph.vertices):  # readers come after what they read
        if vertex.role == "operation" and vertex.cluster is None:
            found = readers.get(vertex.key, set())
            if len(found) == 1:
                vertex.cluster = found.pop()
        for source, target in graph.edges:
            if target == vertex.key:
                readers.setdefault(source, set()).add(by_key[target].cluster)


def edges_to(entries: Sequence[Entry], position: int) -> list[tuple[str, str]]:
    """The edges from an entry's arguments, numbers left out."""
    args = [a for a in entries[position].args if entries[a].kind != "scalar"]
    return [(f"e{a}", f"e{position}") for a in dict.fromkeys(args)]


def source_of(plan: Plan, slot: int, sources: Sequence[Any]) -> Any:
    """The number that feeds a scalar slot; None where it is not known any more."""
    origin = plan.origins[slot]
    return None if origin is None or not sources else sources[origin]


def number(value: Any) -> str:
    """A number in a label."""
    return "?" if value is None else repr(value.item() if isinstance(value, np.generic) else value)


def label(entries: Sequence[Entry], position: int, numbers: Sequence[str]) -> str:
    """What a value is: its operation, the numbers in it, dtype and shape."""
    entry = entries[position]
    shape = "x".join(map(str, entry.shape)) or "0-d"
    given = f" ({', '.join(numbers)})" if numbers else ""
    return f"{name_of(entries, entry)}{given}\n{entry.code} {shape}"


def name_of(entries: Sequence[Entry], entry: Entry) -> str:
    """An operation as users know it."""
    kind, attr = entry.kind, entry.attr
    if kind == "leaf":
        return "input"
    if kind in ("map", "scan"):
        return str(attr[0])
    if kind == "reduce":
        return f"{attr[0]} over {', '.join(map(str, attr[1]))}"
    if isinstance(attr, Library):
        return attr.name
    if kind == "view":
        return view_name(entry, entries[entry.args[0]].shape)
    return {"update": "write", "iota": "arange", "fill": "full"}.get(kind, str(kind))


def view_name(entry: Entry, source: Shape) -> str:
    """A view in the word that fits it."""
    offset, strides = entry.attr
    if size_of(entry.shape) == size_of(source) and is_identity(IndexMap(offset, entry.shape, strides), entry.shape):
        return "reshape"
    if offset == 0 and sorted(zip(strides, entry.shape, strict=True)) == sorted(
        zip(c_strides(source), source, strict=True)
    ):
        return "transpose"
    if any(step == 0 and extent > 1 for step, extent in zip(strides, entry.shape, strict=True)):
        return "broadcast"
    return "slice"


def short(line: Line) -> str:
    """A line of the program, as long as a drawing has room for."""
    text = line.text if len(line.text) <= _LONGEST else line.text[: _LONGEST - 1] + "…"
    return f"{line.number}: {text}"
