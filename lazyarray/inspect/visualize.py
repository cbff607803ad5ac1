"""Owns `visualize`: the recorded DAG and the plan after fusion as a drawing (SVG), laid out by pygraphviz."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from lazyarray.errors import InspectError
from lazyarray.inspect.ahead import foresee
from lazyarray.inspect.explain import node_of
from lazyarray.inspect.graph import Graph, planned, recorded, short
from lazyarray.ir.expression import Expression, expression_of
from lazyarray.ir.node import Node
from lazyarray.runtime.along import is_pending

MISSING: Final = (
    "visualize() lays graphs out with pygraphviz 2 or newer, whose wheels bring Graphviz with them, and it cannot be "
    "imported ({}). Install it: pip install 'lazyarray-numpy[inspect]'"
)
_FILLS: Final = {"input": "#dbe9f6", "operation": "#ffffff", "memory": "#fde9c9", "result": "#d8efd3"}
_FONT: Final = "Helvetica,Arial,sans-serif"


class Drawing:
    """A drawing as SVG text; notebooks show it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg


def visualize(*given: Any) -> Drawing:
    """Draws what evaluating arrays will run or ran: `visualize(x)`, `visualize(x, y, "file.svg")`.

    On the left the expressions as recorded, each with its line; on the right the plan, kernels and library calls as
    boxes around the operations fused in them. Green: results; yellow: other values that go through memory; blue:
    inputs. For arrays that are evaluated already only the plan is known. Pending arrays stay pending.
    """
    arrays = list(given)
    file = Path(arrays.pop()) if arrays and isinstance(arrays[-1], str | Path) else None
    if not arrays:
        raise InspectError("visualize() takes arrays, and at last a file name if wanted")
    drawing = Drawing(draw(graphs_of([node for node in map(node_of, arrays) if node is not None])))
    if file is not None:
        file.write_text(drawing.svg, encoding="utf-8")
    return drawing


def graphs_of(nodes: list[Node]) -> list[Graph]:
    """The graphs before and after fusion of what makes the nodes."""
    graphs = []
    pending = [node for node in nodes if is_pending(node)]
    if pending:
        made, signature, sources = foresee(pending)
        graphs.append(recorded(expression_of(signature), sources, len(pending)))
        graphs.append(planned(made, sources))
    seen: list[Any] = []
    for node in nodes:
        if not is_pending(node) and node.made is not None and all(node.made[1] is not other for other in seen):
            seen.append(node.made[1])
            graphs.append(planned(node.made, ()))
    if not graphs:
        inputs = tuple(dict.fromkeys(entry_of(node) for node in nodes))
        graphs.append(recorded(Expression(inputs, tuple(range(len(inputs)))), [None] * len(inputs), len(inputs)))
    return graphs


def entry_of(node: Node) -> Any:
    """What a node that no plan made looks like in an expression."""
    return expression_of(((node.key.spec,), (0,))).entries[0]


def draw(graphs: list[Graph]) -> str:
    """The graphs beside each other, as SVG."""
    try:
        import pygraphviz
    except ImportError as error:
        raise InspectError(MISSING.format(error)) from error
    picture: Any = pygraphviz.AGraph(directed=True, strict=True, rankdir="TB", ranksep="0.35", nodesep="0.2")
    picture.graph_attr.update(fontname=_FONT, fontsize="13", compound="true")
    picture.node_attr.update(shape="box", style="filled,rounded", fontname=_FONT, fontsize="10", margin="0.08,0.04")
    picture.edge_attr.update(color="#555555", arrowsize="0.6")
    for number, graph in enumerate(graphs):
        add_graph(picture, graph, f"g{number}")
    svg: bytes = picture.draw(format="svg", prog="dot")
    return svg.decode("utf-8")


def add_graph(picture: Any, graph: Graph, prefix: str) -> None:
    """Adds one graph as a cluster, with its own clusters inside."""
    whole = picture.add_subgraph([], name=f"cluster_{prefix}", label=graph.title, color="#bbbbbb", labeljust="l")
    inner = {
        key: whole.add_subgraph(
            [], name=f"cluster_{prefix}{key}", label=text, style="filled,rounded", color="#8a8a8a", fillcolor="#f3f3f3",
            fontsize="11", labeljust="l",
        )
        for key, text in graph.clusters.items()
    }  # fmt: skip
    for vertex in graph.vertices:
        text = vertex.label if vertex.line is None else f"{vertex.label}\n{short(vertex.line)}"
        tip = "" if vertex.line is None else str(vertex.line)
        home = whole if vertex.cluster is None else inner[vertex.cluster]
        home.add_node(prefix + vertex.key, label=text, fillcolor=_FILLS[vertex.role], tooltip=tip or vertex.label)
    for source, target in graph.edges:
        picture.add_edge(prefix + source, prefix + target)
