"""One host as CP-SAT constraints: which counts of which demand classes fit together, exactly.

The same encoding serves the exact model of a small instance (all hosts in one model) and the pricing
of columns (one host a model). What couples hosts is not here (see `rows`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from vplacer.constraints.checks.change_limits import MOVES, POWER_CYCLES
from vplacer.constraints.supply import consumer_of_demand
from vplacer.request.demand import RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.future.encode import MixEncoder
from vplacer.solver.future.places import HostMix
from vplacer.solver.future.taken import taken_by_option
from vplacer.solver.host_cards import HostCards
from vplacer.solver.host_parts import Expr, ModelPart
from vplacer.solver.host_room import HostRoom
from vplacer.solver.host_state import ActiveVm, HostState
from vplacer.solver.levels import cpu_only_cost
from vplacer.solver.option import Option
from vplacer.solver.reseat import option_change, option_cost
from vplacer.solver.room import Block, blocks_of, unnamed
from vplacer.solver.rows import Key
from vplacer.solver.wishes import POINTS, HostWish

ROOM = "room"
"""The level that is added when it is asked for."""


@dataclass(frozen=True, slots=True)
class HostLimit:
    """At most ``most`` VMs of ``classes`` on the host (anti-affinity, gangs)."""

    name: str
    classes: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class HostTask:
    """All that is needed to encode one host.

    ``options``: class index to its options there, equal lists one object on all hosts of an instance.
    ``together``: rule name to its classes. ``stay_points``: locality points of an active VM that stays.
    ``wishes``: preferred rules. ``mix``: the shapes expected later.
    """

    state: HostState
    options: dict[int, tuple[Option, ...]]
    limits: tuple[HostLimit, ...]
    together: tuple[tuple[str, tuple[int, ...]], ...]
    stay_points: dict[int, int]
    wishes: tuple[HostWish, ...] = ()
    mix: HostMix | None = None


@dataclass
class HostVars:
    """Variables of one host.

    ``chosen[class]``: (option, count variable). ``stays`` and ``as_is`` of active VMs: the VM keeps
    its place and counts as placed, or is left unplaced where it is. ``seats[class]``: VMs placed on
    the host, stays included. ``uses_rule``: 1 if a member of a together-rule is here.
    ``changes``: power cycles and moves of existing VMs (see `checks.change_limits`). ``levels``: value of
    each level id here, all to be maximised; "room" is there once it was asked for.
    """

    chosen: dict[int, list[tuple[Option, Expr]]] = field(default_factory=dict)
    stays: dict[int, Expr] = field(default_factory=dict)
    as_is: dict[int, Expr] = field(default_factory=dict)
    seats: dict[int, Expr] = field(default_factory=dict)
    uses_rule: dict[str, Expr] = field(default_factory=dict)
    vgpus: dict[tuple[int, str], Expr] = field(default_factory=dict)
    changes: dict[str, Expr] = field(default_factory=dict)
    levels: dict[str, Expr] = field(default_factory=dict)


class HostEncoder:
    """Adds one host to a model."""

    def __init__(
        self,
        model: cp_model.CpModel,
        task: HostTask,
        classes: tuple[DemandClass, ...],
        options: RequestOptions,
        prefix: str = "",
    ) -> None:
        self.part = ModelPart(model, prefix)
        self.task = task
        self.state = task.state
        self.classes = classes
        self.request_options = options
        self.vars = HostVars()
        self.cards = HostCards(self.part, task.state)
        self.room = HostRoom(self.part, task.state)
        self._counts: list[tuple[DemandClass, Option, Expr]] = []
        self._kept: list[tuple[ActiveVm, Expr]] = []

    def encode(self) -> HostVars:
        """Add variables and constraints; return the variables."""
        self._choose()
        self._keep()
        self.cards.constrain()
        self.vars.vgpus = self.cards.vgpus
        self.room.constrain([count for listed in self.vars.chosen.values() for _, count in listed])
        self._rules()
        self._changes()
        self._levels()
        return self.vars

    def _choose(self) -> None:
        """Count variables of the options, and what each option takes."""
        for index in sorted(self.task.options):
            cls = self.classes[index]
            listed = []
            for number, option in enumerate(self.task.options[index]):
                most = self._most(cls, option)
                if most <= 0:
                    continue
                count = self.part.integer(0, most, f"y{index}_{number}")
                listed.append((option, count))
                consumer = consumer_of_demand(cls.demand, option.nodes, self.state.host, self.request_options)
                if consumer is not None:
                    self.room.consume(consumer, count, most)
                self.cards.take(option, count, most)
                self._counts.append((cls, option, count))
            self.vars.chosen[index] = listed

    def _most(self, cls: DemandClass, option: Option) -> int:
        # What counts on there being no other card to choose can be said of one VM only.
        most = 1 if option.alone else cls.count
        for use in option.uses:
            for cell, count in use.cells:
                have = self.state.cells[cell]
                size = have.virtual_functions if use.resource == "vf" else have.size
                most = min(most, max(size, have.size) // count)
        return most

    def _keep(self) -> None:
        """VMs on the host that the plan may change: as today, unless placed anew."""
        for active in self.state.actives:
            cls = self.classes[active.class_index]
            keep = self.part.flag(f"keep{cls.index}")
            if cls.stay is not None:
                self.vars.stays[cls.index] = keep
            else:
                self.vars.as_is[cls.index] = keep
            if active.consumer is not None:
                self.room.consume(active.consumer, keep, 1)
            self.cards.keep(active, keep)
            self._kept.append((active, keep))

    def _rules(self) -> None:
        here: dict[int, Expr] = {}
        for cls in self.classes:
            terms = [count for _, count in self.vars.chosen.get(cls.index, [])]
            if cls.index in self.vars.stays:
                terms.append(self.vars.stays[cls.index])
            if terms:
                self.vars.seats[cls.index] = sum(terms)
            present = list(terms)
            if cls.index in self.vars.as_is:
                present.append(self.vars.as_is[cls.index])
            if present:
                here[cls.index] = sum(present)
        for limit in self.task.limits:
            new = [count for index in limit.classes for _, count in self.vars.chosen.get(index, [])]
            kept = [
                var
                for index in limit.classes
                for var in (self.vars.stays.get(index), self.vars.as_is.get(index))
                if var is not None
            ]
            self.part.limit(f"rule_{limit.name}", new, kept, len(kept), limit.most)
        for name, members_of in self.task.together:
            present = [here[index] for index in members_of if index in here]
            if present:
                used = self.part.flag(f"rule_{name}")
                most = sum(self.classes[index].count for index in members_of)
                self.part.model.add(sum(present) <= most * used)
                self.vars.uses_rule[name] = used

    def _changes(self) -> None:
        """Count what is done to existing VMs that are placed here."""
        found: dict[str, list[Expr]] = {POWER_CYCLES: [], MOVES: []}
        for index, listed in self.vars.chosen.items():
            cls = self.classes[index]
            for option, count in listed if cls.vm is not None else ():
                change = option_change(cls, option, self.state)
                if change.power_cycle:
                    found[POWER_CYCLES].append(count)
                if change.moves:
                    found[MOVES].append(count)
        self.vars.changes = {name: sum(terms) for name, terms in found.items() if terms}

    def _levels(self) -> None:
        levels: dict[str, list[Expr]] = defaultdict(list)
        for index, listed in self.vars.chosen.items():
            cls = self.classes[index]
            for option, count in listed:
                cost = option_cost(cls, option, self.state)
                levels[f"placed:{cls.demand.priority}"].append(cls.demand.weight_milli * count)
                if option.points:
                    levels["locality"].append(option.points * count)
                if cost:
                    levels["moves"].append(-cost * count)
        for index, keep in self.vars.stays.items():
            cls = self.classes[index]
            levels[f"placed:{cls.demand.priority}"].append(cls.demand.weight_milli * keep)
            if self.task.stay_points.get(index):
                levels["locality"].append(self.task.stay_points[index] * keep)
        if POWER_CYCLES in self.vars.changes:
            levels["power_cycles"].append(-1 * self.vars.changes[POWER_CYCLES])
        levels["locality"] += self._wishes()
        levels["hosts"].append(self._host_use())
        self.vars.levels = {name: sum(terms) for name, terms in levels.items()}

    def encode_room(self) -> None:
        """Add level "room", once; it needs many variables, which no other level asks for."""
        if ROOM in self.vars.levels:
            return
        terms = self._whole_blocks(blocks_of(self.state))
        terms += [-cost * count for cost, count in self._beside_gpus() if cost]
        if self.task.mix is not None:
            mix = MixEncoder(self.part, self.state, self.room)
            for cls, option, count in self._counts:
                for taken in taken_by_option(self.task.mix.problem, cls.demand, option, self.state):
                    mix.take(taken, count)
            for active, keep in self._kept:
                mix.keep(active, keep)
            terms += mix.points(self.task.mix.shapes)
        self.vars.levels[ROOM] = sum(terms)

    def _beside_gpus(self) -> Iterator[tuple[int, Expr]]:
        """What CPU-only VMs cost on nodes with GPUs."""
        gpu_nodes = frozenset(g.node for g in self.state.topology.gpus if g.node is not None)
        has_gpu = bool(self.state.topology.gpus)
        for cls, option, count in self._counts:
            yield cpu_only_cost(cls.demand, option.nodes, gpu_nodes, has_gpu), count
        for index, keep in self.vars.stays.items():
            cls = self.classes[index]
            nodes = cls.stay.nodes if cls.stay else ()
            yield cpu_only_cost(cls.demand, nodes, gpu_nodes, has_gpu), keep

    def _wishes(self) -> list[Expr]:
        """Points of the rules that are preferences."""
        terms: list[Expr] = []
        for wish in self.task.wishes:
            present = [
                var
                for index in wish.classes
                for var in (self.vars.seats.get(index), self.vars.as_is.get(index))
                if var is not None
            ]
            if not present or wish.most == 0:
                continue
            count = sum(self.classes[index].count for index in wish.classes)
            kept = self.part.integer(0, count if wish.most is None else wish.most, f"wish_{wish.name}")
            some = self.part.flag(f"some_{wish.name}") if wish.less else 0
            if wish.less:
                self.part.model.add(sum(present) <= count * some)
            self.part.model.add(kept <= sum(present) - some)
            terms.append(POINTS * kept)
        return terms

    def _whole_blocks(self, blocks: tuple[Block, ...]) -> list[Expr]:
        """Points of whole blocks; cards somebody else chooses may each break another one."""
        terms: list[Expr] = []
        families: dict[str, list[tuple[Expr, Expr]]] = defaultdict(list)
        for number, block in enumerate(blocks):
            whole = self.part.flag(f"b{number}")
            for cell in block.cells:
                use = self.cards.cells[cell]
                if use.all():
                    # One row a cell, with its size: far tighter than one condition on them all.
                    most = max(self.state.cells[cell].size, len(use.kept))
                    self.part.model.add(sum(use.all()) <= most * (1 - whole))
            for (at, _), variable in self.cards.vgpus.items():
                if at in block.cells:
                    self.part.model.add(variable == 0).only_enforce_if(whole)
            terms.append(block.worth * whole)
            if self._loose(block.family):
                unbroken: Expr = 1
                sure = [use for cell in block.cells for use in self.cards.sure(cell)]
                if sure:
                    unbroken = self.part.flag(f"s{number}")
                    self.part.model.add(sum(sure) == 0).only_enforce_if(unbroken)
                families[block.family].append((whole, unbroken))
        for family, members in sorted(families.items()):
            left = sum(unbroken for _, unbroken in members) - sum(self._loose(family))
            some = self.part.flag(f"some_{family}")
            for whole, _ in members:
                self.part.model.add_implication(whole, some)
            self.part.model.add(sum(whole for whole, _ in members) <= left).only_enforce_if(some)
        return terms

    def _loose(self, family: str) -> list[Expr]:
        """What may break any block of a family: see `room.Loose`."""
        held = unnamed(self.state).may_break(family)
        chosen = self.cards.loose["gpu"] + (self.cards.loose["nic"] if family == "switch" else [])
        return [*chosen, held] if held else chosen

    def _host_use(self) -> Expr:
        """Level "hosts", negative: the host is used, or the square of its VMs."""
        present = [*self.vars.seats.values(), *self.vars.as_is.values()]
        if self.request_options.hosts_goal == "spread":
            most = self.state.standing_count + sum(cls.count for cls in self.classes)
            number = self.part.integer(0, most, "vms")
            self.part.model.add(number == self.state.standing_count + sum(present))
            square = self.part.integer(0, most * most, "vms2")
            self.part.model.add_multiplication_equality(square, [number, number])
            return -square
        if self.state.standing_count:
            return -1
        used = self.part.flag("used")
        if present:
            most = sum(cls.count for cls in self.classes)
            self.part.model.add(sum(present) <= most * used)
        return -1 * used


def quantity_of(variables: HostVars, key: Key) -> Expr | None:
    """Return the expression of a row's quantity on a host, None where the host has none."""
    kind, name = key
    if kind == "seats":
        return variables.seats.get(int(name))
    if kind == "new":
        counts = [count for _, count in variables.chosen.get(int(name), [])]
        return sum(counts) if counts else None
    if kind == "as_is":
        return variables.as_is.get(int(name))
    if kind in (POWER_CYCLES, MOVES):
        return variables.changes.get(kind)
    return variables.uses_rule.get(str(name))
