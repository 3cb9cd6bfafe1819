"""Hosts that may take several VMs over more than one node: their best, by trying what such VMs leave.

All hosts of a family are tried together, one more VM in every round; what cannot come to more than is known
of its host already (see `ahead`) is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vplacer.solver.tables.ahead import Ahead, FilledAhead
from vplacer.solver.tables.ahead_of_special import AheadOfSpecial
from vplacer.solver.tables.filled_table import FilledTable
from vplacer.solver.tables.finer import Finer
from vplacer.solver.tables.node_table import NodeTable
from vplacer.solver.tables.pooled import Pooled
from vplacer.solver.tables.slots import relies
from vplacer.solver.tables.step import Choices, Chooser, Rows, Step, with_images

Array = npt.NDArray[Any]

MOST_DEPTH = 12
"""VMs over several nodes that are tried together on one host."""

AT_ONCE = 40_000
"""Rows of several members on which one more VM is tried at a time: more take much memory."""
CARRIED = 20_000
CARRIED_A_MEMBER = 10_000
"""Residuals that are gone on with: of few members, and of each of many. More come up only at duals that are
far from the last ones, where nobody needs a close bound."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The best found for a member: its value, the seatings placed, where each node is then, and its state.

    ``spare``: what is left of the host's cores beside the nodes (see `PlainRoom.place`).
    """

    value: int
    names: tuple[int, ...]
    flats: tuple[int, ...]
    states: tuple[int, ...]
    spare: int = 0


@dataclass(frozen=True)
class _Level:
    """Residuals with the same number of VMs placed.

    ``total``: worth of these. ``step`` and ``name``: the last one placed. ``parent``: the row before it.
    """

    rows: Rows
    total: Array
    step: Array
    name: Array
    parent: Array

    def only(self, wanted: Array) -> _Level:
        """Return some of the rows."""
        return _Level(
            self.rows.only(wanted),
            self.total[wanted],
            self.step[wanted],
            self.name[wanted],
            self.parent[wanted],
        )


class Deeper:
    """Tries the spanning seatings of one family on the members that may take several.

    ``depth``: how many together; beyond it there is a bound.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        tables: Sequence[NodeTable],
        starts: Rows,
        finer: Finer | Pooled,
        gpus: Sequence[Sequence[bool]],
    ) -> None:
        """Take the steps of a family, its tables, what its hosts begin with, and which slots are GPUs."""
        # What only some members have comes first: after it, hosts go on as if they were all alike.
        ordered = sorted(steps, key=lambda step: step.only is None)
        self.steps = tuple(with_images(s, starts, tables) if s.only is None else s for s in ordered)
        self.special = sum(step.only is not None for step in steps)
        self.tables = tuple(tables)
        self.starts = starts
        self.finer = finer
        self.ahead = Ahead(self.steps[self.special :], self.tables, gpus)
        self.ahead_of_special = AheadOfSpecial(self.steps[: self.special], self.ahead.wider, gpus)
        self.looks = self.ahead.looks()
        self.relying = self._relying()
        self.fillers = self._fillers() if self.relying else frozenset()
        self.chooser = Chooser(self.steps, self.special, self.tables, self.looks)

    def best(
        self, worth: Array, own: Sequence[Sequence[int]], filled: Sequence[FilledTable], known: Array
    ) -> tuple[dict[int, Begun], Array]:
        """Look for more than is known of each member.

        Args:
            worth: value of each seating of the family.
            own: values of the seatings of each node.
            filled: the tables of the nodes.
            known: the best known of each member.

        Returns:
            What is better than known, and the most that each member can come to.
        """
        steps = self._worthwhile(worth)
        if not steps:
            return {}, known
        common = [number - self.special for number in steps if number >= self.special]
        tied = any(number in self.relying for number in steps)
        ahead = self.ahead.fill(common, worth, own, filled, self.starts, tied=tied)
        wide = ahead
        if self.special:
            wide = self.ahead_of_special.fill([n for n in steps if n < self.special], worth, ahead)
        return _Search(self, steps, worth, filled, (ahead, wide), known).run()

    def _relying(self) -> frozenset[int]:
        """Steps, by number, that rely on a promise."""
        return frozenset(
            number
            for number, step in enumerate(self.steps[: self.special])
            if any(
                relies(take, table.promises)
                for _, takes in step.variants
                for take, table in zip(takes, self.tables, strict=True)
            )
        )

    def _fillers(self) -> frozenset[int]:
        """Steps, by number, with devices on which others may rely."""
        empty = [{slot for p in table.promises for slot in p.empty} for table in self.tables]
        return frozenset(
            number
            for number, step in enumerate(self.steps)
            if number >= self.special
            and any(
                slot in slots
                for _, takes in step.variants
                for take, slots in zip(takes, empty, strict=True)
                for slot, _ in take
            )
        )

    def _worthwhile(self, worth: Array) -> list[int]:
        """Steps, by number, that no other of the same sort makes needless.

        Where somebody relies on others, these may be worth nothing.
        """
        sorts: dict[object, list[int]] = {}
        relied = any(worth[self.steps[number].name] > 0 for number in self.relying)
        for number, step in enumerate(self.steps):
            if worth[step.name] > 0 or (relied and number in self.fillers):
                sort = (tuple(takes for _, takes in step.variants), step.only)
                sorts.setdefault(sort, []).append(number)
        kept = []
        for numbers in sorts.values():
            numbers.sort(key=lambda n: (-int(worth[self.steps[n].name]), n))
            mine: list[int] = []
            for number in numbers:
                if not any(_no_larger(self.steps[known], self.steps[number]) for known in mine):
                    mine.append(number)
            kept += mine
        return sorted(kept)


def _no_larger(one: Step, other: Step) -> bool:
    sizes = zip((*one.cores, *one.memory), (*other.cores, *other.memory), strict=True)
    return all(mine <= theirs for mine, theirs in sizes)


class _Search:
    """One search over all members."""

    def __init__(
        self,
        deeper: Deeper,
        wanted: Sequence[int],
        worth: Array,
        filled: Sequence[FilledTable],
        ahead: tuple[FilledAhead, FilledAhead],
        known: Array,
    ) -> None:
        self.most_carried = min(deeper.finer.carried, max(CARRIED, CARRIED_A_MEMBER * len(known)))
        self.chooser, self.tables, self.starts = deeper.chooser, deeper.tables, deeper.starts
        self.filled, self.looks, self.special = filled, deeper.looks, deeper.special
        self.ahead, self.ahead_of_special = ahead
        self.finer = deeper.finer
        count = len(deeper.steps)
        self.wanted = np.zeros(count, bool)
        self.wanted[list(wanted)] = True
        self.broken = [table.broken for table in deeper.tables]
        self.cores = np.array([step.cores for step in deeper.steps], np.int64)
        self.memory = np.array([step.memory for step in deeper.steps], np.int64)
        self.worth = np.array([worth[step.name] for step in deeper.steps], np.int64)
        self.has = np.ones((count, len(known)), bool)
        for number, step in enumerate(deeper.steps):
            if step.only is not None:
                self.has[number] = False
                self.has[number, sorted(step.only)] = True
        self.value = known.copy()
        self.most = known.copy()
        self.levels: list[_Level] = []
        self.carried = [0] * (MOST_DEPTH + 1)
        self.found: dict[int, Begun] = {}

    def run(self) -> tuple[dict[int, Begun], Array]:
        """Search."""
        count = len(self.starts.member)
        none = np.full(count, -1, np.int32)
        special: Array = np.any(self.has[: self.special], axis=0)
        first = np.where(special[self.starts.member], 0, self.special).astype(np.int32)
        self._go_on(_Level(self.starts, np.zeros(count, np.int64), first, none, none), 0)
        return self.found, np.maximum(self.most, self.value)

    def _go_on(self, level: _Level, depth: int) -> None:
        """Place one more VM after the other; where rows are very many, on a part of the members at a time."""
        known = len(self.levels)
        while len((level := self._promising(level, depth)).total):
            if len(level.total) > AT_ONCE and (parts := _in_two(level)):
                for part in parts:
                    self._go_on(part, depth)
                break
            self.carried[depth] += len(level.total)
            self.levels.append(level)
            level = self._next(level)
            self._note(level)
            depth += 1
        del self.levels[known:]

    def _promising(self, level: _Level, depth: int) -> _Level:
        """The rows that may come to more than is known of their member."""
        enough = self.value[level.rows.member] - level.total
        most = level.total + self.ahead.most(level.rows, self.finer, enough)
        special = np.nonzero(level.step < self.special)[0]
        if len(special):
            rows = level.rows.only(special)
            most[special] = level.total[special] + self.ahead_of_special.most(
                rows, self.finer, enough[special]
            )
        gain: Array = most - self.value[level.rows.member]
        better: Array = np.nonzero(gain > 0)[0]
        carried = 0 if depth == MOST_DEPTH else max(0, self.most_carried - self.carried[depth])
        if better.size > carried:
            better = better[np.argsort(-gain[better], kind="stable")]
            np.maximum.at(self.most, level.rows.member[better[carried:]], most[better[carried:]])
            better = np.sort(better[:carried])
        return level.only(better)

    def _next(self, level: _Level) -> _Level:
        """The rows with one more VM placed, in the order of the steps."""
        made = [level.only(np.zeros(0, np.int64))]
        states, which = np.unique(level.rows.state, axis=0, return_inverse=True)
        order = np.argsort(which.reshape(-1), kind="stable")
        ends = np.cumsum(np.bincount(which.reshape(-1), minlength=len(states)))
        for state, first, end in zip(states.tolist(), [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            choices = self.chooser.of(tuple(state))
            mine = np.nonzero(self.wanted[choices.step])[0]
            if len(mine):
                made.append(self._placed(level, order[first:end], choices, mine))
        return _distinct(
            _Level(
                Rows(
                    np.concatenate([one.rows.member for one in made]),
                    np.concatenate([one.rows.state for one in made]),
                    np.concatenate([one.rows.cores for one in made]),
                    np.concatenate([one.rows.memory for one in made]),
                    np.concatenate([one.rows.base for one in made]),
                ),
                np.concatenate([one.total for one in made]),
                np.concatenate([one.step for one in made]),
                np.concatenate([one.name for one in made]),
                np.concatenate([one.parent for one in made]),
            ),
            self.looks,
            self.special,
        )

    def _placed(self, level: _Level, rows: Array, choices: Choices, mine: Array) -> _Level:
        """Place each of some choices on each of some rows."""
        step = choices.step[mine]
        cores = level.rows.cores[rows][:, None, :] - self.cores[step][None]
        memory = level.rows.memory[rows][:, None, :] - self.memory[step][None]
        member = level.rows.member[rows]
        fits = (cores.min(axis=2) >= 0) & (memory.min(axis=2) >= 0)
        fits &= (level.step[rows][:, None] <= step[None]) & self.has[step][:, member].T
        needless = self.worth[step] <= 0
        if needless.any():
            # Only somebody who relies on others lets such VMs come.
            states = level.rows.state[rows]
            relies = np.any([flags[states[:, n]] for n, flags in enumerate(self.broken)], axis=0)
            fits &= ~needless[None] | relies[:, None]
        row, choice = np.nonzero(fits)
        return _Level(
            Rows(
                member[row],
                choices.after[mine][choice],
                cores[row, choice],
                memory[row, choice],
                level.rows.base[rows][row],
            ),
            level.total[rows][row] + self.worth[step[choice]],
            step[choice],
            choices.name[mine][choice],
            rows[row].astype(np.int32),
        )

    def _note(self, level: _Level) -> None:
        """Keep what is better than known of its member."""
        rows = level.rows
        values = [filled.values for filled in self.filled]
        best = self.finer.look_up_best(
            rows.member, level.total, self.value, rows.base, rows.flats(self.tables), values
        )
        for member, looked in best.items():
            self.value[member] = looked.value
            self.found[member] = Begun(
                looked.value,
                self._names(level, looked.row),
                looked.flats,
                tuple(rows.state[looked.row].tolist()),
                looked.spare,
            )

    def _names(self, level: _Level, row: int) -> tuple[int, ...]:
        """The seatings placed on a row, in order."""
        found = []
        for before in (*reversed(self.levels), None):
            found.append(int(level.name[row]))
            if before is None:
                break
            row, level = int(level.parent[row]), before
        return tuple(reversed(found[: len(self.levels)]))


def _in_two(level: _Level) -> list[_Level]:
    """Cut a level between members, near its middle; nothing if all rows are of one member."""
    members, counts = np.unique(level.rows.member, return_counts=True)
    if len(members) < 2:
        return []
    middle = int(np.searchsorted(np.cumsum(counts), len(level.total) // 2))
    last = members[min(middle, len(members) - 2)]
    mine = level.rows.member <= last
    return [level.only(np.nonzero(mine)[0]), level.only(np.nonzero(~mine)[0])]


def _distinct(level: _Level, looks: Sequence[Array], special: int) -> _Level:
    """Of rows that leave the same and may go on the same way, the one with the most worth."""
    rows = level.rows
    apart = level.step < special
    alike = [np.where(apart, -1 - rows.state[:, n], look[rows.state[:, n]]) for n, look in enumerate(looks)]
    # Rows that stand for several residuals are alike only if they stand for the same.
    keys = np.stack([rows.base, level.step, *alike, *rows.cores.T, *rows.memory.T])
    order = np.lexsort((-level.total, *keys))
    keys = keys[:, order]
    first = np.ones(len(order), bool)
    first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return level.only(np.sort(order[first]))
