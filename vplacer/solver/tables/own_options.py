"""Which option of a host's own list a pattern's seating is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vplacer.errors import InternalError
from vplacer.solver.host_model import HostTask
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.instance import Instance
from vplacer.solver.tables.families import Member
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.lp import LightColumn
from vplacer.solver.tables.seatings import Place, Seating, seatings_of
from vplacer.solver.tables.starts import FamilyStarts


class OwnOptions:
    """Finds the options of hosts again."""

    def __init__(self, instance: Instance, items: Sequence[Item], starts: Sequence[FamilyStarts]) -> None:
        self.instance = instance
        self.items = items
        self._item_of = {item.lead: item.index for item in items}
        self._member: dict[str, Member] = {}
        for found in starts:
            for member in found.family.members:
                for position in member.kind.positions:
                    moid = instance.tasks[position].state.host.moid
                    self._member[moid] = member
        self._known: dict[object, dict[tuple[object, ...], list[tuple[frozenset[Place], int]]]] = {}

    def seats(self, task: HostTask, column: LightColumn) -> tuple[tuple[int, int, int], ...]:
        """Return (item, option number, count) of a column on a host."""
        found: Counter[tuple[int, int]] = Counter()
        if isinstance(column.source, HostPlan):
            for index, number, count in column.source.chosen:
                found[self._item_of[index], number] += count
            return tuple((item, number, count) for (item, number), count in sorted(found.items()))
        return self.of_seatings(task, column.source)  # type: ignore[arg-type]

    def of_seatings(
        self, task: HostTask, seats: Sequence[tuple[Seating, int]], member: Member | None = None
    ) -> tuple[tuple[int, int, int], ...]:
        """Return (item, option number, count) of some seatings on a host.

        ``member``: which one the host is, where it is several.
        """
        found = self.looked_up(task, seats, member)
        if found is None:
            raise InternalError(
                "a pattern has a seat that the host has no option for", obj=task.state.host.name
            )
        return found

    def looked_up(
        self, task: HostTask, seats: Sequence[tuple[Seating, int]], member: Member | None = None
    ) -> tuple[tuple[int, int, int], ...] | None:
        """Return what `of_seatings` does, None if the host has no option for one of them."""
        found: Counter[tuple[int, int]] = Counter()
        known = member if member is not None else self._member[task.state.host.moid]
        for seating, count in seats:
            number = self._number(task, known, seating)
            if number is None:
                return None
            found[seating.item, number] += count
        return tuple((item, number, count) for (item, number), count in sorted(found.items()))

    def _number(self, task: HostTask, member: Member, seating: Seating) -> int | None:
        lead = self.items[seating.item].lead
        options = task.options.get(lead, ())
        key = (seating.item, id(options), id(member.slots))
        if key not in self._known:
            own = seatings_of(
                seating.item,
                self.instance.classes[lead],
                options,
                member.kind.task.state,
                member.slots,
                self.instance.problem.request.options,
            )
            known = self._known[key] = {}
            for one in own:
                sort = (one.parts, one.tokens, one.points, one.sure)
                known.setdefault(sort, []).append((frozenset(one.settles), one.number))
        listed = self._known[key].get((seating.parts, seating.tokens, seating.points, seating.sure), [])
        # A family may count on more being used up: on what is by itself on this host.
        mine = [
            n
            for settles, n in listed
            if bool(settles) == bool(seating.settles) and settles.issubset(seating.settles)
        ]
        if mine or listed:
            return mine[-1] if mine else listed[-1][1]
        # A host may have more points for the place than the family counts on.
        places = [
            number
            for sort, others in self._known[key].items()
            if sort[:2] == (seating.parts, seating.tokens) and sort[3]
            for _, number in others
        ]
        return max(places, key=lambda n: options[n].points, default=None)
