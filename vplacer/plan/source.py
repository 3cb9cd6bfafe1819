"""What a plan, and a report of room, say of the inventory they were made from."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.inventory.vcenter import Inventory
from vplacer.plan.model import MissingPart, OverlayRef, Source


def source_of(inventory: Inventory, fingerprint: str, overlays: Sequence[OverlayRef]) -> Source:
    """Return what is said of the inventory that something was decided from."""
    about = inventory.about
    return Source(
        vcenter=about.name,
        instance_uuid=about.instance_uuid,
        version=about.version,
        api_version=about.api_version,
        taken_at=inventory.taken_at,
        fingerprint=fingerprint,
        hosts=len(inventory.hosts),
        vms=sum(1 for vm in inventory.vms if not vm.template),
        gaps=_missing_parts(inventory),
        overlays=tuple(sorted(overlays, key=lambda item: (item.host, item.created, item.sha256))),
    )


def _missing_parts(inventory: Inventory) -> tuple[MissingPart, ...]:
    named = (inventory.clusters, inventory.hosts, inventory.vms, inventory.pools, inventory.datastores)
    names = {item.moid: item.name for items in named for item in items} if inventory.gaps else {}
    return tuple(
        MissingPart(gap.object, names.get(gap.object), gap.path, gap.kind, gap.reason)
        for gap in inventory.gaps
    )
