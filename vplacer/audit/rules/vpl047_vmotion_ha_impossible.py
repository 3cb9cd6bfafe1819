"""A rule, HA or DRS expects of a VM what its devices prevent."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.moves import all_known, directpath, has_cards, hosts_of, needs, nowhere_else, pins
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.inventory.cluster import Cluster, VmHostRule, VmVmRule
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm

_RULE_FIX = (
    "Change the rule, or give the VM cards on a host that the rule allows (vplacer plan), while it is off."
)


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs whose devices stand against a VM-host rule, a rule between VMs, HA, or quarantine mode."""
    for cluster in subject.inventory.clusters:
        for rule in cluster.vm_host_rules:
            if rule.enabled:
                yield from _host_rule(subject, cluster, rule)
        for between in cluster.vm_vm_rules:
            if between.enabled and between.mandatory:
                yield from _vm_rule(subject, cluster, between)
        if cluster.ha_enabled and len(hosts_of(subject, cluster.moid)) > 1:
            yield from _restart(subject, cluster)
    for host in subject.inventory.hosts:
        if host.in_quarantine:
            yield from _quarantine(subject, host)


def _host_rule(subject: Subject, cluster: Cluster, rule: VmHostRule) -> Iterator[Outcome]:
    for moid in rule.vms:
        vm = subject.inventory.vm_by_moid.get(moid)
        if vm is None or not vm.readable or vm.template or vm.host is None or not vm.devices:
            continue
        allowed = [h for h in hosts_of(subject, cluster.moid) if (h.moid in rule.hosts) is not rule.apart]
        here = any(host.moid == vm.host for host in allowed)
        names = listed(host.name for host in allowed) or "no host"
        must = "must" if rule.mandatory else "should"
        told = f"rule {rule.name} says it {must} run on {names}"
        if pins(vm) and not here:
            end = "it has no place to start again" if vm.is_on else "it cannot be switched on"
            end = end if rule.mandatory else "the rule cannot be kept"
            yield _against(vm, rule, f"{told}, and {listed(pins(vm))} binds it to another: {end}")
        elif not pins(vm) and not any(_takes(subject, host, vm) for host in allowed) and needs(vm):
            if not all_known(subject, cluster.moid):
                yield NotEvaluated(
                    f"whether the hosts of rule {rule.name} have its cards is not known", vm=moid
                )
            else:
                wants = listed(need.words for need in needs(vm))
                yield _against(vm, rule, f"{told}, and none of them has what it needs ({wants})")
        elif vm.is_on and not here and directpath(vm):
            end = "it has to be switched off and on to get there"
            text = f"{told}, it runs elsewhere, and vMotion cannot move it with its DirectPath devices: {end}"
            yield _hit(vm, text, rule.name, None if rule.mandatory else Severity.NOTE)


def _takes(subject: Subject, host: Host, vm: Vm) -> bool:
    cards = subject.cards(host)
    return all(has_cards(cards, need) for need in needs(vm))


def _against(vm: Vm, rule: VmHostRule, text: str) -> Hit:
    if not rule.mandatory:
        return _hit(vm, text, rule.name, Severity.NOTE)
    return _hit(vm, text, rule.name, None if vm.is_on else Severity.ERROR)


def _hit(vm: Vm, text: str, key: str, severity: Severity | None = None, fix: str | None = _RULE_FIX) -> Hit:
    return Hit(text, Certainty.PROVED, vm=vm.moid, host=vm.host, key=key, severity=severity, fix=fix)


def _vm_rule(subject: Subject, cluster: Cluster, rule: VmVmRule) -> Iterator[Hit]:
    """Rules between VMs of which two are bound to cards, and so to hosts."""
    bound: dict[str, list[str]] = {}
    for moid in rule.vms:
        vm = subject.inventory.vm_by_moid.get(moid)
        if vm is not None and vm.readable and not vm.template and vm.host is not None and pins(vm):
            bound.setdefault(vm.host, []).append(vm.name)
    if rule.apart:
        broken = [names for names in bound.values() if len(names) > 1]
        text = "keeps apart {}, which static devices bind to one host"
    else:
        broken = [[name for names in bound.values() for name in names]] if len(bound) > 1 else []
        text = "keeps together {}, which static devices bind to different hosts"
    for names in broken:
        yield Hit(
            f"rule {rule.name} {text.format(listed(sorted(names)))}: it cannot be kept",
            Certainty.PROVED,
            cluster=cluster.moid,
            key=f"{rule.name}/{'/'.join(sorted(names))}",
            fix=_RULE_FIX,
        )


def _restart(subject: Subject, cluster: Cluster) -> Iterator[Outcome]:
    """Running VMs that HA could restart nowhere, for no other host has the cards; labels are VPL036's."""
    known = all_known(subject, cluster.moid)
    for host in hosts_of(subject, cluster.moid):
        for vm in subject.inventory.vms_by_host.get(host.moid, ()):
            if not (vm.is_on and vm.readable and vm.devices) or pins(vm):
                continue
            if not known:
                if needs(vm):
                    why = "which cards all hosts of its cluster have is not known"
                    yield NotEvaluated(why, cluster=cluster.moid)
                    return
                continue
            missing = nowhere_else(subject, vm)
            if missing is not None and missing.label is None:
                yield _hit(
                    vm,
                    f"HA is on, and no other host of its cluster has what it needs ({missing.words}): "
                    "after a failure of its host it stays off",
                    "ha",
                    fix=None,
                )


def _quarantine(subject: Subject, host: Host) -> Iterator[Hit]:
    vms = [vm for vm in subject.inventory.vms_by_host.get(host.moid, ()) if vm.is_on and directpath(vm)]
    if vms:
        names = listed(vm.name for vm in vms)
        yield Hit(
            f"it is in quarantine mode, and vMotion cannot take {names} off it with their DirectPath devices",
            Certainty.PROVED,
            host=host.moid,
            fix="Switch these VMs off at a quiet time and start them on another host with such cards "
            "(vplacer plan --evacuate).",
        )


RULE = Rule(
    id="VPL047",
    name="vmotion-ha-impossible",
    title="Rule, HA or DRS expects what devices prevent",
    severity=Severity.WARNING,
    cause="VMs with DirectPath devices cannot be moved while they run, static ones not at all, and any of "
    "them starts only where its cards are. A rule, HA or quarantine mode that expects more fails when it "
    "is needed.",
    evidence="Enabled rules of the cluster, HA and host state, held against the VMs' devices and against "
    "the cards of the cluster's hosts, whoever holds them. A VM that is off and cannot start for a rule is "
    "an error, a rule that only should hold a note. Static devices by themselves are VPL032, labels VPL036.",
    fix="Put such cards into another host of the cluster, take the VM out of what HA is expected to "
    "restart, or waive it.",
    sample="HA is on, and no other host of its cluster has what it needs (2 x 10de:20b7): after a failure "
    "of its host it stays off",
    find=find,
)
