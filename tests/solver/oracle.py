"""The best answer by trying everything: knows the judge and the measures, nothing of how to solve."""

from __future__ import annotations

from itertools import combinations, product

from vplacer.constraints.holdings import devices_of_host
from vplacer.constraints.judge import check, placements_today
from vplacer.constraints.labels import portable_labels, scope_of
from vplacer.constraints.state import DeviceAssignment, Placement, Problem, State
from vplacer.constraints.supply import demand_parts, nodes_kept
from vplacer.request.demand import AffinityMode, BoundBy, Demand
from vplacer.solver.levels import Level
from vplacer.solver.score import measure

# What a placement breaks by itself, wherever the other VMs go.
_ALONE = frozenset({"affinity-mode", "vnuma", "devices", "label-portable", "gpu-model", "nic-kind"})
# What a placement may break by itself and not beside others, who may leave it no choice of cards; the
# rest counts where no VM goes away.
_ONLY_WHOLE = frozenset({"placed", "gang", "together", "not-steerable", "interconnect", "nic-near-gpu"})


def best(problem: Problem, levels: tuple[Level, ...]) -> tuple[dict[str, int], int]:
    """Return the values of the lexicographically best valid answer, and how many answers were valid."""
    today = placements_today(problem)
    every = [choices(problem, demand, today) for demand in problem.request.demands]
    found: list[tuple[tuple[int, ...], dict[str, int]]] = []
    for answer in product(*every):
        placements = tuple(placement for placement in answer if placement is not None)
        state = State(problem, placements)
        if any(violation.constraint != "placed" for violation in check(state)):
            continue
        values = measure(state, levels)
        rank = tuple(values[level.id] if level.maximise else -values[level.id] for level in levels)
        found.append((rank, values))
    assert found, "leaving everything as it is must always be valid"
    return max(found, key=lambda item: item[0])[1], len(found)


def choices(problem: Problem, demand: Demand, today: dict[str, Placement]) -> list[Placement | None]:
    """Every placement that is not wrong by itself; None = unplaced."""
    options: list[Placement | None] = [today[demand.id]] if demand.id in today else [None]
    if demand.id in today and any(demand.id in gang.vms for gang in problem.request.rules.gangs):
        options.append(None)
    if demand.id in today and not demand.may_move:
        return options
    for host in problem.inventory.hosts:
        if demand.vm is not None and not demand.may_move:
            vm = problem.inventory.vm_by_moid[demand.vm]
            if vm.host != host.moid:
                continue
        parts = demand_parts(demand, host)
        node_sets = list(combinations([n.id for n in host.numa_nodes], parts))
        if not _binds(demand):
            node_sets = [nodes_kept(demand, host)]
        for nodes in node_sets:
            for devices in _devicechoices(problem, demand, host.moid):
                placement = Placement(demand.id, host.moid, tuple(nodes), devices)
                faults = {v.constraint for v in check(State(problem, (placement,)))}
                if not faults & _ALONE if problem.demanded_vms else faults <= _ONLY_WHOLE:
                    options.append(placement)
    return options


def _binds(demand: Demand) -> bool:
    if demand.mode is AffinityMode.HINT:
        return False
    labelled = any(ask.profile is None for ask in demand.gpus) or bool(demand.nics)
    return demand.mode is AffinityMode.PIN or labelled


def _devicechoices(problem: Problem, demand: Demand, host: str) -> list[tuple[DeviceAssignment, ...]]:
    devices = devices_of_host(problem, host)
    labels = portable_labels(problem, scope_of(problem.inventory.host_by_moid[host]))
    asks = [("gpu", index, ask.count) for index, ask in enumerate(demand.gpus)]
    asks += [("nic", index, nic.count) for index, nic in enumerate(demand.nics)]
    per_ask = []
    for kind, index, count in asks:
        cards = [device for device in devices if device.kind == kind]
        vgpu = kind == "gpu" and demand.gpus[index].profile is not None
        if demand.mode is AffinityMode.LABEL and not vgpu:
            cards = [device for device in cards if device.label in labels]
        picks = [list(pick) for pick in combinations(cards, count)]
        if vgpu and count == 2:
            picks += [[card, card] for card in cards]
        per_ask.append([[(kind, index, card, vgpu) for card in pick] for pick in picks])
    found = []
    for choice in product(*per_ask):
        assignments = []
        for kind, index, card, vgpu in (item for pick in choice for item in pick):
            ask = demand.gpus[index] if kind == "gpu" else demand.nics[index]
            bound_by, label = BoundBy.PLATFORM, None
            if not vgpu and demand.mode is AffinityMode.PIN:
                bound_by = BoundBy.STATIC
            elif not vgpu and (demand.mode is AffinityMode.LABEL or ask.label is not None):
                bound_by, label = BoundBy.LABEL, card.label
            assignments.append(DeviceAssignment(kind, index, card.address, bound_by, label))
        found.append(tuple(assignments))
    return found


def can_place_all(problem: Problem) -> bool:
    """Whether some valid answer gives every demand a place."""
    today = placements_today(problem)
    every = [
        [placement for placement in choices(problem, demand, today) if placement is not None]
        for demand in problem.request.demands
    ]

    def some(placed: tuple[Placement, ...]) -> bool:
        faults = {violation.constraint for violation in check(State(problem, placed))}
        if len(placed) == len(every):
            return not faults
        # Where no VM goes away, what is wrong with some is wrong with more.
        if not problem.demanded_vms and not faults <= _ONLY_WHOLE:
            return False
        return any(some((*placed, placement)) for placement in every[len(placed)])

    return some(())
