"""A topology graph in the DOT language, for Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vplacer.report.host_formats import Format

if TYPE_CHECKING:
    from vplacer.topology.graph import Graph

_SHAPES = {"device": "box", "vm": "ellipse", "node": "box3d"}
_STYLES = {"nvlink": "bold", "holds": "dashed", "runs_on": "dotted"}


def render_dot(graph: Graph) -> str:
    """Return the graph as DOT, nodes and edges in the order of their keys, ending in a newline."""
    lines = ["graph topology {", "  node [shape=box];"]
    for key in sorted(graph.nodes):
        attributes = graph.nodes[key]
        shape = _SHAPES.get(str(attributes["type"]), "box")
        lines.append(f"  {_quote(key)} [label={_quote(_label(attributes))}, shape={shape}];")
    for a, b in sorted((min(pair), max(pair)) for pair in graph.edges):
        lines.append(f"  {_quote(a)} -- {_quote(b)}{_edge(graph.edges[a, b])};")
    return "\n".join([*lines, "}"]) + "\n"


def _label(attributes: dict[str, Any]) -> str:
    match attributes["type"]:
        case "package":
            return f"package {attributes['number']}"
        case "node":
            return f"pNUMA {attributes['number']}\n{attributes['cores']} cores"
        case "device":
            return f"{attributes['label']} {attributes['address']}\n{attributes['name']}"
        case "bridge":
            return f"{attributes['role']} {attributes['address']}"
        case _:
            return str(attributes.get("name", attributes["type"]))


def _edge(data: dict[str, Any]) -> str:
    kind = str(data["type"])
    if kind == "contains":
        return ""
    label = f"NV{data['lanes']}" if kind == "nvlink" else str(data.get("how", ""))
    text = f", label={_quote(label)}" if label else ""
    return f" [style={_STYLES[kind]}{text}]"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


FORMAT = Format(".dot", lambda view: render_dot(view.graph), ("graph topology {",))
