"""What is said of a host beside its tree or picture: groups, assumptions, what was not used."""

from __future__ import annotations

from vplacer.inventory.host import ConnectionState
from vplacer.report.use_text import finding_lines
from vplacer.topology.describe import HostDescription, HostState
from vplacer.topology.values import GroupOffer


def host_notes(description: HostDescription) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return titles, each with its sentences; titles without any are left out."""
    unknown = sum(len(line.open_links) for line in description.devices) // 2
    pairs = "1 pair" if unknown == 1 else f"{unknown} pairs"
    told = (f"{pairs} of GPUs: vCenter does not tell; an overlay would",) if unknown else ()
    together = tuple(" ".join(address.short for address in group) for group in description.ownership_groups)
    sections = (
        ("NVLink unknown", told),
        ("device groups", tuple(_group(offer) for offer in description.device_groups)),
        ("leave the hypervisor together", together),
        ("findings", tuple(text.strip() for text in finding_lines(description.findings))),
        ("assumed", description.assumptions),
        ("not used", description.mismatches),
    )
    return tuple((title, sentences) for title, sentences in sections if sentences)


def state_words(state: HostState) -> tuple[str, ...]:
    """Say what is unusual about the host; what is not told is not unusual here."""
    words = []
    if state.connection is not ConnectionState.CONNECTED:
        words.append(f"{state.connection}: what is shown is what vCenter last knew")
    if state.in_maintenance:
        words.append("in maintenance mode")
    if state.in_quarantine:
        words.append("in quarantine")
    if state.reboot_required:
        words.append("needs a reboot")
    return tuple(words)


def _group(offer: GroupOffer) -> str:
    if offer.sets is None:
        return f"{offer.name}  cards not known: {offer.why}"
    if not offer.sets:
        return f"{offer.name}  no cards: {offer.why}"
    sets = " | ".join(" ".join(address.short for address in cards) for cards in offer.sets)
    return f"{offer.name}  {sets}"


def measured_words(description: HostDescription) -> str:
    """Say when homes of VMs were measured; empty where none was."""
    seen = sorted({vm.measured_at for vm in description.vms if vm.measured_at is not None})
    if not seen:
        return ""
    since = seen[0] if len(seen) == 1 else f"{seen[0]} to {seen[-1]}"
    return f"homes measured {since}: ESXi may have moved VMs since"


def cpu_words(description: HostDescription) -> str:
    """Say what the CPUs offer: "CPU: INT8 (AVX-512 VNNI); BF16, AMX: hidden by EVC mode intel-icelake"."""
    offers = description.cpu
    offered = [f"{offer.name} ({', '.join(offer.features)})" for offer in offers if offer.offered]
    parts = [", ".join(offered)] if offered else []
    for why in dict.fromkeys(offer.why for offer in offers if not offer.offered):
        names = [offer.name for offer in offers if not offer.offered and offer.why == why]
        parts.append(f"{', '.join(names)}: {why}")
    return f"CPU: {'; '.join(parts)}" if parts else ""
