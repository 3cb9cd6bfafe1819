"""Random tiny problems about VMs that run: hosts to be emptied, limits of changes, rules broken today."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.solver.tiny import changed, demands
from vplacer.constraints.state import Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import VgpuBacking
from vplacer.request.demand import Apart, Demand, Gang, RequestOptions, ResolvedRequest, Rules, Together
from vplacer.topology.build import build_topologies

PROFILE = "grid_a30-6c"


@st.composite
def _site(draw: st.DrawFn) -> dict[str, Any]:
    """Two hosts of two NUMA nodes with a card each, and two or three running VMs."""
    # Hosts with cards for vGPUs are other hosts than those with cards to pass through.
    shared = draw(st.integers(0, 2)) == 0
    kind: dict[str, Any] = {
        "cpu": {"packages": 2, "cores": 8},
        "memory_gib": 64,
        "devices": [{"gpu": "A30", "node": node, "switch": f"s{node}"} for node in (0, 1)],
    }
    if shared:
        kind["vgpu"] = {"profiles": [PROFILE]}
    vms = []
    taken: set[tuple[int, str]] = set()
    for number in range(draw(st.integers(2, 3))):
        host = draw(st.integers(1, 2))
        vm: dict[str, Any] = {
            "name": f"run-{number}",
            "on": f"esx0{host}",
            "cpus": draw(st.sampled_from([1, 2, 3])),
            "memory_gib": draw(st.sampled_from([2, 8])),
        }
        if draw(st.integers(0, 5)) == 0:
            vm["power"] = "off"
        sort = draw(st.sampled_from(["plain", "bound", "card", "card"]))
        if sort == "bound":
            vm["node_affinity"] = [draw(st.integers(0, 1))]
        elif sort == "card" and shared:
            vm["devices"] = [{"vgpu": PROFILE}]
        elif sort == "card":
            name = draw(st.sampled_from(["gpu0", "gpu1"]))
            if (host, name) not in taken:
                taken.add((host, name))
                vm["devices"] = [{"static": name}]
                if draw(st.booleans()):
                    vm["node_affinity"] = [draw(st.integers(0, 1))]
        vms.append(vm)
    return {
        "format_version": 1,
        "host_kinds": {"k": kind},
        "clusters": [{"name": "c", "drs": "manual", "hosts": [{"kind": "k", "count": 2}]}],
        "vms": vms,
    }


def with_vmotion(inventory: Inventory, migratable: bool | None) -> Inventory:
    """Say of all vGPUs of VMs whether vMotion can move them; None = it is not told."""
    vms = []
    for vm in inventory.vms:
        devices = tuple(
            replace(device, backing=replace(device.backing, migratable=migratable))
            if isinstance(device.backing, VgpuBacking)
            else device
            for device in vm.devices
        )
        vms.append(replace(vm, devices=devices))
    return replace(inventory, vms=tuple(vms))


@st.composite
def moving_problems(draw: st.DrawFn, new: bool = True) -> Problem:
    """Two running VMs that may be changed, and now and then a new one (``new`` False: never)."""
    site = load_site_text(json.dumps(draw(_site())), "tiny.yaml")
    inventory = with_vmotion(site.inventory, draw(st.booleans()))
    asked: list[Demand] = []
    vgpu = any(host.vgpu_profiles for host in inventory.hosts)
    for vm in inventory.vms[:2]:
        demand = draw(changed(vm))
        same = draw(st.booleans())
        gpus = (
            tuple(replace(ask, profile=PROFILE, model=None) for ask in demand.gpus) if vgpu else demand.gpus
        )
        demand = replace(demand, gpus=gpus, power_on=vm.is_on)
        if same:
            demand = replace(demand, cpus=vm.cpus, memory_mib=vm.memory_mib)
        asked.append(demand)
    if new and draw(st.integers(0, 2)) == 0:
        fresh = draw(demands(1))
        asked.append(replace(fresh, gpus=(), nics=(), memory_reserved=False))
    evacuate: tuple[str, ...] = ()
    if draw(st.booleans()):
        evacuate = (draw(st.sampled_from(inventory.hosts)).moid,)
        homes = {vm.moid: vm.host for vm in inventory.vms}
        asked = [replace(d, may_move=True) if homes.get(d.vm or "") in evacuate else d for d in asked]
    ids = tuple(demand.id for demand in asked)
    rules = {
        "none": Rules(),
        "apart": Rules(apart=(Apart("apart", ids),)),
        "together": Rules(together=(Together("together", ids),)),
        "gang": Rules(gangs=(Gang("gang", ids),)),
    }[draw(st.sampled_from(["none", "none", "apart", "together", "gang"]))]
    options = RequestOptions(
        partial=True,
        evacuate=evacuate,
        evacuate_off=draw(st.booleans()),
        max_power_cycles=draw(st.sampled_from([None, 0, 1])),
        max_moves=draw(st.sampled_from([None, None, 0, 1])),
    )
    topologies = build_topologies(inventory, site.overlays)
    return Problem(inventory, topologies, ResolvedRequest(tuple(asked), rules, options))
