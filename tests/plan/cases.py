"""Reads the cases of tests/cases/plan: a site, demands and a solution by name, and what the plan must be.

A file has ``site`` (inventory YAML) and ``cases``, each with ``demands`` (fields of `Demand`, memory in
GiB), ``placements`` (host and cards by name) and ``apart`` (rules, as lists of VMs). A case may override
parts of the site's VMs (``vms``: fields of the site's VM lines by name) and of its clusters (``clusters``).
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import REPO
from vplacer.constraints.registry import Relaxation
from vplacer.constraints.state import DeviceAssignment, Placement, Problem, Violation
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.plan.build import build_plan
from vplacer.plan.model import Plan
from vplacer.request.demand import (
    AffinityMode,
    Apart,
    BoundBy,
    Demand,
    GpuAsk,
    LeftAlone,
    NicAsk,
    Policy,
    RequestOptions,
    ResolvedRequest,
    Rules,
)
from vplacer.solver.verdict import (
    DemandReasons,
    HostReason,
    LevelResult,
    Solution,
    Status,
    StoppedBy,
)
from vplacer.topology.build import build_topologies
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level

CASES = REPO / "tests" / "cases" / "plan"
NOW = "2026-11-30T09:00:00Z"
VERSION = "0.1.0"


class _Loader(yaml.SafeLoader):
    """Only true and false are truth values: `on` is a key of the site's VMs."""


_Loader.yaml_implicit_resolvers = {
    key: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:bool" or key in "tTfF"]
    for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Case:
    """One case: ``data`` as written, and the values made of it."""

    id: str
    data: dict[str, Any]
    problem: Problem
    solution: Solution
    violations: tuple[Violation, ...]
    site: Site

    def plan(self) -> Plan:
        """Build the plan as the case asks."""
        return build_plan(
            self.problem,
            self.solution,
            created=NOW,
            tool_version=VERSION,
            fingerprint="f" * 64,
            request_document={"version": 1, "vms": []},
            violations_before=self.violations if "violations" in self.data else None,
            violations_after=() if "violations" in self.data else None,
        )


@cache
def all_cases() -> tuple[Case, ...]:
    return tuple(_each_case())


def _each_case() -> Iterator[Case]:
    for path in sorted(CASES.glob("*.yaml")):
        yield from cases_of(path)


def cases_of(path: Path) -> Iterator[Case]:
    """Read the cases of a file."""
    document = yaml.load(path.read_text(), Loader=_Loader)
    for data in document["cases"]:
        yield _case(f"{path.stem}: {data['name']}", document["site"], data)


def case_named(name: str) -> Case:
    (found,) = [case for case in all_cases() if case.id.endswith(f": {name}")]
    return found


def _case(case_id: str, site: dict[str, Any], data: dict[str, Any]) -> Case:
    text = json.dumps(_overridden(site, data))
    loaded = load_site_text(text, f"{case_id}.yaml")
    topologies = build_topologies(loaded.inventory, loaded.overlays)
    demands = tuple(_demand(loaded.inventory, item) for item in data["demands"])
    request = ResolvedRequest(
        demands,
        Rules(apart=tuple(_apart(loaded.inventory, names) for names in data.get("apart", ()))),
        RequestOptions(partial=data.get("partial", False)),
        tuple(LeftAlone("vm-0", *item) for item in data.get("left_alone", ())),
        tuple(data.get("notes", ())),
        "0" * 64,
        "/home/somebody/request.yaml",
    )
    problem = Problem(loaded.inventory, topologies, request)
    solution = _solution(problem, topologies, data)
    violations = tuple(
        Violation(constraint, _id(loaded.inventory, name), text)
        for constraint, name, text in data.get("violations", ())
    )
    return Case(case_id, data, problem, solution, violations, loaded)


def _overridden(site: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    site = copy.deepcopy(site)
    for section in ("vms", "clusters"):
        for name, fields in data.get(section, {}).items():
            (entry,) = [item for item in site[section] if item["name"] == name]
            entry.update(fields)
            for key in [key for key, value in fields.items() if value is None]:
                del entry[key]
    return site


def _id(inventory: Inventory, name: str) -> str:
    return next((vm.moid for vm in inventory.vms if vm.name == name), f"new:{name}")


def _demand(inventory: Inventory, item: dict[str, Any]) -> Demand:
    item = dict(item)
    name = item.pop("vm", None) or item["name"]
    item.pop("name", None)
    template = item.pop("template", None)
    by_name = {vm.name: vm for vm in inventory.vms}
    today = by_name[template or name]
    gpus = tuple(_gpu(ask) for ask in item.pop("gpus", ()))
    nics = tuple(_nic(ask) for ask in item.pop("nics", ()))
    return Demand(
        id=f"new:{name}" if template else today.moid,
        name=name,
        vm=None if template else today.moid,
        template=today.moid if template else None,
        clusters=(),
        hosts=(),
        cpus=item.pop("cpus", today.cpus),
        memory_mib=item.pop("memory_gib", today.memory_mib // 1024) * 1024,
        vnuma_nodes=item.pop("vnuma_nodes", None),
        gpus=gpus,
        nics=nics,
        priority=0,
        weight_milli=1000,
        mode=AffinityMode(item.pop("mode", "label")),
        may_move=True,
        pool=today.pool,
        datastores=today.datastores,
        networks=today.networks,
        hardware_version=item.pop("hardware_version", today.hardware_version or 20),
        power_on=item.pop("power_on", True),
        memory_reserved=item.pop("memory_reserved", bool(gpus or nics)),
        cpu_reservation_mhz=item.pop("cpu_reservation_mhz", today.cpu_reservation_mhz or 0),
        **item,
    )


def _apart(inventory: Inventory, names: list[str]) -> Apart:
    return Apart("apart", tuple(_id(inventory, name) for name in names))


def _gpu(ask: dict[str, Any]) -> GpuAsk:
    ask = dict(ask)
    policy = Policy(ask.pop("policy", "preferred"))
    return GpuAsk(
        ask.pop("count", 1), interconnect=Level(ask.pop("interconnect", "any")), policy=policy, **ask
    )


def _nic(ask: dict[str, Any]) -> NicAsk:
    ask = dict(ask)
    policy = Policy(ask.pop("policy", "preferred"))
    return NicAsk(ask.pop("count", 1), at=Level(ask.pop("at", "any")), policy=policy, **ask)


def _solution(problem: Problem, topologies: dict[str, HostTopology], data: dict[str, Any]) -> Solution:
    inventory = problem.inventory
    hosts = {host.name: host.moid for host in inventory.hosts}
    placements = []
    for item in data.get("placements", ()):
        host = hosts[item["host"]]
        devices = tuple(_assignment(topologies[host], device) for device in item.get("devices", ()))
        placements.append(
            Placement(
                _id(inventory, item["vm"]),
                host,
                tuple(item.get("nodes", ())),
                devices,
                item.get("stays", False),
            )
        )
    reasons = tuple(_reasons(inventory, hosts, item) for item in data.get("reasons", ()))
    return Solution(
        status=Status(data.get("status", "optimal")),
        placements=tuple(sorted(placements, key=lambda placement: placement.demand)),
        unplaced=tuple(_id(inventory, name) for name in data.get("unplaced", ())),
        levels=tuple(LevelResult(*level) for level in data.get("levels", ())),
        reasons=reasons,
        stopped_by=StoppedBy(data["stopped_by"]) if "stopped_by" in data else None,
        seed=1,
        solver_version="test 1",
        assumptions=tuple(data.get("assumptions", ())),
    )


def _assignment(topology: HostTopology, item: dict[str, Any]) -> DeviceAssignment:
    kind = "gpu" if "gpu" in item else "nic"
    card = item[kind]
    cards = [device.address for device in (topology.gpus if kind == "gpu" else topology.nics)]
    address = cards[card] if isinstance(card, int) else PciAddress.parse(card)
    bound_by = BoundBy(item.get("by", "platform"))
    index = item.get("index", 0)
    return DeviceAssignment(
        item.get("ask", kind), index, address, bound_by, item.get("label"), item.get("group")
    )


def _reasons(inventory: Inventory, hosts: dict[str, str], item: dict[str, Any]) -> DemandReasons:
    rejections = tuple(
        HostReason(constraint, tuple((hosts[name], text) for name, text in found.items()))
        for constraint, found in item["rejections"].items()
    )
    ways = tuple(Relaxation(text, cost) for cost, text in item.get("relaxations", ()))
    considered = sum(len(reason.hosts) for reason in rejections)
    return DemandReasons(_id(inventory, item["vm"]), considered, rejections, ways)


def with_inventory(case: Case, inventory: Inventory) -> Case:
    """Return the case on another inventory of the same hosts."""
    return replace(case, problem=Problem(inventory, case.problem.topologies, case.problem.request))


def check_golden(name: str, text: str) -> None:
    """Compare with a kept output; to take over a wanted change, run with VPLACER_UPDATE_GOLDEN=1."""
    file = CASES / "golden" / name
    if os.environ.get("VPLACER_UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()
