"""Which classes are kept off a host whatever is free there: by a filter, a rule, or the VM itself."""

from __future__ import annotations

from vplacer.constraints.state import Problem
from vplacer.constraints.supply import Amount
from vplacer.inventory.host import Host
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import Rejection, eligibility_of
from vplacer.solver.host_state import HostState


class Barred:
    """Tells it of some classes, once for hosts that nothing here tells apart.

    ``plain``: the classes that see such hosts with the same eyes; ``particular``: the others.
    """

    def __init__(self, problem: Problem, classes: tuple[DemandClass, ...]) -> None:
        self.problem = problem
        self.plain = tuple(c for c in classes if not is_particular(problem, c))
        self.particular = tuple(c for c in classes if is_particular(problem, c))
        self._eligibility = eligibility_of(problem)
        self._roomy: dict[int, bool] = {}
        self._plain_on: dict[tuple[int, Amount | None], frozenset[int]] = {}

    def place(self, state: HostState) -> tuple[int, Amount | None]:
        """Return all that plain classes look at: the host as filters see it, and what it gives empty.

        The latter only where some class may be too large for one of the hosts like it.
        """
        moid = state.host.moid
        where = self._eligibility.host(self.problem, moid)
        if where not in self._roomy:
            self._roomy[where] = all(
                self._eligibility.fits_all(self.problem, cls.demand, moid) for cls in self.plain
            )
        return where, None if self._roomy[where] else state.supply.total

    def on(self, state: HostState) -> frozenset[int]:
        """Return the classes that are kept off a host, by index."""
        place = self.place(state)
        if place not in self._plain_on:
            self._plain_on[place] = self._among(self.plain, state)
        return self._plain_on[place] | self._among(self.particular, state)

    def _among(self, classes: tuple[DemandClass, ...], state: HostState) -> frozenset[int]:
        return frozenset(c.index for c in classes if rejected(self.problem, c, state.host) is not None)


def is_particular(problem: Problem, cls: DemandClass) -> bool:
    """Whether a class may see hosts that are alike with other eyes."""
    return cls.vm is not None or bool(cls.demand.hosts) or cls.demand.id in problem.derive(ruled)


def ruled(problem: Problem) -> frozenset[str]:
    """Demands that a rule ties to hosts, or to VMs whose host is known."""
    rules = problem.request.rules
    ties = [rule.vms for rule in rules.on_hosts] + [rule.vms for rule in rules.together]
    return frozenset(vm for vms in ties for vm in vms)


def rejected(problem: Problem, cls: DemandClass, host: Host) -> Rejection | None:
    """Return what keeps a class off a host whatever else is placed: the VM itself, a filter, a rule."""
    demand = cls.demand
    if cls.vm is not None and not demand.may_move and cls.home is not None:
        if cls.stay is not None:
            return Rejection("may-not-move", "the VM has what was asked for and stays as it is")
        if host.moid != cls.home:
            return Rejection("may-not-move", f"the VM stays on its host ({_name(problem, cls.home)})")
    return eligibility_of(problem).rejection(problem, demand, host.moid) or _tied_elsewhere(
        problem, cls, host
    )


def _tied_elsewhere(problem: Problem, cls: DemandClass, host: Host) -> Rejection | None:
    """Return the rule that ties a class to a VM which is on another host, and is not placed anew."""
    for rule in problem.request.rules.together:
        if not rule.required or cls.demand.id not in rule.vms:
            continue
        anchors = [
            vm
            for member in rule.vms
            if member not in problem.demand_by_id
            and (vm := problem.inventory.vm_by_moid.get(member)) is not None
            and vm.host is not None
        ]
        elsewhere = [vm.name for vm in anchors if vm.host != host.moid]
        if elsewhere:
            names = ", ".join(elsewhere)
            return Rejection("together", f"rule '{rule.name}': {names} on another host")
    return None


def _name(problem: Problem, moid: str) -> str:
    host = problem.inventory.host_by_moid.get(moid)
    return host.name if host is not None else moid
