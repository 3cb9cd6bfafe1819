"""The fleet that is measured with: the same every time, true to what a vCenter tells, and solvable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.fleet import Fleet, Variant, fleet
from benchmarks.fleet.outcome import outcome
from tests.hash_seeds import outputs_by_hash_seed
from vplacer.constraints.judge import placements_today
from vplacer.constraints.settings_findings import settings_findings
from vplacer.constraints.supply import consumer_of_vm, host_supply
from vplacer.inventory.finding import Finding
from vplacer.inventory.snapshot import load_snapshot, save_snapshot
from vplacer.inventory.vm import DynamicBacking, StaticBacking, VgpuBacking
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions
from vplacer.topology.claims import host_cards
from vplacer.topology.device_use import device_use
from vplacer.topology.use_findings import use_findings

SMALL = Variant(hosts=24, shapes=13)
VARIANTS = {
    "filled": SMALL,
    "all shapes": replace(SMALL, shapes=40, hint=0.5, gangs=1),
    "all may move": replace(SMALL, movable=1.0),
    "half float, all may move": replace(SMALL, floating=0.5, movable=1.0),
    "eight nodes, all float": replace(SMALL, hosts=16, eight_nodes=True, floating=1.0),
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def made(request: pytest.FixtureRequest) -> Fleet:
    return fleet(request.param)


def test_same_bytes_whatever_the_hash_seed() -> None:
    code = (
        "import hashlib\n"
        "from benchmarks.fleet import Variant, fleet_problem\n"
        "p = fleet_problem(Variant(hosts=24, shapes=40, movable=0.3, floating=0.3, hint=0.3, gangs=1))\n"
        "print(hashlib.sha256(repr((p.inventory, p.request)).encode()).hexdigest())\n"
    )
    assert len(outputs_by_hash_seed(code)) == 1


def test_snapshot_is_read_as_it_was_written(tmp_path: Path) -> None:
    inventory = fleet(SMALL).problem.inventory
    save_snapshot(inventory, tmp_path / "fleet.json")
    assert load_snapshot(tmp_path / "fleet.json") == inventory


def test_another_seed_is_another_fleet() -> None:
    assert fleet(SMALL).problem.inventory.vms != fleet(replace(SMALL, seed=2)).problem.inventory.vms


def test_nothing_contradicts_itself(made: Fleet) -> None:
    assert [finding.text for finding in _findings(made)] == []


def _findings(made: Fleet) -> Iterator[Finding]:
    problem = made.problem
    for host in problem.inventory.hosts:
        topology = problem.topologies[host.moid]
        vms = [vm for vm in problem.inventory.vms_by_host.get(host.moid, ()) if not vm.template]
        cards = host_cards(host, topology)
        yield from use_findings(cards, device_use(cards, vms), topology, vms)
        yield from settings_findings(host, topology, vms)


def test_running_vms_hold_their_cards_and_fit(made: Fleet) -> None:
    problem = made.problem
    kinds = set()
    for host in problem.inventory.hosts:
        vms = [vm for vm in problem.inventory.vms_by_host.get(host.moid, ()) if not vm.template]
        held = {(binding.vm, binding.device_key) for binding in host.bindings}
        active = {d.address for d in host.pci_devices if d.passthrough is not None and d.passthrough.active}
        whole = [binding.address for binding in host.bindings if binding.address in active]
        assert len(whole) == len(set(whole))
        left = host_supply(host, problem.request.options).total
        for vm in vms:
            pci = [
                d for d in vm.devices if isinstance(d.backing, StaticBacking | DynamicBacking | VgpuBacking)
            ]
            assert all((vm.moid, device.key) in held for device in pci)
            assert not pci or (vm.memory_reservation_mib == vm.memory_mib and vm.hardware_version >= 20)
            kinds |= {type(device.backing) for device in pci}
            left = left - consumer_of_vm(vm, host, problem.request.options).whole
        assert min(left.millicores, left.memory_mib) >= 0
    assert DynamicBacking in kinds


def test_states_differ_and_the_request_is_as_large_as_told(made: Fleet) -> None:
    assert made.states > 0.9 * len(made.problem.inventory.hosts)
    assert made.gpus_free < 0.2 * made.gpus
    assert made.gpus_asked >= 1.2 * made.gpus_free


def test_vms_that_may_move_are_what_is_asked_of_them(made: Fleet) -> None:
    existing = {demand.id for demand in made.problem.request.demands if demand.vm is not None}
    assert not made.problem.request.left_alone
    assert existing <= placements_today(made.problem).keys()


def test_full_size_is_a_full_vcenter() -> None:
    empty = fleet(Variant(fill=0.0, asked=0.0))
    assert (len(empty.problem.inventory.hosts), empty.gpus) == (2_500, 20_000)
    assert len(empty.problem.inventory.clusters) * 96 >= 2_500


@pytest.mark.parametrize("variant", [SMALL, replace(SMALL, hosts=16, eight_nodes=True)])
def test_solved_and_judged(variant: Variant) -> None:
    problem = fleet(variant).problem
    found = outcome(problem, solve(problem, SolveOptions(levels=("placed", "locality"), explained=False)))
    assert found["judge"] == "passed"
    assert found["placed_gpus"] > 0
