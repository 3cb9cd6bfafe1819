"""Carries a saved plan of hardware labels out at its vCenter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import FileFormatError
from vplacer.jobs.file_kind import FileKind, kind_of
from vplacer.jobs.source import SourceOptions
from vplacer.jobs.vcenter_port import reached
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.apply.labels import LabelOutcome
    from vplacer.inventory.host import Host
    from vplacer.inventory.vcenter import Inventory
    from vplacer.plan.labels.model import LabelPlan
    from vplacer.topology.host_topology import HostTopology


@dataclass(frozen=True, slots=True)
class LabelsDone:
    """A plan of labels and what became of it.

    ``outcome`` None = it was only compared. ``missing``: cards without their label in the end.
    """

    plan: LabelPlan
    outcome: LabelOutcome | None
    missing: int


def show_labels(path: Path) -> LabelPlan:
    """Load a saved plan of labels.

    Raises:
        FileFormatError, NewerFormatError: it is none, was edited, or is of a newer vplacer.
    """
    from vplacer.plan.labels.labels_file import load_labels

    try:
        return load_labels(path)
    except FileFormatError:
        kind = kind_of(path)
        if kind is None or kind is FileKind.LABELS:
            raise
        raise FileFormatError(
            f"is {kind.value}, not a plan of labels",
            path=str(path),
            hint="vplacer labels plan -o FILE saves one",
        ) from None


def run_labels_apply(path: Path, source: SourceOptions, world: World, *, check_only: bool) -> LabelsDone:
    """Compare a plan of labels with its vCenter, and set the labels unless it is only to be compared.

    Raises:
        UsageError: no vCenter is named.
        RequestError: another vCenter answers than the one that the plan was made for.
        StaleError: something moved since; nothing was changed.
        ApplyStopped: it was carried out in part.
        VplacerError: the file or the vCenter cannot be used.
    """
    from vplacer.apply.labels import apply_labels, check_labels
    from vplacer.plan.labels.labels_file import labels_document
    from vplacer.topology.build import build_topologies

    plan = show_labels(path)
    made, again = "the labels were planned", "plan the labels of this one"
    with reached(source, world, plan.source, made=made, again=again) as vcenter:

        def topologies(inventory: Inventory) -> Mapping[str, HostTopology]:
            return build_topologies(inventory, vcenter.overlays)

        if check_only:
            inventory = check_labels(plan, vcenter.port, topologies)
            return LabelsDone(plan, None, _missing(plan, inventory.host_by_moid))
        operation = f"vplacer-{labels_document(plan)['sha256'][:12]}-labels"
        outcome = apply_labels(plan, vcenter.port, topologies, operation, lambda _: None)
        part = vcenter.port.read_part(hosts=dict.fromkeys(card.host for card in plan.changes))
        return LabelsDone(plan, outcome, _missing(plan, {host.moid: host for host in part.hosts}))


def _missing(plan: LabelPlan, hosts: Mapping[str, Host]) -> int:
    """Count the cards that do not have the label of the plan."""
    missing = 0
    for card in plan.changes:
        host = hosts.get(card.host)
        device = host.device(card.address) if host is not None else None
        state = device.passthrough if device is not None else None
        missing += state is None or (state.label or None) != card.after
    return missing
