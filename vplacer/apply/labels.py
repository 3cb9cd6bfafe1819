"""Carries a plan of hardware labels out, host by host, and reads back what became of it.

It needs no journal: setting a label twice is setting it once, so a plan that stopped is carried out again,
and cards that have their label already are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from vplacer.apply.compare import shown
from vplacer.errors import AnswerLost, ApplyStopped, StaleError, VplacerError
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.labels.model import LabelledCard, LabelPlan, Rebind
from vplacer.plan.labels.staleness import stale_labels
from vplacer.plan.staleness import StaleField
from vplacer.port import LabelChange, Port, TaskState
from vplacer.topology.host_topology import HostTopology

_TASK_TIMEOUT_S = 600.0
_MOST_LISTED = 8


class LabelEnd(StrEnum):
    """How the labels of a host ended. AFTER_REBOOT: the host tells them only then."""

    SET = "set"
    RIGHT = "right_already"
    AFTER_REBOOT = "after_reboot"


@dataclass(frozen=True, slots=True)
class HostLabels:
    """A host whose labels were to change, and how many cards."""

    host: str
    end: LabelEnd
    cards: int


@dataclass(frozen=True, slots=True)
class LabelOutcome:
    """What was done, host by host."""

    hosts: tuple[HostLabels, ...]

    @property
    def cards_set(self) -> int:
        """How many cards got their label now."""
        return sum(host.cards for host in self.hosts if host.end is not LabelEnd.RIGHT)


Topologies = Callable[[Inventory], Mapping[str, HostTopology]]


def check_labels(plan: LabelPlan, port: Port, topologies: Topologies) -> Inventory:
    """Read everything and compare it with what the plan saw.

    Raises:
        StaleError: something of it moved; nothing was changed.
    """
    inventory = port.read()
    stale = stale_labels(plan, inventory, topologies(inventory))
    if stale:
        lines = [f"\n  {_stale_text(item)}" for item in stale[:_MOST_LISTED]]
        if len(stale) > _MOST_LISTED:
            lines.append(f"\n  and {len(stale) - _MOST_LISTED} more")
        raise StaleError(
            f"the plan of labels is stale; nothing was changed:{''.join(lines)}",
            hint="plan the labels again: vplacer labels plan",
        )
    return inventory


def apply_labels(
    plan: LabelPlan, port: Port, topologies: Topologies, operation: str, tell: Callable[[str], None]
) -> LabelOutcome:
    """Set the labels of a plan.

    Args:
        plan: the plan.
        port: where.
        topologies: makes the topologies of an inventory, with the overlays that go with it.
        operation: id that the server logs with the calls.
        tell: called with a sentence for each host that is done.

    Raises:
        StaleError: nothing was changed, since something moved.
        ApplyStopped: hosts before the one named are done; the cause quoted.
        VplacerError: the first host refused; nothing was changed.
    """
    inventory = check_labels(plan, port, topologies)
    done: list[HostLabels] = []
    for host in dict.fromkeys(card.host for card in plan.changes):
        cards = [card for card in plan.changes if card.host == host]
        now = _labels_of(inventory.host_by_moid[host])
        todo = [card for card in cards if now.get(card.address) != card.after]
        if not todo:
            done.append(HostLabels(host, LabelEnd.RIGHT, len(cards)))
            continue
        try:
            end = _set_host(plan, host, todo, port, operation)
        except VplacerError as error:
            if not any(item.end is not LabelEnd.RIGHT for item in done) and not isinstance(
                error, ApplyStopped
            ):
                raise
            raise _stopped(plan, host, done, error) from error
        done.append(HostLabels(host, end, len(todo)))
        tell(f"{plan.name(host)}: {len(todo)} labels {_WORDS[end]}")
    return LabelOutcome(tuple(done))


_WORDS = {
    LabelEnd.SET: "set",
    LabelEnd.AFTER_REBOOT: "stored; they count after the host's next start",
    LabelEnd.RIGHT: "right already",
}


def _set_host(plan: LabelPlan, host: str, cards: list[LabelledCard], port: Port, operation: str) -> LabelEnd:
    changes = [LabelChange(host, card.address, card.before, card.after) for card in cards]
    lost: AnswerLost | None = None
    try:
        _wait(plan, host, port, changes, operation)
    except AnswerLost as error:
        lost = error  # the host tells whether it was carried out; it is never sent again by itself
    left = _wrong(host, cards, port)
    if not left:
        return LabelEnd.SET
    if lost is not None:
        raise lost
    needs = next((item.rebind for item in plan.hosts if item.host == host), Rebind.NOT_TOLD)
    if needs is not Rebind.NO_REBOOT:
        return LabelEnd.AFTER_REBOOT
    raise ApplyStopped(
        f"{len(left)} of {len(cards)} labels were set and do not read back",
        obj=plan.name(host),
        why=", ".join(left[:_MOST_LISTED]),
        hint="look at the host's PCI devices in the vSphere Client; then carry the plan out again",
    )


def _wait(plan: LabelPlan, host: str, port: Port, changes: Iterable[LabelChange], operation: str) -> None:
    open_ = list(port.set_labels(changes, operation))
    while open_:
        ended = port.wait(open_, _TASK_TIMEOUT_S)
        if not ended:
            raise ApplyStopped("setting labels takes too long", obj=plan.name(host))
        for result in ended:
            if result.state is TaskState.ERROR:
                raise ApplyStopped("cannot set hardware labels", obj=plan.name(host), why=result.message)
        over = {result.task for result in ended}
        open_ = [task for task in open_ if task not in over]


def _wrong(host: str, cards: Iterable[LabelledCard], port: Port) -> list[str]:
    now: dict[PciAddress, str | None] = {}
    for found in port.read_part(hosts=[host]).hosts:
        now |= _labels_of(found)
    return [
        f"{card.address} has {now.get(card.address) or 'none'}, not {card.after or 'none'}"
        for card in cards
        if now.get(card.address) != card.after
    ]


def _labels_of(host: Host) -> dict[PciAddress, str | None]:
    return {
        device.address: (device.passthrough.label or None)
        for device in host.pci_devices
        if device.passthrough is not None
    }


def _stopped(plan: LabelPlan, host: str, done: list[HostLabels], error: VplacerError) -> ApplyStopped:
    names = [plan.name(item.host) for item in done if item.end is not LabelEnd.RIGHT]
    return ApplyStopped(
        f"labels were set on {', '.join(names) or 'no host'}, then it stopped",
        obj=plan.name(host),
        why=error.render(),
        hint="mend the cause and carry the same plan out again: what has its label already is passed over",
    )


def _stale_text(item: StaleField) -> str:
    return f"{item.name} {item.field}: planned for {shown(item.expected)}, now {shown(item.found)}"
