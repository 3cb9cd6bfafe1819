"""Random problems small enough to try every answer: sites as inventory YAML data, and demands."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from vplacer.constraints.state import Problem
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vm import Vm
from vplacer.request.demand import (
    AffinityMode,
    Apart,
    Demand,
    FutureShape,
    Gang,
    GpuAsk,
    NicAsk,
    OnHosts,
    Policy,
    RequestOptions,
    ResolvedRequest,
    Rules,
    Together,
)
from vplacer.topology.build import build_topologies
from vplacer.topology.levels import Level

HOST_CORES = 8


@st.composite
def sites(draw: st.DrawFn) -> dict[str, Any]:
    """One or two hosts of two NUMA nodes, a few cards, a few running VMs."""
    per_node = draw(st.sampled_from([1, 2]))
    label = draw(st.sampled_from([None, "gpu-n{node}", "gpu"]))
    marks = {"label": label} if label else {}
    devices: list[dict[str, Any]] = []
    for node in (0, 1):
        devices.append({"gpu": "A30", "count": per_node, "node": node, "switch": f"s{node}", **marks})
        nic_mark = {"label": f"nic-n{node}"} if label else {}
        devices.append(
            {"nic": "CX6-DX", "node": node, "switch": f"s{node}", "passthrough": "active", **nic_mark}
        )
    kind: dict[str, Any] = {
        "cpu": {"packages": draw(st.sampled_from([1, 2])), "cores": HOST_CORES},
        "memory_gib": 64,
        "devices": devices,
    }
    if kind["cpu"]["packages"] == 1:
        kind["numa"] = {"nodes_per_package": 2}
    if per_node == 2 and draw(st.booleans()):
        kind["nvlinks"] = [["gpu0", "gpu1"], ["gpu2", "gpu3"]]
    hosts = draw(st.integers(1, 2))
    vms = [draw(_running(f"run-{n}", hosts)) for n in range(draw(st.integers(0, 3)))]
    for host in range(1, hosts + 1):
        # Not more cards held than the host has.
        holders = [vm for vm in vms if vm["on"] == f"esx0{host}" and "devices" in vm]
        for vm in holders[2 * per_node :]:
            del vm["devices"]
        # Static cards from the last one down; the others find theirs from the first one up.
        named = draw(st.integers(0, min(len(holders), 2 * per_node)))
        for number, vm in enumerate(holders[:named]):
            vm["devices"] = [{"static": f"gpu{2 * per_node - 1 - number}"}]
    site: dict[str, Any] = {
        "format_version": 1,
        "host_kinds": {"k": kind},
        "clusters": [{"name": "c", "drs": "manual", "hosts": [{"kind": "k", "count": hosts}]}],
        "vms": vms,
    }
    if draw(st.integers(0, 3)) == 0:
        site["clusters"][0]["ha"] = draw(
            st.sampled_from([{"failover_hosts": 1}, {"cpu_percent": 25, "memory_percent": 60}])
        )
    if draw(st.integers(0, 3)) == 0:
        site["pools"] = [{"name": "p", "memory_limit_gib": draw(st.sampled_from([4, 16, 32]))}]
        for vm in vms:
            if draw(st.booleans()):
                vm["pool"] = "p"
    return site


@st.composite
def _running(draw: st.DrawFn, name: str, hosts: int) -> dict[str, Any]:
    vm: dict[str, Any] = {
        "name": name,
        "on": f"esx0{draw(st.integers(1, hosts))}",
        "cpus": draw(st.sampled_from([1, 2, 3])),
        "memory_gib": draw(st.sampled_from([2, 8])),
    }
    sort = draw(st.sampled_from(["plain", "plain", "reserved", "bound", "card"]))
    if sort == "reserved":
        vm["reservation_gib"] = vm["memory_gib"]
    elif sort == "bound":
        vm["node_affinity"] = [draw(st.integers(0, 1))]
    elif sort == "card":
        vm["devices"] = [{"dynamic": "A30"}]
    return vm


@st.composite
def demands(draw: st.DrawFn, number: int) -> Demand:
    """A new VM with random wishes."""
    gpus: tuple[GpuAsk, ...] = ()
    nics: tuple[NicAsk, ...] = ()
    count = draw(st.sampled_from([0, 1, 1, 2]))
    if count:
        gpus = (
            GpuAsk(
                count,
                model="A30",
                interconnect=draw(st.sampled_from([Level.ANY, Level.NVLINK, Level.SWITCH, Level.NUMA])),
                interconnect_required=draw(st.booleans()),
                policy=draw(st.sampled_from(list(Policy))),
            ),
        )
        if draw(st.booleans()):
            nics = (
                NicAsk(
                    1,
                    near_gpu=True,
                    at=draw(st.sampled_from([Level.SWITCH, Level.NUMA])),
                    at_required=draw(st.booleans()),
                    policy=draw(st.sampled_from([Policy.PREFERRED, Policy.NONE])),
                ),
            )
    name = f"new-{number}"
    return Demand(
        id=f"new:{name}",
        name=name,
        vm=None,
        template=None,
        clusters=(),
        hosts=(),
        cpus=draw(st.sampled_from([1, 2, 4, 6, 10])),
        memory_mib=1024 * draw(st.sampled_from([1, 8, 20])),
        vnuma_nodes=draw(st.sampled_from([None, None, None, 2])),
        gpus=gpus,
        nics=nics,
        priority=draw(st.sampled_from([0, 0, 1])),
        weight_milli=max(100, 1000 * count),
        mode=draw(st.sampled_from(list(AffinityMode))),
        may_move=True,
        pool=None,
        datastores=(),
        networks=(),
        hardware_version=20,
        memory_reserved=bool(count) or draw(st.booleans()),
    )


@st.composite
def changed(draw: st.DrawFn, vm: Vm) -> Demand:
    """A running VM of the site with wishes, perhaps other ones than it has."""
    card = bool(vm.devices)
    gpus = (GpuAsk(1, model="A30", policy=draw(st.sampled_from(list(Policy)))),) if card else ()
    return Demand(
        id=vm.moid,
        name=vm.name,
        vm=vm.moid,
        template=None,
        clusters=(),
        hosts=(),
        cpus=draw(st.sampled_from([vm.cpus, vm.cpus, vm.cpus + 2])),
        memory_mib=draw(st.sampled_from([vm.memory_mib, vm.memory_mib, vm.memory_mib + 8 * 1024])),
        vnuma_nodes=None,
        gpus=gpus,
        nics=(),
        priority=0,
        weight_milli=max(100, 1000 * len(gpus)),
        mode=draw(st.sampled_from(list(AffinityMode))),
        may_move=draw(st.booleans()),
        pool=vm.pool,
        datastores=(),
        networks=(),
        hardware_version=max(20, vm.hardware_version or 0),
        memory_reserved=card or (vm.memory_reservation_mib or 0) >= vm.memory_mib,
        overhead_mib=vm.overhead_mib or 0,
    )


@st.composite
def future(draw: st.DrawFn, number: int) -> FutureShape:
    """A shape of the mix expected later."""
    name = f"later-{number}"
    demand = replace(draw(demands(number)), id=f"future:{name}", name=name, priority=0)
    return FutureShape(name, demand, draw(st.sampled_from([1, 3])))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """A tiny site, up to three new VMs, and now and then a rule between them."""
    site = load_site_text(json.dumps(draw(sites())), "tiny.yaml")
    number = draw(st.sampled_from([1, 2, 2, 3]))
    asked = tuple(draw(demands(n)) for n in range(number))
    pool = next((pool.moid for pool in site.inventory.pools if pool.name == "p"), None)
    if pool is not None:
        asked = tuple(replace(demand, pool=pool) if draw(st.booleans()) else demand for demand in asked)
    for vm in site.inventory.vms:
        if len(asked) < 3 and draw(st.integers(0, 2)) == 0:
            asked = (*asked, draw(changed(vm)))
    number = len(asked)
    ids = tuple(demand.id for demand in asked)
    rules = Rules()
    if number > 1:
        sort = draw(st.sampled_from(["none", "none", "apart", "together", "gang"]))
        required = draw(st.booleans())
        if sort == "apart":
            rules = Rules(apart=(Apart("apart", ids, required=required),))
        elif sort == "together":
            rules = Rules(together=(Together("together", ids, required=required),))
        elif sort == "gang":
            rules = Rules(gangs=(Gang("gang", ids),))
    if draw(st.integers(0, 3)) == 0:
        hosts = (draw(st.sampled_from(site.inventory.hosts)).moid,)
        wish = OnHosts("wish", ids, hosts, draw(st.booleans()), required=False)
        rules = replace(rules, on_hosts=(wish,))
    options = RequestOptions(
        partial=True,
        hosts_goal=draw(st.sampled_from(["fewest", "spread"])),
        headroom_hosts=draw(st.sampled_from([0, 0, 0, 1])),
    )
    topologies = build_topologies(site.inventory, site.overlays)
    shapes = tuple(draw(future(number)) for number in range(draw(st.sampled_from([0, 1, 2, 3]))))
    return Problem(site.inventory, topologies, ResolvedRequest(asked, rules, options, future=shapes))
