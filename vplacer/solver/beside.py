"""What else would fit beside an answer: one more VM tried on each host, and what stands in its way.

The hosts are looked at with everything the answer places taken as untouchable. What couples hosts
(rules, gangs, pools, admission control, headroom) is asked of the judge's own checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from vplacer.constraints.labels import portable_labels, scope_of
from vplacer.constraints.registry import checks, filters
from vplacer.constraints.state import DeviceAssignment, Placement, Problem, State, Violation
from vplacer.request.demand import Demand, Gang
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.instance import Instance, Rejection, no_options
from vplacer.solver.option import Option
from vplacer.solver.options import list_options
from vplacer.solver.residual import Shortage, residual_state, seat

_SUMS = ("pool-memory", "ha-admission", "headroom")
"""Checks of sums over hosts."""


@dataclass
class Beside:
    """An answer, and trials beside it. States and limits are kept: trials are many."""

    instance: Instance
    placements: tuple[Placement, ...]
    _tasks: dict[str, HostTask] = field(init=False)
    _states: dict[tuple[str, str | None], HostState] = field(default_factory=dict, init=False)
    _sums: dict[tuple[Demand, str], tuple[Violation, ...]] = field(default_factory=dict, init=False)
    _where: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._tasks = {task.state.host.moid: task for task in self.instance.tasks}
        inventory = self.problem.inventory
        self._where = {vm.moid: vm.host for vm in inventory.vms if vm.host is not None and not vm.template}
        self._where |= {placement.demand: placement.host for placement in self.placements}

    @property
    def problem(self) -> Problem:
        """The problem of the answer."""
        return self.instance.problem

    def state(self, moid: str, without: str | None = None) -> HostState:
        """Return what the answer leaves of a host; ``without``: a VM that is about to leave its place."""
        problem = self.problem
        here = problem.inventory.vms_by_host.get(moid, ())
        key = (moid, without if any(vm.moid == without for vm in here) else None)
        if key not in self._states:
            task = self._tasks.get(moid)
            if task is None:
                standing = tuple(vm for vm in here if not vm.template)
                host = problem.inventory.host_by_moid[moid]
                self._states[key] = build_host_state(problem, host, standing, ())
            else:
                self._states[key] = residual_state(self.instance, task, self.placements, key[1])
        return self._states[key]

    def rebooted(self, moid: str) -> HostState | None:
        """Return a host with all passthrough active that waits for a reboot; None if VMs are placed there."""
        if any(placement.host == moid and not placement.stays for placement in self.placements):
            return None
        host = self.problem.inventory.host_by_moid[moid]
        devices = tuple(
            replace(device, passthrough=replace(device.passthrough, active=True))
            if device.passthrough is not None and device.passthrough.enabled
            else device
            for device in host.pci_devices
        )
        here = self.problem.inventory.vms_by_host.get(moid, ())
        standing = tuple(vm for vm in here if not vm.template)
        return build_host_state(self.problem, replace(host, pci_devices=devices), standing, ())

    def filtered(self, demand: Demand, moid: str) -> Rejection | None:
        """Return the first filter that rejects a host."""
        host = self.problem.inventory.host_by_moid[moid]
        for item in filters():
            evidence = item.rejects(self.problem, demand, host)
            if evidence is not None:
                return Rejection(item.id, evidence)
        return None

    def seated(self, demand: Demand, state: HostState) -> Option | Rejection:
        """Return an option of a demand that fits a host, or why none does."""
        labels = portable_labels(self.problem, scope_of(state.host))
        listed = list_options(demand, state, labels)
        if not listed.options:
            return no_options(self.problem, state.host, listed)
        found = seat(demand, listed.options, state, self.instance)
        return Rejection(found.constraint, found.evidence) if isinstance(found, Shortage) else found

    def why_not(
        self,
        cls: DemandClass,
        demand: Demand,
        moid: str,
        without_rule: str | None = None,
        state: HostState | None = None,
    ) -> Rejection | None:
        """Return why a demand has no place on a host beside the answer, filters aside; None = it has.

        Args:
            cls: its class.
            demand: the demand, maybe changed.
            moid: the host.
            without_rule: a rule between VMs to leave out.
            state: the host as it would be, None = as the answer leaves it.
        """
        if state is None:
            state = self.state(moid, cls.vm.moid if cls.vm is not None else None)
        option = self.seated(demand, state)
        if isinstance(option, Rejection):
            return option
        return (
            self._apart(demand, moid, without_rule)
            or self._together(demand, moid, without_rule)
            or self._gang(cls, demand)
            or self._sum(demand, option, state)
        )

    def fits(self, cls: DemandClass, demand: Demand, moids: Iterable[str]) -> bool:
        """Return whether a demand has a place on one of some hosts."""
        for moid in moids:
            if cls.vm is not None and not demand.may_move and cls.home is not None and moid != cls.home:
                continue
            if self.filtered(demand, moid) is None and self.why_not(cls, demand, moid) is None:
                return True
        return False

    def _apart(self, demand: Demand, moid: str, without: str | None) -> Rejection | None:
        for rule in self.problem.request.rules.apart:
            if not rule.required or rule.name == without or demand.id not in rule.vms:
                continue
            there = [vm for vm in rule.vms if vm != demand.id and self._where.get(vm) == moid]
            if len(there) >= rule.at_most:
                told = f"rule '{rule.name}' allows {rule.at_most} a host, and has {self._names(there)} there"
                return Rejection("apart", told)
        return None

    def _together(self, demand: Demand, moid: str, without: str | None) -> Rejection | None:
        for rule in self.problem.request.rules.together:
            if not rule.required or rule.name == without or demand.id not in rule.vms:
                continue
            others = [vm for vm in rule.vms if vm != demand.id]
            elsewhere = [vm for vm in others if self._where.get(vm, moid) != moid]
            if elsewhere:
                return Rejection("together", f"rule '{rule.name}': {self._names(elsewhere)} on another host")
            if any(vm not in self._where for vm in others):
                told = f"rule '{rule.name}': no host takes all of {self._names(rule.vms)}"
                return Rejection("together", told)
        return None

    def _gang(self, cls: DemandClass, demand: Demand) -> Rejection | None:
        """Look for a host of its own for every member at once, on one fabric if that is asked."""
        gang = next((item for item in self.problem.request.rules.gangs if item.name == cls.gang), None)
        if gang is None:
            return None
        mine = [c for c in self.instance.classes if c.gang == gang.name]
        members = [c for c in mine for _ in c.members]
        open_to = {c.index: self._hosts_for(c, demand if c.index == cls.index else c.demand) for c in mine}
        most = 0
        for hosts in _fabrics(gang, self.problem):
            most = max(most, _matched([open_to[c.index] & hosts for c in members]))
        if most >= len(members):
            return None
        same = " on one fabric" if gang.fabric is not None else ""
        told = f"gang '{gang.name}': {most} of its {len(members)} members find a host each{same}"
        return Rejection("gang", told)

    def _hosts_for(self, cls: DemandClass, demand: Demand) -> frozenset[str]:
        """Hosts that take a member of a gang, gangs and sums not looked at."""
        found = set()
        for moid in self.problem.topologies:
            if cls.vm is not None and not demand.may_move and moid != cls.home:
                continue
            if self.filtered(demand, moid) is not None or self._apart(demand, moid, None) is not None:
                continue
            state = self.state(moid, cls.vm.moid if cls.vm is not None else None)
            if not isinstance(self.seated(demand, state), Rejection):
                found.add(moid)
        return frozenset(found)

    def sums_exceeded(self, cls: DemandClass, moid: str) -> tuple[Violation, ...]:
        """Return the sums over hosts that a class's demand would exceed on a host it fits."""
        state = self.state(moid, cls.vm.moid if cls.vm is not None else None)
        option = self.seated(cls.demand, state)
        return () if isinstance(option, Rejection) else self._exceeded(cls.demand, option, state)

    def _sum(self, demand: Demand, option: Option, state: HostState) -> Rejection | None:
        for violation in self._exceeded(demand, option, state):
            return Rejection(violation.constraint, violation.evidence)
        return None

    def _exceeded(self, demand: Demand, option: Option, state: HostState) -> tuple[Violation, ...]:
        """Ask the judge's checks of sums; hosts of one cluster have one answer."""
        key = (demand, state.host.cluster or state.host.moid)
        if key not in self._sums:
            placement = _witness(demand, option, state)
            others = tuple(other for other in self.problem.request.demands if other.id != demand.id)
            request = replace(self.problem.request, demands=(*others, demand))
            problem = Problem(self.problem.inventory, self.problem.topologies, request)
            placed = tuple(p for p in self.placements if p.demand != demand.id)
            whole = State(problem, (*placed, placement))
            self._sums[key] = tuple(v for item in checks() if item.id in _SUMS for v in item.check(whole))
        return self._sums[key]

    def _names(self, vms: Iterable[str]) -> str:
        inventory, demands = self.problem.inventory, self.problem.demand_by_id
        return ", ".join(
            demands[vm].name if vm in demands else inventory.vm_by_moid[vm].name for vm in sorted(vms)
        )


def _fabrics(gang: Gang, problem: Problem) -> list[frozenset[str]]:
    """Return the sets of hosts on one of which a gang must find its places."""
    if gang.fabric is None:
        return [frozenset(problem.topologies)]
    names = sorted({name for _, name in gang.fabric})
    return [frozenset(host for host, at in gang.fabric if at == name) for name in names]


def _matched(choices: list[frozenset[str]]) -> int:
    """How many can have a host of their own at once (augmenting paths)."""
    taken: dict[str, int] = {}

    def find(number: int, tried: set[str]) -> bool:
        for host in sorted(choices[number] - tried):
            tried.add(host)
            if host not in taken or find(taken[host], tried):
                taken[host] = number
                return True
        return False

    return sum(find(number, set()) for number in range(len(choices)))


def _witness(demand: Demand, option: Option, state: HostState) -> Placement:
    """Return a placement that takes as much as the option does; which cards does not matter."""
    devices = []
    for use in option.uses:
        if use.resource == "vgpu":
            cards = [cell.addresses[0] for cell in state.cells if cell.card.vgpu][:1] * use.count
        elif use.resource == "group":
            cards = [address for group in use.sets for address in group]
        else:
            cards = [
                (state.cells[cell].addresses * count)[at] for cell, count in use.cells for at in range(count)
            ]
        devices += [DeviceAssignment(use.ask, use.index, address, use.bound_by) for address in cards]
    return Placement(demand.id, state.host.moid, option.nodes, tuple(devices))
