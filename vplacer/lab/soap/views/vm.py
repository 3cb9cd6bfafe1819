"""VirtualMachine: configuration, runtime, summary, snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pyVmomi import vim

from vplacer.inventory.vm import Ownership, Vm, VmPower
from vplacer.lab.soap.store import Lazy
from vplacer.lab.soap.views import vm_devices
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import World, api_name
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

_MIB = 1024 * 1024
_UNLIMITED = -1


def vm_objects(world: World, vm: Vm, folder: Ref) -> Iterator[Seen]:
    """Yield the VM and its snapshots."""
    unit = world.unit_of_vm(vm)
    snapshots = snapshot_refs(vm)
    yield Seen(
        world.ref(vm.moid),
        {
            "name": api_name(vm.name),
            "parent": folder,
            "overallStatus": "green",
            "configStatus": "green",
            "config": Lazy(lambda: config(world, vm)) if vm.readable else None,
            "runtime": Lazy(lambda: runtime(world, vm)),
            "summary": Lazy(lambda: summary(world, vm)),
            "guest": Lazy(lambda: _guest(world, vm)),
            "resourcePool": world.ref(vm.pool),
            "environmentBrowser": None if unit is None else unit.browser,
            "datastore": world.refs(vm.datastores),
            "network": world.refs(vm.networks),
            "disabledMethod": [_method(name) for name in vm.ownership.disabled_methods],
            "snapshot": Lazy(lambda: _snapshot_info(world, vm, snapshots)) if snapshots else None,
            "rootSnapshot": snapshots[:1],
        },
    )
    for number, ref in enumerate(snapshots):
        yield Seen(ref, {"vm": world.ref(vm.moid), "childSnapshot": snapshots[number + 1 : number + 2]})


def snapshot_refs(vm: Vm) -> list[Ref]:
    """Return the references of a VM's snapshots, from the oldest."""
    return [vim.vm.Snapshot(f"snapshot-{vm.moid}-{n}") for n in range(1, vm.snapshot_count + 1)]


def config(world: World, vm: Vm) -> Any:
    """Return ``VirtualMachineConfigInfo``."""
    info = vim.vm.ConfigInfo(
        changeVersion=vm.change_version or "",
        modified=_time(world),
        name=api_name(vm.name),
        guestFullName=vm.guest_id or "",
        version=_version(vm),
        uuid=_bios_uuid(vm),
        instanceUuid=vm.instance_uuid,
        template=vm.template,
        guestId=vm.guest_id or "",
        alternateGuestName="",
        annotation="",
        files=vim.vm.FileInfo(vmPathName=_vmx(world, vm)),
        flags=vim.vm.FlagInfo(),
        defaultPowerOps=vim.vm.DefaultPowerOpInfo(),
        hardware=vim.vm.VirtualHardware(
            numCPU=vm.cpus,
            numCoresPerSocket=vm.cores_per_socket,
            autoCoresPerSocket=vm.cores_per_socket_auto,
            simultaneousThreads=vm.simultaneous_threads,
            memoryMB=vm.memory_mib,
            device=vm_devices.devices(world, vm),
        ),
        cpuAllocation=_allocation(vm.cpu_reservation_mhz, None),
        memoryAllocation=_allocation(vm.memory_reservation_mib, vm.memory_limit_mib),
        memoryReservationLockedToMax=vm.memory_locked_to_max,
        cpuHotAddEnabled=vm.cpu_hot_add,
        memoryHotAddEnabled=vm.memory_hot_add,
        firmware=vm.firmware,
        extraConfig=[vim.option.OptionValue(key=key, value=value) for key, value in vm.extra_config],
        managedBy=_managed_by(vm.ownership),
    )
    _optional_config(info, vm)
    return info


def _optional_config(info: Any, vm: Vm) -> None:
    if vm.overhead_mib is not None:
        info.initialOverhead = vim.vm.ConfigInfo.OverheadInfo(
            initialMemoryReservation=vm.overhead_mib * _MIB, initialSwapReservation=0
        )
    if vm.latency_sensitivity is not None:
        info.latencySensitivity = vim.LatencySensitivity(level=vm.latency_sensitivity)
    if vm.cpu_affinity:
        info.cpuAffinity = vim.vm.AffinityInfo(affinitySet=list(vm.cpu_affinity))
    vnuma = vm.vnuma
    if (vnuma.cores_per_node, vnuma.auto, vnuma.exposed_on_hot_add) != (None, None, None):
        info.numaInfo = vim.vm.VirtualNumaInfo(
            coresPerNumaNode=vnuma.cores_per_node,
            autoCoresPerNumaNode=vnuma.auto,
            vnumaOnCpuHotaddExposed=vnuma.exposed_on_hot_add,
        )
    if vm.device_groups:
        groups: Any = vim.vm.VirtualDeviceGroups
        info.deviceGroups = groups(
            deviceGroup=[
                groups.VendorDeviceGroup(groupInstanceKey=group.key, deviceGroupName=group.name)
                for group in vm.device_groups
            ]
        )


def runtime(world: World, vm: Vm) -> Any:
    """Return ``VirtualMachineRuntimeInfo``."""
    own = vm.ownership
    protected = "running" if vm.is_on else "enabled"
    return vim.vm.RuntimeInfo(
        host=world.ref(vm.host),
        connectionState=vm.connection.value,
        powerState=vm.power.value,
        faultToleranceState=protected if own.fault_tolerance else "notConfigured",
        recordReplayState="inactive",
        toolsInstallerMounted=False,
        question=_question() if own.pending_question else None,
        memoryOverhead=vm.overhead_mib * _MIB if vm.is_on and vm.overhead_mib is not None else None,
        numMksConnections=0,
        onlineStandby=False,
        consolidationNeeded=own.consolidation_needed,
    )


def summary(world: World, vm: Vm) -> Any:
    """Return ``VirtualMachineSummary``."""
    nics = sum(device.key // 1000 == 4 for device in vm.devices)
    return vim.vm.Summary(
        vm=world.ref(vm.moid),
        runtime=runtime(world, vm),
        guest=vim.vm.Summary.GuestSummary(guestId=vm.guest_id, toolsStatus=_tools(world, vm)),
        config=vim.vm.Summary.ConfigSummary(
            name=api_name(vm.name),
            template=vm.template,
            vmPathName=_vmx(world, vm),
            memorySizeMB=vm.memory_mib,
            cpuReservation=vm.cpu_reservation_mhz,
            memoryReservation=vm.memory_reservation_mib,
            numCpu=vm.cpus,
            numEthernetCards=nics,
            numVirtualDisks=0 if vm.linked_clone is None else 1,
            uuid=_bios_uuid(vm),
            instanceUuid=vm.instance_uuid,
            guestId=vm.guest_id,
            guestFullName=vm.guest_id,
            annotation="",
            managedBy=_managed_by(vm.ownership),
            hwVersion=_version(vm),
        ),
        quickStats=vim.vm.Summary.QuickStats(guestHeartbeatStatus="gray"),
        overallStatus="green",
    )


def _version(vm: Vm) -> str:
    return "" if vm.hardware_version is None else f"vmx-{vm.hardware_version}"


def _bios_uuid(vm: Vm) -> str:
    """Return a BIOS uuid: like the instance uuid, but beginning 42 as vCenter's do."""
    return f"42{vm.instance_uuid[2:]}" if vm.instance_uuid else ""


def _vmx(world: World, vm: Vm) -> str:
    where = f"[{world.datastore_name(vm.datastores[0])}] " if vm.datastores else ""
    return f"{where}{vm.name}/{vm.name}.vmx"


def _time(world: World) -> datetime:
    return datetime.fromisoformat(world.inventory.taken_at)


def _allocation(reservation: int | None, limit: int | None) -> Any:
    return vim.ResourceAllocationInfo(
        reservation=reservation,
        expandableReservation=False,
        limit=_UNLIMITED if limit is None else limit,
        shares=vim.SharesInfo(level="normal", shares=0),
    )


def _managed_by(own: Ownership) -> Any:
    """Return ``ManagedByInfo``. ESX Agent Manager owns agent VMs (vSphere API: ManagedByInfo)."""
    if own.managed_by is None and not own.is_agent:
        return None
    return vim.ext.ManagedByInfo(
        extensionKey=own.managed_by or "com.vmware.vim.eam", type="agent" if own.is_agent else "vm"
    )


def _question() -> Any:
    choice = vim.option.ChoiceOption(
        choiceInfo=[vim.ElementDescription(key="0", label="Retry", summary="Retry")], defaultIndex=0
    )
    return vim.vm.QuestionInfo(id="1", text="The virtual machine waits for an answer.", choice=choice)


def _tools_run(world: World, vm: Vm) -> bool:
    return vm.power is VmPower.ON and vm.moid not in world.without_tools


def _tools(world: World, vm: Vm) -> str:
    return "toolsOk" if _tools_run(world, vm) else "toolsNotRunning"


def _guest(world: World, vm: Vm) -> Any:
    runs = _tools_run(world, vm)
    return vim.vm.GuestInfo(
        toolsStatus=_tools(world, vm),
        toolsRunningStatus="guestToolsRunning" if runs else "guestToolsNotRunning",
        guestState="running" if runs else "notRunning",
        guestId=vm.guest_id,
    )


def _method(name: str) -> Any:
    try:
        return typetable.managed_method(name)
    except KeyError:
        return name


def _snapshot_info(world: World, vm: Vm, snapshots: list[Ref]) -> Any:
    tree: Any = None
    for number in range(len(snapshots), 0, -1):
        tree = vim.vm.SnapshotTree(
            snapshot=snapshots[number - 1],
            vm=world.ref(vm.moid),
            name=f"snapshot {number}",
            description="",
            id=number,
            createTime=_time(world),
            state="poweredOff",
            quiesced=False,
            childSnapshotList=[] if tree is None else [tree],
        )
    return vim.vm.SnapshotInfo(currentSnapshot=snapshots[-1], rootSnapshotList=[tree])
