"""The measured parts of an overlay file: homes of VMs, memory of nodes; see `overlay_schema`."""

from __future__ import annotations

from typing import Any

from vplacer.inventory.codec import encode
from vplacer.inventory.measured import MeasuredHome, NodeMemory, Spread
from vplacer.inventory.overlay import Overlay, OverlayHome


def write_measured(overlay: Overlay) -> dict[str, Any]:
    """Return the keys of a section that hold what was measured."""
    return {
        "homes": [{"vm_uuid": item.vm_uuid, **encode(item.home)} for item in overlay.homes],
        "node_memory": [encode(item) for item in overlay.node_memory],
    }


def read_homes(section: dict[str, Any]) -> tuple[OverlayHome, ...]:
    """Return the homes of a validated section."""
    return tuple(OverlayHome(item["vm_uuid"], _home(item)) for item in section.get("homes") or [])


def read_node_memory(section: dict[str, Any]) -> tuple[NodeMemory, ...]:
    """Return the node memory of a validated section."""
    return tuple(
        NodeMemory(item["node"], item.get("total_mib"), _spread(item.get("free_mib")))
        for item in section.get("node_memory") or []
    )


def _home(item: dict[str, Any]) -> MeasuredHome:
    return MeasuredHome(
        nodes=tuple(item["nodes"]),
        at=item["at"],
        locality_percent=_spread(item.get("locality_percent")),
        local_mib=_spread(item.get("local_mib")),
        remote_mib=_spread(item.get("remote_mib")),
        migrations=item.get("migrations"),
        migrations_seen=item.get("migrations_seen"),
        earlier_nodes=tuple(item.get("earlier_nodes") or ()),
        samples=item.get("samples", 1),
        nodes_told=item.get("nodes_told"),
    )


def _spread(value: int | dict[str, int] | None) -> Spread | None:
    """Read a spread; a plain number is that of a single sample."""
    if value is None:
        return None
    if isinstance(value, int):
        return Spread(value, value, value)
    return Spread(value["median"], value["low"], value["high"])
