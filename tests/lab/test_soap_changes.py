"""pyVmomi changes sites of the lab: what govc cannot say."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.lab.changes_seen import changes_seen, device_words
from tests.lab.changing import Client, serving
from tests.lab.clients import bind, read
from tests.sites.chain import collected, comparable
from vplacer.inventory.vm import DvxBacking, DynamicBacking, VgpuBacking
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.tasks import Durations

PASSTHROUGH = vim.vm.device.VirtualPCIPassthrough
SPEC = vim.vm.device.VirtualDeviceSpec
H100_SXM = 0x2330


def added(device: Any, key: int = -1) -> Any:
    device.key = key
    return SPEC(operation="add", device=device)


def dynamic(*, label: str | None = None, device: int = H100_SXM) -> Any:
    return PASSTHROUGH.DynamicBackingInfo(
        deviceName="",
        customLabel=label,
        allowedDevice=[PASSTHROUGH.AllowedDevice(vendorId=0x10DE, deviceId=device)],
    )


def test_shape_and_devices_of_a_vm_in_one_task() -> None:
    with serving("nvswitch") as client:
        vm = client.vm("head-1")
        client.do(vm.PowerOffVM_Task())
        spec = vim.vm.ConfigSpec(
            changeVersion=client.held("head-1").change_version,
            numCPUs=48,
            numCoresPerSocket=24,
            virtualNuma=vim.vm.VirtualNuma(coresPerNumaNode=24, exposeVnumaOnCpuHotadd=True),
            memoryMB=262144,
            memoryReservationLockedToMax=True,
            firmware="efi",
            latencySensitivity=vim.LatencySensitivity(level="normal"),
            extraConfig=[vim.option.OptionValue(key="numa.nodeAffinity", value="0,1")],
            deviceChange=[
                added(PASSTHROUGH(backing=dynamic(label="gpu-n0"), numaNode=0), -1),
                added(PASSTHROUGH(backing=dynamic(label="gpu-n1"), numaNode=1), -2),
            ],
        )
        client.do(vm.ReconfigVM_Task(spec))
        seen = client.seen("head-1")
        assert (seen.cpus, seen.cores_per_socket, seen.memory_mib) == (48, 24, 262144)
        assert (seen.vnuma.cores_per_node, seen.vnuma.auto, seen.vnuma.exposed_on_hot_add) == (
            24,
            False,
            True,
        )
        assert (seen.memory_locked_to_max, seen.memory_reservation_mib) == (True, 262144)
        assert seen.node_affinity == (0, 1)
        assert [device_words(device) for device in seen.devices] == [
            "4000 network vmxnet3 network-7",
            "13000 dynamic gpu-n0 node 0",
            "13001 dynamic gpu-n1 node 1",
        ]
        host = bind(client.service, vim.HostSystem(client.held("head-1").host))
        # The second card is taken.
        assert isinstance(client.fault(vm.PowerOnVM_Task(host)), vim.fault.GenericVmConfigFault)
        client.do(client.vm("train-1").PowerOffVM_Task())
        client.do(vm.PowerOnVM_Task(host))
        backings = [device.backing for device in client.seen("head-1").devices]
        assert all(b.assigned_id for b in backings if isinstance(b, DynamicBacking))


def test_a_numa_node_has_three_states() -> None:
    with serving("nvswitch") as client:
        vm = client.vm("train-1")
        client.do(vm.PowerOffVM_Task())
        for node, expected in ((1, 1), (None, 1), (-1, -1), (0, 0)):
            device = read(client.service, vm, "config.hardware.device[13000]")[0][
                "config.hardware.device[13000]"
            ]
            device.numaNode = node
            spec = vim.vm.ConfigSpec(deviceChange=[SPEC(operation="edit", device=device)])
            client.do(vm.ReconfigVM_Task(spec))
            found = next(d for d in client.seen("train-1").devices if d.key == 13000)
            assert found.numa_node == expected
            assert isinstance(found.backing, DynamicBacking)
            assert found.backing.label == "gpu-n1"


def test_a_device_group_comes_and_goes_whole() -> None:
    name = "Nvidia:2@nvidia_h100xm-80c%NVLink"
    with serving("nvswitch") as client:
        vm = client.vm("finetune-1")
        client.do(vm.PowerOffVM_Task())
        before = client.seen("finetune-1")
        members = [device for device in before.devices if device.group_key is not None]
        devices = {
            d.key: d for d in read(client.service, vm, "config.hardware.device")[0]["config.hardware.device"]
        }
        removal = [SPEC(operation="remove", device=devices[member.key]) for member in members]
        part = client.fault(vm.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=removal[:1])))
        assert isinstance(part, vim.fault.InvalidDeviceSpec)
        client.do(vm.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=removal)))
        bare = client.seen("finetune-1")
        assert bare.device_groups == ()
        assert all(device.group_key is None for device in bare.devices)

        groups = vim.vm.VirtualDeviceGroups
        template = _template(client, before.host or "", name)
        again = vim.vm.ConfigSpec(
            deviceGroups=groups(
                deviceGroup=[groups.VendorDeviceGroup(groupInstanceKey=-7, deviceGroupName=name)]
            ),
            deviceChange=[
                _member(component.device, -7, -number) for number, component in enumerate(template, 1)
            ],
        )
        client.do(vm.ReconfigVM_Task(again))
        restored = client.seen("finetune-1")
        assert [group.name for group in restored.device_groups] == [name]
        assert [device_words(d) for d in restored.devices] == [device_words(d) for d in before.devices]


def _template(client: Client, host: str, name: str) -> list[Any]:
    browser = read(client.service, client.vm("finetune-1"), "environmentBrowser")[0]["environmentBrowser"]
    target = bind(client.service, browser).QueryConfigTarget(bind(client.service, vim.HostSystem(host)))
    return list(
        next(g for g in target.vendorDeviceGroupInfo if g.deviceGroupName == name).componentDeviceInfo
    )


def _member(template: Any, group: int, key: int) -> Any:
    template.deviceGroupInfo = vim.vm.device.VirtualDevice.DeviceGroupInfo(
        groupInstanceKey=group, sequenceId=template.deviceGroupInfo.sequenceId
    )
    return added(template, key)


def test_all_kinds_of_backings_are_taken() -> None:
    with serving("nvswitch") as client:
        vm = client.vm("vgpu-template")
        dvx = PASSTHROUGH.DvxBackingInfo(
            deviceClass="com.vmware.dvx", configParams=[vim.option.OptionValue(key="queues", value="4")]
        )
        changes = [
            added(PASSTHROUGH(backing=PASSTHROUGH.VmiopBackingInfo(vgpu="nvidia_h100xm-20c")), -1),
            added(PASSTHROUGH(backing=dvx), -2),
        ]
        client.do(vm.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=changes)))
        found = [device.backing for device in client.seen("vgpu-template").devices]
        assert VgpuBacking("nvidia_h100xm-20c") in found
        assert DvxBacking("com.vmware.dvx", (("queues", "4"),)) in found


def test_two_devices_cannot_be_told_by_one_key() -> None:
    with serving("nvswitch") as client:
        changes = [added(PASSTHROUGH(backing=dynamic()), -1), added(PASSTHROUGH(backing=dynamic()), -1)]
        fault = client.fault(
            client.vm("gpu-template").ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=changes))
        )
        assert isinstance(fault, vim.fault.InvalidDeviceSpec)
        assert "multiple devices using the same device key" in fault.msg


def test_a_stale_change_version_is_refused() -> None:
    with serving("a30pairs") as client:
        vm = client.vm("spare")
        old = client.held("spare").change_version
        client.do(vm.ReconfigVM_Task(vim.vm.ConfigSpec(changeVersion=old, numCPUs=8)))
        fault = client.fault(vm.ReconfigVM_Task(vim.vm.ConfigSpec(changeVersion=old, numCPUs=4)))
        assert isinstance(fault, vim.fault.ConcurrentAccess)
        assert client.seen("spare").cpus == 8


def test_a_second_task_of_a_busy_vm_fails_and_names_the_first() -> None:
    with serving("a30pairs", MachineOptions(durations=Durations.flat(0.5))) as client:
        vm = client.vm("spare")
        first = vm.ReconfigVM_Task(vim.vm.ConfigSpec(numCPUs=8))
        fault = client.fault(vm.PowerOnVM_Task())
        assert isinstance(fault, vim.fault.TaskInProgress)
        assert fault.task._moId == first._moId
        client.do(first)


def test_what_is_not_understood_is_refused_by_name() -> None:
    with serving("a30pairs") as client:
        vm, before = client.vm("spare"), client.seen("spare")
        disk = vim.vm.device.VirtualDisk(key=-1, capacityInKB=1024)
        specs = {
            "spec.bootOptions": vim.vm.ConfigSpec(numCPUs=8, bootOptions=vim.vm.BootOptions(bootDelay=1)),
            "spec.memoryAllocation.shares": vim.vm.ConfigSpec(
                memoryAllocation=vim.ResourceAllocationInfo(shares=vim.SharesInfo(level="high", shares=1))
            ),
            "devices of type VirtualDisk": vim.vm.ConfigSpec(deviceChange=[added(disk)]),
            "spec.memoryAffinity, spec.swapPlacement": vim.vm.ConfigSpec(
                memoryAffinity=vim.vm.AffinityInfo(affinitySet=[0]), swapPlacement="hostLocal"
            ),
        }
        for words, spec in specs.items():
            with pytest.raises(vmodl.fault.NotSupported, match=words):
                vm.ReconfigVM_Task(spec)
        assert client.seen("spare") == before


def test_privileges_are_asked_for_by_what_a_spec_changes() -> None:
    read_only = ["System.Anonymous", "System.View", "System.Read"]
    edits = {
        "VirtualMachine.Config.CPUCount": vim.vm.ConfigSpec(numCPUs=8),
        "VirtualMachine.Config.AdvancedConfig": vim.vm.ConfigSpec(
            extraConfig=[vim.option.OptionValue(key="a", value="b")]
        ),
        "VirtualMachine.Config.AddRemoveDevice": vim.vm.ConfigSpec(
            deviceChange=[added(PASSTHROUGH(backing=dynamic()))]
        ),
        "VirtualMachine.Config.Resource": vim.vm.ConfigSpec(memoryReservationLockedToMax=True),
    }
    for privilege, spec in edits.items():
        others = [name for name in edits if name != privilege]
        with serving("a30pairs", privileges=[*read_only, *others]) as client:
            with pytest.raises(vim.fault.NoPermission) as caught:
                client.vm("spare").ReconfigVM_Task(spec)
            assert caught.value.privilegeId == privilege
        with serving("a30pairs", privileges=[*read_only, privilege]) as client:
            client.do(client.vm("spare").ReconfigVM_Task(spec))


def test_a_check_says_what_the_operation_would_be_refused_for() -> None:
    with serving("a30pairs") as client:
        content = client.service.content
        before = comparable(collected(client.server))
        spec = vim.vm.ConfigSpec(numCPUs=2000)
        host = bind(client.service, vim.HostSystem("host-1007"))
        for task in (
            content.vmCompatibilityChecker.CheckVmConfig_Task(spec, client.vm("web-1"), host, None, None),
            content.vmCompatibilityChecker.CheckPowerOn_Task(client.vm("spare"), host, None, None),
            content.vmProvisioningChecker.CheckRelocate_Task(
                client.vm("train-1"), vim.vm.RelocateSpec(host=host), None
            ),
        ):
            (result,) = client.do(task)
            assert result.error, task
            assert all(fault.msg for fault in result.error)
            assert result.host._moId == "host-1007"
        (fine,) = client.do(
            content.vmCompatibilityChecker.CheckPowerOn_Task(client.vm("spare"), None, None, None)
        )
        assert list(fine.error) == []
        assert changes_seen(before, comparable(collected(client.server))) == {}


def test_labels_are_set_and_cleared_at_the_host() -> None:
    with serving("a30pairs") as client:
        host = client.machine.state.inventory.host_by_moid["host-1002"]
        manager = read(client.service, vim.HostSystem(host.moid), "configManager.pciPassthruSystem")[0]
        system = bind(client.service, manager["configManager.pciPassthruSystem"])
        config = vim.host.PciPassthruConfig
        system.UpdatePassthruConfig(
            [
                config(id="0000:06:00.0", passthruEnabled=True, hardwareLabel="pair-a"),
                config(id="0000:07:00.0", passthruEnabled=True, hardwareLabel=""),
            ]
        )
        system.Refresh()
        after = next(h for h in collected(client.server).hosts if h.moid == host.moid)
        labels = {str(d.address): d.passthrough.label for d in after.pci_devices if d.passthrough}
        assert (labels["0000:06:00.0"], labels["0000:07:00.0"]) == ("pair-a", None)
        browser = read(client.service, client.vm("spare"), "environmentBrowser")[0]["environmentBrowser"]
        target = bind(client.service, browser).QueryConfigTarget(
            bind(client.service, vim.HostSystem(host.moid))
        )
        assert "pair-a" in {row.customLabel for row in target.dynamicPassthrough}
        with pytest.raises(vim.fault.HostConfigFault, match=r"0000:ff:00\.0"):
            system.UpdatePassthruConfig([config(id="0000:ff:00.0", passthruEnabled=True)])
