"""Carries a saved plan of hardware labels out at its vCenter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import FileFormatError, UsageError
from vplacer.jobs.file_kind import FileKind, kind_of
from vplacer.jobs.overlays import find_overlays
from vplacer.jobs.source import WORKERS, SourceOptions, read_source
from vplacer.jobs.vcenter_port import demand_same_vcenter
from vplacer.jobs.world import World

if TYPE_CHECKING:
    from vplacer.apply.labels import LabelOutcome
    from vplacer.inventory.vcenter import Inventory
    from vplacer.plan.labels.model import LabelPlan
    from vplacer.topology.host_topology import HostTopology
    from vplacer.vsphere.session import Session


@dataclass(frozen=True, slots=True)
class LabelsDone:
    """A plan of labels and what became of it.

    ``outcome`` None = it was only compared. ``missing``: cards without their label when all was read again
    afterwards.
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
    plan = show_labels(path)
    if source.vcenter is None:
        raise UsageError("labels are set at a vCenter, nowhere else", hint="give --vcenter HOST")
    found: list[LabelOutcome] = []

    def work(session: Session) -> None:
        found.extend(_at_vcenter(plan, session, source, world, check_only=check_only))

    # What cannot be read elsewhere is no matter here: the cards themselves are compared one by one.
    reading = read_source(replace(source, allow_incomplete=True), world, also=work)
    return LabelsDone(plan, found[0] if found else None, _missing(plan, reading.inventory))


def _missing(plan: LabelPlan, inventory: Inventory) -> int:
    """Count the cards that do not have the label of the plan in the end."""
    missing = 0
    for card in plan.changes:
        host = inventory.host_by_moid.get(card.host)
        device = host.device(card.address) if host is not None else None
        state = device.passthrough if device is not None else None
        missing += state is None or (state.label or None) != card.after
    return missing


def _at_vcenter(
    plan: LabelPlan, session: Session, source: SourceOptions, world: World, *, check_only: bool
) -> list[LabelOutcome]:
    from vplacer.apply.labels import apply_labels, check_labels
    from vplacer.plan.labels.labels_file import labels_document
    from vplacer.topology.build import build_topologies
    from vplacer.vsphere.writer import VCenterPort

    uuid = plan.source.instance_uuid
    demand_same_vcenter(
        plan.source,
        source.vcenter or "",
        session.about.instance_uuid,
        made="the labels were planned",
        again="plan the labels of this one",
    )
    overlays = find_overlays(source.overlays, (), None, world.environ, uuid).items
    port = VCenterPort(session, workers=WORKERS)

    def topologies(inventory: Inventory) -> Mapping[str, HostTopology]:
        return build_topologies(inventory, overlays)

    if check_only:
        check_labels(plan, port, topologies)
        return []
    operation = f"vplacer-{labels_document(plan)['sha256'][:12]}-labels"
    return [apply_labels(plan, port, topologies, operation, lambda _: None)]
