"""Orders of the state machine about the connection, obeyed at the calls that come in.

The machine's own orders (fail or stall a task, what others do) need nothing here. Reading through the
PropertyCollector is no call that an order can name: harm it by `FaultRule`.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from pyVmomi import vim

from vplacer.lab.model.orders import Call, DropConnection, Orders
from vplacer.lab.soap.faults import FaultRule, Harm
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.envelope import Request

CALLS: Final[dict[str, Call]] = {
    "ReconfigVM_Task": Call.RECONFIGURE,
    "PowerOnVM_Task": Call.POWER_ON,
    "PowerOnMultiVM_Task": Call.POWER_ON,
    "PowerOffVM_Task": Call.POWER_OFF,
    "SuspendVM_Task": Call.SUSPEND,
    "ShutdownGuest": Call.SHUT_DOWN,
    "CloneVM_Task": Call.CLONE,
    "Destroy_Task": Call.DELETE,
    "RelocateVM_Task": Call.RELOCATE,
    "MigrateVM_Task": Call.RELOCATE,
    "UpgradeVM_Task": Call.UPGRADE,
    "ReconfigureComputeResource_Task": Call.EDIT_CLUSTER,
    "ReconfigureCluster_Task": Call.EDIT_CLUSTER,
    "UpdatePassthruConfig": Call.SET_PASSTHROUGH,
    "LogUserEvent": Call.LOG_EVENT,
    "CheckVmConfig_Task": Call.CHECK,
    "CheckPowerOn_Task": Call.CHECK,
    "WaitForUpdatesEx": Call.WAIT,
    "CreateCollectorForTasks": Call.TASKS_SINCE,
    "CurrentTime": Call.SERVER_TIME,
}
"""Methods by wire name, as orders name them."""


class ConnectionOrders:
    """Asks the orders at each call, and knows whether the server can be reached. Thread-safe."""

    def __init__(self, orders: Orders, speed: float = 1.0) -> None:
        self._orders = orders
        self._speed = speed
        self._lock = threading.Lock()
        self._down_until = 0.0
        self.locked = False
        """No login works any more."""

    @property
    def is_down(self) -> bool:
        """Whether the server answers nobody."""
        return time.monotonic() < self._down_until

    def next(self, request: Request) -> FaultRule | None:
        """Return what is to happen to a call, to be asked once a call."""
        call = CALLS.get(request.method)
        if call is None:
            return None
        with self._lock:
            order = self._orders.connection(call, _vm_of(request))
            if order is None:
                return None
            if isinstance(order, DropConnection):
                self._down_until = time.monotonic() + order.down_s / self._speed
                return FaultRule(Harm.DROP_AFTER if order.carried_out else Harm.DROP_BEFORE)
            self.locked = self.locked or not order.renewable
            return FaultRule(Harm.EXPIRE)


def _vm_of(request: Request) -> str | None:
    """Return the VM that a call is about."""
    for ref in (request.this, getattr(request.args, "vm", None), getattr(request.args, "entity", None)):
        if isinstance(ref, vim.VirtualMachine):
            return typetable.moid(ref)
    return None
