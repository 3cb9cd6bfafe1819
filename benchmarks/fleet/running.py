"""Fills the fleet with running VMs at random: what each takes, and what is left of its host."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, TypeAlias

from benchmarks.fleet.families import CARD_GIB, PROFILES
from vplacer.constraints.supply import host_supply
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_vms import overhead_mib
from vplacer.request.demand import RequestOptions
from vplacer.topology.host_topology import HostTopology

GIB: Final = 1024
"""In MiB."""

CPU_OVERCOMMIT: Final = 2
FLAVOURS: Final = 40
_TRIES: Final = 60
"""Attempts a GPU (or a core) of a family before its fill is given up."""

SETTINGS: Final = RequestOptions(cpu_overcommit=(("", float(CPU_OVERCOMMIT)),))


@dataclass(frozen=True, slots=True)
class Flavour:
    """A size of running VMs. ``kind``: what it holds, a key of `_CHOICES`, "vgpu", "group" or "cpu"."""

    kind: str
    nodes: int
    gpus: float
    cpus: int
    memory_mib: int
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """A running VM: its host by index, its nodes, its cards."""

    host: int
    flavour: Flavour
    nodes: tuple[int, ...]
    gpus: tuple[PciAddress, ...]
    nics: tuple[PciAddress, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The cards of a family: by node, its switches as (GPUs, NICs), and its NVLink pairs."""

    family: str
    cores: tuple[int, ...]
    memory_mib: tuple[int, ...]
    switches: tuple[tuple[tuple[tuple[PciAddress, ...], tuple[PciAddress, ...]], ...], ...]
    pairs: tuple[tuple[tuple[PciAddress, PciAddress], ...], ...]
    gpus: tuple[PciAddress, ...]


def layout(family: str, host: Host, topology: HostTopology) -> Layout:
    """Read a family's layout from one of its hosts."""
    supply = host_supply(host, SETTINGS)
    usable = {d.address for d in host.pci_devices if d.passthrough is not None and d.passthrough.active}
    switches = []
    pairs = []
    for node in supply.nodes:
        gpus = [d for d in topology.gpus if d.node == node.id]
        nics = [d for d in topology.nics if d.node == node.id and d.address in usable]
        roots = dict.fromkeys(d.switches[0] if d.switches else None for d in (*gpus, *nics))
        switches.append(
            tuple(
                (
                    tuple(d.address for d in gpus if (d.switches[0] if d.switches else None) == root),
                    tuple(d.address for d in nics if (d.switches[0] if d.switches else None) == root),
                )
                for root in roots
            )
        )
        here = {d.address for d in gpus}
        pairs.append(tuple((link.a, link.b) for link in topology.links if {link.a, link.b} <= here))
    return Layout(
        family,
        tuple(node.amount.millicores for node in supply.nodes),
        tuple(node.amount.memory_mib for node in supply.nodes),
        tuple(switches),
        tuple(pairs),
        tuple(d.address for d in topology.gpus),
    )


@dataclass
class Room:
    """What is left of a host: millicores and MiB a node; cards in use, and the vGPUs on those cut up."""

    layout: Layout
    cores: list[int]
    memory: list[int]
    taken: set[PciAddress] = field(default_factory=set)
    slices: dict[PciAddress, tuple[int, int]] = field(default_factory=dict)

    def free_gpus(self, node: int) -> list[PciAddress]:
        """Return the whole free GPUs of a node."""
        return [a for gpus, _ in self.layout.switches[node] for a in gpus if a not in self.taken]

    def seats(self, flavour: Flavour, nodes: Sequence[int]) -> bool:
        """Whether the nodes have the cores and the memory."""
        cores, memory = needs(flavour)
        return all(self.cores[node] >= cores and self.memory[node] >= memory for node in nodes)

    def take(self, flavour: Flavour, nodes: Sequence[int], cards: Sequence[PciAddress]) -> None:
        """Give a VM its nodes and cards."""
        cores, memory = needs(flavour)
        for node in nodes:
            self.cores[node] -= cores
            self.memory[node] -= memory
        if flavour.kind == "vgpu":
            size = PROFILES[flavour.profile or ""]
            for card in cards:
                self.slices[card] = (size, self.slices.get(card, (size, 0))[1] + 1)
        else:
            self.taken.update(cards)


def needs(flavour: Flavour) -> tuple[int, int]:
    """Return millicores and MiB of each node."""
    whole = flavour.kind != "cpu"
    millicores = flavour.cpus * 1000 // (1 if whole else CPU_OVERCOMMIT)
    memory = flavour.memory_mib + overhead_mib(flavour.cpus, flavour.memory_mib)
    return -(-millicores // flavour.nodes), -(-memory // flavour.nodes)


Cards: TypeAlias = tuple[tuple[PciAddress, ...], tuple[PciAddress, ...]]
"""GPUs and NICs."""


def _one(room: Room, node: int) -> list[Cards]:
    return [((gpu,), ()) for gpu in room.free_gpus(node)]


def _one_nic(room: Room, node: int) -> list[Cards]:
    return [
        ((gpu,), (nic,))
        for gpus, nics in room.layout.switches[node]
        for gpu in gpus
        for nic in nics
        if room.taken.isdisjoint((gpu, nic))
    ]


def _two(room: Room, node: int) -> list[Cards]:
    return [(pair, ()) for pair in combinations(room.free_gpus(node), 2)]


def _two_switch(room: Room, node: int) -> list[Cards]:
    sets = (gpus for gpus, _ in room.layout.switches[node] if len(gpus) == 2)
    return [(gpus, ()) for gpus in sets if room.taken.isdisjoint(gpus)]


def _two_nvlink(room: Room, node: int) -> list[Cards]:
    return [(pair, ()) for pair in room.layout.pairs[node] if room.taken.isdisjoint(pair)]


def _all(room: Room, node: int) -> list[Cards]:
    gpus = tuple(a for gpus, _ in room.layout.switches[node] for a in gpus)
    nics = tuple(a for _, nics in room.layout.switches[node] for a in nics)
    return [(gpus, nics)] if gpus and room.taken.isdisjoint((*gpus, *nics)) else []


_CHOICES: Final = {
    "one": _one,
    "one+nic": _one_nic,
    "two": _two,
    "two@switch": _two_switch,
    "two@nvlink": _two_nvlink,
    "node": _all,
}
"""The cards of one node that a VM of each kind may hold."""

_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "hgx": ("one",) * 6 + ("one+nic",) * 5 + ("two",) * 2 + ("two@switch",) * 4 + ("two@nvlink",) * 3
    + ("node",) * 2 + ("whole",),
    "pairs": ("one",) * 6 + ("one+nic",) * 4 + ("two",) + ("two@nvlink",) * 8 + ("node",) * 2 + ("whole",),
    "quad": ("one",) * 5 + ("one+nic",) * 4 + ("two@nvlink",) * 6,
    "groups": ("group",),
    "vgpu": ("vgpu",),
    "vgpu2": ("vgpu",),
    "nps8": ("one",) * 5 + ("one+nic",) * 5 + ("whole",),
    "nps4": ("one", "one+nic"),
    "nps16": ("one",) * 4 + ("one+nic",) * 2 + ("two@nvlink",) * 5,
    "cpu": (),
    "npscpu": (),
}  # fmt: skip


def flavours(family: str, cards: Layout, chooser: random.Random) -> list[Flavour]:
    """Return the sizes that running VMs of a family with GPUs have."""
    kinds = _KINDS[family]
    if not kinds:
        return []
    drawn = [*kinds, *(chooser.choice(kinds) for _ in range(FLAVOURS - len(kinds)))]
    return [_flavour(kind, cards, chooser) for kind in drawn]


def _flavour(kind: str, cards: Layout, chooser: random.Random) -> Flavour:
    nodes = len(cards.cores)
    on_node = sum(len(gpus) for gpus, _ in cards.switches[0]) or 1
    cores = cards.cores[0] // 1000 / on_node
    memory = cards.memory_mib[0] / GIB / on_node
    if kind == "vgpu":
        names = [name for name, size in PROFILES.items() if size <= CARD_GIB[cards.family] < 3 * 24]
        profile = chooser.choices(names, [PROFILES[name] for name in names])[0]
        share = PROFILES[profile] / CARD_GIB[cards.family]
        cpus = max(1, round(cores * share * chooser.uniform(0.5, 0.95)))
        gib = max(4, 2 * round(memory * share * chooser.uniform(0.4, 0.95) / 2))
        return Flavour(kind, 1, share, cpus, gib * GIB, profile)
    count = {"one": 1, "one+nic": 1, "node": on_node, "whole": len(cards.gpus)}.get(kind, 2)
    cpus = max(1, round(cores * count * chooser.uniform(0.42, 0.86)))
    gib = max(8, 8 * round(memory * count * chooser.uniform(0.2, 0.78) / 8))
    if kind == "whole":
        cpus -= cpus % nodes
    profile = "grid_a100d-80c" if kind == "group" else None
    return Flavour(kind, nodes if kind == "whole" else 1, count, cpus, gib * GIB, profile)


def cpu_flavours(cards: Layout, chooser: random.Random) -> list[Flavour]:
    """Return the sizes of running VMs without GPUs."""
    most = cards.cores[0] // 1000
    sizes = [cpus for cpus in (2, 4, 6, 8, 10, 12, 16, 24, 32) if cpus <= most]
    return [
        Flavour("cpu", 1, 0, chooser.choice(sizes), chooser.choice((8, 16, 24, 32, 48, 64)) * GIB)
        for _ in range(12)
    ]


class Filler:
    """Fills the hosts of one family; ``first`` is the index of the first of them."""

    def __init__(self, cards: Layout, first: int, count: int, chooser: random.Random) -> None:
        self.cards = cards
        self.first = first
        self.rooms = [Room(cards, list(cards.cores), list(cards.memory_mib)) for _ in range(count)]
        self.chooser = chooser
        self.found: list[Running] = []
        self.gpus_used = 0.0
        self.millicores_used = 0

    def fill(self, share: float) -> None:
        """Take about ``share`` of the GPUs, then of the cores."""
        wanted = share * len(self.cards.gpus) * len(self.rooms)
        sizes = flavours(self.cards.family, self.cards, self.chooser)
        self._until(sizes, lambda: self.gpus_used >= wanted, int(_TRIES * wanted))
        cores = share * sum(self.cards.cores) * len(self.rooms)
        tries = int(_TRIES * cores / 1000)
        self._until(cpu_flavours(self.cards, self.chooser), lambda: self.millicores_used >= cores, tries)

    def _until(self, sizes: list[Flavour], done: Callable[[], bool], tries: int) -> None:
        while sizes and tries and not done():
            tries -= 1
            self._try(self.chooser.choice(sizes), self.chooser.randrange(len(self.rooms)))

    def _try(self, flavour: Flavour, index: int) -> None:
        room = self.rooms[index]
        nodes = range(len(self.cards.cores))
        chosen = tuple(nodes) if flavour.nodes > 1 else (self.chooser.choice(nodes),)
        if not room.seats(flavour, chosen):
            return
        cards = self._cards(flavour, room, chosen)
        if cards is None:
            return
        gpus, nics = cards
        room.take(flavour, chosen, (*gpus, *nics))
        self.gpus_used += flavour.gpus
        self.millicores_used += needs(flavour)[0] * flavour.nodes
        self.found.append(Running(self.first + index, flavour, chosen, gpus, nics))

    def _cards(self, flavour: Flavour, room: Room, nodes: Sequence[int]) -> Cards | None:
        """Return cards drawn from all that would do, None where there are none."""
        if flavour.kind == "cpu":
            return (), ()
        if flavour.kind in ("vgpu", "group"):
            # The platform chose the cards, on whatever node.
            found = _slices(room, flavour) if flavour.kind == "vgpu" else _groups(room)
            return self.chooser.choice(found) if found else None
        choices = _CHOICES["node" if flavour.kind == "whole" else flavour.kind]
        gpus: tuple[PciAddress, ...] = ()
        nics: tuple[PciAddress, ...] = ()
        for node in nodes:
            found = choices(room, node)
            if not found:
                return None
            chosen = self.chooser.choice(found)
            gpus, nics = gpus + chosen[0], nics + chosen[1]
        return gpus, nics


def _slices(room: Room, flavour: Flavour) -> list[Cards]:
    """Return the cards that have room for a vGPU: all on one card are of one size."""
    size = PROFILES[flavour.profile or ""]
    most = CARD_GIB[room.layout.family] // size
    return [
        ((card,), ())
        for card in room.layout.gpus
        if (use := room.slices.get(card)) is None or (use[0] == size and use[1] < most)
    ]


def _groups(room: Room) -> list[Cards]:
    return [cards for node in range(len(room.cores)) for cards in _two_nvlink(room, node)]
