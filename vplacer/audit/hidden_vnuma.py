"""VMs whose vNUMA is hidden by CPU hot add: shared, so that one rule tells it and others do not again."""

from __future__ import annotations

from vplacer.audit.node_room import numa_clients
from vplacer.audit.subject import Subject
from vplacer.constraints.vnuma_shape import FEWEST_CPUS_WITH_VNUMA
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm


def hidden_by_hot_add(subject: Subject) -> frozenset[str]:
    """Return the moids of the VMs that would have several vNUMA nodes, and are shown one for CPU hot add."""
    return subject.derive(_hidden)


def has_several_vnuma(vm: Vm, host: Host) -> bool:
    """Whether a VM would be shown several vNUMA nodes, were it not for CPU hot add.

    From 9 vCPUs on (numa.vcpu.min) a VM that is larger than a node has several; by hand, one of any size.
    """
    return vm.cpus >= _fewest(vm) and numa_clients(vm, host) > 1


def _fewest(vm: Vm) -> int:
    if vm.vnuma.cores_per_node and vm.vnuma.auto is False:
        return 1
    text = vm.extra("numa.vcpu.min")
    return int(text) if text is not None and text.isdigit() else FEWEST_CPUS_WITH_VNUMA


def _hidden(subject: Subject) -> frozenset[str]:
    return frozenset(
        vm.moid
        for vm, host, _ in subject.placed
        if vm.cpu_hot_add and vm.vnuma.exposed_on_hot_add is not True and has_several_vnuma(vm, host)
    )
