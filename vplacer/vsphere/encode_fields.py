"""Typed fields and advanced settings of a VM, as members of a ConfigSpec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from vplacer.errors import InternalError
from vplacer.plan.changes import ExtraConfigChange, Field, FieldChange, Scalar
from vplacer.vsphere.data_objects import make

_AUTO_CORES_FROM: Final = 20
"""From this hardware version on 0 cores per socket means "automatic"; below, 1 is the default
(vmware-tanzu/vm-operator)."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a field is written: a member, or ``part`` of the data object in it.

    ``default``: what is written for a field that goes back to being unset; its type is the field's.
    """

    member: str
    default: int | bool | str
    type: str | None = None
    part: str | None = None


_PLACES: Final = {
    Field.CPUS: _Place("numCPUs", 1),
    Field.CORES_PER_SOCKET: _Place("numCoresPerSocket", 0),
    Field.CORES_PER_NUMA_NODE: _Place("virtualNuma", 0, "VirtualMachineVirtualNuma", "coresPerNumaNode"),
    Field.VNUMA_ON_HOT_ADD: _Place(
        "virtualNuma", False, "VirtualMachineVirtualNuma", "exposeVnumaOnCpuHotadd"
    ),
    Field.MEMORY_MIB: _Place("memoryMB", 0),
    Field.MEMORY_LOCKED_TO_MAX: _Place("memoryReservationLockedToMax", False),
    Field.MEMORY_RESERVED_MIB: _Place("memoryAllocation", 0, "ResourceAllocationInfo", "reservation"),
    Field.MEMORY_LIMIT_MIB: _Place("memoryAllocation", -1, "ResourceAllocationInfo", "limit"),
    Field.CPU_RESERVATION_MHZ: _Place("cpuAllocation", 0, "ResourceAllocationInfo", "reservation"),
    Field.LATENCY_SENSITIVITY: _Place("latencySensitivity", "normal", "LatencySensitivity", "level"),
}


def encode_fields(changes: Iterable[FieldChange], hardware_version: int | None) -> dict[str, Any]:
    """Return typed fields by the name of their ConfigSpec member.

    What a change sets to None goes back to the default: vNUMA and cores per socket to automatic, limits
    to none, reservations to 0.

    Args:
        changes: at most one a field.
        hardware_version: of the VM now; None = unknown.
    """
    found: dict[str, Any] = {}
    parts: dict[tuple[str, str], dict[str, object]] = {}
    for change in changes:
        if change.field is Field.CPU_AFFINITY:
            cpus = list(change.after) if isinstance(change.after, tuple) else []
            found["cpuAffinity"] = make("VirtualMachineAffinityInfo", affinitySet=cpus)
            continue
        place = _PLACES[change.field]
        value = _value(change, place, hardware_version)
        if place.type is None or place.part is None:
            found[place.member] = value
        else:
            parts.setdefault((place.member, place.type), {})[place.part] = value
    for (member, kind), members in parts.items():
        found[member] = make(kind, **members)
    return found


def _value(change: FieldChange, place: _Place, hardware_version: int | None) -> Scalar:
    value = change.after
    if value is None:
        old = hardware_version is None or hardware_version < _AUTO_CORES_FROM
        return 1 if change.field is Field.CORES_PER_SOCKET and old else place.default
    if type(value) is not type(place.default):
        raise InternalError(f"the plan sets {change.field.value} to {value!r}, which cannot be")
    return value


def encode_extra_config(changes: Iterable[ExtraConfigChange]) -> list[Any]:
    """Return advanced settings; one that is to be absent is written as "", which deletes it."""
    return [make("OptionValue", key=change.key, value=change.after or "") for change in changes]
