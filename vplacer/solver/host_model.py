"""One host as CP-SAT constraints: which counts of which demand classes fit together, exactly.

The same encoding serves the exact model of a small instance (all hosts in one model) and the pricing
of columns (one host a model). What couples hosts is not here (see `rows`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ortools.sat.python import cp_model

from vplacer.constraints.supply import Amount, Consumer, Seat, consumer_of_demand
from vplacer.request.demand import BoundBy, RequestOptions
from vplacer.solver.classes import DemandClass
from vplacer.solver.host_state import ActiveVm, HostState
from vplacer.solver.levels import change_cost, cpu_only_cost
from vplacer.solver.options import Option
from vplacer.solver.room import Block, blocks_of
from vplacer.solver.rows import Key
from vplacer.solver.vgpu_patterns import card_patterns

Expr: TypeAlias = Any
"""A CP-SAT linear expression; OR-tools has no stubs."""


@dataclass(frozen=True, slots=True)
class HostLimit:
    """At most ``most`` VMs of ``classes`` on the host (anti-affinity, gangs)."""

    name: str
    classes: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class HostTask:
    """All that is needed to encode one host.

    ``options``: class index to its options there. ``together``: rule name to its classes.
    ``stay_points``: locality points of an active VM that stays.
    """

    state: HostState
    options: dict[int, tuple[Option, ...]]
    limits: tuple[HostLimit, ...]
    together: tuple[tuple[str, tuple[int, ...]], ...]
    stay_points: dict[int, int]


@dataclass
class HostVars:
    """Variables of one host.

    ``chosen[class]``: (option, count variable). ``stays`` and ``as_is`` of active VMs: the VM keeps
    its place and counts as placed, or is left unplaced where it is. ``seats[class]``: VMs placed on
    the host, stays included. ``uses_rule``: 1 if a member of a together-rule is here.
    ``levels``: value of each level id here, all to be maximised.
    """

    chosen: dict[int, list[tuple[Option, Expr]]] = field(default_factory=dict)
    stays: dict[int, Expr] = field(default_factory=dict)
    as_is: dict[int, Expr] = field(default_factory=dict)
    seats: dict[int, Expr] = field(default_factory=dict)
    uses_rule: dict[str, Expr] = field(default_factory=dict)
    vgpus: dict[tuple[int, str], Expr] = field(default_factory=dict)
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
        self.model = model
        self.task = task
        self.state = task.state
        self.classes = classes
        self.request_options = options
        self.prefix = prefix
        self.vars = HostVars()
        self._bound: dict[int, list[tuple[Expr, Amount]]] = defaultdict(list)
        self._total: list[tuple[Expr, Amount]] = []
        self._divisible: list[tuple[Expr, Amount]] = []
        self._floating: list[tuple[Expr, Consumer]] = []
        self._cell_use: dict[int, list[Expr]] = defaultdict(list)
        self._function_use: dict[int, list[Expr]] = defaultdict(list)
        self._vgpu_need: dict[str, list[Expr]] = defaultdict(list)
        self._pinned_vgpus: dict[tuple[int, str], list[Expr]] = defaultdict(list)
        self._platform: list[Expr] = []
        self._scarce: list[tuple[tuple[int, ...], Expr]] = []
        self._pools: set[tuple[int, ...]] = set()
        self._static_use: dict[int, list[Expr]] = defaultdict(list)
        self._keepers: dict[int, Expr] = {}

    def encode(self) -> HostVars:
        """Add variables and constraints; return the variables."""
        self._choose()
        self._keep()
        self._cards()
        self._vgpus()
        self._cpu_and_memory()
        self._rules()
        self._levels()
        return self.vars

    def _bool(self, name: str) -> Expr:
        return self.model.new_bool_var(f"{self.prefix}{name}")

    def _int(self, low: int, high: int, name: str) -> Expr:
        return self.model.new_int_var(low, high, f"{self.prefix}{name}")

    def _choose(self) -> None:
        """Count variables of the options, and what each option takes."""
        for index in sorted(self.task.options):
            cls = self.classes[index]
            listed = []
            for number, option in enumerate(self.task.options[index]):
                most = self._most(cls, option)
                if most <= 0:
                    continue
                count = self._int(0, most, f"y{index}_{number}")
                listed.append((option, count))
                self._take(cls, option, count)
            self.vars.chosen[index] = listed

    def _most(self, cls: DemandClass, option: Option) -> int:
        most = cls.count
        for use in option.uses:
            for cell, count in use.cells:
                have = self.state.cells[cell]
                size = have.virtual_functions if use.resource == "vf" else have.size
                most = min(most, size // count)
        return most

    def _take(self, cls: DemandClass, option: Option, count: Expr) -> None:
        consumer = consumer_of_demand(cls.demand, option.nodes, self.state.host, self.request_options)
        if consumer is not None:
            self._consume(consumer, count)
        for use in option.uses:
            if use.resource == "vgpu":
                self._vgpu_need[use.profile or ""].append(use.count * count)
                self._platform.append(use.count * count)
                continue
            self._pools.update(use.pools)
            for cell, taken in use.cells:
                card = self.state.cells[cell].card
                # A NIC in a device group comes as a virtual function unless it is passed through.
                function = use.resource == "vf" or (card.kind == "nic" and not card.passthrough)
                (self._function_use if function else self._cell_use)[cell].append(taken * count)
                if use.bound_by is BoundBy.STATIC and not function:
                    self._static_use[cell].append(count)
            if use.resource != "vf" and use.bound_by is not BoundBy.STATIC:
                self._platform.append(sum(taken for _, taken in use.cells) * count)

    def _consume(self, consumer: Consumer, count: Expr) -> None:
        self._total.append((count, consumer.whole))
        if not self.state.node_ids:
            return
        if consumer.seat is Seat.BOUND:
            for node in consumer.nodes:
                self._bound[self.state.node_position(node)].append((count, consumer.part))
        else:
            self._floating.append((count, consumer))

    def _keep(self) -> None:
        """VMs on the host that the plan may change: as today, unless placed anew."""
        for active in self.state.actives:
            cls = self.classes[active.class_index]
            keep = self._bool(f"keep{cls.index}")
            if cls.stay is not None:
                self.vars.stays[cls.index] = keep
            else:
                self.vars.as_is[cls.index] = keep
            self._keepers[cls.index] = keep
            if active.consumer is not None:
                self._consume(active.consumer, keep)
            self._hold(active, keep)

    def _hold(self, active: ActiveVm, keep: Expr) -> None:
        cell_of = {address: cell.index for cell in self.state.cells for address in cell.addresses}
        for holding in active.holdings:
            if holding.address is None:
                cells = tuple(sorted({cell_of[a] for a in holding.candidates if a in cell_of}))
                if cells and holding.kind != "vf":
                    self._scarce.append((cells, keep))
                elif cells:
                    for cell in cells:
                        self._function_use[cell].append(keep)
                continue
            cell_index = cell_of.get(holding.address)
            if cell_index is None:
                continue
            if holding.kind == "vf":
                self._function_use[cell_index].append(keep)
            elif holding.kind == "vgpu" and holding.group is None and holding.profile is not None:
                self._pinned_vgpus[cell_index, holding.profile].append(keep)
            else:
                self._cell_use[cell_index].append(keep)

    def _cards(self) -> None:
        for cell in self.state.cells:
            if self._cell_use[cell.index]:
                self.model.add(sum(self._cell_use[cell.index]) <= cell.size)
            if self._function_use[cell.index]:
                functions = cell.virtual_functions
                self.model.add(sum(self._function_use[cell.index]) <= functions)
                # A port whose functions are in use cannot be passed through as a whole.
                if cell.card.passthrough and self._cell_use[cell.index]:
                    whole = self._bool(f"whole{cell.index}")
                    self.model.add(sum(self._function_use[cell.index]) <= functions * (1 - whole))
                    self.model.add(sum(self._cell_use[cell.index]) <= cell.size * whole)
        for cells, count in self.state.scarce:
            self._leave(cells, count)
        for cells, keep in self._scarce:
            self._leave(cells, keep)
            named = [use for cell in cells for use in self._static_use[cell]]
            if named:
                # A card that another VM may hold cannot be named for one.
                self.model.add(sum(named) == 0).only_enforce_if(keep)
        for pool in sorted(self._pools):
            self._leave_in_pool(pool)
        self._owners()

    def _leave(self, cells: tuple[int, ...], count: Expr) -> None:
        """Leave ``count`` cards of some cells to holders nobody can name the card of."""
        used = [use for cell in cells for use in self._cell_use[cell]]
        size = sum(self.state.cells[cell].size for cell in cells)
        if used:
            self.model.add(sum(used) <= size - count)

    def _owners(self) -> None:
        """Devices that are reset together go to one VM at most."""
        for group in self.state.topology.ownership_groups:
            cells = {c.index for c in self.state.cells if not set(c.addresses).isdisjoint(group)}
            free = sum(self.state.cells[index].size for index in cells)
            takers = [
                count
                for listed in self.vars.chosen.values()
                for option, count in listed
                if any(cell in cells for use in option.uses for cell, _ in use.cells)
            ]
            if not takers or len(group) < 2:
                continue
            held = free < sum(1 for a in group if self.state.topology.device(a) is not None)
            keepers = [
                self._keepers[active.class_index]
                for active in self.state.actives
                if any(holding.address in group for holding in active.holdings)
            ]
            # A card of the group that is not free is held by a VM that is not touched.
            self.model.add(sum(takers) + sum(keepers) <= (0 if held else 1))

    def _leave_in_pool(self, pool: tuple[int, ...]) -> None:
        """Leave enough cards of a label, or of all that match, whichever those holders hold."""
        used = [use for cell in pool for use in self._cell_use[cell]]
        size = self.state.sure_size(pool)
        held: list[Expr] = []
        for cells, keep in self._scarce:
            if set(pool).intersection(cells):
                held.append(keep)
        if used and (held or size < sum(self.state.cells[cell].size for cell in pool)):
            self.model.add(sum(used) + sum(held) <= max(size, 0))

    def _vgpus(self) -> None:
        """Seat vGPUs on cards by the patterns each card's mode allows."""
        names = sorted(set(self._vgpu_need) | {profile for _, profile in self._pinned_vgpus})
        if not names:
            return
        held = dict(self.state.vgpu_held)
        for cell in self.state.cells:
            if cell.card.kind != "gpu" or not cell.card.vgpu:
                continue
            patterns = card_patterns(
                self.state.host, cell.card, held.get(cell.addresses[0], ()), tuple(names)
            )
            row = [self._int(0, max(p[i] for p in patterns), f"v{cell.index}_{i}") for i in range(len(names))]
            self.model.add_allowed_assignments(row, patterns)
            for name, variable in zip(names, row, strict=True):
                self.vars.vgpus[cell.index, name] = variable
                pinned = self._pinned_vgpus.get((cell.index, name))
                if pinned:
                    self.model.add(variable >= sum(pinned))
            if self._cell_use[cell.index]:
                whole = sum(self._cell_use[cell.index])
                most = max(sum(pattern) for pattern in patterns)
                if most:
                    self.model.add(sum(row) <= most * (1 - whole))
        for name in names:
            seats = [variable for (_, profile), variable in self.vars.vgpus.items() if profile == name]
            pinned_all = [
                p for (_, profile), uses in self._pinned_vgpus.items() if profile == name for p in uses
            ]
            self.model.add(sum(seats) == sum(self._vgpu_need[name]) + sum(pinned_all))

    def _cpu_and_memory(self) -> None:
        """Totals, bound nodes, and some seat for everything that floats."""
        guard = None
        if self.state.overfull:
            # Over-full today may stay so; anything new must fit.
            guard = self._bool("fits")
            new = [count for listed in self.vars.chosen.values() for _, count in listed]
            if new:
                self.model.add(sum(new) == 0).only_enforce_if(guard.negated())
        room = self.state.total_room
        self._within(self._total, room, guard)
        if not self.state.node_ids:
            return
        node_use: dict[int, list[tuple[Expr, Amount]]] = {
            position: list(self._bound[position]) for position in range(len(self.state.node_ids))
        }
        spread: list[tuple[Expr, Amount]] = []
        fixed_spread = Amount(0, 0)
        for number, (amount, parts, allowed) in enumerate(self.state.items):
            seats = [self._int(0, parts, f"i{number}_{p}") for p in range(len(self.state.node_ids))]
            self._seat_parts(seats, parts, allowed, amount, node_use)
        for number, (count, consumer) in enumerate(self._floating):
            allowed = tuple(self.state.node_position(node) for node in consumer.nodes)
            if consumer.seat is Seat.DIVISIBLE and not allowed:
                spread.append((count, consumer.whole))
                continue
            if consumer.seat is Seat.DIVISIBLE:
                self._seat_divisible(f"f{number}", count, consumer.whole, allowed, node_use)
                continue
            most = consumer.parts * max((cls.count for cls in self.classes), default=1)
            seats = [self._int(0, most, f"f{number}_{p}") for p in range(len(self.state.node_ids))]
            self._seat_parts(seats, consumer.parts * count, allowed, consumer.part, node_use)
        for number, (amount, allowed) in enumerate(self.state.divisible):
            if allowed:
                self._seat_divisible(f"d{number}", 1, amount, allowed, node_use)
            else:
                fixed_spread = fixed_spread + amount
        rooms = [Amount(max(0, r.millicores), max(0, r.memory_mib)) for r in self.state.room]
        for position, uses in node_use.items():
            self._within(uses, rooms[position], guard)
        everything = [use for uses in node_use.values() for use in uses] + spread
        left = Amount(sum(r.millicores for r in rooms), sum(r.memory_mib for r in rooms)) - fixed_spread
        self._within(everything, left, guard)

    def _seat_parts(
        self,
        seats: list[Expr],
        parts: Expr,
        allowed: tuple[int, ...],
        amount: Amount,
        node_use: dict[int, list[tuple[Expr, Amount]]],
    ) -> None:
        self.model.add(sum(seats) == parts)
        for position, seat in enumerate(seats):
            if allowed and position not in allowed:
                self.model.add(seat == 0)
            else:
                node_use[position].append((seat, amount))

    def _seat_divisible(
        self,
        name: str,
        count: Expr,
        amount: Amount,
        allowed: tuple[int, ...],
        node_use: dict[int, list[tuple[Expr, Amount]]],
    ) -> None:
        for what, size in (("c", amount.millicores), ("m", amount.memory_mib)):
            if not size:
                continue
            shares = [self._int(0, size, f"{name}{what}_{p}") for p in allowed]
            self.model.add(sum(shares) == size * count)
            unit = Amount(1, 0) if what == "c" else Amount(0, 1)
            for position, share in zip(allowed, shares, strict=True):
                node_use[position].append((share, unit))

    def _within(self, uses: list[tuple[Expr, Amount]], room: Amount, guard: Expr | None) -> None:
        for part in ("millicores", "memory_mib"):
            terms = [getattr(amount, part) * count for count, amount in uses if getattr(amount, part)]
            if not terms:
                continue
            constraint = self.model.add(sum(terms) <= max(0, getattr(room, part)))
            if guard is not None:
                constraint.only_enforce_if(guard)

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
            members = [here[index] for index in limit.classes if index in here]
            new = [count for index in limit.classes for _, count in self.vars.chosen.get(index, [])]
            if not members or not new:
                continue
            # Those who are here together today may remain so; nobody may join them.
            kept = [
                var
                for index in limit.classes
                for var in (self.vars.stays.get(index), self.vars.as_is.get(index))
                if var is not None
            ]
            if len(kept) <= limit.most:
                self.model.add(sum(members) <= limit.most)
            else:
                none_new = self._bool(f"apart_{limit.name}")
                self.model.add(sum(new) == 0).only_enforce_if(none_new)
                self.model.add(sum(members) <= limit.most).only_enforce_if(none_new.negated())
        for name, members_of in self.task.together:
            present = [here[index] for index in members_of if index in here]
            if present:
                used = self._bool(f"rule_{name}")
                most = sum(self.classes[index].count for index in members_of)
                self.model.add(sum(present) <= most * used)
                self.vars.uses_rule[name] = used

    def _levels(self) -> None:
        levels: dict[str, list[Expr]] = defaultdict(list)
        gpu_nodes = frozenset(g.node for g in self.state.topology.gpus if g.node is not None)
        has_gpu = bool(self.state.topology.gpus)
        for index, listed in self.vars.chosen.items():
            cls = self.classes[index]
            same = cls.home == self.state.host.moid
            cost = change_cost(cls.demand, cls.vm, same, cls.stay is not None)
            for option, count in listed:
                levels[f"placed:{cls.demand.priority}"].append(cls.demand.weight_milli * count)
                if option.points:
                    levels["locality"].append(option.points * count)
                if cost:
                    levels["moves"].append(-cost * count)
                penalty = cpu_only_cost(cls.demand, option.nodes, gpu_nodes, has_gpu)
                if penalty:
                    levels["room"].append(-penalty * count)
        for index, keep in self.vars.stays.items():
            cls = self.classes[index]
            levels[f"placed:{cls.demand.priority}"].append(cls.demand.weight_milli * keep)
            if self.task.stay_points.get(index):
                levels["locality"].append(self.task.stay_points[index] * keep)
            penalty = cpu_only_cost(cls.demand, cls.stay.nodes if cls.stay else (), gpu_nodes, has_gpu)
            if penalty:
                levels["room"].append(-penalty * keep)
        levels["room"] += self._whole_blocks(blocks_of(self.state))
        levels["hosts"].append(self._host_use())
        self.vars.levels = {name: sum(terms) for name, terms in levels.items()}

    def _whole_blocks(self, blocks: tuple[Block, ...]) -> list[Expr]:
        terms: list[Expr] = []
        families: dict[str, list[Expr]] = defaultdict(list)
        for number, block in enumerate(blocks):
            whole = self._bool(f"b{number}")
            for cell in block.cells:
                uses = self._cell_use[cell]
                if uses:
                    self.model.add(sum(uses) <= self.state.cells[cell].size * (1 - whole))
                for (at, _), variable in self.vars.vgpus.items():
                    if at == cell:
                        self.model.add(variable == 0).only_enforce_if(whole)
            families[block.family].append(whole)
            terms.append(block.worth * whole)
        if self._platform:
            taken = sum(self._platform)
            for family, members in sorted(families.items()):
                most = self._int(0, len(members), f"most_{family}")
                self.model.add_max_equality(most, [0, len(members) - taken])
                self.model.add(sum(members) <= most)
        return terms

    def _host_use(self) -> Expr:
        """Level "hosts", negative: the host is used, or the square of its VMs."""
        present = [*self.vars.seats.values(), *self.vars.as_is.values()]
        if self.request_options.hosts_goal == "spread":
            most = self.state.standing_count + sum(cls.count for cls in self.classes)
            number = self._int(0, most, "vms")
            self.model.add(number == self.state.standing_count + sum(present))
            square = self._int(0, most * most, "vms2")
            self.model.add_multiplication_equality(square, [number, number])
            return -square
        if self.state.standing_count:
            return -1
        used = self._bool("used")
        if present:
            most = sum(cls.count for cls in self.classes)
            self.model.add(sum(present) <= most * used)
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
    return variables.uses_rule.get(str(name))
