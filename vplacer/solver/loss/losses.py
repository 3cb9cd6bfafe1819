"""Which losses are tried: sets of hosts of one cluster, alike hosts once, the fullest first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

from vplacer.inventory.host import Host

SHOWN_SETS = 8
"""So many of the sets that a loss speaks for are named; the rest is counted."""


@dataclass(frozen=True, slots=True)
class HostKindLost:
    """Hosts whose loss comes to the same: same hardware and state, same VMs on them, in one cluster.

    ``load``: how much is lost with one of them, the greater the more.
    """

    hosts: tuple[Host, ...]
    load: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LossSets:
    """Sets of hosts whose loss comes to the same; ``count`` of them, of which some are named."""

    named: tuple[tuple[str, ...], ...]
    count: int


def kinds_of(
    hosts: Iterable[Host], keys: Mapping[str, Hashable], loads: Mapping[str, tuple[int, ...]]
) -> tuple[HostKindLost, ...]:
    """Group hosts by key, those that carry most first."""
    groups: dict[Hashable, list[Host]] = {}
    for host in hosts:
        groups.setdefault(keys[host.moid], []).append(host)
    found = [HostKindLost(tuple(group), loads[group[0].moid]) for group in groups.values()]
    return tuple(sorted(found, key=lambda kind: kind.load, reverse=True))


def how_many(hosts: int, lost: int) -> int:
    """Return how many sets of hosts of a cluster there are."""
    return comb(hosts, lost)


def sets_of(kinds: Sequence[HostKindLost], lost: int) -> Iterator[LossSets]:
    """Yield every way to lose hosts of some kinds: how many of each, the fullest kinds first.

    Which hosts of a kind does not matter, so each way speaks for all sets of hosts that it counts.
    """

    def go(position: int, left: int) -> Iterator[tuple[int, ...]]:
        if left == 0:
            yield (0,) * (len(kinds) - position)
            return
        if position == len(kinds):
            return
        for take in range(min(left, len(kinds[position].hosts)), -1, -1):
            for rest in go(position + 1, left - take):
                yield (take, *rest)

    for counts in go(0, lost):
        parts = [(kind, count) for kind, count in zip(kinds, counts, strict=True) if count]
        number = 1
        for kind, count in parts:
            number *= comb(len(kind.hosts), count)
        yield LossSets(tuple(islice(_products(parts), SHOWN_SETS)), number)


def _products(parts: Sequence[tuple[HostKindLost, int]]) -> Iterator[tuple[str, ...]]:
    """Yield the sets of hosts that take so many of each kind."""
    if not parts:
        yield ()
        return
    kind, count = parts[0]
    for hosts in combinations(kind.hosts, count):
        for rest in _products(parts[1:]):
            yield (*(host.moid for host in hosts), *rest)
