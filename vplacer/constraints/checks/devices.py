"""The devices assigned exist, are of the kind asked for, and are as many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.costs import LESS_DEVICES
from vplacer.constraints.matching import gpu_matches, why_nic_differs
from vplacer.constraints.registry import Relaxation, host_check
from vplacer.constraints.state import DeviceAssignment, Placement, Problem, State, Violation
from vplacer.constraints.steering import ask_of
from vplacer.inventory.host import Host
from vplacer.request.demand import BoundBy, Demand, GpuAsk

ID = "devices"


def on_host(state: State, host: str) -> Iterable[Violation]:
    """Check every assignment of every placement, and the counts of every ask.

    Members of device groups are checked by the constraint of device groups.
    """
    problem = state.problem
    home = problem.inventory.host_by_moid[host]
    for placement in state.placements_by_host.get(host, ()):
        demand = problem.demand_by_id[placement.demand]
        for evidence in (*_counts(demand, placement), *_kinds(problem, demand, placement, home)):
            yield Violation(ID, demand.id, evidence, host=host)


def _counts(demand: Demand, placement: Placement) -> Iterable[str]:
    have = Counter((assignment.ask, assignment.index) for assignment in placement.devices)
    wanted = {("gpu", i): ask.count for i, ask in enumerate(demand.gpus) if ask.group is None}
    wanted |= {("nic", i): nic.count for i, nic in enumerate(demand.nics)}
    for (kind, index), count in wanted.items():
        if have[kind, index] != count:
            yield f"{kind}s[{index}]: {have[kind, index]} devices assigned, {count} asked for"


def _kinds(problem: Problem, demand: Demand, placement: Placement, host: Host) -> Iterable[str]:
    devices = {device.address: device for device in devices_of_host(problem, host.moid)}
    for assignment in placement.devices:
        ask = ask_of(demand, assignment)
        device = devices.get(assignment.address)
        if ask is None:
            yield f"{assignment.ask}s[{assignment.index}] was not asked for"
        elif device is None:
            yield f"{assignment.address} is no GPU or NIC of {host.name}"
        elif isinstance(ask, GpuAsk) and ask.group is not None:
            continue
        elif isinstance(ask, GpuAsk):
            if not gpu_matches(host, device, ask):
                state_ = device.unusable or f"{device.model}, label {device.label or 'not set'}"
                yield f"{assignment.address} is not what is asked for ({state_})"
        elif device.kind != "nic":
            yield f"{assignment.address} is no NIC"
        elif (why := why_nic_differs(device, ask)) is not None:
            yield f"{assignment.address} is not what is asked for: {why}"
        if device is not None and _wrong_label(assignment, device.label):
            yield f"{assignment.address} has label {device.label or 'not set'}, not {assignment.label}"


def _wrong_label(assignment: DeviceAssignment, label: str | None) -> bool:
    return assignment.bound_by is BoundBy.LABEL and assignment.label != label


def relax(_problem: Problem, demand: Demand) -> tuple[Relaxation, ...]:
    """One card fewer, of each ask that has several, would do."""
    found = []
    for index, gpu in enumerate(demand.gpus):
        if gpu.count > 1:
            text = f"ask for {gpu.count - 1} instead of {gpu.count} of gpus[{index}]"
            field = f"gpus[{index}].count"
            found.append(Relaxation(text, LESS_DEVICES, demand.id, field, str(gpu.count - 1)))
    for index, nic in enumerate(demand.nics):
        if nic.count > 1:
            text = f"ask for {nic.count - 1} instead of {nic.count} of nics[{index}]"
            field = f"nics[{index}].count"
            found.append(Relaxation(text, LESS_DEVICES, demand.id, field, str(nic.count - 1)))
    return tuple(found)


CHECK = host_check(ID, "Devices as asked", on_host, relax)
