"""After a loss of hosts, VMs with devices have no place any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.moves import all_known, homes, hosts_of, needs, nowhere_else, pins
from vplacer.audit.subject import Subject
from vplacer.audit.words import counted, listed
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.cluster import Cluster
from vplacer.inventory.finding import Certainty
from vplacer.request.demand import RequestOptions, ResolvedRequest, Rules
from vplacer.solver.loss.after_loss import after_loss
from vplacer.solver.loss.model import Homeless, Loss
from vplacer.solver.loss.model import Outcome as LossOutcome

MOST_HOSTS = 200
"""Hosts of a vCenter up to which losses are tried in an audit."""
MOST_LOSSES = 32
"""Losses tried of one cluster, the fullest hosts first."""


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield clusters with HA in which a loss leaves VMs with devices without a place."""
    lost = subject.settings.loss_hosts
    clusters = [cluster for cluster in subject.inventory.clusters if _asked(subject, cluster)]
    if clusters and len(subject.inventory.hosts) > MOST_HOSTS:
        yield NotEvaluated(
            f"losses are not tried in an audit of more than {MOST_HOSTS} hosts: vplacer capacity "
            "--after-loss "
            f"{lost} does"
        )
        return
    for cluster in clusters:
        yield from _cluster(subject, cluster, lost)


def _asked(subject: Subject, cluster: Cluster) -> bool:
    """Whether HA may be on, and VMs run that it should restart with their devices."""
    return cluster.ha_enabled is not False and any(
        vm.is_on and vm.readable and holds_devices(vm) and not pins(vm)
        for host in hosts_of(subject, cluster.moid)
        for vm in subject.inventory.vms_by_host.get(host.moid, ())
    )


def _cluster(subject: Subject, cluster: Cluster, lost: int) -> Iterator[Outcome]:
    hosts = hosts_of(subject, cluster.moid)
    if cluster.ha_enabled is None:
        yield NotEvaluated("whether HA is on was not told", cluster=cluster.moid)
    elif not all_known(subject, cluster.moid):
        yield NotEvaluated("not all hosts of it are connected", cluster=cluster.moid)
    elif len(hosts) <= lost:
        yield NotEvaluated(
            f"it has {counted(len(hosts), 'host')}, and {lost} may be lost", cluster=cluster.moid
        )
    else:
        yield from _losses(subject, cluster, lost)


def _losses(subject: Subject, cluster: Cluster, lost: int) -> Iterator[Outcome]:
    whole = _part(subject, cluster)
    found = after_loss(whole, lost=lost, most=MOST_LOSSES)
    suspects = [loss for loss in found.losses if _theirs(subject, loss)]
    undecided = 0
    for loss in sorted(suspects, key=lambda loss: -len(_theirs(subject, loss))):
        settled = _settled(subject, cluster, loss)
        if settled.outcome is LossOutcome.NOT_PLACED and _theirs(subject, settled):
            yield _hit(subject, cluster, settled, sum(loss.count for loss in suspects), found.possible)
            return
        undecided += loss.count if settled.outcome is LossOutcome.UNDECIDED else 0
    untried = found.possible - found.tried
    if undecided or untried:
        yield NotEvaluated(
            f"of {undecided + untried} of {found.possible} losses it was not decided whether all VMs with "
            f"devices have a place: vplacer capacity --after-loss {lost} looks longer",
            cluster=cluster.moid,
        )


def _settled(subject: Subject, cluster: Cluster, loss: Loss) -> Loss:
    """Look at a loss again without the VMs that other rules tell of: what is proved is then of the others.

    They are taken off the lost hosts only, where they have no place in any case.
    """
    gone = {item.vm for item in loss.homeless if _told_elsewhere(subject, item)}
    again = after_loss(_part(subject, cluster, gone), named=loss.hosts)
    return replace(again.worst or again.losses[0], alike=loss.alike, count=loss.count)


def _theirs(subject: Subject, loss: Loss) -> list[Homeless]:
    """Return the VMs with devices without a place that no other rule tells of."""
    vms = subject.inventory.vm_by_moid
    return [
        item
        for item in loss.homeless
        if item.vm in vms and holds_devices(vms[item.vm]) and not _told_elsewhere(subject, item)
    ]


def _told_elsewhere(subject: Subject, item: Homeless) -> bool:
    """Whether HA never restarts a VM (VPL032), or no other host has such cards at all (VPL036, VPL047)."""
    vm = subject.inventory.vm_by_moid.get(item.vm)
    return not item.restartable or vm is None or nowhere_else(subject, vm) is not None


def _part(subject: Subject, cluster: Cluster, without: frozenset[str] | set[str] = frozenset()) -> Problem:
    """Return the problem of one cluster as it runs, less some VMs."""
    hosts = hosts_of(subject, cluster.moid)
    vms = tuple(
        vm
        for host in hosts
        for vm in subject.inventory.vms_by_host.get(host.moid, ())
        if vm.moid not in without
    )
    inventory = replace(subject.inventory, clusters=(cluster,), hosts=hosts, vms=vms)
    topologies = {host.moid: subject.topologies[host.moid] for host in hosts}
    return Problem(inventory, topologies, ResolvedRequest((), Rules(), RequestOptions()))


def _hit(subject: Subject, cluster: Cluster, loss: Loss, bad: int, possible: int) -> Hit:
    hosts = subject.inventory.host_by_moid
    theirs = _theirs(subject, loss)
    lost = listed(hosts[moid].name for moid in loss.hosts)
    names = listed(sorted(item.name for item in theirs))
    verb = "has" if len(theirs) == 1 else "have"
    why = _why(subject, cluster, theirs[0])
    # A card that somebody may hold counts as held: where that is not told, more may fit.
    doubt = any(subject.use(host).use.uncertain for host in hosts_of(subject, cluster.moid))
    return Hit(
        f"after the loss of {lost} {counted(len(theirs), 'VM')} with devices {verb} no place: "
        f"{names}{why}; so it "
        f"is with {bad} of {possible} losses",
        Certainty.LIKELY if doubt else Certainty.PROVED,
        cluster=cluster.moid,
        numbers=(("vms", len(theirs)), ("losses", bad), ("possible", possible)),
    )


def _why(subject: Subject, cluster: Cluster, item: Homeless) -> str:
    """Return what stands against one of them on a host that is left, if possible one with such cards."""
    told = [(host, evidence) for stop in item.stops for host, evidence in stop.hosts]
    if not told:
        return ""
    wanted = needs(subject.inventory.vm_by_moid[item.vm])
    fit = [{host.moid for host in homes(subject, cluster.moid, need)} for need in wanted]
    with_cards = [(host, evidence) for host, evidence in told if all(host in found for found in fit)]
    host, evidence = (with_cards or told)[0]
    return f" ({subject.inventory.host_by_moid[host].name}: {evidence})"


RULE = Rule(
    id="VPL048",
    name="failover-impossible",
    title="Failover of VMs with devices not possible any more",
    severity=Severity.WARNING,
    cause="HA admission control counts CPU and memory and no cards. After the loss of a host its VMs with "
    "GPUs are restarted only where cards of their kind, of the label and profile, are free, with memory "
    "beside.",
    evidence="Every loss of one host (--loss-hosts: more) of a cluster with HA, alike ones once: the VMs "
    "that ran there are placed on the hosts that are left, as they are configured, by the search of "
    "vplacer capacity --after-loss. Only what is proved is a finding (likely where which card a VM holds "
    "is not told); what is not decided is not evaluated. VMs that HA never restarts, or whose cards no "
    "other host has, are told by VPL032, VPL036 and VPL047. Up to "
    f"{MOST_HOSTS} hosts.",
    fix="Keep as many cards free as the largest host holds, or add a host with such cards; vplacer "
    "capacity --after-loss 1 -v says what stands against each VM.",
    sample="after the loss of esx01 2 VMs with devices have no place: train-1, train-2 (esx02: no A30 is "
    "free)",
    find=find,
)
