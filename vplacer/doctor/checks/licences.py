"""Checks of licences: what the hosts' licences allow, and when they end."""

from __future__ import annotations

from vplacer.doctor.checks.common import count, differs, few, not_applicable, ok
from vplacer.doctor.licensing import DRS, VGPU, VMOTION, Has, has_feature, in_use, is_host_licence
from vplacer.doctor.marks import secret
from vplacer.doctor.model import Evidence, Finding
from vplacer.doctor.observed import Licences, Untold

_SOON_HOURS = 30 * 24
_BAD = (Has.NO, Has.UNLIKELY)


def editions(facts: Licences, evidence: Evidence) -> Finding:
    """Say whether host licences have DRS, vMotion and vGPU where the site uses them, and when they end."""
    hosts = [licence for licence in facts.found if is_host_licence(licence)]
    if not hosts:
        return not_applicable("no licence for hosts is listed")
    told, wrong = [], []
    for licence in hosts:
        marks = ", ".join(f"{f}: {has_feature(licence, f).value}" for f in (DRS, VMOTION, VGPU))
        told.append(f"{licence.edition} ({secret('licence', licence.key)}): {marks}")
        if in_use(licence, facts.assigned) is False:
            continue
        wrong += [
            f"{licence.edition}: {feature} {has_feature(licence, feature).value}"
            for feature in _used(evidence)
            if has_feature(licence, feature) in _BAD
        ]
        if licence.hours_left is not None and licence.hours_left <= _SOON_HOURS:
            days = licence.hours_left / 24
            ends = "has expired" if days <= 0 else f"ends in {count(int(days), 'day')}"
            wrong.append(f"{licence.edition}: {ends}")
    if isinstance(facts.assigned, Untold):
        told.append(f"which host has which licence is not known: {facts.assigned.why}")
    if wrong:
        return differs(
            "a licence does not cover what the site uses, or ends soon",
            (*few(wrong), *told),
            "without DRS there are no rules and no automatic placement; an expired host disconnects",
        )
    return ok(f"{count(len(hosts), 'licence')} for hosts", *told)


def _used(evidence: Evidence) -> tuple[str, ...]:
    """Return the features that the site uses by its inventory."""
    inventory = evidence.inventory
    if isinstance(inventory, Untold):
        return ()
    found = [DRS] if any(cluster.drs_level is not None for cluster in inventory.clusters) else []
    if any(host.vgpu_types or host.vgpu_profiles for host in inventory.hosts):
        found.append(VGPU)
    return tuple(found)
