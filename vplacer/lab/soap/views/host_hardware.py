"""HostSystem.hardware: CPUs, NUMA nodes, memory, PCI devices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pyVmomi import vim

from vplacer.inventory.host import Host, NumaNode, PciDevice
from vplacer.inventory.pci import PciAddress, PciIds, signed16
from vplacer.lab.soap.views.world import signed8
from vplacer.lab.soap.wire.typetable import share

_BUS_HZ = 100_000_000


def hardware(host: Host) -> Any:
    """Return ``HostHardwareInfo``; None where the inventory knows no hardware of the host."""
    if host.core_count is None and host.memory_bytes is None and not host.pci_devices:
        return None
    info = vim.host.HardwareInfo(
        systemInfo=vim.host.SystemInfo(vendor=host.vendor, model=host.model, uuid=host.uuid or ""),
        cpuInfo=vim.host.CpuInfo(
            numCpuPackages=host.package_count or 0,
            numCpuCores=host.core_count or 0,
            numCpuThreads=host.thread_count or 0,
            hz=host.cpu_hz or 0,
        ),
        cpuPkg=_packages(host),
        memorySize=host.memory_bytes or 0,
        pciDevice=[pci_device(device) for device in host.pci_devices],
        numaInfo=_numa_info(host),
    )
    if host.memory_tiering is not None:
        info.memoryTieringType = host.memory_tiering
    return info


def pci_device(device: PciDevice) -> Any:
    """Return ``HostPciDevice``. Ids are xsd:short and the bus xsd:byte: above the middle they are negative.

    A device of no known subsystem has 0 there, since the members are required.
    """
    return _pci_device(
        device.address,
        device.ids,
        device.class_id,
        device.vendor_name,
        device.device_name,
        device.parent_bridge,
        device.class_name,
        device.physical_slot,
        device.slot_description,
    )


@lru_cache(maxsize=65536)
def _pci_device(
    address: PciAddress,
    ids: PciIds,
    class_id: int,
    vendor_name: str,
    device_name: str,
    parent: PciAddress | None,
    class_name: str | None,
    slot: int | None,
    slot_description: str | None,
) -> Any:
    # Hosts of one kind have equal devices: one object serves them all.
    return share(
        vim.host.PciDevice(
            id=str(address),
            classId=signed16(class_id),
            bus=signed8(address.bus),
            slot=signed8(address.device),
            function=address.function,
            vendorId=signed16(ids.vendor),
            deviceId=signed16(ids.device),
            subVendorId=signed16(ids.sub_vendor or 0),
            subDeviceId=signed16(ids.sub_device or 0),
            vendorName=vendor_name,
            deviceName=device_name,
            parentBridge=None if parent is None else str(parent),
            deviceClassName=class_name,
            physicalSlot=slot,
            slotDescription=slot_description,
        )
    )


def _packages(host: Host) -> list[Any]:
    threads = _threads_by_package(host)
    return [
        vim.host.CpuPackage(
            index=number,
            vendor=host.cpu_vendor or "unknown",
            hz=host.cpu_hz or 0,
            busHz=_BUS_HZ,
            description=host.cpu_model or "",
            threadId=threads[number],
        )
        for number in sorted(threads)
    ]


def _threads_by_package(host: Host) -> dict[int, list[int]]:
    """Return the logical CPUs of each package that has any.

    The threads of a node that belongs to no one package (one NUMA node over two sockets) are shared out
    evenly, so that a reader sees several packages on it.
    """
    count = host.package_count or 1
    threads: dict[int, list[int]] = {}
    for node in host.numa_nodes:
        for position, thread in enumerate(node.thread_ids):
            package = node.package
            if package is None:
                package = position * count // len(node.thread_ids)
            threads.setdefault(package, []).append(thread)
    if not threads:
        return {0: list(range(host.thread_count or 1))}
    return {package: sorted(found) for package, found in threads.items()}


def _numa_info(host: Host) -> Any:
    if not host.numa_nodes:
        return None
    return vim.host.NumaInfo(
        type="NUMA",
        numNodes=len(host.numa_nodes),
        numaNode=[_numa_node(node) for node in host.numa_nodes],
    )


def _numa_node(node: NumaNode) -> Any:
    info = vim.host.NumaNode(
        typeId=signed8(node.id),
        memorySize=node.memory_bytes,
        # Since 8.0 the range begins at 0 and its length repeats memorySize.
        memoryRangeBegin=0,
        memoryRangeLength=node.memory_bytes or 0,
        pciId=[str(address) for address in node.devices],
    )
    if node.thread_ids:  # the constructor refuses an empty list where the table says "required"
        info.cpuID = list(node.thread_ids)
    return info
