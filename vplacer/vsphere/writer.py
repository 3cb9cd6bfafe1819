"""The port to a real vCenter: plan changes go out as ConfigSpecs, tasks come back.

Each writing method reads what it needs of the objects just before, encodes, and sends one call. It decides
nothing: what may be done, and in which order, is the caller's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from vplacer.errors import InternalError, PermissionMissing, StaleError, VSphereFault
from vplacer.inventory.measured import MeasuredHome
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Clone, Delete, OverrideDrs, Power, Reconfigure, Relocate, UpgradeHardware
from vplacer.port import CheckFinding, LabelChange, Part, RuleChange, SeenTask, Task, TaskResult
from vplacer.vsphere import property_paths as paths
from vplacer.vsphere import tasks as kinds
from vplacer.vsphere.check_config import check_config
from vplacer.vsphere.collector import CollectOptions, about_of, collect, read_all_tags, server_time
from vplacer.vsphere.encode_cluster import encode_override, encode_rules
from vplacer.vsphere.encode_labels import encode_labels
from vplacer.vsphere.encode_reconfigure import PresentVm, encode_reconfigure
from vplacer.vsphere.encode_relocate import encode_clone, encode_relocate
from vplacer.vsphere.existing import read_existing
from vplacer.vsphere.host_side import read_host_side
from vplacer.vsphere.measure import MeasureOptions, measure_homes
from vplacer.vsphere.places import Places
from vplacer.vsphere.raw import Data, MoRef, Notes, RawObject
from vplacer.vsphere.read_part import PartReader, part_of
from vplacer.vsphere.read_vm import read_vm
from vplacer.vsphere.references import ref_of
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.session import Session

_POWER: Final = "runtime.powerState"
_TOOLS: Final = "guest.toolsRunningStatus"


class VCenterPort:
    """A vCenter behind an open session. It is a `vplacer.port.Port`; used by one thread.

    Args:
        session: the session.
        workers: how many hosts are asked at a time when reading.
        sleep: waits some seconds.
        seconds: a monotonic clock.
    """

    def __init__(
        self,
        session: Session,
        *,
        workers: int = 8,
        sleep: Callable[[float], None] = time.sleep,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._workers = workers
        self._reader = SessionReader(session)
        self._tasks = kinds.Tasks(session, self._reader, sleep=sleep, seconds=seconds)
        self._places = Places(self._reader, session)
        self._parts = PartReader(self._reader, about_of(session, self._reader), workers=workers)
        self._tags_known = False
        self._measuring = MeasureOptions(workers=workers, sleep=sleep, seconds=seconds)

    @property
    def user(self) -> str:
        """The account's name as the server writes it to tasks."""
        return self._session.user

    def server_time(self) -> datetime:
        """Return the server's clock, with its zone."""
        now = self._session.call(MoRef("ServiceInstance", "ServiceInstance"), "CurrentTime")
        found = kinds.server_datetime(now)
        return found if found is not None else datetime.fromisoformat(str(now)[:19]).replace(tzinfo=UTC)

    def read(self) -> Inventory:
        """Return everything that can be read, and in ``gaps`` what could not."""
        inventory = collect(self._session, CollectOptions(workers=self._workers))
        self._parts.tags = {
            **{item.moid: item.tags for item in inventory.vms},
            **{item.moid: item.tags for item in inventory.hosts},
            **{item.moid: item.tags for item in inventory.clusters},
        }
        self._tags_known = True
        return inventory

    def read_part(
        self, vms: Iterable[str] = (), hosts: Iterable[str] = (), clusters: Iterable[str] = ()
    ) -> Part:
        """Read some objects afresh, as `read` would; their tags are those of the last `read`."""
        return part_of(self._inventory(vms, hosts, clusters))

    def _inventory(
        self, vms: Iterable[str] = (), hosts: Iterable[str] = (), clusters: Iterable[str] = ()
    ) -> Inventory:
        if not self._tags_known:
            self._parts.tags = read_all_tags(self._session)
            self._tags_known = True
        return self._parts.read(vms, hosts, clusters)

    def measure(self, hosts: Iterable[str]) -> tuple[tuple[str, MeasuredHome], ...]:
        """Return the NUMA homes of running VMs as the hosts' esxtop counters tell, by VM."""
        refs = [MoRef("HostSystem", moid) for moid in dict.fromkeys(hosts)]
        lists = read_existing(self._reader, refs, ["vm"]) if refs else ()
        vms = [ref.moid for raw in lists for ref in raw.props.refs("vm")]
        inventory = self._inventory(vms, (raw.ref.moid for raw in lists))
        manager = self._session.service("serviceManager")
        found = measure_homes(
            self._reader, manager, inventory, lambda: server_time(self._session), self._measuring
        )
        if found.findings and not found.overlays:
            reasons = {item.text for item in found.findings}
            if all("Global.ServiceManagers" in reason for reason in reasons):
                raise PermissionMissing(
                    "no host lets itself be measured with this account",
                    obj=self._session.host,
                    why=sorted(reasons)[0],
                    hint="grant Global.ServiceManagers on the root folder, or go without measured homes",
                )
        moid_of = {vm.instance_uuid: vm.moid for vm in inventory.vms if vm.instance_uuid is not None}
        homes = [home for overlay in found.overlays for home in overlay.homes]
        return tuple((moid_of[item.vm_uuid], item.home) for item in homes if item.vm_uuid in moid_of)

    def guests_without_tools(self, vms: Iterable[str]) -> frozenset[str]:
        """Return those running VMs of which the server says that VMware Tools do not run in their guest."""
        refs = [MoRef("VirtualMachine", moid) for moid in dict.fromkeys(vms)]
        found = read_existing(self._reader, refs, [_POWER, _TOOLS]) if refs else ()
        return frozenset(
            raw.ref.moid
            for raw in found
            if raw.props.text(_POWER) == VmPower.ON.value and raw.props.text(_TOOLS) == "guestToolsNotRunning"
        )

    def check(self, vm: str, host: str, change: Reconfigure | None) -> tuple[CheckFinding, ...]:
        """Ask the server whether a VM could be changed so (None: switched on) at a host."""
        ref, place = MoRef("VirtualMachine", vm), MoRef("HostSystem", host)
        present = self._present(ref)
        spec = None
        if change is not None:
            side = read_host_side(self._reader, place, change, present.vm.name)
            spec = encode_reconfigure(change, present, side, None)
        return check_config(self._session, self._tasks, ref, place, spec, present.vm.name)

    def clone(self, change: Clone, operation: str) -> Task:
        """Make a VM from a template, switched off. The task's result is its managed object id."""
        template, host = MoRef("VirtualMachine", change.template), MoRef("HostSystem", change.host)
        folder = self._places.folder(template, change.folder)
        pool = _pool(change.pool) or self._places.root_pool(host)
        arguments = {"folder": folder, "name": change.name, "spec": encode_clone(change, host, pool)}
        what = f"cannot clone {change.name}"
        return self._start(
            template, "CloneVM_Task", arguments, kinds.CLONE, operation, what, self._name(template)
        )

    def delete(self, vm: str, change: Delete, operation: str) -> Task:
        """Remove a VM that is off and has the change's name."""
        ref = MoRef("VirtualMachine", vm)
        props = self._one(ref, ["name", "runtime.powerState", "config.template"]).props
        name, power = props.text("name") or vm, props.text("runtime.powerState")
        if name != change.name or power != VmPower.OFF.value or props.flag("config.template") is True:
            raise StaleError(
                "the VM is not the one that the plan made, and is left alone",
                obj=name,
                why=f"expected '{change.name}', off; it is '{name}', {power}",
                hint="look at it in the vSphere Client",
            )
        return self._start(ref, "Destroy_Task", {}, kinds.DESTROY, operation, "cannot delete the VM", name)

    def reconfigure(self, vm: str, change: Reconfigure, change_version: str, operation: str) -> Task:
        """Change settings and devices in one task.

        Raises:
            StaleError: a device or group is not what the plan knew.
            AmbiguousObjectError: devices to be removed are like others that stay.
            ApiTooOld: something that the vCenter or the host would drop without a word.
            InventoryIncomplete: the host does not tell what a device needs.
        """
        ref = MoRef("VirtualMachine", vm)
        present = self._present(ref)
        host = MoRef("HostSystem", present.vm.host) if present.vm.host is not None else None
        side = read_host_side(self._reader, host, change, present.vm.name)
        spec = encode_reconfigure(change, present, side, change_version)
        what = "cannot reconfigure the VM"
        return self._start(
            ref, "ReconfigVM_Task", {"spec": spec}, kinds.RECONFIGURE, operation, what, present.vm.name
        )

    def upgrade(self, vm: str, change: UpgradeHardware, operation: str) -> Task:
        """Upgrade the virtual hardware of a VM that is off. One that has the version is a success."""
        ref = MoRef("VirtualMachine", vm)
        arguments = {"version": f"vmx-{change.after}"}
        what = f"cannot upgrade the VM to hardware version {change.after}"
        try:
            return self._start(
                ref, "UpgradeVM_Task", arguments, kinds.UPGRADE, operation, what, self._name(ref)
            )
        except VSphereFault as fault:
            if fault.fault_type not in ("AlreadyUpgraded", "AlreadyUpgradedFault"):
                raise
            return self._tasks.done(kinds.UPGRADE, vm)

    def relocate(self, vm: str, change: Relocate, operation: str) -> Task:
        """Move a VM to another host, on shared storage: running (vMotion) or off."""
        ref, host = MoRef("VirtualMachine", vm), MoRef("HostSystem", change.host_after)
        pool = _pool(change.pool_after)
        if pool is None and not self._places.same_unit(MoRef("HostSystem", change.host_before), host):
            pool = self._places.root_pool(host)
        arguments = {"spec": encode_relocate(host, pool)}
        what = "cannot move the VM"
        return self._start(
            ref, "RelocateVM_Task", arguments, kinds.RELOCATE, operation, what, self._name(ref)
        )

    def power(self, vm: str, change: Power, operation: str) -> Task:
        """Switch a VM on at the change's host, or off at once, whatever the guest does.

        PowerOnVM_Task takes the host; PowerOnMultiVM_Task, which vCenter recommends instead, does not, and
        lets DRS choose.
        """
        ref = MoRef("VirtualMachine", vm)
        name = self._name(ref)
        if change.after is VmPower.ON:
            host = {"host": MoRef("HostSystem", change.host)} if change.host is not None else {}
            what = "cannot power the VM on"
            return self._start(ref, "PowerOnVM_Task", host, kinds.POWER_ON, operation, what, name)
        if change.after is VmPower.OFF:
            what = "cannot power the VM off"
            return self._start(ref, "PowerOffVM_Task", {}, kinds.POWER_OFF, operation, what, name)
        raise InternalError("no plan suspends a VM", obj=name)

    def shut_down(self, vm: str, operation: str) -> None:
        """Ask the guest to shut down. It is no task: `read_part` tells when the VM is off."""
        ref = MoRef("VirtualMachine", vm)
        what = "cannot ask the guest to shut down"
        self._session.change(ref, "ShutdownGuest", operation=operation, what=what, obj=self._name(ref))

    def override_drs(self, vm: str, change: OverrideDrs, operation: str) -> Task:
        """Set or clear the VM's own DRS level."""
        cluster = MoRef("ClusterComputeResource", change.cluster)
        name, config = self._cluster(cluster)
        spec = encode_override(MoRef("VirtualMachine", vm), change.after, config)
        if spec is None:
            return self._tasks.done(kinds.EDIT_CLUSTER, change.cluster)
        return self._edit_cluster(cluster, name, spec, operation)

    def set_labels(self, changes: Iterable[LabelChange], operation: str) -> tuple[Task, ...]:
        """Set hardware labels, host by host. vCenter has no task for it: all is done on return."""
        by_host: dict[str, list[LabelChange]] = {}
        for change in changes:
            by_host.setdefault(change.host, []).append(change)
        for moid, wanted in by_host.items():
            host = MoRef("HostSystem", moid)
            props = self._one(
                host, ["name", "config.pciPassthruInfo", "configManager.pciPassthruSystem"]
            ).props
            name = props.text("name") or moid
            system = props.ref("configManager.pciPassthruSystem")
            if system is None:
                raise VSphereFault(
                    "the host has no passthrough settings", fault_type="NotSupported", obj=name
                )
            config = encode_labels(wanted, props.items("config.pciPassthruInfo"), name)
            what = "cannot set hardware labels"
            self._session.change(
                system, "UpdatePassthruConfig", {"config": config}, operation=operation, what=what, obj=name
            )
        return ()

    def edit_rules(self, changes: Iterable[RuleChange], operation: str) -> tuple[Task, ...]:
        """Add, change or remove DRS rules, one task a cluster."""
        by_cluster: dict[str, list[RuleChange]] = {}
        for change in changes:
            by_cluster.setdefault(change.cluster, []).append(change)
        started = []
        for moid, wanted in by_cluster.items():
            cluster = MoRef("ClusterComputeResource", moid)
            name, config = self._cluster(cluster)
            started.append(self._edit_cluster(cluster, name, encode_rules(wanted, config, name), operation))
        return tuple(started)

    def log_event(self, vm: str, message: str) -> None:
        """Write a user event at a VM, so that the server's own log tells who did what."""
        manager = self._session.service("eventManager")
        ref = MoRef("VirtualMachine", vm)
        if manager is None:
            raise VSphereFault("the server keeps no events", fault_type="NotSupported", obj=vm)
        arguments = {"entity": ref, "msg": message}
        what = "cannot log an event"
        self._session.change(
            manager, "LogUserEvent", arguments, operation=None, what=what, obj=self._name(ref)
        )

    def wait(self, tasks: Iterable[Task], timeout_s: float) -> tuple[TaskResult, ...]:
        """Wait until at least one task ends, and return those that did; empty = the time is up."""
        return self._tasks.wait(tasks, timeout_s)

    def tasks_since(self, object_: str, since: datetime) -> tuple[SeenTask, ...]:
        """Return the tasks of an object queued since a time of the server's clock, the oldest first."""
        return self._tasks.since(ref_of(object_), since)

    def _start(
        self,
        ref: MoRef,
        method: str,
        arguments: Mapping[str, object],
        kind: str,
        operation: str,
        what: str,
        name: str,
    ) -> Task:
        started = self._session.change(ref, method, arguments, operation=operation, what=what, obj=name)
        return Task(started.moid, kind, ref.moid)

    def _edit_cluster(self, cluster: MoRef, name: str, spec: object, operation: str) -> Task:
        arguments = {"spec": spec, "modify": True}
        method, what = "ReconfigureComputeResource_Task", "cannot change the cluster's settings"
        return self._start(cluster, method, arguments, kinds.EDIT_CLUSTER, operation, what, name)

    def _cluster(self, ref: MoRef) -> tuple[str, Data]:
        props = self._one(ref, ["name", "configurationEx"]).props
        return props.text("name") or ref.moid, props.data("configurationEx") or Data("", (), {})

    def _present(self, ref: MoRef) -> PresentVm:
        raw = self._one(ref, paths.VM)
        devices = raw.props.items("config.hardware.device")
        vm = read_vm(raw, datacenter=None, folder="", tags=(), notes=Notes())
        if not vm.readable:
            raise StaleError(
                "the VM's configuration cannot be read", obj=vm.name, why=f"it is {vm.connection.value}"
            )
        keyed = {key: device for device in devices if (key := device.number("key")) is not None}
        return PresentVm(vm, keyed)

    def _one(self, ref: MoRef, wanted: Iterable[str]) -> RawObject:
        found = read_existing(self._reader, [ref], list(wanted))
        if not found:
            raise StaleError(
                "the object no longer exists, or the account no longer sees it",
                obj=ref.moid,
                hint="make a new plan",
            )
        return found[0]

    def _name(self, ref: MoRef) -> str:
        return self._one(ref, ["name"]).props.text("name") or ref.moid


def _pool(moid: str | None) -> MoRef | None:
    return ref_of(moid) if moid is not None else None
