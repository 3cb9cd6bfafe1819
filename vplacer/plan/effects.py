"""What a change does to the fields of a VM: the values that must hold before it and those after it."""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    Delete,
    Field,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    Scalar,
    UpgradeHardware,
)
from vplacer.plan.model import Fact
from vplacer.plan.observed import EXTRA_PREFIX, device_text

Facts = Mapping[str, Fact]


def facts_before(change: Change, facts: Facts) -> dict[str, Fact]:
    """Return the fields that must still have their value when the change is made.

    ``facts``: the VM as the steps before left it.
    """
    names = set(_touched(change))
    if isinstance(change, Reconfigure | UpgradeHardware | Relocate):
        names.add("power")
    if isinstance(change, Clone):
        names |= {"template", "hardware_version", "cpus", "memory_mib"}
    return {name: facts[name] for name in sorted(names) if name in facts}


def facts_after(change: Change, facts: Facts) -> dict[str, Fact]:
    """Return all fields after the change."""
    after = dict(facts)
    match change:
        case Clone():
            after |= {
                "name": change.name,
                "host": change.host,
                "template": False,
                "power": VmPower.OFF.value,
                "instance_uuid": None,
            }
            if change.pool is not None:
                after["pool"] = change.pool
        case UpgradeHardware():
            after["hardware_version"] = change.after
        case Power():
            after["power"] = change.after.value
        case Relocate():
            after["host"] = change.host_after
            if change.pool_after is not None:
                after["pool"] = change.pool_after
        case OverrideDrs():
            after["drs_override"] = change.after
        case Reconfigure():
            _reconfigured(change, after)
        case Delete():
            pass
    return after


def checks_of(change: Change, after: Facts) -> dict[str, Fact]:
    """Return the fields to read back after the change."""
    return {name: after[name] for name in sorted(_touched(change)) if name in after}


def _touched(change: Change) -> tuple[str, ...]:
    match change:
        case Clone():
            return ("name", "host", "power")
        case UpgradeHardware():
            return ("hardware_version",)
        case Power():
            return ("power",)
        case Relocate():
            return ("host", "pool") if change.pool_after != change.pool_before else ("host",)
        case OverrideDrs():
            return ("drs_override",)
        case Reconfigure():
            names = [item.field.value for item in change.fields]
            names += [EXTRA_PREFIX + item.key for item in change.extra_config]
            if {Field.MEMORY_MIB.value, Field.MEMORY_LOCKED_TO_MAX.value} & set(names):
                names.append("memory_reserved_mib")
            return (*names, *(("devices",) if change.devices or change.groups else ()))
        case Delete():
            return ()


def _reconfigured(change: Reconfigure, after: dict[str, Fact]) -> None:
    for item in change.fields:
        after[item.field.value] = _fact(item.after)
    for extra in change.extra_config:
        after[EXTRA_PREFIX + extra.key] = extra.after
    if after.get(Field.MEMORY_LOCKED_TO_MAX.value):
        after["memory_reserved_mib"] = after.get(Field.MEMORY_MIB.value)
    if not (change.devices or change.groups):
        return
    found = after.get("devices")
    texts = list(found) if isinstance(found, tuple) else []
    for device in change.devices:
        if device.action is not Action.ADD and device.before is not None:
            texts.remove(device_text(device.before))
        if device.action is not Action.REMOVE and device.after is not None:
            texts.append(device_text(device.after))
    after["devices"] = tuple(sorted(texts))


def _fact(value: Scalar) -> Fact:
    return tuple(str(item) for item in value) if isinstance(value, tuple) else value
