"""One linear model of a whole instance, as an engineer would write it down: how many VMs of each shape sit in
each way on each host. CP-SAT and a MILP solver are both given these very rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.peers.form import Floating, Host, Instance, Place
from benchmarks.peers.ways import Lister, Way

Terms = dict[int, int]
"""Variable to coefficient."""


@dataclass(frozen=True, slots=True)
class Row:
    """low <= terms <= high; None = no limit."""

    terms: Terms
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Seat:
    """What a variable counts: VMs of a shape in a way on a host."""

    host: int
    shape: int
    way: Way


@dataclass
class Model:
    """Integer variables from 0 to ``most``, rows, and the levels to maximise one after the other."""

    instance: Instance
    most: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    seats: dict[int, Seat] = field(default_factory=dict)
    vgpus: dict[tuple[int, int, str], int] = field(default_factory=dict)
    groups: list[tuple[tuple[int, ...], ...]] = field(default_factory=list)
    levels: list[tuple[str, Terms]] = field(default_factory=list)

    def variable(self, most: int) -> int:
        self.most.append(most)
        return len(self.most) - 1

    def row(self, terms: Mapping[int, int], *, low: int | None = None, high: int | None = None) -> None:
        if terms:
            self.rows.append(Row(dict(terms), low, high))


def build(instance: Instance) -> Model:
    """Build the model."""
    model = Model(instance)
    for number, host in enumerate(instance.hosts):
        _Host(model, number, host).add()
    of_shape: dict[int, Terms] = defaultdict(dict)
    for variable, seat in model.seats.items():
        of_shape[seat.shape][variable] = 1
    for number, mine in of_shape.items():
        model.row(mine, high=len(instance.shapes[number].vms))
    for pool in instance.pools:
        members = set(pool.hosts)
        terms = {
            v: pool.takes[seat.shape]
            for v, seat in model.seats.items()
            if instance.hosts[seat.host].id in members and seat.shape in pool.takes
        }
        model.row(terms, high=pool.memory_mib)
    for priority in instance.priorities:
        model.levels.append(
            (
                f"placed:{priority}",
                {
                    v: instance.shapes[seat.shape].weight
                    for v, seat in model.seats.items()
                    if instance.shapes[seat.shape].priority == priority
                },
            )
        )
    model.levels.append(("locality", {v: s.way.points for v, s in model.seats.items() if s.way.points}))
    return model


class _Host:
    """Adds one host to the model."""

    def __init__(self, model: Model, number: int, host: Host) -> None:
        self.model = model
        self.number = number
        self.host = host
        self.lister = Lister(host)
        self.groups = self.lister.groups
        self.use: list[dict[int, Terms]] = [{node.id: {} for node in host.nodes} for _ in range(2)]
        self.spread: list[Terms] = [{}, {}]
        self.total: list[Terms] = [{}, {}]
        self.cards: dict[int, Terms] = defaultdict(dict)
        self.vgpus: dict[str, Terms] = defaultdict(dict)

    def add(self) -> None:
        self.model.groups.append(self.groups)
        for number, shape in enumerate(self.model.instance.shapes):
            if self.host.id in shape.sizes:
                for way in self.lister.ways(shape):
                    self._way(number, way)
        for floating in self.host.floating:
            self._floats(floating, None, 1)
        self._room()
        self._cards()

    def _way(self, number: int, way: Way) -> None:
        shape = self.model.instance.shapes[number]
        size = shape.sizes[self.host.id]
        variable = self.model.variable(len(shape.vms))
        self.model.seats[variable] = Seat(self.number, number, way)
        for resource, amount in enumerate((size.millicores, size.memory_mib)):
            self.total[resource][variable] = amount * size.parts
            for node in way.nodes:
                self.use[resource][node][variable] = amount
        if shape.seat != "bound":
            parts = size.parts if shape.seat == "item" else 0
            nodes = tuple(node.id for node in self.host.nodes)
            item = Floating(parts, size.millicores, size.memory_mib, nodes)
            self._floats(item, variable, len(shape.vms))
        for take in way.takes:
            for group, count in take.twins:
                self.cards[group][variable] = self.cards[group].get(variable, 0) + count
            if take.profile is not None:
                needed = self.vgpus[take.profile]
                needed[variable] = needed.get(variable, 0) + take.count

    def _floats(self, item: Floating, variable: int | None, most: int) -> None:
        """Seat ``variable`` (None = one) times what floats: whole parts, or amounts spread over nodes."""
        if item.parts:
            seats = {node: self.model.variable(item.parts * most) for node in item.nodes}
            self._equal(seats, item.parts, variable)
            for resource, amount in enumerate((item.millicores, item.memory_mib)):
                for node, seat in seats.items():
                    self.use[resource][node][seat] = amount
            return
        everywhere = len(item.nodes) == len(self.host.nodes)
        for resource, amount in enumerate((item.millicores, item.memory_mib)):
            if everywhere and variable is not None:
                self.spread[resource][variable] = amount
            elif everywhere or not amount:
                continue  # A running one: counted in `_room`.
            else:
                shares = {node: self.model.variable(amount * most) for node in item.nodes}
                self._equal(shares, amount, variable)
                for node, share in shares.items():
                    self.use[resource][node][share] = 1

    def _equal(self, parts: Mapping[int, int], amount: int, variable: int | None) -> None:
        terms = dict.fromkeys(parts.values(), 1)
        if variable is None:
            self.model.row(terms, low=amount, high=amount)
        else:
            self.model.row({**terms, variable: -amount}, low=0, high=0)

    def _room(self) -> None:
        everywhere = [
            item for item in self.host.floating if not item.parts and len(item.nodes) == len(self.host.nodes)
        ]
        for resource, whole in enumerate((self.host.millicores, self.host.memory_mib)):
            self.model.row(self.total[resource], high=whole)
            left = -sum((item.millicores, item.memory_mib)[resource] for item in everywhere)
            together: Terms = dict(self.spread[resource])
            for node in self.host.nodes:
                room = (node.millicores, node.memory_mib)[resource]
                left += room
                self.model.row(self.use[resource][node.id], high=room)
                for variable, amount in self.use[resource][node.id].items():
                    together[variable] = together.get(variable, 0) + amount
            if self.spread[resource] or everywhere:
                self.model.row(together, high=left)

    def _cards(self) -> None:
        """Whole cards by twin group; a card that takes vGPUs serves one profile, or is given whole."""
        for group, cards in enumerate(self.groups):
            terms: Terms = dict(self.cards.get(group, {}))
            card = self.host.cards[cards[0]]
            for profile in card.vgpus:
                if profile in self.vgpus:
                    seats = self.model.variable(card.vgpus[profile])
                    cut = self.model.variable(1)
                    self.model.row({seats: 1, cut: -card.vgpus[profile]}, high=0)
                    self.model.vgpus[self.number, cards[0], profile] = seats
                    terms[cut] = 1
            self.model.row(terms, high=len(cards))
        for profile, needed in self.vgpus.items():
            seats_of = {
                seats: 1
                for (host, _, name), seats in self.model.vgpus.items()
                if host == self.number and name == profile
            }
            self.model.row({**seats_of, **{v: -count for v, count in needed.items()}}, low=0, high=0)


def value_of(terms: Mapping[int, int], values: Sequence[int]) -> int:
    return sum(weight * values[variable] for variable, weight in terms.items())


def decode(model: Model, values: Sequence[int]) -> list[Place]:
    """Name the VM and the cards of every seat; VMs of a shape are dealt in order."""
    instance = model.instance
    waiting = [iter(shape.vms) for shape in instance.shapes]
    free: dict[tuple[int, int], list[int]] = {
        (at, group): list(cards)
        for at, groups in enumerate(model.groups)
        for group, cards in enumerate(groups)
    }
    slots: dict[tuple[int, str], list[int]] = defaultdict(list)
    for (host, card, profile), variable in model.vgpus.items():
        slots[host, profile] += [card] * values[variable]
    found = []
    for variable, seat in model.seats.items():
        host = instance.hosts[seat.host]
        for _ in range(values[variable]):
            cards = []
            for take in seat.way.takes:
                if take.profile is not None:
                    mine = [slots[seat.host, take.profile].pop() for _ in range(take.count)]
                elif take.sets:
                    mine = [card for members in take.sets for card in members]
                    for card in mine:
                        next(
                            pile for (at, _), pile in free.items() if at == seat.host and card in pile
                        ).remove(card)
                else:
                    mine = [free[seat.host, group].pop() for group, n in take.twins for _ in range(n)]
                cards.append(tuple(host.cards[card].address for card in mine))
            found.append(Place(next(waiting[seat.shape]), host.id, seat.way.nodes, tuple(cards)))
    return found
