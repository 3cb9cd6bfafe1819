"""Where VMs of a shape would sit on a host, by what the hardware is: whoever holds it now.

A VM that fits one NUMA node is looked for node by node, with its cards on the node of its vCPUs; a larger
one on the host as a whole. Cards that are to be joined (NVLink, one switch, a device group) are counted
set by set. What a request wishes and the hardware cannot give, such as four cards of a node that has two,
is looked for one step wider; what it requires is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vplacer.constraints.cards import devices_of_host
from vplacer.constraints.holdings import AssignableDevice
from vplacer.constraints.host_families import family_of
from vplacer.constraints.matching import gpu_matches, group_sets, nic_matches
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import (
    Amount,
    Seat,
    consumer_of_demand,
    demand_parts,
    nodes_with_cores,
    overcommit_of,
)
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import Demand, GpuAsk, NicAsk, Policy
from vplacer.solver.eligible import Eligibility, eligibility_of
from vplacer.solver.future.shapes import MixShape, mix_shapes
from vplacer.solver.vgpu_patterns import card_patterns
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """Devices of one kind that each VM takes ``count`` of.

    ``profile``: vGPUs of it, else whole cards. ``fine``: ``zones`` has the cards of each place, else those
    of each group of places. ``most``: vGPUs that an empty card takes at most, 1 for whole cards.
    ``losses``: by how many vGPUs fewer, where a vGPU of another profile is put on an empty card.
    """

    count: int
    profile: str | None
    fine: bool
    zones: tuple[frozenset[PciAddress], ...]
    most: int = 1
    losses: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Places that share CPU and memory: of a NUMA node (its id), or of the whole host (None)."""

    node: int | None
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShapeHere:
    """A shape on one host. ``part`` is what each of its ``parts`` takes of a node, ``whole`` all of them.

    ``divisible``: its CPU and memory may be spread over the nodes at will.
    """

    shape: int
    points: int
    part: Amount
    parts: int
    whole: Amount
    divisible: bool
    groups: tuple[Group, ...]
    needs: tuple[Need, ...]

    @property
    def place_count(self) -> int:
        """How many places."""
        return sum(len(group.places) for group in self.groups)


@dataclass(frozen=True)
class HostMix:
    """The shapes that a host could have VMs of, and the problem that tells what placements take."""

    problem: Problem
    shapes: tuple[ShapeHere, ...]


def mix_of_host(problem: Problem, moid: str) -> HostMix | None:
    """Return the shapes of a host, None where there are none. Hosts that are alike have the same objects."""
    shapes = shapes_here(problem, moid)
    return HostMix(problem, shapes) if shapes else None


def shapes_here(problem: Problem, moid: str) -> tuple[ShapeHere, ...]:
    """Return the shapes of the mix that a host could have VMs of, were it empty."""
    return problem.derive(_shapes_here, moid)


def _shapes_here(problem: Problem, moid: str) -> tuple[ShapeHere, ...]:
    allowed = eligibility_of(problem)
    alike = problem.derive(_known_shapes)
    number = allowed.host(problem, moid)
    if number not in alike:
        found = _shapes_of(problem, allowed, moid)
        demands = [shape.demand for shape in mix_shapes(problem)]
        if not all(allowed.same_for_all(problem, demand, moid) for demand in demands):
            return found
        alike[number] = found
    return alike[number]


def _known_shapes(_problem: Problem) -> dict[int, tuple[ShapeHere, ...]]:
    return {}


def _shapes_of(problem: Problem, allowed: Eligibility, moid: str) -> tuple[ShapeHere, ...]:
    known = problem.derive(_known_layouts)
    ratios = overcommit_of(problem.request.options, problem.inventory.host_by_moid[moid].cluster)
    found = []
    for shape in mix_shapes(problem):
        if allowed.rejection(problem, shape.demand, moid) is None:
            # What a VM takes depends on the hardware, and on what its cluster allows.
            key = (shape.index, family_of(problem, moid), ratios)
            if key not in known:
                known[key] = _Layout(problem, shape, moid).make()
            here = known[key]
            if here is not None:
                found.append(here)
    return tuple(found)


def _known_layouts(_problem: Problem) -> dict[tuple[int, int, tuple[float, float]], ShapeHere | None]:
    return {}


@dataclass(frozen=True, slots=True)
class _Wish:
    """Cards that serve asks, and how many of them a VM takes. ``joined``: they are to be joined."""

    cards: tuple[AssignableDevice, ...]
    count: int
    profile: str | None
    joined: bool


class _Layout:
    """Finds the places of one shape on one host."""

    def __init__(self, problem: Problem, shape: MixShape, moid: str) -> None:
        self.problem = problem
        self.shape = shape
        self.demand = shape.demand
        self.host = host = problem.inventory.host_by_moid[moid]
        self.topology = problem.topologies[moid]
        self.devices = devices_of_host(problem, moid)
        self.with_cores = {node.id for node in nodes_with_cores(host)}
        self.parts = demand_parts(self.demand, host)
        self.joins = joined_by(self.demand, self.topology)
        self.wishes = self._wishes()

    def make(self) -> ShapeHere | None:
        """Return the shape here; None where the hardware has no place for it."""
        if self.demand.cpus % self.parts:
            return None
        policies = {gpu.policy for gpu in self.demand.gpus} | {nic.policy for nic in self.demand.nics}
        required = Policy.REQUIRED in policies
        must_join = any(ask.interconnect_required for ask in self.demand.gpus)
        must_join = must_join or any(ask.at_required for ask in self.demand.nics)
        one_node = self.parts == 1 and bool(self.with_cores) and policies != {Policy.NONE}
        if not self.wishes:
            one_node = False
        steps: list[tuple[bool, bool]] = []  # on one node, joined
        if self.joins is not None:
            steps += [(True, True)] if one_node else []
            steps += [] if required and one_node else [(False, True)]
        if self.joins is None or not must_join:
            steps += [(True, False)] if one_node else []
            steps += [] if required and one_node else [(False, False)]
        for on_node, joined in steps:
            found = self._try(on_node, joined)
            if found is not None:
                return found
        return None

    def _try(self, on_node: bool, joined: bool) -> ShapeHere | None:
        """Lay out places of one kind; None where no place has all the cards of a VM, were they free."""
        fine = [w for w in self.wishes if w.joined] if joined else self.wishes
        rest = [w for w in self.wishes if w not in fine]
        cards: dict[Key, dict[int, set[PciAddress]]] = defaultdict(lambda: defaultdict(set))
        for number, wish in enumerate(fine):
            for card in wish.cards:
                key = self._key(card, on_node, joined)
                if key is not None:
                    cards[key][number].add(card.address)
        if not self.wishes:
            cards[()][0] = set()
        keys = [key for key in cards if self._holds_one(fine, cards[key])]
        by_group: dict[object, list[Key]] = defaultdict(list)
        for key in sorted(keys, key=str):
            by_group[key[0] if on_node else None].append(key)
        groups: list[Group] = []
        order: list[Key] = []
        for node in sorted(by_group, key=str):
            if all(self._room_of(wish, self._of_group(wish, node)) >= wish.count for wish in rest):
                at = len(order)
                order += by_group[node]
                groups.append(Group(node if isinstance(node, int) else None, tuple(range(at, len(order)))))
        if not groups:
            return None
        needs = [
            self._need(wish, True, tuple(frozenset(cards[key][number]) for key in order))
            for number, wish in enumerate(fine)
        ]
        needs += [
            self._need(wish, False, tuple(frozenset(self._of_group(wish, group.node)) for group in groups))
            for wish in rest
        ]
        return self._here(tuple(groups), tuple(needs))

    def _here(self, groups: tuple[Group, ...], needs: tuple[Need, ...]) -> ShapeHere | None:
        options = self.problem.request.options
        consumer = consumer_of_demand(self.demand, (), self.host, options)
        if consumer is None:
            return None
        return ShapeHere(
            shape=self.shape.index,
            points=self.shape.points,
            part=consumer.part,
            parts=consumer.parts,
            whole=consumer.whole,
            divisible=consumer.seat is Seat.DIVISIBLE and groups[0].node is None,
            groups=groups,
            needs=needs,
        )

    def _key(self, card: AssignableDevice, on_node: bool, joined: bool) -> Key | None:
        """Return what tells the place of a card from others, None where it is in none."""
        node: tuple[object, ...] = ()
        if on_node:
            if card.node not in self.with_cores:
                return None
            node = (card.node,)
        if not joined or self.joins is None:
            return node
        group = self.joins(card.address)
        return None if group is None else (*node, group)

    def _holds_one(self, fine: list[_Wish], cards: dict[int, set[PciAddress]]) -> bool:
        return all(
            self._room_of(wish, cards.get(number, set())) >= wish.count for number, wish in enumerate(fine)
        )

    def _room_of(self, wish: _Wish, cards: Iterable[PciAddress]) -> int:
        among = set(cards)
        return sum(self._empty(wish, card) for card in wish.cards if card.address in among)

    def _of_group(self, wish: _Wish, node: object) -> set[PciAddress]:
        return {card.address for card in wish.cards if node is None or card.node == node}

    def _empty(self, wish: _Wish, card: AssignableDevice, held: tuple[str, ...] = ()) -> int:
        if wish.profile is None:
            return 1
        return max(pattern[0] for pattern in card_patterns(self.host, card, held, (wish.profile,)))

    def _need(self, wish: _Wish, fine: bool, zones: tuple[frozenset[PciAddress], ...]) -> Need:
        if wish.profile is None:
            return Need(wish.count, None, fine, zones)
        losses = []
        for other in sorted({a.profile for d in self.problem.request.demands for a in d.gpus if a.profile}):
            lost = [self._empty(wish, card) - self._empty(wish, card, (other,)) for card in wish.cards]
            losses.append((other, max(lost)))
        most = max(self._empty(wish, card) for card in wish.cards)
        return Need(wish.count, wish.profile, fine, zones, most, tuple(losses))

    def _wishes(self) -> list[_Wish]:
        """Return what a VM takes, asks for the same cards put together. Virtual functions do not count."""
        found: dict[tuple[tuple[AssignableDevice, ...], str | None], tuple[int, bool]] = {}
        near = self.joins is not None and not any(map(_by_link, self.demand.gpus))
        for ask in self.demand.gpus:
            cards = tuple(card for card in self.devices if gpu_matches(self.host, card, ask))
            count = ask.count * _cards_a_group(self.topology, ask)
            before, joined = found.get((cards, ask.profile), (0, False))
            found[cards, ask.profile] = (before + count, joined or near or _is_joined(ask))
        for nic in self.demand.nics:
            if nic.kind != "passthrough":
                continue
            cards = tuple(card for card in self.devices if nic_matches(card, nic))
            before, joined = found.get((cards, None), (0, False))
            found[cards, None] = (before + nic.count, joined or (near and _at_switch(nic)))
        return [_Wish(cards, count, profile, joined) for (cards, profile), (count, joined) in found.items()]


def joined_by(demand: Demand, topology: HostTopology) -> Callable[[PciAddress], object] | None:
    """Return what names the set in which a demand's cards are to be; None where any set will do."""
    for ask in demand.gpus:
        if ask.group is not None:
            sets = group_sets(topology, ask.group)
            return None if sets is None else _first_of(sets)
        if _is_joined(ask):
            if ask.interconnect is Level.NVLINK:
                return _first_of(topology.nvlink_groups)
            return _switch_of(topology)
    return _switch_of(topology) if any(_at_switch(nic) for nic in demand.nics) and demand.gpus else None


def _is_joined(ask: GpuAsk) -> bool:
    return ask.group is not None or (
        ask.profile is None and ask.count > 1 and ask.interconnect in (Level.NVLINK, Level.SWITCH)
    )


def _by_link(ask: GpuAsk) -> bool:
    return _is_joined(ask) and (ask.group is not None or ask.interconnect is Level.NVLINK)


def _at_switch(nic: NicAsk) -> bool:
    return nic.near_gpu and nic.at is Level.SWITCH and nic.kind == "passthrough"


def _first_of(sets: tuple[tuple[PciAddress, ...], ...]) -> Callable[[PciAddress], object]:
    of: dict[PciAddress, int] = {}
    for number, cards in enumerate(sets):
        for card in cards:
            of.setdefault(card, number)
    return of.get


def _switch_of(topology: HostTopology) -> Callable[[PciAddress], object]:
    def switch(address: PciAddress) -> object:
        device = topology.device(address)
        return device.switch if device is not None else None

    return switch


def _cards_a_group(topology: HostTopology, ask: GpuAsk) -> int:
    if ask.group is None:
        return 1
    return max((o.gpu_count for o in topology.device_groups if o.name == ask.group), default=1) or 1
