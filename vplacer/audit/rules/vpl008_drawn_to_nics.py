"""A scheduler trap: VMs are drawn from node to node by the workers of physical NICs."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.measured_vms import none_measured, why_not_measured
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import on_several_nodes
from vplacer.audit.numa_options import ACTION_AFFINITY, NO_ACTION_AFFINITY_SINCE
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.vm import Vm

_SEEN_SINCE = (8, 0, 3)


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield hosts whose VMs move while they are measured, and whose release is known for it."""
    for host in subject.inventory.hosts:
        vms = [vm for vm in subject.inventory.vms_by_host.get(host.moid, ()) if vm.is_on and _drawn(vm)]
        if not vms or not on_several_nodes(host) or dict(host.options).get(ACTION_AFFINITY) == "0":
            continue
        release = parse_release(host.version)
        if release is not None and not _SEEN_SINCE <= release < NO_ACTION_AFFINITY_SINCE:
            continue
        yield from _of_host(subject, host, {vm.moid for vm in vms})


def _drawn(vm: Vm) -> bool:
    return not vm.node_affinity and vm.extra(ACTION_AFFINITY) != "0"


def _of_host(subject: Subject, host: Host, drawn: set[str]) -> Iterator[Outcome]:
    measured = subject.measured(host)
    if measured is None:
        yield NotEvaluated(why_not_measured(subject, host), host=host.moid)
        return
    homes = [item.home for item in measured.vms if item.moid in drawn and item.home is not None]
    seen = [home.migrations_seen for home in homes if home.migrations_seen is not None]
    if not seen:
        single = "no two samples were taken of its VMs: --measured --samples 3"
        yield NotEvaluated(single if homes else none_measured(measured), host=host.moid)
    moved = sum(1 for moves in seen if moves >= subject.settings.migrations_seen)
    if not moved:
        return
    value = dict(host.options).get(ACTION_AFFINITY)
    setting = "was not told and is 130 by default" if value is None else f"is {value}"
    on = "a release that was not told" if host.version is None else f"ESXi {host.version}"
    yield Hit(
        f"{moved} of {len(seen)} floating VMs moved between NUMA nodes while they were measured, on {on}, "
        f"and {ACTION_AFFINITY} {setting} (measured {measured.at})",
        Certainty.LIKELY,
        host=host.moid,
        numbers=(("moved", moved), ("vms", len(seen))),
    )


RULE = Rule(
    id="VPL008",
    name="drawn-to-nics",
    title="NUMA action affinity moves VMs every few seconds",
    severity=Severity.WARNING,
    cause="The NUMA scheduler draws VMs to the node of the physical NICs' polling workers. Where that node "
    "is busy it moves them away again, every few seconds: high CPU on the host that guests do not see "
    "(Broadcom KB 439993, seen on ESXi 8.0.3; off by default from 9.1 on).",
    evidence="esxtop's NMIG grew for floating VMs between two samples, the host's release is 8.0.3 to 9.0, "
    "and Numa.LocalityWeightActionAffinity is not 0, on the host or on the VM. Likely, since a balancing "
    "move looks the same.",
    fix="esxcli system settings advanced set -o /Numa/LocalityWeightActionAffinity -i 0 on the host, or "
    'numa.LocalityWeightActionAffinity = "0" in the configuration of single VMs (effective at the next '
    "power cycle); then measure again: NMIG must stand still.",
    sample="7 of 9 floating VMs moved between NUMA nodes while they were measured, on ESXi 8.0.3, and "
    "Numa.LocalityWeightActionAffinity is 130 (measured 2026-03-01T02:00:00Z)",
    find=find,
)
