"""Changes that are no wish of a VM: a rule, a host, a running VM. Each is made or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from vplacer.constraints import costs
from vplacer.constraints.migration import can_move_live
from vplacer.constraints.state import Problem
from vplacer.inventory.host import ConnectionState, Host, HostPower
from vplacer.request.demand import Demand, Policy
from vplacer.request.today import DeviceReader
from vplacer.solver.conflicts.conflict import Conflict, ConflictPart
from vplacer.solver.conflicts.oracle import demands_like
from vplacer.solver.conflicts.site import SiteChange, altered
from vplacer.solver.moves import mover_of
from vplacer.solver.relaxing.model import GivenUp
from vplacer.solver.relaxing.variants import Variant

MOST_TOGGLES = 6


@dataclass(frozen=True, slots=True)
class Toggle:
    """Changes made together; the VM they move, as a demand to be placed anew, or demands as they become."""

    changes: tuple[GivenUp, ...]
    mover: Demand | None = None
    demands: tuple[Demand, ...] = ()

    @property
    def cost(self) -> int:
        """What the changes cost."""
        return sum(change.cost for change in self.changes)

    @property
    def text(self) -> str:
        """The changes in words."""
        return "; ".join(change.text for change in self.changes)


def toggles_of(problem: Problem, conflicts: Iterable[Conflict]) -> tuple[Toggle, ...]:
    """Return the changes that hit the conflicts of a request, the cheapest first."""
    reader = DeviceReader(problem.inventory)
    found: dict[str, Toggle] = {}
    for conflict in conflicts:
        for part in conflict.parts:
            toggle = _toggle(problem, part, reader)
            if toggle is not None:
                found.setdefault(toggle.text, toggle)
    return tuple(sorted(found.values(), key=lambda item: (item.cost, item.text)))


def wish_toggles(members: Sequence[Demand], variants: Sequence[Variant]) -> tuple[Toggle, ...]:
    """Return the variants of VMs that cannot be offered in several ways at once as changes of all of them."""
    return tuple(
        Toggle(
            tuple(
                GivenUp(
                    "wish",
                    step.text,
                    step.cost * len(members),
                    tuple(demand.id for demand in members),
                    field,
                    step.value,
                )
                for field, step in variant.steps
            ),
            demands=demands_like(variant.demand, members),
        )
        for variant in variants
    )


def _toggle(problem: Problem, part: ConflictPart, reader: DeviceReader) -> Toggle | None:
    if part.kind == "rule":
        return _of_rule(problem, part)
    if part.kind == "host" and len(part.objects) == 1:
        host = problem.inventory.host_by_moid[part.objects[0]]
        text = _opening(host)
        change = GivenUp("host", text or "", costs.HOST_CHANGE, objects=part.objects)
        return Toggle((change,)) if text else None
    if part.kind == "vm":
        vm = problem.inventory.vm_by_moid[part.objects[0]]
        mover = mover_of(problem, vm, reader)
        if mover is None:
            return None
        home = problem.inventory.host_by_moid.get(vm.host or "")
        stops = home is None or not can_move_live(vm, home)
        text = f"move {vm.name} off {home.name if home is not None else 'its host'}"
        text += " (stop it, move it, start it)" if stops else " while it runs"
        cost = costs.HOST_CHANGE + (5 if stops else 1)
        return Toggle((GivenUp("move", text, cost, objects=part.objects),), mover)
    return None


def _of_rule(problem: Problem, part: ConflictPart) -> Toggle | None:
    if part.field == "headroom.hosts":
        text = "ask for no headroom"
        return Toggle((GivenUp("rule", text, costs.SOFTER_RULE, field=part.field, value="0"),))
    gangs = {gang.name for gang in problem.request.rules.gangs}
    if part.value in gangs or part.field is None or not part.field.startswith("rules["):
        return None
    text = f"make rule '{part.value}' a preference"
    change = GivenUp("rule", text, costs.SOFTER_RULE, field=part.field, value=Policy.PREFERRED.value)
    return Toggle((change,))


def _opening(host: Host) -> str | None:
    """Say what an administrator does so that a host takes VMs; None for one that does not answer."""
    if host.connection is not ConnectionState.CONNECTED or host.power in (HostPower.OFF, HostPower.UNKNOWN):
        return None
    if host.power is HostPower.STANDBY:
        return f"take {host.name} out of standby"
    if host.in_maintenance:
        return f"end maintenance mode on {host.name}"
    if host.in_maintenance is None:
        return None
    return f"end quarantine on {host.name}" if host.in_quarantine else f"reboot {host.name}"


def with_toggles(problem: Problem, toggles: Sequence[Toggle]) -> Problem:
    """Return the problem with changes made; VMs that may move are demands of it."""
    changes = [change for item in toggles for change in item.changes]
    hosts = frozenset(moid for change in changes if change.kind == "host" for moid in change.objects)
    changed = altered(problem, SiteChange(hosts=hosts))
    request = problem.request
    fields = {change.field for change in changes if change.kind == "rule"}
    gone = {field.removeprefix("rules[").removesuffix("].policy") for field in fields if field is not None}
    rules = replace(
        request.rules,
        apart=tuple(rule for rule in request.rules.apart if rule.name not in gone),
        together=tuple(rule for rule in request.rules.together if rule.name not in gone),
        on_hosts=tuple(rule for rule in request.rules.on_hosts if rule.name not in gone),
    )
    options = request.options
    if "headroom.hosts" in fields:
        options = replace(options, headroom_hosts=0)
    movers = tuple(item.mover for item in toggles if item.mover is not None)
    become = {demand.id: demand for item in toggles for demand in item.demands}
    demands = (*(become.get(demand.id, demand) for demand in request.demands), *movers)
    return changed.with_request(replace(request, demands=demands, rules=rules, options=options))
