"""What an importer finds in a file, before it is held against a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vplacer.inventory.overlay import OverlayLink
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vm import Vm


@dataclass(frozen=True, slots=True)
class DeviceFact:
    """What the file says of one PCI function.

    ``label``: what the file calls it ("GPU0"), or its address; ``line``: 1-based, where it stands.
    ``ids``, ``class_id`` (16 bits) and ``node`` None = the file does not say. ``parent``: a bridge above
    it, not always the nearest; ``dependent``: what must leave the hypervisor with it. ``needed``: a file that
    names it is not of a host that lacks it.
    """

    label: str
    address: PciAddress
    line: int
    ids: PciIds | None = None
    class_id: int | None = None
    node: int | None = None
    parent: PciAddress | None = None
    dependent: PciAddress | None = None
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a file says of the machine it was taken on.

    ``tool`` becomes the source of the overlay. ``options``: how it was read, for the provenance.
    ``contradictions``: what cannot be, and was left out; ``notes``: what else is to be known.
    """

    tool: str
    devices: tuple[DeviceFact, ...]
    links: tuple[OverlayLink, ...] = ()
    options: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryFile:
    """The text of ``nvidia-smi --query-gpu=index,pci.bus_id --format=csv``, and the file it is from."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user adds to a file, for formats that do not tell all.

    gpus: PCI address of GPU0, GPU1, ...
    nics: address by label ("NIC0") or name ("mlx5_0").
    query: tells the same as ``gpus``.
    order_pci: GPUs are numbered in the order of their addresses.
    taken_in: the VM in whose guest the file was made; ``vms`` are all of its host.
    """

    gpus: tuple[PciAddress, ...] = ()
    nics: Mapping[str, PciAddress] = field(default_factory=dict)
    query: QueryFile | None = None
    order_pci: bool = False
    taken_in: Vm | None = None
    vms: tuple[Vm, ...] = ()

    @property
    def given(self) -> tuple[str, ...]:
        """Name the options that were given, as on the command line."""
        named = {
            "--gpu": self.gpus,
            "--nic": self.nics,
            "--query-gpu": self.query,
            "--order": self.order_pci,
            "--taken-in": self.taken_in,
        }
        return tuple(name for name, value in named.items() if value)
