"""ReconfigureComputeResource: DRS rules, and levels of single VMs. UpdatePassthruConfig: hardware labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from vplacer.inventory.cluster import Cluster, VmHostRule, VmVmRule
from vplacer.inventory.host import Host
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress
from vplacer.lab.model.admission import host_faults
from vplacer.lab.model.faults import LabFault, invalid_argument
from vplacer.lab.model.tables import Tables
from vplacer.plan.changes import Action

Rule: TypeAlias = VmVmRule | VmHostRule
LEVELS: Final = frozenset({"fullyAutomated", "partiallyAutomated", "manual", "disabled"})


@dataclass(frozen=True, slots=True)
class RuleEdit:
    """A ClusterRuleSpec. An added rule's key is the server's to give; others are found by ``key``."""

    action: Action
    rule: Rule | None = None
    key: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterEdit:
    """``overrides``: VM to its own DRS level, None = it follows the cluster."""

    overrides: tuple[tuple[str, str | None], ...] = ()
    rules: tuple[RuleEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class PassthroughEdit:
    """A HostPciPassthruConfig. None = unchanged; ``label`` "" = none."""

    address: PciAddress
    enabled: bool | None = None
    label: str | None = None


def edit_cluster(tables: Tables, moid: str, edit: ClusterEdit) -> Cluster:
    """Change a cluster.

    Raises:
        LabFault: a VM or rule it does not have, a name taken, an unknown level.
    """
    cluster = tables.cluster(moid)
    levels = dict(cluster.drs_overrides)
    for vm, level in edit.overrides:
        _member(tables, vm, cluster)
        if level is None:
            levels.pop(vm, None)
        elif level in LEVELS:
            levels[vm] = level
        else:
            raise invalid_argument("spec.drsVmConfigSpec", f"no level is called '{level}'")
    rules = _rules(tables, cluster, edit.rules)
    after = replace(
        cluster,
        drs_overrides=tuple(sorted(levels.items(), key=lambda item: moid_order(item[0]))),
        vm_vm_rules=tuple(rule for rule in rules if isinstance(rule, VmVmRule)),
        vm_host_rules=tuple(rule for rule in rules if isinstance(rule, VmHostRule)),
    )
    tables.put_cluster(after)
    return after


def _rules(tables: Tables, cluster: Cluster, edits: Sequence[RuleEdit]) -> list[Rule]:
    rules: list[Rule] = [*cluster.vm_vm_rules, *cluster.vm_host_rules]
    for edit in edits:
        if edit.action is Action.ADD and edit.rule is not None:
            key = max((rule.key for rule in rules), default=0) + 1
            _check_rule(tables, cluster, edit.rule, rules)
            rules.append(replace(edit.rule, key=key))
            continue
        place = next((index for index, rule in enumerate(rules) if rule.key == edit.key), None)
        if place is None:
            raise invalid_argument("spec.rulesSpec", f"cluster {cluster.name} has no rule {edit.key}")
        if edit.action is Action.REMOVE:
            del rules[place]
        elif edit.rule is not None:
            others = [rule for index, rule in enumerate(rules) if index != place]
            _check_rule(tables, cluster, edit.rule, others)
            rules[place] = replace(edit.rule, key=rules[place].key)
    return rules


def _check_rule(tables: Tables, cluster: Cluster, rule: Rule, others: Iterable[Rule]) -> None:
    if any(other.name == rule.name for other in others):
        raise LabFault("DuplicateName", f"The name '{rule.name}' already exists.", name=rule.name)
    for vm in rule.vms:
        _member(tables, vm, cluster)
    if isinstance(rule, VmVmRule) and len(set(rule.vms)) < 2:
        raise invalid_argument("spec.rulesSpec", f"rule '{rule.name}' needs two VMs")
    if isinstance(rule, VmHostRule):
        for host in rule.hosts:
            if tables.host(host).cluster != cluster.moid:
                raise invalid_argument("spec.groupSpec", f"{host} is not in cluster {cluster.name}")


def _member(tables: Tables, moid: str, cluster: Cluster) -> None:
    host = tables.hosts.get(tables.vm(moid).host or "")
    if host is None or host.cluster != cluster.moid:
        raise invalid_argument("spec", f"{moid} is not in cluster {cluster.name}")


def set_passthrough(tables: Tables, moid: str, edits: Iterable[PassthroughEdit]) -> Host:
    """Enable passthrough of devices or label them; at once where the host can rebind, else at its reboot.

    Raises:
        LabFault: ``HostConfigFault``: no such device, in use, no labels at this host.
    """
    host = tables.host(moid)
    fault = next(host_faults(host), None)
    if fault is not None and not host.in_maintenance:
        raise fault
    for edit in edits:
        device = host.device(edit.address)
        state = device.passthrough if device is not None else None
        if device is None or state is None or not state.capable:
            raise _host_config(f"device {edit.address} of {host.name} cannot be passed through")
        if edit.label is not None:
            if host.capability.assign_label is False:
                raise _host_config(f"host {host.name} has no hardware labels")
            state = replace(state, label=edit.label or None)
        if edit.enabled is not None and edit.enabled != state.enabled:
            if any(
                item.address == edit.address
                for held in tables.held.values()
                for item in held
                if item.host == moid
            ):
                raise _host_config(f"device {edit.address} of {host.name} is in use")
            now = host.capability.rebind_without_reboot is True
            state = replace(state, enabled=edit.enabled, active=edit.enabled if now else state.active)
            if not now:
                host = replace(host, reboot_required=True)
        devices = (
            replace(item, passthrough=state) if item.address == edit.address else item
            for item in host.pci_devices
        )
        host = replace(host, pci_devices=tuple(devices))
    tables.put_host(host)
    return host


def _host_config(why: str) -> LabFault:
    return LabFault("HostConfigFault", f"An error occurred during host configuration: {why}.")
