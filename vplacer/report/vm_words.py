"""Words about one VM of a host, the same in the tree and in the picture."""

from __future__ import annotations

from typing import Final

from vplacer.topology.vm_places import Home, VmPlace

POWER: Final = {"poweredOn": "on", "poweredOff": "off", "suspended": "suspended"}

CLAIMS: Final = "when switched on:"
"""Before the devices that a VM which does not run will claim."""


def size_words(vm: VmPlace) -> str:
    """Write its size: ``16 vCPU  64 GiB``; empty where it could not be read."""
    if vm.cpus is None or vm.memory_mib is None:
        return ""
    return f"{vm.cpus} vCPU  {vm.memory_mib / 1024:g} GiB"


def holds_words(vm: VmPlace) -> str:
    """Write the devices it holds: ``holds GPU0 GPU1; 1 device, not told which``, or nothing."""
    held = vm.held
    parts = [f"holds {' '.join(held.now)}"] if held.now else []
    if held.at_power_on:
        parts.append(f"{CLAIMS} {' '.join(held.at_power_on)}")
    if held.unsettled:
        count = unsettled_words(held.unsettled)
        parts.append(count if held.at_power_on else f"{CLAIMS} {count}")
    if held.untold:
        parts.append(f"{'' if parts else 'holds '}{untold_words(held.untold)}")
    return "; ".join(parts)


def unsettled_words(count: int) -> str:
    """Write of how many devices a VM will claim it is not settled which they are."""
    return f"{count} device{'' if count == 1 else 's'}, not settled which"


def untold_words(count: int) -> str:
    """Write of how many devices it is not told which they are."""
    return f"{count} device{'' if count == 1 else 's'}, not told which"


def home_words(vm: VmPlace) -> str:
    """Write how its home is known: ``fixed``, ``measured, 62 % local``, ``floating``, ``not read``."""
    if vm.home is Home.UNREAD:
        return "not read"
    return f"measured, {vm.local_percent} % local" if vm.local_percent is not None else str(vm.home)
