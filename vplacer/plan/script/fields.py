"""The fields of a plan's guards that a script reads back, by the names of `vplacer.plan.observed`."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.plan.changes import Field
from vplacer.plan.model import Fact
from vplacer.plan.observed import EXTRA_PREFIX

VM_FIELDS = frozenset(
    {
        "name",
        "instance_uuid",
        "host",
        "pool",
        "power",
        "connection",
        "template",
        "hardware_version",
        "firmware",
        "has_snapshots",
        "cpu_hot_add",
        "memory_reserved_mib",
        "devices",
        "drs_override",
        *(field.value for field in Field),
    }
)
HOST_FIELDS = frozenset({"uuid", "connection", "power", "maintenance"})

NOT_COMPARED = (
    "the hosts' cards, NUMA nodes, vGPU profiles and device groups",
    "which VMs came to a host since",
    "signs that somebody else works on a VM (a pending question, a running backup)",
    "ordinary network cards",
)

_LEFT_OUT = ("network ", "unknown ")
"""Texts of devices that no plan changes."""


def vm_fields(facts: Iterable[tuple[str, Fact]]) -> tuple[tuple[str, Fact], ...]:
    """Return the facts of a VM that a script can compare.

    Keys of extraConfig are in small letters, as they mean the same in any. Ordinary network cards are left
    out of the devices; a list with devices that only the vendor's template describes is left out whole. A
    lock of memory that is not told is none: servers leave it out of a VM that never had one.
    """
    found: list[tuple[str, Fact]] = []
    for name, value in facts:
        if name.startswith(EXTRA_PREFIX):
            found.append((name.lower(), value))
        elif name == "devices" and isinstance(value, tuple):
            if not any(text.startswith("unknown ") and " in " in text for text in value):
                found.append((name, tuple(text for text in value if not text.startswith(_LEFT_OUT))))
        elif name == Field.MEMORY_LOCKED_TO_MAX:
            found.append((name, bool(value)))
        elif name in VM_FIELDS:
            found.append((name, value))
    return tuple(sorted(found))


def host_fields(facts: Iterable[tuple[str, Fact]]) -> tuple[tuple[str, Fact], ...]:
    """Return the facts of a host that a script can compare."""
    return tuple(sorted((name, value) for name, value in facts if name in HOST_FIELDS))
