"""What prices the hosts of a site some of whose VMs may move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vplacer.solver.host_model import HostTask
from vplacer.solver.kinds import HostKind, build_kinds
from vplacer.solver.rows import RowSet, placement
from vplacer.solver.tables.cpsat_source import CpSatSource, merged
from vplacer.solver.tables.decomposes import decomposes
from vplacer.solver.tables.evictions import Beginning, with_evictions
from vplacer.solver.tables.families import Family, build_families
from vplacer.solver.tables.fitting import Seats
from vplacer.solver.tables.items import Item, build_items
from vplacer.solver.tables.movers import Mover, MovingHost, MovingSite
from vplacer.solver.tables.moving_source import MovingSource, Taken
from vplacer.solver.tables.own_options import OwnOptions
from vplacer.solver.tables.prices import TablePrices
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.sources import RowTerms, TableSource, terms_by_host
from vplacer.solver.tables.starts import FamilyStarts, StartsBuilder


@dataclass(frozen=True)
class HostGroup:
    """Hosts that are alike, by position in the site, or one host with movers."""

    positions: tuple[int, ...]
    host: MovingHost


@dataclass(frozen=True)
class MovingItems:
    """All items, the movers' last. ``of_kind``: item of each kind of mover. ``rows``: what couples hosts."""

    items: tuple[Item, ...]
    of_kind: Mapping[int, int]
    rows: RowSet


def moving_items(site: MovingSite) -> MovingItems:
    """Return the items of a site."""
    instance = site.instance
    first = len(instance.classes) - len(site.kinds)
    asked = build_items(replace(instance, classes=instance.classes[:first]))
    moving = tuple(Item(len(asked) + n, (), index) for n, index in enumerate(site.kinds))
    of_kind = {item.lead: item.index for item in moving}
    return MovingItems((*asked, *moving), of_kind, placement.without_counts(instance.rows))


def host_groups(site: MovingSite) -> tuple[HostGroup, ...]:
    """Group hosts without movers that are alike; in the order of the first host."""
    calm = [position for position, host in enumerate(site.hosts) if host.bare is None]
    tasks = tuple(site.hosts[position].still for position in calm)
    groups = [
        HostGroup(tuple(calm[at] for at in kind.positions), site.hosts[calm[kind.positions[0]]])
        for kind in build_kinds(replace(site.instance, tasks=tasks))
    ]
    groups += [HostGroup((n,), host) for n, host in enumerate(site.hosts) if host.bare is not None]
    return tuple(sorted(groups, key=lambda group: group.positions))


class MovingParts:
    """Tables and models of all hosts.

    ``moving``: prices by tables. ``others``: hosts as they are that no table prices. ``prover``: the members
    of the tables by the host model.
    """

    def __init__(
        self,
        site: MovingSite,
        groups: Sequence[HostGroup],
        items: MovingItems,
        seed: int,
        fits: Callable[[Beginning, Seats], bool],
    ) -> None:
        self.site, self.items, self.seed = site, items, seed
        self._fits_leaving = fits
        terms = RowTerms(items.rows, items.items)
        self._host: dict[int, int] = {}
        still = [self._kind(n, group, group.host.still) for n, group in enumerate(groups)]
        bare = []
        for number, group in enumerate(groups):
            task = group.host.bare
            if task is not None:
                state = replace(task.state, actives=(), overfull=False)
                bare.append(self._kind(number, group, replace(task, state=state)))
        starts, self.beginnings = self._starts(still, bare, [group.host.movers for group in groups])
        self.prices = TablePrices(starts)
        tabled = {id(kind) for kind in self.prices.kinds}
        self.own = OwnOptions(site.instance, items.items, starts)
        self.prover = self._cpsat(self.prices.kinds, terms)
        self.others = self._cpsat([kind for kind in still if id(kind) not in tabled], terms)
        at = [self._host[id(kind)] for kind in self.prices.kinds]
        self.tables = TableSource(self.prices, at, terms, self._fits)
        self.began = [self.beginnings[id(kind)] for kind in self.prices.kinds]
        names = {row.name for row in items.rows.rows}
        self.seatings = _Seatings(self.prices).of
        self._still = {b.host: number for number, b in enumerate(self.began) if not b.gone}
        self.moving = MovingSource(self.tables, self.began, items.of_kind, names)

    def still_takes(self, host: int, seats: Sequence[tuple[Seating, int]]) -> bool:
        """Whether a host from which nobody leaves takes some seatings."""
        number = self._still.get(host)
        if number is None:
            return False
        task, member = self.prices.kinds[number].task, self.began[number].member
        options = self.own.looked_up(task, seats, member)
        return options is not None and self.prover.fits(number, options)

    def _kind(self, number: int, group: HostGroup, task: HostTask) -> HostKind:
        kind = HostKind(number, group.positions, task)
        self._host[id(kind)] = number
        return kind

    def _starts(
        self, still: Sequence[HostKind], bare: Sequence[HostKind], movers: Sequence[tuple[Mover, ...]]
    ) -> tuple[list[FamilyStarts], dict[int, Beginning]]:
        by_table = [kind for kind in (*still, *bare) if decomposes(kind.task)]
        without = {id(kind) for kind in bare}
        found: list[Family] = []
        beginnings: dict[int, Beginning] = {}
        items = self.items
        for family in build_families(self.site.instance, by_table, items.items, terms_by_host(items.rows)):
            hosts = {id(m.kind): (self._host[id(m.kind)], id(m.kind) in without) for m in family.members}
            wider, begun = with_evictions(family, hosts, movers)
            found.append(wider)
            beginnings |= begun
        self._host |= {identity: beginning.host for identity, beginning in beginnings.items()}
        return StartsBuilder(nearly=True).build(found), beginnings

    def _cpsat(self, kinds: Sequence[HostKind], terms: RowTerms) -> CpSatSource:
        instance = self.site.instance
        return CpSatSource(
            kinds,
            [self._host[id(kind)] for kind in kinds],
            self.items.items,
            merged(instance.classes, self.items.items),
            instance.problem.request.options,
            terms,
            self.seed,
        )

    def _fits(self, number: int, seats: Seats) -> bool:
        """Whether a member takes some seatings beside the VMs that stay on it."""
        begun = self.began[number]
        if begun.gone:
            return self._fits_leaving(begun, seats)
        task = self.prices.kinds[number].task
        return self.prover.fits(number, self.own.of_seatings(task, seats, begun.member))


class _Seatings:
    """The seatings of items on the host of a column."""

    def __init__(self, prices: TablePrices) -> None:
        self._starts = {m.kind.index: starts for starts in prices.starts for m in starts.family.members}
        self._by_item: dict[int, dict[int, list[Seating]]] = {}
        for starts in prices.starts:
            mine: dict[int, list[Seating]] = defaultdict(list)
            for seating in starts.family.seatings:
                mine[seating.item].append(seating)
            self._by_item[id(starts)] = mine

    def of(self, source: Taken, item: int) -> list[Seating]:
        """Return the seatings of an item."""
        return self._by_item[id(self._starts[source.beginning.host])].get(item, [])
