"""The cards of a host in its model: whole cards per cell, virtual functions, vGPUs, and who may hold what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import BoundBy
from vplacer.solver.host_parts import Expr, ModelPart
from vplacer.solver.host_state import ActiveVm, HostState
from vplacer.solver.option import AskUse, Option, takes_function
from vplacer.solver.vgpu_patterns import card_patterns

_MOST_UNIONS = 64


@dataclass
class _Use:
    """What is taken of one thing: by placements, and by VMs that keep their place."""

    new: list[Expr] = field(default_factory=list)
    kept: list[Expr] = field(default_factory=list)

    def all(self) -> list[Expr]:
        """Everything taken."""
        return [*self.new, *self.kept]


class HostCards:
    """Collects what options and kept VMs take of cards, then writes the constraints."""

    def __init__(self, part: ModelPart, state: HostState) -> None:
        self.part = part
        self.state = state
        self.cells: dict[int, _Use] = defaultdict(_Use)
        self.functions: dict[int, _Use] = defaultdict(_Use)
        self.loose: dict[str, list[Expr]] = {"gpu": [], "nic": []}
        self.vgpus: dict[tuple[int, str], Expr] = {}
        self._static: dict[int, list[Expr]] = defaultdict(list)
        self._labelled: dict[int, list[Expr]] = defaultdict(list)
        self._settling: list[tuple[Option, Expr, int]] = []
        self._needed: dict[str, list[Expr]] = defaultdict(list)
        self._pinned: dict[tuple[int, str], list[Expr]] = defaultdict(list)
        self._unnamed: list[tuple[tuple[int, ...], Expr]] = []
        self._pools: set[frozenset[int]] = set()
        self._drawn: list[tuple[frozenset[int], Expr]] = []
        self._beside: dict[PciAddress, list[Expr]] = defaultdict(list)
        self._takers: list[tuple[set[int], Expr]] = []
        self._cell_of = {address: cell.index for cell in state.cells for address in cell.addresses}

    def take(self, option: Option, count: Expr, most: int) -> None:
        """Count what an option takes, ``most`` times at most."""
        if option.settles:
            self._settling.append((option, count, most))
        self._takers.append(({cell for use in option.uses for cell, _ in use.cells}, count))
        for use in option.uses:
            if use.resource == "vgpu":
                self._needed[use.profile or ""].append(use.count * count)
                self.loose["gpu"].append(use.count * count)
                continue
            self._pools.update(map(frozenset, use.pools))
            for cell, taken in use.cells:
                function = takes_function(use, self.state.cells[cell])
                (self.functions if function else self.cells)[cell].new.append(taken * count)
                if function:
                    continue
                self._drawn.append((_may_come_from(use, cell), taken * count))
                if use.bound_by is BoundBy.STATIC:
                    self._static[cell].append(taken * count)
                    continue
                self.loose[self.state.cells[cell].card.kind].append(taken * count)
                if use.bound_by is BoundBy.LABEL:
                    self._labelled[cell].append(taken * count)

    def keep(self, active: ActiveVm, keep: Expr) -> None:
        """Count what a VM holds while it keeps its place."""
        for holding in active.holdings:
            cells = [holding.address] if holding.address is not None else list(holding.candidates)
            known = sorted({self._cell_of[address] for address in cells if address in self._cell_of})
            if holding.kind == "vf":
                # One whose port is not named counts on every port it may come from.
                for cell in known:
                    self.functions[cell].kept.append(keep)
            elif holding.kind == "vgpu" and holding.group is None and holding.profile is not None:
                # One whose card is not named counts on every card it may be on.
                for cell in known:
                    self._pinned[cell, holding.profile].append(keep)
            elif holding.address is not None:
                for cell in known:
                    self.cells[cell].kept.append(keep)
                if not known:
                    self._beside[holding.address].append(keep)
            elif known:
                self._unnamed.append((tuple(known), keep))
                self.loose[self.state.cells[known[0]].card.kind].append(keep)

    def sure(self, cell: int) -> list[Expr]:
        """What surely takes cards of a cell: static backings, and VMs that keep their place."""
        pinned = [use for (at, _), uses in self._pinned.items() if at == cell for use in uses]
        return [*self._static[cell], *self.cells[cell].kept, *pinned]

    def constrain(self) -> None:
        """Write all constraints on cards."""
        self._whole_cards()
        self._unnamed_holders()
        self._owners()
        self._settle()
        self._seat_vgpus()

    def _whole_cards(self) -> None:
        for cell in self.state.cells:
            use, functions = self.cells[cell.index], self.functions[cell.index]
            name = f"cell{cell.index}"
            self.part.limit(name, use.new, use.kept, len(use.kept), cell.size)
            room = cell.virtual_functions
            self.part.limit(f"{name}vf", functions.new, functions.kept, len(functions.kept), room)
            if cell.card.passthrough and functions.all() and use.all() and (use.new or functions.new):
                # A port whose functions are in use cannot be passed through as a whole.
                whole = self.part.flag(f"{name}whole")
                self.part.model.add(sum(functions.new) <= room * (1 - whole))
                self.part.model.add(sum(use.new) <= cell.size * whole)
                for kept in functions.kept:
                    self.part.model.add(sum(use.new) <= cell.size * (1 - kept))
                for kept in use.kept:
                    self.part.model.add(sum(functions.new) <= room * (1 - kept))

    def _unnamed_holders(self) -> None:
        """Leave enough cards of each label, or of all that match, whichever unnamed holders hold."""
        for cells, keep in self._unnamed:
            named = [count for cell in cells for count in self._static[cell]]
            if named:
                # A card that another VM may hold cannot be named for one.
                self.part.model.add(sum(named) == 0).only_enforce_if(keep)
        unions = _unions(frozenset(self._pools))
        for number, pool in enumerate(sorted(unions or self._pools, key=sorted)):
            holders = [keep for cells, keep in self._unnamed if pool.intersection(cells)]
            if unions:
                # What may come from elsewhere leaves these cards to those that must have one (Hall).
                new = [count for cells, count in self._drawn if cells <= pool]
            else:
                new = [count for cell in sorted(pool) for count in self.cells[cell].new]
            kept = [count for cell in sorted(pool) for count in self.cells[cell].kept] + holders
            self.part.limit(f"pool{number}", new, kept, len(kept), self.state.sure_size(pool))

    def _owners(self) -> None:
        """Devices that are reset together go to one VM at most."""
        for number, group in enumerate(self.state.topology.ownership_groups):
            cells = {self._cell_of[address] for address in group if address in self._cell_of}
            takers = [count for taken, count in self._takers if taken & cells]
            devices = sum(1 for address in group if self.state.topology.device(address) is not None)
            # A card of the group that is in no cell is held by a VM that is not touched.
            held = sum(1 for address in group if address in self._cell_of) < devices
            held = held or not set(group).isdisjoint(self.state.held_beside)
            kept = [use for cell in cells for use in self.cells[cell].kept]
            kept += [keep for address in group for keep in self._beside[address]]
            if len(group) > 1:
                self.part.limit(f"owner{number}", takers, kept, len(kept), 0 if held else 1)

    def _settle(self) -> None:
        """An option that counts on there being no other card to choose holds only if there is none.

        A card is out of the choice if it is taken for sure, or carries a label of which label-bound
        devices take every card that is left (as the judge counts it): not for a device of that label, which
        may get any of its cards.
        """
        for number, (option, taken, most) in enumerate(self._settling):
            mine = {
                self.state.cells[at].card.label
                for use in option.uses
                if use.bound_by is BoundBy.LABEL
                for at, _ in use.cells
            }
            for cell in option.settles:
                own = sum(
                    n for use in option.uses for at, n in use.cells if at == cell and use.resource != "vf"
                )
                left = self.state.cells[cell].size - own
                if left <= 0:
                    continue
                sure = self.sure(cell)
                full = self.part.flag(f"full{number}_{cell}")
                self.part.model.add(sum(sure, start=0 * full) >= left * full)
                label = self.state.cells[cell].card.label
                others = label is not None and not own and label not in mine
                gone = self._label_gone(f"gone{number}_{cell}", label or "") if others else 0
                self.part.model.add(taken <= most * full + most * gone)
            for cells, keep in self._unnamed:
                if set(cells).intersection(option.settles):
                    self.part.model.add(taken <= most * (1 - keep))

    def _label_gone(self, name: str, label: str) -> Expr:
        """1 only if label-bound devices and sure takers have every card of a label."""
        cells = [cell for cell in self.state.cells if cell.card.label == label and cell.card.passthrough]
        taken = [use for cell in cells for use in (*self._labelled[cell.index], *self.sure(cell.index))]
        gone = self.part.flag(name)
        bound = [use for cell in cells for use in self._labelled[cell.index]]
        size = sum(cell.size for cell in cells)
        self.part.model.add(sum(taken, start=0 * gone) >= size * gone)
        self.part.model.add(sum(bound, start=0 * gone) >= gone)
        return gone

    def _seat_vgpus(self) -> None:
        """Seat vGPUs on cards by the patterns each card's mode allows."""
        names = sorted(set(self._needed) | {profile for _, profile in self._pinned})
        if not names:
            return
        held = dict(self.state.vgpu_held)
        for cell in self.state.cells:
            if cell.card.kind == "gpu" and cell.card.vgpu:
                self._seat_on(cell.index, names, held.get(cell.addresses[0], ()))
        for name in names:
            seats = [variable for (_, profile), variable in self.vgpus.items() if profile == name]
            pinned = [use for (_, profile), uses in self._pinned.items() if profile == name for use in uses]
            self.part.model.add(sum(seats) == sum(self._needed[name]) + sum(pinned))

    def _seat_on(self, index: int, names: list[str], held: tuple[str, ...]) -> None:
        """Variables of one card: what is new beside what is held and what kept VMs have there.

        Kept VMs lie where they lie: what is new must fit wherever that is. They alone always do.
        """
        cell = self.state.cells[index]
        kept = [self._pinned.get((index, name), []) for name in names]
        patterns = []
        for counts in product(*(range(len(uses) + 1) for uses in kept)):
            there = tuple(name for name, count in zip(names, counts, strict=True) for _ in range(count))
            for new in card_patterns(self.state.host, cell.card, (*held, *there), tuple(names)):
                both = tuple(a + b for a, b in zip(new, counts, strict=True))
                patterns.append((*both, *counts))
        width = len(names)
        most = [max(pattern[i] for pattern in patterns) for i in range(2 * width)]
        row = [self.part.integer(0, most[i], f"v{index}_{i}") for i in range(width)]
        keeps = [self.part.integer(0, most[width + i], f"k{index}_{i}") for i in range(width)]
        self.part.model.add_allowed_assignments([*row, *keeps], sorted(set(patterns)))
        for number, name in enumerate(names):
            self.vgpus[index, name] = row[number]
            self.part.model.add(keeps[number] == sum(kept[number]))
        whole = self.cells[index]
        greatest = max(sum(pattern[:width]) for pattern in patterns)
        if whole.new and greatest:
            self.part.model.add(sum(row) <= greatest * (1 - sum(whole.new)))
        for keep in whole.kept:
            if greatest and not any(kept):
                self.part.model.add(sum(row) <= greatest * (1 - keep))


def _may_come_from(use: AskUse, cell: int) -> frozenset[int]:
    """The cells that may serve what an option draws from one: others than it only where nobody names it."""
    if use.bound_by is not BoundBy.STATIC and use.resource == "card":
        for pool in use.pools:
            if cell in pool:
                return frozenset(pool)
    return frozenset((cell,))


@lru_cache(maxsize=4096)
def _unions(pools: frozenset[frozenset[int]]) -> frozenset[frozenset[int]]:
    """Every union of pools; empty where they are too many."""
    found: set[frozenset[int]] = set()
    for pool in sorted(pools, key=sorted):
        found |= {pool, *(other | pool for other in found)}
        if len(found) > _MOST_UNIONS:
            return frozenset()
    return frozenset(found)
