"""Boxes of the VMs of a host, by what is known of their home."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from vplacer.report.picture.box import Box, Line
from vplacer.report.picture.style import PADDING, SIZES
from vplacer.report.picture.text import clip, columns, width
from vplacer.report.vm_words import (
    CLAIMS,
    POWER,
    holds_words,
    home_words,
    size_words,
    unsettled_words,
    untold_words,
)
from vplacer.topology.describe import HostDescription, ranges
from vplacer.topology.describe_use import OpaqueHolder
from vplacer.topology.vm_places import Home, VmPlace

_COLUMNS: Final = 30
_MARKS: Final = {"poweredOn": "\u25cf", "poweredOff": "\u25cb", "suspended": "\u25d0"}


def vms_of_node(vms: Sequence[VmPlace], node: int, wide: float) -> tuple[Box, ...]:
    """Return the box of the VMs whose only home is a node; none where there is no such VM."""
    here = [vm for vm in vms if vm.nodes == (node,)]
    return (_shelf("row", (), here, wide),) if here else ()


def vms_elsewhere(description: HostDescription, wide: float) -> tuple[Box, ...]:
    """Return boxes of the VMs that sit in no single node: across several, floating, not read."""
    vms = description.vms
    boxes = []
    across = sorted({vm.nodes for vm in vms if len(vm.nodes) > 1})
    for nodes in across:
        head = Line(f"VMs across pNUMA {ranges(nodes)}", "strong")
        boxes.append(_shelf("node", (head,), [vm for vm in vms if vm.nodes == nodes], wide))
    floating = [vm for vm in vms if vm.home is Home.FLOATING]
    running = [vm for vm in floating if vm.is_on]
    if running:
        head = Line("Floating VMs", "strong")
        text = Line("no home: ESXi may run each on any node, and moves it at will", "faint")
        boxes.append(_shelf("floating", (head, text), running, wide))
    resting = [vm for vm in floating if not vm.is_on]
    if resting:
        boxes.append(_shelf("floating", (Line("VMs not running, without a home", "strong"),), resting, wide))
    unread = [vm for vm in vms if vm.home is Home.UNREAD]
    if unread:
        head = Line("VMs whose configuration vCenter did not give", "strong")
        boxes.append(_shelf("unknown", (head,), unread, wide))
    return tuple(boxes)


def untold_box(held: Sequence[OpaqueHolder], wide: float) -> tuple[Box, ...]:
    """Return the box of the VMs that hold devices of which vCenter does not say which."""
    if not held:
        return ()
    head = Line("Held, vCenter does not tell which device", "strong")
    chips = []
    for one in held:
        label = (Line(clip(f"label {one.label}", _COLUMNS)),) if one.label else ()
        what = f"vGPU {one.profile}" if one.profile else f"device{'' if one.count == 1 else 's'}"
        devices = f"{one.count} {what}"
        lines = (Line(clip(one.name, _COLUMNS), "strong"), Line(clip(devices, _COLUMNS)), *label)
        chips.append(Box("vm", lines, width=wide, about=f"{one.name} ({one.moid}) holds {devices}"))
    return (Box("unknown", (head,), tuple(chips), across=True, grow=True, least=300),)


def chip_width(description: HostDescription) -> float:
    """Return one width in which the text of each VM fits, in whole pixels."""
    lines = [line for vm in description.vms for line in _lines(vm)]
    texts = [width(line.shown, SIZES[line.style]) for line in lines]
    texts += [width(clip(held.name, _COLUMNS), SIZES["strong"]) for held in description.opaque_holders]
    texts += [width("x" * _COLUMNS, SIZES["plain"]) for held in description.opaque_holders if held.profile]
    texts += [
        width(clip(f"label {held.label}", _COLUMNS), SIZES["plain"]) for held in description.opaque_holders
    ]
    return ceil(max(texts, default=0)) + 2 * PADDING + 4


def _shelf(kind: str, head: tuple[Line, ...], vms: Iterable[VmPlace], wide: float) -> Box:
    return Box(kind, head, tuple(_chip(vm, wide) for vm in vms), across=True, grow=True, least=300)


def _chip(vm: VmPlace, wide: float) -> Box:
    about = [
        f"{vm.name} ({vm.moid}), {POWER.get(vm.power, vm.power)}",
        f"home: {home_words(vm)}" + (f" on pNUMA {ranges(vm.nodes)}" if vm.nodes else ""),
        vm.why,
        size_words(vm),
        holds_words(vm),
    ]
    return Box(
        "vm" if vm.is_on else "vm-off",
        _lines(vm),
        width=wide,
        about="\n".join(fact for fact in about if fact),
        key=vm.moid,
    )


def _lines(vm: VmPlace) -> tuple[Line, ...]:
    mark = _MARKS.get(vm.power, "?")
    facts = [Line(f"{mark} {clip(vm.name, _COLUMNS - 2)}", "strong")]
    if size_words(vm):
        facts.append(Line(size_words(vm), "faint"))
    state = [] if vm.is_on else [POWER.get(vm.power, vm.power)]
    if vm.home in (Home.FIXED, Home.MEASURED):
        state.insert(0, home_words(vm))
    if state:
        facts.append(Line(", ".join(state)))
    for verb, labels in (("holds", vm.held.now), (CLAIMS, vm.held.at_power_on)):
        facts += [Line(clip(text, _COLUMNS)) for text in _packed(verb, labels)]
    if vm.held.unsettled:
        facts += [Line(CLAIMS)] if not vm.held.at_power_on else []
        facts.append(Line(f"  {unsettled_words(vm.held.unsettled)}"))
    if vm.held.untold:
        facts.append(Line(untold_words(vm.held.untold), "warn"))
    return tuple(facts)


def _packed(verb: str, labels: Sequence[str]) -> list[str]:
    """Write labels by kind, numbers as ranges: ``holds GPU0-3  NIC1``; addresses as they are."""
    kinds: dict[str, list[int]] = {}
    texts = []
    for label in labels:
        word = label.rstrip("0123456789")
        if word.isalpha():
            kinds.setdefault(word, []).append(int(label[len(word) :]))
        else:
            texts.append(label)
    texts = [f"{word}{ranges(numbers)}" for word, numbers in kinds.items()] + texts
    joined = f"{verb} {'  '.join(texts)}"
    if not texts or columns(joined) <= _COLUMNS:
        return [joined] if texts else []
    return [f"{verb} {text}" for text in texts]
