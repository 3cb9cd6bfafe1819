"""What is written to a cluster: DRS levels of single VMs, and DRS rules with their groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vplacer.errors import InternalError, StaleError
from vplacer.inventory.cluster import VmHostRule, VmVmRule
from vplacer.port import RuleChange
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.raw import Data, MoRef

DISABLED = "disabled"
"""The level of a VM that DRS leaves alone."""


def encode_override(vm: MoRef, level: str | None, config: Data) -> Any | None:
    """Return the cluster's spec that gives a VM a DRS level of its own; None = it is so already.

    Args:
        vm: the VM.
        level: DrsBehavior, "disabled", or None to follow the cluster.
        config: the cluster's configurationEx now.
    """
    has_own = any(item.ref("key") == vm for item in config.items("drsVmConfig"))
    if level is None:
        if not has_own:
            return None
        entry = make("ClusterDrsVmConfigSpec", operation="remove", removeKey=vm)
    else:
        info = make("ClusterDrsVmConfigInfo", key=vm, enabled=level != DISABLED)
        if level != DISABLED:
            info.behavior = level
        entry = make("ClusterDrsVmConfigSpec", operation="edit" if has_own else "add", info=info)
    return make("ClusterConfigSpecEx", drsVmConfigSpec=[entry])


def encode_rules(changes: Iterable[RuleChange], config: Data, cluster: str) -> Any:
    """Return the cluster's spec that adds, changes and removes rules.

    A rule between VMs and hosts names two groups: those of a new one are called after it. Groups that go
    with a removed rule are those that no other rule names and that are called after it.

    Args:
        changes: all of one cluster.
        config: the cluster's configurationEx now.
        cluster: its name, for messages.

    Raises:
        StaleError: a rule to be changed is not there.
        InternalError: a change turns one kind of rule into another.
    """
    rules: list[Any] = []
    groups: list[Any] = []
    for change in changes:
        kinds = {type(rule) for rule in (change.before, change.after) if rule is not None}
        if len(kinds) != 1:
            raise InternalError("a DRS rule cannot become one of another kind", obj=cluster)
        present = _present(change.before, config, cluster) if change.before is not None else None
        rules.append(_rule_spec(change.after, present))
        if kinds == {VmHostRule} and not isinstance(change.after, VmVmRule):
            groups.extend(_group_specs(change.after, present, config))
    spec = make("ClusterConfigSpecEx", rulesSpec=rules)
    if groups:
        spec.groupSpec = groups
    return spec


def _present(rule: VmVmRule | VmHostRule, config: Data, cluster: str) -> Data:
    found = [item for item in config.items("rule") if item.text("name") == rule.name]
    same = [item for item in found if item.number("key") == rule.key] or found
    if len(same) != 1:
        raise StaleError(
            f"the cluster has no DRS rule '{rule.name}' any more"
            if not same
            else f"the cluster has {len(same)} DRS rules '{rule.name}'",
            obj=cluster,
            hint="look at the cluster's rules and make a new plan",
        )
    return same[0]


def _rule_spec(after: VmVmRule | VmHostRule | None, present: Data | None) -> Any:
    key = present.number("key") if present is not None else None
    if after is None:
        # xsd:int: what the rule's own key is declared as.
        return make("ClusterRuleSpec", operation="remove", removeKey=key)
    return make("ClusterRuleSpec", operation="add" if key is None else "edit", info=_rule(after, present))


def _rule(rule: VmVmRule | VmHostRule, present: Data | None) -> Any:
    common: dict[str, object] = {
        "name": rule.name,
        "enabled": rule.enabled,
        "mandatory": rule.mandatory,
        "userCreated": True,
    }
    if present is not None:
        common["key"] = present.number("key")
    if isinstance(rule, VmVmRule):
        kind = "ClusterAntiAffinityRuleSpec" if rule.apart else "ClusterAffinityRuleSpec"
        return make(kind, **common, vm=[MoRef("VirtualMachine", moid) for moid in rule.vms])
    side = "antiAffineHostGroupName" if rule.apart else "affineHostGroupName"
    names = _group_names(rule, present)
    return make("ClusterVmHostRuleInfo", **common, vmGroupName=names[0], **{side: names[1]})


def _group_names(rule: VmHostRule, present: Data | None) -> tuple[str, str]:
    """Return the names of a rule's groups of VMs and of hosts; one that exists keeps its own."""
    vms = hosts = None
    if present is not None:
        vms = present.text("vmGroupName")
        hosts = present.text("affineHostGroupName") or present.text("antiAffineHostGroupName")
    return vms or f"{rule.name} VMs", hosts or f"{rule.name} hosts"


def _group_specs(after: VmHostRule | None, present: Data | None, config: Data) -> Iterator[Any]:
    existing = {item.text("name") for item in config.items("group")}
    if after is not None:
        vms, hosts = _group_names(after, present)
        members = [MoRef("VirtualMachine", moid) for moid in after.vms]
        yield _group(make("ClusterVmGroup", name=vms, vm=members), existing)
        members = [MoRef("HostSystem", moid) for moid in after.hosts]
        yield _group(make("ClusterHostGroup", name=hosts, host=members), existing)
        return
    if present is None:
        return
    others = [item for item in config.items("rule") if item is not present]
    used = {
        item.text(field)
        for item in others
        for field in ("vmGroupName", "affineHostGroupName", "antiAffineHostGroupName")
    }
    name = present.text("name")
    for group in (f"{name} VMs", f"{name} hosts"):
        if group in existing and group not in used:
            yield make("ClusterGroupSpec", operation="remove", removeKey=group)


def _group(info: Any, existing: set[str | None]) -> Any:
    return make("ClusterGroupSpec", operation="edit" if info.name in existing else "add", info=info)
