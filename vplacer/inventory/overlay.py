"""Overlays: what vCenter cannot say about a host, with its source and date.

One file a host. Each device is keyed by address and ids, so that an overlay is refused by name when
the hardware no longer matches. An overlay adds; it never edits a snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.inventory.measured import MeasuredHome, NodeMemory
from vplacer.inventory.pci import PciAddress, PciIds


@dataclass(frozen=True, slots=True, order=True)
class OverlayDevice:
    """A fact about one device; ``numa_node`` None = this overlay says nothing of it."""

    address: PciAddress
    ids: PciIds
    numa_node: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class OverlayLink:
    """``lanes`` NVLinks between two GPUs (the # of NV#); 0 = proved absent."""

    a: PciAddress
    b: PciAddress
    lanes: int


@dataclass(frozen=True, slots=True)
class OverlayHome:
    """Where a VM was measured. ``vm_uuid`` is its instance uuid."""

    vm_uuid: str
    home: MeasuredHome


@dataclass(frozen=True, slots=True)
class Overlay:
    """All that one source says about one host.

    ``host`` is the host's name, ``host_uuid`` its hardware uuid; ``created`` ISO 8601 UTC; ``source`` how
    it was learnt ("nvidia-smi topo -m", "hwloc", "esxtop", "human: ..."); ``detail``: from which file and how
    it was read, for people. What the same source tells later replaces it, whatever the detail. ``notes`` are
    sentences about what the source did not tell, or told in a form that was not used.
    """

    host: str
    host_uuid: str | None
    vcenter_uuid: str | None
    created: str
    source: str
    devices: tuple[OverlayDevice, ...] = ()
    links: tuple[OverlayLink, ...] = ()
    homes: tuple[OverlayHome, ...] = ()
    detail: str | None = None
    node_memory: tuple[NodeMemory, ...] = ()
    notes: tuple[str, ...] = ()
