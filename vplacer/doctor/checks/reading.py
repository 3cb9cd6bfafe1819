"""Checks of reading: gaps, extraConfig, change versions, tags."""

from __future__ import annotations

from collections import Counter

from vplacer.doctor.checks.common import SHOWN, count, differs, few, not_applicable, not_checked, ok
from vplacer.doctor.marks import foreign, named
from vplacer.doctor.model import Evidence, Finding, Outcome
from vplacer.doctor.observed import Untold, VmRaw
from vplacer.inventory.vcenter import Gap, Inventory

_NO_TAGGING = "the server has no tagging service"
_ADVICE = "give the account the missing privileges, propagated to children; reconnect the hosts"


def gaps(inventory: Inventory) -> Finding:
    """Name what could not be read."""
    if not inventory.hosts:
        return Finding(
            Outcome.DIFFERS, "no host at all could be read", (), "check what the account may see", failed=True
        )
    found = inventory.gaps
    if not found:
        seen = f"{count(len(inventory.hosts), 'host')}, {count(len(inventory.vms), 'VM')} read whole"
        return ok(seen)
    kinds = Counter(gap.kind for gap in found)
    told = [f"{kind}: {count(number, 'place')}" for kind, number in sorted(kinds.items())]
    told += few([_gap_text(gap, inventory) for gap in found])
    return Finding(
        Outcome.DIFFERS,
        f"{count(len(found), 'place')} could not be read",
        tuple(told),
        f"{_ADVICE}; until then nothing new is planned where something is not known",
        failed=True,
    )


def _gap_text(gap: Gap, inventory: Inventory) -> str:
    who = gap.object if gap.object in _TYPES else named(_kind(gap.object, inventory), gap.object)
    path = gap.path.partition("[")[0]
    return " ".join(part for part in (who, path, f"({gap.kind})", foreign(gap.reason)) if part)


_TYPES = frozenset(
    {
        "HostSystem",
        "VirtualMachine",
        "ClusterComputeResource",
        "ComputeResource",
        "ResourcePool",
        "Datastore",
        "Network",
        "Folder",
        "Datacenter",
    }
)


def _kind(moid: str, inventory: Inventory) -> str:
    if moid in inventory.host_by_moid or moid.startswith("host-"):
        return "host"
    if moid in inventory.vm_by_moid or moid.startswith("vm-"):
        return "vm"
    if moid in inventory.cluster_by_moid:
        return "cluster"
    if moid in inventory.pool_by_moid:
        return "pool"
    return "vcenter" if moid == inventory.about.instance_uuid else "object"


def extra_config(facts: tuple[VmRaw, ...], _evidence: Evidence) -> Finding:
    """Say whether extraConfig comes to this account: a VM that has run always has entries."""
    if not facts:
        return not_applicable("there is no VM to look at")
    without = [vm for vm in facts if not vm.keys]
    told = f"{len(facts) - len(without)} of {count(len(facts), 'VM')} looked at have entries"
    if len(without) == len(facts):
        return differs(
            "no VM shows any extraConfig",
            (told,),
            "numa.nodeAffinity and pciPassthru.* of VMs are then not seen: give the account System.Read on "
            "VMs, and report this if it has it",
        )
    return ok("extraConfig is readable", told)


def change_version(facts: tuple[VmRaw, ...], _evidence: Evidence) -> Finding:
    """Say whether every VM has a change version and it stands still while nothing changes."""
    if not facts:
        return not_applicable("there is no VM to look at")
    readable = [vm for vm in facts if vm.change_versions != (None, None)]
    if not readable:
        return differs(
            "no VM tells its change version",
            (count(len(facts), "VM"),),
            "plans then rest on compared fields alone; report the API version",
        )
    moved = [vm for vm in readable if vm.change_versions[0] != vm.change_versions[1]]
    told = f"{count(len(readable), 'VM')} read twice, {len(moved)} moved in between"
    if len(moved) > len(readable) // 2 and len(readable) > 1:
        return differs(
            "change versions move though nothing was done",
            (told, *few([named("vm", vm.moid) for vm in moved])),
            "something writes to these VMs all the time (backup, monitoring); plans on them go stale in the "
            "sense of this field, while the compared fields still decide",
        )
    return ok("change versions are told and stand still", told)


def tags(inventory: Inventory) -> Finding:
    """Say whether the tagging service answered."""
    refused = [gap for gap in inventory.gaps if gap.path == "tags"]
    if refused:
        return Finding(
            Outcome.DIFFERS,
            "tags cannot be read",
            tuple(foreign(gap.reason) for gap in refused[:SHOWN]),
            "the tag vplacer:ignore is then not seen; let the account read tags, and read the vCenter itself",
            failed=True,
        )
    if any(note.startswith(_NO_TAGGING) for note in inventory.notes):
        return not_checked(Untold("the server has no tagging service (REST)", failed=False))
    owners = [item.tags for item in inventory.clusters]
    owners += [item.tags for item in inventory.hosts]
    owners += [item.tags for item in inventory.vms]
    tagged = sum(1 for owned in owners if owned)
    return ok("the tagging service answered", f"{count(tagged, 'object')} with tags")
