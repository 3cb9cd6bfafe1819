"""What is near to each other today stays so: wishes of VMs that no request describes.

Of a VM whose cards, vCPUs and memory are all bound, what is proved today is required wherever it goes: of
labelled cards their node, of static ones also how near they are to each other. Where vSphere chooses,
nearness is luck today, and nothing is required.
"""

from __future__ import annotations

from dataclasses import replace

from vplacer.constraints.locality import ask_locality
from vplacer.constraints.state import Placement, Problem, State
from vplacer.constraints.today import placement_today
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, NicAsk, Policy
from vplacer.topology.levels import Level, NumaRelation

_POLICIES = {NumaRelation.SAME_NODE: Policy.REQUIRED, NumaRelation.SAME_SOCKET: Policy.SOCKET}
_JOINED = (Level.NVLINK, Level.SWITCH, Level.ROOT, Level.NUMA)
_NEAR = (Level.SWITCH, Level.ROOT, Level.NUMA)


def keep_locality(problem: Problem) -> Problem:
    """Require of derived demands what their VMs have today."""
    request = problem.request
    derived = set(request.derived)
    bound = [d for d in request.demands if d.id in derived and d.mode is not AffinityMode.HINT]
    if not bound:
        return problem
    # Of a host that is to be emptied, nothing is as it shall be.
    as_is = problem.with_request(replace(request, options=replace(request.options, evacuate=())))
    places = {d.id: placement_today(as_is, d) for d in request.demands if d.vm is not None}
    today = State(as_is, tuple(place for place in places.values() if place is not None))
    kept = {d.id: _kept(today, d, place) for d in bound if (place := places[d.id]) is not None}
    return problem.with_request(
        replace(request, demands=tuple(kept.get(demand.id, demand) for demand in request.demands))
    )


def _kept(today: State, demand: Demand, place: Placement) -> Demand:
    gpus = tuple(_kept_gpu(today, demand, place, index) for index in range(len(demand.gpus)))
    nics = tuple(_kept_nic(today, demand, place, index) for index in range(len(demand.nics)))
    return replace(demand, gpus=gpus, nics=nics)


def _policy(today: State, demand: Demand, place: Placement, kind: str, index: int) -> Policy:
    found = ask_locality(today, demand, place, kind, index)
    return _POLICIES.get(found.numa, Policy.PREFERRED) if found.both_sides_fixed else Policy.PREFERRED


def _kept_gpu(today: State, demand: Demand, place: Placement, index: int) -> GpuAsk:
    ask = replace(demand.gpus[index], policy=_policy(today, demand, place, "gpu", index))
    if demand.mode is not AffinityMode.PIN or ask.count < 2 or ask.group or ask.profile:
        return ask
    for level in _JOINED:
        wish = replace(ask, interconnect=level, interconnect_required=True)
        asked = replace(demand, gpus=(*demand.gpus[:index], wish, *demand.gpus[index + 1 :]))
        if ask_locality(today, asked, place, "gpu", index).interconnect_ok:
            return wish
    return ask


def _kept_nic(today: State, demand: Demand, place: Placement, index: int) -> NicAsk:
    ask = replace(demand.nics[index], policy=_policy(today, demand, place, "nic", index))
    if demand.mode is not AffinityMode.PIN or not demand.gpus:
        return ask
    for level in _NEAR:
        wish = replace(ask, near_gpu=True, at=level, at_required=True)
        asked = replace(demand, nics=(*demand.nics[:index], wish, *demand.nics[index + 1 :]))
        if ask_locality(today, asked, place, "nic", index).near_gpu_ok:
            return wish
    return ask
