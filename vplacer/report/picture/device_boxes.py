"""Boxes of the devices of a host, inside the PCIe switches they hang on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.pci import PciAddress
from vplacer.report.device_words import free_words, link_words, state_words, tied_words, where_words
from vplacer.report.picture.box import Box, Line
from vplacer.report.picture.style import PADDING, SIZES
from vplacer.report.picture.text import clip, columns, width, wrap
from vplacer.report.use_text import holder_notes, holder_text
from vplacer.topology.describe import DeviceLine, ranges

_COLUMNS: Final = 22
_LEAST: Final = _COLUMNS * 6.6
_HOLDERS_SHOWN: Final = 4
_KINDS: Final = {DeviceKind.GPU: "gpu", DeviceKind.NIC: "nic", DeviceKind.NVSWITCH: "nvswitch"}


def device_tree(devices: Sequence[DeviceLine], wide: float) -> tuple[Box, ...]:
    """Return boxes for devices that are side by side, each switch around what hangs on it.

    Args:
        devices: those to draw.
        wide: width of a device's box, see `device_width`.
    """
    return _level([(line.place.switches[::-1], line) for line in devices], wide)


def _level(
    items: Sequence[tuple[tuple[PciAddress, ...], DeviceLine]],
    wide: float,
) -> tuple[Box, ...]:
    """Draw devices with the switches above each that are not drawn yet, the outermost first."""
    below: dict[PciAddress, list[tuple[tuple[PciAddress, ...], DeviceLine]]] = {}
    for switches, line in sorted(items, key=lambda item: (*item[0], item[1].place.address)):
        below.setdefault(switches[0] if switches else line.place.address, []).append((switches[1:], line))
    boxes = []
    nvswitches = [line for path, line in items if not path and line.place.kind is DeviceKind.NVSWITCH]
    for address, inner in below.items():
        if any(address == line.place.address for line in nvswitches):
            continue
        (_, first), rest = inner[0], inner[1:]
        if not rest and first.place.address == address:
            boxes.append(_device(first, wide))
            continue
        boxes.append(_switch(address, _level(inner, wide)))
    if nvswitches:
        boxes.append(_nvswitches(nvswitches, wide))
    return tuple(boxes)


def _switch(address: PciAddress, inside: tuple[Box, ...]) -> Box:
    """Draw a switch; one around nothing but another is drawn as that other, with both in its tooltip."""
    about = f"PCIe switch, upstream port {address}"
    if len(inside) == 1 and inside[0].kind == "switch":
        return replace(inside[0], about=f"{about}\n{inside[0].about}")
    return Box("switch", (Line(f"PCIe switch {address.short}", "faint"),), inside, across=True, about=about)


def _nvswitches(lines: Sequence[DeviceLine], wide: float) -> Box:
    """Draw the NVSwitches of one place as one box."""
    labels = f"NVSwitch{ranges(int(line.label.removeprefix('NVSwitch')) for line in lines)}"
    addresses = wrap(" ".join(line.place.address.short for line in lines), _COLUMNS)
    facts = (Line(labels, "strong"), *(Line(text, "faint") for text in addresses))
    about = "\n".join(_about(line) for line in lines)
    return Box("nvswitch", facts, width=wide, about=about, key=lines[0].label)


def device_width(devices: Sequence[DeviceLine]) -> float:
    """Return one width in which the text of each device fits, in whole pixels."""
    cards = [device for device in devices if device.place.kind is not DeviceKind.NVSWITCH]
    lines = [line for device in cards for line in _lines(device)]
    widest = max((width(line.shown, SIZES[line.style]) for line in lines), default=_LEAST)
    return ceil(widest) + 2 * PADDING + 4


def _device(line: DeviceLine, wide: float) -> Box:
    return Box(
        _KINDS[line.place.kind],
        _lines(line),
        width=wide,
        about=_about(line),
        key=line.label,
    )


def _lines(line: DeviceLine) -> tuple[Line, ...]:
    place = line.place
    facts = [*_name(line), Line(place.address.short, "faint")]
    speed = f"{line.link_mbps / 1000:g} Gb/s" if line.link_mbps else ""
    vfs = f"{len(place.functions)} VFs" if place.functions else ""
    if speed or vfs:
        facts.append(Line("  ".join(part for part in (speed, vfs) if part)))
    if line.nvlink_set is not None:
        facts.append(Line(f"{_nvlink(line)} (NVLink {line.nvlink_set})"))
    if line.hardware_label:
        facts.append(Line(clip(f"label {line.hardware_label}", _COLUMNS)))
    if state_words(line):
        facts.append(Line(state_words(line), "warn" if line.state == "enabled" else "faint"))
    if free_words(line):
        facts.append(Line(free_words(line)))
    facts += [Line(text, "faint") for word in where_words(line) for text in wrap(word, _COLUMNS)]
    facts += [Line(text, "warn") for word in tied_words(line) for text in wrap(word, _COLUMNS)]
    for holder in line.holders[:_HOLDERS_SHOWN]:
        facts.append(Line(clip(f"\u25b8 {holder.name}", _COLUMNS), "strong"))
        if holder_notes(holder):
            facts.append(Line(f"  {holder_notes(holder)}"))
    if len(line.holders) > _HOLDERS_SHOWN:
        facts.append(Line(f"  and {len(line.holders) - _HOLDERS_SHOWN} more VMs"))
    return tuple(facts)


def _name(line: DeviceLine) -> list[Line]:
    """Write label and name on one line, a long name below in up to two."""
    whole = f"{line.label} {line.name}"
    if columns(whole) <= _COLUMNS:
        return [Line(whole, "strong")]
    lines = wrap(line.name, _COLUMNS)
    if len(lines) > 2:
        lines = (lines[0], clip(line.name.removeprefix(lines[0]).lstrip(), _COLUMNS))
    return [Line(line.label, "strong"), *(Line(text) for text in lines)]


def _nvlink(line: DeviceLine) -> str:
    """Write the links in short: ``NV4 GPU1``, ``NV18`` where there are several alike, ``NV1-2`` else."""
    counts = sorted({link.lanes for link in line.links})
    if len(line.links) == 1:
        return f"NV{counts[0]} {line.links[0].label}"
    return f"NV{counts[0]}" if len(counts) == 1 else f"NV{counts[0]}-{counts[-1]}"


def _about(line: DeviceLine) -> str:
    place = line.place
    facts = [
        f"{line.label}: {line.name}",
        f"address {place.address}",
        f"vendor:device {place.ids}",
        "pNUMA node not known" if place.node is None else f"pNUMA {place.node}, told by {place.source}",
        f"root port {place.root}" if place.root is not None else "",
        f"NVLink: {link_words(line)}" if line.links else "",
        f"NVLink not known to {', '.join(line.open_links)}" if line.open_links else "",
        f"hardware label {line.hardware_label}" if line.hardware_label else "",
        f"passthrough: {state_words(line) or 'active'}",
        f"virtual functions: {place.functions[0]} to {place.functions[-1]}" if place.functions else "",
        *tied_words(line),
        *(f"held by {holder_text(holder)} ({holder.moid}, {holder.how})" for holder in line.holders),
    ]
    return "\n".join(fact for fact in facts if fact)
