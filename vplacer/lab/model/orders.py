"""Orders to fail: what goes wrong, at which call.

Calls are named by `Call`. An order counts the calls that fit it, of its kind and VM, and acts at the
``nth``; ``times`` 1 = once, None = at every one from there on. Task orders are the machine's own affair;
connection orders are asked for by whoever stands between it and a client: the port in process, the
server over SOAP.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias, get_args

from vplacer.inventory.vm import Backing
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.faults import LabFault


class Call(StrEnum):
    """Calls of a client, as the port names them; power is told by direction."""

    READ = "read"
    READ_PART = "read_part"
    MEASURE = "measure"
    SERVER_TIME = "server_time"
    CHECK = "check"
    CLONE = "clone"
    DELETE = "delete"
    RECONFIGURE = "reconfigure"
    UPGRADE = "upgrade"
    RELOCATE = "relocate"
    POWER_ON = "power_on"
    POWER_OFF = "power_off"
    SUSPEND = "suspend"
    SHUT_DOWN = "shut_down"
    EDIT_CLUSTER = "edit_cluster"
    SET_PASSTHROUGH = "set_passthrough"
    LOG_EVENT = "log_event"
    WAIT = "wait"
    TASKS_SINCE = "tasks_since"


READING: Final = frozenset(
    {
        Call.READ,
        Call.READ_PART,
        Call.MEASURE,
        Call.SERVER_TIME,
        Call.CHECK,
        Call.WAIT,
        Call.TASKS_SINCE,
    }
)
"""Calls that change nothing."""


@dataclass(frozen=True, slots=True)
class When:
    """Which calls are meant. None = any. ``nth``: counted from 1, of those that fit.

    ``times``: how many from there on, None = all.
    """

    call: Call | None = None
    vm: str | None = None
    nth: int = 1
    times: int | None = 1


@dataclass(frozen=True, slots=True)
class FailTask:
    """The task ends with a fault and has changed nothing."""

    when: When
    fault: str = "SystemError"
    message: str = "A general system error occurred."


@dataclass(frozen=True, slots=True)
class FailCall:
    """The call itself is refused; no task is started."""

    when: When
    fault: str = "SystemError"
    message: str = "A general system error occurred."


@dataclass(frozen=True, slots=True)
class StallTask:
    """The task takes so much longer; None = it does not end until `Machine.release`."""

    when: When
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class DropConnection:
    """The connection breaks at the call. ``carried_out``: after the server had taken the call.

    ``down_s``: so long no new one can be made.
    """

    when: When
    carried_out: bool
    down_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ExpireSession:
    """The session has ended when the call comes. ``renewable``: a new login works."""

    when: When
    renewable: bool = True


@dataclass(frozen=True, slots=True)
class ChangeVm:
    """Before the call is carried out, another client has changed a VM; None = the VM of the call."""

    when: When
    edit: VmEdit
    vm: str | None = None


@dataclass(frozen=True, slots=True)
class StartVm:
    """Before the call is carried out, another client has started a VM: it may take the card."""

    when: When
    vm: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class TakeDevices:
    """Before the call is carried out, another client has started VMs with the devices of a VM.

    ``vm`` None = that of the call; ``host`` None = where that VM is. ``most``: how many VMs, None = until
    no more find their cards. ``backings``: the devices instead of those that the VM has.
    """

    when: When
    vm: str | None = None
    host: str | None = None
    most: int | None = None
    backings: tuple[Backing, ...] | None = None


@dataclass(frozen=True, slots=True)
class StopVm:
    """Before the call is carried out, another client has switched a VM off; None = that of the call."""

    when: When
    vm: str | None = None


@dataclass(frozen=True, slots=True)
class LoseHost:
    """Before the call is carried out, a host has lost its connection; None = that of the call's VM."""

    when: When
    host: str | None = None


@dataclass(frozen=True, slots=True)
class StartMaintenance:
    """Before the call is carried out, a host went into maintenance mode, whatever runs there."""

    when: When
    host: str | None = None


Happening: TypeAlias = ChangeVm | StartVm | TakeDevices | StopVm | LoseHost | StartMaintenance
TaskOrder: TypeAlias = FailTask | FailCall | StallTask
ConnectionOrder: TypeAlias = DropConnection | ExpireSession
Order: TypeAlias = Happening | TaskOrder | ConnectionOrder

_CONNECTION = (DropConnection, ExpireSession)


@dataclass(slots=True)
class _Counted:
    order: Order
    seen: int = 0

    def acts(self, call: Call, vm: str | None) -> bool:
        when = self.order.when
        if (when.call is not None and when.call is not call) or (when.vm is not None and when.vm != vm):
            return False
        self.seen += 1
        return self.seen >= when.nth and (when.times is None or self.seen < when.nth + when.times)


class Orders:
    """What is to go wrong. `add` at any time; each kind of order counts its own calls."""

    def __init__(self, orders: tuple[Order, ...] = ()) -> None:
        self._items = [_Counted(order) for order in orders]

    def add(self, order: Order) -> None:
        """Add an order; it counts calls from now on."""
        self._items.append(_Counted(order))

    def clear(self) -> None:
        """Forget all orders."""
        self._items.clear()

    def connection(self, call: Call, vm: str | None) -> ConnectionOrder | None:
        """Return what happens to the connection at a call, to be asked once a call."""
        found = self._acting(call, vm, _CONNECTION)
        return next((o for o in found if isinstance(o, DropConnection | ExpireSession)), None)

    def happenings(self, call: Call, vm: str | None) -> tuple[Happening, ...]:
        """Return what others do before a call is carried out."""
        kinds = ChangeVm | StartVm | TakeDevices | StopVm | LoseHost | StartMaintenance
        found = self._acting(call, vm, get_args(kinds))
        return tuple(order for order in found if isinstance(order, kinds))

    def refusal(self, call: Call, vm: str | None) -> LabFault | None:
        """Return the fault with which a call is refused."""
        order = next(iter(self._acting(call, vm, (FailCall,))), None)
        return LabFault(order.fault, order.message) if isinstance(order, FailCall) else None

    def failure(self, call: Call, vm: str | None) -> LabFault | None:
        """Return the fault with which a call's task ends."""
        order = next(iter(self._acting(call, vm, (FailTask,))), None)
        return LabFault(order.fault, order.message) if isinstance(order, FailTask) else None

    def stall(self, call: Call, vm: str | None) -> StallTask | None:
        """Return how a call's task is held up."""
        order = next(iter(self._acting(call, vm, (StallTask,))), None)
        return order if isinstance(order, StallTask) else None

    def _acting(self, call: Call, vm: str | None, kinds: tuple[type, ...]) -> list[Order]:
        mine = [item for item in self._items if isinstance(item.order, kinds)]
        return [item.order for item in mine if item.acts(call, vm)]
