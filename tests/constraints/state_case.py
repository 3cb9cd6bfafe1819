"""Builds the state a case describes: a site, demands and where they are placed, all by name.

A case names cards by their order on the host: ``gpu0`` is the first GPU by address, ``nic1`` the second
NIC. A device is ``gpus[0]=gpu3 static``, ``gpus[0]=gpu3 label gpu-n0``, ``nics[0]=nic0 platform`` or
``gpus[0]=gpu0 platform group 0``.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from vplacer.constraints.state import DeviceAssignment, Placement, Problem, State
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.request.demand import (
    AffinityMode,
    Apart,
    BoundBy,
    Demand,
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
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level

_DEVICE = re.compile(
    r"^(?P<ask>gpu|nic)s\[(?P<index>\d+)\]=(?P<kind>gpu|nic)(?P<number>\d+) "
    r"(?P<by>static|platform|label (?P<label>\S+))(?: group (?P<group>\d+))?$"
)
_ENUMS = {
    "mode": AffinityMode,
    "policy": Policy,
    "interconnect": Level,
    "at": Level,
}


@cache
def _site(text: str) -> tuple[Site, dict[str, HostTopology]]:
    site = load_site_text(text, "case.yaml")
    return site, build_topologies(site.inventory, site.overlays)


def build_state(site: dict[str, Any], case: dict[str, Any]) -> State:
    """Return the state of a case; ``site`` is inventory YAML as data."""
    loaded, topologies = _site(json.dumps({"format_version": 1, **site}))
    names = Names(loaded.inventory, case)
    request = ResolvedRequest(
        demands=tuple(names.demand(raw) for raw in case.get("demands", [])),
        rules=names.rules(case.get("rules", {})),
        options=_options(names, case.get("options", {})),
    )
    problem = Problem(loaded.inventory, topologies, request)
    placements = tuple(
        names.placement(topologies, name, raw) for name, raw in case.get("placements", {}).items()
    )
    return State(problem, placements)


def _options(names: Names, raw: dict[str, Any]) -> RequestOptions:
    values = dict(raw)
    if "evacuate" in values:
        values["evacuate"] = tuple(names.hosts[name] for name in values["evacuate"])
    for key in ("cpu_overcommit", "memory_overcommit"):
        if key in values:
            values[key] = (("", float(values[key])),)
    return RequestOptions(**values)


class Names:
    """Turns the names of a case into managed object ids."""

    def __init__(self, inventory: Inventory, case: dict[str, Any]) -> None:
        self.inventory = inventory
        self.hosts = {host.name: host.moid for host in inventory.hosts}
        self.vms = {vm.name: vm.moid for vm in inventory.vms}
        self.pools = {pool.name: pool.moid for pool in inventory.pools}
        self.stores = {store.name: store.moid for store in inventory.datastores}
        self.networks = {network.name: network.moid for network in inventory.networks}
        self.clusters = {cluster.name: cluster.moid for cluster in inventory.clusters}
        self.demands = {raw["name"]: self._id(raw["name"]) for raw in case.get("demands", [])}

    def _id(self, name: str) -> str:
        return self.vms.get(name, f"new:{name}")

    def id(self, name: str) -> str:
        """Return the id of a demand or VM."""
        return self.demands.get(name) or self.vms[name]

    def name(self, moid: str) -> str:
        """Return the name of whatever has an id."""
        tables = (self.demands, self.hosts, self.vms, self.pools, self.clusters)
        return next(name for table in tables for name, value in table.items() if value == moid)

    def demand(self, raw: dict[str, Any]) -> Demand:
        """Build a demand; what a case leaves out is small and harmless."""
        name = raw["name"]
        vm = self.vms.get(name)
        values: dict[str, Any] = {
            "vnuma_nodes": None,
            "priority": 0,
            "weight_milli": 1000,
            "mode": "hint",
            "may_move": False,
            "pool": None,
            "cpus": 4,
            "hardware_version": 20,
            **{key: value for key, value in raw.items() if key not in ("name", "memory_gib")},
        }
        values["memory_mib"] = int(raw.get("memory_gib", 16)) * 1024
        values["mode"] = AffinityMode(values["mode"])
        values["gpus"] = tuple(GpuAsk(**_ask(ask)) for ask in raw.get("gpus", []))
        values["nics"] = tuple(NicAsk(**_ask({**ask, **self._network(ask)})) for ask in raw.get("nics", []))
        for key, table in (
            ("clusters", self.clusters),
            ("hosts", self.hosts),
            ("datastores", self.stores),
            ("networks", self.networks),
        ):
            values[key] = tuple(table[word] for word in raw.get(key, []))
        if values["pool"] is not None:
            values["pool"] = self.pools[values["pool"]]
        template = None if vm is not None else "template"
        return Demand(id=self._id(name), name=name, vm=vm, template=template, **values)

    def _network(self, ask: dict[str, Any]) -> dict[str, str]:
        return {"network": self.networks[ask["network"]]} if "network" in ask else {}

    def rules(self, raw: dict[str, Any]) -> Rules:
        """Build the rules of a case."""
        ids = lambda rule: tuple(self.id(name) for name in rule["vms"])  # noqa: E731
        return Rules(
            apart=tuple(
                Apart(rule["name"], ids(rule), rule.get("at_most", 1), rule.get("required", True))
                for rule in raw.get("apart", [])
            ),
            together=tuple(
                Together(rule["name"], ids(rule), rule.get("required", True))
                for rule in raw.get("together", [])
            ),
            on_hosts=tuple(
                OnHosts(
                    rule["name"],
                    ids(rule),
                    tuple(self.hosts[host] for host in rule["hosts"]),
                    rule.get("apart", False),
                    rule.get("required", True),
                )
                for rule in raw.get("on_hosts", [])
            ),
            gangs=tuple(
                Gang(
                    gang["name"],
                    ids(gang),
                    tuple(sorted((self.hosts[host], fabric) for host, fabric in gang["fabric"].items()))
                    if "fabric" in gang
                    else None,
                )
                for gang in raw.get("gangs", [])
            ),
        )

    def placement(self, topologies: dict[str, HostTopology], name: str, raw: dict[str, Any]) -> Placement:
        """Build a placement."""
        host = self.hosts[raw["host"]]
        devices = tuple(_assignment(topologies[host], text) for text in raw.get("devices", []))
        return Placement(
            self.demands[name], host, tuple(raw.get("nodes", [])), devices, raw.get("stays", False)
        )


def _ask(raw: dict[str, Any]) -> dict[str, Any]:
    values = {"count": 1, **raw}
    return {key: _ENUMS[key](value) if key in _ENUMS else value for key, value in values.items()}


def _assignment(topology: HostTopology, text: str) -> DeviceAssignment:
    match = _DEVICE.match(text)
    assert match is not None, f"not a device: {text}"
    cards = topology.gpus if match["kind"] == "gpu" else topology.nics
    by = BoundBy.LABEL if match["label"] else BoundBy(match["by"])
    group = int(match["group"]) if match["group"] is not None else None
    address = cards[int(match["number"])].address
    return DeviceAssignment(match["ask"], int(match["index"]), address, by, match["label"], group)
