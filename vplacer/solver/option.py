"""An option and its parts: one way for a demand to sit on a host, as values."""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import AffinityMode, BoundBy, Demand, GpuAsk, NicAsk
from vplacer.solver.cells import Cell


@dataclass(frozen=True, slots=True)
class Asked:
    """Those wishes of a demand that decide which cards may serve it; its sizes decide only on its nodes."""

    gpus: tuple[GpuAsk, ...]
    nics: tuple[NicAsk, ...]
    mode: AffinityMode

    @property
    def shares(self) -> bool:
        """Whether cards are asked for that others may share: what VMs hold of them matters."""
        return any(ask.profile is not None or ask.group is not None for ask in self.gpus)

    @property
    def groups(self) -> bool:
        """Whether device groups are asked for: then it matters which of equal cards are free."""
        return any(ask.group is not None for ask in self.gpus)

    @property
    def narrowable(self) -> bool:
        """Whether it may matter who else takes cards: somebody other than the request chooses them."""
        return self.mode is not AffinityMode.PIN or self.groups


def asked_of(demand: Demand) -> Asked:
    """Return the wishes of a demand for cards."""
    return Asked(demand.gpus, demand.nics, demand.mode)


@dataclass(frozen=True, slots=True)
class AskUse:
    """What one ask takes: cards per cell, or vGPUs of a profile that the host model seats itself.

    ``resource``: "card" (whole), "vf" (virtual functions), "vgpu" (``cells`` empty, ``profile`` and
    ``count`` set) or "group" (cards per cell, ``sets`` names the member cards of each group).
    ``pools``: sets of cells among which a label or the platform chooses; empty for static.
    """

    ask: str
    index: int
    resource: str
    bound_by: BoundBy
    cells: tuple[tuple[int, int], ...] = ()
    profile: str | None = None
    count: int = 0
    sets: tuple[tuple[PciAddress, ...], ...] = ()
    pools: tuple[tuple[int, ...], ...] = ()


def takes_function(use: AskUse, cell: Cell) -> bool:
    """Whether a use of a cell takes a virtual function of it.

    A NIC in a device group comes as one unless it is passed through.
    """
    return use.resource == "vf" or (cell.card.kind == "nic" and not cell.card.passthrough)


@dataclass(frozen=True, slots=True)
class Option:
    """One way to sit. ``nodes`` empty = floating. ``points`` count for the locality level.

    ``settles``: cells of which nothing may be left open beside what the option takes, since what it
    promises holds only if nobody can choose another card of them. ``alone``: for one VM only, which
    counts on getting exactly its cards.
    """

    nodes: tuple[int, ...]
    uses: tuple[AskUse, ...]
    points: int
    settles: tuple[int, ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class OptionList:
    """All options, or the reason that there is none: the id of the constraint and its evidence.

    ``labels``: those that are not portable, where that is the reason.
    """

    options: tuple[Option, ...]
    complete: bool = True
    constraint: str | None = None
    evidence: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """One way to serve one ask; ``platform_pool``: the cells vSphere chooses among, if it does."""

    use: AskUse
    platform_pool: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Takers:
    """Who else may narrow a choice of cards: static backings or VMs that stay, and labels."""

    static: bool = False
    label: bool = False


NOBODY = Takers()
"""No VM but the demand takes cards out of a choice."""
