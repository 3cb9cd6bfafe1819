"""A VM with GPUs has a hardware version without vNUMA topology, and its host allows a newer one."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.gpu_vms import vms_with_gpus
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import numa_clients
from vplacer.audit.subject import Subject
from vplacer.constraints.vnuma_shape import can_have_vnuma
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import FIRST_WITH_DYNAMIC, FIRST_WITH_VNUMA, table_limits
from vplacer.inventory.vm import DynamicBacking


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with GPUs below hardware version 20 on hosts that run it."""
    silent: set[str] = set()
    for vm, host, _ in vms_with_gpus(subject):
        version = vm.hardware_version
        if version is None:
            yield NotEvaluated("its hardware version was not told", vm=vm.moid)
            continue
        if can_have_vnuma(version):
            continue
        offered = _offered(host)
        if not offered:
            if host.moid not in silent:
                silent.add(host.moid)
                yield NotEvaluated("which hardware versions the host runs is not known", host=host.moid)
            continue
        if max(offered) < FIRST_WITH_VNUMA:
            continue
        dynamic = any(isinstance(device.backing, DynamicBacking) for device in vm.devices)
        if version < FIRST_WITH_DYNAMIC and dynamic and not vm.is_on:
            yield Hit(
                f"hardware version {version} has no Dynamic DirectPath I/O, which needs "
                f"{FIRST_WITH_DYNAMIC}: it will not start; its host runs up to {max(offered)}",
                Certainty.LIKELY,
                vm=vm.moid,
                host=host.moid,
                severity=Severity.ERROR,
                numbers=(("hardware_version", version),),
            )
            continue
        several = numa_clients(vm, host) > 1 or len(vm.node_affinity) > 1
        on = "it is on several NUMA nodes" if several else "it fits one NUMA node"
        yield Hit(
            f"hardware version {version} has no vNUMA topology and no NUMA node of devices to set; its host "
            f"runs up to {max(offered)}, and {on}",
            Certainty.PROVED,
            vm=vm.moid,
            host=host.moid,
            severity=Severity.WARNING if several else Severity.NOTE,
            numbers=(("hardware_version", version),),
        )


def _offered(host: Host) -> tuple[int, ...]:
    return tuple(limits.version for limits in (host.limits or table_limits(host.version)))


RULE = Rule(
    id="VPL016",
    name="hardware-version-old",
    title="Hardware version is too old for vNUMA topology",
    severity=Severity.NOTE,
    cause="Below hardware version 20 neither the vNUMA topology (ConfigSpec.virtualNuma) nor the NUMA node "
    "of a device (VirtualDevice.numaNode) can be set, nor device groups be used: the guest cannot be told "
    "where its GPUs are.",
    evidence="The version of a VM with GPUs or vGPUs, against what its host runs (VirtualHardwareOption, "
    "else the table by ESXi release). A VM on several NUMA nodes is a warning, one that fits a node a note; "
    "Dynamic DirectPath I/O below version 17 is an error. VMs on hosts below ESXi 8.0 are no finding.",
    fix="Upgrade the VM's compatibility to version 20, not to the latest: it must be off, every host it may "
    "run on must be ESXi 8.0 or later, and it cannot be undone. vplacer plan does so where the request "
    "needs it.",
    sample="hardware version 19 has no vNUMA topology and no NUMA node of devices to set; its host runs up "
    "to 21, and it fits one NUMA node",
    find=find,
)
