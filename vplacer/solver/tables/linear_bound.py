"""What a host can take at most, if VMs could be divided: for hosts that no table prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ortools.linear_solver import pywraplp

from vplacer.solver.instance import Instance
from vplacer.solver.kinds import HostKind
from vplacer.solver.tables.evictions import covered, seat_of
from vplacer.solver.tables.families import Member
from vplacer.solver.tables.items import Item
from vplacer.solver.tables.movers import Mover
from vplacer.solver.tables.seatings import Seating, seatings_of, slots_of
from vplacer.solver.tables.sources import Duals, RowTerms
from vplacer.solver.tables.vgpu_room import vgpu_room


class LinearBound:
    """The linear programme of one host: counts of seatings, within devices, cores and memory.

    Shares of cards for vGPUs: a mixture of what the cards take together. All of it is necessary for a host
    whose VMs fit, so its value is never below the truth. ``covered``: items of movers thought away from it.
    """

    def __init__(self, instance: Instance, kind: HostKind, items: Sequence[Item], terms: RowTerms) -> None:
        state, options = kind.task.state, kind.task.options
        self._items: list[int] = []
        self._points: list[int] = []
        self._charges = {i.index: terms.on(i.index, state.host.moid) for i in items if i.lead in options}
        slots = slots_of(state, {a: c.addresses[0] for c in state.cells for a in c.addresses})
        solver = pywraplp.Solver.CreateSolver("GLOP")
        solver.SetSolverSpecificParametersAsString("use_preprocessing: false")
        infinity = solver.infinity()
        self._solver = solver
        rows: dict[object, pywraplp.Constraint] = {}
        sizes: dict[object, int] = defaultdict(int)
        for cell, slot in zip(state.cells, slots, strict=True):
            sizes[slot] += cell.size
            sizes["function", *slot] += cell.virtual_functions
        for place, size in sizes.items():
            rows[place] = solver.Constraint(-infinity, size)
        for position, room in enumerate(state.room):
            rows["cores", position] = solver.Constraint(-infinity, max(0, room.millicores))
            rows["memory", position] = solver.Constraint(-infinity, max(0, room.memory_mib))
        rows["cores"] = solver.Constraint(-infinity, max(0, state.total_room.millicores))
        rows["memory"] = solver.Constraint(-infinity, max(0, state.total_room.memory_mib))
        self.member = Member(kind, slots, {})
        self.seatings: dict[int, list[Seating]] = defaultdict(list)
        self._each: list[Seating] = []
        self._covering: list[list[Seating]] = []
        self._variables: list[pywraplp.Variable] = []
        tokens: dict[str, list[tuple[pywraplp.Variable, int]]] = defaultdict(list)
        ratios = instance.problem.request.options
        for item in items:
            listed = options.get(item.lead, ())
            cls = instance.classes[item.lead]
            for seating in seatings_of(item.index, cls, listed, state, slots, ratios):
                variable = solver.NumVar(0, infinity, "")
                self.seatings[item.index].append(seating)
                self._each.append(seating)
                self._items.append(item.index)
                self._points.append(seating.points)
                self._variables.append(variable)
                for part in seating.parts:
                    for what, size in (("cores", part.amount.millicores), ("memory", part.amount.memory_mib)):
                        if size:
                            rows[what].SetCoefficient(variable, rows[what].GetCoefficient(variable) + size)
                            if part.position >= 0 and not seating.splits:
                                rows[what, part.position].SetCoefficient(variable, size)
                    for taken, count in part.takes:
                        rows[taken].SetCoefficient(variable, count)
                for name, count in seating.tokens:
                    tokens[name].append((variable, count))
        self._share_cards(kind, tokens)
        self.covered: tuple[int, ...] = ()
        self._objective = solver.Objective()
        self._objective.SetMaximization()

    def _share_cards(self, kind: HostKind, tokens: dict[str, list[tuple[pywraplp.Variable, int]]]) -> None:
        if not tokens:
            return
        solver, infinity = self._solver, self._solver.infinity()
        names = tuple(sorted(tokens))
        whole = solver.Constraint(-infinity, 1)
        of_name = [solver.Constraint(-infinity, 0) for _ in names]
        for name, constraint in zip(names, of_name, strict=True):
            for variable, count in tokens[name]:
                constraint.SetCoefficient(variable, count)
        for room in vgpu_room(kind.task.state, names):
            share = solver.NumVar(0, 1, "")
            whole.SetCoefficient(share, 1)
            for constraint, count in zip(of_name, room, strict=True):
                constraint.SetCoefficient(share, -count)

    def most(self, duals: Duals) -> int | None:
        """Return the most at some duals; None if that was not found."""
        for variable, item, points in zip(self._variables, self._items, self._points, strict=True):
            charge = sum(duals.row[name] * weight for name, weight in self._charges[item].items())
            self._objective.SetCoefficient(variable, max(0, duals.item[item] - charge + points * duals.point))
        if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        value = self._objective.Value()
        # Floating point: a little above is still a bound.
        return int(value * (1 + 1e-7)) + 2 - sum(duals.item[item] for item in self.covered)

    def costs(self, duals: Duals) -> list[tuple[int, int]]:
        """Return, for each mover thought away, its item and what its seat of today costs at some duals.

        Charged just that, no mover is worth thinking away.
        """
        if self.most(duals) is None:
            return []
        costs: dict[object, float] = {}
        for variable, seating in zip(self._variables, self._each, strict=True):
            worth = self._objective.GetCoefficient(variable)
            costs[seating] = worth - variable.reduced_cost()
        found = []
        for item, seats in zip(self.covered, self._covering, strict=True):
            found.append((item, max(0, round(min(costs[seating] for seating in seats)))))
        return found

    def cover(self, movers: Sequence[Mover], of_kind: Mapping[int, int]) -> None:
        """Charge what the movers of the host have seatings for: they left it, or are placed on it again."""
        found = []
        for mover in movers:
            item = of_kind[mover.kind]
            seat = seat_of(mover, self.member)
            mine = [s for s in self.seatings.get(item, ()) if seat is not None and covered(seat, (s,))]
            if mine:
                found.append(item)
                self._covering.append(mine)
        self.covered = tuple(found)
