"""Advanced NUMA options of a host are not what they are by default."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.node_room import on_several_nodes
from vplacer.audit.numa_options import ACTION_AFFINITY, NUMA_OPTIONS, default_of
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import ConnectionState, Host


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield options off their default, and hosts of several nodes that did not tell them."""
    for host in subject.inventory.hosts:
        if on_several_nodes(host) and host.connection is ConnectionState.CONNECTED:
            yield from _of_host(host)


def _of_host(host: Host) -> Iterator[Outcome]:
    told = dict(host.options)
    for name, option in NUMA_OPTIONS.items():
        value, default = told.get(name), default_of(name, host)
        if value is None or default is None or value == default:
            continue
        text = f"{name} is {value}, the default is {default}: {option.effect}"
        if name == ACTION_AFFINITY and value == "0":
            text = (
                f"{name} is 0, the default is {default}: VMs are not drawn to those they talk to, nor to NICs"
            )
        yield Hit(
            text,
            Certainty.PROVED,
            host=host.moid,
            key=name,
            severity=Severity.WARNING if option.harmful else Severity.NOTE,
            fix=f"If nobody knows why: esxcli system settings advanced set -o /{name.replace('.', '/')} "
            f"-i {default}.",
        )
    missing = [name for name in NUMA_OPTIONS if name not in told]
    if missing:
        some = f"the host did not tell {', '.join(missing)}"
        none = "the host told no Numa.* option"
        yield NotEvaluated(none if len(missing) == len(NUMA_OPTIONS) else some, host=host.moid)


RULE = Rule(
    id="VPL006",
    name="numa-host-options",
    title="NUMA options of the host are off their default",
    severity=Severity.NOTE,
    cause="Advanced options change where a host puts VMs and whether it moves them. They are often set for "
    "one problem and forgotten, and differ between hosts of a cluster, so that a VM runs another way after "
    "each migration.",
    evidence="HostConfigInfo.option of Numa.FollowCoresPerSocket (default 0), LocalityWeightActionAffinity "
    "(130; 0 from ESX 9.1 on), LocalityWeightMem (1), PageMigEnable (1), PreferHT (0), RebalanceEnable (1) "
    "and SwapLocalityEnable (1). RebalanceEnable 0 ends NUMA scheduling and PageMigEnable 0 leaves memory "
    "behind: warnings; others are notes. An option that the host did not tell is not evaluated.",
    fix="If nobody knows why it was set, set it back: esxcli system settings advanced set -o /Numa/OPTION -i "
    "DEFAULT.",
    sample="Numa.RebalanceEnable is 0, the default is 1: VMs are neither placed by NUMA node nor moved: "
    "locality is luck",
    find=find,
)
