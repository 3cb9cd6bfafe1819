"""All that is odd about the settings of a host and of the VMs on it, as findings."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.constraints.host_findings import host_findings
from vplacer.constraints.vm_findings import vm_findings
from vplacer.inventory.finding import Finding
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.topology.host_topology import HostTopology


def settings_findings(host: Host, topology: HostTopology, vms: Iterable[Vm]) -> tuple[Finding, ...]:
    """Return the findings of a host, then those of its VMs in their order.

    ``vms``: those registered on it. Which card a device of theirs has is proved by its configuration, or by
    the host's bindings from API 9.1 on.
    """
    found = list(host_findings(host))
    for vm in vms:
        held = {
            binding.device_key: binding.address
            for binding in host.bindings
            if binding.vm == vm.moid and binding.device_key is not None and binding.address is not None
        }
        found += vm_findings(vm, host, topology, held)
    return tuple(found)
