"""Before the first change: is the world still as it was, is everybody agreed, does the server see a problem?

Reads, never writes. `inspect` collects everything; `demand_clear` refuses on the first kind of trouble.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vplacer.apply.consent import MissingConsent, demand_consents, missing_consents
from vplacer.apply.options import ApplyOptions
from vplacer.apply.steps import steps_by_vm, switches_off, switches_on, vm_name
from vplacer.apply.words import Words
from vplacer.apply.world import World
from vplacer.constraints.ownership import reason_left_alone
from vplacer.errors import RequestError, StaleError, VSphereFault
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.plan.changes import Power, Reconfigure, Relocate
from vplacer.plan.model import ObjectKind, Plan, Step
from vplacer.plan.staleness import StaleField, stale_fields
from vplacer.port import CheckFinding

_POWER_FAULTS = frozenset({"InvalidPowerState", "InvalidState", "DeviceHotPlugNotSupported"})
"""What a server says of a VM that runs and will be off by then."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What the server says of a step beforehand.

    ``blocking``: it would refuse it. ``of_today``: steps before this one may change that, so it is no
    more than a warning.
    """

    step: str
    vm: str
    finding: CheckFinding
    blocking: bool
    of_today: bool


@dataclass(frozen=True, slots=True)
class Preflight:
    """All that speaks against a plan, or is to be known before it.

    ``owned``: VMs that are not to be touched, with the reason. ``checked``: what the server says.
    ``adopted``: VMs whose change version moved while all fields are as they were, in words.
    """

    inventory: Inventory
    stale: tuple[StaleField, ...]
    owned: tuple[tuple[str, str], ...]
    consents: tuple[MissingConsent, ...]
    checked: tuple[Checked, ...]
    adopted: tuple[str, ...]

    @property
    def clear(self) -> bool:
        """Whether nothing stands in the way."""
        blocked = any(item.blocking for item in self.checked)
        return not (self.stale or self.owned or self.consents or blocked)


def inspect(plan: Plan, world: World, options: ApplyOptions) -> Preflight:
    """Compare a plan with the vCenter as it is now, and ask the server about its steps.

    Raises:
        RequestError: the plan is not one that is ever carried out.
        Unreachable: the vCenter does not answer.
    """
    demand_applyable(plan)
    inventory = world.inventory()
    stale = stale_fields(plan, inventory)
    now = world.clock.now()
    return Preflight(
        inventory=inventory,
        stale=stale,
        owned=owned_vms(plan.steps, inventory, options),
        consents=missing_consents(plan, plan.steps, options, now, world.without_tools(plan.steps)),
        checked=() if stale else tuple(_checked(plan, world, inventory)),
        adopted=tuple(_adopted(plan, inventory, stale)),
    )


def demand_applyable(plan: Plan) -> None:
    """Refuse a plan that is only to be looked at.

    Raises:
        RequestError: hypothetical, or a partial placement of a request that cannot be met.
    """
    if plan.hypothetical:
        raise RequestError(
            "the plan is for a site that is not so; it is never carried out",
            why="; ".join(plan.what_if) or None,
            hint="plan without --what-if",
        )
    if plan.steps and not plan.applyable:
        raise RequestError(
            "the plan is only to be looked at",
            why=f"its verdict is {plan.verdict.status.value}; {len(plan.unplaced)} VMs have no place",
            hint="change the request, or plan with --partial, and plan again",
        )


def demand_clear(plan: Plan, found: Preflight) -> None:
    """Refuse a plan that something speaks against.

    Raises:
        StaleError: a field that the decision used has moved, or a VM is somebody else's; each is named.
        ConsentMissing: each with what it concerns.
        VSphereFault: the server would refuse a step.
    """
    if found.stale:
        words = Words(plan, found.inventory)
        lines = "".join(f"\n  {words.stale(item)}" for item in found.stale)
        raise StaleError(
            "the plan is stale; nothing was changed",
            obj=plan.source.vcenter,
            why=f"{len(found.stale)} fields that it was decided on have moved:{lines}",
            hint="plan again",
        )
    if found.owned:
        lines = "".join(f"\n  {vm_name(plan, vm)}: {why}" for vm, why in found.owned)
        raise StaleError(
            "VMs of the plan must not be touched; nothing was changed",
            obj=plan.source.vcenter,
            why=lines,
            hint="plan again, or name them with --include-managed if they are yours",
        )
    demand_consents(found.consents)
    blocking = [item for item in found.checked if item.blocking]
    if blocking:
        first = blocking[0]
        more = f" ({len(blocking) - 1} more steps would be refused too)" if len(blocking) > 1 else ""
        raise VSphereFault(
            f"the server would refuse to {plan.step_by_id[first.step].effect}; nothing was changed{more}",
            obj=vm_name(plan, first.vm),
            fault_type=first.finding.fault,
            why=first.finding.message,
            hint="mend what it names, then plan again",
        )


def owned_vms(
    steps: Iterable[Step], inventory: Inventory, options: ApplyOptions
) -> tuple[tuple[str, str], ...]:
    """Return the VMs of steps that are not to be touched, with the reason."""
    found = []
    for vm_id in steps_by_vm(steps):
        vm = inventory.vm_by_moid.get(vm_id)
        if vm is None or vm.moid in options.include_managed or vm.name in options.include_managed:
            continue
        reason = reason_left_alone(vm, inventory)
        if reason is not None:
            found.append((vm_id, reason))
    return tuple(found)


def _adopted(plan: Plan, inventory: Inventory, stale: Sequence[StaleField]) -> Iterable[str]:
    moved = {item.object for item in stale}
    for seen in plan.observed:
        vm = inventory.vm_by_moid.get(seen.id)
        if seen.kind is not ObjectKind.VM or vm is None or seen.id in moved:
            continue
        if seen.change_version != vm.change_version:
            yield f"{seen.name}: somebody has written to it since, and no field that matters has moved"


def _checked(plan: Plan, world: World, inventory: Inventory) -> Iterable[Checked]:
    for vm_id, steps in steps_by_vm(plan.steps).items():
        vm = inventory.vm_by_moid.get(vm_id)
        if vm is None or vm.host is None:
            continue
        host = vm.host
        for index, step in enumerate(steps):
            change = step.change
            if isinstance(change, Relocate):
                host = change.host_after
            elif isinstance(change, Reconfigure):
                yield from _reconfigure(world, vm, host, change, step, steps[:index])
            elif switches_on(change) and isinstance(change, Power) and index == 0:
                found = world.patiently(lambda v=vm, h=host: world.port.check(v.moid, h, None))  # type: ignore[misc]
                yield from (Checked(step.id, vm.moid, f, f.blocking, False) for f in found)


def _reconfigure(
    world: World, vm: Vm, host: str, change: Reconfigure, step: Step, earlier: Sequence[Step]
) -> Iterable[Checked]:
    own = {item.id for item in earlier}
    off_by_then = any(switches_off(item.change) for item in earlier)
    # A finding may be about what earlier steps change: of this VM, or of another that leaves first.
    settled = all(switches_off(item.change) for item in earlier) and set(step.depends_on) <= own
    for finding in world.patiently(lambda: world.port.check(vm.moid, host, change)):
        of_power = off_by_then and finding.fault in _POWER_FAULTS
        if of_power:
            continue
        yield Checked(
            step.id, vm.moid, finding, finding.blocking and settled, finding.blocking and not settled
        )
