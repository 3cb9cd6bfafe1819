"""Repair: only what the judge faults today may be changed, all else stays as it is.

The model is the repair mode of BtrPlace, whose constraints name the VMs they find misplaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vplacer.constraints.judge import check_vm_today
from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.constraints.state import Problem
from vplacer.constraints.today import differences_today
from vplacer.inventory.vm import Vm
from vplacer.request.demand import AffinityMode, Demand, GpuAsk, LeftAlone, NicAsk, Policy, ResolvedRequest
from vplacer.request.evacuation import must_leave
from vplacer.request.rules import touching
from vplacer.topology.levels import Level


def for_repair(problem: Problem, movable: frozenset[str] = frozenset()) -> Problem:
    """Let of all existing VMs those be changed, and moved, that are faulted today; new ones are placed.

    VMs that no request describes are faulted for what they manifestly should be (`manifest_wish`) and are
    not; those that are not faulted, or that nothing could be said of, are no demands any more.

    Args:
        problem: the problem.
        movable: moids of VMs that may move besides.
    """
    request = problem.request
    derived = set(request.derived)
    wished = tuple(_wished(problem, d) if d.id in derived else d for d in request.demands)
    free = problem.with_request(replace(request, demands=tuple(replace(d, may_move=True) for d in wished)))
    faulted = {d.id for d in free.request.demands if d.vm is not None and _faulted(free, d, d.id in derived)}
    kept: list[Demand] = []
    for demand in wished:
        free_to_go = _leaves(problem, demand) or demand.id in faulted or demand.id in movable
        if demand.vm is None:
            kept.append(demand)
        elif free_to_go or demand.id not in derived:
            kept.append(replace(demand, may_move=free_to_go))
    notes = request.notes
    looked_at = sum(1 for demand in request.demands if demand.vm is not None)
    if not faulted:
        vms = "VM" if looked_at == 1 else "VMs"
        notes = (*notes, f"repair: none of the {looked_at} {vms} looked at is at fault")
    return problem.with_request(replace(_only(request, kept), notes=notes))


def leave_unmovable(problem: Problem, movable: frozenset[str]) -> Problem:
    """Leave VMs alone that may move, no request describes, and that could only be moved by changing them.

    A static card without ``numa.nodeAffinity``, say, which no affinity mode stands for. VMs that must leave
    their host are changed all the same.
    """
    request = problem.request
    left = []
    for demand in request.demands:
        if demand.id not in movable.intersection(request.derived) or _leaves(problem, demand):
            continue
        differences = differences_today(problem, demand)
        if differences:
            reason = f"it could not be moved as it is: {differences[0]}"
            left.append(LeftAlone(demand.id, demand.name, reason))
    if not left:
        return problem
    gone = {item.vm for item in left}
    fewer = _only(request, [demand for demand in request.demands if demand.id not in gone])
    return problem.with_request(replace(fewer, left_alone=(*request.left_alone, *left)))


def _only(request: ResolvedRequest, demands: Iterable[Demand]) -> ResolvedRequest:
    """Return a request of fewer demands, with the rules that name them."""
    kept = tuple(demands)
    ids = {demand.id for demand in kept}
    return replace(
        request,
        demands=kept,
        rules=touching(request.rules, kept),
        derived=tuple(demand for demand in request.derived if demand in ids),
    )


def _leaves(problem: Problem, demand: Demand) -> bool:
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    return vm is not None and must_leave(problem.request.options, vm, demand.power_on)


def _faulted(problem: Problem, demand: Demand, derived: bool) -> bool:
    """Whether the judge faults a VM as it is; what a derived demand merely differs in is nobody's fault."""
    if derived and differences_today(problem, demand):
        return False
    return bool(check_vm_today(problem, demand))


def _wished(problem: Problem, demand: Demand) -> Demand:
    vm = problem.inventory.vm_by_moid.get(demand.vm or "")
    if vm is None or _leaves(problem, demand):
        return demand
    return manifest_wish(problem, vm, demand)


def manifest_wish(problem: Problem, vm: Vm, demand: Demand) -> Demand:
    """Return a running VM's demand with what it is manifestly meant to be.

    Where its cards, vCPUs and memory are bound: GPUs on the node of the vCPUs; static GPUs that fill an
    NVLink set of their host, such a set; NICs on the node of the vCPUs where there is no GPU, else near a
    GPU as a preference. A VM that floats, or whose cards vSphere chooses, is where luck put it: no fault.
    """
    if demand.mode is AffinityMode.HINT or not vm.node_affinity:
        return demand
    gpus = tuple(_gpu_wish(problem, vm, demand, ask) for ask in demand.gpus)
    nics = tuple(_nic_wish(ask, bool(demand.gpus)) for ask in demand.nics)
    return replace(demand, gpus=gpus, nics=nics)


def _gpu_wish(problem: Problem, vm: Vm, demand: Demand, ask: GpuAsk) -> GpuAsk:
    if ask.profile is not None or ask.group is not None:
        return ask
    near = replace(ask, policy=Policy.REQUIRED)
    topology = problem.topologies.get(vm.host or "")
    if topology is None or demand.mode is not AffinityMode.PIN or ask.count < 2:
        return near
    models = {gpu.address: gpu.model for gpu in topology.gpus}
    whole = any(
        len(members) == ask.count and {models.get(card) for card in members} == {ask.model}
        for members in topology.nvlink_groups
    )
    host = problem.inventory.host_by_moid[vm.host or ""]
    wish = replace(near, interconnect=Level.NVLINK, interconnect_required=True)
    return wish if whole and nvlink_use(host, topology, wish).carries else near


def _nic_wish(ask: NicAsk, beside_gpu: bool) -> NicAsk:
    if ask.kind != "passthrough":
        return ask
    if not beside_gpu:
        return replace(ask, policy=Policy.REQUIRED)
    return replace(ask, near_gpu=True, at=Level.NUMA, at_required=False)
