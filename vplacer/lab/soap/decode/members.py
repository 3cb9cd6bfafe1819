"""Members of a data object that a client set. One that the lab does not understand is refused by name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyVmomi import vmodl

from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Value

_RESERVED = frozenset({"dynamicType", "dynamicProperty"})


def set_members(value: Value) -> list[str]:
    """List the members that are set; an empty array is as good as none."""
    names = (info.name for info in type(value)._GetPropertyList() if info.name not in _RESERVED)
    return [name for name in names if not _is_unset(getattr(value, name))]


def _is_unset(member: Value) -> bool:
    return member is None or (isinstance(member, list) and not member)


def refuse_others(value: Value, understood: Collection[str], where: str = "") -> None:
    """Refuse a data object with a member that the lab does not understand.

    Raises:
        vmodl.fault.NotSupported: naming all such members.
    """
    others = [name for name in set_members(value) if name not in understood]
    if others:
        raise not_supported(
            ", ".join(f"{where or typetable.wire_name(type(value))}.{name}" for name in others)
        )


def not_supported(what: str) -> Any:
    """Make the fault for something that the simulated vCenter does not do."""
    return vmodl.fault.NotSupported(msg=f"The simulated vCenter does not support {what}.")


def invalid_argument(name: str, why: str) -> Any:
    """Make the fault for a parameter that makes no sense."""
    return vmodl.fault.InvalidArgument(
        invalidProperty=name, msg=f"A specified parameter was not correct: {name} ({why})"
    )


def moid_or_none(ref: Value) -> str | None:
    """Return the id of a reference, None where there is none."""
    return None if ref is None else typetable.moid(ref)
