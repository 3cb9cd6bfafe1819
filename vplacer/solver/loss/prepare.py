"""The site that losses happen to: which VMs would be restarted, which ask for a place, under which rules."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from vplacer.constraints.host_families import family_of
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand, OnHosts, Rules
from vplacer.request.rules import joined, vcenter_rules
from vplacer.solver.eligible import eligibility_of
from vplacer.solver.loss.aftermath import without_admission
from vplacer.solver.loss.restarts import Restart, RestartMaker, requested
from vplacer.solver.loss.trial import Ground


@dataclass(frozen=True)
class Prepared:
    """What all losses share.

    ``asked``: VMs of the request that do not run. ``restarts`` and ``never`` by moid: VMs that HA restarts,
    and why it does not restart others. ``names``: of VMs and demands.
    """

    ground: Ground
    asked: tuple[Restart, ...]
    restarts: Mapping[str, Restart]
    never: Mapping[str, str]
    names: Mapping[str, str]

    def on(self, hosts: Sequence[str]) -> tuple[list[Restart], list[tuple[str, str]]]:
        """Return the VMs that run on hosts: those to be restarted, and the others with the reason."""
        by_host = self.ground.problem.inventory.vms_by_host
        vms = [vm.moid for host in hosts for vm in by_host.get(host, ())]
        return (
            [self.restarts[vm] for vm in vms if vm in self.restarts],
            [(vm, self.never[vm]) for vm in vms if vm in self.never],
        )

    def load(self, host: str) -> tuple[int, ...]:
        """How much is lost with a host: VMs that nothing restarts, cards, MiB."""
        restarts, never = self.on((host,))
        cards = sum(ask.count for restart in restarts for ask in restart.demand.gpus)
        return (len(never), cards, sum(restart.demand.memory_mib for restart in restarts))

    def key(self, host: Host) -> Hashable:
        """What the loss of a host comes to; hosts of equal keys may be exchanged for one another."""
        ground, moid = self.ground, host.moid
        restarts, never = self.on((moid,))
        rules = ground.problem.request.rules
        ruled = {
            vm for vms in (*(r.vms for r in rules.apart), *(r.vms for r in rules.on_hosts)) for vm in vms
        }
        here = {restart.demand.id for restart in restarts}
        asked_there = any(moid in restart.demand.hosts for restart in self.asked)
        if here & ruled or asked_there:
            return moid
        vms = sorted(ground.memo.demand(restart.demand) for restart in restarts)
        return (
            ground.memo.state(ground.states[moid]),
            eligibility_of(ground.problem).host(ground.problem, moid),
            family_of(ground.problem, moid),
            tuple(vms),
            tuple(sorted(reason for _, reason in never)),
        )


def prepare(problem: Problem) -> Prepared:
    """Sort the VMs of a problem into those that run and those that are asked for."""
    inventory = without_admission(problem.inventory)
    on = {vm.moid for vm in inventory.vms if vm.is_on}
    asked = tuple(requested(demand) for demand in problem.request.demands if demand.vm not in on)
    waiting = frozenset(d.vm for d in problem.request.demands if d.vm is not None and d.vm not in on)
    top = max((restart.demand.priority for restart in asked), default=0) + 1
    maker = RestartMaker(inventory, top)
    restarts: dict[str, Restart] = {}
    never: dict[str, str] = {}
    for vm in inventory.vms:
        found = maker.make(vm)
        if isinstance(found, Restart):
            restarts[vm.moid] = found
        elif found is not None:
            never[vm.moid] = found
    rules = _rules(problem, [restart.demand for restart in asked])
    demands = tuple(restart.demand for restart in (*asked, *restarts.values()))
    # Room kept for a loss is there to be used after one.
    options = replace(problem.request.options, headroom_hosts=0, partial=True)
    request = replace(problem.request, demands=demands, rules=rules, options=options)
    tied = {vm for together in rules.together if together.required for vm in together.vms}
    tied |= {vm for gang in rules.gangs for vm in gang.vms}
    names = {vm.moid: vm.name for vm in inventory.vms} | {r.demand.id: r.demand.name for r in asked}
    whole = Problem(inventory, problem.topologies, request)
    return Prepared(Ground(whole, waiting, frozenset(tied)), asked, restarts, never, names)


def _rules(problem: Problem, asked: list[Demand]) -> Rules:
    """Return the rules that hold after a loss.

    HA keeps VM-host rules and rules that keep VMs apart, where they must hold, and looks at no rule that
    keeps VMs together; the request's own hold for its VMs. Hosts dedicated to failover take restarts only.
    """
    ids = {demand.id for demand in asked}
    vcenter, own = vcenter_rules(problem.inventory), problem.request.rules
    known = {rule.name for rule in vcenter.apart} | {rule.name for rule in vcenter.on_hosts}
    stated = Rules(
        apart=tuple(rule for rule in own.apart if rule.name not in known),
        together=tuple(rule for rule in own.together if ids.issuperset(rule.vms)),
        on_hosts=tuple(rule for rule in own.on_hosts if rule.name not in known),
        gangs=tuple(gang for gang in own.gangs if ids.issuperset(gang.vms)),
    )
    both = joined(stated, replace(vcenter, together=()))
    dedicated = tuple(
        moid
        for cluster in problem.inventory.clusters
        if cluster.ha_enabled and cluster.admission is not None
        for moid in cluster.admission.dedicated
    )
    if not dedicated or not asked:
        return both
    failover = OnHosts("hosts dedicated to failover", tuple(sorted(ids)), dedicated, apart=True)
    return replace(both, on_hosts=(*both.on_hosts, failover))
