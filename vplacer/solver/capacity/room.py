"""How many more VMs of each kind fit now: each kind alone, beside all that runs, moving nothing.

A host's number is exact (`host_fill`); hosts that are alike share it. The sum over hosts is the answer
unless a resource pool, HA admission control or headroom limits sums over hosts (`sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import AffinityMode
from vplacer.solver.alike import Memo
from vplacer.solver.barred import rejected
from vplacer.solver.capacity.first import First, place_first
from vplacer.solver.capacity.host_fill import Fill, most_on_host, room_bound
from vplacer.solver.capacity.kinds_asked import asked_kinds, rules_of
from vplacer.solver.capacity.model import AskedKind, Capacity, HostRoom, KindRoom
from vplacer.solver.capacity.stops import Stops
from vplacer.solver.capacity.sums import SUMS, Shared, evidence_of, split, sums_of
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import Rejection
from vplacer.solver.host_state import HostState, untouched_state
from vplacer.solver.instance import stub_of
from vplacer.solver.lister import no_options
from vplacer.solver.listing import listing_of
from vplacer.solver.option import Option, Takers
from vplacer.solver.residual import residual_state
from vplacer.solver.verdict import HostReason, StoppedBy

Stop = Callable[[], StoppedBy | None]

NOT_LOOKED = Rejection("not-looked-at", "the search was stopped before this host")
_LEFT_OUT = Rejection("others", "it fits here by itself, and not together with what is placed elsewhere")


@dataclass
class Site:
    """A site as it runs: the state of every host, computed once for all kinds.

    ``problem``: its request asks for what has been placed before anything is counted, and nothing else;
    ``first``: that.
    """

    problem: Problem
    first: First = field(default_factory=First)
    seed: int = 1
    memo: Memo = field(default_factory=Memo)

    def __post_init__(self) -> None:
        self.hosts = tuple(
            host for host in self.problem.inventory.hosts if host.moid in self.problem.topologies
        )
        self.states = {host.moid: untouched_state(self.problem, host.moid) for host in self.hosts}
        stub = stub_of(self.problem)
        self.placed: dict[str, set[str]] = {}
        for placement in self.first.placements:
            state = self.states[placement.host]
            self.states[placement.host] = residual_state(stub, state, (placement,))
            self.placed.setdefault(placement.host, set()).add(placement.demand)


def capacity(
    problem: Problem, *, first: tuple[str, ...] = (), seed: int = 1, stop: Stop = lambda: None
) -> Capacity:
    """Return how many more VMs of each kind of a problem's request fit.

    Args:
        problem: inventory, topologies and resolved request.
        first: ids of demands that run as well, and need a place before anything is counted; no kinds.
        seed: seed of the searches.
        stop: asked now and then; a reason ends the search, and what was not looked at counts as no
            room in the numbers and as all its cores and memory in the bounds.
    """
    request = problem.request
    moved = place_first(problem, first, seed=seed, should_stop=lambda: stop() is not None)
    running = tuple(demand for demand in request.demands if demand.id in first)
    site = Site(problem.with_request(replace(request, demands=running)), moved, seed)
    asked = tuple(demand for demand in request.demands if demand.id not in first)
    kinds = asked_kinds(replace(request, demands=asked))
    rooms = tuple(_Kind(site, problem, kind, stop).room() for kind in kinds)
    stopped = any(room.binding == NOT_LOOKED.constraint or not room.proved for room in rooms)
    why = stop() or StoppedBy.WORK if stopped else None
    return Capacity(rooms, len(site.hosts), why, _notes(moved, problem))


def _notes(moved: First, problem: Problem) -> tuple[str, ...]:
    """Say where VMs were put that lost their host, and which have no place."""
    names, hosts = problem.demand_by_id, problem.inventory.host_by_moid
    put = [f"{names[p.demand].name} on {hosts[p.host].name}" for p in moved.placements]
    notes = [f"placed first, and counted beside: {', '.join(put)}"] if put else []
    notes += [f"without a place, and not counted: {names[vm].name}" for vm in moved.homeless]
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Filled:
    """What was found out of one host."""

    fill: Fill
    options: tuple[Option, ...]
    why: Rejection | None


class _Kind:
    """The search for one kind."""

    def __init__(self, site: Site, problem: Problem, kind: AskedKind, stop: Stop) -> None:
        self.site, self.kind, self.stop = site, kind, stop
        self.demand = kind.demand
        self.problem = with_more(problem, kind, (self.demand.id,))
        self.cls = DemandClass(0, (self.demand.id,), self.demand)
        mode = self.demand.mode if self.demand.has_devices else None
        self.takers = Takers(static=mode is AffinityMode.PIN, label=mode is AffinityMode.LABEL)
        self.filled: dict[object, _Filled] = {}

    def room(self) -> KindRoom:
        """Return the kind's room on all hosts."""
        found = {host.moid: self._on(host) for host in self.site.hosts}
        shared, bound = self._shared(found)
        if shared is not None:
            found = {moid: self._less(moid, filled, shared) for moid, filled in found.items()}
        value = sum(filled.fill.value for filled in found.values())
        ids = tuple(f"{self.demand.id} {number}" for number in range(1, value + 1))
        problem = with_more(self.problem, self.kind, ids)
        stops = Stops(problem, replace(self.cls, members=ids), self.site.memo)
        by_host = tuple(_of_host(moid, filled, stops, self.site) for moid, filled in found.items())
        reasons = _reasons(by_host)
        return KindRoom(self.kind, value, bound, _binding(by_host, reasons), reasons, by_host)

    def _on(self, host: Host) -> _Filled:
        """Look at one host; hosts that are alike share what was found."""
        rejection = rejected(self.problem, self.cls, host)
        if rejection is not None:
            return _Filled(Fill(0, 0), (), rejection)
        state, limit = self.site.states[host.moid], self._limit(host.moid)
        key = (self.site.memo.state(state), limit)
        if key not in self.filled:
            self.filled[key] = self._fill(state, limit)
        return self.filled[key]

    def _limit(self, moid: str) -> tuple[int, str] | None:
        """How many more the rules that keep VMs apart allow on a host, and which rule; None = any number."""
        here = {vm.moid for vm in self.problem.inventory.vms_by_host.get(moid, ())}
        here |= self.site.placed.get(moid, set())
        limits = [
            (max(0, rule.at_most - len(here.intersection(rule.vms))), rule.name)
            for rule in self.problem.request.rules.apart
        ]
        return min(limits, default=None)

    def _fill(self, state: HostState, limit: tuple[int, str] | None) -> _Filled:
        request = self.problem.request.options
        most = room_bound(self.demand, state, request)
        if limit is not None:
            most = min(most, limit[0])
        if self.stop() is not None:
            return _Filled(Fill(0, most), (), NOT_LOOKED)
        listed = listing_of(self.problem).options(self.problem, self.demand, state, self.takers)
        if not listed.options:
            return _Filled(Fill(0, 0), (), no_options(self.problem, state.host, listed))
        at_most = None if limit is None else limit[0]
        fill = most_on_host(self.demand, state, listed.options, request, at_most=at_most, seed=self.site.seed)
        if not listed.complete:
            fill = replace(fill, bound=most)
        why = None
        if limit is not None and fill.value >= limit[0]:
            why = Rejection("apart", f"rule '{limit[1]}' allows no more on this host")
        return _Filled(fill, listed.options, why)

    def _shared(self, found: Mapping[str, _Filled]) -> tuple[Shared | None, int]:
        """Return the best split where sums over hosts are limited, None where not, and the bound."""
        most = {moid: filled.fill.value for moid, filled in found.items()}
        highest = {moid: filled.fill.bound for moid, filled in found.items()}
        whole = sum(highest.values())
        hosts = tuple(moid for moid, count in highest.items() if count)
        members = tuple(f"{self.demand.id} {number}" for number in range(max(1, whole)))
        rows = sums_of(self.site.problem, replace(self.cls, members=members), hosts, self.site.first)
        if not rows.rows:
            return None, whole
        shared = split(rows, 0, most, self.site.seed)
        bound = shared.bound if most == highest else split(rows, 0, highest, self.site.seed).bound
        return shared, bound

    def _less(self, moid: str, filled: _Filled, shared: Shared) -> _Filled:
        """Fill a host with no more than sums over hosts leave it."""
        count = shared.counts.get(moid, 0)
        if count >= filled.fill.value:
            return filled
        fill = Fill(0, 0)
        if count:
            state, request = self.site.states[moid], self.problem.request.options
            fill = most_on_host(
                self.demand, state, filled.options, request, at_most=count, seed=self.site.seed
            )
        row = shared.full.get(moid)
        why = _LEFT_OUT if row is None else Rejection(*evidence_of(row, self.problem))
        return _Filled(fill, filled.options, why)


def with_more(problem: Problem, kind: AskedKind, ids: tuple[str, ...]) -> Problem:
    """Return a problem whose request asks for VMs of one kind and nothing else."""
    demands = tuple(replace(kind.demand, id=identity, name=identity) for identity in ids)
    rules = rules_of(problem.request, kind, ids)
    return problem.with_request(replace(problem.request, demands=demands, rules=rules))


def _of_host(moid: str, filled: _Filled, stops: Stops, site: Site) -> HostRoom:
    why = filled.why
    if why is None:
        why = stops.why(site.states[moid], filled.options, filled.fill)
    return HostRoom(moid, filled.fill.value, filled.fill.bound, why.constraint, why.evidence)


def _reasons(by_host: Iterable[HostRoom]) -> tuple[HostReason, ...]:
    """Put hosts together by what stops one more there, the most frequent first."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for room in by_host:
        groups.setdefault(room.constraint, []).append((room.host, room.evidence))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(HostReason(constraint, tuple(hosts)) for constraint, hosts in ordered)


def _binding(by_host: Iterable[HostRoom], reasons: tuple[HostReason, ...]) -> str | None:
    """Name what runs out: a limited sum over hosts, else the most frequent stop of the hosts that take some.

    Where no host takes any, the most frequent stop of all.
    """
    limited = _reasons(room for room in by_host if room.constraint in SUMS)
    taking = _reasons(room for room in by_host if room.value)
    first = limited or taking or reasons
    return first[0].constraint if first else None
