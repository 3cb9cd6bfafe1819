"""Reads back what a plan remembers of a host: the texts that `plan.observed` writes, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.plan.model import Fact

_NODE_RE = re.compile(r"(\d+): (\d+|\?) cores, (\d+|\?) bytes, package (\d+|\?)")
_CARD_RE = re.compile(
    r"(?P<address>\S+) (?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})"
    r"(?::(?P<sub_vendor>[0-9a-f]{4}|any):(?P<sub_device>[0-9a-f]{4}|any))?"
    r" pNUMA (?P<node>\d+|\?)(?P<rest>.*)"
)
_FIXED_RE = re.compile(
    r"(?:static|sriov) (?P<address>[0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b"
)
_USABLE = (" passthrough", " sharedDirect", " VFs")
_DEVICE_RE = re.compile(r"(?:static|sriov|dynamic|vgpu|dvx) ")


@dataclass(frozen=True, slots=True)
class ObservedNode:
    """A pNUMA node. None = not told."""

    id: int
    cores: int | None
    memory_bytes: int | None
    package: int | None


@dataclass(frozen=True, slots=True)
class ObservedCard:
    """A GPU or NIC port. ``node`` None = not told. ``passthrough``: VMs may get it, whole or shared."""

    address: PciAddress
    ids: PciIds
    node: int | None
    passthrough: bool


@dataclass(frozen=True, slots=True)
class ObservedWish:
    """A device whose card a plan does not know. ``kind``: dynamic | vgpu | dvx | sriov | static.

    ``ids``: vendor and device ids of the cards it may be; empty = not told.
    """

    kind: str
    ids: frozenset[tuple[int, int]]


def observed_nodes(fact: Fact) -> tuple[ObservedNode, ...]:
    """Return the nodes of a host's field ``numa_nodes``; texts of another form are left out."""
    found = (_NODE_RE.fullmatch(text) for text in _texts(fact))
    return tuple(
        ObservedNode(int(match[1]), _number(match[2]), _number(match[3]), _number(match[4]))
        for match in found
        if match is not None
    )


def observed_cards(fact: Fact) -> tuple[ObservedCard, ...]:
    """Return the cards of a host's field ``cards``, by address; texts of another form are left out."""
    found = []
    for text in _texts(fact):
        match = _CARD_RE.fullmatch(text)
        if match is None:
            continue
        subsystem = (_sub(match["sub_vendor"]), _sub(match["sub_device"]))
        ids = PciIds(int(match["vendor"], 16), int(match["device"], 16), *subsystem)
        words = match["rest"].replace(" no passthrough", "")
        usable = any(word in words for word in _USABLE)
        found.append(ObservedCard(PciAddress.parse(match["address"]), ids, _number(match["node"]), usable))
    return tuple(sorted(found, key=lambda card: card.address))


def observed_holdings(fact: Fact) -> tuple[tuple[PciAddress, ...], tuple[ObservedWish, ...]]:
    """Return the cards that a VM's field ``devices`` names, and what else it has, not told which."""
    named, untold = [], []
    for text in _texts(fact):
        match = _FIXED_RE.match(text)
        if match is not None:
            named.append(PciAddress.parse(match["address"]))
        elif _DEVICE_RE.match(text):
            untold.append(ObservedWish(text.partition(" ")[0], frozenset(_ids_of(text))))
    return tuple(sorted(named)), tuple(untold)


def _ids_of(text: str) -> list[tuple[int, int]]:
    """Return the ids that a Dynamic device may have; none for other devices."""
    kind, _, rest = text.partition(" ")
    if kind != "dynamic":
        return []
    words = (word.split(":") for word in rest.partition(" ")[0].split(","))
    return [(int(word[0], 16), int(word[1], 16)) for word in words if len(word) > 1]


def _texts(fact: Fact) -> tuple[str, ...]:
    return fact if isinstance(fact, tuple) else ()


def _number(text: str) -> int | None:
    return None if text == "?" else int(text)


def _sub(text: str | None) -> int | None:
    return None if text is None or text == "any" else int(text, 16)
