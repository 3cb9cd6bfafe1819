"""How much VMs can take in sum at most: a row that nothing can break needs not be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vplacer.constraints.state import Problem
from vplacer.constraints.supply import Amount, demand_amount
from vplacer.solver.classes import DemandClass
from vplacer.solver.rows import Key


@dataclass(frozen=True)
class Openings:
    """Where classes may be placed, as far as is known.

    ``open_to``: the classes that have an option on each host; None = any may go anywhere. ``left``: the
    cores and memory that what is placed on a host can take at most; a host that is not in it has no limit.
    """

    hosts: tuple[str, ...]
    open_to: Mapping[str, frozenset[int]] | None = None
    left: Mapping[str, Amount] = field(default_factory=dict)

    def on(self, moid: str, classes: Iterable[DemandClass]) -> Iterable[DemandClass]:
        """Return those of some classes that may go to a host."""
        if self.open_to is None:
            return classes
        here = self.open_to[moid]
        return [cls for cls in classes if cls.index in here]

    def of(self, cls: DemandClass) -> tuple[str, ...]:
        """Return the hosts that VMs of a class may be on: those it may go to, and its own."""
        if self.open_to is None:
            return self.hosts
        return tuple(moid for moid in self.hosts if cls.index in self.open_to[moid] or moid == cls.home)


def most_in_sum(needs: Mapping[int, int], classes: tuple[DemandClass, ...], by_hosts: int | None) -> int:
    """Return what classes can take of something in sum at most.

    Args:
        needs: what one VM of a class takes.
        classes: all classes.
        by_hosts: what hosts have of it for all of them, None = not known.
    """
    asked = sum(cls.count * max(0, needs.get(cls.index, 0)) for cls in classes)
    return asked if by_hosts is None else min(asked, by_hosts)


def memory_left(
    problem: Problem,
    openings: Openings,
    hosts: Iterable[str],
    classes: Iterable[DemandClass],
    need: Callable[[DemandClass], int],
) -> int | None:
    """Return the memory that some hosts have for all that is placed there, None where it is not known.

    It bounds a sum of needs only if no VM needs more than it counts for on its host.
    """
    total = 0
    known: dict[str | None, bool] = {}
    every = tuple(classes)
    for moid in hosts:
        left = openings.left.get(moid)
        if left is None:
            return None
        host = problem.inventory.host_by_moid[moid]
        if host.cluster not in known:
            known[host.cluster] = all(
                need(cls) <= demand_amount(cls.demand, host, problem.request.options).memory_mib
                for cls in every
            )
        if not known[host.cluster]:
            return None
        total += max(0, left.memory_mib)
    return total


def coefficients(
    openings: Openings,
    hosts: Iterable[str],
    classes: Iterable[DemandClass],
    amount: Callable[[DemandClass, str], int],
) -> dict[tuple[str, Key], int]:
    """Return the coefficient of every class placed anew on every host that it may go to; zeros left out."""
    every = tuple(classes)
    return {
        (moid, ("new", cls.index)): found
        for moid in hosts
        for cls in openings.on(moid, every)
        if (found := amount(cls, moid))
    }
