"""The host is neither in maintenance nor in quarantine."""

from __future__ import annotations

from vplacer.constraints.costs import HOST_CHANGE
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand


def rejects(_problem: Problem, _demand: Demand, host: Host) -> str | None:
    """Reject a host in maintenance mode or in quarantine (proactive HA)."""
    if host.in_maintenance:
        return "the host is in maintenance mode"
    if host.in_quarantine:
        return "the host is in quarantine"
    if host.in_maintenance is None:
        return "vCenter does not say whether the host is in maintenance mode"
    return None


def relax(_problem: Problem, _demand: Demand, host: Host) -> Relaxation | None:
    """Ending the mode would do; that is the administrator's."""
    if not host.in_maintenance and not host.in_quarantine:
        return None
    mode = "maintenance mode" if host.in_maintenance else "quarantine"
    return Relaxation(f"end {mode} on {host.name}", HOST_CHANGE)


FILTER = Filter("maintenance", "Host not in maintenance", rejects, relax)
