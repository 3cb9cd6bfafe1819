"""What a file describes: an inventory, the overlays that go with it, and what only a simulator needs."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.inventory.overlay import Overlay
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory


@dataclass(frozen=True, slots=True, order=True)
class HeldDevice:
    """Which card of its host backs a device of a running VM. ``vm`` and ``host`` are moids."""

    vm: str
    device_key: int
    host: str
    address: PciAddress


@dataclass(frozen=True, slots=True, order=True)
class GroupSets:
    """The sets of cards among which the platform chooses when a VM asks for a device group of a host."""

    host: str
    group: str
    sets: tuple[tuple[PciAddress, ...], ...]


@dataclass(frozen=True, slots=True)
class EsxtopSeed:
    """What esxtop tells of a running VM: its share of local memory varies from ``low`` to ``high`` percent.

    None = esxtop does not tell.
    """

    nodes: tuple[int, ...]
    locality_low: int | None = None
    locality_high: int | None = None
    migrations: int | None = None


@dataclass(frozen=True, slots=True)
class SiteExtras:
    """What a simulated vCenter must know and its inventory does not tell.

    ``homes``: VM moid to the pNUMA nodes a running VM is on now. ``esxtop``: VM moid to what esxtop says
    of it. ``no_esxtop``: hosts that offer no esxtop service. ``esxcli_nodes``: the node that ``esxcli
    hardware pci list`` tells of a device, None = none, by host and address; where there is no entry, it
    tells what vCenter does.
    """

    held: tuple[HeldDevice, ...] = ()
    group_sets: tuple[GroupSets, ...] = ()
    homes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    esxtop: tuple[tuple[str, EsxtopSeed], ...] = ()
    no_esxtop: tuple[str, ...] = ()
    esxcli_nodes: tuple[tuple[str, PciAddress, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """All that one file says. ``source`` is "snapshot" or "yaml"."""

    name: str
    source: str
    inventory: Inventory
    overlays: tuple[Overlay, ...] = ()
    extras: SiteExtras = SiteExtras()
