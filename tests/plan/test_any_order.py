"""Whatever order the dependencies leave open: no card is held twice and no host is over-full on the way."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.carry_out import World
from tests.plan.cases import NOW, VERSION
from vplacer.constraints.state import DeviceAssignment, Placement, Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vm import StaticBacking
from vplacer.plan.build import build_plan
from vplacer.plan.model import Plan, Step
from vplacer.request.demand import (
    AffinityMode,
    BoundBy,
    Demand,
    GpuAsk,
    RequestOptions,
    ResolvedRequest,
    Rules,
)
from vplacer.solver.verdict import Solution, Status
from vplacer.topology.build import build_topologies

HOSTS = 3
CARDS = ("0000:05:00.0", "0000:85:00.0")
HOST_GIB = 256


@dataclass(frozen=True)
class Machine:
    """A VM: where it is and where it goes, as host numbers; ``card`` and ``new_card`` None = it has none."""

    gib: int
    on: bool
    host: int
    new_host: int
    card: int | None
    new_card: int | None


@st.composite
def machines(draw: st.DrawFn) -> list[Machine]:
    """VMs with cards permute over the slots; others fill the hosts before and after, as they fit."""
    slots = [(host, card) for host in range(HOSTS) for card in range(len(CARDS))]
    count = draw(st.integers(0, len(slots)))
    before, after = draw(st.permutations(slots)), draw(st.permutations(slots))
    room = {(when, host): HOST_GIB * 9 // 10 for when in (0, 1) for host in range(HOSTS)}
    small = draw(st.booleans())
    made = []
    for (host, card), (new_host, new_card) in zip(before[:count], after[:count], strict=True):
        gib = draw(st.sampled_from([4] if small else [16, 64]))
        if min(room[0, host], room[1, new_host]) < gib:
            continue
        room[0, host] -= gib
        room[1, new_host] -= gib
        made.append(Machine(gib, small or draw(st.booleans()), host, new_host, card, new_card))
    for _ in range(draw(st.integers(0, 6))):
        gib, host, new_host = draw(
            st.tuples(st.sampled_from([8] if small else [32, 96, 160]), *[st.integers(0, HOSTS - 1)] * 2)
        )
        if min(room[0, host], room[1, new_host]) < gib:
            continue
        room[0, host] -= gib
        room[1, new_host] -= gib
        made.append(Machine(gib, draw(st.booleans()), host, new_host, None, None))
    return made


def _problem(items: list[Machine]) -> tuple[Problem, Solution]:
    site = load_site_text(json.dumps(_site(items)), "site.yaml")
    topologies = _topologies()
    hosts = [host.moid for host in site.inventory.hosts]
    demands, placements = [], []
    for item, vm in zip(items, site.inventory.vms, strict=True):
        demands.append(
            Demand(
                vm.moid, vm.name, vm.moid, None, (), (), vm.cpus, vm.memory_mib, None,
                (GpuAsk(1),) if item.new_card is not None else (), (), 0, 1000, AffinityMode.PIN, True,
                vm.pool, vm.datastores, vm.networks, vm.hardware_version or 20,
            )
        )  # fmt: skip
        address = None if item.new_card is None else _address(item.new_card)
        devices = () if address is None else (DeviceAssignment("gpu", 0, address, BoundBy.STATIC),)
        nodes = () if item.new_card is None else (item.new_card,)
        placements.append(Placement(vm.moid, hosts[item.new_host], nodes, devices))
    request = ResolvedRequest(tuple(demands), Rules(), RequestOptions())
    problem = Problem(site.inventory, dict(zip(hosts, topologies, strict=True)), request)
    return problem, Solution(Status.OPTIMAL, tuple(placements), (), (), (), None, 1, "test")


def _site(items: list[Machine]) -> dict[str, Any]:
    vms = []
    for number, item in enumerate(items):
        devices: list[dict[str, Any]] = [{"network": "lan"}]
        if item.card is not None:
            devices.insert(0, {"static": CARDS[item.card]})
        vms.append(
            {
                "name": f"vm{number}",
                "on": f"esx{item.host}",
                "power": "on" if item.on else "off",
                "cpus": 4,
                "memory_gib": item.gib,
                "reservation_gib": item.gib,
                "devices": devices,
            }
        )
    kind = {
        "cpu": {"packages": 2, "cores": 32},
        "memory_gib": HOST_GIB,
        "devices": [{"gpu": "L40S", "node": node, "address": card} for node, card in enumerate(CARDS)],
    }
    hosts = [{"kind": "two", "name": f"esx{number}"} for number in range(HOSTS)]
    return {
        "format_version": 1,
        "networks": ["lan"],
        "host_kinds": {"two": kind},
        "clusters": [{"name": "ml", "drs": "off", "hosts": hosts}],
        "vms": vms,
    }


@cache
def _topologies() -> tuple[Any, ...]:
    site = load_site_text(json.dumps(_site([])), "site.yaml")
    return tuple(build_topologies(site.inventory).values())


def _address(card: int) -> Any:
    return _topologies()[0].gpus[card].address


def _carried_out(plan: Plan, world: World, seed: int) -> None:
    """Make the steps in an order that the dependencies allow: one VM as far as it gets, then the next.

    The order of VMs is random; going through with one at a time is what harms others most.
    """
    order = sorted({step.vm for step in plan.steps})
    random.Random(seed).shuffle(order)
    left: list[Step] = list(plan.steps)
    done: set[str] = set()
    while left:
        ready = [step for step in left if done.issuperset(step.depends_on)]
        assert ready, "steps wait for each other"
        step = min(ready, key=lambda item: order.index(item.vm))
        world.apply(step.vm, step.change)
        left.remove(step)
        done.add(step.id)
        _nothing_twice(world, step)


def _nothing_twice(world: World, step: Step) -> None:
    used: dict[str | None, int] = {}
    named: set[Any] = set()
    for vm in world.vms.values():
        if vm.is_on:
            used[vm.host] = used.get(vm.host, 0) + vm.memory_mib
        for device in vm.devices:
            if vm.is_on and isinstance(device.backing, StaticBacking):
                assert (vm.host, device.backing.address) not in named, f"{step.id}: a card is held twice"
                named.add((vm.host, device.backing.address))
    assert all(amount <= HOST_GIB * 1024 for amount in used.values()), f"{step.id}: a host is over-full"


@given(machines(), st.integers(0, 2**32))
@settings(max_examples=80)
def test_any_order_the_dependencies_allow(items: list[Machine], seed: int) -> None:
    problem, solution = _problem(items)
    plan = build_plan(problem, solution, created=NOW, tool_version=VERSION)
    world = World(problem.inventory)
    _carried_out(plan, world, seed)
    for demand, placement in zip(problem.request.demands, solution.placements, strict=True):
        vm = world.vms[demand.id]
        assert vm.host == placement.host
        assert vm.is_on
        held = [d.backing.address for d in vm.devices if isinstance(d.backing, StaticBacking)]
        assert held == [item.address for item in placement.devices]
