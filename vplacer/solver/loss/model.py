"""What is said of losses of hosts: which were tried, which VMs then have no place, and why. All data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.solver.verdict import HostReason, StoppedBy


class Outcome(StrEnum):
    """placed: every VM has a place. not-placed: proved that not all have. undecided: neither was proved."""

    PLACED = "placed"
    NOT_PLACED = "not-placed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Homeless:
    """A VM without a place after a loss.

    ``restartable`` False = HA does not restart it, whatever room there is: ``reason`` says why. Else
    ``stops``: every host that is left, by what rejects it; told of the worst loss only.
    ``requested``: a VM of the request that does not run today.
    """

    vm: str
    name: str
    restartable: bool
    requested: bool
    reason: str
    stops: tuple[HostReason, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss, and those that differ from it in nothing but the names of alike hosts.

    ``hosts``: moids, in the order of the inventory; none = nothing is lost. ``alike``: the sets of hosts
    it speaks for, itself the first; ``count``: how many sets, of which ``alike`` names a few.
    ``restarted``: VMs that run on them and HA restarts elsewhere. With UNDECIDED ``homeless`` are those for
    which no place was found.
    """

    hosts: tuple[str, ...]
    alike: tuple[tuple[str, ...], ...]
    count: int
    outcome: Outcome
    restarted: int
    homeless: tuple[Homeless, ...]


@dataclass(frozen=True, slots=True)
class AfterLoss:
    """The losses tried.

    ``lost``: how many hosts at a time; None = those that were named. ``before``: with nothing lost.
    ``possible``: how many sets of hosts there are, ``tried`` for how many of them it is told what happens.
    ``worst``: the loss with most VMs without a place; None where there is none without.
    """

    lost: int | None
    before: Loss
    losses: tuple[Loss, ...]
    possible: int
    worst: Loss | None
    stopped_by: StoppedBy | None
    notes: tuple[str, ...] = ()

    @property
    def tried(self) -> int:
        """Sets of hosts whose loss was looked at."""
        return sum(loss.count for loss in self.losses)

    @property
    def outcome(self) -> Outcome:
        """The verdict over all: one loss with VMs without a place is enough for "not placed"."""
        found = {loss.outcome for loss in (self.before, *self.losses)}
        if Outcome.NOT_PLACED in found:
            return Outcome.NOT_PLACED
        if Outcome.UNDECIDED in found or self.tried < self.possible:
            return Outcome.UNDECIDED
        return Outcome.PLACED
