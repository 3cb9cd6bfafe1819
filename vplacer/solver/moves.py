"""Moving a VM away as a way out: offered only after the move and the demand were placed and judged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from vplacer.constraints import costs
from vplacer.constraints.migration import can_move_live
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import holds_devices
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.request.as_today import demand_as_today
from vplacer.request.demand import AffinityMode, Demand, Policy
from vplacer.request.today import DeviceReader
from vplacer.solver.beside import Beside
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import eligibility_of
from vplacer.solver.instance import Rejection
from vplacer.solver.trial import Way, judged, place_gang, place_one_by_one

MAX_MOVES_A_HOST = 8
MAX_TRIALS = 120
"""So many VMs are thought away for a class without a place."""
MAX_JUDGED = 12
MAX_OFFERED = 2


def moves(beside: Beside, cls: DemandClass, members: Sequence[str], hosts: Sequence[str]) -> list[Way]:
    """Return VMs that would make room if they moved: those that move while they run, else one that stops.

    Args:
        beside: the answer.
        cls: the class without a place.
        members: its demands without a place.
        hosts: the hosts considered.
    """
    reader = DeviceReader(beside.problem.inventory)
    for powered_off in (False, True):
        found: list[Way] = []
        judgements = 0
        for host, vm, mover in _candidates(beside, cls, hosts, reader, powered_off):
            freed = beside.with_base(beside.emptied(host.moid, vm))
            # What the host alone refuses is found out before the VM is given another place.
            option = freed.seated(cls.demand, freed.state(host.moid, cls.vm.moid if cls.vm else None))
            moved = None if isinstance(option, Rejection) else _moved(freed, vm, mover, host, hosts)
            if moved is None:
                continue
            lets_in, placed = _placed(moved, cls, members, (host.moid, *(h for h in hosts if h != host.moid)))
            if not lets_in:
                continue
            judgements += 1
            if judged(placed):
                found.append(Way(_said(vm, host, powered_off), cls.demand, moved, lets_in))
            if len(found) == (1 if powered_off else MAX_OFFERED) or judgements == MAX_JUDGED:
                break
        if found:
            return found
    return []


def _placed(
    beside: Beside, cls: DemandClass, members: Sequence[str], hosts: Sequence[str]
) -> tuple[int, Beside]:
    if cls.gang is not None:
        return place_gang(beside, cls.gang, hosts)
    return place_one_by_one(beside, cls, members, cls.demand, hosts)


def _said(vm: Vm, host: Host, powered_off: bool) -> Relaxation:
    text = f"move {vm.name} off {host.name}"
    if not powered_off:
        return Relaxation(f"{text} while it runs", costs.HOST_CHANGE + 1, None, "move", vm.moid)
    text += " (it holds devices: stop it, move it, start it; costs it a power cycle)"
    return Relaxation(text, costs.HOST_CHANGE + 5, None, "move", vm.moid)


def _candidates(
    beside: Beside, cls: DemandClass, hosts: Sequence[str], reader: DeviceReader, powered_off: bool
) -> Iterable[tuple[Host, Vm, Demand]]:
    """Yield VMs to think away, the smallest of each host first; of hosts that are alike one is looked at."""
    problem = beside.problem
    seen: set[Hashable] = set()
    trials = 0
    for moid in hosts:
        if not beside.open_to(cls, cls.demand, moid):
            continue
        movers = [
            (vm, mover)
            for vm in problem.inventory.vms_by_host.get(moid, ())
            if can_move_live(vm, problem.inventory.host_by_moid[moid]) is not powered_off
            and (mover := mover_of(problem, vm, reader)) is not None
        ]
        movers.sort(key=lambda item: (len(item[0].devices), item[0].cpus, item[0].memory_mib, item[0].moid))
        state = beside.state(moid, cls.vm.moid if cls.vm is not None else None)
        alike = beside.memo.state(state), eligibility_of(problem).place(problem, cls.demand, moid)
        key = (*alike, tuple((vm.cpus, vm.memory_mib) for vm, _ in movers))
        if key in seen and not _in_rules(beside, moid):
            continue
        seen.add(key)
        for vm, mover in movers[:MAX_MOVES_A_HOST]:
            if trials == MAX_TRIALS:
                return
            trials += 1
            yield problem.inventory.host_by_moid[moid], vm, mover


def _in_rules(beside: Beside, moid: str) -> bool:
    """Whether a VM of a host is named in a rule between VMs, which makes it like no other."""
    rules = beside.problem.request.rules
    named = {vm for apart in rules.apart for vm in apart.vms}
    named |= {vm for together in rules.together for vm in together.vms}
    return any(vm.moid in named for vm in beside.problem.inventory.vms_by_host.get(moid, ()))


def _moved(beside: Beside, vm: Vm, mover: Demand, host: Host, hosts: Sequence[str]) -> Beside | None:
    """Return the answer with a VM on another host of its cluster, None if no other has room."""
    inventory = beside.problem.inventory
    trial = beside.with_demands((mover,))
    cls = DemandClass(-1, (mover.id,), mover, vm)
    for moid in hosts:
        if moid == host.moid or inventory.host_by_moid[moid].cluster != host.cluster:
            continue
        placement = trial.placement(cls, mover, moid)
        if placement is not None:
            return trial.with_placement(placement)
    return None


def mover_of(problem: Problem, vm: Vm, reader: DeviceReader) -> Demand | None:
    """Return a running VM as a demand to be placed anew, None if it is not to be moved.

    What the request names, what others own, what is bound by hand (static cards, CPU or node affinity)
    and what holds devices that cannot be asked for stays where it is.
    """
    if (
        not vm.is_on
        or vm.template
        or vm.moid in problem.demanded_vms
        or reason_left_alone(vm, problem.inventory) is not None
    ):
        return None
    if (
        vm.extra("numa.nodeAffinity")
        or vm.cpu_affinity
        or any(item.vm == vm.moid for item in problem.request.left_alone)
    ):
        return None
    today = reader.read(vm, Policy.NONE)
    if today.static or today.others or (holds_devices(vm) and vm.linked_clone):
        return None
    return demand_as_today(vm, today, AffinityMode.HINT, priority=0, weight_milli=1000, clusters=())
