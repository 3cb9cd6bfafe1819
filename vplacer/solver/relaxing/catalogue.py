"""What may be given up of a demand, field by field: the ladders, and the demand some steps up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from vplacer.constraints import costs
from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.request.demand import Demand
from vplacer.solver.relax import changes_of, with_field
from vplacer.solver.relaxing.lattice import Ladder, Point, Step

_ALTERNATIVES = ("affinity", "model", "hosts", "clusters")
"""Last parts of fields whose steps are other values, not lesser ones: each opens one value more."""

MOST_ELSEWHERE = 8
"""So many hosts that the request does not name are offered."""


def ladders_of(problem: Problem, demand: Demand) -> tuple[Ladder, ...]:
    """Return all that may be given up of a demand, the cheapest field first."""
    vm = problem.inventory.vm_by_moid.get(demand.vm or demand.template or "")
    least = (vm.hardware_version or 0) if vm is not None else 0
    found: dict[str, list[Step]] = {}
    for change in changes_of(demand, least):
        told = change.relaxation
        if told.field is not None and told.value is not None:
            found.setdefault(told.field, []).append(Step(told.value, told.cost, told.text))
    for more in (_models(problem, demand), _labels(demand), _sizes(demand), _elsewhere(problem, demand)):
        for told in more:
            found.setdefault(told.field or "", []).append(Step(told.value or "", told.cost, told.text))
    ladders = [Ladder(field, tuple(sorted(steps, key=lambda s: s.cost))) for field, steps in found.items()]
    return tuple(sorted(ladders, key=lambda ladder: (ladder.cost(1), ladder.field)))


def demand_at(problem: Problem, demand: Demand, ladders: Sequence[Ladder], point: Point) -> Demand:
    """Return a demand with the value of each step that is reached."""
    for ladder, height in zip(ladders, point, strict=True):
        if height:
            changed = with_field(problem, demand, ladder.field, ladder.steps[height - 1].value)
            demand = changed if changed is not None else demand
    return demand


def demands_below(
    problem: Problem, demand: Demand, ladders: Sequence[Ladder], point: Point
) -> Iterable[Demand]:
    """Yield demands one of which must be met: where steps are alternatives, each up to the one reached."""
    heights = [
        range(height, -1, -1) if ladder.field.rpartition(".")[2] in _ALTERNATIVES else (height,)
        for ladder, height in zip(ladders, point, strict=True)
    ]
    for each in product(*heights):
        yield demand_at(problem, demand, ladders, each)


def _models(problem: Problem, demand: Demand) -> list[Relaxation]:
    """Other models of GPU that hosts pass through."""
    found = []
    for index, ask in enumerate(demand.gpus):
        if ask.model is None or ask.profile is not None or ask.group is not None:
            continue
        others = sorted(problem.derive_fact(_passed_through) - {ask.model})
        found += [
            Relaxation(
                f"take {model} instead of {ask.model}",
                costs.LESS_DEVICES + n,
                None,
                f"gpus[{index}].model",
                model,
            )
            for n, model in enumerate(others)
        ]
    return found


def _passed_through(problem: Problem) -> frozenset[str]:
    return frozenset(
        device.model
        for moid in problem.topologies
        for device in devices_of_host(problem, moid)
        if device.kind == "gpu" and device.passthrough and device.model is not None
    )


def _labels(demand: Demand) -> list[Relaxation]:
    asks = [(f"gpus[{n}].label", ask.label) for n, ask in enumerate(demand.gpus)]
    asks += [(f"nics[{n}].label", nic.label) for n, nic in enumerate(demand.nics)]
    return [
        Relaxation(f"drop label '{label}'", costs.OTHER_BINDING, None, field, "")
        for field, label in asks
        if label is not None
    ]


def _sizes(demand: Demand) -> list[Relaxation]:
    """Three quarters, half and a quarter of the vCPUs, or of the memory, in whole GiB."""
    found = []
    gib = -(-demand.memory_mib // 1024)
    for step, quarters in enumerate((3, 2, 1)):
        cpus = demand.cpus * quarters // 4
        cpus -= cpus % (demand.vnuma_nodes or 1)
        cost = costs.LESS_CPU_OR_MEMORY + 3 * step
        if 0 < cpus < demand.cpus:
            found.append(Relaxation(f"vCPUs {demand.cpus} -> {cpus}", cost, None, "cpus", str(cpus)))
        less = gib * quarters // 4
        if 0 < less < gib:
            text, value = f"memory {gib} GiB -> {less} GiB", f"{less} GiB"
            found.append(Relaxation(text, cost + 1, None, "memory", value))
    return found


def _elsewhere(problem: Problem, demand: Demand) -> list[Relaxation]:
    """Hosts and clusters that the request does not name."""
    found = []
    inventory = problem.inventory
    if demand.clusters:
        others = [cluster for cluster in inventory.clusters if cluster.moid not in demand.clusters]
        found += [
            Relaxation(f"allow cluster {cluster.name}", costs.ELSEWHERE + n, None, "clusters", cluster.name)
            for n, cluster in enumerate(others)
        ]
    if demand.hosts:
        hosts = [host for host in inventory.hosts if host.moid not in demand.hosts][:MOST_ELSEWHERE]
        found += [
            Relaxation(f"allow host {host.name}", costs.ELSEWHERE + n, None, "hosts", host.name)
            for n, host in enumerate(hosts)
        ]
    return found
