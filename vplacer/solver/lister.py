"""The options of all classes on all hosts of an instance; hosts that are alike share them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vplacer.constraints.labels import scope_of, why_not_portable
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.request.demand import AffinityMode
from vplacer.solver.barred import Barred, rejected, ruled
from vplacer.solver.classes import DemandClass
from vplacer.solver.eligible import Rejection
from vplacer.solver.host_state import HostState
from vplacer.solver.listing import CardsLeft, Wishes, listing_of
from vplacer.solver.option import Option, OptionList, Takers
from vplacer.solver.wishes import wished_host_points

Options = dict[int, tuple[Option, ...]]
"""Options by class, in the order of the classes; classes without any are left out."""


@dataclass
class _Groups:
    """The classes that filters let on hosts of a kind, in order, each with the place of its wishes.

    ``ruled``: those of them that rules may wish to be on some hosts.
    """

    wishes: list[Wishes] = field(default_factory=list)
    classes: list[tuple[int, int]] = field(default_factory=list)
    ruled: list[DemandClass] = field(default_factory=list)


class Lister:
    """Lists the options of all classes on one host after the other.

    Equal lists are the same object, on whichever host they are.
    """

    def __init__(self, problem: Problem, classes: tuple[DemandClass, ...]) -> None:
        self.problem = problem
        self.classes = classes
        self.listing = listing_of(problem)
        modes = {cls.demand.mode for cls in classes if cls.demand.has_devices}
        self._pin, self._label = AffinityMode.PIN in modes, AffinityMode.LABEL in modes
        self._ruled = problem.derive(ruled)
        self._barred = Barred(problem, classes)
        self._shared: dict[Hashable, tuple[Options, bool]] = {}
        self._groups: dict[Hashable, _Groups] = {}
        self._wished: dict[tuple[int, int], tuple[Option, ...]] = {}
        self._states: dict[str, HostState] = {}

    def on(self, state: HostState) -> tuple[Options, bool]:
        """Return the options of every class on a host, and whether no list was cut."""
        self._states[state.host.moid] = state
        kind = self._barred.place(state)
        left = self.listing.left(self.problem, state)
        key = (kind, left.exact, left.labels, bool(state.actives))
        if key not in self._shared:
            if kind not in self._groups:
                self._groups[kind] = self._grouped(self._barred.plain, state)
            self._shared[key] = self._of(self._groups[kind], left)
        shared, whole = self._shared[key]
        if not self._barred.particular:
            return shared, whole
        own, own_whole = self._of(self._grouped(self._barred.particular, state), left)
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
            found.classes.append((cls.index, number))
            if cls.demand.id in self._ruled:
                found.ruled.append(cls)
        return found

    def _of(self, groups: _Groups, left: CardsLeft) -> tuple[Options, bool]:
        takers = self._takers(left.state)
        lists = [self.listing.found(self.problem, wishes, left, takers) for wishes in groups.wishes]
        found: Options = {}
        for index, number in groups.classes:
            options = lists[number][0]
            if options:
                found[index] = options
        for cls in groups.ruled:
            if cls.index in found:
                found[cls.index] = self._with_wishes(cls, left.state, found[cls.index])
        return found, all(complete for _, complete in lists)

    def _listed(self, cls: DemandClass, state: HostState) -> OptionList:
        return self.listing.options(self.problem, cls.demand, state, self._takers(state))

    def _with_wishes(
        self, cls: DemandClass, state: HostState, options: tuple[Option, ...]
    ) -> tuple[Option, ...]:
        wished = wished_host_points(self.problem, cls.demand.id, state.host.moid)
        if not wished:
            return options
        key = (id(options), wished)
        if key not in self._wished:
            raised = tuple(replace(option, points=option.points + wished) for option in options)
            self._wished[key] = self.listing.one_object(raised)
        return self._wished[key]

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


def no_options(problem: Problem, host: Host, listed: OptionList) -> Rejection:
    """Say why an option list is empty."""
    evidence = listed.evidence or "no choice of cards"
    told = [why_not_portable(problem, scope_of(host), label) for label in listed.labels]
    return Rejection(listed.constraint or "devices", "; ".join(filter(None, told)) or evidence)
