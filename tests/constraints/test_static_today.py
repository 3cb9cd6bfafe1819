"""Static devices whose card is not what they name: such a VM is not as it should be, and is put right."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from vplacer.constraints.judge import check_vm_today
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.state import Problem
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import StaticBacking
from vplacer.plan.build import build_plan
from vplacer.report.plan_details import change_rows
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.solver.solve import solve
from vplacer.solver.verdict import SolveOptions, Status
from vplacer.topology.build import build_topologies

SITE = """
format_version: 1
host_kinds:
  k:
    cpu: {packages: 1, cores: 16}
    memory_gib: 128
    devices: [{gpu: L40S, node: 0, address: "0000:65:00.0"}, {storage: nvme, node: 0, passthrough: active}]
clusters: [{name: c, hosts: [{kind: k}]}]
vms:
  - name: vm
    power: POWER
    cpus: 4
    memory_gib: 16
    devices: [{static: gpu0}, {network: VM Network}]
    extra_config: {pciPassthru.use64bitMMIO: "TRUE", pciPassthru.64bitMMIOSizeGB: "128"}
"""
OLD, NEW = PciAddress.parse("0000:65:00.0"), PciAddress.parse("0000:66:00.0")


def inventory(power: str = '"off"') -> Inventory:
    return load_site_text(SITE.replace("POWER", power)).inventory


def with_backing(found: Inventory, **changes: Any) -> Inventory:
    """Return the inventory with another static backing in the VM."""
    (vm,) = found.vms
    first, *rest = vm.devices
    assert isinstance(first.backing, StaticBacking)
    device = replace(first, backing=replace(first.backing, **changes))
    return replace(found, vms=(replace(vm, devices=(device, *rest)),))


def with_host(found: Inventory, **changes: Any) -> Inventory:
    return replace(found, hosts=(replace(found.hosts[0], **changes),))


def moved(host: Host) -> dict[str, Any]:
    """Return the card one bus higher, with a bridge where it was (xcp-ng/xcp #412, #414)."""
    bridge = next(device for device in host.pci_devices if device.class_id == 0x0604)
    devices = [replace(d, address=NEW) if d.address == OLD else d for d in host.pci_devices]
    nodes = [
        replace(node, devices=tuple(NEW if a == OLD else a for a in node.devices)) for node in host.numa_nodes
    ]
    devices.append(replace(bridge, address=OLD))
    return {
        "pci_devices": tuple(sorted(devices, key=lambda device: device.address)),
        "numa_nodes": tuple(nodes),
    }


def gone(host: Host) -> dict[str, Any]:
    """Return the host without the card (harvester #3126, #5957: no device after a reboot)."""
    return {
        "pci_devices": tuple(d for d in host.pci_devices if d.address != OLD),
        "numa_nodes": tuple(
            replace(node, devices=tuple(a for a in node.devices if a != OLD)) for node in host.numa_nodes
        ),
    }


def problem_of(found: Inventory, request: str) -> Problem:
    loaded = parse_request(f"version: 1\nvms: [{{select: {{name: vm}}, {request}}}]\n", "request.yaml")
    topologies = build_topologies(found)
    return Problem(
        found,
        topologies,
        resolve(loaded, found, topologies, owner_reason=partial(reason_left_alone, inventory=found)),
    )


def rows(found: Inventory, request: str) -> list[str]:
    """Plan a request and return the changes of devices and power."""
    problem = problem_of(found, request)
    solution = solve(problem, SolveOptions())
    assert solution.status is Status.OPTIMAL
    plan = build_plan(problem, solution, created="2026-11-30T09:00:00Z", tool_version="0", fingerprint="")
    told = [row for step in plan.steps for row in change_rows(plan, step.change)]
    return [
        f"{sign.value} {text}" for sign, name, text in told if name.startswith(("gpu", "device", "power"))
    ]


KEEP = "affinity: pin, power_on: false, gpus: {model: L40S}"


def test_a_vm_whose_card_is_what_it_names_stays() -> None:
    assert rows(inventory(), KEEP) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"device_id": str(0x26B9)}, "names 10de:9913 at 0000:65:00.0, where the host has 10de:26b9"),
        ({"device_id": ""}, "names no device id at 0000:65:00.0, where the host has 10de:26b9"),
        ({"system_id": "another"}, "at 0000:65:00.0 names another host's system id"),
        ({"address": NEW}, "names 10de:26b9 at 0000:66:00.0, where the host has nothing"),
    ],
)
def test_a_static_device_that_cannot_start_is_told_and_put_right(changes: dict[str, Any], says: str) -> None:
    """A device id stored in decimal: power-on fails (vmware/govmomi #2248)."""
    found = with_backing(inventory(), **changes)
    problem = problem_of(found, KEEP)
    (violation,) = check_vm_today(problem, problem.request.demands[0])
    assert says in violation.evidence
    (row,) = rows(found, KEEP)
    assert row.endswith("-> static 0000:65:00.0 10de:26b9")


def test_what_runs_is_not_doubted() -> None:
    found = with_backing(inventory("on"), system_id="another")
    problem = problem_of(found, "affinity: pin, gpus: {model: L40S}")
    assert check_vm_today(problem, problem.request.demands[0]) == ()


def test_a_card_that_moved_is_followed() -> None:
    """The configuration names the card, the address is a bridge's now: nobody asked for a bridge."""
    found = inventory()
    found = with_host(found, **moved(found.hosts[0]))
    assert rows(found, "affinity: pin, power_on: true") == [
        "-/+ static 0000:65:00.0 10de:26b9 -> static 0000:66:00.0 10de:26b9",
        "! off -> on at esx01",
    ]


def test_a_claim_on_a_card_that_is_gone_is_released() -> None:
    found = inventory()
    found = with_host(found, **gone(found.hosts[0]))
    assert rows(found, "power_on: false, gpus: []") == ["- static 0000:65:00.0 10de:26b9"]


def test_devices_no_request_speaks_of_are_no_reason() -> None:
    site = SITE.replace("static: gpu0", 'static: "0000:02:00.0"').replace("POWER", '"off"')
    host = load_site_text(SITE.replace("POWER", "on")).inventory.hosts[0]
    nvme = next(device.address for device in host.pci_devices if device.class_id == 0x0108)
    found = load_site_text(site.replace("0000:02:00.0", str(nvme))).inventory
    found = with_backing(found, address=NEW, device_id="a80a", vendor_id=0x144D)
    problem = problem_of(found, "affinity: pin, power_on: false")
    assert check_vm_today(problem, problem.request.demands[0]) == ()
