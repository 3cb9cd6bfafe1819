"""Which hosts the filters let a demand on, found once for hosts and demands that no filter tells apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace

from vplacer.constraints.filters import host_size
from vplacer.constraints.filters.vm_host_rule import rules_of_vm
from vplacer.constraints.host_families import family_of
from vplacer.constraints.loads import supply_of
from vplacer.constraints.registry import filters
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import Amount, demand_amount
from vplacer.constraints.unread import unread_on_host
from vplacer.request.demand import Demand, RequestOptions
from vplacer.solver.numbers import Numbers

_OWN = frozenset({"moid", "name", "uuid", "bindings", "tags", "options"})
"""What tells hosts apart and no filter looks at (of bindings: what `unread_on_host` says of them)."""

_FAMILY = frozenset({"pci_devices", "pnics", "numa_nodes"})
"""What filters look at as far as the family tells it."""

_AMOUNTS = frozenset({"memory_bytes", "system_memory_mib"})
"""What the one filter of sizes looks at, which is asked for each host where it may reject any."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a class has no place on a host, whatever else is placed: constraint id and evidence."""

    constraint: str
    evidence: str


class Eligibility:
    """Answers of the filters, kept by what they depend on: see `eligibility_of`."""

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._answers: dict[Hashable, Rejection | None] = {}
        self._fits_all: dict[tuple[int, int], bool] = {}
        self._open: dict[int, frozenset[str]] = {}

    def open_hosts(self, problem: Problem, demand: Demand) -> frozenset[str]:
        """Return the hosts that no filter rejects."""
        named = demand.vm is not None or demand.hosts or rules_of_vm(problem, demand.id)
        who = self.demand(demand)
        if named or who not in self._open:
            found = self._not_rejected(problem, demand)
            if named:
                return found
            self._open[who] = found
        return self._open[who]

    def _not_rejected(self, problem: Problem, demand: Demand) -> frozenset[str]:
        found: set[str] = set()
        for alike in problem.derive_fact(_alike, problem.request.options.evacuate):
            if self.same_for_all(problem, demand, alike[0]):
                if self.rejection(problem, demand, alike[0]) is None:
                    found.update(alike)
            else:
                found.update(moid for moid in alike if self.rejection(problem, demand, moid) is None)
        return frozenset(found)

    def rejection(self, problem: Problem, demand: Demand, moid: str) -> Rejection | None:
        """Return the first filter that rejects a host, or None."""
        who, where = self.demand(demand), self.host(problem, moid)
        key = (who, where, _particular(problem, demand, moid))
        if key not in self._answers:
            self._answers[key] = _first(problem, demand, moid)
        found = self._answers[key] or self._too_large(problem, demand, moid)
        if found is None and moid in problem.derive_fact(_dedicated):
            return Rejection("ha-admission", "the host is dedicated to HA failover")
        return found

    def demand(self, demand: Demand) -> int:
        """Number a demand as filters see it, hosts that are named for it aside."""
        return self._numbers.of(demand, lambda: _as_filtered(demand))

    def host(self, problem: Problem, moid: str) -> int:
        """Number a host as filters see it, as long as nothing names it."""
        return problem.derive_fact(_hosts, problem.request.options.evacuate)[moid]

    def place(self, problem: Problem, demand: Demand, moid: str) -> Hashable:
        """Return what two hosts must have in common for the filters not to tell them apart."""
        return (self.host(problem, moid), _particular(problem, demand, moid))

    def fits_all(self, problem: Problem, demand: Demand, moid: str) -> bool:
        """Whether a demand is surely not too large for a host, nor for any that has its number."""
        key = (self.demand(demand), self.host(problem, moid))
        if key not in self._fits_all:
            self._fits_all[key] = _fits_all(problem, demand, moid, key[1])
        return self._fits_all[key]

    def same_for_all(self, problem: Problem, demand: Demand, moid: str) -> bool:
        """Whether a demand is surely let on all hosts of a host's number, or on none."""
        return _particular(problem, demand, moid) is None and self.fits_all(problem, demand, moid)

    def _too_large(self, problem: Problem, demand: Demand, moid: str) -> Rejection | None:
        if self.fits_all(problem, demand, moid):
            return None
        evidence = host_size.rejects(problem, demand, problem.inventory.host_by_moid[moid])
        return Rejection(host_size.FILTER.id, evidence) if evidence is not None else None


def eligibility_of(problem: Problem) -> Eligibility:
    """Return the answers kept for all requests on an inventory that have the same options."""
    return problem.derive_fact(_eligibility, problem.request.options)


def _eligibility(_problem: Problem, _options: RequestOptions) -> Eligibility:
    return Eligibility()


def _particular(problem: Problem, demand: Demand, moid: str) -> Hashable:
    """What the request, the rules and the VM's own place say of a host."""
    rules = rules_of_vm(problem, demand.id)
    if not rules and demand.vm is None and not demand.hosts:
        return None
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    named = tuple((rule.name, rule.apart, moid in hosts) for rule, hosts in rules)
    return (named, bool(demand.hosts), moid in demand.hosts, vm is not None and vm.host == moid)


def _first(problem: Problem, demand: Demand, moid: str) -> Rejection | None:
    host = problem.inventory.host_by_moid[moid]
    for item in filters():
        if item is host_size.FILTER:
            continue
        evidence = item.rejects(problem, demand, host)
        if evidence is not None:
            return Rejection(item.id, evidence)
    return None


def _fits_all(problem: Problem, demand: Demand, moid: str, where: int) -> bool:
    """Whether the filter of sizes surely lets a demand on every host of a number."""
    host = problem.inventory.host_by_moid[moid]
    threads = host.thread_count or host.core_count
    wanted = demand_amount(demand, host, problem.request.options)
    least = problem.derive_fact(_least_supplies, problem.request.options)[where]
    return (
        (threads is None or demand.cpus <= threads)
        and wanted.millicores <= least.millicores
        and wanted.memory_mib <= least.memory_mib
    )


def _least_supplies(problem: Problem, options: RequestOptions) -> dict[int, Amount]:
    """The least that a host of each number gives."""
    found: dict[int, Amount] = {}
    for moid, number in problem.derive_fact(_hosts, options.evacuate).items():
        mine = supply_of(problem, moid).total
        least = found.get(number, mine)
        found[number] = Amount(min(mine.millicores, least.millicores), min(mine.memory_mib, least.memory_mib))
    return found


def _as_filtered(demand: Demand) -> Hashable:
    return replace(
        demand, id="", name="", source=None, hosts=(), priority=0, weight_milli=0, mode_stated=False
    )


def _hosts(problem: Problem, emptied: tuple[str, ...]) -> dict[str, int]:
    numbers, leaving = Numbers(), frozenset(emptied)
    seen = (
        [
            item.name
            for item in fields(problem.inventory.hosts[0])
            if item.name not in _OWN | _FAMILY | _AMOUNTS
        ]
        if problem.inventory.hosts
        else []
    )
    found = {}
    for host in problem.inventory.hosts:
        if host.moid in problem.topologies:
            own = tuple(getattr(host, name) for name in seen)
            kept = (host.moid in problem.derive_fact(_dedicated), host.moid in leaving)
            key = (own, family_of(problem, host.moid), unread_on_host(problem, host), kept)
            found[host.moid] = numbers.of_key(key)
    return found


def _alike(problem: Problem, emptied: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Hosts that filters do not tell apart."""
    found: dict[int, list[str]] = {}
    for moid, number in problem.derive_fact(_hosts, emptied).items():
        found.setdefault(number, []).append(moid)
    return tuple(tuple(moids) for moids in found.values())


def _dedicated(problem: Problem) -> frozenset[str]:
    """Hosts that HA keeps for failover."""
    return frozenset(
        moid
        for cluster in problem.inventory.clusters
        if cluster.ha_enabled and cluster.admission is not None
        for moid in cluster.admission.dedicated
        if (host := problem.inventory.host_by_moid.get(moid)) is not None and host.cluster == cluster.moid
    )
