"""Clusters with their rules, and resource pools."""

from __future__ import annotations

from typing import Final

from vplacer.inventory.cluster import Cluster, HaAdmission, ResourcePool, VmHostRule, VmVmRule
from vplacer.inventory.moids import moid_order
from vplacer.vsphere.raw import Data, Notes, RawObject
from vplacer.vsphere.read_names import shown_name
from vplacer.vsphere.read_vm import limit_of

_MIB: Final = 1024 * 1024

# Start-up order between groups of VMs: says nothing about where they run.
_IGNORED_RULES: Final = ("ClusterDependencyRuleInfo",)


def read_cluster(
    raw: RawObject, name: str, *, datacenter: str | None, tags: tuple[str, ...], notes: Notes
) -> Cluster:
    """Read one cluster.

    Args:
        raw: its properties (`property_paths.CLUSTER`).
        name: its name.
        datacenter: moid of its datacenter.
        tags: its tags, "category:name".
        notes: told of rules and policies that are not known.
    """
    config = raw.props.data("configurationEx") or Data("", (), {})
    summary = raw.props.data("summary")
    drs, ha, dpm = config.data("drsConfig"), config.data("dasConfig"), config.data("dpmConfigInfo")
    vm_vm, vm_host = _rules(config, name, notes)
    return Cluster(
        moid=raw.ref.moid,
        name=name,
        datacenter=datacenter,
        drs_level=_drs_level(drs),
        ha_enabled=ha.flag("enabled") if ha else None,
        admission=_admission(ha, name, notes),
        dpm_enabled=dpm.flag("enabled") if dpm else None,
        evc_mode=summary.text("currentEVCModeKey") or None if summary else None,
        vm_vm_rules=vm_vm,
        vm_host_rules=vm_host,
        drs_overrides=_overrides(config),
        tags=tags,
    )


def _drs_level(drs: Data | None) -> str | None:
    if drs is None or drs.flag("enabled") is not True:
        return None
    return drs.text("defaultVmBehavior") or "fullyAutomated"


def _overrides(config: Data) -> tuple[tuple[str, str], ...]:
    """``enabled`` unset means true; a behaviour unset means the cluster's (vSphere API)."""
    found = []
    for item in config.items("drsVmConfig"):
        vm = item.ref("key")
        level = "disabled" if item.flag("enabled") is False else item.text("behavior")
        if vm is not None and level:
            found.append((vm.moid, level))
    return tuple(sorted(found, key=lambda pair: moid_order(pair[0])))


def _admission(ha: Data | None, name: str, notes: Notes) -> HaAdmission | None:
    if ha is None or ha.flag("enabled") is not True:
        return None
    if ha.flag("admissionControlEnabled") is False:
        return HaAdmission("none")
    policy = ha.data("admissionControlPolicy")
    if policy is None:
        level = ha.number("failoverLevel")
        return HaAdmission("none") if level is None else HaAdmission("hosts", failover_hosts=level)
    if policy.is_a("ClusterFailoverLevelAdmissionControlPolicy"):
        return HaAdmission("hosts", failover_hosts=policy.number("failoverLevel"))
    if policy.is_a("ClusterFailoverResourcesAdmissionControlPolicy"):
        return HaAdmission(
            "percent",
            cpu_percent=policy.number("cpuFailoverResourcesPercent"),
            memory_percent=policy.number("memoryFailoverResourcesPercent"),
        )
    if policy.is_a("ClusterFailoverHostAdmissionControlPolicy"):
        moids = sorted((ref.moid for ref in policy.refs("failoverHosts")), key=moid_order)
        return HaAdmission("dedicated", dedicated=tuple(moids))
    notes.add(f"{name}: admission control {policy.type} is not known and counts as none")
    return HaAdmission("none")


def _rules(config: Data, name: str, notes: Notes) -> tuple[tuple[VmVmRule, ...], tuple[VmHostRule, ...]]:
    groups = {group.text("name") or "": group for group in config.items("group")}
    vm_vm: list[VmVmRule] = []
    vm_host: list[VmHostRule] = []
    for rule in config.items("rule"):
        if rule.is_a("ClusterAffinityRuleSpec") or rule.is_a("ClusterAntiAffinityRuleSpec"):
            vm_vm.append(_vm_vm_rule(rule))
        elif rule.is_a("ClusterVmHostRuleInfo"):
            vm_host.extend(_vm_host_rules(rule, groups, name, notes))
        elif rule.type not in _IGNORED_RULES:
            notes.add(f"{name}: rule '{rule.text('name')}' of type {rule.type} is not known")
    return (
        tuple(sorted(vm_vm, key=lambda rule: rule.key)),
        tuple(sorted(vm_host, key=lambda rule: (rule.key, rule.apart))),
    )


def _vm_vm_rule(rule: Data) -> VmVmRule:
    return VmVmRule(
        key=rule.number("key") or 0,
        name=rule.text("name") or "",
        enabled=rule.flag("enabled") is not False,
        apart=rule.is_a("ClusterAntiAffinityRuleSpec"),
        vms=_members(rule, "vm"),
        mandatory=rule.flag("mandatory") is True,
    )


def _vm_host_rules(rule: Data, groups: dict[str, Data], name: str, notes: Notes) -> list[VmHostRule]:
    """One rule may name hosts to run on and hosts to keep off: those are two."""
    found = []
    vm_group = groups.get(rule.text("vmGroupName") or "")
    for field, apart in (("affineHostGroupName", False), ("antiAffineHostGroupName", True)):
        group_name = rule.text(field)
        if not group_name:
            continue
        host_group = groups.get(group_name)
        if vm_group is None or host_group is None:
            notes.add(f"{name}: rule '{rule.text('name')}' names a group that does not exist")
            continue
        found.append(
            VmHostRule(
                key=rule.number("key") or 0,
                name=rule.text("name") or "",
                enabled=rule.flag("enabled") is not False,
                apart=apart,
                vms=_members(vm_group, "vm"),
                hosts=_members(host_group, "host"),
                mandatory=rule.flag("mandatory") is True,
            )
        )
    return found


def _members(item: Data, field: str) -> tuple[str, ...]:
    return tuple(sorted({ref.moid for ref in item.refs(field)}, key=moid_order))


def read_pool(raw: RawObject) -> ResourcePool:
    """Read one resource pool or vApp. A root pool's parent is its compute resource, so it has none here."""
    props = raw.props
    memory = props.data("config.memoryAllocation")
    parent, owner = props.ref("parent"), props.ref("owner")
    in_pool = parent is not None and parent.type in ("ResourcePool", "VirtualApp")
    unreserved = props.number("runtime.memory.unreservedForVm")
    return ResourcePool(
        moid=raw.ref.moid,
        name=shown_name(props.text("name")),
        parent=parent.moid if parent is not None and in_pool else None,
        owner=owner.moid if owner else "",
        memory_reservation_mib=memory.number("reservation") if memory else None,
        memory_expandable=memory.flag("expandableReservation") if memory else None,
        memory_limit_mib=limit_of(memory),
        memory_unreserved_mib=None if unreserved is None else unreserved // _MIB,
        cpu_unreserved_mhz=props.number("runtime.cpu.unreservedForVm"),
    )
