"""A plan of hardware labels: what each card is called now and after, and what that costs.

Objects are named by managed object id; ``names`` in a `LabelPlan` has their display names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from vplacer.inventory.pci import PciAddress
from vplacer.plan.model import Source


class Scheme(StrEnum):
    """What cards of one label have in common: the NUMA node, and the NVLink pair or PCIe switch in it."""

    NODE = "node"
    PAIR = "pair"
    SWITCH = "switch"


class CardState(StrEnum):
    """What happens to the label of a card.

    SET: it is changed. RIGHT: it is as it should be. KEPT: somebody else's label stands there. IN_USE: a VM
    holds the card, or may. LEFT_OUT: no label can be given.
    """

    SET = "set"
    RIGHT = "right"
    KEPT = "kept"
    IN_USE = "in_use"
    LEFT_OUT = "left_out"


class Rebind(StrEnum):
    """What a host needs for a change to count (HostCapability.deviceRebindWithoutRebootSupported)."""

    NO_REBOOT = "no_reboot"
    REBOOT = "reboot"
    NOT_TOLD = "not_told"


@dataclass(frozen=True, slots=True)
class LabelScheme:
    """The wish: how cards are grouped, and what their labels begin with.

    ``replace``: labels that somebody else gave are changed too. ``in_use``: also those of cards that VMs
    hold.
    """

    scheme: Scheme
    prefix: str = "gpu"
    nic_prefix: str = "nic"
    replace: bool = False
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class LabelledCard:
    """One card. ``kind``: "gpu" or "nic". ``ids`` as vendor:device.

    ``node``: the pNUMA node with cores nearest to it, None = not known. ``wanted``: the label of the scheme,
    None = it can have none. ``before`` and ``after``: its label, None = none. ``why``: of a card that is not
    as wanted afterwards. ``holders``: ids of the VMs that hold it now, or may; ``held``: one surely
    does.
    """

    host: str
    address: PciAddress
    kind: str
    model: str
    ids: str
    node: int | None
    state: CardState
    wanted: str | None
    before: str | None
    after: str | None
    why: str | None
    holders: tuple[str, ...]
    held: bool


@dataclass(frozen=True, slots=True)
class LabelHost:
    """A host whose labels change. ``cards``: how many. ``running``: ids of the VMs on it that run."""

    host: str
    rebind: Rebind
    cards: int
    running: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StrandedVm:
    """A VM whose devices name a label, and that will not start again on its host with the labels planned.

    ``needs`` devices of the label; ``has``: cards with it on the host afterwards. ``running``: it runs on
    until it is switched off.
    """

    vm: str
    host: str
    label: str
    needs: int
    has: int
    running: bool


@dataclass(frozen=True, slots=True)
class CardCount:
    """How many cards of a model a label has on a host."""

    host: str
    model: str
    count: int


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A label of a cluster as it will be.

    ``cluster`` None = a host in no cluster. ``node``: the pNUMA node it stands for on every host that has
    it; None = it is not portable: it stands for none. ``everywhere``: every host that has GPUs has it, and on
    the same cards. ``why``: what it lacks; ``advice``: what could be done.
    """

    cluster: str | None
    label: str
    node: int | None
    everywhere: bool
    cards: tuple[CardCount, ...]
    why: tuple[str, ...]
    advice: tuple[str, ...]

    @property
    def portable(self) -> bool:
        """Whether a VM bound to a node can use it on any host that has it."""
        return self.node is not None


@dataclass(frozen=True)
class LabelPlan:
    """A complete plan of labels.

    ``clusters``: those it is for. ``cards``: every card of a host that a label was thought of for.
    """

    tool_version: str
    created: str
    source: Source
    clusters: tuple[str, ...]
    scheme: LabelScheme
    cards: tuple[LabelledCard, ...]
    hosts: tuple[LabelHost, ...]
    labels: tuple[LabelUse, ...]
    stranded: tuple[StrandedVm, ...]
    notes: tuple[str, ...]
    names: tuple[tuple[str, str], ...]

    @property
    def changes(self) -> tuple[LabelledCard, ...]:
        """The cards whose label changes."""
        return tuple(card for card in self.cards if card.state is CardState.SET)

    @cached_property
    def _name_by_id(self) -> dict[str, str]:
        return dict(self.names)

    def name(self, moid: str) -> str:
        """Return the display name of an object, or its id where there is none."""
        return self._name_by_id.get(moid, moid)
