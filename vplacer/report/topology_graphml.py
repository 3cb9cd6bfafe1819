"""A topology graph as GraphML, for networkx, Gephi, yEd and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vplacer.topology.graph import Graph


def render_graphml(graph: Graph) -> str:
    """Return the graph as GraphML, ending in a newline."""
    import networkx as nx

    return "\n".join(nx.generate_graphml(graph)) + "\n"
