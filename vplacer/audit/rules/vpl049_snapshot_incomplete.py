"""What could not be read: an audit that did not see all proves nothing there."""

from __future__ import annotations

from collections.abc import Iterator

from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vcenter import Gap, Inventory

_SHOWN = 4
_FIXES = {
    "permission": "Give the account the role Read-only on the vCenter, propagated to children; vplacer "
    "doctor names the privileges that are missing.",
    "disconnected": "Connect the host again (Connection, Connect), and collect again.",
    "too_old": "The release does not tell it: update it, or live with what is not known.",
}


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield each object of which something could not be read, and an inventory without hosts."""
    inventory = subject.inventory
    for moid, gaps in inventory.gaps_by_object.items():
        yield _hit(inventory, moid, gaps)
    if not inventory.hosts:
        yield Hit("no host was read: there is none, or the account sees none", Certainty.PROVED, key="hosts")


def _hit(inventory: Inventory, moid: str, gaps: tuple[Gap, ...]) -> Hit:
    told = [f"{gap.path} ({gap.kind}: {gap.reason.rstrip('.')})" for gap in gaps]
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    is_vm, is_host = moid in inventory.vm_by_moid, moid in inventory.host_by_moid
    is_cluster = moid in inventory.cluster_by_moid
    named = "" if is_vm or is_host or is_cluster else f" of {_name(inventory, moid)}"
    kinds = {gap.kind for gap in gaps}
    return Hit(
        f"not read{named}: {'; '.join(told[:_SHOWN])}{more}",
        Certainty.PROVED,
        vm=moid if is_vm else None,
        host=moid if is_host else None,
        cluster=moid if is_cluster else None,
        key=moid if named else "",
        fix=_FIXES.get(gaps[0].kind) if len(kinds) == 1 else None,
        numbers=(("gaps", len(gaps)),),
    )


def _name(inventory: Inventory, moid: str) -> str:
    names = {item.moid: item.name for item in inventory.pools}
    names |= {item.moid: item.name for item in inventory.datastores}
    names |= {item.moid: item.name for item in inventory.networks}
    return f"{names[moid]} ({moid})" if moid in names else moid


RULE = Rule(
    id="VPL049",
    name="snapshot-incomplete",
    title="Part of the inventory could not be read",
    severity=Severity.WARNING,
    cause="The account may not read it, the host was not connected, or a call failed. What is not seen may "
    "hold devices, or be at fault: no finding there proves nothing.",
    evidence="What the PropertyCollector gave as missing, and calls that failed, by object. An audit with "
    "such gaps ends with exit code 5.",
    fix="Collect again; vplacer doctor says what the account or the vCenter lacks.",
    sample="not read: config (disconnected: the host is not connected)",
    find=find,
)
