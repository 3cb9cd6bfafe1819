"""Who holds what, vGPU capacity and findings as lines of text, for the topology tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import GpuMode
from vplacer.topology.claims import When
from vplacer.topology.describe_use import FindingLine, HolderLine, OpaqueHolder
from vplacer.topology.vgpu_capacity import CardCapacity, ProfileRoom

_MIB_PER_GIB = 1024
_MOST_NAMED = 4
_MODES = {
    GpuMode.NONE: "mode not told",
    GpuMode.SAME_SIZE: "same size",
    GpuMode.MIXED_SIZE: "mixed size",
    GpuMode.MIG: "MIG",
}


def holder_text(holder: HolderLine) -> str:
    """Return a holder: its name, and what is not plain about it."""
    notes = holder_notes(holder)
    return f"{holder.name} ({notes})" if notes else holder.name


def holder_notes(holder: HolderLine) -> str:
    """Return what is not plain about a holder; empty where all is."""
    if holder.when is When.AT_POWER_ON:
        return "when switched on"
    return "" if holder.certainty is Certainty.PROVED else str(holder.certainty)


def opaque_text(held: OpaqueHolder) -> str:
    """Return a VM whose cards are not told."""
    what = f"vGPU {held.profile}" if held.profile else "device"
    many = f"{held.count} {what}" if held.count == 1 or held.profile else f"{held.count} devices"
    return f"{held.name}  {many}" + (f"  label {held.label}" if held.label else "")


def capacity_lines(card: CardCapacity, names: Mapping[str, str]) -> list[str]:
    """Return what a vGPU card holds, what surely still fits, and why the rest does not."""
    parts = [f"vGPU {_MODES[card.mode]}"]
    held: dict[tuple[str, bool], list[str]] = {}
    for item in card.held:
        vm = names.get(item.vm, item.vm)
        held.setdefault((item.profile or "profile not known", item.sure), []).append(vm)
    for (profile, sure), vms in sorted(held.items()):
        holds = "holds" if sure else "may hold"
        parts.append(f"{holds} {len(vms)} x {profile} ({_some(sorted(set(vms)))})")
    if card.free_mib == 0:
        return ["; ".join([*parts, "full"])]
    if card.free_mib is not None:
        parts.append(f"{_gib(card.free_mib)} free")
    if card.unplaceable_mib:
        parts.append(f"{_gib(card.unplaceable_mib)} of it free but not placeable by one profile")
    lines = ["; ".join(parts)]
    fits = [room for room in card.rooms if room.more]
    if fits:
        lines.append(f"  fits {_some([f'{room.more} x {room.profile}' for room in fits])}")
    for why, rooms in _by_reason(card.rooms):
        lines.append(f"  no {_some([room.profile for room in rooms])}: {why}")
    return lines


def finding_lines(findings: Iterable[FindingLine]) -> list[str]:
    """Return a line a finding: kind, VM, sentence; how sure it is where it is not proved."""
    lines = []
    for line in findings:
        about = f"{line.name}: " if line.name else ""
        sure = "" if line.finding.certainty is Certainty.PROVED else f" ({line.finding.certainty})"
        lines.append(f"  [{line.finding.kind}] {about}{line.finding.text}{sure}")
    return lines


def _by_reason(rooms: Iterable[ProfileRoom]) -> list[tuple[str, list[ProfileRoom]]]:
    found: dict[str, list[ProfileRoom]] = {}
    for room in rooms:
        if room.why is not None:
            found.setdefault(room.why, []).append(room)
    return sorted(found.items())


def _some(words: list[str]) -> str:
    more = len(words) - _MOST_NAMED
    return ", ".join(words[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _gib(mib: int) -> str:
    return f"{mib / _MIB_PER_GIB:g} GiB"
