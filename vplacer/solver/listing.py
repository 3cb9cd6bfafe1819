"""Option lists, made once for demands and for hosts that differ in nothing that a list looks at.

Two demands share their lists if they ask for the same cards in the same mode, and their CPU and memory may
be bound to the same nodes: sizes, priorities and weights do not matter. Two hosts share them if they are of
one hardware and are left with as many cards of each kind, whichever of equal cards those are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from vplacer.constraints.host_families import family_of
from vplacer.constraints.labels import portable_labels, scope_of
from vplacer.constraints.state import Problem
from vplacer.request.demand import AffinityMode, Demand
from vplacer.solver.cells import structure_of
from vplacer.solver.host_state import HostState
from vplacer.solver.numbers import Numbers
from vplacer.solver.option import NOBODY, Asked, Option, OptionList, Takers, asked_of
from vplacer.solver.options import NodeSets, fixes_nodes, list_options, node_sets, options_of_cards


def listing_of(problem: Problem) -> Listing:
    """Return the lists kept for all requests on an inventory."""
    return problem.derive_fact(_listing)


def _listing(_problem: Problem) -> Listing:
    return Listing()


class Listing:
    """Option lists by what they depend on: see `listing_of`."""

    def __init__(self) -> None:
        self._asked = Numbers()
        self._kinds = Numbers()
        self._exact = Numbers()
        self._nodes: dict[Hashable, NodeSets | OptionList] = {}
        self._same: dict[tuple[Option, ...], tuple[Option, ...]] = {}
        self._lists: dict[Hashable, OptionList] = {}

    def options(
        self, problem: Problem, demand: Demand, state: HostState, takers: Takers = NOBODY
    ) -> OptionList:
        """Return what `list_options` says; equal lists of options are one object."""
        host = state.host
        labels = portable_labels(problem, scope_of(host))
        if host is not problem.inventory.host_by_moid.get(host.moid):
            return list_options(demand, state, labels, takers)  # a host as it might be is of no family
        family = family_of(problem, host.moid)
        nodes = self._node_sets(demand, state, family)
        if isinstance(nodes, OptionList):
            return nodes
        asked = asked_of(demand)
        key = (
            self._asked.of(demand, lambda: asked),
            nodes,
            self._looked_at(asked, state, family),
            tuple(sorted(labels.items())) if asked.mode is AffinityMode.LABEL else (),
            takers if asked.narrowable else NOBODY,
        )
        if key not in self._lists:
            found = options_of_cards(asked, state, nodes, labels, takers)
            self._lists[key] = replace(found, options=self.one_object(found.options))
        return self._lists[key]

    def one_object(self, options: tuple[Option, ...]) -> tuple[Option, ...]:
        """Return the one tuple that stands for all with the same options, wherever they were listed."""
        return self._same.setdefault(options, options)

    def structure(self, problem: Problem, state: HostState) -> Hashable:
        """Return what two hosts must have in common to share all their lists, takers aside."""
        family = family_of(problem, state.host.moid)
        addresses = state.cells if state.host.device_groups else None
        return (
            *self._cards_left(state, family),
            state.vgpu_held,
            self._exact.of(state.cells, lambda: addresses) if addresses is not None else None,
            scope_of(state.host),
        )

    def _node_sets(self, demand: Demand, state: HostState, family: int) -> NodeSets | OptionList:
        bound = (fixes_nodes(demand), demand.kept_nodes)
        key = (family, demand.cpus, demand.vnuma_nodes, demand.prefer_ht, bound)
        if key not in self._nodes:
            self._nodes[key] = node_sets(demand, state)
        return self._nodes[key]

    def _looked_at(self, asked: Asked, state: HostState, family: int) -> Hashable:
        """What a list for some wishes depends on of what a host is left with."""
        if not asked.gpus and not asked.nics:
            return family
        kinds = self._cards_left(state, family)
        if asked.groups:
            return (kinds, state.vgpu_held, self._exact.of(state.cells, lambda: state.cells))
        return (kinds, state.vgpu_held) if asked.shares else kinds

    def _cards_left(self, state: HostState, family: int) -> tuple[Hashable, ...]:
        kinds = self._kinds.of(state.cells, lambda: structure_of(state.cells, state.topology))
        return (family, kinds, state.scarce)
