"""The neutral form of a placement problem: plain nodes, cards and VM shapes, as JSON.

It says nothing of how vplacer searches. CPU is in millicores (1000 = a physical core), memory in MiB. What
running VMs hold is taken out already; those that float between nodes are listed, since where they are is
anybody's choice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

LEVELS = ("nvlink", "switch", "root", "numa", "socket")
"""How near two cards may be asked to be; "any" asks nothing."""


@dataclass(frozen=True, slots=True)
class Node:
    """What is free on one NUMA node for VMs bound to it."""

    id: int
    package: int | None
    millicores: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Card:
    """A free GPU or NIC that a VM may get whole.

    ``type``: cards of one type serve the same asks. ``whole``: it can be given whole. ``on``: nodes whose VMs
    have it on their node, ``beside``: nodes whose VMs have it on their socket only. ``vgpus``: of each
    vGPU profile, how many more it takes; it takes one profile at a time, and none while it is given whole.
    """

    address: str
    kind: str
    type: str
    label: str | None
    whole: bool
    on: tuple[int, ...]
    beside: tuple[int, ...]
    vgpus: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Floating:
    """A running VM that the platform may put on any of ``nodes``.

    ``parts`` equal parts, each whole on one node; 0 = it may be spread as the platform likes, and the
    amounts are those of the whole VM.
    """

    parts: int
    millicores: int
    memory_mib: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """``millicores`` and ``memory_mib``: what the host as a whole has free. ``near[i][j]``: the levels at
    which its cards i and j are surely near. ``groups``: the sets of cards of each kind of device group."""

    id: str
    nodes: tuple[Node, ...]
    millicores: int
    memory_mib: int
    cards: tuple[Card, ...]
    near: tuple[tuple[tuple[str, ...], ...], ...]
    groups: Mapping[str, tuple[tuple[int, ...], ...]]
    floating: tuple[Floating, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Cards of one kind. ``types``: the card types that serve it.

    ``profile``: vGPUs of it, the platform chooses the cards. ``group``: whole device groups, likewise.
    ``policy``: required | socket | preferred | none, nearness to the VM's nodes. ``level``: for GPUs how
    near any two must be; for NICs how near each must be to one of the VM's GPUs, these shared out
    evenly. ``hard`` False = that is a preference.
    """

    kind: str
    count: int
    types: tuple[str, ...]
    policy: str
    level: str
    hard: bool
    profile: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """What a VM takes on a host: ``parts`` equal parts on as many different nodes."""

    parts: int
    millicores: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Shape:
    """VMs that are alike.

    ``seat``: bound (its parts are fixed to nodes), item (each part is whole on a node, the platform
    chooses which, and may put two on one) or spread. ``chooser``: who picks a card: plan | label (any
    card of the host with that label). ``sizes``: host id to size, for the hosts that may take it.
    """

    vms: tuple[str, ...]
    priority: int
    weight: int
    seat: str
    chooser: str
    asks: tuple[Ask, ...]
    sizes: Mapping[str, Size]


@dataclass(frozen=True, slots=True)
class Pool:
    """VMs of ``takes`` (by shape number, MiB each) on ``hosts`` may take ``memory_mib`` together."""

    name: str
    memory_mib: int
    hosts: tuple[str, ...]
    takes: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Instance:
    """``missing``: what of the problem this form cannot say, one sentence each."""

    hosts: tuple[Host, ...]
    shapes: tuple[Shape, ...]
    pools: tuple[Pool, ...]
    missing: tuple[str, ...]

    @property
    def priorities(self) -> tuple[int, ...]:
        """All priorities, the highest first."""
        return tuple(sorted({shape.priority for shape in self.shapes}, reverse=True))

    @property
    def host_by_id(self) -> dict[str, Host]:
        return {host.id: host for host in self.hosts}

    @property
    def shape_by_vm(self) -> dict[str, Shape]:
        return {vm: shape for shape in self.shapes for vm in shape.vms}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer puts a VM. ``cards[i]``: addresses for ask i. ``nodes`` empty = it floats.

    For vGPUs and device groups the addresses show that there is room; the platform chooses.
    """

    vm: str
    host: str
    nodes: tuple[int, ...]
    cards: tuple[tuple[str, ...], ...]


def to_json(instance: Instance) -> str:
    return json.dumps(asdict(instance))


def from_json(text: str) -> Instance:
    data = json.loads(text)
    return Instance(
        tuple(_host(item) for item in data["hosts"]),
        tuple(_shape(item) for item in data["shapes"]),
        tuple(
            Pool(
                item["name"],
                item["memory_mib"],
                tuple(item["hosts"]),
                {int(shape): mib for shape, mib in item["takes"].items()},
            )
            for item in data["pools"]
        ),
        tuple(data["missing"]),
    )


def _host(data: dict[str, Any]) -> Host:
    return Host(
        id=data["id"],
        nodes=tuple(Node(**item) for item in data["nodes"]),
        millicores=data["millicores"],
        memory_mib=data["memory_mib"],
        cards=tuple(
            Card(**{**item, "on": tuple(item["on"]), "beside": tuple(item["beside"])})
            for item in data["cards"]
        ),
        groups={name: tuple(map(tuple, sets)) for name, sets in data["groups"].items()},
        near=tuple(tuple(tuple(levels) for levels in row) for row in data["near"]),
        floating=tuple(Floating(**{**item, "nodes": tuple(item["nodes"])}) for item in data["floating"]),
    )


def _shape(data: dict[str, Any]) -> Shape:
    return Shape(
        vms=tuple(data["vms"]),
        priority=data["priority"],
        weight=data["weight"],
        seat=data["seat"],
        chooser=data["chooser"],
        asks=tuple(Ask(**{**item, "types": tuple(item["types"])}) for item in data["asks"]),
        sizes={host: Size(**size) for host, size in data["sizes"].items()},
    )
