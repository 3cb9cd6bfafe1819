"""All that is odd about the settings of a host and of the VMs on it, as findings."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.host_findings import host_findings
from vplacer.constraints.vm_findings import vm_findings
from vplacer.inventory.finding import Finding
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import Vm
from vplacer.topology.claims import host_cards
from vplacer.topology.device_use import device_use
from vplacer.topology.host_topology import HostTopology


def settings_findings(host: Host, topology: HostTopology, vms: Iterable[Vm]) -> tuple[Finding, ...]:
    """Return the findings of a host, then those of its VMs in their order.

    ``vms``: those registered on it. Which card a device of theirs has counts where it is proved.
    """
    vms = tuple(vms)
    held: dict[str, dict[int, PciAddress]] = {}
    for claim in device_use(host_cards(host, topology), vms).now:
        if claim.certain and claim.address is not None and claim.device_key is not None:
            held.setdefault(claim.vm, {})[claim.device_key] = claim.address
    odd = (finding for vm in vms for finding in vm_findings(vm, host, topology, held.get(vm.moid, {})))
    return (*host_findings(host), *odd)
