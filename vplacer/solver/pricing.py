"""The best column of a host kind for given duals, exactly: one CP-SAT model a kind, kept and re-used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from vplacer.errors import InternalError
from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.column import Column, column_of, read_plan
from vplacer.solver.cpsat import Outcome, run
from vplacer.solver.host_model import ROOM, HostEncoder, quantity_of
from vplacer.solver.host_plan import HostPlan
from vplacer.solver.kinds import HostKind
from vplacer.solver.rows import Key

MAX_WORK_A_PRICE = 0.5
"""Deterministic seconds for one price; its bound counts if it is not solved to the end."""


@dataclass(frozen=True)
class Price:
    """A column and the proved upper bound of any column's worth, in the objective's integer scale.

    Both None: the work allowed was too little to tell anything.
    """

    column: Column | None
    bound: int | None
    work: float


class Pricer:
    """Prices one kind."""

    def __init__(
        self, kind: HostKind, classes: tuple[DemandClass, ...], options: RequestOptions, keys: set[Key]
    ) -> None:
        self.kind = kind
        self.classes = classes
        self.options = options
        self.model = cp_model.CpModel()
        self.encoder = HostEncoder(self.model, kind.task, classes, options)
        self.vars = self.encoder.encode()
        self.quantities = {
            key: quantity
            for key in sorted(keys, key=str)
            if (quantity := quantity_of(self.vars, key)) is not None
        }

    def price(
        self,
        weights: Mapping[Key, int],
        levels: Mapping[str, int],
        seed: int,
        work: float = MAX_WORK_A_PRICE,
    ) -> Price:
        """Find the column of greatest ``sum(weight x quantity) + sum(weight x level)``.

        ``work``: deterministic seconds.
        """
        if levels.get(ROOM):
            self.encoder.encode_room()
        return self._solve(self.model, weights, levels, seed, work)

    def today(self) -> HostPlan:
        """Return the plan of a host that takes nothing new: VMs that may be changed keep their place."""
        return HostPlan((), tuple(sorted(self.vars.stays)), tuple(sorted(self.vars.as_is)), ())

    def trimmed(self, plan: HostPlan, seed: int) -> Price:
        """Return the column of a plan from which VMs were dropped, with vGPUs seated anew."""
        model = self.model.clone()
        self._fix(model, {(index, number): count for index, number, count in plan.chosen})
        for index, keep in self.vars.stays.items():
            model.add(keep == int(index in plan.stays))
        for index, keep in self.vars.as_is.items():
            model.add(keep == int(index in plan.as_is))
        return self._solve(model, {}, {}, seed)

    def within(self, limits: Mapping[int, int], level: str, seed: int) -> Price:
        """Return the column that is best for a level with no more VMs of a class than its limit."""
        model = self.model.clone()
        for index, seats in self.vars.seats.items():
            model.add(seats <= limits.get(index, 0))
        return self._solve(model, {}, {level: 1}, seed)

    def fits(self, wanted: Mapping[tuple[int, int], int], seed: int) -> bool:
        """Whether the host takes just these: how often by class and option number."""
        model = self.model.clone()
        self._fix(model, wanted)
        found = run(model, seed=seed, work=MAX_WORK_A_PRICE)
        return found.outcome in (Outcome.PROVED, Outcome.STOPPED)

    def _fix(self, model: cp_model.CpModel, wanted: Mapping[tuple[int, int], int]) -> None:
        for index, listed in self.vars.chosen.items():
            number_of = {option: number for number, option in enumerate(self.kind.task.options[index])}
            for option, variable in listed:
                model.add(variable == wanted.get((index, number_of[option]), 0))

    def _solve(
        self,
        model: cp_model.CpModel,
        weights: Mapping[Key, int],
        levels: Mapping[str, int],
        seed: int,
        work: float = MAX_WORK_A_PRICE,
    ) -> Price:
        terms = [weights[key] * quantity for key, quantity in self.quantities.items() if weights.get(key)]
        terms += [
            weight * self.vars.levels[name]
            for name, weight in levels.items()
            if weight and name in self.vars.levels
        ]
        model.maximize(sum(terms) if terms else 0)
        result = run(model, seed=seed, work=work, probing=not levels.get(ROOM))
        # A plan from which VMs were dropped may be none: others counted on the cards these took.
        if result.outcome is Outcome.IMPOSSIBLE and terms:
            raise InternalError(
                "a host that is as it is today has no answer", obj=self.kind.task.state.host.name
            )
        column = None
        if result.value is not None:
            plan = read_plan(result.solver, self.vars, self.kind.task.options)
            column = column_of(self.kind.task, self.classes, self.options, plan)
        return Price(column, result.bound, result.work)


WORK_A_MODEL = 0.00002
"""Work of making the model of one host, for each option in it."""


class Pricers:
    """The pricers of all kinds, each made when it is first asked for."""

    def __init__(
        self,
        kinds: Sequence[HostKind],
        classes: tuple[DemandClass, ...],
        options: RequestOptions,
        keys: set[Key],
    ) -> None:
        self._kinds, self._classes, self._options, self._keys = kinds, classes, options, keys
        self._made: dict[int, Pricer] = {}

    def __getitem__(self, kind: int) -> Pricer:
        if kind not in self._made:
            self._made[kind] = Pricer(self._kinds[kind], self._classes, self._options, self._keys)
        return self._made[kind]

    @property
    def work_to_make(self) -> float:
        """Work of making those that are not made yet."""
        options = sum(
            len(listed)
            for kind in self._kinds
            if kind.index not in self._made
            for listed in kind.task.options.values()
        )
        return WORK_A_MODEL * options
