"""The vCenter as an apply sees it: fresh facts of VMs, patience with a connection that breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from vplacer.apply.clock import Clock
from vplacer.apply.options import Timing
from vplacer.apply.steps import switches_off
from vplacer.errors import AnswerLost, ConnectionFailed, SessionLost, VplacerError
from vplacer.inventory.host import Host
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.plan.changes import OverrideDrs
from vplacer.plan.model import Fact, Step
from vplacer.plan.observed import vm_facts
from vplacer.port import Port, SeenTask, Task, TaskResult

T = TypeVar("T")

LOST = (AnswerLost, ConnectionFailed, SessionLost)
"""Errors of the way to the vCenter, not of what was asked."""


class Unreachable(Exception):
    """The vCenter could not be reached again within the tries allowed. ``cause``: the last error."""

    def __init__(self, cause: VplacerError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Look:
    """Objects as they are now: their fields, and the VM of the step; None = it does not exist."""

    facts: dict[str, dict[str, Fact]]
    vm: Vm | None


class World:
    """Reads through a port. ``made``: ids of VMs that the plan made, by the ids they have in it.

    Reading changes nothing, so it is tried again when the connection breaks; writing never is, here.
    """

    def __init__(
        self,
        port: Port,
        clock: Clock,
        timing: Timing,
        warn: Callable[[str, str], None],
    ) -> None:
        self.port = port
        self.clock = clock
        self.timing = timing
        self.made: dict[str, str] = {}
        self._warn = warn

    def moid(self, vm: str) -> str | None:
        """Return the managed object id of a VM of the plan; None = it is not made yet."""
        return self.made.get(vm) if vm.startswith("new:") else vm

    def inventory(self) -> Inventory:
        """Read everything."""
        return self.patiently(self.port.read)

    def server_time(self) -> datetime:
        """Return the server's clock."""
        return self.patiently(self.port.server_time)

    def vms(self, vms: Iterable[str]) -> dict[str, Vm]:
        """Read VMs of the plan, by the ids they have in it; those that do not exist are missing."""
        moids = {vm: moid for vm in vms if (moid := self.moid(vm)) is not None}
        if not moids:
            return {}
        wanted = tuple(moids.values())
        part = self.patiently(lambda: self.port.read_part(vms=wanted))
        found = {vm.moid: vm for vm in part.vms}
        return {vm: found[moid] for vm, moid in moids.items() if moid in found}

    def hosts(self, hosts: Iterable[str]) -> tuple[Host, ...]:
        """Read hosts."""
        wanted = tuple(hosts)
        return self.patiently(lambda: self.port.read_part(hosts=wanted)).hosts

    def look(self, step: Step) -> Look:
        """Read all objects that a step is about, by their ids in the plan.

        An object that does not exist has the one field ``exists``.
        """
        names = {step.vm, *(fact.object for fact in (*step.preconditions, *step.checks))}
        found = self.vms(names)
        facts: dict[str, dict[str, Fact]] = {}
        for name in names:
            vm = found.get(name)
            facts[name] = {"exists": False} if vm is None else {"exists": True, **vm_facts(vm)}
        if isinstance(step.change, OverrideDrs) and step.vm in found:
            facts[step.vm]["drs_override"] = self._drs_level(step.change.cluster, found[step.vm].moid)
        return Look(facts, found.get(step.vm))

    def without_tools(self, steps: Iterable[Step]) -> frozenset[str]:
        """Return the VMs that steps switch off and whose guest cannot be asked to shut down."""
        vms = tuple(dict.fromkeys(step.vm for step in steps if switches_off(step.change)))
        return self.patiently(lambda: self.port.guests_without_tools(vms)) if vms else frozenset()

    def wait(self, tasks: Iterable[Task], timeout_s: float) -> tuple[TaskResult, ...]:
        """Wait until at least one task ends; empty = the time is up."""
        wanted = tuple(tasks)
        return self.patiently(lambda: self.port.wait(wanted, timeout_s))

    def own_tasks(self, object_: str, since: datetime) -> list[SeenTask]:
        """Return the tasks that this account has started at an object, the oldest first."""
        # A second of grace: servers write times in different precision.
        start = since - timedelta(seconds=1)
        seen = self.patiently(lambda: self.port.tasks_since(object_, start))
        return [item for item in seen if item.user == self.port.user]

    def _drs_level(self, cluster: str, moid: str) -> str | None:
        part = self.patiently(lambda: self.port.read_part(clusters=(cluster,)))
        return next((dict(item.drs_overrides).get(moid) for item in part.clusters), None)

    def patiently(self, ask: Callable[[], T]) -> T:
        """Ask something that changes nothing, again and again while the connection is broken."""
        delay = self.timing.reconnect_s
        for attempt in range(self.timing.reconnect_attempts + 1):
            try:
                return ask()
            except LOST as error:
                if attempt == self.timing.reconnect_attempts:
                    raise Unreachable(error) from error
                self._warn("connection", f"{error.what}; trying again in {delay:g} s")
                self.clock.sleep(delay)
                delay *= 2
        raise AssertionError("not reached")
