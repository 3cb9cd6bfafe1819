"""VMs placed one after the other on the hosts that are left: where all find a place, that is the proof."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from vplacer.constraints.state import Placement, Problem
from vplacer.inventory.host import Host
from vplacer.solver.alike import Memo
from vplacer.solver.barred import rejected
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import Rejection
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.instance import Instance, stub_of
from vplacer.solver.listing import listing_of
from vplacer.solver.loss.restarts import Restart
from vplacer.solver.option import Option
from vplacer.solver.residual import Shortage, residual_state, seat
from vplacer.solver.witness import witness


@dataclass
class Ground:
    """The site that losses happen to, with what was found out of VMs and hosts; shared by all trials.

    ``problem``: its request asks for a place for every VM that runs and may have to be restarted, and for
    the VMs of the request that do not run. ``waiting``: moids of those that exist already. ``tied``: ids of
    demands that must be placed with others (gangs, together): never one by one. ``states``: every host as
    it runs. ``cut``: some list of ways to sit was cut, so that "it does not fit" proves nothing.
    """

    problem: Problem
    waiting: frozenset[str] = frozenset()
    tied: frozenset[str] = frozenset()
    memo: Memo = field(default_factory=Memo)
    cut: bool = field(default=False, init=False)
    _seated: dict[tuple[int, int], Option | None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        inventory = self.problem.inventory
        self.hosts = tuple(host for host in inventory.hosts if host.moid in self.problem.topologies)
        self.states = {host.moid: self._state(host) for host in self.hosts}
        self.apart = tuple(rule for rule in self.problem.request.rules.apart if rule.required)

    def _state(self, host: Host) -> HostState:
        standing = tuple(
            vm
            for vm in self.problem.inventory.vms_by_host.get(host.moid, ())
            if not vm.template and vm.moid not in self.waiting
        )
        return build_host_state(self.problem, host, standing, ())

    def rejection(self, restart: Restart, host: Host) -> Rejection | None:
        """Return the filter that keeps a VM off a host."""
        demand = restart.demand
        return rejected(self.problem, DemandClass(0, (demand.id,), demand), host)

    def seated(self, restart: Restart, state: HostState) -> Option | None:
        """Return how a VM sits on a host in a state, None where it does not; equal states share it."""
        key = (self.memo.demand(restart.demand), self.memo.state(state))
        if key not in self._seated:
            listed = listing_of(self.problem).options(self.problem, restart.demand, state)
            self.cut = self.cut or not listed.complete
            options = listed.options
            found = seat(restart.demand, options, state, self.stub) if options else None
            self._seated[key] = None if isinstance(found, Shortage) else found
        return self._seated[key]

    @cached_property
    def stub(self) -> Instance:
        """An instance of nothing but the problem, for whoever only asks it for that."""
        return stub_of(self.problem)


class Trial:
    """Some VMs placed on the hosts that are left."""

    def __init__(self, ground: Ground, states: Mapping[str, HostState], lost: Collection[str] = ()) -> None:
        self.ground = ground
        self.states = dict(states)
        self.lost = frozenset(lost)
        self.placed: dict[str, Placement] = {}
        self._here: dict[str, set[str]] = {}

    def place_all(self, restarts: Iterable[Restart]) -> list[Restart]:
        """Place the largest first, each on the fullest host that takes it; return those without a place."""
        return [restart for restart in sorted(restarts, key=_size) if not self.place(restart)]

    def place(self, restart: Restart) -> bool:
        """Place one VM; False = no host takes it beside the others."""
        if restart.demand.id in self.ground.tied:
            return False
        found = self._seat(restart)
        if found is None:
            return False
        self._take(restart, *found)
        return True

    def fits(self, restart: Restart) -> bool:
        """Whether some host takes a VM beside those placed."""
        return self._seat(restart) is not None

    def _seat(self, restart: Restart) -> tuple[Option, HostState] | None:
        """Return how a VM sits on the fullest host that takes it."""
        clusters = restart.demand.clusters
        candidates = [
            host
            for host in self.ground.hosts
            if host.moid not in self.lost and (not clusters or host.cluster in clusters)
        ]
        for host in sorted(candidates, key=lambda host: self._order(restart, host)):
            if self.ground.rejection(restart, host) is not None or not self._apart(restart, host):
                continue
            state = self.states[host.moid]
            option = self.ground.seated(restart, state)
            if option is not None:
                return option, state
        return None

    def _order(self, restart: Restart, host: Host) -> tuple[int, int]:
        state = self.states[host.moid]
        cards = 0 if restart.demand.has_devices else sum(cell.size for cell in state.cells)
        return (cards, state.total_room.memory_mib)

    def _apart(self, restart: Restart, host: Host) -> bool:
        for rule in self.ground.apart:
            if restart.demand.id in rule.vms:
                running = {vm.moid for vm in self.ground.problem.inventory.vms_by_host.get(host.moid, ())}
                here = (running | self._here.get(host.moid, set())) & set(rule.vms)
                if len(here - {restart.demand.id}) >= rule.at_most:
                    return False
        return True

    def _take(self, restart: Restart, option: Option, state: HostState) -> None:
        moid = state.host.moid
        placement = witness(restart.demand, option, state)
        self.placed[restart.demand.id] = placement
        self._here.setdefault(moid, set()).add(restart.demand.id)
        self.states[moid] = residual_state(self.ground.stub, state, (placement,))


def _size(restart: Restart) -> tuple[int, ...]:
    """Sort key: by priority, then what is hard to seat first."""
    demand = restart.demand
    cards = sum(ask.count for ask in demand.gpus)
    return (-demand.priority, -cards, -len(demand.nics), -demand.cpus, -demand.memory_mib)
