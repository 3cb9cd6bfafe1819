"""A host as a picture needs it: what is where, who holds what, and how far from its VM each card is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.pci import PciAddress
from vplacer.topology.describe import HostState
from vplacer.topology.levels import NumaRelation
from vplacer.topology.vm_places import VmPlace

NEAREST_FIRST = (
    NumaRelation.SAME_NODE,
    NumaRelation.UNKNOWN,
    NumaRelation.SAME_SOCKET,
    NumaRelation.OTHER_SOCKET,
)
"""Relations by how much they ask for a look: what is known to be far before what is not known."""


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A pNUMA node. ``package``, ``cores``, ``memory_bytes``: None = not told."""

    id: int
    package: int | None
    cores: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class PictureHolder:
    """A VM that holds a card, or a share of it.

    ``relation``: of the card to the VM's nodes. ``now``: it holds it at present; else it will when it is
    switched on. ``how``: "" or a vGPU profile or "virtual function". ``certainty``: that it is this card.
    """

    vm: str
    name: str
    relation: NumaRelation
    now: bool
    how: str
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class PictureCard:
    """A GPU, NIC port or NVSwitch.

    ``label``: as nvidia-smi numbers them, "GPU0". ``node`` None = not known. ``switches``: the upstream
    ports of the PCIe switches above it, the outermost first. ``unusable``: why no VM can get it.
    ``maybe_held``: a VM holds it or another one, and nobody tells which: never shown as free.
    """

    label: str
    kind: DeviceKind
    name: str
    address: PciAddress
    node: int | None
    switches: tuple[PciAddress, ...] = ()
    unusable: str | None = None
    holders: tuple[PictureHolder, ...] = ()
    maybe_held: bool = False


@dataclass(frozen=True, slots=True)
class PictureVm:
    """A VM of the host.

    ``cards``: by label, what it holds or will claim, with the relation to its nodes. ``untold``: number of
    devices of which nobody tells which card each is. ``farthest``: of the cards it holds now; None = none.
    """

    place: VmPlace
    cards: tuple[tuple[str, NumaRelation], ...] = ()
    untold: int = 0
    farthest: NumaRelation | None = None


@dataclass(frozen=True, slots=True)
class PictureLinks:
    """GPUs joined by NVLink, by label. ``lanes``: between any two; None = not all alike, see ``pairs``."""

    name: str
    gpus: tuple[str, ...]
    lanes: int | None
    switched: bool
    pairs: tuple[tuple[str, str, int], ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostPicture:
    """All of a host that a picture shows. ``untold_links``: pairs of GPUs of which NVLink is not known."""

    moid: str
    name: str
    cluster: str | None
    hardware: str
    state: HostState
    nodes: tuple[PictureNode, ...]
    cards: tuple[PictureCard, ...]
    vms: tuple[PictureVm, ...]
    links: tuple[PictureLinks, ...] = ()
    untold_links: int = 0


def farthest(relations: Iterable[NumaRelation]) -> NumaRelation | None:
    """Return the relation that most asks for a look, None of none."""
    return max(relations, key=NEAREST_FIRST.index, default=None)
