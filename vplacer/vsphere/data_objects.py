"""Data objects to be sent: made by API name, or copied from what a server answered."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from vplacer.errors import InventoryIncomplete
from vplacer.vsphere.raw import Data, MoRef, Value
from vplacer.vsphere.soap import managed_object, type_named


def make(type_name: str, **fields: object) -> Any:
    """Return a data object of an API type ("VirtualMachineConfigSpec"); references may be `MoRef`s."""
    return type_named(type_name)(**{name: _plain(value) for name, value in fields.items()})


def _plain(value: object) -> object:
    if isinstance(value, MoRef):
        return managed_object(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def copied(data: Data, obj: str) -> Any:
    """Return a data object with the type and fields of an answer.

    Args:
        data: what a server sent.
        obj: what it belongs to, for the message.

    Raises:
        InventoryIncomplete: it is of a type that the tables do not know: a copy would not be whole.
    """
    try:
        kind = type_named(data.type)
    except KeyError:
        raise InventoryIncomplete(
            f"a device description of type {data.type} cannot be copied",
            obj=obj,
            why="this vplacer does not know the type, and a copy would lose part of it",
            hint="upgrade vplacer",
        ) from None
    made = kind()
    for info in kind._GetPropertyList():
        if info.name in data.fields:
            setattr(made, info.name, _copied_value(data.fields[info.name], info.type, obj))
    return made


def _copied_value(value: Value, declared: Any, obj: str) -> object:
    if isinstance(value, list):
        item = declared.Item if issubclass(declared, list) else object
        return [_copied_value(part, item, obj) for part in value]
    if isinstance(value, Data):
        return copied(value, obj)
    if isinstance(value, MoRef):
        return managed_object(value)
    if isinstance(value, str) and issubclass(declared, datetime):
        return datetime.fromisoformat(value)
    if isinstance(value, str) and issubclass(declared, bytes):
        return base64.b64decode(value)
    return value
