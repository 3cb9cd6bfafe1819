"""What prices the hosts of an instance in which nobody moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind
from vplacer.solver.rows import placement
from vplacer.solver.tables.cpsat_source import CpSatSource, merged
from vplacer.solver.tables.decomposes import decomposes
from vplacer.solver.tables.families import build_families
from vplacer.solver.tables.fitting import Seats
from vplacer.solver.tables.items import build_items
from vplacer.solver.tables.own_options import OwnOptions
from vplacer.solver.tables.prices import TablePrices
from vplacer.solver.tables.sources import RowTerms, Source, TableSource, terms_by_host
from vplacer.solver.tables.starts import StartsBuilder


class SearchParts:
    """Tables and models of all hosts.

    ``counts``: hosts of each kind. ``rows``: what couples hosts, but for how many VMs an item has.
    ``sources``: ``tables`` and ``others``, who prices kinds that no table does. ``prover``: the kinds of the
    tables by the host model.
    """

    def __init__(self, instance: Instance, kinds: Sequence[HostKind], seed: int) -> None:
        self.instance, self.kinds, self.seed = instance, kinds, seed
        self.classes = instance.classes
        self.counts = [kind.count for kind in kinds]
        self.items = build_items(instance)
        self.rows = placement.without_counts(instance.rows)
        self.terms = RowTerms(self.rows, self.items)
        numbers = {id(kind): number for number, kind in enumerate(kinds)}
        by_table = [kind for kind in kinds if decomposes(kind.task)]
        families = build_families(instance, by_table, self.items, terms_by_host(self.rows))
        starts = StartsBuilder().build(families)
        prices = TablePrices(starts)
        tabled = {id(kind) for kind in prices.kinds}
        others = [kind for kind in kinds if id(kind) not in tabled]
        self.own = OwnOptions(instance, self.items, starts)
        self.prover = self._cpsat(prices.kinds, numbers)
        self.tables = TableSource(prices, self.prover.kinds, self.terms, self._fits)
        self.others = [self._cpsat(others, numbers)] if others else []
        self.sources: list[Source] = [self.tables, *self.others]

    def _cpsat(self, kinds: Sequence[HostKind], numbers: Mapping[int, int]) -> CpSatSource:
        return CpSatSource(
            kinds,
            [numbers[id(kind)] for kind in kinds],
            self.items,
            merged(self.classes, self.items),
            self.instance.problem.request.options,
            self.terms,
            self.seed,
        )

    def _fits(self, number: int, seats: Seats) -> bool:
        """Whether a kind priced by a table takes some seatings."""
        kind = self.kinds[self.prover.kinds[number]]
        return self.prover.fits(number, self.own.of_seatings(kind.task, seats))
