"""What each host can begin with: the residuals of its nodes, as it is and after a VM that spans them.

Every row of `FamilyStarts` is one beginning of one kind of host: a position in the table of each node, and
what is placed already. The best of a kind is the best of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.constraints.supply import Amount
from vplacer.solver.host_state import HostState
from vplacer.solver.tables.cards import Share, SharedCards
from vplacer.solver.tables.deeper import Deeper
from vplacer.solver.tables.families import Family, Member
from vplacer.solver.tables.finer import Finer
from vplacer.solver.tables.floating_rows import RowMaker
from vplacer.solver.tables.node_slots import Node, build_nodes
from vplacer.solver.tables.node_table import NodeSeating, NodeTable, build_table
from vplacer.solver.tables.plain import plain_groups
from vplacer.solver.tables.pooled import Pooled
from vplacer.solver.tables.promises import gaining
from vplacer.solver.tables.reachable import floats
from vplacer.solver.tables.residuals import Again, Residuals
from vplacer.solver.tables.richness import MOST_SHARED_STATES, MOST_STATES, StateCount
from vplacer.solver.tables.seatings import Seating
from vplacer.solver.tables.slots import Opening, Promise, State, Takes, devices, is_gpu, is_shared
from vplacer.solver.tables.step import Rows, Step
from vplacer.solver.tables.units import units_for

Array = npt.NDArray[Any]


@dataclass
class FamilyStarts:
    """The rows of one family.

    ``kind``: position of the row's kind in the family. ``flat[position]``: where its node is in the table of
    that position; ``state``: the devices it has. ``begun``: what is placed already, by number in ``begins``
    (0 = nothing). ``base``: the row of the host as it is that it comes from; ``finer``: the residuals that
    each of those stands for. ``names[position]``: seating of the family for each seating of the table.
    ``relying``: seatings, by number, that rely on a promise that a table keeps track of; ``gaining``: those
    that gain nothing but points by that. ``deeper``: tries more on the kinds that may take several VMs over
    more than one node. ``open_kinds``: those whose VMs may lie on nodes as no seating says.
    """

    family: Family
    tables: tuple[NodeTable, ...]
    names: tuple[tuple[int, ...], ...]
    kind: Array
    flat: Array
    state: Array
    begun: Array
    begins: tuple[tuple[int, ...], ...]
    base: Array
    finer: Finer | Pooled
    deeper: Deeper | None
    open_kinds: frozenset[int]
    relying: tuple[int, ...]
    gaining: tuple[int, ...]


class StartsBuilder:
    """Builds the rows of families; tables of equal nodes are shared."""

    def __init__(self, *, nearly: bool = False) -> None:
        """Begin; ``nearly``: for prices that are never asked to be deep, and without hosts that have many
        cards that choose their profile."""
        self.nearly = nearly
        self.tables: dict[object, NodeTable] = {}
        self._wanted: dict[object, dict[str, Any]] = {}

    def build(self, families: Sequence[Family]) -> list[FamilyStarts]:
        """Return the rows of every family that a table can price."""
        prepared = []
        for family in families:
            plan = _Plan(family, self.nearly)
            if plan.too_rich:
                poorer = plan.poorer()
                if not poorer.members:
                    continue
                plan = _Plan(poorer, self.nearly)
            prepared.append(plan)
        for plan in prepared:
            plan.ask_for(self)
        self._make()
        return [plan.rows(self) for plan in prepared]

    def want(
        self, node: Node, states: set[State], most: tuple[int, int], extra: set[Any], amounts: set[Amount]
    ) -> object:
        """Note what a node asks of its table; return the table's key."""
        key = (node.seatings, len(node.slots), node.openings, node.promises)
        wanted = self._wanted.setdefault(
            key, {"states": set(), "most": (0, 0), "extra": set(), "amounts": set()}
        )
        wanted["states"] |= states
        wanted["most"] = (max(wanted["most"][0], most[0]), max(wanted["most"][1], most[1]))
        wanted["extra"] |= extra
        wanted["amounts"] |= amounts
        return key

    def _make(self) -> None:
        for key, wanted in self._wanted.items():
            seatings: tuple[NodeSeating, ...] = key[0]  # type: ignore[index]
            openings: tuple[Opening, ...] = key[2]  # type: ignore[index]
            promises: tuple[Promise, ...] = key[3]  # type: ignore[index]
            own = {Amount(seating.millicores, seating.memory_mib) for seating in seatings}
            units = units_for(own | wanted["amounts"], wanted["most"])
            self.tables[key] = build_table(
                seatings, wanted["states"], wanted["most"], units, wanted["extra"], openings, promises
            )


class _Plan:
    """One family on the way to its rows."""

    def __init__(self, family: Family, nearly: bool) -> None:
        self.family, self._nearly = family, nearly
        self._most = MOST_STATES if nearly else MOST_SHARED_STATES
        self.state = family.members[0].kind.task.state
        self.positions = list(range(len(self.state.node_ids)))
        used = {part.position for s in family.seatings for part in s.parts}
        if -1 in used:
            self.positions.append(-1)
        self.profiles = tuple(sorted({name for s in family.seatings for name, _ in s.tokens}))
        states = [member.kind.task.state for member in family.members]
        self.cards = SharedCards(states, self.profiles, choosing=not nearly)
        self.nodes, self.spanning = build_nodes(family, self.positions, self.cards, self.profiles)
        real = sum(position >= 0 for position in self.positions)
        self.splits = [self.cards.splits(number, real) for number in range(len(family.members))]
        self.keys: list[object] = []
        self.too_rich = self._too_rich()

    def _too_rich(self) -> bool:
        count = StateCount(len(self.nodes), self._most)
        return any(not splits or self._grow(count, index) for index, splits in enumerate(self.splits))

    def _grow(self, count: StateCount, index: int) -> bool:
        """Count one more member's states; return whether they are too many."""
        member, splits = self.family.members[index], self.splits[index]
        for number, position in enumerate(self.positions):
            sizes = [
                member.sizes.get((position, slot), 0)  # type: ignore[arg-type]
                for slot in self.nodes[number].slots
                if not is_shared(slot)
            ]
            shares = {split[number] for split in splits} if self.profiles and position >= 0 else ()
            count.add(number, sizes, sorted(shares), self.cards.gives)
        return count.too_many()

    def poorer(self) -> Family:
        """Return the family without the members that have too many states."""
        order = []
        for index, splits in enumerate(self.splits):
            alone = StateCount(len(self.nodes), self._most)
            if splits and not self._grow(alone, index):
                order.append((alone.states(), index))
        count = StateCount(len(self.nodes), self._most)
        kept = []
        for _, index in sorted(order):
            if self._grow(count, index):
                break
            kept.append(index)
        return self.family.part(sorted(kept))

    def _state(self, member: Member, number: int, split: tuple[Share, ...]) -> State:
        """Device state of a node of a member."""
        position = self.positions[number]
        found = []
        for slot in self.nodes[number].slots:
            if slot == ("cards",):
                found.append(split[number][-1])
            elif isinstance(slot, tuple) and slot[0] == "token":
                found.append(split[number][self.profiles.index(slot[1])])
            else:
                found.append(member.sizes.get((position, slot), 0))  # type: ignore[arg-type]
        return (*found, *(1 for _ in self.nodes[number].promises))

    def ask_for(self, builder: StartsBuilder) -> None:
        """Say which tables are needed, and how large."""
        for number, position in enumerate(self.positions):
            states = {
                self._state(member, number, split)
                for member, splits in zip(self.family.members, self.splits, strict=True)
                for split in splits
            }
            most = (0, 0)
            for member in self.family.members:
                room = _room(member.kind.task.state, position)
                most = (max(most[0], room[0]), max(most[1], room[1]))
            takes = {self._takes(self.family.seatings[s], number) for s in self.spanning}
            # What comes later is looked up by the devices alone.
            extra = {*takes, *(devices(take, self.nodes[number].promises) for take in takes)} - {()}
            amounts = {
                part.amount
                for s in self.spanning
                for part in self.family.seatings[s].parts
                if part.position == position
            }
            self.keys.append(builder.want(self.nodes[number], states, most, extra, amounts))

    def _takes(self, seating: Seating, number: int) -> tuple[tuple[int, int], ...]:
        """What a spanning seating takes of a node, by the node's slots."""
        position = self.positions[number]
        at = {slot: n for n, slot in enumerate(self.nodes[number].slots)}
        takes = {at[slot]: c for part in seating.parts if part.position == position for slot, c in part.takes}
        home = next((part.position for part in seating.parts if part.amount.millicores > 0), -1)
        if position == home:
            takes |= {at["token", name]: count for name, count in seating.tokens}
        takes |= dict(self.nodes[number].tied.takes(seating))
        return tuple(sorted(takes.items()))

    def rows(self, builder: StartsBuilder) -> FamilyStarts:
        """Make the rows: every member as it is, and with each spanning seating placed."""
        tables = [builder.tables[key] for key in self.keys]
        maker = RowMaker(tables, self.positions)
        for index, (member, splits) in enumerate(zip(self.family.members, self.splits, strict=True)):
            state = member.kind.task.state
            devices = [
                [table.index[self._state(member, n, split)] for n, table in enumerate(tables)]
                for split in splits
            ]
            if floats(state):
                maker.add_floating(index, devices, state)
            else:
                maker.add(index, devices, [_room(state, position) for position in self.positions])
        at = maker.residuals()
        family = self.family
        finer = maker.finer(plain_groups(family.seatings, self.spanning, family.only, tables, self.positions))
        if isinstance(finer, Pooled):
            self.spanning = [name for name in self.spanning if name not in finer.plain.names]
        begins: list[tuple[int, ...]] = [()]
        done = [(at, 0)]
        twice = self._begin(at, begins, done, tables)
        loose = any(seating.splits for seating in self.family.seatings)
        seatings = self.family.seatings
        relying = [n for n in self.spanning if any(node.tied.kept(seatings[n]) for node in self.nodes)]
        return FamilyStarts(
            family=self.family,
            tables=tuple(tables),
            names=tuple(node.names for node in self.nodes),
            kind=np.concatenate([rows.kind for rows, _ in done]),
            flat=np.concatenate([rows.flat(tables) for rows, _ in done]),
            state=np.concatenate([rows.states for rows, _ in done]),
            begun=np.concatenate([np.full(len(rows.kind), begun, np.int32) for rows, begun in done]),
            begins=tuple(begins),
            base=np.concatenate([rows.base for rows, _ in done]),
            finer=finer,
            deeper=self._deeper(at, twice, tables, finer),
            open_kinds=frozenset(range(len(self.family.members)) if loose else ()),
            relying=tuple(relying),
            gaining=gaining(self.family, relying),
        )

    def _begin(
        self,
        at: Residuals,
        begins: list[tuple[int, ...]],
        done: list[tuple[Residuals, int]],
        tables: Sequence[NodeTable],
    ) -> set[int]:
        """Place each spanning seating; return the kinds that may take more than one."""
        again = Again([self.family.seatings[name] for name in self.spanning], tables)
        found: set[int] = set()
        for name in self.spanning:
            after = self._after(at, name, tables)
            if len(after.kind):
                begins.append((name,))
                done.append((after, len(begins) - 1))
                if self._nearly:
                    continue
                found |= set(after.kind[again.may(after)].tolist())
                for other in again.without_devices:
                    found |= set(self._placed(after, other, None, tables).kind.tolist())
        return found

    def _deeper(
        self, at: Residuals, members: set[int], tables: Sequence[NodeTable], finer: Finer | Pooled
    ) -> Deeper | None:
        """What tries several spanning seatings on some members."""
        if not members:
            return None
        starts = at.only(np.isin(at.kind, sorted(members)))
        cores = [starts.cores[:, n] // table.units.millicores for n, table in enumerate(tables)]
        memory = [starts.memory[:, n] // table.units.memory_mib for n, table in enumerate(tables)]
        rows = Rows(
            starts.kind, starts.states, np.stack(cores, axis=1), np.stack(memory, axis=1), starts.base
        )
        gpus = [[is_gpu(slot) for slot in node.slots] for node in self.nodes]
        return Deeper(self._steps(tables), tables, rows, finer, gpus)

    def _steps(self, tables: Sequence[NodeTable]) -> list[Step]:
        """The spanning seatings in the units of the tables, those together that differ in devices alone."""
        variants: dict[tuple[object, ...], list[tuple[int, tuple[Takes, ...]]]] = {}
        for name in self.spanning:
            seating = self.family.seatings[name]
            amounts = {part.position: part.amount for part in seating.parts}
            mine = [amounts.get(position, Amount(0, 0)) for position in self.positions]
            cores = tuple(a.millicores // t.units.millicores for a, t in zip(mine, tables, strict=True))
            memory = tuple(a.memory_mib // t.units.memory_mib for a, t in zip(mine, tables, strict=True))
            takes = tuple(self._takes(seating, number) for number in range(len(tables)))
            key = (seating.item, seating.points, cores, memory, self.family.only.get(name))
            variants.setdefault(key, []).append((name, takes))
        return [
            Step(item, points, cores, memory, tuple(found), only)  # type: ignore[arg-type]
            for (item, points, cores, memory, only), found in variants.items()
        ]

    def _after(self, at: Residuals, name: int, tables: Sequence[NodeTable]) -> Residuals:
        """The residuals left by a seating on those that have room for it."""
        return self._placed(at, self.family.seatings[name], self.family.only.get(name), tables)

    def _placed(
        self,
        at: Residuals,
        seating: Seating,
        only: set[int] | frozenset[int] | None,
        tables: Sequence[NodeTable],
    ) -> Residuals:
        """The residuals left by a seating of some members on those that have room for it."""
        good = np.ones(len(at.kind), bool) if only is None else np.isin(at.kind, sorted(only))
        states, cores, memory = at.states.copy(), at.cores.copy(), at.memory.copy()
        amounts = {part.position: part.amount for part in seating.parts}
        for number, position in enumerate(self.positions):
            takes = self._takes(seating, number)
            if takes:
                after = tables[number].after(takes)[states[:, number]]
                good &= after >= 0
                states[:, number] = after
            amount = amounts.get(position)
            if amount is not None:
                cores[:, number] -= amount.millicores
                memory[:, number] -= amount.memory_mib
                good &= (cores[:, number] >= 0) & (memory[:, number] >= 0)
        return Residuals(at.kind, states, cores, memory, at.base).only(good)


def _room(state: HostState, position: int) -> tuple[int, int]:
    if position < 0:
        return (0, 0)
    room = state.room[position]
    return (max(0, room.millicores), max(0, room.memory_mib))
