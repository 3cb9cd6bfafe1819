"""What a reconfigure call asks for: VirtualMachineConfigSpec, as far as the lab understands it.

Unset is unchanged, as in vSphere, which has values of its own for "back to automatic": 0 cores, limit -1,
an empty affinity, extraConfig "".
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from vplacer.inventory.vm import Backing
from vplacer.plan.changes import Action


@dataclass(frozen=True, slots=True)
class DeviceEdit:
    """One VirtualDeviceConfigSpec.

    ``key``: of a device of the VM; of one to be added a temporary one, negative and unique in the call.
    ``backing`` None = unchanged; so is ``numa_node`` None, a negative one is none. ``group_key``: of a
    device to be added, the key of its group in `VmEdit.groups`. ``mac``: of a NIC, None = the server
    gives one, or it stays.
    """

    action: Action
    key: int
    backing: Backing | None = None
    numa_node: int | None = None
    group_key: int | None = None
    group_sequence: int | None = None
    mac: str | None = None


@dataclass(frozen=True, slots=True)
class GroupEdit:
    """A VirtualDeviceGroups.VendorDeviceGroup; a negative key adds it, others name groups that stay.

    A group goes with its last device.
    """

    key: int
    name: str


@dataclass(frozen=True, slots=True)
class VmEdit:
    """A ConfigSpec. None = unset = unchanged.

    ``change_version``: refused with ConcurrentAccess unless it is the VM's. ``cores_per_socket`` and
    ``cores_per_numa_node`` 0 = automatic. ``memory_limit_mib`` -1 = no limit. ``cpu_affinity`` empty =
    none. ``extra_config``: "" deletes a key.
    """

    change_version: str | None = None
    name: str | None = None
    cpus: int | None = None
    cores_per_socket: int | None = None
    cores_per_numa_node: int | None = None
    vnuma_on_hot_add: bool | None = None
    simultaneous_threads: int | None = None
    memory_mib: int | None = None
    memory_locked_to_max: bool | None = None
    memory_reservation_mib: int | None = None
    memory_limit_mib: int | None = None
    cpu_reservation_mhz: int | None = None
    latency_sensitivity: str | None = None
    cpu_affinity: tuple[int, ...] | None = None
    cpu_hot_add: bool | None = None
    memory_hot_add: bool | None = None
    fixed_hot_plug: bool | None = None
    firmware: str | None = None
    guest_id: str | None = None
    extra_config: tuple[tuple[str, str], ...] = ()
    devices: tuple[DeviceEdit, ...] = ()
    groups: tuple[GroupEdit, ...] = ()

    def sets(self) -> frozenset[str]:
        """Return the names of the fields that are set, the guard apart."""
        found = (
            field.name
            for field in fields(self)
            if field.name != "change_version" and getattr(self, field.name) not in (None, ())
        )
        cleared = {"cpu_affinity"} if self.cpu_affinity is not None else set()
        return frozenset(found) | cleared
