"""Events of the state machine as the API's own."""

from __future__ import annotations

from typing import Any

from pyVmomi import VmomiSupport, vim

from vplacer.inventory.vm import Vm
from vplacer.lab.model.tasks import LabEvent
from vplacer.lab.soap.views.world import World, api_name
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Class

KINDS: tuple[str, ...] = (
    "GeneralUserEvent",
    "VmReconfiguredEvent",
    "VmPoweredOnEvent",
    "VmPoweredOffEvent",
    "VmSuspendedEvent",
    "VmMigratedEvent",
    "VmRelocatedEvent",
    "VmClonedEvent",
    "VmRemovedEvent",
    "VmUpgradeCompleteEvent",
)
"""Types of events that ``EventManager.description`` lists."""


def api_event(world: World, event: LabEvent) -> Any:
    """Return an event of the type named; ``EventEx`` where there is none such, or it would need more."""
    kind = _event_class(event.kind)
    members: dict[str, Any] = {
        "key": event.key,
        "chainId": event.key,
        "createdTime": event.at,
        "userName": event.user or "",
        "fullFormattedMessage": event.message,
        **_places(world, event.entity),
    }
    if kind is None:
        return vim.event.EventEx(eventTypeId=event.kind, severity="info", message=event.message, **members)
    made = kind(**members)
    if isinstance(made, vim.event.GeneralEvent):
        made.message = event.message
    if isinstance(made, vim.event.GeneralUserEvent):
        ref = world.ref(event.entity)
        if ref is not None:
            made.entity = vim.event.ManagedEntityEventArgument(name=_name(world, event.entity), entity=ref)
    if isinstance(made, vim.event.VmEvent):
        found = world.vms.get(event.entity)
        made.template = found is not None and found.template
    return made


def _event_class(name: str) -> Class | None:
    """Return the class of an event that says nothing beside what all of its base say."""
    try:
        kind = VmomiSupport.GetWsdlType(typetable.NAMESPACE, name)
    except KeyError:
        return None
    if not issubclass(kind, vim.event.Event):
        return None
    plain = (vim.event.GeneralEvent, vim.event.VmEvent)
    base = next((b for b in plain if issubclass(kind, b)), vim.event.Event)
    known = {info.name for info in base._GetPropertyList()}
    required = {i.name for i in kind._GetPropertyList() if not i.flags & typetable.OPTIONAL}
    return kind if required <= known else None


def _name(world: World, moid: str) -> str:
    found = world.vms.get(moid) or world.hosts.get(moid) or world.clusters.get(moid)
    return api_name(moid if found is None else found.name)


def _places(world: World, moid: str) -> dict[str, Any]:
    """Return the event's arguments that say where: the VM, its host, the host."""
    made: dict[str, Any] = {}
    vm: Vm | None = world.vms.get(moid)
    host = vm.host if vm is not None else moid
    if vm is not None:
        made["vm"] = vim.event.VmEventArgument(name=api_name(vm.name), vm=world.ref(moid))
    if host is not None and host in world.hosts:
        made["host"] = vim.event.HostEventArgument(name=_name(world, host), host=world.ref(host))
    return made


def description() -> Any:
    """Return ``EventDescription``: the categories, and the types of events with theirs."""
    kind: Any = vim.event.EventDescription
    return kind(
        category=[
            vim.ElementDescription(key=word, label=word, summary=word)
            for word in ("info", "warning", "error", "user")
        ],
        eventInfo=[
            kind.EventDetail(
                key=VmomiSupport.GetWsdlType(typetable.NAMESPACE, name),
                category="user" if name == "GeneralUserEvent" else "info",
                formatOnDatacenter="",
                formatOnComputeResource="",
                formatOnHost="",
                formatOnVm="",
                fullFormat="",
            )
            for name in KINDS
        ],
    )
