"""A host's topology as a picture: packages, NUMA nodes, switches, devices, links, and which VM sits where."""

from __future__ import annotations

from vplacer.report.host_formats import Format
from vplacer.report.picture.draw import draw
from vplacer.report.picture.host_boxes import host_box, measures
from vplacer.report.picture.layout import place
from vplacer.topology.describe import HostDescription
from vplacer.topology.host_view import HostView


def render_svg(view: HostView) -> str:
    """Return the picture as an SVG document, ending in a newline.

    Raises:
        UsageError: the layout library is not installed.
    """
    description = view.description
    sizes = measures(description)
    picture = place(host_box(description, sizes), sizes.page)
    title = f"Topology of {description.name}"
    return draw(picture, title, _about(description), _links(description))


def _links(description: HostDescription) -> tuple[tuple[str, str], ...]:
    """Return the labels of GPUs joined directly; over NVSwitch each is joined to all."""
    labels = {line.place.address: line.label for line in description.devices}
    direct = [found for found in description.nvlink_sets if not found.switched]
    return tuple((labels[link.a], labels[link.b]) for found in direct for link in found.links)


def _about(description: HostDescription) -> str:
    """Say in words what the picture shows, for who cannot see it: each node and its devices."""
    known = {node.id for node in description.nodes}
    parts = [f"{description.name}, {description.hardware}."]
    for node in description.nodes:
        here = [line for line in description.devices if line.place.node == node.id]
        vms = [vm.name for vm in description.vms if vm.nodes == (node.id,)]
        devices = ", ".join(f"{line.label} {line.name}" for line in here) or "no devices"
        parts.append(f"pNUMA {node.id}: {devices}" + (f"; VMs {', '.join(vms)}" if vms else "") + ".")
    lost = [line.label for line in description.devices if line.place.node not in known]
    if lost:
        parts.append(f"Locality not known: {', '.join(lost)}.")
    return " ".join(parts)


FORMAT = Format(".svg", render_svg, ("<svg ",))
