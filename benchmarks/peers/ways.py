"""The ways one VM shape can sit on one host: its nodes, and how many cards of which twins.

Cards are twins when swapping them changes nothing: same type, same nodes, equally near to every other
card. Each way keeps all hard wishes by itself; that the ways chosen on a host fit together is for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from benchmarks.peers.form import Ask, Host, Shape

WORTH_ON, WORTH_BESIDE, WORTH_WISH = 2, 1, 2
"""Points of the second level: a card on a node of the VM, on its socket; a card of a wish that is kept."""


@dataclass(frozen=True, slots=True)
class Take:
    """What serves one ask: cards by twin group, or vGPUs whose cards are found later.

    ``sets``: for device groups the cards of each.
    """

    twins: tuple[tuple[int, int], ...] = ()
    profile: str | None = None
    count: int = 0
    sets: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """``nodes`` empty = the VM floats. ``points``: what it adds to the second level."""

    nodes: tuple[int, ...]
    takes: tuple[Take, ...]
    points: int


def twins(host: Host) -> tuple[tuple[int, ...], ...]:
    """Group the cards of a host; a card that takes vGPUs is alone."""
    groups: list[list[int]] = []
    for at, card in enumerate(host.cards):
        for group in groups:
            if not card.vgpus and _alike(host, group[0], at):
                group.append(at)
                break
        else:
            groups.append([at])
    return tuple(map(tuple, groups))


def _alike(host: Host, one: int, other: int) -> bool:
    a, b = host.cards[one], host.cards[other]
    if a.vgpus or (a.type, a.on, a.beside, a.whole) != (b.type, b.on, b.beside, b.whole):
        return False
    return all(
        host.near[one][third] == host.near[other][third]
        for third in range(len(host.cards))
        if third not in (one, other)
    )


class Lister:
    """Lists the ways of shapes on one host; shapes that ask for the same cards share their lists."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.groups = twins(host)
        self._known: dict[object, list[Way]] = {}

    def ways(self, shape: Shape) -> list[Way]:
        """Return the ways of a shape that the host may take."""
        size = shape.sizes[self.host.id]
        bound = shape.seat == "bound"
        key = (shape.asks, shape.chooser, size.parts if bound else 0)
        if key not in self._known:
            self._known[key] = self._list(shape, size.parts if bound else 0)
        if not bound:
            return self._known[key]
        fitting = {
            node.id
            for node in self.host.nodes
            if node.millicores >= size.millicores and node.memory_mib >= size.memory_mib
        }
        return [way for way in self._known[key] if fitting.issuperset(way.nodes)]

    def _list(self, shape: Shape, parts: int) -> list[Way]:
        choices = [list(_takes(self.host, shape, ask, self.groups)) for ask in shape.asks]
        found = []
        for nodes in combinations([node.id for node in self.host.nodes], parts):
            for takes in product(*choices):
                points = judge(self.host, shape, nodes, takes, self.groups)
                if points is not None:
                    found.append(Way(nodes, takes, points))
        return found


def _takes(host: Host, shape: Shape, ask: Ask, groups: Sequence[Sequence[int]]) -> Iterator[Take]:
    if ask.profile is not None:
        if sum(card.vgpus.get(ask.profile, 0) for card in host.cards) >= ask.count:
            yield Take(profile=ask.profile, count=ask.count)
        return
    group_of = {card: number for number, group in enumerate(groups) for card in group}
    if ask.group is not None:
        for chosen in combinations(host.groups.get(ask.group, ()), ask.count):
            cards = [card for members in chosen for card in members]
            if len(set(cards)) == len(cards):
                counts: dict[int, int] = {}
                for card in cards:
                    counts[group_of[card]] = counts.get(group_of[card], 0) + 1
                yield Take(twins=tuple(sorted(counts.items())), sets=chosen)
        return
    fitting = [
        number
        for number, group in enumerate(groups)
        if host.cards[group[0]].whole
        and host.cards[group[0]].kind == ask.kind
        and host.cards[group[0]].type in ask.types
        and (shape.chooser != "label" or host.cards[group[0]].label is not None)
    ]
    for counts_of in _spread(ask.count, [(number, len(groups[number])) for number in fitting]):
        yield Take(twins=counts_of)


def _spread(count: int, sizes: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    if count == 0:
        yield ()
    elif sizes:
        (number, size), *rest = sizes
        for taken in range(min(count, size), -1, -1):
            for more in _spread(count - taken, rest):
                yield ((number, taken), *more) if taken else more


def judge(
    host: Host,
    shape: Shape,
    nodes: tuple[int, ...],
    takes: Sequence[Take],
    groups: Sequence[Sequence[int]],
) -> int | None:
    """Return the points of a choice, None where it breaks a hard wish.

    Where somebody else chooses the cards, a wish is kept only if it is for every choice.
    """
    maybe = [_maybe(host, shape, ask, take, groups) for ask, take in zip(shape.asks, takes, strict=True)]
    points = _compact(host, nodes)
    gpus = [
        cards for ask, cards in zip(shape.asks, maybe, strict=True) if ask.kind == "gpu" for cards in cards
    ]
    for ask, places in zip(shape.asks, maybe, strict=True):
        worths = [min(_worth(host, card, nodes) for card in cards) for cards in places]
        least = {"required": WORTH_ON, "socket": WORTH_BESIDE}.get(ask.policy, 0)
        if any(worth < least for worth in worths):
            return None
        if ask.policy == "preferred":
            points += sum(worths)
        if ask.level == "any":
            continue
        kept = _joined(host, ask, places) if ask.kind == "gpu" else _shared_out(host, ask.level, places, gpus)
        if ask.hard and not kept:
            return None
        if not ask.hard and kept and (ask.kind == "nic" or ask.count > 1):
            points += WORTH_WISH * ask.count
    return points


def _maybe(
    host: Host, shape: Shape, ask: Ask, take: Take, groups: Sequence[Sequence[int]]
) -> list[tuple[int, ...]]:
    """Return for each card of an ask the cards it may turn out to be."""
    if take.profile is not None:
        pool = tuple(at for at, card in enumerate(host.cards) if card.vgpus.get(take.profile, 0))
        return [pool] * take.count
    if take.sets:
        pool = tuple(sorted({card for members in host.groups[ask.group or ""] for card in members}))
        return [pool] * sum(len(members) for members in take.sets)
    found: list[tuple[int, ...]] = []
    for number, count in take.twins:
        first = host.cards[groups[number][0]]
        if shape.chooser == "plan":
            found += [(card,) for card in groups[number][:count]]
            continue
        pool = tuple(
            at
            for at, card in enumerate(host.cards)
            if card.kind == ask.kind
            and card.whole
            and card.type in ask.types
            and (shape.chooser != "label" or card.label == first.label)
        )
        found += [pool] * count
    if shape.chooser != "plan" and found and len(set(found)) == 1 and len(found[0]) == len(found):
        # All of the pool is taken: only the order is open.
        return [(card,) for card in found[0]]
    return found


def _worth(host: Host, card: int, nodes: tuple[int, ...]) -> int:
    if not nodes and len(host.nodes) == 1:
        nodes = (host.nodes[0].id,)
    place = host.cards[card]
    if any(node in place.on for node in nodes):
        return WORTH_ON
    return WORTH_BESIDE if any(node in place.beside for node in nodes) else 0


def _compact(host: Host, nodes: tuple[int, ...]) -> int:
    packages = {node.package for node in host.nodes if node.id in nodes}
    return int(len(nodes) > 1 and len(packages) == 1 and None not in packages)


def _joined(host: Host, ask: Ask, places: list[tuple[int, ...]]) -> bool:
    if ask.group is not None and ask.level == "nvlink":
        return True
    return all(
        ask.level in host.near[a][b]
        for one, other in combinations(places, 2)
        for a in one
        for b in other
        if a != b
    )


def _shared_out(host: Host, level: str, nics: list[tuple[int, ...]], gpus: list[tuple[int, ...]]) -> bool:
    """Whether each NIC has a GPU near enough, no GPU serving more NICs than an even share."""
    if not gpus:
        return False
    share = -(-len(nics) // len(gpus))
    slots = [gpu for gpu in gpus for _ in range(share)]
    seated: dict[int, int] = {}

    def seat(nic: int, tried: set[int]) -> bool:
        for slot, gpu in enumerate(slots):
            if slot in tried or not all(level in host.near[a][b] for a in nics[nic] for b in gpu):
                continue
            tried.add(slot)
            if slot not in seated or seat(seated[slot], tried):
                seated[slot] = nic
                return True
        return False

    return all(seat(nic, set()) for nic in range(len(nics)))
