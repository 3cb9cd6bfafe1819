"""OpenStack Nova's way to place VMs: one after the other, each on the best-weighed host its NUMA cells fit.

Written anew from the published rules, of which the sources are:

- nova.virt.hardware.numa_fit_instance_to_host: permutations of host cells for the instance's cells, cells
  without PCI devices first where none are asked for; the first that fits is taken, if all of the instance's
  PCI requests can be met for the cells chosen.
- nova.pci.stats.PciDeviceStats: PCI NUMA affinity "required" takes devices of the instance's cells, "socket"
  of their sockets, "legacy" also those of unknown node, "preferred" any, nearer ones first.
- nova.scheduler.weights: RAM, CPU and PCI weighers, each normalised to 0..1 over the hosts that pass, times
  its multiplier (1.0), added up; the host with the greatest sum. The PCI weigher prefers hosts with fewer
  free devices. A negative multiplier of RAM and CPU stacks VMs instead of spreading them.

What Nova cannot say is given to it here where that helps it: of the devices its rule allows, the first choice
that keeps the wishes for NVLink, switch and NIC near GPU is taken, where there is one. Its policy for each
ask is the nearest it has: required, socket, and preferred for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product

from benchmarks.peers.checker import points, room_left
from benchmarks.peers.clock import Clock
from benchmarks.peers.form import Ask, Host, Instance, Place, Shape
from benchmarks.peers.solvers import Found, Level
from benchmarks.peers.ways import Take, judge, twins

_MOST_CHOICES = 2_000
"""Choices of devices looked at for one set of cells."""


@dataclass
class HostUse:
    """What Nova has put on a host so far."""

    host: Host
    free: dict[int, list[int]]
    cards: list[int]
    vgpus: dict[int, dict[str, int]] = field(default_factory=dict)
    seats: list[tuple[Shape, tuple[int, ...]]] = field(default_factory=list)
    groups: Sequence[Sequence[int]] = ()

    @classmethod
    def of(cls, host: Host) -> HostUse:
        free = {node.id: [node.millicores, node.memory_mib] for node in host.nodes}
        return cls(host, free, list(range(len(host.cards))), groups=twins(host))

    def hold(self, shape: Shape, cards: Sequence[tuple[int, ...]]) -> None:
        """Take the devices of a VM."""
        for ask, chosen in zip(shape.asks, cards, strict=True):
            for card in chosen:
                if ask.profile is not None:
                    there = self.vgpus.setdefault(card, {})
                    there[ask.profile] = there.get(ask.profile, 0) + 1
                else:
                    self.cards.remove(card)

    def release(self, shape: Shape, cards: Sequence[tuple[int, ...]]) -> None:
        """Give the devices of a VM back."""
        for ask, chosen in zip(shape.asks, cards, strict=True):
            for card in chosen:
                if ask.profile is None:
                    self.cards.append(card)
                    continue
                self.vgpus[card][ask.profile] -= 1
                if not self.vgpus[card][ask.profile]:
                    del self.vgpus[card][ask.profile]
        self.cards.sort()

    @property
    def totals(self) -> tuple[int, int]:
        """Free cores and memory as the weighers see them."""
        taken = [0, 0]
        for shape, _ in self.seats:
            size = shape.sizes[self.host.id]
            taken[0] += size.millicores * size.parts
            taken[1] += size.memory_mib * size.parts
        return self.host.millicores - taken[0], self.host.memory_mib - taken[1]


def place(instance: Instance, *, stack: bool, clock: Clock) -> Found:
    """Place the VMs one after the other, by priority, then in the order of the request."""
    uses = [HostUse.of(host) for host in instance.hosts]
    queue = [
        (vm, shape)
        for shape in sorted(instance.shapes, key=lambda shape: -shape.priority)
        for vm in shape.vms
    ]
    pools = {pool.name: pool.memory_mib for pool in instance.pools}
    found: list[Place] = []
    for vm, shape in queue:
        number = instance.shapes.index(shape)
        fitting = []
        for use in uses:
            if any(
                use.host.id in pool.hosts and pool.takes.get(number, 0) > pools[pool.name]
                for pool in instance.pools
            ):
                continue
            fit = fit_host(use, shape)
            if fit is not None:
                fitting.append((use, fit))
        if not fitting:
            continue
        use, (nodes, cards) = _best(fitting, stack)
        for pool in instance.pools:
            if use.host.id in pool.hosts:
                pools[pool.name] -= pool.takes.get(number, 0)
        _take(use, shape, nodes, cards)
        names = tuple(tuple(use.host.cards[card].address for card in group) for group in cards)
        found.append(Place(vm, use.host.id, nodes, names))
    seconds = clock.seconds()
    shapes = instance.shape_by_vm
    levels = [
        Level(
            f"placed:{priority}",
            sum(shapes[p.vm].weight for p in found if shapes[p.vm].priority == priority),
            None,
        )
        for priority in instance.priorities
    ]
    return Found(found, [*levels, Level("locality", points(instance, found), None)], seconds)


Fit = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""Nodes, and cards for each ask."""


def fit_host(use: HostUse, shape: Shape) -> Fit | None:
    """Fit the instance's cells to the host's by permutations; None = the host does not pass."""
    host = use.host
    if host.id not in shape.sizes:
        return None
    size = shape.sizes[host.id]
    if shape.seat != "bound":
        if not room_left(host, [*use.seats, (shape, ())]):
            return None
        cards = _devices(use, shape, ())
        return ((), cards) if cards is not None else None
    cells = [node.id for node in host.nodes]
    if len(cells) < size.parts:
        return None
    if not shape.asks:
        with_cards = {node for card in use.cards for node in host.cards[card].on}
        cells.sort(key=lambda cell: cell in with_cards)
    for chosen in permutations(cells, size.parts):
        if any(use.free[cell][0] < size.millicores or use.free[cell][1] < size.memory_mib for cell in chosen):
            continue
        cards = _devices(use, shape, chosen)
        if cards is not None and room_left(host, [*use.seats, (shape, chosen)]):
            return chosen, cards
    return None


def _devices(use: HostUse, shape: Shape, cells: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
    """Return devices the policies allow, with all wishes kept where such were found; None = too few."""
    for chosen in choices(use, shape, cells):
        return chosen
    return next(_allowed(use, shape, cells), None)


def choices(use: HostUse, shape: Shape, cells: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield choices of devices that keep all wishes."""
    for tried, chosen in enumerate(_allowed(use, shape, cells)):
        if tried >= _MOST_CHOICES:
            return
        if _wishes(use, shape, cells, chosen) is not None:
            yield chosen


def _allowed(use: HostUse, shape: Shape, cells: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    for chosen in product(*(list(_of_ask(use, ask, cells)) for ask in shape.asks)):
        whole = [c for ask, cards in zip(shape.asks, chosen, strict=True) if not ask.profile for c in cards]
        if len(set(whole)) == len(whole):
            yield chosen


def _of_ask(use: HostUse, ask: Ask, cells: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Choices of devices for one request, of the nearest pools that have enough and the policy allows."""
    host = use.host
    if ask.profile is not None:
        room = [c for c in use.cards for _ in range(_slots(use, c, ask.profile))]
        if len(room) >= ask.count:
            yield tuple(room[: ask.count])
        return
    if ask.group is not None:
        free = [members for members in host.groups.get(ask.group, ()) if set(members) <= set(_untouched(use))]
        for sets in combinations(free, ask.count):
            yield tuple(card for members in sets for card in members)
        return
    fitting = [
        card
        for card in _untouched(use)
        if host.cards[card].whole and host.cards[card].kind == ask.kind and host.cards[card].type in ask.types
    ]
    near = [card for card in fitting if set(cells) & set(host.cards[card].on)]
    if ask.policy == "required" or len(near) >= ask.count:
        yield from combinations(near, ask.count)
        return
    if ask.policy == "socket":
        yield from combinations(
            [card for card in fitting if card in near or set(cells) & set(host.cards[card].beside)],
            ask.count,
        )
        return
    yield from combinations(sorted(fitting, key=lambda card: card not in near), ask.count)


def _untouched(use: HostUse) -> list[int]:
    return [card for card in use.cards if not use.vgpus.get(card)]


def _slots(use: HostUse, card: int, profile: str) -> int:
    there = use.vgpus.get(card, {})
    if any(name != profile for name in there):
        return 0
    return use.host.cards[card].vgpus.get(profile, 0) - there.get(profile, 0)


def _wishes(
    use: HostUse, shape: Shape, cells: tuple[int, ...], chosen: Sequence[tuple[int, ...]]
) -> int | None:
    takes = []
    group_of = {card: number for number, group in enumerate(use.groups) for card in group}
    for ask, cards in zip(shape.asks, chosen, strict=True):
        if ask.profile is not None:
            takes.append(Take(profile=ask.profile, count=ask.count))
            continue
        counts: dict[int, int] = {}
        for card in cards:
            counts[group_of[card]] = counts.get(group_of[card], 0) + 1
        sets = tuple(
            members
            for members in use.host.groups.get(ask.group or "", ())
            if ask.group is not None and set(members) <= set(cards)
        )
        takes.append(Take(twins=tuple(sorted(counts.items())), sets=sets))
    return judge(use.host, shape, cells, takes, use.groups)


def _best(fitting: list[tuple[HostUse, Fit]], stack: bool) -> tuple[HostUse, Fit]:
    """Return the host with the greatest sum of normalised weights; of equals the first."""
    sign = -1.0 if stack else 1.0
    totals = [use.totals for use, _ in fitting]
    weighers = [
        (sign, [cores for cores, _ in totals]),
        (sign, [memory for _, memory in totals]),
        (1.0, [-len(_untouched(use)) for use, _ in fitting]),
    ]
    sums = [0.0] * len(fitting)
    for multiplier, weights in weighers:
        least, most = min(weights), max(weights)
        for at, weight in enumerate(weights):
            sums[at] += multiplier * (weight - least) / (most - least) if most > least else 0.0
    return fitting[max(range(len(fitting)), key=lambda at: (sums[at], -at))]


def _take(use: HostUse, shape: Shape, nodes: tuple[int, ...], cards: Sequence[tuple[int, ...]]) -> None:
    size = shape.sizes[use.host.id]
    for node in nodes:
        use.free[node][0] -= size.millicores
        use.free[node][1] -= size.memory_mib
    use.hold(shape, cards)
    use.seats.append((shape, nodes))
