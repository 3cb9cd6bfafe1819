"""Runs all checks. A check that breaks is one that could not be made; the others go on."""

from __future__ import annotations

from typing import Final

from vplacer.doctor.checks import devices, holders, licences, locality, measure, offers, reading, server
from vplacer.doctor.checks.common import of_inventory, of_observed
from vplacer.doctor.model import Check, CheckResult, Evidence, Finding, Outcome

CHECKS: Final[tuple[Check, ...]] = (
    Check("D01", "API version and what it lacks", ("A-42",), server.api_version),
    Check("D02", "certificate verified", (), of_observed(lambda o: o.transport, server.certificate)),
    Check("D03", "clocks agree", ("A-47",), of_observed(lambda o: o.clocks, server.clocks)),
    Check("D04", "sessions and their limits", ("A-49",), of_observed(lambda o: o.limits, server.sessions)),
    Check("D05", "time per call", (), server.speed),
    Check("D06", "inventory read whole", ("A-46",), of_inventory(reading.gaps)),
    Check("D07", "extraConfig readable", ("A-40",), of_observed(lambda o: o.vms, reading.extra_config)),
    Check("D08", "change versions", ("A-41",), of_observed(lambda o: o.vms, reading.change_version)),
    Check("D09", "tags readable", ("A-45",), of_inventory(reading.tags)),
    Check("D10", "NUMA nodes list their devices", ("A-01",), of_inventory(locality.node_lists)),
    Check("D11", "spelling of PCI addresses", ("A-02",), of_observed(lambda o: o.hosts, locality.spelling)),
    Check("D12", "every GPU and NIC has a node", ("A-01",), locality.cards_with_node),
    Check("D13", "siblings are on one node", ("A-03",), of_inventory(locality.siblings)),
    Check("D14", "PCIe tree told to its root", ("A-04", "A-05"), of_inventory(locality.parents)),
    Check("D15", "signed numbers", ("A-06",), of_observed(lambda o: o.hosts, locality.signed_numbers)),
    Check("D16", "threads, cores and packages", ("A-07",), of_inventory(locality.cpu_numbers)),
    Check("D17", "passthrough enabled and active", ("A-12",), of_inventory(devices.active)),
    Check("D18", "systemId of active devices", ("A-13",), of_inventory(devices.system_ids)),
    Check("D19", "static backings name their card", ("A-14",), of_inventory(devices.static_ids)),
    Check("D20", "limits by hardware version", ("A-26",), of_inventory(offers.limits)),
    Check("D21", "vGPU profiles", ("A-27",), of_inventory(offers.profiles)),
    Check("D22", "vGPU modes", ("A-48",), of_inventory(offers.modes)),
    Check("D23", "device group templates", ("A-23",), of_inventory(offers.groups)),
    Check("D24", "bindings and instance ids", ("A-16", "A-18"), of_inventory(holders.bindings)),
    Check("D25", "who holds a card: sources agree", ("A-17", "A-18"), of_inventory(holders.agreement)),
    Check("D26", "esxtop service", ("A-28",), of_observed(lambda o: o.esxtop, measure.service)),
    Check("D27", "measured homes", ("A-30",), measure.homes),
    Check("D28", "CPU features and EVC", ("A-44",), of_observed(lambda o: o.hosts, offers.cpu_features)),
    Check("D29", "licences", ("A-31",), of_observed(lambda o: o.licences, licences.editions)),
    Check("D30", "virtual functions", ("A-08",), of_inventory(locality.functions)),
    Check("D31", "hardware labels", ("A-20",), of_inventory(devices.labels)),
)
"""All checks. An id is never used again for another check."""


def run_checks(evidence: Evidence, checks: tuple[Check, ...] = CHECKS) -> tuple[CheckResult, ...]:
    """Run every check."""
    return tuple(
        CheckResult(check.id, check.title, check.assumptions, _run(check, evidence)) for check in checks
    )


def _run(check: Check, evidence: Evidence) -> Finding:
    try:
        return check.run(evidence)
    except Exception as error:
        # Whatever a server sends must not keep the other checks from being made.
        return Finding(
            Outcome.NOT_CHECKED,
            f"could not be checked: {type(error).__name__} in vplacer itself",
            advice="report this as a defect of vplacer",
            failed=True,
        )
