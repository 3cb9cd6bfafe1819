"""Reads and runs the cases of the state machine: operations as YAML words them, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from vplacer.inventory.cluster import VmVmRule
from vplacer.inventory.host import Host
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site import Site
from vplacer.inventory.vm import (
    AllowedDevice,
    Backing,
    DvxBacking,
    DynamicBacking,
    NetworkBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
)
from vplacer.lab.model.card_choice import CardOrder, Luck
from vplacer.lab.model.cluster_edit import ClusterEdit, PassthroughEdit, RuleEdit
from vplacer.lab.model.edit import DeviceEdit, GroupEdit, VmEdit
from vplacer.lab.model.faults import LabFault
from vplacer.lab.model.machine import Machine, MachineOptions
from vplacer.lab.model.making import CloneSpec
from vplacer.lab.model.state import seed_state
from vplacer.lab.model.tasks import LabTask
from vplacer.plan.changes import Action

HERE = Path(__file__).parent


@dataclass
class Runner:
    """One case on one machine."""

    case: dict[str, Any]
    site: Site = field(init=False)
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        self.site = load_inventory_file(HERE / "sites" / f"{self.case['site']}.yaml")
        raw = self.case.get("options", {})
        options = MachineOptions(
            order=CardOrder(Luck(raw.get("luck", "first")), raw.get("seed", 0)),
            vgpu_moves=raw.get("vgpu_moves", True),
            without_tools=frozenset(self._vm(name) for name in raw.get("without_tools", [])),
            deaf=frozenset(self._vm(name) for name in raw.get("deaf", [])),
            drs_places=raw.get("drs_places", False),
        )
        self.machine = Machine(seed_state(self.site), self.site.overlays, options=options)

    def run(self) -> None:
        for number, step in enumerate(self.case["do"]):
            self._step(number, dict(step))
        for name, wanted in self.case.get("vms", {}).items():
            self._check_vm(name, wanted)
        for name, wanted in self.case.get("hosts", {}).items():
            self._check_host(name, wanted)
        for name, wanted in self.case.get("pools", {}).items():
            pools = {pool.name: pool for pool in self.machine.state.inventory.pools}
            assert pools[name].memory_unreserved_mib == wanted, f"pool {name}"

    def _step(self, number: int, step: dict[str, Any]) -> None:
        wanted, says = step.pop("fault", None), step.pop("says", "")
        warns = step.pop("warns", None)
        ((operation, argument),) = step.items()
        where = f"step {number}: {operation} {argument}"
        try:
            answer = getattr(self, f"_do_{operation}")(argument)
        except LabFault as refusal:
            answer = refusal
        if isinstance(answer, LabTask):
            self.machine.run_out()
            ended = self.machine.task(answer.id)
            assert ended is not None
            answer = ended.fault
        if answer is None or isinstance(answer, LabFault):
            assert (answer.name if answer else None) == wanted, f"{where}: {answer}"
            assert answer is None or says in answer.message, f"{where}: {answer}"
        elif operation.startswith("check_"):
            errors = [finding.fault.name for finding in answer if finding.error]
            assert errors == ([] if wanted is None else [wanted] if isinstance(wanted, str) else wanted), (
                f"{where}: {[finding.fault for finding in answer]}"
            )
            if warns is not None:
                assert any(warns in f.fault.message for f in answer if not f.error), f"{where}: {answer}"

    # Operations

    def _do_reconfigure(self, raw: dict[str, Any]) -> LabTask:
        vm = self._vm(raw["vm"])
        return self.machine.reconfigure(vm, self._edit(vm, raw))

    def _do_check_config(self, raw: dict[str, Any]) -> Any:
        vm = self._vm(raw["vm"])
        at = {k: v for k, v in raw.items() if k != "at"}
        return self.machine.check_config(vm, self._host(raw["at"]).moid, self._edit(vm, at))

    def _do_check_power_on(self, raw: dict[str, Any]) -> Any:
        return self.machine.check_power_on(self._vm(raw["vm"]), self._host(raw["at"]).moid)

    def _do_power_on(self, raw: Any) -> LabTask:
        if isinstance(raw, str):
            return self.machine.power_on(self._vm(raw))
        return self.machine.power_on(self._vm(raw["vm"]), self._host(raw["host"]).moid)

    def _do_power_off(self, name: str) -> LabTask:
        return self.machine.power_off(self._vm(name))

    def _do_suspend(self, name: str) -> LabTask:
        return self.machine.suspend(self._vm(name))

    def _do_shut_down(self, name: str) -> None:
        self.machine.shut_down(self._vm(name))

    def _do_advance(self, seconds: float) -> None:
        self.machine.advance(seconds)

    def _do_clone(self, raw: dict[str, Any]) -> LabTask:
        host = self._host(raw["host"]).moid if "host" in raw else None
        pools = {pool.name: pool.moid for pool in self.site.inventory.pools}
        pool = pools.get(raw.get("pool", ""))
        return self.machine.clone(self._vm(raw["source"]), CloneSpec(raw["name"], host, pool))

    def _do_destroy(self, name: str) -> LabTask:
        return self.machine.destroy(self._vm(name))

    def _do_upgrade(self, raw: dict[str, Any]) -> LabTask:
        return self.machine.upgrade(self._vm(raw["vm"]), raw.get("to"))

    def _do_relocate(self, raw: dict[str, Any]) -> LabTask:
        return self.machine.relocate(self._vm(raw["vm"]), self._host(raw["host"]).moid)

    def _do_override(self, raw: dict[str, Any]) -> LabTask:
        cluster = self._host(raw["host"]).cluster or ""
        edit = ClusterEdit(overrides=((self._vm(raw["vm"]), raw["level"]),))
        return self.machine.edit_cluster(cluster, edit)

    def _do_label(self, raw: dict[str, Any]) -> None:
        edit = PassthroughEdit(PciAddress.parse(raw["card"]), raw.get("enabled"), raw.get("label"))
        self.machine.set_passthrough(self._host(raw["host"]).moid, [edit])

    def _do_rule(self, raw: dict[str, Any]) -> LabTask:
        cluster = self.machine.tables.cluster(self._host(raw["host"]).cluster or "")
        rules = {rule.name: rule.key for rule in (*cluster.vm_vm_rules, *cluster.vm_host_rules)}
        if "remove" in raw:
            change = RuleEdit(Action.REMOVE, None, rules.get(raw["remove"], -1))
        else:
            vms = tuple(self._vm(name) for name in raw["vms"])
            change = RuleEdit(Action.ADD, VmVmRule(0, raw["add"], True, True, vms))
        return self.machine.edit_cluster(cluster.moid, ClusterEdit(rules=(change,)))

    def _do_lose_host(self, name: str) -> None:
        self.machine.lose_host(self._host(name).moid)

    def _do_regain_host(self, name: str) -> None:
        self.machine.regain_host(self._host(name).moid)

    def _do_maintenance(self, name: str) -> None:
        self.machine.set_maintenance(self._host(name).moid, True)

    def _do_two_at_once(self, raw: dict[str, Any]) -> LabTask:
        """Start one task and, before it ends, another of the same VM: the answer is the second's."""
        first, second = raw["first"], raw["second"]
        for item in (first, second):
            ((operation, argument),) = item.items()
            task = getattr(self, f"_do_{operation}")(argument)
        return task

    # Words

    def _vm(self, name: str) -> str:
        vms = self.site.inventory.vms if not hasattr(self, "machine") else self.machine.state.inventory.vms
        return next(vm.moid for vm in vms if vm.name == name)

    def _host(self, name: str) -> Host:
        hosts = (
            self.site.inventory.hosts if not hasattr(self, "machine") else self.machine.state.inventory.hosts
        )
        return next(host for host in hosts if host.name == name)

    def _edit(self, vm: str, raw: dict[str, Any]) -> VmEdit:
        values = {key: value for key, value in raw.items() if key not in ("vm", "devices", "groups", "extra")}
        if "cpu_affinity" in values:
            values["cpu_affinity"] = tuple(values["cpu_affinity"])
        if values.get("change_version") == "current":
            values["change_version"] = self.machine.tables.vm(vm).change_version
        host = self.machine.tables.hosts.get(self.machine.tables.vm(vm).host or "")
        return VmEdit(
            extra_config=tuple((key, str(value)) for key, value in raw.get("extra", {}).items()),
            devices=tuple(self._device(host, item) for item in raw.get("devices", [])),
            groups=tuple(GroupEdit(item["key"], item["name"]) for item in raw.get("groups", [])),
            **values,
        )

    def _device(self, host: Host | None, raw: dict[str, Any]) -> DeviceEdit:
        for action in Action:
            if action.value in raw:
                return DeviceEdit(
                    action,
                    raw[action.value],
                    self._backing(host, raw),
                    raw.get("numa_node"),
                    raw.get("group"),
                    raw.get("sequence"),
                    raw.get("mac"),
                )
        raise AssertionError(f"{raw} says neither add, remove nor edit")

    def _backing(self, host: Host | None, raw: dict[str, Any]) -> Backing | None:
        if "static" in raw:
            address = PciAddress.parse(raw["static"])
            card = host.device(address) if host is not None else None
            device_id = raw.get("device_id", f"{card.ids.device:x}" if card else "1")
            system_id = raw.get("system_id", (card.system_id or "") if card else "")
            return StaticBacking(address, device_id, card.ids.vendor if card else 0x10DE, system_id)
        if "dynamic" in raw:
            vendor, device = (int(part, 16) for part in raw["dynamic"].split(":"))
            return DynamicBacking((AllowedDevice(vendor, device),), raw.get("label"))
        if "vgpu" in raw:
            return VgpuBacking(raw["vgpu"])
        if "sriov" in raw:
            port = None if raw["sriov"] == "automatic" else PciAddress.parse(raw["sriov"])
            return SriovBacking(port, None, None)
        if "dvx" in raw:
            return DvxBacking(raw["dvx"])
        if "network" in raw:
            networks = {item.name: item.moid for item in self.site.inventory.networks}
            return NetworkBacking("vmxnet3", networks[raw["network"]])
        return None

    # What is left

    def _check_vm(self, name: str, wanted: Any) -> None:
        found = {vm.name: vm for vm in self.machine.state.inventory.vms}
        if wanted is None:
            assert name not in found, f"{name} is there"
            return
        vm = found[name]
        for key, value in wanted.items():
            assert self._of_vm(vm, key) == value, f"{name} {key}: {self._of_vm(vm, key)}"

    def _of_vm(self, vm: Vm, key: str) -> Any:
        match key:
            case "host":
                return self.machine.tables.host(vm.host).name
            case "power":
                return vm.power.value
            case "holds":
                return [str(item.address) for item in self.machine.tables.held.get(vm.moid, ())]
            case "home":
                home = self.machine.state.home(vm)
                return None if home is None else list(home.nodes)
            case "keys":
                return [device.key for device in vm.devices]
            case "groups":
                return [group.key for group in vm.device_groups]
            case "assigned":
                return [
                    device.backing.assigned_id is not None
                    for device in vm.devices
                    if isinstance(device.backing, DynamicBacking)
                ]
            case "extra":
                return dict(vm.extra_config)
            case "cores_per_node":
                return None if vm.vnuma.auto else vm.vnuma.cores_per_node
            case "numa_nodes":
                return [device.numa_node for device in vm.devices]
            case "macs":
                return [self.machine.tables.mac(vm.moid, device.key) for device in vm.devices]
            case _:
                found = getattr(vm, key)
                return list(found) if isinstance(found, tuple) else found

    def _check_host(self, name: str, wanted: dict[str, Any]) -> None:
        host = self._host(name)
        names = {vm.moid: vm.name for vm in self.machine.state.inventory.vms}
        for key, value in wanted.items():
            if key == "bindings":
                found: Any = sorted(names.get(binding.vm, binding.vm) for binding in host.bindings)
            elif key == "users":
                found = {
                    str(device.address): [names[vm] for vm in device.graphics.vms]
                    for device in host.pci_devices
                    if device.graphics is not None and device.graphics.vms
                }
            elif key == "cards":
                found = {
                    str(address): [passthrough.label, passthrough.enabled, passthrough.active]
                    for address in map(PciAddress.parse, value)
                    if (device := host.device(address)) and (passthrough := device.passthrough)
                }
            else:
                found = getattr(host, key)
            assert found == value, f"{name} {key}: {found}"


def load_cases() -> list[Any]:
    """Return the cases of all files, each with its file's name and its own as id."""
    import pytest

    found = []
    for path in sorted((HERE / "cases").glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for case in document["cases"]:
            merged = {"site": document["site"], **case}
            found.append(pytest.param(merged, id=f"{path.stem}: {case['name']}"))
    return found
