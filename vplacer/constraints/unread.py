"""What could not be read of hosts, VMs, clusters and pools, as far as decisions rest on it.

Unknown is not free: a running VM whose devices were not read may hold any card of its host, and a
cluster whose rules were not read may have any rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vplacer.constraints.state import Problem
from vplacer.inventory.hidden_holders import hidden_holders
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vcenter import Gap, Inventory
from vplacer.inventory.vm import Vm

OWNERSHIP_PATHS: Final = (
    "config.managedBy",
    "disabledMethod",
    "runtime.question",
    "runtime.faultToleranceState",
    "runtime.consolidationNeeded",
)
"""Properties that say whether a VM may be changed, and nothing of what it takes."""

_NOT_ABOUT_USE: Final = (
    *OWNERSHIP_PATHS,
    "name",
    "parent",
    "resourcePool",
    "datastore",
    "network",
    "snapshot",
    "runtime.connectionState",
    "config.version",
    "config.changeVersion",
    "config.instanceUuid",
    "config.guestId",
    "config.firmware",
    "config.cpuHotAddEnabled",
    "config.memoryHotAddEnabled",
)
"""Properties of a VM that say nothing of what it takes of its host. Any other path counts."""

_GIVE: Final = "give the account System.Read on"
_OF_CLUSTER: Final = ("ClusterComputeResource", "ComputeResource")


def gaps_of(inventory: Inventory, moid: str, *types: str) -> tuple[Gap, ...]:
    """Return the gaps of an object: its own, and those of all objects of one of its types."""
    if not inventory.gaps:
        return ()
    return tuple(gap for name in (moid, *types) for gap in inventory.gaps_by_object.get(name, ()))


def vm_gaps(inventory: Inventory, vm: Vm) -> tuple[Gap, ...]:
    """Return what could not be read of a VM."""
    return gaps_of(inventory, vm.moid, "VirtualMachine")


def gap_text(gap: Gap) -> str:
    """Return what of an object is missing, and why: "runtime.question (permission: System.Read)"."""
    why = f"{gap.kind}: {gap.reason}" if gap.reason else gap.kind
    return f"{gap.path} ({why})" if gap.path else why


def unread_on_host(problem: Problem, host: Host) -> str | None:
    """Return what could not be read of a host, of the VMs that are or may be on it, or of its cluster."""
    return problem.derive_fact(_by_host).get(host.moid)


def unread_of_vm(problem: Problem, vm: Vm) -> str | None:
    """Return what of a VM's size, devices and state could not be read: it cannot be changed or copied."""
    found = [gap for gap in vm_gaps(problem.inventory, vm) if not _within(gap.path, OWNERSHIP_PATHS)]
    return _unread(vm.name, found, f"VM {vm.name} could not be read completely") if found else None


def unread_of_pool(problem: Problem, pool: str | None) -> str | None:
    """Return what could not be read of a resource pool or of one it is in."""
    inventory = problem.inventory
    while inventory.gaps and pool is not None:
        item = inventory.pool_by_moid.get(pool)
        found = gaps_of(inventory, pool, "ResourcePool")
        found = tuple(gap for gap in found if gap.path not in ("name", "parent"))
        if found:
            name = item.name if item is not None else pool
            return _unread(name, found, f"the limits of pool {name} could not be read")
        pool = item.parent if item is not None else None
    return None


def _by_host(problem: Problem) -> dict[str, str]:
    inventory = problem.inventory
    found: dict[str, str] = {}
    for host in inventory.hosts:
        hidden = hidden_holders(host, inventory.vm_by_moid)
        if hidden:
            names = ", ".join(hidden)
            text = f"the host holds cards for VM {names}, which this account cannot see"
            found[host.moid] = f"{text}; {_GIVE} {names}"
    if not inventory.gaps:
        return found
    for host in inventory.hosts:
        unread = _host_unread(inventory, host) or _cluster_unread(inventory, host)
        if unread is not None:
            found[host.moid] = unread
    for vm in inventory.vms:
        gaps = _use_unknown(inventory, vm)
        for moid in _where(inventory, vm) if gaps else ():
            what = "holds on this host" if vm.host is not None else "holds, and on which host,"
            text = f"what VM {vm.name} {what} could not be read"
            found.setdefault(moid, _unread(vm.name, gaps, text))
    return found


def _host_unread(inventory: Inventory, host: Host) -> str | None:
    told = host.connection is not ConnectionState.CONNECTED
    found = [
        gap
        for gap in gaps_of(inventory, host.moid, "HostSystem")
        # That a host has no connection is a reason of its own.
        if gap.path != "name" and not (told and gap.kind == "disconnected")
    ]
    return _unread(host.name, found, "the host could not be read completely") if found else None


def _cluster_unread(inventory: Inventory, host: Host) -> str | None:
    cluster = inventory.cluster_by_moid.get(host.cluster or "")
    if cluster is None:
        return None
    found = [
        gap
        for gap in gaps_of(inventory, cluster.moid, *_OF_CLUSTER)
        if gap.path not in ("name", "parent", "host")
    ]
    text = f"the configuration of cluster {cluster.name} (rules, HA, EVC) could not be read"
    return _unread(cluster.name, found, text) if found else None


def _use_unknown(inventory: Inventory, vm: Vm) -> list[Gap]:
    """Return the gaps that leave open what a VM takes; none for one that is known not to run."""
    if vm.template:
        return []
    gaps = vm_gaps(inventory, vm)
    power_known = not any(gap.path in ("", "runtime", "runtime.powerState") for gap in gaps)
    if power_known and not vm.is_on:
        return []
    return [gap for gap in gaps if not _within(gap.path, _NOT_ABOUT_USE)]


def _where(inventory: Inventory, vm: Vm) -> Iterable[str]:
    """Return the hosts a VM is or may be on."""
    if vm.host is not None:
        return (vm.host,)
    pool = inventory.pool_by_moid.get(vm.pool or "")
    cluster = pool.owner if pool is not None and pool.owner in inventory.cluster_by_moid else None
    return [host.moid for host in inventory.hosts if cluster is None or host.cluster == cluster]


def _within(path: str, paths: Iterable[str]) -> bool:
    return any(path == known or path.startswith(f"{known}.") for known in paths)


def _unread(about: str, gaps: Iterable[Gap], text: str) -> str:
    """Return a sentence: what is not known, the first gap, and what to do about it."""
    first, *rest = gaps
    more = f" and {len(rest)} more" if rest else ""
    way = f"; {_GIVE} {about}" if first.kind == "permission" else ""
    return f"{text}: {gap_text(first)}{more}{way}"
