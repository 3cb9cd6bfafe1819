"""A topology graph as GraphML, for networkx, Gephi, yEd and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vplacer.report.host_formats import Format

if TYPE_CHECKING:
    from vplacer.topology.graph import Graph


def render_graphml(graph: Graph) -> str:
    """Return the graph as GraphML, ending in a newline."""
    import networkx as nx

    return "\n".join(nx.generate_graphml(graph)) + "\n"


FORMAT = Format(".graphml", lambda view: render_graphml(view.graph), ("<graphml xmlns=",))
