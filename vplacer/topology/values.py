"""The values a host's topology is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress, PciIds


class LocalitySource(StrEnum):
    """Who said on which NUMA node a device sits."""

    VCENTER = "vcenter"
    OVERLAY = "overlay"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """One pNUMA node. ``core_count`` 0 = it has devices or memory only. ``devices``: those of interest."""

    id: int
    package: int | None
    core_count: int
    thread_ids: tuple[int, ...]
    memory_bytes: int | None
    devices: tuple[PciAddress, ...]


@dataclass(frozen=True, slots=True)
class DeviceTopology:
    """Where one GPU, NIC or NVSwitch sits.

    model: canonical name of `vplacer.inventory.gpu_models`; None for other devices and unknown models.
    node: its pNUMA node; None = unknown, never node 0.
    cpu_nodes: the nodes with cores that are nearest to it. ``(node,)`` where its node has cores itself;
        several where a node without cores shares its package with several that have; empty = unknown.
    node_hint: where ``node`` is unknown, the node that all other devices below the same root port are
        on: for display, never for a decision.
    bridges: all bridges above it, the nearest first.
    switches: of those, the upstream ports of PCIe switches.
    root: its root port; None = it has none, or the host does not tell.
    functions: its SR-IOV virtual functions.
    """

    address: PciAddress
    ids: PciIds
    kind: DeviceKind
    model: str | None
    node: int | None
    package: int | None
    cpu_nodes: tuple[int, ...]
    source: LocalitySource
    node_hint: int | None
    bridges: tuple[PciAddress, ...]
    switches: tuple[PciAddress, ...]
    root: PciAddress | None
    functions: tuple[PciAddress, ...] = ()

    @property
    def switch(self) -> PciAddress | None:
        """Upstream port of the nearest PCIe switch; None = no switch is known."""
        return self.switches[0] if self.switches else None


@dataclass(frozen=True, slots=True, order=True)
class NvLink:
    """What is known of NVLink between two GPUs (``a`` < ``b``): ``lanes`` links, 0 = proved none.

    ``source``: "overlay: ...", "catalogue: ..." or "model: ..." (a model that has no NVLink).
    """

    a: PciAddress
    b: PciAddress
    lanes: int
    source: str


@dataclass(frozen=True, slots=True)
class GroupOffer:
    """A vendor device group the host offers, and the sets of cards that can serve it.

    ``sets`` None = not known which: vSphere picks at power-on, and vCenter does not tell the members.
    An empty tuple = no set of cards of this host can serve it. ``why`` says how the sets were found,
    or why they are not known.
    """

    name: str
    description: str
    gpu_count: int
    nic_count: int
    sets: tuple[tuple[PciAddress, ...], ...] | None
    why: str
