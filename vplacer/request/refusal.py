"""Reasons why a VM that a request names is not changed: one VM's trouble must not stop the others' plan."""

from __future__ import annotations

from vplacer.inventory.host import ConnectionState
from vplacer.inventory.vm import Vm, VmPower
from vplacer.request.demand import AffinityMode
from vplacer.request.naming import listed
from vplacer.request.sizing import DEFAULT_MMIO_GIB

BIOS_REASON = (
    "its firmware is BIOS, and {need} GiB of MMIO for its GPUs need EFI; changing the firmware of an "
    "installed guest makes it unbootable"
)


def why_untouchable(vm: Vm) -> str | None:
    """Return why nothing can be planned for a VM at all, or None."""
    if vm.connection is not ConnectionState.CONNECTED:
        return f"its connection state is {vm.connection.value}"
    if not vm.readable:
        return "vCenter cannot read its configuration"
    if vm.power is VmPower.SUSPENDED:
        return "it is suspended: resume it or power it off first"
    return None


def why_pinned(static: tuple[str, ...], affinity: AffinityMode | None, devices_stated: bool) -> str | None:
    """Return why a VM with static DirectPath devices stays as it is, or None.

    Its cards are somebody's choice; only an entry that states ``affinity`` or devices changes that.
    """
    if not static or devices_stated or affinity is not None:
        return None
    return (
        f"pinned: static DirectPath I/O holds {listed(static)}; state 'affinity' (pin, label or hint) in its "
        f"entry to place it anew"
    )


def why_not_static(vm: Vm, mode: AffinityMode, has_whole_cards: bool) -> str | None:
    """Return why a VM cannot be given static devices, or None (vSphere refuses them beside snapshots)."""
    if mode is not AffinityMode.PIN or not has_whole_cards or not vm.snapshot_count:
        return None
    return (
        f"it has {vm.snapshot_count} snapshot{'s' if vm.snapshot_count > 1 else ''}, which static DirectPath "
        f"I/O excludes: delete them, or use affinity label or hint"
    )


def why_not_bios(firmware: str | None, mmio_gib: int) -> str | None:
    """Return why a VM with BIOS firmware cannot have its cards, or None. BIOS is never turned into EFI."""
    if firmware != "bios" or mmio_gib <= DEFAULT_MMIO_GIB:
        return None
    return BIOS_REASON.format(need=mmio_gib)
