"""`visualize` draws what was recorded and the plan, kernels around what is fused in them."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest

import lazyarray as np
from lazyarray.errors import InspectError
from lazyarray.inspect.explain import node_of
from lazyarray.inspect.graph import Graph
from lazyarray.inspect.visualize import graphs_of

SVG = "{http://www.w3.org/2000/svg}"


def source() -> np.ndarray:
    return np.asarray(numpy.random.default_rng(0).random((100, 200)))


def graphs(*arrays: object) -> list[Graph]:
    return graphs_of([node for node in map(node_of, arrays) if node is not None])


def texts(svg: str, kind: str) -> list[str]:
    """The labels of all nodes or clusters of a drawing."""
    groups = [g for g in ElementTree.fromstring(svg).iter(SVG + "g") if g.get("class") == kind]
    return ["\n".join(t.text or "" for t in g.iter(SVG + "text")) for g in groups]


def test_the_graphs_before_and_after_have_the_same_values() -> None:
    x = source()
    e = np.exp(x - x.max(axis=1, keepdims=True))
    before, after = graphs((e / e.sum(axis=1, keepdims=True)) @ x.T)
    named = [[vertex.label.split("\n")[0] for vertex in graph.vertices] for graph in (before, after)]
    assert sorted(named[0]) == sorted(named[1])
    assert {"max over 1", "exp", "sum over 1", "divide", "matmul", "input"} <= set(named[0])
    assert list(after.clusters) == ["step0", "step1"]
    homes = {vertex.label.split("\n")[0]: vertex.cluster for vertex in after.vertices}
    assert homes["exp"] == homes["divide"] == homes["max over 1"] == "step0"
    assert homes["matmul"] == "step1"
    assert homes["input"] is None
    roles = {vertex.label.split("\n")[0]: vertex.role for vertex in after.vertices}
    assert (roles["divide"], roles["matmul"], roles["input"], roles["exp"]) == (
        "memory",
        "result",
        "input",
        "memory",  # `e` names it
    )


def test_values_have_their_lines_and_numbers() -> None:
    x = source()
    y = x * 2.5
    before, _ = graphs(y)
    (vertex,) = [vertex for vertex in before.vertices if vertex.role == "result"]
    assert vertex.label == "multiply (2.5)\nf8 100x200"
    assert vertex.line is not None
    assert vertex.line.text == "y = x * 2.5"


def test_views_have_the_word_that_fits() -> None:
    x = source()
    square = np.evaluate(source()[:, :100] + 0.0)
    named = {
        "transpose": square + square.T,
        "slice": x[::2] + 1.0,
        "reshape": x.reshape(-1) + 1.0,
        "broadcast": np.broadcast_to(x[:1], (100, 200)) + x,
    }
    for word, array in named.items():
        before, _ = graphs(array)
        assert [v.label.split("\n")[0] for v in before.vertices if v.role == "operation"] == [word]


def test_an_evaluated_array_shows_its_plan() -> None:
    (after,) = graphs(np.evaluate(np.sqrt(source())))
    assert after.title == "plan: 1 steps"
    assert [vertex.role for vertex in after.vertices] == ["input", "result"]


def test_an_input_is_a_graph_of_one_value() -> None:
    x = np.evaluate(source() + 1.0)
    node = node_of(x)
    assert node is not None
    node.made = None  # as if it had come from elsewhere
    (graph,) = graphs(x)
    assert [vertex.label for vertex in graph.vertices] == ["input\nf8 100x200"]


def test_pending_arrays_stay_pending(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    y = source() + 1.0
    with np.record_runs() as runs:
        np.visualize(y, tmp_path / "y.svg")
    assert not runs.kernels
    assert (tmp_path / "y.svg").read_text().startswith("<?xml")


def test_a_drawing_shows_every_value_and_every_kernel_for_200_nodes(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    x = source()
    rows = []
    for step in range(32):
        x = np.sqrt(x * 1.5 + step) - x / 3.0
        if step % 8 == 7:
            rows.append(x.sum(axis=step % 16 // 8))
    before, after = graphs(x, *rows)
    assert 150 <= len(before.vertices) <= 220
    svg = np.visualize(x, *rows, str(tmp_path / "x.svg")).svg
    assert (tmp_path / "x.svg").read_text() == svg
    assert len(texts(svg, "node")) == len(before.vertices) + len(after.vertices)
    clusters = texts(svg, "cluster")
    assert len(clusters) == 2 + len(after.clusters)
    assert sum("kernel" in text for text in clusters) == len(after.clusters)
    assert any("np.sqrt(x * 1.5 + step)" in text for text in texts(svg, "node"))
    boxes = node_boxes(svg)
    assert not any(overlap(a, b) for place, a in enumerate(boxes) for b in boxes[:place])


def node_boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every node."""
    boxes = []
    for group in ElementTree.fromstring(svg).iter(SVG + "g"):
        if group.get("class") == "node":
            path = next(p for p in group.iter(SVG + "path"))
            numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*", path.get("d") or "")]
            boxes.append((min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])))
    return boxes


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_without_the_layout_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: object, **options: object) -> object:
        if name == "pygraphviz":
            raise ImportError("No module named 'pygraphviz'")
        return real(name, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InspectError, match=r"pip install 'lazyarray-numpy\[inspect\]'"):
        np.visualize(source() + 1.0)


def test_other_things_are_refused() -> None:
    with pytest.raises(InspectError, match="takes arrays"):
        np.visualize("file.svg")
    with pytest.raises(InspectError, match="not list"):
        np.visualize([1])
