"""VMs that hold cards of a host and that the account cannot see: vCenter leaves them out without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Gap


def holders_named(host: Host) -> frozenset[str]:
    """Return the moids of the VMs that a host says hold its cards.

    vSphere API: AssignableHardwareBinding.vm, HostGraphicsInfo.vm.
    """
    named = {binding.vm for binding in host.bindings}
    for device in host.pci_devices:
        if device.graphics is not None:
            named.update(device.graphics.vms)
    return frozenset(named)


def hidden_holders(host: Host, visible: Collection[str]) -> tuple[str, ...]:
    """Return the moids of the VMs that hold cards of a host and are not among the visible ones."""
    return tuple(sorted((vm for vm in holders_named(host) if vm not in visible), key=moid_order))


def hidden_holder_gaps(hosts: Iterable[Host], visible: Collection[str]) -> tuple[Gap, ...]:
    """Return a gap for each VM that holds cards and that the account cannot see."""
    where: dict[str, list[str]] = {}
    for host in hosts:
        for vm in hidden_holders(host, visible):
            where.setdefault(vm, []).append(host.name)
    return tuple(
        Gap(vm, "", "permission", f"it holds cards of {', '.join(names)}, but the account cannot see it")
        for vm, names in sorted(where.items(), key=lambda item: moid_order(item[0]))
    )
