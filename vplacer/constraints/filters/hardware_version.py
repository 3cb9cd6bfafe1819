"""The host offers the VM's hardware version."""

from __future__ import annotations

from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import HardwareLimits, Host
from vplacer.inventory.limits_table import FIRST_RELEASE, table_limit
from vplacer.request.demand import Demand


def limits_of(host: Host, version: int) -> HardwareLimits | None:
    """Return what a hardware version allows on a host: its descriptor, else the table's answer."""
    told = next((limits for limits in host.limits if limits.version == version), None)
    if told is not None or any(limits.source == "descriptor" for limits in host.limits):
        return told
    return table_limit(host.version, version)


def rejects(_problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a host whose ESXi is too old for the hardware version, or does not say its release."""
    if limits_of(host, demand.hardware_version) is not None:
        return None
    release = f"ESXi {host.version}" if host.version else "ESXi of unknown release"
    return f"{release} does not offer vmx-{demand.hardware_version}{_needs(demand.hardware_version)}"


def _needs(version: int) -> str:
    first = FIRST_RELEASE.get(version)
    if first is None:
        return ""
    update = f" U{first[2]}" if first[2] else ""
    return f" (needs ESXi {first[0]}.{first[1]}{update} or later)"


def relax(_problem: Problem, _demand: Demand, _host: Host) -> Relaxation | None:
    """The version is already the lowest that will do."""
    return None


FILTER = Filter("hardware-version", "Hardware version offered", rejects, relax)
