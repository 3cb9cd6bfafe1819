"""Checks of the esxtop service, through which NUMA homes are measured."""

from __future__ import annotations

from vplacer.doctor.checks.common import count, differs, few, not_applicable, not_checked, ok
from vplacer.doctor.marks import foreign, named
from vplacer.doctor.model import Evidence, Finding
from vplacer.doctor.observed import EsxtopSchema, Untold

EXPECTED: dict[str, tuple[str, ...]] = {
    "SchedGroup": (
        "VMName",
        "IsNUMAValid",
        "HomeNodes",
        "NumOfNUMANodes",
        "RemoteMemoryInKB",
        "LocalMemoryInKB",
        "LocalityPct",
    ),
    "NUMANode": ("NodeID", "TotalInPages", "FreeInPages"),
}
"""Tables and columns that measuring reads, by public samples (lamw's Get-EsxtopAPI, NUMAlocality-esxtop)."""


def service(facts: tuple[EsxtopSchema | Untold, ...], _evidence: Evidence) -> Finding:
    """Say whether hosts have the service and name the expected tables and columns."""
    if not facts:
        return not_applicable("no connected host")
    schemas = [item for item in facts if isinstance(item, EsxtopSchema)]
    refused = [item for item in facts if isinstance(item, Untold)]
    if not schemas:
        return not_checked(refused[0])
    wrong = []
    for schema in schemas:
        for table, columns in EXPECTED.items():
            there = schema.tables.get(table)
            if there is None:
                wrong.append(f"{named('host', schema.moid)}: no table {table}")
            elif lost := [column for column in columns if column not in there]:
                wrong.append(f"{named('host', schema.moid)}: {table} has no {', '.join(lost)}")
    told = [f"{len(schemas)} of {count(len(facts), 'host')} asked answered CounterInfo"]
    told += few([item.why for item in refused])
    if wrong:
        return differs(
            "esxtop's tables are not as expected",
            (*told, *few(wrong)),
            "what is missing is not measured; report the ESXi build",
        )
    return ok("the esxtop service names the expected tables and columns", *told)


def homes(evidence: Evidence) -> Finding:
    """Say whether measured home nodes could be read (only where measuring was asked for)."""
    inventory = evidence.inventory
    if isinstance(inventory, Untold):
        return not_checked(inventory)
    running = {vm.instance_uuid for vm in inventory.vms if vm.is_on and vm.readable}
    if not running:
        return not_applicable("no VM runs")
    found = [item.home for overlay in evidence.overlays for item in overlay.homes if item.vm_uuid in running]
    if not found:
        return not_checked(Untold("no home was measured: run with --measured", failed=False))
    opaque = sorted({home.nodes_told or "" for home in found if not home.nodes})
    several = sum(1 for home in found if len(home.nodes) > 1)
    told = f"{len(found)} of {count(len(running), 'running VM')} measured, {several} on several nodes"
    if opaque:
        return differs(
            "HomeNodes does not read as a mask of node numbers",
            (told, *few([f"HomeNodes {foreign(text)}" for text in opaque])),
            "these home nodes are shown as the text they are; report the ESXi build",
        )
    return ok("HomeNodes reads as a mask of node numbers", told)
