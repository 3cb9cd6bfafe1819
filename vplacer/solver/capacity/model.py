"""What is said of room: numbers with their proof, and what stands in the way of one more. All data."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.request.demand import Demand
from vplacer.solver.verdict import HostReason, StoppedBy


@dataclass(frozen=True, slots=True)
class AskedKind:
    """One kind of VM a request asks for: VMs that differ in nothing a host could tell apart.

    ``members``: ids of the demands, ``names`` theirs; ``demand``: what one more of them asks for, not
    bound to a VM that exists. ``apart``: (rule, ids of all its VMs, at most so many a host) of the rules
    one more would be under; ``on_hosts`` names those that tie it to hosts. ``future``: of the section
    ``future`` of the request. ``not_counted``: what ties the members and not one more.
    """

    members: tuple[str, ...]
    names: tuple[str, ...]
    demand: Demand
    apart: tuple[str, ...] = ()
    on_hosts: tuple[str, ...] = ()
    future: bool = False
    not_counted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostRoom:
    """How many more fit one host: ``value`` at least, ``bound`` at most; equal = exact.

    ``constraint`` and ``evidence``: what stops one more beside them.
    """

    host: str
    value: int
    bound: int
    constraint: str
    evidence: str


@dataclass(frozen=True, slots=True)
class KindRoom:
    """How many more VMs of a kind fit, alone, beside all that runs, moving nothing.

    ``value`` and ``bound`` as in `HostRoom`, over all hosts. ``stops``: every host considered, by what
    stops one more VM there, the most frequent first. ``binding``: the constraint that runs out first
    where the kind fits at all; else the one that most hosts fail by; None = there is no host.
    """

    kind: AskedKind
    value: int
    bound: int
    binding: str | None
    stops: tuple[HostReason, ...]
    by_host: tuple[HostRoom, ...]

    @property
    def proved(self) -> bool:
        """Whether the number is exact."""
        return self.value == self.bound


@dataclass(frozen=True, slots=True)
class Capacity:
    """The room of a site for each kind of a request; ``stopped_by`` None = the search was not cut short."""

    kinds: tuple[KindRoom, ...]
    hosts_considered: int
    stopped_by: StoppedBy | None
    notes: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether every number is exact."""
        return all(kind.proved for kind in self.kinds)
