"""ClusterConfigSpecEx: DRS levels of single VMs, rules and their groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pyVmomi import vim

from vplacer.inventory.cluster import Cluster, VmHostRule, VmVmRule
from vplacer.lab.model.cluster_edit import ClusterEdit, RuleEdit
from vplacer.lab.soap.decode.members import invalid_argument, not_supported, refuse_others
from vplacer.lab.soap.views.drs_groups import Group, GroupTable, RuleGroups
from vplacer.lab.soap.wire import typetable
from vplacer.plan.changes import Action

Rule: TypeAlias = VmVmRule | VmHostRule
_UNDERSTOOD = ("drsVmConfigSpec", "rulesSpec", "groupSpec")
_RULE_MEMBERS = ("key", "name", "enabled", "mandatory", "userCreated", "inCompliance", "ruleUuid", "status")
_OFF = "disabled"


@dataclass(frozen=True, slots=True)
class ClusterOrder:
    """What a spec changes, and the cluster's groups after it."""

    edit: ClusterEdit
    table: GroupTable


def cluster_order(spec: Any, cluster: Cluster, table: GroupTable) -> ClusterOrder:
    """Return what a spec asks of a cluster.

    Raises:
        vmodl.fault.NotSupported: a member, or a kind of rule, that the lab does not understand.
        vmodl.fault.InvalidArgument: a level, group or rule that is not there, or there already.
    """
    refuse_others(spec, _UNDERSTOOD, "spec")
    groups = _Groups(cluster, table)
    for change in getattr(spec, "groupSpec", ()):
        groups.take(change)
    edits = [_rule_edit(change, cluster, groups) for change in spec.rulesSpec]
    edits += groups.rules_that_follow({edit.key for edit in edits})
    groups.check_unused(edits)
    overrides = tuple(_override(change, cluster) for change in spec.drsVmConfigSpec)
    return ClusterOrder(ClusterEdit(overrides, tuple(edits)), groups.table(edits))


def _action(change: Any, where: str) -> Action:
    if change.operation is None:
        raise invalid_argument(f"{where}.operation", "unset")
    return Action(change.operation)


def _override(change: Any, cluster: Cluster) -> tuple[str, str | None]:
    where = "spec.drsVmConfigSpec"
    action = _action(change, where)
    have = {vm for vm, _ in cluster.drs_overrides}
    key = change.removeKey if action is Action.REMOVE else change.info and change.info.key
    if key is None:
        raise invalid_argument(where, "no VM is named")
    vm = typetable.moid(key)
    if (vm in have) == (action is Action.ADD):
        raise invalid_argument(where, f"{vm} has {'a' if vm in have else 'no'} level of its own")
    if action is Action.REMOVE:
        return vm, None
    refuse_others(change.info, ("key", "enabled", "behavior"), f"{where}.info")
    if change.info.enabled is False:
        return vm, _OFF
    return vm, str(change.info.behavior or cluster.drs_level or "manual")


class _Groups:
    """A cluster's groups while a spec is read."""

    def __init__(self, cluster: Cluster, table: GroupTable) -> None:
        self._cluster = cluster
        self._table = table
        self._groups = table.all_of(cluster)
        self._before = dict(self._groups)
        self._named: dict[str, RuleGroups] = {}

    def take(self, change: Any) -> None:
        where = "spec.groupSpec"
        action = _action(change, where)
        name = change.removeKey if action is Action.REMOVE else change.info and change.info.name
        if not name:
            raise invalid_argument(where, "no group is named")
        if (name in self._groups) == (action is Action.ADD):
            raise invalid_argument(
                where, f"group '{name}' {'exists' if name in self._groups else 'is not there'}"
            )
        if action is Action.REMOVE:
            del self._groups[name]
            return
        info = change.info
        of_hosts = isinstance(info, vim.cluster.HostGroup)
        refs = info.host if of_hosts else info.vm
        self._groups[name] = Group(name, of_hosts, tuple(typetable.moid(ref) for ref in refs))

    def members(self, name: str | None, *, of_hosts: bool) -> tuple[str, ...]:
        found = self._groups.get(name or "")
        if found is None or found.of_hosts is not of_hosts:
            raise invalid_argument(
                "spec.rulesSpec", f"there is no {'host' if of_hosts else 'VM'} group '{name}'"
            )
        return found.members

    def names_of(self, rule: VmHostRule) -> RuleGroups:
        return self._table.of_rule(rule)

    def rules_that_follow(self, edited: set[int | None]) -> list[RuleEdit]:
        """Rules that the spec does not name, but one of whose groups it changes."""
        edits = []
        for rule in self._cluster.vm_host_rules:
            names = self.names_of(rule)
            if rule.key in edited or not {names.vms, names.hosts} <= set(self._groups):
                continue
            vms = self.members(names.vms, of_hosts=False)
            hosts = self.members(names.hosts, of_hosts=True)
            if (vms, hosts) != (rule.vms, rule.hosts):
                edits.append(RuleEdit(Action.EDIT, replace(rule, vms=vms, hosts=hosts), rule.key))
        return edits

    def check_unused(self, edits: Iterable[RuleEdit]) -> None:
        gone = set(self._before) - set(self._groups)
        removed = {edit.key for edit in edits if edit.action is Action.REMOVE}
        for rule in self._cluster.vm_host_rules:
            names = self.names_of(rule)
            if rule.key not in removed and gone & {names.vms, names.hosts}:
                raise invalid_argument("spec.groupSpec", f"rule '{rule.name}' uses a group that is to go")

    def table(self, edits: Iterable[RuleEdit]) -> GroupTable:
        rules = {rule.name: self.names_of(rule) for rule in self._cluster.vm_host_rules}
        by_key = {rule.key: rule.name for rule in self._cluster.vm_host_rules}
        for edit in edits:
            old = by_key.get(edit.key) if edit.key is not None else None
            if old is not None and (
                edit.action is Action.REMOVE or edit.rule is None or edit.rule.name != old
            ):
                names = rules.pop(old)
                if edit.action is Action.EDIT and isinstance(edit.rule, VmHostRule):
                    rules[edit.rule.name] = names
        rules.update(self._named)
        return GroupTable(dict(self._groups), rules)

    def name_rule(self, rule: str, names: RuleGroups) -> None:
        self._named[rule] = names


def _rule_edit(change: Any, cluster: Cluster, groups: _Groups) -> RuleEdit:
    where = "spec.rulesSpec"
    action = _action(change, where)
    present_rules: tuple[Rule, ...] = (*cluster.vm_vm_rules, *cluster.vm_host_rules)
    rules = {rule.key: rule for rule in present_rules}
    if action is Action.REMOVE:
        if change.removeKey not in rules:
            raise invalid_argument(where, f"there is no rule {change.removeKey}")
        return RuleEdit(action, key=int(change.removeKey))
    info = change.info
    if info is None:
        raise invalid_argument(f"{where}.info", "unset")
    present = None
    if action is Action.EDIT:
        present = rules.get(info.key)
        if present is None:
            raise invalid_argument(where, f"there is no rule {info.key}")
    rule = _rule(info, present, groups)
    return RuleEdit(action, rule, None if present is None else present.key)


def _rule(info: Any, present: Rule | None, groups: _Groups) -> Rule:
    name = info.name or (present.name if present else "")
    if not name:
        raise invalid_argument("spec.rulesSpec.info.name", "empty")
    enabled, mandatory = (
        bool(told if told is not None else getattr(present, word, False))
        for word, told in (("enabled", info.enabled), ("mandatory", info.mandatory))
    )
    key = 0 if present is None else present.key
    apart = isinstance(info, vim.cluster.AntiAffinityRuleSpec)
    if apart or isinstance(info, vim.cluster.AffinityRuleSpec):
        refuse_others(info, (*_RULE_MEMBERS, "vm"), "spec.rulesSpec.info")
        vms = tuple(typetable.moid(vm) for vm in info.vm)
        return VmVmRule(key, name, enabled, apart, vms, mandatory)
    if not isinstance(info, vim.cluster.VmHostRuleInfo):
        raise not_supported(f"rules of type {typetable.wire_name(type(info))}")
    sides = ("affineHostGroupName", "antiAffineHostGroupName")
    refuse_others(info, (*_RULE_MEMBERS, "vmGroupName", *sides), "spec.rulesSpec.info")
    told = [side for side in sides if getattr(info, side)]
    if len(told) != 1:
        raise not_supported("a rule with two host groups, or none")
    names = RuleGroups(info.vmGroupName or "", getattr(info, told[0]))
    vms, hosts = groups.members(names.vms, of_hosts=False), groups.members(names.hosts, of_hosts=True)
    groups.name_rule(name, names)
    return VmHostRule(key, name, enabled, told[0] == sides[1], vms, hosts, mandatory)
