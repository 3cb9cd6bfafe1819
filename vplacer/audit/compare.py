"""Whether a finding of an earlier audit is gone, or was only not looked for this time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vplacer.audit.model import AuditReport, Gone, Place, Severity, Untold
from vplacer.audit.registry import all_rules
from vplacer.inventory.vcenter import Inventory


@dataclass(frozen=True, slots=True)
class Earlier:
    """A finding of an earlier audit.

    ``vm``, ``host``, ``cluster``: managed object ids. Times are ISO 8601 UTC.
    """

    rule: str
    name: str
    fingerprint: str
    severity: Severity
    text: str
    places: tuple[Place, ...]
    vm: str | None
    host: str | None
    cluster: str | None
    first_seen: str | None
    last_seen: str

    def gone(self) -> Gone:
        """Return it as a finding that is no more."""
        return Gone(
            rule=self.rule,
            name=self.name,
            fingerprint=self.fingerprint,
            severity=self.severity,
            text=self.text,
            places=self.places,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
        )


def not_looked_for(report: AuditReport, inventory: Inventory) -> Callable[[Earlier], bool]:
    """Return a function that tells whether an earlier finding may be there still without being among these.

    So it is if the audit is incomplete, if the rule was left out, or if it could not look at the object
    where that is now. A rule that there is no more is never looked for again: what it found is gone.
    """
    untold = {result.rule.id: result.not_evaluated for result in report.rules}
    known = {rule.id for rule in all_rules()}

    def unseen(earlier: Earlier) -> bool:
        if not report.complete:
            return True
        if earlier.rule not in untold:
            return earlier.rule in known
        vm = inventory.vm_by_moid.get(earlier.vm or "")
        host_id = vm.host if vm is not None else earlier.host
        host = inventory.host_by_moid.get(host_id or "")
        cluster = host.cluster if host is not None else earlier.cluster
        return any(_covers(item, earlier.vm, host_id, cluster) for item in untold[earlier.rule])

    return unseen


def _covers(untold: Untold, vm: str | None, host: str | None, cluster: str | None) -> bool:
    """Whether what was not evaluated is an object or one that it lies in."""
    if untold.vm is not None:
        return untold.vm == vm
    if untold.host is not None:
        return untold.host == host
    return untold.cluster is None or untold.cluster == cluster
