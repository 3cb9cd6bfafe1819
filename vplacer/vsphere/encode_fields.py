"""Typed fields and advanced settings of a VM, as members of a ConfigSpec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vplacer.errors import InternalError
from vplacer.plan.changes import ExtraConfigChange, Field, FieldChange, Scalar
from vplacer.vsphere.data_objects import make

_AUTO_CORES_FROM: Final = 20
"""From this hardware version on 0 cores per socket means "automatic"; below, 1 is the default
(vmware-tanzu/vm-operator)."""

_NO_LIMIT: Final = -1


_MEMORY: Final = {Field.MEMORY_LIMIT_MIB: ("limit", _NO_LIMIT), Field.MEMORY_RESERVED_MIB: ("reservation", 0)}


def encode_fields(changes: Iterable[FieldChange], hardware_version: int | None) -> dict[str, Any]:
    """Return typed fields by the name of their ConfigSpec member.

    What a change sets to None goes back to the default: vNUMA and cores per socket to automatic, limits
    to none, reservations to 0.

    Args:
        changes: at most one a field.
        hardware_version: of the VM now; None = unknown.
    """
    found: dict[str, Any] = {}
    vnuma: dict[str, object] = {}
    for change in changes:
        value = change.after
        match change.field:
            case Field.CPUS:
                found["numCPUs"] = _number(change.field, value)
            case Field.CORES_PER_SOCKET:
                found["numCoresPerSocket"] = _cores_per_socket(value, hardware_version)
            case Field.CORES_PER_NUMA_NODE:
                vnuma["coresPerNumaNode"] = 0 if value is None else _number(change.field, value)
            case Field.VNUMA_ON_HOT_ADD:
                vnuma["exposeVnumaOnCpuHotadd"] = bool(value)
            case Field.MEMORY_MIB:
                found["memoryMB"] = _number(change.field, value)
            case Field.MEMORY_LOCKED_TO_MAX:
                found["memoryReservationLockedToMax"] = bool(value)
            case Field.MEMORY_LIMIT_MIB | Field.MEMORY_RESERVED_MIB:
                member, unset = _MEMORY[change.field]
                memory = found.setdefault("memoryAllocation", make("ResourceAllocationInfo"))
                setattr(memory, member, unset if value is None else _number(change.field, value))
            case Field.CPU_RESERVATION_MHZ:
                reserved = 0 if value is None else _number(change.field, value)
                found["cpuAllocation"] = make("ResourceAllocationInfo", reservation=reserved)
            case Field.LATENCY_SENSITIVITY:
                level = "normal" if value is None else str(value)
                found["latencySensitivity"] = make("LatencySensitivity", level=level)
            case Field.CPU_AFFINITY:
                cpus = list(value) if isinstance(value, tuple) else []
                found["cpuAffinity"] = make("VirtualMachineAffinityInfo", affinitySet=cpus)
    if vnuma:
        found["virtualNuma"] = make("VirtualMachineVirtualNuma", **vnuma)
    return found


def _cores_per_socket(value: Scalar, hardware_version: int | None) -> int:
    if value is not None:
        return _number(Field.CORES_PER_SOCKET, value)
    return 0 if hardware_version is not None and hardware_version >= _AUTO_CORES_FROM else 1


def _number(field: Field, value: Scalar) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InternalError(f"the plan sets {field.value} to {value!r}, which is no number")


def encode_extra_config(changes: Iterable[ExtraConfigChange]) -> list[Any]:
    """Return advanced settings; one that is to be absent is written as "", which deletes it."""
    return [make("OptionValue", key=change.key, value=change.after or "") for change in changes]
