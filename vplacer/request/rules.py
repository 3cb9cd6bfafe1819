"""Rules of a request and of vCenter, and gangs, in the ids of demands and VMs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.complaints import Complaints
from vplacer.request.demand import Apart, Demand, Gang, LeftAlone, OnHosts, Rules, Together
from vplacer.request.file import FabricSource, GangSpec, RuleSpec
from vplacer.request.lookup import Lookup
from vplacer.request.naming import close_names, is_pattern, matching


def vcenter_rules(inventory: Inventory) -> Rules:
    """Return the enabled DRS rules of all clusters, named ``cluster: rule``.

    A rule between fewer than two VMs binds nothing and is left out.
    """
    apart: list[Apart] = []
    together: list[Together] = []
    on_hosts: list[OnHosts] = []
    for cluster in inventory.clusters:
        for rule in cluster.vm_vm_rules:
            name = f"{cluster.name}: {rule.name}"
            if not rule.enabled or len(rule.vms) < 2:
                continue
            if rule.apart:
                apart.append(Apart(name, rule.vms, 1, rule.mandatory))
            else:
                together.append(Together(name, rule.vms, rule.mandatory))
        for host_rule in cluster.vm_host_rules:
            if host_rule.enabled and host_rule.vms:
                name = f"{cluster.name}: {host_rule.name}"
                on_hosts.append(
                    OnHosts(name, host_rule.vms, host_rule.hosts, host_rule.apart, host_rule.mandatory)
                )
    return Rules(tuple(apart), tuple(together), tuple(on_hosts))


def touching(rules: Rules, demands: Iterable[Demand]) -> Rules:
    """Return the rules that name a demanded VM: the others bind nothing that can change."""
    ids = {demand.id for demand in demands}
    return Rules(
        tuple(rule for rule in rules.apart if ids.intersection(rule.vms)),
        tuple(rule for rule in rules.together if ids.intersection(rule.vms)),
        tuple(rule for rule in rules.on_hosts if ids.intersection(rule.vms)),
        rules.gangs,
    )


def joined(one: Rules, other: Rules) -> Rules:
    """Return the rules of both."""
    return Rules(
        one.apart + other.apart,
        one.together + other.together,
        one.on_hosts + other.on_hosts,
        one.gangs + other.gangs,
    )


@dataclass(frozen=True, slots=True)
class _Member:
    id: str
    name: str


class RuleMaker:
    """Makes rules and gangs from the specs of one request."""

    def __init__(
        self,
        inventory: Inventory,
        lookup: Lookup,
        complaints: Complaints,
        demands: tuple[Demand, ...],
        left_alone: tuple[LeftAlone, ...],
    ) -> None:
        self.inventory = inventory
        self.lookup = lookup
        self.complaints = complaints
        self.left_alone = {item.vm: item.reason for item in left_alone}
        self.demanded = [_Member(demand.id, demand.name) for demand in demands]
        ids = {member.id for member in self.demanded}
        others = [_Member(vm.moid, vm.name) for vm in inventory.vms if not vm.template and vm.moid not in ids]
        self.everyone = self.demanded + others
        self.named = self.demanded + [member for member in others if member.id in self.left_alone]

    def rules(self, specs: Iterable[RuleSpec]) -> Rules:
        """Return the rules of the request; they may name VMs that the request does not change."""
        apart: list[Apart] = []
        together: list[Together] = []
        on_hosts: list[OnHosts] = []
        for spec in specs:
            about_hosts = spec.kind in ("on", "off")
            key = "vms" if about_hosts else spec.kind
            vms = self._members((*spec.pointer, key), spec.vms, self.everyone, "VM")
            if spec.kind == "apart":
                apart.append(Apart(spec.name, vms, spec.at_most, spec.required))
            elif spec.kind == "together":
                together.append(Together(spec.name, vms, spec.required))
            else:
                hosts = self.lookup.find_hosts((*spec.pointer, spec.kind), spec.hosts)
                on_hosts.append(OnHosts(spec.name, vms, hosts, spec.kind == "off", spec.required))
        return Rules(tuple(apart), tuple(together), tuple(on_hosts))

    def gangs(self, specs: Iterable[GangSpec]) -> tuple[Gang, ...]:
        """Return the gangs; a member that cannot change, or is in two of them, is a complaint."""
        seen: dict[str, str] = {}
        made = []
        for spec in specs:
            at: Pointer = (*spec.pointer, "vms")
            vms = self._members(at, spec.vms, self.named, "VM of this request")
            for vm in vms:
                name = next(member.name for member in self.named if member.id == vm)
                if vm in self.left_alone:
                    self.complaints.wrong(
                        at, f"'{name}' cannot be in a gang, because it is left alone: {self.left_alone[vm]}"
                    )
                elif vm in seen:
                    self.complaints.wrong(at, f"'{name}' is in the gang '{seen[vm]}' already")
                seen.setdefault(vm, spec.name)
            fabric = self._fabric(spec.fabric_from) if spec.same_fabric and spec.fabric_from else None
            made.append(Gang(spec.name, vms, fabric))
        return tuple(made)

    def _members(
        self, pointer: Pointer, words: Iterable[str], members: list[_Member], says: str
    ) -> tuple[str, ...]:
        """Return the ids of members that fit, in their order."""
        chosen: set[str] = set()
        for word in words:
            fitting = matching(word, (member.name for member in members))
            hits = {member.id for member in members if member.name in fitting or member.id == word}
            if not hits:
                told = "fits" if is_pattern(word) else "is named"
                self.complaints.unknown(
                    pointer, f"no {says} {told} '{word}'", close_names(word, [m.name for m in members])
                )
            elif len(hits) > 1 and word in fitting:
                self.complaints.ambiguous(
                    pointer,
                    f"{len(hits)} VMs are named '{word}': {', '.join(sorted(hits))}",
                    "name it by moid",
                )
            chosen |= hits
        return tuple(member.id for member in members if member.id in chosen)

    def _fabric(self, source: FabricSource) -> tuple[tuple[str, str], ...]:
        """Return host moid and fabric name for every host that has a fabric."""
        if source.tag_category is not None:
            return self._tagged(source.pointer, source.tag_category)
        found: dict[str, str] = {}
        for fabric, words in source.hosts:
            at: Pointer = (*source.pointer, "hosts", fabric)
            for host in self.lookup.find_hosts(at, words):
                if found.setdefault(host, fabric) != fabric:
                    name = self.inventory.host_by_moid[host].name
                    self.complaints.wrong(at, f"host '{name}' is in the fabric '{found[host]}' already")
        return tuple((host.moid, found[host.moid]) for host in self.inventory.hosts if host.moid in found)

    def _tagged(self, pointer: Pointer, category: str) -> tuple[tuple[str, str], ...]:
        clusters: Mapping[str, tuple[str, ...]] = {c.moid: c.tags for c in self.inventory.clusters}
        found = []
        for host in self.inventory.hosts:
            own = _tags_in(category, host.tags) or _tags_in(category, clusters.get(host.cluster or "", ()))
            if len(own) > 1:
                self.complaints.ambiguous(
                    pointer, f"host '{host.name}' carries {len(own)} tags of '{category}': {', '.join(own)}"
                )
            elif own:
                found.append((host.moid, own[0]))
        if not found:
            known = {tag.split(":", 1)[0] for host in self.inventory.hosts for tag in host.tags}
            known |= {tag.split(":", 1)[0] for tags in clusters.values() for tag in tags}
            self.complaints.unknown(
                pointer,
                f"no host and no cluster carries a tag of the category '{category}'",
                close_names(category, known)
                or "tag the hosts, or list them under 'fabric_from: {hosts: ...}'",
            )
        return tuple(found)


def _tags_in(category: str, tags: Iterable[str]) -> list[str]:
    """Return the names of the tags of one category."""
    return [name for head, _, name in (tag.partition(":") for tag in tags) if head == category and name]
