"""The host has the kind of GPU asked for, and enough of it, whoever holds it now."""

from __future__ import annotations

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.costs import HOST_CHANGE, LESS_DEVICES, OTHER_BINDING
from vplacer.constraints.matching import gpu_matches, group_sets, group_type
from vplacer.constraints.registry import Filter, Relaxation
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import Demand, GpuAsk
from vplacer.topology.assignable import AssignableDevice, offers
from vplacer.topology.vgpu_room import profile_shape, room_for, why_mode_refuses


def rejects(problem: Problem, demand: Demand, host: Host) -> str | None:
    """Reject a host without the cards, in the state needed; says which step fails."""
    for ask in demand.gpus:
        evidence = _why_not(problem, host, ask)
        if evidence is not None:
            return evidence
    return None


def _why_not(problem: Problem, host: Host, ask: GpuAsk) -> str | None:
    gpus = [device for device in devices_of_host(problem, host.moid) if device.kind == "gpu"]
    if not gpus:
        return "the host has no GPU"
    if ask.group is not None:
        return _why_no_group(problem, host, ask)
    if ask.profile is not None:
        return _why_no_vgpu(host, ask, gpus)
    wanted = [device for device in gpus if ask.model is None or device.model == ask.model]
    if not wanted:
        models = ", ".join(sorted({device.model for device in gpus}))
        return f"no {ask.model} (the host has {models})"
    name = ask.model or "GPUs"
    active = [device for device in wanted if device.passthrough]
    if len(active) < ask.count:
        return _why_not_active(name, ask.count, wanted, active)
    labelled = [device for device in active if gpu_matches(host, device, ask)]
    if not labelled:
        return f"no {name} with label '{ask.label}'"
    if len(labelled) < ask.count:
        with_label = f" with label '{ask.label}'" if ask.label is not None else ""
        return f"{_number(len(labelled), name)}{with_label}, {ask.count} needed"
    return None


def _number(count: int, name: str) -> str:
    return "1 GPU" if count == 1 and name == "GPUs" else f"{count} {name}"


def _why_not_active(
    name: str, count: int, wanted: list[AssignableDevice], active: list[AssignableDevice]
) -> str:
    if len(wanted) < count:
        return f"{_number(len(wanted), name)}, {count} needed"
    rest = [device for device in wanted if not device.passthrough]
    pending = [device for device in rest if _is_pending(device)]
    if len(active) + len(pending) >= count:
        return f"{len(active)} of {len(wanted)} {name} usable, {len(pending)} more need a reboot of the host"
    why = "is set up for vGPU" if rest[0].vgpu else (rest[0].unusable or "is not usable")
    return f"{len(active)} of {len(wanted)} {name} usable, {count} needed: {rest[0].address.short} {why}"


def _is_pending(device: AssignableDevice) -> bool:
    return device.unusable is not None and device.unusable.startswith("needs reboot")


def _why_no_vgpu(host: Host, ask: GpuAsk, gpus: list[AssignableDevice]) -> str | None:
    profile = ask.profile or ""
    shape = profile_shape(host, profile)
    if shape is None:
        return f"vGPU profile {profile} is not offered"
    offering = [device for device in gpus if offers(host, device, profile)]
    if ask.model is not None:
        offering = [device for device in offering if device.model == ask.model]
    if not offering:
        return f"no card of the host has vGPU profile {profile}"
    refusals = [why_mode_refuses(device, shape) for device in offering]
    if all(refusals):
        return f"{offering[0].address.short}: {refusals[0]}"
    room = sum(room_for(device, shape, ()) for device in offering)
    if room < ask.count:
        return f"room for {room} vGPUs of {profile} when empty, {ask.count} needed"
    return None


def _why_no_group(problem: Problem, host: Host, ask: GpuAsk) -> str | None:
    name = ask.group or ""
    if group_type(host, name) is None:
        return f"device group {name} is not offered"
    sets = group_sets(problem.topologies[host.moid], name)
    if sets is None:
        return None
    if not sets:
        return f"no cards of the host can make device group {name}"
    most = len(sets) if _disjoint(sets) else ask.count
    if most < ask.count:
        return f"{most} device groups {name}, {ask.count} needed"
    return None


def _disjoint(sets: tuple[tuple[object, ...], ...]) -> bool:
    members = [member for group in sets for member in group]
    return len(members) == len(set(members))


def relax(problem: Problem, demand: Demand, host: Host) -> Relaxation | None:
    """The cheapest of: reboot the host, drop the label, take as many cards as there are."""
    for index, ask in enumerate(demand.gpus):
        if _why_not(problem, host, ask) is not None:
            return _relax_ask(problem, demand, host, index, ask)
    return None


def _relax_ask(problem: Problem, demand: Demand, host: Host, index: int, ask: GpuAsk) -> Relaxation | None:
    gpus = [device for device in devices_of_host(problem, host.moid) if device.kind == "gpu"]
    if not gpus or ask.group is not None or ask.profile is not None:
        return None
    wanted = [device for device in gpus if ask.model is None or device.model == ask.model]
    if not wanted:
        models = sorted({device.model for device in gpus if device.passthrough})
        if not models:
            return None
        field = f"gpus[{index}].model"
        return Relaxation(
            f"take {models[0]} instead of {ask.model}", LESS_DEVICES, demand.id, field, models[0]
        )
    usable = [device for device in wanted if device.passthrough]
    pending = sum(1 for device in wanted if _is_pending(device))
    if len(usable) < ask.count <= len(usable) + pending:
        return Relaxation(f"reboot {host.name}: passthrough then becomes active", HOST_CHANGE)
    if ask.label is not None and len(usable) >= ask.count:
        return Relaxation(f"drop label '{ask.label}'", OTHER_BINDING, demand.id, f"gpus[{index}].label", "")
    if 0 < len(usable) < ask.count:
        text = f"ask for {_number(len(usable), 'GPUs')} instead of {ask.count}"
        return Relaxation(text, LESS_DEVICES, demand.id, f"gpus[{index}].count", str(len(usable)))
    return None


FILTER = Filter("gpu-model", "GPUs of the kind asked for", rejects, relax)
