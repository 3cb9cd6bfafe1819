"""The options of all classes on all hosts of an instance; hosts that are alike share them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vplacer.constraints.labels import scope_of, why_not_portable
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import Amount
from vplacer.inventory.host import Host
from vplacer.request.demand import AffinityMode
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import Rejection, eligibility_of
from vplacer.solver.host_state import HostState
from vplacer.solver.listing import CardsLeft, Wishes, listing_of
from vplacer.solver.option import Option, OptionList, Takers
from vplacer.solver.wishes import wished_host_points

Options = dict[int, tuple[Option, ...]]
"""Options by class, in the order of the classes; classes without any are left out."""


@dataclass
class _Groups:
    """The classes that filters let on hosts of a kind, in order, each with the place of its wishes."""

    wishes: list[Wishes] = field(default_factory=list)
    classes: list[tuple[DemandClass, int]] = field(default_factory=list)


class Lister:
    """Lists the options of all classes on one host after the other.

    Equal lists are the same object, on whichever host they are.
    """

    def __init__(self, problem: Problem, classes: tuple[DemandClass, ...]) -> None:
        self.problem = problem
        self.classes = classes
        self.eligibility = eligibility_of(problem)
        self.listing = listing_of(problem)
        modes = {cls.demand.mode for cls in classes if cls.demand.has_devices}
        self._pin, self._label = AffinityMode.PIN in modes, AffinityMode.LABEL in modes
        self._ruled = problem.derive(_ruled)
        self._plain = tuple(c for c in classes if not is_particular(problem, c))
        self._particular = tuple(c for c in classes if is_particular(problem, c))
        self._shared: dict[Hashable, tuple[Options, bool]] = {}
        self._groups: dict[Hashable, _Groups] = {}
        self._roomy: dict[int, bool] = {}
        self._wished: dict[tuple[int, int], tuple[Option, ...]] = {}
        self._states: dict[str, HostState] = {}

    def on(self, state: HostState) -> tuple[Options, bool]:
        """Return the options of every class on a host, and whether no list was cut."""
        self._states[state.host.moid] = state
        where = self.eligibility.host(self.problem, state.host.moid)
        left = self.listing.left(self.problem, state)
        kind = (where, self._size(state, where))
        key = (kind, left.exact, left.labels, bool(state.actives))
        if key not in self._shared:
            if kind not in self._groups:
                self._groups[kind] = self._grouped(self._plain, state)
            self._shared[key] = self._of(self._groups[kind], left)
        shared, whole = self._shared[key]
        if not self._particular:
            return shared, whole
        own, own_whole = self._of(self._grouped(self._particular, state), left)
        return (dict(sorted({**shared, **own}.items())) if own else shared), whole and own_whole

    def rejections(self) -> Mapping[tuple[int, str], Rejection]:
        """Return why classes have no option on hosts that were looked at."""
        return _Rejections(self)

    def rejection(self, cls: DemandClass, moid: str) -> Rejection | None:
        """Return why a class has no option on a host, None where it has."""
        state = self._states[moid]
        found = rejected(self.problem, cls, state.host)
        if found is not None:
            return found
        listed = self._listed(cls, state)
        return None if listed.options else no_options(self.problem, state.host, listed)

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts that were looked at."""
        return tuple(self._states)

    def _grouped(self, classes: tuple[DemandClass, ...], state: HostState) -> _Groups:
        """Put the classes that may be on a host together that have the same lists there."""
        numbers: dict[int, int] = {}
        found = _Groups()
        for cls in classes:
            if rejected(self.problem, cls, state.host) is not None:
                continue
            wishes = self.listing.wishes(self.problem, cls.demand, state)
            if isinstance(wishes, OptionList):
                continue
            number = numbers.setdefault(wishes.number, len(numbers))
            if number == len(found.wishes):
                found.wishes.append(wishes)
            found.classes.append((cls, number))
        return found

    def _of(self, groups: _Groups, left: CardsLeft) -> tuple[Options, bool]:
        takers = self._takers(left.state)
        lists = [self.listing.found(self.problem, wishes, left, takers) for wishes in groups.wishes]
        found: Options = {}
        for cls, number in groups.classes:
            options = lists[number][0]
            if options:
                found[cls.index] = self._with_wishes(cls, left.state, options)
        return found, all(complete for _, complete in lists)

    def _listed(self, cls: DemandClass, state: HostState) -> OptionList:
        return self.listing.options(self.problem, cls.demand, state, self._takers(state))

    def _with_wishes(
        self, cls: DemandClass, state: HostState, options: tuple[Option, ...]
    ) -> tuple[Option, ...]:
        if cls.demand.id not in self._ruled:
            return options
        wished = wished_host_points(self.problem, cls.demand.id, state.host.moid)
        if not wished:
            return options
        key = (id(options), wished)
        if key not in self._wished:
            raised = tuple(replace(option, points=option.points + wished) for option in options)
            self._wished[key] = self.listing.one_object(raised)
        return self._wished[key]

    def _size(self, state: HostState, where: int) -> Amount | None:
        """What the empty host gives, where some class may be too large for one of the hosts like it."""
        if where not in self._roomy:
            moid = state.host.moid
            self._roomy[where] = all(
                self.eligibility.fits_all(self.problem, cls.demand, moid) for cls in self._plain
            )
        return None if self._roomy[where] else state.supply.total

    def _takers(self, state: HostState) -> Takers:
        return Takers(static=bool(state.actives) or self._pin, label=self._label)


class _Rejections(Mapping[tuple[int, str], Rejection]):
    """Rejections by class index and host, worked out when they are asked for."""

    def __init__(self, lister: Lister) -> None:
        self._lister = lister

    def __getitem__(self, key: tuple[int, str]) -> Rejection:
        index, moid = key
        found = self._lister.rejection(self._lister.classes[index], moid)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for moid in self._lister.hosts():
            for cls in self._lister.classes:
                if self._lister.rejection(cls, moid) is not None:
                    yield cls.index, moid

    def __len__(self) -> int:
        return sum(1 for _ in self)


def is_particular(problem: Problem, cls: DemandClass) -> bool:
    """Whether a class may see hosts that are alike with other eyes."""
    return cls.vm is not None or bool(cls.demand.hosts) or cls.demand.id in problem.derive(_ruled)


def _ruled(problem: Problem) -> frozenset[str]:
    """Demands that a rule ties to hosts, or to VMs whose host is known."""
    rules = problem.request.rules
    ties = [rule.vms for rule in rules.on_hosts] + [rule.vms for rule in rules.together]
    return frozenset(vm for vms in ties for vm in vms)


def no_options(problem: Problem, host: Host, listed: OptionList) -> Rejection:
    """Say why an option list is empty."""
    evidence = listed.evidence or "no choice of cards"
    told = [why_not_portable(problem, scope_of(host), label) for label in listed.labels]
    return Rejection(listed.constraint or "devices", "; ".join(filter(None, told)) or evidence)


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
