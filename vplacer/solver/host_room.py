"""CPU and memory of a host in its model: totals, bound nodes, and some seat for everything that floats."""

from __future__ import annotations

from collections import defaultdict

from vplacer.constraints.supply import Amount, Consumer, Seat
from vplacer.solver.host_parts import Expr, ModelPart
from vplacer.solver.host_state import HostState

_Uses = list[tuple[Expr, Amount]]


class HostRoom:
    """Collects consumers with their counts, then writes the constraints."""

    def __init__(self, part: ModelPart, state: HostState) -> None:
        self.part = part
        self.state = state
        self._bound: dict[int, _Uses] = defaultdict(list)
        self._total: _Uses = []
        self._floating: list[tuple[Expr, Consumer, int]] = []

    def consume(self, consumer: Consumer, count: Expr, most: int) -> None:
        """Count a consumer ``count`` times, at most ``most``."""
        self._total.append((count, consumer.whole))
        if not self.state.node_ids:
            return
        if consumer.seat is Seat.BOUND:
            for node in consumer.nodes:
                self._bound[self.state.node_position(node)].append((count, consumer.part))
        else:
            self._floating.append((count, consumer, most))

    def bound_uses(self, position: int) -> list[tuple[Expr, Amount]]:
        """Return what is bound to a node."""
        return self._bound[position]

    def total_uses(self) -> list[tuple[Expr, Amount]]:
        """Return what is taken of the host as a whole."""
        return self._total

    def constrain(self, new: list[Expr]) -> None:
        """Write all constraints on CPU and memory.

        Args:
            new: counts of everything placed anew: on a host that is over-full today they are zero,
                or all fits.
        """
        guard = None
        if self.state.overfull:
            guard = self.part.flag("fits")
            if new:
                self.part.model.add(sum(new) == 0).only_enforce_if(guard.negated())
        self._within(self._total, self.state.total_room, guard)
        if not self.state.node_ids:
            return
        node_use: dict[int, _Uses] = {
            position: list(self._bound[position]) for position in range(len(self.state.node_ids))
        }
        spread = self._float(node_use)
        rooms = [Amount(max(0, r.millicores), max(0, r.memory_mib)) for r in self.state.room]
        for position, uses in node_use.items():
            self._within(uses, rooms[position], guard)
        left = Amount(sum(r.millicores for r in rooms), sum(r.memory_mib for r in rooms))
        for amount, allowed in self.state.divisible:
            if not allowed:
                left = left - amount
        self._within([use for uses in node_use.values() for use in uses] + spread, left, guard)

    def _float(self, node_use: dict[int, _Uses]) -> _Uses:
        """Seat what floats on nodes; return what may be spread over all of them."""
        spread: _Uses = []
        for number, (amount, parts, allowed) in enumerate(self.state.items):
            self._seat(f"i{number}", parts, parts, allowed, amount, node_use)
        for number, (amount, allowed) in enumerate(self.state.divisible):
            if allowed:
                self._share(f"d{number}", 1, 1, amount, allowed, node_use)
        for number, (count, consumer, most) in enumerate(self._floating):
            allowed = tuple(self.state.node_position(node) for node in consumer.nodes)
            if consumer.seat is Seat.ITEM:
                parts = consumer.parts
                self._seat(f"f{number}", parts * count, parts * most, allowed, consumer.part, node_use)
            elif allowed:
                self._share(f"f{number}", count, most, consumer.whole, allowed, node_use)
            else:
                spread.append((count, consumer.whole))
        return spread

    def _seat(
        self,
        name: str,
        parts: Expr,
        most: int,
        allowed: tuple[int, ...],
        part: Amount,
        node_use: dict[int, _Uses],
    ) -> None:
        """Each part lies whole on one of its allowed nodes."""
        seats = []
        for position in range(len(self.state.node_ids)):
            if not allowed or position in allowed:
                seat = self.part.integer(0, most, f"{name}_{position}")
                seats.append(seat)
                node_use[position].append((seat, part))
        self.part.model.add(sum(seats) == parts)

    def _share(
        self,
        name: str,
        count: Expr,
        most: int,
        amount: Amount,
        allowed: tuple[int, ...],
        node_use: dict[int, _Uses],
    ) -> None:
        """CPU and memory are each spread over the allowed nodes."""
        for what, size, unit in (
            ("c", amount.millicores, Amount(1, 0)),
            ("m", amount.memory_mib, Amount(0, 1)),
        ):
            if size:
                shares = [self.part.integer(0, size * most, f"{name}{what}_{at}") for at in allowed]
                self.part.model.add(sum(shares) == size * count)
                for position, share in zip(allowed, shares, strict=True):
                    node_use[position].append((share, unit))

    def _within(self, uses: _Uses, room: Amount, guard: Expr | None) -> None:
        for part in ("millicores", "memory_mib"):
            terms = [getattr(amount, part) * count for count, amount in uses if getattr(amount, part)]
            if not terms:
                continue
            constraint = self.part.model.add(sum(terms) <= max(0, getattr(room, part)))
            if guard is not None:
                constraint.only_enforce_if(guard)
