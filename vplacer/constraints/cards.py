"""The cards of a host, computed once a problem."""

from __future__ import annotations

from vplacer.constraints.state import Problem
from vplacer.topology.assignable import AssignableDevice, assignable_devices


def devices_of_host(problem: Problem, host: str) -> tuple[AssignableDevice, ...]:
    """Return `assignable_devices` of a host, computed once a problem."""
    return problem.derive_fact(_all_devices, host)


def _all_devices(problem: Problem, host: str) -> tuple[AssignableDevice, ...]:
    return assignable_devices(problem.inventory.host_by_moid[host], problem.topologies[host])
