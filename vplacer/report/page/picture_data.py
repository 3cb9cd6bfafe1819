"""A host's picture as compact data: what the script of a page draws it from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.report.host_notes import state_words
from vplacer.report.vm_words import POWER, home_words, size_words, untold_words
from vplacer.topology.describe import ranges
from vplacer.topology.host_picture import (
    HostPicture,
    PictureCard,
    PictureHolder,
    PictureLinks,
    PictureNode,
    PictureVm,
)
from vplacer.topology.levels import NumaRelation

RELATIONS: Final = {
    NumaRelation.SAME_NODE: "local",
    NumaRelation.SAME_SOCKET: "same",
    NumaRelation.OTHER_SOCKET: "other",
    NumaRelation.UNKNOWN: "unknown",
}
"""The words of script and style."""
_KINDS: Final = {DeviceKind.GPU: "gpu", DeviceKind.NIC: "nic", DeviceKind.NVSWITCH: "nvswitch"}
_SURE: Final = {Certainty.LIKELY: "likely", Certainty.UNKNOWN: "one of several"}
_GIB: Final = 1024**3


def picture_data(host: HostPicture, parts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a picture as JSON values. What the keys mean stands in `hosts.js`.

    ``parts``: words about some VMs, by id, that stand out: "new", "leaves".
    """
    return {
        "about": ", ".join(_about(host)),
        "state": state_words(host.state),
        "packages": [
            {"n": "package not told" if number is None else f"Package {number}", "nodes": nodes}
            for number, nodes in _packages(host)
        ],
        "cards": [_card(card) for card in host.cards],
        "vms": [{**_vm(vm), "part": (parts or {}).get(vm.place.moid, "")} for vm in host.vms],
        "pairs": [pair[:2] for links in host.links if not links.switched for pair in links.pairs],
        "links": [*map(_link, host.links), *_untold_links(host)],
    }


def _about(host: HostPicture) -> list[str]:
    gpus = sum(1 for card in host.cards if card.kind is DeviceKind.GPU)
    nics = sum(1 for card in host.cards if card.kind is DeviceKind.NIC)
    running = sum(1 for vm in host.vms if vm.place.is_on)
    facts = [host.hardware, _count(gpus, "GPU"), _count(nics, "NIC port"), _count(len(host.vms), "VM")]
    return [*(fact for fact in facts if fact), f"{running} running"]


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _packages(host: HostPicture) -> list[tuple[int | None, list[dict[str, Any]]]]:
    """Return the nodes by package; those whose package is not told come last."""
    found: dict[int | None, list[dict[str, Any]]] = {}
    for node in host.nodes:
        found.setdefault(node.package, []).append({"id": node.id, "size": _size(node)})
    return sorted(found.items(), key=lambda item: (item[0] is None, item[0] or 0))


def _size(node: PictureNode) -> str:
    words = []
    if node.cores is not None:
        words.append(f"{node.cores} cores" if node.cores else "no cores")
    if node.memory_bytes is not None:
        words.append(f"{node.memory_bytes / _GIB:.0f} GiB" if node.memory_bytes else "no memory")
    return ", ".join(words)


def _card(card: PictureCard) -> dict[str, Any]:
    return {
        "l": card.label,
        "k": _KINDS[card.kind],
        "n": card.name,
        "a": str(card.address),
        "o": card.node,
        "s": [address.short for address in card.switches if address != card.address],
        "x": card.unusable or "",
        "m": card.maybe_held,
        "h": [_holder(holder) for holder in card.holders],
    }


def _holder(holder: PictureHolder) -> dict[str, Any]:
    return {
        "v": holder.vm,
        "n": holder.name,
        "r": RELATIONS[holder.relation],
        "later": not holder.now,
        "how": holder.how,
        "sure": _SURE.get(holder.certainty, ""),
    }


def _vm(vm: PictureVm) -> dict[str, Any]:
    place = vm.place
    return {
        "i": place.moid,
        "n": place.name,
        "on": place.is_on,
        "p": POWER.get(place.power, place.power),
        "at": place.nodes,
        "home": f"{home_words(place)}{f' on pNUMA {ranges(place.nodes)}' if len(place.nodes) > 1 else ''}",
        "size": size_words(place).replace("  ", ", "),
        "c": [(label, RELATIONS[relation]) for label, relation in vm.cards],
        "u": untold_words(vm.untold) if vm.untold else "",
        "far": RELATIONS[vm.farthest] if vm.farthest is not None else "",
    }


def _link(links: PictureLinks) -> str:
    across = f", across pNUMA {ranges(links.nodes)}" if len(links.nodes) > 1 else ""
    if links.lanes is None:
        pairs = ", ".join(f"{one} ═ {other} NV{lanes}" for one, other, lanes in links.pairs)
        return f"NVLink {links.name}: {pairs}{across}"
    if len(links.gpus) == 2:
        return f"NVLink {links.name}: {links.gpus[0]} ═ NV{links.lanes} ═ {links.gpus[1]}{across}"
    over = "over NVSwitch" if links.switched else "directly"
    numbers = ranges(int(label.removeprefix("GPU")) for label in links.gpus)
    return f"NVLink {links.name}: NV{links.lanes} {over} between any two of GPU{numbers}{across}"


def _untold_links(host: HostPicture) -> list[str]:
    if not host.untold_links:
        return []
    return [f"NVLink not known of {_count(host.untold_links, 'pair')} of GPUs: an overlay would tell"]
