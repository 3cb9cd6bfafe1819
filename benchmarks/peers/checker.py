"""An independent look at a peer's answer, in the neutral form: what of it cannot be carried out.

Cores, memory and cards are counted anew here; wishes are judged as the peers' models judge them. vplacer's
judge looks at the same answers from its own side and shares nothing with either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.peers.form import Floating, Host, Instance, Place, Shape
from benchmarks.peers.ways import Take, judge, twins

_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong. ``wish``: a VM's place is not as it asked, whatever else is placed."""

    text: str
    vm: str | None = None
    wish: bool = False


def faults(instance: Instance, places: Sequence[Place]) -> list[Fault]:
    """Return everything that is wrong with an answer; nothing = it may be carried out."""
    found: list[Fault] = []
    shapes, hosts = instance.shape_by_vm, instance.host_by_id
    for vm, count in Counter(place.vm for place in places).items():
        if count > 1:
            found.append(Fault(f"{vm}: placed {count} times"))
    by_host: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        if place.vm not in shapes:
            found.append(Fault(f"{place.vm}: not asked for"))
        elif place.host not in hosts or place.host not in shapes[place.vm].sizes:
            found.append(Fault(f"{place.vm}: {place.host} may not take it"))
        else:
            by_host[place.host].append(place)
    for host, here in by_host.items():
        found += _host_faults(hosts[host], shapes, here)
    numbers = {vm: number for number, shape in enumerate(instance.shapes) for vm in shape.vms}
    for pool in instance.pools:
        taken = sum(pool.takes.get(numbers[p.vm], 0) for h in pool.hosts for p in by_host.get(h, ()))
        if taken > pool.memory_mib:
            found.append(Fault(f"{pool.name}: {taken} MiB reserved, {pool.memory_mib} left"))
    return found


def _host_faults(host: Host, shapes: dict[str, Shape], here: list[Place]) -> list[Fault]:
    found: list[Fault] = []
    position = {card.address: at for at, card in enumerate(host.cards)}
    nodes = {node.id for node in host.nodes}
    for place in here:
        if not nodes.issuperset(place.nodes):
            return [Fault(f"{place.vm}: {host.id} has no such node")]
        unknown = [a for cards in place.cards for a in cards if a not in position]
        if unknown:
            return [Fault(f"{place.vm}: {host.id} has no free card {unknown[0]}")]
    for place in here:
        texts = _wish_faults(host, shapes[place.vm], place, position)
        found += [Fault(text, place.vm, wish=True) for text in texts]
    found += [Fault(text) for text in _card_faults(host, shapes, here, position)]
    if not room_left(host, [(shapes[place.vm], place.nodes) for place in here]):
        found.append(Fault(f"{host.id}: cores or memory of its nodes do not suffice"))
    return found


def _wish_faults(host: Host, shape: Shape, place: Place, position: dict[str, int]) -> list[str]:
    size = shape.sizes[host.id]
    bound = shape.seat == "bound"
    if len(place.nodes) != (size.parts if bound else 0) or len(set(place.nodes)) != len(place.nodes):
        return [f"{place.vm}: {len(place.nodes)} nodes, {size.parts if bound else 0} are right"]
    if len(place.cards) != len(shape.asks):
        return [f"{place.vm}: an ask has no cards"]
    takes = []
    groups = twins(host)
    group_of = {card: number for number, group in enumerate(groups) for card in group}
    for ask, addresses in zip(shape.asks, place.cards, strict=True):
        cards = [position[a] for a in addresses]
        if ask.profile is not None:
            if len(cards) != ask.count or any(not host.cards[c].vgpus.get(ask.profile) for c in cards):
                return [f"{place.vm}: its cards do not take {ask.count} {ask.profile}"]
            takes.append(Take(profile=ask.profile, count=ask.count))
            continue
        if ask.group is not None:
            sets = [members for members in host.groups.get(ask.group, ()) if set(members) <= set(cards)]
            if len(sets) != ask.count or sum(map(len, sets)) != len(cards):
                return [f"{place.vm}: its cards are not {ask.count} {ask.group}"]
            takes.append(Take(twins=_counts(cards, group_of), sets=tuple(sets)))
            continue
        wrong = [c for c in cards if host.cards[c].type not in ask.types or not host.cards[c].whole]
        if len(set(cards)) != ask.count or len(cards) != ask.count or wrong:
            return [f"{place.vm}: not {ask.count} different cards that serve"]
        takes.append(Take(twins=_counts(cards, group_of)))
    if judge(host, shape, place.nodes, takes, groups) is None:
        return [f"{place.vm}: a hard wish is broken"]
    return []


def points(instance: Instance, places: Sequence[Place]) -> int:
    """Return the points of the second level that an answer without faults has."""
    total = 0
    shapes, hosts = instance.shape_by_vm, instance.host_by_id
    for place in places:
        host, shape = hosts[place.host], shapes[place.vm]
        groups = twins(host)
        group_of = {card: number for number, group in enumerate(groups) for card in group}
        position = {card.address: at for at, card in enumerate(host.cards)}
        takes = []
        for ask, addresses in zip(shape.asks, place.cards, strict=True):
            cards = [position[a] for a in addresses]
            if ask.profile is not None:
                takes.append(Take(profile=ask.profile, count=ask.count))
            elif ask.group is not None:
                sets = tuple(m for m in host.groups[ask.group] if set(m) <= set(cards))
                takes.append(Take(twins=_counts(cards, group_of), sets=sets))
            else:
                takes.append(Take(twins=_counts(cards, group_of)))
        total += judge(host, shape, place.nodes, takes, groups) or 0
    return total


def _counts(cards: Sequence[int], group_of: dict[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(Counter(group_of[card] for card in cards).items()))


def _card_faults(
    host: Host, shapes: dict[str, Shape], here: list[Place], position: dict[str, int]
) -> list[str]:
    whole: Counter[str] = Counter()
    shared: dict[str, Counter[str]] = defaultdict(Counter)
    for place in here:
        for ask, cards in zip(shapes[place.vm].asks, place.cards, strict=False):
            for address in cards:
                if ask.profile is None:
                    whole[address] += 1
                else:
                    shared[address][ask.profile] += 1
    found = [f"{host.id}: {address} is given {count} times" for address, count in whole.items() if count > 1]
    for address, profiles in shared.items():
        room = host.cards[position[address]].vgpus
        if len(profiles) > 1 or address in whole:
            found.append(f"{host.id}: {address} is cut up in two ways")
        for profile, count in profiles.items():
            if count > room.get(profile, 0):
                found.append(f"{host.id}: {address} takes {room.get(profile, 0)} {profile}, not {count}")
    return found


def room_left(host: Host, seats: Sequence[tuple[Shape, tuple[int, ...]]]) -> bool:
    """Whether VMs fit a host beside what floats there; undecided counts as no."""
    room = {node.id: [node.millicores, node.memory_mib] for node in host.nodes}
    total = [host.millicores, host.memory_mib]
    floating = list(host.floating)
    for shape, nodes in seats:
        size = shape.sizes[host.id]
        for resource, amount in enumerate((size.millicores, size.memory_mib)):
            total[resource] -= amount * max(1, size.parts)
            for node in nodes:
                room[node][resource] -= amount
        if shape.seat != "bound":
            parts = 0 if shape.seat == "spread" else size.parts
            floating.append(Floating(parts, size.millicores, size.memory_mib, tuple(room)))
    if min(total) < 0 or any(min(left) < 0 for left in room.values()):
        return False
    return pack({node: (left[0], left[1]) for node, left in room.items()}, floating) is not None


Amount = tuple[int, int]
"""Millicores and MiB."""


def pack(room: Mapping[int, Amount], floating: Sequence[Floating]) -> list[tuple[Amount, int]] | None:
    """Seat what floats, the largest parts first; what may be spread is looked at last.

    Returns: a node for each part; None = it does not fit, or the search gave up.
    """
    left_of = dict(room)
    items = sorted(
        ((item.millicores, item.memory_mib, item.nodes) for item in floating for _ in range(item.parts)),
        reverse=True,
    )
    spread = [item for item in floating if not item.parts]
    if not _spread(left_of, spread + [Floating(0, c, m, nodes) for c, m, nodes in items]):
        return None
    steps = 0
    seen = set()
    seats: list[tuple[Amount, int]] = []

    def seat(at: int) -> bool:
        nonlocal steps
        if at == len(items):
            return _spread(left_of, spread)
        state = (at, tuple(left_of.values()))
        steps += 1
        if steps > _MOST_STEPS or state in seen:
            return False
        cores, memory, nodes = items[at]
        for node in sorted(nodes, key=lambda n: left_of[n]):
            left = left_of[node]
            if left[0] >= cores and left[1] >= memory:
                left_of[node] = (left[0] - cores, left[1] - memory)
                seats.append(((cores, memory), node))
                if seat(at + 1):
                    return True
                seats.pop()
                left_of[node] = left
        seen.add(state)
        return False

    return seats if seat(0) else None


def _spread(room: Mapping[int, Amount], spread: Sequence[Floating]) -> bool:
    """Whether divisible amounts fit: what must lie within any set of nodes has room there."""
    unions = {frozenset[int]()}
    for item in spread:
        unions |= {union | set(item.nodes) for union in unions}
    return all(
        sum(amount(item) for item in spread if union.issuperset(item.nodes))
        <= sum(room[node][resource] for node in union)
        for union in unions
        for resource, amount in ((0, lambda i: i.millicores), (1, lambda i: i.memory_mib))
    )
