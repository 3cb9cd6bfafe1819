"""Faults of the state machine as the API's own: by wire name, with the members that the type declares."""

from __future__ import annotations

from typing import Any

from pyVmomi import VmomiSupport, vmodl

from vplacer.lab.model.faults import LabFault
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Class, Info, Value


def api_fault(world: World, fault: LabFault) -> Any:
    """Return a fault of the type named, or a SystemError where the API has none of that name."""
    kind = _fault_class(fault.name)
    if kind is None:
        reason = f"{fault.name}: {fault.message}"
        return vmodl.fault.SystemError(reason=reason, msg=fault.message)
    made = kind(msg=fault.message)
    for name, value in fault.fields.items():
        info = typetable.property_info(kind, name)
        if info is not None and value is not None:
            setattr(made, name, _member(world, info, value))
    _fill_required(made)
    made.faultMessage = [vmodl.LocalizableMessage(key=f"vplacer.lab.{fault.name}", message=fault.message)]
    return made


def _fault_class(name: str) -> Class | None:
    try:
        kind = VmomiSupport.GetWsdlType(typetable.NAMESPACE, name)
    except KeyError:
        return None
    return kind if issubclass(kind, vmodl.MethodFault) else None


def _member(world: World, info: Info, value: Any) -> Value:
    if isinstance(value, LabFault):
        return api_fault(world, value)
    if issubclass(info.type, vmodl.MethodFault):
        return vmodl.fault.SystemError(reason=str(value), msg=str(value))
    if issubclass(info.type, typetable.ManagedObject) and isinstance(value, str):
        return _reference(world, info.type, value)
    if issubclass(info.type, list):
        item = info.type.Item
        if issubclass(item, typetable.ManagedObject):
            return info.type([_reference(world, item, moid) for moid in value])
        if issubclass(item, vmodl.MethodFault):
            return info.type([api_fault(world, inner) for inner in value])
    return typetable.coerce(value, info)


def _reference(world: World, declared: Class, moid: str) -> Value:
    """Return a reference to an object that is, or was, there."""
    known = world.ref(moid)
    if known is not None:
        return known
    prefix = moid.partition("-")[0]
    kind = _BY_PREFIX.get(prefix)
    return (declared if kind is None else VmomiSupport.GetWsdlType(typetable.NAMESPACE, kind))(moid)


_BY_PREFIX = {"vm": "VirtualMachine", "host": "HostSystem", "task": "Task"}


def _fill_required(made: Any) -> None:
    """Give required members that are unset the emptiest value of their type: without, none can be sent."""
    for info in typetable.properties(type(made), typetable.newest_version()):
        if info.flags & typetable.OPTIONAL or getattr(made, info.name) is not None:
            continue
        if issubclass(info.type, typetable.Enum):
            setattr(made, info.name, info.type.values[0])
        elif issubclass(info.type, typetable.ManagedObject):
            setattr(made, info.name, info.type("unknown"))
        elif issubclass(info.type, vmodl.MethodFault):
            setattr(made, info.name, vmodl.fault.SystemError(reason="unknown", msg="unknown"))
        else:
            setattr(made, info.name, info.type())
