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
    return None


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """Ending the mode would do; that is the administrator's."""
    if rejects(problem, demand, host) is None:
        return None
    mode = "maintenance mode" if host.in_maintenance else "quarantine"
    return Relaxation(f"end {mode} on {host.name}", HOST_CHANGE)


FILTER = Filter("maintenance", "Host not in maintenance", rejects, relax)
