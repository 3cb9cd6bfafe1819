"""Every running VM as a demand to be what it is: what the judge is asked about in an audit."""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.inventory.vcenter import Inventory
from vplacer.request.as_today import AsToday
from vplacer.request.demand import Policy, RequestOptions, ResolvedRequest, Rules
from vplacer.request.refusal import why_untouchable
from vplacer.request.resolve import nobody
from vplacer.topology.host_topology import HostTopology


def as_they_run(inventory: Inventory, topologies: Mapping[str, HostTopology]) -> ResolvedRequest:
    """Return demands of all running VMs on known hosts.

    Unlike where VMs are to be moved, those of others, linked clones and VMs with devices that no request
    can ask for are among them: an audit reports what it may not mend. Rules between VMs are left out.
    """
    maker = AsToday(inventory, topologies, nobody, frozenset())
    demands = []
    for vm in inventory.vms:
        if not vm.is_on or vm.template or vm.host not in topologies or why_untouchable(vm) is not None:
            continue
        today = maker.reader.read(vm, Policy.PREFERRED)
        demands.append(maker.demand(vm, today, maker.mode(vm, today), priority=0))
    return ResolvedRequest(
        demands=tuple(demands),
        rules=Rules(),
        options=RequestOptions(),
        derived=tuple(demand.id for demand in demands),
    )
