"""DRS groups by name. The state machine keeps the members of a rule only; their names live here.

A group that a rule names has the rule's members. A group that no rule names has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vplacer.inventory.cluster import Cluster, VmHostRule


@dataclass(frozen=True, slots=True)
class Group:
    """A group of VMs, or of hosts; ``members`` are moids."""

    name: str
    of_hosts: bool
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleGroups:
    """The names of a rule's two groups."""

    vms: str
    hosts: str


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups that clients made in one cluster, and the groups of rules by the rule's name."""

    groups: Mapping[str, Group] = field(default_factory=dict)
    rules: Mapping[str, RuleGroups] = field(default_factory=dict)

    def of_rule(self, rule: VmHostRule) -> RuleGroups:
        """Return the names of a rule's groups; a rule of the site itself has made-up ones of its own."""
        made_up = RuleGroups(f"{rule.name} VMs (rule {rule.key})", f"{rule.name} hosts (rule {rule.key})")
        return self.rules.get(rule.name, made_up)

    def all_of(self, cluster: Cluster) -> dict[str, Group]:
        """Return a cluster's groups by name: those of its rules first."""
        found: dict[str, Group] = {}
        for rule in cluster.vm_host_rules:
            names = self.of_rule(rule)
            found.setdefault(names.vms, Group(names.vms, False, rule.vms))
            found.setdefault(names.hosts, Group(names.hosts, True, rule.hosts))
        for name, group in self.groups.items():
            found.setdefault(name, group)
        return found
