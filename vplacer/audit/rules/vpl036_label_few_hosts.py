"""A label is on too few hosts for HA to restart its VMs."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.labels import LabelScope, label_scopes
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.words import counted, listed
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield labels that running VMs of a cluster with HA ask for, on no more hosts than may be lost."""
    for scope in label_scopes(subject):
        cluster = subject.inventory.cluster_by_moid.get(scope.cluster or "")
        if cluster is None or cluster.ha_enabled is False:
            continue
        asking = [label for label, named in scope.named.items() if any(item.vm.is_on for item in named)]
        if cluster.ha_enabled is None and asking:
            yield NotEvaluated("whether HA is on was not told", cluster=cluster.moid)
            continue
        for label in asking:
            yield from _label(scope, label, subject.settings.loss_hosts)


def _label(scope: LabelScope, label: str, lost: int) -> Iterator[Outcome]:
    running = [item for item in scope.named[label] if item.vm.is_on]
    homes: dict[str, Host] = {}
    for item in running:
        for placed in scope.fitting(item):
            if placed.card.passthrough and not placed.host.in_maintenance:
                homes[placed.host.moid] = placed.host
    if not homes or len(homes) > lost:
        return
    if scope.unread:
        hosts = listed(host.name for host in scope.unread)
        why = f"which labels the cards of {hosts} have is not known, and '{label}' is on few of the others"
        yield NotEvaluated(why, cluster=scope.cluster)
        return
    names = listed(sorted(host.name for host in homes.values()))
    vms = sorted({item.vm.name for item in running})
    verb = "asks" if len(vms) == 1 else "ask"
    gone = "that host" if lost == 1 else f"{lost} hosts"
    yield Hit(
        f"the label '{label}' is on {counted(len(homes), 'host')} ({names}) that can run VMs, and "
        f"{counted(len(vms), 'running VM')} {verb} for it ({listed(vms)}): after the loss of {gone} HA can "
        f"restart {'it' if len(vms) == 1 else 'them'} nowhere",
        Certainty.PROVED,
        cluster=scope.cluster,
        key=label,
        numbers=(("hosts", len(homes)), ("vms", len(vms))),
    )


RULE = Rule(
    id="VPL036",
    name="label-few-hosts",
    title="Hardware label on too few hosts for a failover",
    severity=Severity.WARNING,
    cause="HA restarts a VM with a labelled device only on a host with a card of that label. If no host "
    "with one is left, the VM stays off, whatever else is free.",
    evidence="HostPciPassthruInfo.hardwareLabel of cards that are active and allowed by the device, on "
    "hosts of a cluster with HA that are not in maintenance mode, against the labels that running VMs ask "
    "for; one may be lost, or --loss-hosts. Whether the cards there are free is VPL048's business.",
    fix="Give cards of another host of the cluster the label (vplacer labels plan --cluster NAME), or let "
    "the VM ask for a label that more hosts have.",
    sample="the label 'gpu-n0' is on 1 host (esx01) that can run VMs, and 1 running VM asks for it "
    "(train-1): after the loss of that host HA can restart it nowhere",
    find=find,
)
