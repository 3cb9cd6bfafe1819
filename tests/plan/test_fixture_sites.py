"""The examples, planned for real: carried out step by step, the next plan has nothing to do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import yaml

from tests.conftest import REPO
from tests.plan.carry_out import World
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.build import build_plan
from vplacer.plan.model import Plan
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, Status
from vplacer.topology.build import build_topologies

NOW = "2026-11-30T09:00:00Z"
FIXTURES = REPO / "fixtures"


def _forgotten(host: Host, vms: set[str]) -> Host:
    """Take away what the host says these VMs hold: they hold other cards now, which it does not tell."""

    def device(card: PciDevice) -> PciDevice:
        if card.graphics is None:
            return card
        kept = tuple(vm for vm in card.graphics.vms if vm not in vms)
        return replace(card, graphics=replace(card.graphics, vms=kept))

    return replace(
        host,
        pci_devices=tuple(device(card) for card in host.pci_devices),
        bindings=tuple(binding for binding in host.bindings if binding.vm not in vms),
    )


def _carried_out(inventory: Inventory, plan: Plan) -> Inventory:
    world = World(inventory)
    world.carry_out(plan)
    changed = {step.vm for step in plan.steps}
    result = world.result()
    return replace(result, hosts=tuple(_forgotten(host, changed) for host in result.hosts))


@pytest.mark.parametrize(
    ("name", "affinity", "may_move"),
    [
        ("a30pairs", None, False),
        ("a30pairs", "pin", False),
        ("a30pairs", "hint", False),
        ("a30pairs", None, True),
        ("nvswitch", None, False),
        ("nvswitch", None, True),
        ("floating", None, False),
    ],
)
def test_the_second_plan_has_nothing_to_do(name: str, affinity: str | None, may_move: bool) -> None:
    site = load_inventory_file(FIXTURES / "sites" / f"{name}.yaml")
    topologies = build_topologies(site.inventory, site.overlays)
    document = yaml.safe_load((FIXTURES / "requests" / f"{name}.yaml").read_text())
    for entry in document["vms"]:
        if affinity is not None and entry.get("gpus"):
            entry["affinity"] = affinity
            for ask in ("gpus", "nics"):
                if affinity == "hint" and isinstance(entry.get(ask), dict):
                    entry[ask].pop("policy", None)
        if may_move:
            entry["may_move"] = True
    request = parse_request(yaml.safe_dump(document), "request.yaml")

    def planned(inventory: Inventory) -> Plan:
        resolved = resolve(
            request,
            inventory,
            topologies,
            owner_reason=partial(reason_left_alone, inventory=inventory),
        )
        problem = Problem(inventory, topologies, resolved)
        return build_plan(problem, solve(problem, SolveOptions()), created=NOW, tool_version="0.1.0")

    first = planned(site.inventory)
    assert first.verdict.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert first.steps
    second = planned(_carried_out(site.inventory, first))
    assert [step.effect for step in second.steps] == []
