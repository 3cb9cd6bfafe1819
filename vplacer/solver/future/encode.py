"""What could still be placed of the mix on a host, as CP-SAT variables that are greatest at the truth.

A variable may be below what `count.counts` says and never above it, so that maximising finds it and a
level that is held needs no more than it states.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from vplacer.constraints.supply import Amount
from vplacer.inventory.pci import PciAddress
from vplacer.solver.future.count import Left, Units, left_of, loss, times, touched, vgpus_on
from vplacer.solver.future.places import Group, Need, ShapeHere
from vplacer.solver.future.taken import Taken
from vplacer.solver.host_parts import Expr, ModelPart
from vplacer.solver.host_room import HostRoom
from vplacer.solver.host_state import ActiveVm, HostState


@dataclass
class _Kept:
    """Flags of VMs that hold something of a card while they keep their place."""

    whole: list[Expr] = field(default_factory=list)
    vgpus: dict[str, list[Expr]] = field(default_factory=lambda: defaultdict(list))


class MixEncoder:
    """Collects what is taken of a host's cards, then writes how many VMs of each shape still fit."""

    def __init__(self, part: ModelPart, state: HostState, room: HostRoom) -> None:
        self.part = part
        self.state = state
        self.room = room
        self.left: Left = left_of(state)
        self.units = Units(self.left)
        self.taken: list[tuple[Taken, Expr]] = [(taken, 1) for taken in self.left.taken]
        self.kept: dict[PciAddress, _Kept] = defaultdict(_Kept)
        self._unit: dict[tuple[PciAddress, str | None], Expr] = {}

    def take(self, taken: Taken, count: Expr) -> None:
        """Count what an option takes, ``count`` times."""
        self.taken.append((taken, count))

    def keep(self, active: ActiveVm, keep: Expr) -> None:
        """Count what a VM holds while it keeps its place, as `plan_left` does."""
        for holding in active.holdings:
            where = (holding.address,) if holding.address is not None else holding.candidates
            if holding.kind == "vgpu" and holding.group is None and holding.profile is not None:
                for address in where:
                    self.kept[address].vgpus[holding.profile].append(keep)
            elif holding.kind == "vf" or holding.address is not None:
                for address in where:
                    self.kept[address].whole.append(keep)
            elif where:
                self.taken.append((Taken(frozenset(where), 1), keep))

    def points(self, shapes: tuple[ShapeHere, ...]) -> list[Expr]:
        """Write the variables; return the points of each shape."""
        terms = []
        for shape in shapes:
            most = self._most(shape)
            if most > 0:
                terms.append(shape.points * self._number(shape, most))
        return terms

    def _most(self, shape: ShapeHere) -> int:
        """How many there can be where nothing is placed and nobody stays."""
        if not shape.needs:
            return times(shape.whole, self.left.total)
        fine = [need for need in shape.needs if need.fine]
        return sum(
            min(self._free(need, place) // need.count for need in fine) for place in range(shape.place_count)
        )

    def _free(self, need: Need, zone: int) -> int:
        return sum(self.units.of(card, need.profile) for card in need.zones[zone])

    def _number(self, shape: ShapeHere, most: int) -> Expr:
        """Make the variable that is how many VMs of a shape still fit."""
        name = f"m{shape.shape}"
        number = self.part.integer(0, most, name)
        loose = [self._loose(need) for need in shape.needs]
        fits = None
        if self.state.overfull or any(loose):
            fits = self.part.flag(f"{name}fits")
            self.part.model.add(number <= most * fits)
        places = self._places(shape, most, name)
        spoilt = [
            self._spoilt(f"{name}s{at}", terms, need.count, shape.place_count, fits)
            for at, (need, terms) in enumerate(zip(shape.needs, loose, strict=True))
            if terms
        ]
        if places is not None:
            self._if(fits, number <= sum(places) - sum(spoilt))
        self._within(number, shape.whole, self.room.total_uses(), self.left.total, fits)
        if shape.groups[0].node is None and self.state.node_ids and not shape.divisible:
            self._over_nodes(shape, number, most, name)
        return number

    def _if(self, where: Expr | None, condition: Expr) -> None:
        constraint = self.part.model.add(condition)
        if where is not None:
            constraint.only_enforce_if(where)

    def _places(self, shape: ShapeHere, top: int, name: str) -> list[Expr] | None:
        """Make how many VMs each place takes; None for a shape without devices."""
        if not shape.needs:
            return None
        fine = [need for need in shape.needs if need.fine]
        numbers = []
        for place in range(shape.place_count):
            most = min(self._free(need, place) // need.count for need in fine)
            numbers.append(self.part.integer(0, max(0, most), f"{name}p{place}"))
            for need in fine:
                self._of_cards(need, place, [numbers[place]], max(0, most), f"{name}p{place}")
        for at, group in enumerate(shape.groups):
            here = [numbers[place] for place in group.places]
            for need in shape.needs:
                if not need.fine:
                    most = sum(self._free(other, place) for other in fine for place in group.places)
                    self._of_cards(need, at, here, most, f"{name}g{at}")
            if group.node is not None:
                self._on_node(shape, group, here, top, f"{name}n{at}")
        return numbers

    def _of_cards(self, need: Need, zone: int, numbers: list[Expr], most: int, name: str) -> None:
        """VMs take cards of a zone that are free; what is counted at its worst may be more than there is."""
        terms = [self._unit_of(card, need.profile) for card in need.zones[zone]]
        takers: list[Expr] = []
        beyond = False
        for taken, count in self.taken:
            if touched(need, taken) == [zone]:
                takers.append(taken.count * self._loss(need, taken) * count)
                beyond = beyond or len(taken.cards) > 1 or need.profile is not None
        free = sum(terms) - sum(takers)
        if not takers or not beyond:
            self.part.model.add(need.count * sum(numbers) <= free)
            return
        some = self.part.flag(f"{name}c")
        self.part.model.add(need.count * sum(numbers) <= free).only_enforce_if(some)
        self.part.model.add(sum(numbers) <= most * some)

    def _loss(self, need: Need, taken: Taken) -> int:
        of_card = self.units.of(next(iter(taken.cards)), need.profile) if len(taken.cards) == 1 else 0
        return loss(need, taken, of_card)

    def _loose(self, need: Need) -> list[Expr]:
        """What may lie in several zones of a need."""
        return [
            taken.count * self._loss(need, taken) * count
            for taken, count in self.taken
            if len(touched(need, taken)) > 1
        ]

    def _spoilt(self, name: str, loose: list[Expr], count: int, places: int, fits: Expr) -> Expr:
        """Make a variable that is at least `count.spoilt_by`, where the shape fits at all."""
        spoilt = self.part.integer(0, 1_000, name)
        if count == 1:
            self.part.model.add(spoilt >= sum(loose)).only_enforce_if(fits)
            return spoilt
        each = self.part.flag(f"{name}e")
        self.part.model.add(spoilt >= sum(loose)).only_enforce_if(fits, each)
        more = self.part.integer(0, 1_000, f"{name}m")
        self.part.model.add(count * more + count - 1 >= sum(loose) - places).only_enforce_if(fits)
        self.part.model.add(spoilt >= places + more).only_enforce_if(fits, each.negated())
        return spoilt

    def _unit_of(self, card: PciAddress, profile: str | None) -> Expr:
        """What a card is good for: a number, or a variable where VMs hold it that may go."""
        key = (card, profile)
        if key not in self._unit:
            self._unit[key] = self._made_unit(card, profile)
        return self._unit[key]

    def _made_unit(self, card: PciAddress, profile: str | None) -> Expr:
        most = self.units.of(card, profile)
        kept = self.kept.get(card)
        if not most or kept is None:
            return most
        name = f"u{card}{profile or ''}"
        unit = self.part.integer(0, most, name)
        for keep in kept.whole:
            self.part.model.add(unit <= most * (1 - keep))
        for keeps in kept.vgpus.values() if profile is None else ():
            for keep in keeps:
                self.part.model.add(unit <= 1 - keep)
        if profile is not None and kept.vgpus:
            self._beside_vgpus(card, profile, unit, kept.vgpus)
        return unit

    def _beside_vgpus(self, card: PciAddress, profile: str, unit: Expr, kept: dict[str, list[Expr]]) -> None:
        """Tie what a card is good for to how many vGPUs of each profile are kept on it."""
        names = sorted(kept)
        held = self.units.held.get(card, ())
        rows: list[tuple[int, ...]] = [()]
        for name in names:
            rows = [(*row, count) for row in rows for count in range(len(kept[name]) + 1)]
        table = []
        for row in rows:
            there = tuple(name for name, count in zip(names, row, strict=True) for _ in range(count))
            table.append((*row, vgpus_on(self.state, card, profile, tuple(sorted((*held, *there))))))
        counts = []
        for name in names:
            count = self.part.integer(0, len(kept[name]), f"u{card}{profile}{name}")
            self.part.model.add(count == sum(kept[name]))
            counts.append(count)
        limit = self.part.integer(0, max(row[-1] for row in table), f"l{card}{profile}")
        self.part.model.add_allowed_assignments([*counts, limit], table)
        self.part.model.add(unit <= limit)

    def _on_node(self, shape: ShapeHere, group: Group, numbers: list[Expr], most: int, name: str) -> None:
        """VMs of a node share its CPU and memory with what is bound to it."""
        assert group.node is not None
        at = self.state.node_position(group.node)
        some = self._some(sum(numbers), most, name)
        self._within(sum(numbers), shape.part, self.room.bound_uses(at), self.left.rooms[at], some)

    def _over_nodes(self, shape: ShapeHere, number: Expr, most: int, name: str) -> None:
        """VMs that take parts of several nodes find them where there is room."""
        seats = []
        for at, room in enumerate(self.left.rooms):
            top = min(most * shape.parts, times(shape.part, room))
            seat = self.part.integer(0, top, f"{name}w{at}")
            some = self._some(seat, top, f"{name}v{at}")
            self._within(seat, shape.part, self.room.bound_uses(at), room, some)
            seats.append(seat)
        self.part.model.add(shape.parts * number <= sum(seats))

    def _some(self, number: Expr, most: int, name: str) -> Expr | None:
        """Make a flag without which a number is 0, on a host that is over-full: none may fit there."""
        if not self.state.overfull:
            return None
        some = self.part.flag(name)
        self.part.model.add(number <= most * some)
        return some

    def _within(
        self, number: Expr, part: Amount, uses: list[tuple[Expr, Amount]], room: Amount, where: Expr | None
    ) -> None:
        """``number`` times ``part`` and all uses are within a room."""
        for what in ("millicores", "memory_mib"):
            each = getattr(part, what)
            if each:
                used = sum(getattr(amount, what) * count for count, amount in uses)
                self._if(where, each * number + used <= getattr(room, what))
