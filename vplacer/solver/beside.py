"""What else would fit beside an answer: one more VM tried on each host, and what stands in its way.

The hosts are looked at with everything the answer places taken as untouchable. What couples hosts
(rules, gangs, pools, admission control, headroom) is asked of the judge's own checks.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from vplacer.constraints.registry import checks
from vplacer.constraints.state import Placement, Problem, State, Violation
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand, Gang, ResolvedRequest
from vplacer.solver.alike import Memo
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import eligibility_of
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.instance import Instance, Rejection
from vplacer.solver.lister import no_options
from vplacer.solver.listing import listing_of
from vplacer.solver.option import Option
from vplacer.solver.residual import Shortage, residual_state, seat
from vplacer.solver.witness import witness

_SUMS = ("pool-memory", "ha-admission", "headroom", "change-limits")
"""Checks of sums over hosts."""


@dataclass
class Beside:
    """An answer, and trials beside it. States and answers are kept: trials are many.

    ``bases``: hosts as they would be, in place of what the instance says of them, the answer's placements
    aside. ``opened``: hosts whose filters are taken to let everything in. ``memo`` is shared by all trials.
    """

    instance: Instance
    placements: tuple[Placement, ...]
    bases: Mapping[str, HostState] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()
    memo: Memo = field(default_factory=Memo)
    _tasks: dict[str, HostTask] = field(init=False)
    _states: dict[tuple[str, str | None], HostState] = field(default_factory=dict, init=False)
    _sums: dict[tuple[Demand, str, bool], tuple[Violation, ...]] = field(default_factory=dict, init=False)
    _gangs: dict[tuple[int, Demand], Rejection | None] = field(default_factory=dict, init=False)
    _where: Mapping[str, str] = field(init=False)
    _answer: frozenset[Placement] = field(init=False)

    def __post_init__(self) -> None:
        self._answer = frozenset(self.placements)
        self._tasks = {task.state.host.moid: task for task in self.instance.tasks}
        homes = self.problem.derive_fact(_homes)
        self._where = ChainMap({placement.demand: placement.host for placement in self.placements}, homes)

    @cached_property
    def _here(self) -> dict[str, tuple[Placement, ...]]:
        """Placements by host."""
        found: dict[str, list[Placement]] = {}
        for placement in self.placements:
            found.setdefault(placement.host, []).append(placement)
        return {moid: tuple(placements) for moid, placements in found.items()}

    @property
    def problem(self) -> Problem:
        """The problem of the answer."""
        return self.instance.problem

    def with_request(self, request: ResolvedRequest) -> Beside:
        """Return the same answer under another request; what is placed asks for the same in both."""
        problem = self.problem.with_request(request)
        changed = replace(self.instance, problem=problem)
        return self._derived(Beside(changed, self.placements, self.bases, self.opened, self.memo))

    def with_demands(self, demands: Iterable[Demand]) -> Beside:
        """Return the answer with demands that have no place changed, or more of them."""
        new = {demand.id: demand for demand in demands}
        kept = tuple(new.pop(demand.id, demand) for demand in self.problem.request.demands)
        return self.with_request(replace(self.problem.request, demands=(*kept, *new.values())))

    def with_placement(self, placement: Placement) -> Beside:
        """Return the answer with one placement more."""
        placements = (*(p for p in self.placements if p.demand != placement.demand), placement)
        vm = self.problem.inventory.vm_by_moid.get(placement.demand)
        changed = Beside(self.instance, placements, self.bases, self.opened, self.memo)
        return self._derived(changed, placement.host, vm.host if vm is not None else None)

    def with_base(self, state: HostState) -> Beside:
        """Return the answer with a host that is otherwise than the instance says."""
        moid = state.host.moid
        changed = Beside(self.instance, self.placements, {**self.bases, moid: state}, self.opened, self.memo)
        return self._derived(changed, moid)

    def with_opened(self, moid: str) -> Beside:
        """Return the answer with a host that no filter rejects any more."""
        opened = self.opened | {moid}
        return self._derived(Beside(self.instance, self.placements, self.bases, opened, self.memo))

    def touched_hosts(self) -> tuple[str, ...]:
        """Return the hosts where a placement came, went or differs from the answer that trials began with."""
        return tuple(
            sorted({placement.host for placement in self._answer.symmetric_difference(self.placements)})
        )

    def _derived(self, other: Beside, *touched: str | None) -> Beside:
        """Hand on the states of hosts that are not touched."""
        other._answer = self._answer
        other._states.update((key, state) for key, state in self._states.items() if key[0] not in touched)
        return other

    def state(self, moid: str, without: str | None = None) -> HostState:
        """Return what the answer leaves of a host; ``without``: a VM that is about to leave its place."""
        here = self.problem.inventory.vms_by_host.get(moid, ())
        key = (moid, without if any(vm.moid == without for vm in here) else None)
        if key not in self._states:
            base = self.base(moid)
            # Where the plan may change VMs, those that go elsewhere matter too.
            placements = self.placements if base.actives else self._here.get(moid, ())
            taken = base.actives or placements
            self._states[key] = residual_state(self.instance, base, placements, key[1]) if taken else base
        return self._states[key]

    def base(self, moid: str) -> HostState:
        """Return a host as the VMs that the plan cannot touch leave it."""
        if moid in self.bases:
            return self.bases[moid]
        task = self._tasks.get(moid)
        return task.state if task is not None else self.emptied(moid, None)

    def emptied(self, moid: str, without: Vm | None) -> HostState:
        """Return a host without one of its VMs that the plan cannot touch."""
        key = (moid, without.moid if without is not None else None)
        if key not in self.memo.emptied:
            self.memo.emptied[key] = self._emptied(moid, without)
        return self.memo.emptied[key]

    def _emptied(self, moid: str, without: Vm | None) -> HostState:
        problem, task = self.problem, self._tasks.get(moid)
        actives = task.state.actives if task is not None else ()
        touched = {active.vm.moid for active in actives}
        standing = tuple(
            vm
            for vm in problem.inventory.vms_by_host.get(moid, ())
            if not vm.template and vm.moid not in touched and vm is not without
        )
        pairs = tuple((active.class_index, active.vm) for active in actives)
        return build_host_state(problem, problem.inventory.host_by_moid[moid], standing, pairs)

    def rebooted(self, moid: str) -> HostState | None:
        """Return a host with all passthrough active that waits for a reboot; None if VMs are placed there."""
        if any(not placement.stays for placement in self._here.get(moid, ())):
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
        """Return the first filter that rejects a host; hosts that no filter tells apart share the answer."""
        if moid in self.opened:
            return None
        return eligibility_of(self.problem).rejection(self.problem, demand, moid)

    def seated(self, demand: Demand, state: HostState) -> Option | Rejection:
        """Return an option of a demand that fits a host, or why none does; hosts that are alike share it."""
        key = (self.memo.demand(demand), self.memo.state(state))
        if key not in self.memo.seated:
            self.memo.seated[key] = self._seated(demand, state)
        return self.memo.seated[key]

    def _seated(self, demand: Demand, state: HostState) -> Option | Rejection:
        self.memo.spend()
        listed = listing_of(self.problem).options(self.problem, demand, state)
        if not listed.options:
            return no_options(self.problem, state.host, listed)
        found = seat(demand, listed.options, state, self.instance)
        return Rejection(found.constraint, found.evidence) if isinstance(found, Shortage) else found

    def tried(self, cls: DemandClass, demand: Demand, moid: str, gang: bool = True) -> Option | Rejection:
        """Return how a demand sits on a host beside the answer, or why it does not; filters aside.

        Args:
            cls: its class.
            demand: the demand, maybe changed.
            moid: the host.
            gang: whether the other members of its gang must find a place as well.
        """
        state = self.state(moid, cls.vm.moid if cls.vm is not None else None)
        option = self.seated(demand, state)
        if isinstance(option, Rejection):
            return option
        return (
            self._apart(demand, moid)
            or self._together(demand, moid)
            or (self._gang(cls, demand) if gang else None)
            or self._sum(demand, option, state)
            or option
        )

    def why_not(self, cls: DemandClass, demand: Demand, moid: str) -> Rejection | None:
        """Return why a demand has no place on a host beside the answer, filters aside; None = it has."""
        found = self.tried(cls, demand, moid)
        return found if isinstance(found, Rejection) else None

    def open_to(self, cls: DemandClass, demand: Demand, moid: str) -> bool:
        """Whether a demand may go to a host as far as the host alone decides."""
        held = cls.vm is not None and not demand.may_move and cls.home is not None and moid != cls.home
        return not held and self.filtered(demand, moid) is None

    def fits(self, cls: DemandClass, demand: Demand, moids: Iterable[str]) -> bool:
        """Return whether a demand has a place on one of some hosts."""
        passed = eligibility_of(self.problem).open_hosts(self.problem, demand) | self.opened
        return any(
            moid in passed and self.open_to(cls, demand, moid) and self.why_not(cls, demand, moid) is None
            for moid in moids
        )

    def placement(self, cls: DemandClass, demand: Demand, moid: str, gang: bool = True) -> Placement | None:
        """Return a placement of a demand on a host, None where it has none."""
        if not self.open_to(cls, demand, moid):
            return None
        option = self.tried(cls, demand, moid, gang)
        if isinstance(option, Rejection):
            return None
        return witness(demand, option, self.state(moid, cls.vm.moid if cls.vm is not None else None))

    def _apart(self, demand: Demand, moid: str) -> Rejection | None:
        for rule in self.problem.request.rules.apart:
            if not rule.required or demand.id not in rule.vms:
                continue
            there = [vm for vm in rule.vms if vm != demand.id and self._where.get(vm) == moid]
            if len(there) >= rule.at_most:
                told = f"rule '{rule.name}' allows {rule.at_most} a host, and has {self._names(there)} there"
                return Rejection("apart", told)
        return None

    def _together(self, demand: Demand, moid: str) -> Rejection | None:
        for rule in self.problem.request.rules.together:
            if not rule.required or demand.id not in rule.vms:
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
        key = (cls.index, demand)
        if key not in self._gangs:
            self._gangs[key] = self._gang_short(cls, demand)
        return self._gangs[key]

    def _gang_short(self, cls: DemandClass, demand: Demand) -> Rejection | None:
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

    def fabrics(self, name: str) -> list[frozenset[str]]:
        """Return the sets of hosts on one of which a gang must find its places."""
        gang = next(item for item in self.problem.request.rules.gangs if item.name == name)
        return _fabrics(gang, self.problem)

    def _hosts_for(self, cls: DemandClass, demand: Demand) -> frozenset[str]:
        """Hosts that take a member of a gang, gangs and sums not looked at."""
        found = set()
        for moid in self.problem.topologies:
            if cls.vm is not None and not demand.may_move and moid != cls.home:
                continue
            if self.filtered(demand, moid) is not None or self._apart(demand, moid) is not None:
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
        """Ask the judge's checks of sums; hosts of one cluster have one answer, but for the VM's own."""
        vm = self.problem.inventory.vm_by_moid.get(demand.vm or "")
        at_home = vm is not None and vm.host == state.host.moid
        key = (demand, state.host.cluster or state.host.moid, at_home)
        if key not in self._sums:
            placement = witness(demand, option, state)
            problem = self.problem
            if problem.demand_by_id.get(demand.id) is not demand:
                others = tuple(other for other in problem.request.demands if other.id != demand.id)
                problem = problem.with_request(replace(problem.request, demands=(*others, demand)))
            placed = tuple(p for p in self.placements if p.demand != demand.id)
            whole = State(problem, (*placed, placement))
            self._sums[key] = tuple(v for item in checks() if item.id in _SUMS for v in item.check(whole))
        return self._sums[key]

    def _names(self, vms: Iterable[str]) -> str:
        inventory, demands = self.problem.inventory, self.problem.demand_by_id
        return ", ".join(
            demands[vm].name if vm in demands else inventory.vm_by_moid[vm].name for vm in sorted(vms)
        )


def _homes(problem: Problem) -> dict[str, str]:
    """Return the host each VM is on today, by moid."""
    return {vm.moid: vm.host for vm in problem.inventory.vms if vm.host is not None and not vm.template}


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
