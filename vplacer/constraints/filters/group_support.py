"""Device groups, vNUMA shape and device nodes need API 8.0.0.1 and hardware version 20."""

from __future__ import annotations

from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA
from vplacer.request.demand import Demand

_FIRST_API = (8, 0, 0, 1)


def rejects(_problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject device groups or an explicit vNUMA shape where the fields do not exist.

    Fields newer than the negotiated API version are dropped without an error, so that the VM would
    silently come up without them (vSphere API: VirtualDeviceGroups, VirtualNuma; since 8.0.0.1).
    """
    groups = any(ask.group is not None for ask in demand.gpus)
    if not groups and demand.vnuma_nodes is None:
        return None
    what = "device groups need" if groups else "an explicit vNUMA shape needs"
    if demand.hardware_version < FIRST_WITH_VNUMA:
        return f"{what} hardware version vmx-{FIRST_WITH_VNUMA} or later, not vmx-{demand.hardware_version}"
    api = _parse(host.api_version)
    if api is not None and api < _FIRST_API[: len(api)]:
        return f"{what} API 8.0.0.1; the host speaks {host.api_version}"
    return None


def relax(_problem: Problem, _demand: Demand, _host: Host) -> Relaxation | None:
    """Only newer software would do."""
    return None


def _parse(version: str | None) -> tuple[int, ...] | None:
    parts = (version or "").split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else None


FILTER = Filter("group-support", "API for device groups and vNUMA", rejects, relax)
