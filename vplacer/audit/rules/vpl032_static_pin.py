"""A VM is bound to a card of one host: vMotion, DRS and HA cannot take it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.moves import cluster_of, drs_level, pins
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.inventory.cluster import Cluster
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import StaticBacking, Vm


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield running VMs with static DirectPath devices, or functions of a named port."""
    for vm, _host, _topology in subject.placed:
        if vm.is_on and vm.devices:
            bound = pins(vm)
            if bound:
                yield _hit(vm, bound, cluster_of(subject, vm))


def _hit(vm: Vm, bound: tuple[str, ...], cluster: Cluster | None) -> Hit:
    static = any(isinstance(device.backing, StaticBacking) for device in vm.devices)
    how = "static DirectPath I/O" if static else "SR-IOV with a named port"
    lost = ["vMotion cannot move it"]
    wanted = False
    if cluster is not None:
        level = drs_level(cluster, vm)
        if cluster.ha_enabled:
            lost.append("HA restarts it on no other host, however long this one is down")
        elif cluster.ha_enabled is None:
            lost.append("whether HA is on was not told")
        if level is not None:
            lost.append(f"DRS ({level}) starts it nowhere else")
        wanted = bool(cluster.ha_enabled or level is not None) and not _on_purpose(vm, cluster)
    return Hit(
        f"{how} binds it to {listed(bound)} of its host: {'; '.join(lost)}",
        Certainty.PROVED,
        vm=vm.moid,
        host=vm.host,
        severity=Severity.WARNING if wanted else Severity.NOTE,
        numbers=(("devices", len(bound)),),
    )


def _on_purpose(vm: Vm, cluster: Cluster) -> bool:
    """Whether a rule that must hold keeps it on its host alone."""
    return any(
        rule.enabled
        and rule.mandatory
        and not rule.apart
        and vm.moid in rule.vms
        and rule.hosts == (vm.host,)
        for rule in cluster.vm_host_rules
    )


RULE = Rule(
    id="VPL032",
    name="static-pin",
    title="VM bound to a card of one host",
    severity=Severity.WARNING,
    cause="A static DirectPath device names one card of one host by its address. Such a VM cannot be "
    "suspended, snapshotted with memory or moved by vMotion, and after a failure of its host it stays off.",
    evidence="VirtualPCIPassthroughDeviceBackingInfo, and SR-IOV devices with a physical function (vSphere "
    "documentation, DirectPath I/O: features that are not available). A warning where the cluster has HA "
    "or DRS, a note where it has neither, or a rule that must hold keeps the VM on its host alone.",
    fix="Replace it by Dynamic DirectPath I/O with a hardware label, while the VM is off: HA and DRS then "
    "start it on any host with such a card (vplacer plan with affinity 'label'). If it is bound on "
    "purpose, waive it.",
    sample="static DirectPath I/O binds it to 0000:3b:00.0 of its host: vMotion cannot move it; HA "
    "restarts it on no other host, however long this one is down; DRS (fullyAutomated) starts it nowhere "
    "else",
    find=find,
)
