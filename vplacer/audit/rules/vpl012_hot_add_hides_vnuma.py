"""CPU hot add hides vNUMA from a guest that would have several nodes."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.hidden_vnuma import has_several_vnuma, hidden_by_hot_add
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import numa_clients
from vplacer.audit.subject import Subject
from vplacer.constraints.vnuma_shape import can_have_vnuma
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm

_OLD_FIX = "Power the VM off and switch CPU hot add off; vNUMA then follows the host at the next power-on."


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs with CPU hot add that would have several vNUMA nodes without it."""
    hidden = hidden_by_hot_add(subject)
    for vm, host, _ in subject.placed:
        if vm.moid in hidden:
            yield _hit(vm, host)
        elif vm.cpu_hot_add is None and has_several_vnuma(vm, host):
            yield NotEvaluated("whether CPU hot add is on was not told", vm=vm.moid)


def _hit(vm: Vm, host: Host) -> Hit:
    exposed = vm.vnuma.exposed_on_hot_add
    why = "vNUMA is told not to be exposed" if exposed is False else "whether vNUMA is exposed was not told"
    devices = [device for device in vm.devices if (device.numa_node or 0) > 0]
    also = f"; {len(devices)} of its devices are told a vNUMA node that is not there" if devices else ""
    parts = numa_clients(vm, host)
    return Hit(
        f"CPU hot add is on and {why}: the guest sees one NUMA node, without it its {vm.cpus} vCPUs would be "
        f"{parts} vNUMA nodes{also}",
        Certainty.PROVED if exposed is False else Certainty.LIKELY,
        vm=vm.moid,
        host=host.moid,
        fix=None if can_have_vnuma(vm.hardware_version) else _OLD_FIX,
        numbers=(("vnuma_nodes", parts),),
    )


RULE = Rule(
    id="VPL012",
    name="hot-add-hides-vnuma",
    title="CPU hot add hides vNUMA",
    severity=Severity.WARNING,
    cause="With CPU hot add a guest is shown one NUMA node, whatever its size. It spreads threads and memory "
    "as if all were near, cannot keep work next to a GPU or NIC, and memory bandwidth and latency suffer.",
    evidence="cpuHotAddEnabled is on, VirtualNumaInfo.vnumaOnCpuHotaddExposed is not true, and the VM would "
    "have several vNUMA nodes: 9 vCPUs or more (numa.vcpu.min) and more than a node of its host has cores, "
    "or a vNUMA size set by hand (VMware KB 2040375). A VM that fits one node loses nothing and is no "
    "finding.",
    fix="Power the VM off and switch CPU hot add off, or, on hardware version 20 or later, expose vNUMA "
    "beside it (ConfigSpec.virtualNuma.exposeVnumaOnCpuHotadd = true).",
    sample="CPU hot add is on and vNUMA is told not to be exposed: the guest sees one NUMA node, without it "
    "its 24 vCPUs would be 2 vNUMA nodes",
    find=find,
)
