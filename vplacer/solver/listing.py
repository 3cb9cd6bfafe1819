"""Option lists, made once for demands and for hosts that differ in nothing that a list looks at.

Two demands share their lists if they ask for the same cards in the same mode, and their CPU and memory may
be bound to the same nodes: sizes, priorities and weights do not matter. Two hosts share them if they are of
one hardware and are left with as many cards of each kind, whichever of equal cards those are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from vplacer.constraints.host_families import family_of
from vplacer.constraints.labels import portable_labels, scope_of
from vplacer.constraints.state import Problem
from vplacer.request.demand import AffinityMode, Demand
from vplacer.solver.cells import structure_of
from vplacer.solver.cells_asked import cells_asked, kinds_asked, on_host
from vplacer.solver.host_state import HostState
from vplacer.solver.numbers import Numbers
from vplacer.solver.option import NOBODY, Asked, Option, OptionList, Takers, asked_of
from vplacer.solver.options import NodeSets, fixes_nodes, list_options, node_sets, options_of_cards
from vplacer.solver.static_options import StaticOptions


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a list depends on of a demand, on hosts of one family. ``number`` stands for the rest."""

    number: int
    asked: Asked
    nodes: NodeSets


@dataclass(frozen=True, slots=True)
class CardsLeft:
    """What a list depends on of what a host is left with, as numbers.

    ``kinds``: how many cards of each kind are left. ``shared``: and what VMs hold of those that are
    shared. ``exact``: and which of equal cards are left. ``labels``: which are portable.
    """

    state: HostState
    family: int
    kinds: int
    shared: int
    exact: int
    labels: int


@dataclass(frozen=True, slots=True)
class _Part:
    """What is left of some kinds of card, and which cells of the host these are."""

    left: CardsLeft
    numbers: tuple[int, ...]


def listing_of(problem: Problem) -> Listing:
    """Return the lists kept for all requests on an inventory."""
    return problem.derive_fact(_listing)


def _listing(_problem: Problem) -> Listing:
    return Listing()


class Listing:
    """Option lists by what they depend on: see `listing_of`."""

    def __init__(self) -> None:
        self._asked = Numbers()
        self._wishes = Numbers()
        self._structures = Numbers()
        self._cards = Numbers()
        self._left = Numbers()
        self._labels = Numbers()
        self._nodes: dict[Hashable, NodeSets | OptionList] = {}
        self._same: dict[tuple[Option, ...], tuple[Option, ...]] = {}
        self._lists: dict[Hashable, OptionList] = {}
        self._found: dict[Hashable, tuple[tuple[Option, ...], bool]] = {}
        self._static = StaticOptions()
        self._parts: dict[Hashable, _Part | None] = {}
        self._moved: dict[tuple[int, tuple[int, ...]], tuple[Option, ...]] = {}

    def options(
        self, problem: Problem, demand: Demand, state: HostState, takers: Takers = NOBODY
    ) -> OptionList:
        """Return what `list_options` says; equal lists of options are one object."""
        if state.host is not problem.inventory.host_by_moid.get(state.host.moid):
            # A host as it might be is of no family.
            return list_options(demand, state, portable_labels(problem, scope_of(state.host)), takers)
        wishes = self.wishes(problem, demand, state)
        if isinstance(wishes, OptionList):
            return wishes
        left = self.left(problem, state)
        key = _key(wishes, left, takers)
        if key not in self._lists:
            options, complete = self.found(problem, wishes, left, takers)
            if options:
                self._lists[key] = OptionList(options, complete)
            else:
                self._lists[key] = self._listed(problem, wishes, state, takers)
        return self._lists[key]

    def found(
        self, problem: Problem, wishes: Wishes, left: CardsLeft, takers: Takers
    ) -> tuple[tuple[Option, ...], bool]:
        """Return the options alone, and whether they are all: without any, no reason is looked for."""
        key = _key(wishes, left, takers)
        if key not in self._found:
            part = self._part(wishes.asked, left)
            if part is None:
                self._found[key] = self._list(problem, wishes, left, takers, key)
            else:
                options, complete = self.found(problem, wishes, part.left, takers)
                # Options of a part are kept, so that their id stands for them.
                moved = (id(options), part.numbers)
                if moved not in self._moved:
                    self._moved[moved] = self.one_object(on_host(options, part.numbers))
                self._found[key] = (self._moved[moved], complete)
        return self._found[key]

    def _list(
        self, problem: Problem, wishes: Wishes, left: CardsLeft, takers: Takers, key: Hashable
    ) -> tuple[tuple[Option, ...], bool]:
        """List the options on a host of which only cells of the kinds asked for are looked at."""
        options = self._static.of(problem, wishes.asked, wishes.nodes, left.state, left.family)
        if options is not None:
            return self.one_object(options), True
        listed = self._listed(problem, wishes, left.state, takers)
        options = self.one_object(listed.options)
        self._lists[key] = replace(listed, options=options)
        return options, listed.complete

    def _part(self, asked: Asked, left: CardsLeft) -> _Part | None:
        """Return what is left of the kinds of card that are asked for, None if that is all there is."""
        kinds = kinds_asked(asked)
        key = (left.exact, left.labels, kinds)
        if key not in self._parts:
            some = cells_asked(left.state, kinds)
            self._parts[key] = (
                None
                if some is None
                else _Part(self._left_of(some.state, left.family, left.labels), some.numbers)
            )
        return self._parts[key]

    def one_object(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """Return the one tuple that stands for all with the same options, wherever they were listed."""
        return self._same.setdefault(options, options)

    def wishes(self, problem: Problem, demand: Demand, state: HostState) -> Wishes | OptionList:
        """Return what a list depends on of a demand, or why it has no choice of nodes on the host."""
        family = family_of(problem, state.host.moid)
        bound = (fixes_nodes(demand), demand.kept_nodes)
        by = (family, demand.cpus, demand.vnuma_nodes, demand.prefer_ht, bound)
        if by not in self._nodes:
            self._nodes[by] = node_sets(demand, state)
        nodes = self._nodes[by]
        if isinstance(nodes, OptionList):
            return nodes
        asked = asked_of(demand)
        number = self._wishes.of_key((self._asked.of(demand, lambda: asked), nodes))
        return Wishes(number, asked, nodes)

    def left(self, problem: Problem, state: HostState) -> CardsLeft:
        """Return what lists depend on of a host's state."""
        labels = portable_labels(problem, scope_of(state.host))
        number = self._labels.of(labels, lambda: tuple(sorted(labels.items())))
        return self._left_of(state, family_of(problem, state.host.moid), number)

    def _left_of(self, state: HostState, family: int, labels: int) -> CardsLeft:
        structure = self._structures.of(state.cells, lambda: structure_of(state.cells, state.topology))
        kinds = self._left.of_key((family, structure, state.scarce))
        shared = self._left.of_key((kinds, state.vgpu_held))
        cards = self._cards.of(state.cells, lambda: state.cells) if state.host.device_groups else None
        exact = self._left.of_key((shared, cards))
        return CardsLeft(state, family, kinds, shared, exact, labels)

    def _listed(self, problem: Problem, wishes: Wishes, state: HostState, takers: Takers) -> OptionList:
        labels = portable_labels(problem, scope_of(state.host))
        return options_of_cards(wishes.asked, state, wishes.nodes, labels, takers)


def _key(wishes: Wishes, left: CardsLeft, takers: Takers) -> Hashable:
    """All that a list depends on."""
    asked = wishes.asked
    cards = left.family
    if asked.gpus or asked.nics:
        cards = left.exact if asked.groups else left.shared if asked.shares else left.kinds
    return (
        wishes.number,
        left.family,
        cards,
        left.labels if asked.mode is AffinityMode.LABEL else None,
        takers if asked.narrowable else NOBODY,
    )
