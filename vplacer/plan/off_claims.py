"""Cards that a plan gives away although a VM that is off has them in its configuration.

Such a card is free until its VM is switched on, which then fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.constraints.holdings import PASSTHROUGH, cards_of_host
from vplacer.constraints.state import State
from vplacer.inventory.pci import PciAddress
from vplacer.plan.draft import Draft
from vplacer.request.demand import BoundBy
from vplacer.topology.vm_claims import claims_at_power_on


def off_claim_notes(state: State, drafts: Sequence[Draft]) -> tuple[str, ...]:
    """Return a remark for each VM that is off, not changed, and could not be switched on after the plan."""
    changed = {item.demand.vm for item in drafts}
    given: dict[str, dict[PciAddress, str]] = {}
    for item in drafts:
        if not item.changes:
            continue
        cards = given.setdefault(item.host.moid, {})
        for device in item.placement.devices:
            if device.bound_by is BoundBy.STATIC:
                cards[device.address] = item.demand.name
    notes = []
    inventory = state.problem.inventory
    for host in inventory.hosts:
        taken = given.get(host.moid)
        if not taken:
            continue
        cards_of = cards_of_host(state.problem, host)
        for vm in inventory.vms_by_host.get(host.moid, ()):
            if vm.moid in changed:
                continue
            lost = {
                claim.address: taken[claim.address]
                for claim in claims_at_power_on(vm, cards_of)
                if claim.kind == PASSTHROUGH and claim.address in taken
            }
            if lost:
                listed = ", ".join(f"{address} to {name}" for address, name in sorted(lost.items()))
                what = "its static device" if len(lost) == 1 else "its static devices"
                notes.append(
                    f"{vm.name} does not run, and cannot be switched on after the plan, which gives {what} "
                    f"{listed}"
                )
    return tuple(notes)
