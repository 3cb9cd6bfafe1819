"""What hosts give and VMs take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constraints.state_case import build_state
from vplacer.constraints.state import Problem
from vplacer.constraints.supply import (
    Amount,
    Consumer,
    Seat,
    client_count,
    consumer_of_demand,
    consumer_of_vm,
    host_supply,
)
from vplacer.inventory.host import Host
from vplacer.inventory.vm import VmPower

GIB = 1024

SITE: dict[str, Any] = {
    "host_kinds": {
        "two": {
            "cpu": {"packages": 2, "cores": 32, "mhz": 2000},
            "memory_gib": 512,
            "system_memory_mib": 8 * GIB,
            "devices": [{"gpu": "A30", "node": 0}],
        },
        "super": {
            "cpu": {"packages": 1, "cores": 32},
            "numa": {"extra_nodes": 1, "memory_gib": [256, 64]},
            "memory_gib": 320,
            "system_memory_mib": 0,
        },
    },
    "clusters": [
        {"name": "c", "hosts": [{"kind": "two", "name": "two"}, {"kind": "super", "name": "super"}]}
    ],
    "vms": [
        {"name": "plain", "on": "two", "cpus": 8, "memory_gib": 16, "overhead_mib": 100},
        {"name": "gpu", "on": "two", "cpus": 8, "memory_gib": 16, "devices": [{"dynamic": "A30"}]},
        {"name": "bound", "on": "two", "cpus": 8, "memory_gib": 16, "node_affinity": [1]},
        {
            "name": "wide",
            "on": "two",
            "cpus": 40,
            "memory_gib": 64,
            "reservation_gib": 64,
            "node_affinity": [0, 1],
        },
        {"name": "reserved", "on": "two", "cpus": 40, "memory_gib": 64, "reservation_gib": 64},
        {"name": "single", "on": "super", "cpus": 8, "memory_gib": 16},
    ],
}


def _problem(options: dict[str, Any] | None = None, demands: list[dict[str, Any]] | None = None) -> Problem:
    return build_state(SITE, {"options": options or {}, "demands": demands or []}).problem


def _host(problem: Problem, name: str) -> Host:
    return next(host for host in problem.inventory.hosts if host.name == name)


def _consumer(name: str, options: dict[str, Any] | None = None, **changes: Any) -> Consumer | None:
    problem = _problem(options)
    vm = replace(next(vm for vm in problem.inventory.vms if vm.name == name), **changes)
    host = problem.inventory.host_by_moid[vm.host or ""]
    return consumer_of_vm(vm, host, problem.request.options)


def test_a_host_gives_less_than_it_has() -> None:
    problem = _problem({"memory_margin_percent": 4.0})
    supply = host_supply(_host(problem, "two"), problem.request.options)
    assert supply.total == Amount(64_000, 2 * int(252 * GIB * 0.96))
    # 4 GiB of the host's own are taken from each node, then the margin.
    assert [node.amount for node in supply.nodes] == [Amount(32_000, int(252 * GIB * 0.96))] * 2
    assert dict(supply.sources)["system memory"] == "config.systemResources"


def test_a_node_without_cores_gives_nothing() -> None:
    problem = _problem({"memory_margin_percent": 0.0})
    supply = host_supply(_host(problem, "super"), problem.request.options)
    assert [node.amount for node in supply.nodes] == [Amount(32_000, 256 * GIB), Amount(0, 0)]
    assert supply.total == Amount(32_000, 256 * GIB)


def test_only_gpu_and_latency_sensitive_vms_take_whole_cores() -> None:
    plain = _consumer("plain")
    assert plain is not None
    assert (plain.seat, plain.whole) == (Seat.DIVISIBLE, Amount(2_000, 16 * GIB + 100))
    gpu = _consumer("gpu")
    assert gpu is not None
    assert (gpu.seat, gpu.parts, gpu.part.millicores) == (Seat.ITEM, 1, 8_000)
    high = _consumer("plain", latency_sensitivity="high")
    assert high is not None
    assert high.whole.millicores == 8_000


def test_overcommit_never_goes_below_a_reservation() -> None:
    cheap = _consumer("plain", {"cpu_overcommit": 8})
    assert cheap is not None
    assert cheap.whole.millicores == 1_000
    # 6000 MHz are three cores of 2000.
    reserved = _consumer("plain", {"cpu_overcommit": 8}, cpu_reservation_mhz=6000)
    assert reserved is not None
    assert reserved.whole.millicores == 3_000


def test_threads_count_for_those_who_prefer_them() -> None:
    gpu = _consumer("gpu", extra_config=(("numa.vcpu.preferHT", "TRUE"),))
    assert gpu is not None
    assert gpu.whole.millicores == 4_000


def test_memory_overcommit_spares_what_is_reserved() -> None:
    plain = _consumer("plain", {"memory_overcommit": 2.0})
    assert plain is not None
    assert plain.whole.memory_mib == 8 * GIB + 100
    half = _consumer("plain", {"memory_overcommit": 2.0}, memory_reservation_mib=12 * GIB)
    assert half is not None
    assert half.whole.memory_mib == 12 * GIB + 100


def test_a_vm_with_a_card_takes_all_its_memory_whatever_it_reserves() -> None:
    """Its reservation must equal its memory, or it does not start (bosh-vsphere-cpi-release PR #372)."""
    unreserved = {"memory_mib": 32_768, "memory_reservation_mib": 0, "memory_locked_to_max": False}
    today = _consumer("gpu", {"memory_overcommit": 2.0}, overhead_mib=0, **unreserved)
    assert today is not None
    assert (today.seat, today.part.memory_mib) == (Seat.ITEM, 32_768)
    ask = {"name": "a", "cpus": 8, "memory_gib": 32, "gpus": [{"model": "A30"}]}
    problem = _problem({"memory_overcommit": 2.0}, [ask])
    (demand,) = problem.request.demands
    placed = consumer_of_demand(demand, (0,), _host(problem, "two"), problem.request.options)
    assert placed is not None
    assert (placed.seat, placed.nodes, placed.part.memory_mib) == (Seat.BOUND, (0,), 32_768)


def test_seats() -> None:
    bound, wide = _consumer("bound"), _consumer("wide")
    reserved, single = _consumer("reserved"), _consumer("single")
    assert bound is not None
    assert (bound.seat, bound.nodes) == (Seat.BOUND, (1,))
    assert wide is not None
    assert (wide.seat, wide.nodes, wide.part.memory_mib) == (Seat.BOUND, (0, 1), wide.whole.memory_mib // 2)
    assert reserved is not None
    assert (reserved.seat, reserved.parts, reserved.nodes) == (Seat.ITEM, 2, ())
    assert single is not None
    assert (single.seat, single.nodes) == (Seat.BOUND, (0,))


def test_a_vm_that_is_off_takes_nothing() -> None:
    assert _consumer("gpu", power=VmPower.OFF) is None
    problem = _problem(demands=[{"name": "a", "power_on": False}])
    demand = problem.request.demands[0]
    assert consumer_of_demand(demand, (), _host(problem, "two"), problem.request.options) is None


@pytest.mark.parametrize(
    ("cpus", "cores", "manual", "parts"),
    [
        (8, 32, None, 1),
        (32, 32, None, 1),
        (33, 32, None, 3),
        (40, 32, None, 2),
        (8, 0, None, 1),
        (8, 32, 4, 4),
    ],
)
def test_numa_clients(cpus: int, cores: int, manual: int | None, parts: int) -> None:
    assert client_count(cpus, cores, manual) == parts


@given(st.integers(1, 768), st.integers(1, 128))
def test_numa_clients_are_equal_fit_a_node_and_are_the_fewest(cpus: int, cores: int) -> None:
    parts = client_count(cpus, cores, None)
    assert cpus % parts == 0
    assert cpus // parts <= cores
    assert not [n for n in range(1, parts) if cpus % n == 0 and cpus // n <= cores]
