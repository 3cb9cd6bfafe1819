"""VMs that are changed and stay off: no CPU or memory is kept for them, and whether they could start."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.constraints.loads import load_of, supply_of
from vplacer.constraints.state import State
from vplacer.constraints.supply import demand_amount
from vplacer.plan.draft import Draft


def off_notes(state: State, drafts: Sequence[Draft]) -> tuple[str, ...]:
    """Return remarks on changed VMs that stay off.

    That each fits its host while that is empty, and that the cards exist, is decided with the placement (host
    size, devices). Here the host's CPU and memory in all are compared with what runs after the plan; one VM
    at a time, whatever NUMA nodes have left.
    """
    off = [item for item in drafts if not item.demand.power_on]
    if not off:
        return ()
    names = ", ".join(item.demand.name for item in off)
    notes = [f"off after the plan, no CPU or memory is kept for it: {names}"]
    for item in off:
        host = item.host
        wanted = demand_amount(item.demand, host, state.problem.request.options)
        left = supply_of(state.problem, host.moid).total - load_of(state, host.moid).whole
        short = []
        if wanted.millicores > left.millicores:
            short.append(f"{wanted.millicores / 1000:g} cores, {max(0, left.millicores) / 1000:g} are left")
        if wanted.memory_mib > left.memory_mib:
            short.append(f"{wanted.memory_mib} MiB of memory, {max(0, left.memory_mib)} are left")
        if short:
            notes.append(
                f"{item.demand.name} could not run on {host.name} beside what runs there after the plan: it "
                f"needs {'; '.join(short)}"
            )
    return tuple(notes)
