"""Whether a host takes some VMs when some of its movers leave, exactly, and where vGPUs are then."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from vplacer.solver.host_plan import HostPlan
from vplacer.solver.kinds import HostKind
from vplacer.solver.pricing import Pricer
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.movers import Mover, MovingHost, MovingSite


class LeavingCheck:
    """Asks the host model."""

    def __init__(self, site: MovingSite, items: Sequence[Item], seed: int) -> None:
        self._site, self._items, self._seed = site, items, seed
        self._classes = (*site.instance.classes, *site.each)
        self._known: dict[object, HostPlan | None] = {}

    def plan(
        self, host: MovingHost, gone: Collection[Mover], seats: Sequence[tuple[int, int, int]]
    ) -> HostPlan | None:
        """Return the plan of a host whose other movers stay; None if that does not fit.

        Args:
            host: the host.
            gone: who leaves it.
            seats: (item, option number on the host without movers, count).
        """
        if host.bare is None:
            return None
        left = {mover.active.class_index for mover in gone}
        stays = tuple(sorted({m.active.class_index for m in host.movers} - left))
        key = (id(host), stays, tuple(seats))
        if key not in self._known:
            self._known[key] = self._asked(host, stays, seats)
        return self._known[key]

    def _asked(
        self, host: MovingHost, stays: tuple[int, ...], seats: Sequence[tuple[int, int, int]]
    ) -> HostPlan | None:
        assert host.bare is not None
        chosen = tuple((self._items[item].lead, number, count) for item, number, count in seats)
        classes = list(self._classes)
        for item, _, _ in seats:
            lead = self._items[item].lead
            members = tuple(
                member for index in self._items[item].classes for member in self._classes[index].members
            )
            if members:
                classes[lead] = replace(classes[lead], members=members)
        options = {index: host.bare.options[index] for index, _, _ in chosen}
        task = replace(host.bare, options=options)
        pricer = Pricer(
            HostKind(0, (), task), tuple(classes), self._site.instance.problem.request.options, set()
        )
        column = pricer.trimmed(HostPlan(tuple(sorted(chosen)), stays, (), ()), self._seed).column
        return None if column is None else column.plan
