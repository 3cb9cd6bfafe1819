"""TaskManager and EventManager: what has happened, and the collectors that tell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.containers import contained
from vplacer.lab.soap.decode.members import not_supported, refuse_others
from vplacer.lab.soap.history import History
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

TABLE = MethodTable()
_MOST_EVENTS = 1000

Fits = Callable[[Any], bool]


@TABLE.method(vim.TaskManager, "CreateCollectorForTasks")
def create_collector_for_tasks(call: Call, _this: Ref, args: Any) -> object:
    """Make a collector of the tasks that fit a filter."""
    spec = args.filter
    refuse_others(spec, ("entity", "time", "userName", "state", "activationId", "eventChainId"), "filter")
    return _keep(call, vim.TaskHistoryCollector, spec, lambda: _tasks(call, spec))


@TABLE.method(vim.event.EventManager, "CreateCollectorForEvents")
def create_collector_for_events(call: Call, _this: Ref, args: Any) -> object:
    """Make a collector of the events that fit a filter."""
    spec = args.filter
    return _keep(call, vim.event.EventHistoryCollector, spec, lambda: _events(call, spec))


@TABLE.method(vim.event.EventManager, "QueryEvents")
def query_events(call: Call, _this: Ref, args: Any) -> object:
    """Return the events that fit a filter, the newest first."""
    most = min(args.filter.maxCount or _MOST_EVENTS, _MOST_EVENTS)
    return list(reversed(_events(call, args.filter)[-most:]))


@TABLE.method(vim.event.EventManager, "LogUserEvent")
def log_user_event(call: Call, _this: Ref, args: Any) -> object:
    """Write a line of the user's own into the log."""
    call.require(args.entity)
    call.need("Global.LogEvent", args.entity)
    call.live.log_event(call.session.user, typetable.moid(args.entity), args.msg)
    return None


@TABLE.method(vim.TaskHistoryCollector, "ReadNextTasks")
@TABLE.method(vim.event.EventHistoryCollector, "ReadNextEvents")
def read_next(call: Call, this: Ref, args: Any) -> object:
    """Return the next items, the oldest first."""
    return _history(call, this).next(args.maxCount)


@TABLE.method(vim.TaskHistoryCollector, "ReadPreviousTasks")
@TABLE.method(vim.event.EventHistoryCollector, "ReadPreviousEvents")
def read_previous(call: Call, this: Ref, args: Any) -> object:
    """Return the items before, the newest first."""
    return _history(call, this).previous(args.maxCount)


@TABLE.method(vim.HistoryCollector, "RewindCollector")
def rewind_collector(call: Call, this: Ref, _args: Any) -> object:
    """Go to the oldest item."""
    _history(call, this).rewind()
    return None


@TABLE.method(vim.HistoryCollector, "ResetCollector")
def reset_collector(call: Call, this: Ref, _args: Any) -> object:
    """Go to the newest page."""
    _history(call, this).reset()
    return None


@TABLE.method(vim.HistoryCollector, "SetCollectorPageSize")
def set_collector_page_size(call: Call, this: Ref, args: Any) -> object:
    """Say how many items the newest page has."""
    _history(call, this).set_page_size(args.maxCount)
    return None


@TABLE.method(vim.HistoryCollector, "DestroyCollector")
def destroy_collector(call: Call, this: Ref, _args: Any) -> object:
    """Remove a collector."""
    _history(call, this)
    call.session.objects.pop(typetable.moid(this), None)
    return None


@TABLE.method(vim.Task, "CancelTask")
def cancel_task(call: Call, this: Ref, _args: Any) -> object:
    """Refuse: no task of the simulated vCenter can be cancelled, and each says so."""
    call.require(this)
    raise vmodl.fault.NotSupported(msg="The task cannot be canceled.")


def _keep(call: Call, kind: Any, spec: Value, items: Callable[[], list[Value]]) -> Ref:
    items()  # refuses a bad filter now
    history = History(call.session.new_ref(kind), spec, items)
    call.session.objects[typetable.moid(history.ref)] = history
    return history.ref


def _history(call: Call, this: Ref) -> History:
    found = call.require(this)
    if not isinstance(found, History):
        raise vmodl.fault.ManagedObjectNotFound(obj=this, msg="There is no such collector.")
    return found


def _tasks(call: Call, spec: Any) -> list[Value]:
    states, activations, chains = list(spec.state), list(spec.activationId), list(spec.eventChainId)
    inside = _inside(call, spec.entity)
    fits: list[Fits] = [
        lambda info: inside is None or (info.entity is not None and typetable.moid(info.entity) in inside),
        _time(spec.time, _task_time),
        _user(spec.userName, lambda info: getattr(info.reason, "userName", None)),
        lambda info: not states or info.state in states,
        lambda info: not activations or info.activationId in activations,
        lambda info: not chains or info.eventChainId in chains,
    ]
    return [info for info in call.live.task_infos() if all(f(info) for f in fits)]


def _events(call: Call, spec: Any) -> list[Value]:
    known = (
        "entity",
        "time",
        "userName",
        "eventTypeId",
        "maxCount",
        "disableFullMessage",
        "type",
        "delayedInit",
    )
    refuse_others(spec, known, "filter")
    kinds, ids = tuple(spec.type), set(spec.eventTypeId)
    inside = _inside(call, spec.entity)
    fits: list[Fits] = [
        lambda event: inside is None or not inside.isdisjoint(_places(event)),
        _time(spec.time, lambda event: event.createdTime),
        _user(spec.userName, lambda event: event.userName or None),
        lambda event: not kinds or isinstance(event, kinds),
        lambda event: not ids or _type_id(event) in ids,
    ]
    return [event for event in call.live.events() if all(f(event) for f in fits)]


def _places(event: Any) -> list[str]:
    """List the ids of the objects that an event is about."""
    about = getattr(event, "entity", None)
    refs = (event.vm and event.vm.vm, event.host and event.host.host, about and about.entity)
    return [typetable.moid(ref) for ref in refs if ref is not None]


def _type_id(event: Any) -> str:
    """Return the id of an event's type: ``vim.event.VmPoweredOnEvent``, or what an EventEx says."""
    told = getattr(event, "eventTypeId", None)
    return str(told) if told else f"vim.event.{typetable.wire_name(type(event))}"


def _task_time(info: Any, kind: str) -> datetime | None:
    members = {"queuedTime": "queueTime", "startedTime": "startTime", "completedTime": "completeTime"}
    moment: datetime | None = getattr(info, members[kind])
    return moment


def _inside(call: Call, wanted: Any) -> frozenset[str] | None:
    """Return the ids of the objects that a filter's entity covers; None = all."""
    entity, how = (None, None) if wanted is None else (wanted.entity, wanted.recursion)
    if entity is None or (entity == call.vcenter.content.rootFolder and how == "all"):
        return None
    store = call.vcenter.store
    below = [] if how == "self" else contained(store, entity, (), recursive=how == "all")
    own = [] if how == "children" else [entity]
    return frozenset(typetable.moid(ref) for ref in (*own, *below))


def _time(wanted: Any, moment_of: Callable[..., datetime | None]) -> Fits:
    if wanted is None:
        return lambda _item: True
    begin, end = (_with_zone(moment) for moment in (wanted.beginTime, wanted.endTime))
    kind = getattr(wanted, "timeType", None)

    def fits(item: Any) -> bool:
        moment = moment_of(item) if kind is None else moment_of(item, str(kind))
        if moment is None:
            return False
        return (begin is None or moment >= begin) and (end is None or moment <= end)

    return fits


def _with_zone(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _user(wanted: Any, user_of: Callable[[Any], str | None]) -> Fits:
    if wanted is None:
        return lambda _item: True
    if wanted.systemUser is None and not wanted.userList:
        raise not_supported("a filter by user that names nobody")
    names = set(wanted.userList)

    def fits(item: Any) -> bool:
        user = user_of(item)
        return (user is None and bool(wanted.systemUser)) or user in names

    return fits
