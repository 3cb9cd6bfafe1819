"""The host answers and runs."""

from __future__ import annotations

from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import ConnectionState, Host, HostPower
from vplacer.request.demand import Demand


def rejects(_problem: Problem, _demand: Demand, host: Host) -> str | None:
    """Reject a host that is not connected, or whose power state is off or unknown."""
    if host.connection is not ConnectionState.CONNECTED:
        return f"the host is {host.connection.value}"
    if host.power in (HostPower.OFF, HostPower.UNKNOWN):
        return f"the host's power state is {host.power.value}"
    return None


def relax(_problem: Problem, _demand: Demand, _host: Host) -> Relaxation | None:
    """Nothing in a request brings a host back."""
    return None


FILTER = Filter("connection", "Host connected and powered on", rejects, relax)
