"""Which hosts a question is about: those that a demand could go to at all, and one of each kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from vplacer.constraints.holdings import Claim, vm_holdings
from vplacer.constraints.loads import vm_consumer
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand, RequestOptions
from vplacer.solver.eligible import eligibility_of
from vplacer.solver.numbers import Numbers

MOST_KINDS = 48
"""So many kinds of host are looked at for a VM by itself."""


HOSTS_FILTERED = 20
"""So many questions whether a host is open to a demand count as one host looked at."""


def open_hosts(problem: Problem, demands: Iterable[Demand]) -> frozenset[str]:
    """Return the hosts that filters leave to one of some demands, and the homes of those that exist."""
    eligibility = eligibility_of(problem)
    found: set[str] = set()
    for demand in demands:
        vm = problem.inventory.vm_by_moid.get(demand.vm or "")
        if vm is not None and vm.host is not None:
            found.add(vm.host)
        found |= eligibility.open_hosts(problem, demand)
    return frozenset(found)


def one_of_each_kind(problem: Problem, demand: Demand) -> tuple[frozenset[str], int]:
    """Return one host of each kind, as a demand sees them and as they are used, and how many are left out.

    Hosts are alike if filters cannot tell them apart and their VMs take and hold the same. Of too many kinds
    those are kept on which the fewest VMs run, in turn for hosts of the same hardware. Where sums over hosts
    may stand in the way, hosts are no kinds: all of a small site are looked at.
    """
    clusters = problem.inventory.clusters
    sums = problem.request.options.headroom_hosts or any(cluster.ha_enabled for cluster in clusters)
    if sums and len(problem.topologies) <= MOST_KINDS:
        return frozenset(problem.topologies), 0
    eligibility = eligibility_of(problem)
    ruled = {vm for rule in problem.request.rules.apart for vm in rule.vms}
    ruled |= {vm for rule in problem.request.rules.together for vm in rule.vms}
    used = problem.derive_fact(_used, problem.request.options)
    firsts: dict[Hashable, tuple[int, str]] = {}
    hardware: dict[int, list[tuple[int, int, str]]] = {}
    for number, moid in enumerate(problem.topologies):
        vms = problem.inventory.vms_by_host.get(moid, ())
        named = tuple(vm.moid for vm in vms if vm.moid in ruled)
        key = (eligibility.place(problem, demand, moid), used[moid], named)
        if key not in firsts:
            firsts[key] = (number, moid)
            same = id(problem.topologies[moid])
            hardware.setdefault(same, []).append((len(vms), number, moid))
    ranked = [
        (rank, count, number, moid)
        for some in hardware.values()
        for rank, (count, number, moid) in enumerate(sorted(some))
    ]
    chosen = [moid for _, _, _, moid in sorted(ranked)[:MOST_KINDS]]
    return frozenset(chosen), len(ranked) - len(chosen)


def _used(problem: Problem, _options: RequestOptions) -> dict[str, Hashable]:
    """Return what the VMs of each host take and hold, whichever VMs they are."""
    numbers = Numbers()
    found: dict[str, Hashable] = {}
    for moid in problem.topologies:
        vms = [vm for vm in problem.inventory.vms_by_host.get(moid, ()) if not vm.template]
        uses = sorted(numbers.of_key(_use(problem, vm.moid)) for vm in vms)
        found[moid] = tuple(uses)
    return found


def _use(problem: Problem, vm: str) -> Hashable:
    consumer = vm_consumer(problem, vm)
    held = tuple(_plain(claim) for claim in vm_holdings(problem, vm))
    return (replace(consumer, vm="") if consumer is not None else None, held)


def _plain(claim: Claim) -> Hashable:
    return (claim.kind, claim.address, claim.candidates, claim.profile, claim.group is None)
