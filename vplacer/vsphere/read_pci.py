"""HostPciDevice and all that other properties say of the same address, to `PciDevice`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vplacer.inventory.host import GpuMode, Graphics, Passthrough, PciDevice, Pnic, Sriov
from vplacer.inventory.limits_table import parse_release
from vplacer.inventory.moids import moid_order
from vplacer.inventory.pci import PciAddress, PciIds, known_index, unsigned16
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_address import read_address

_FIRST_RDMA_RELEASE = (7, 0, 0)


def read_devices(
    props: Data, host_name: str, system_ids: Mapping[PciAddress, str], notes: Notes
) -> tuple[PciDevice, ...]:
    """Return the PCI devices of a host, ordered by address.

    Args:
        props: the host's properties.
        host_name: for notes.
        system_ids: systemId of what can be passed through (ConfigTarget.pciPassthrough).
        notes: told of what was left out.
    """
    passthrough = _by_address(_items(props, "config.pciPassthruInfo"), "id", host_name, notes)
    graphics = _by_address(_items(props, "config.graphicsInfo"), "pciId", host_name, notes)
    found: dict[PciAddress, PciDevice] = {}
    for item in _items(props, "hardware.pciDevice"):
        address = read_address(item.text("id"), notes, f"{host_name} hardware.pciDevice")
        if address is None:
            continue
        if address in found:
            notes.add(f"{host_name}: PCI address {address} is listed twice; the first was taken")
            continue
        state = passthrough.get(address)
        found[address] = PciDevice(
            address=address,
            ids=read_ids(item),
            class_id=unsigned16(item.number("classId") or 0),
            vendor_name=item.text("vendorName") or "",
            device_name=item.text("deviceName") or "",
            parent_bridge=read_address(item.text("parentBridge"), notes, f"{host_name} parentBridge"),
            class_name=item.text("deviceClassName") or None,
            physical_slot=known_index(item.number("physicalSlot")),
            slot_description=item.text("slotDescription") or None,
            passthrough=None if state is None else _passthrough(state, host_name, notes),
            sriov=_sriov(state),
            graphics=_graphics(graphics.get(address), host_name, notes),
            system_id=system_ids.get(address),
        )
    return tuple(found[address] for address in sorted(found))


def _items(props: Data, path: str) -> list[Data]:
    return props.items(path)


def _by_address(items: Iterable[Data], field: str, host_name: str, notes: Notes) -> dict[PciAddress, Data]:
    found = {}
    for item in items:
        address = read_address(item.text(field), notes, f"{host_name} {item.type}")
        if address is not None:
            found[address] = item
    return found


def read_ids(item: Data) -> PciIds:
    """Return the ids of a HostPciDevice: shorts, negative above 0x7fff."""
    return PciIds.from_signed(
        item.number("vendorId") or 0,
        item.number("deviceId") or 0,
        item.number("subVendorId"),
        item.number("subDeviceId"),
    )


def _passthrough(state: Data, host_name: str, notes: Notes) -> Passthrough:
    direct_path = state.data("directPathState")
    return Passthrough(
        capable=state.flag("passthruCapable") is True,
        enabled=state.flag("passthruEnabled") is True,
        active=state.flag("passthruActive") is True,
        label=state.text("hardwareLabel") or None,
        dependent=read_address(state.text("dependentDevice"), notes, f"{host_name} dependentDevice"),
        mode=direct_path.text("mode") if direct_path else None,
    )


def _sriov(state: Data | None) -> Sriov | None:
    """Physical functions arrive as HostSriovInfo, a subtype of HostPciPassthruInfo."""
    if state is None or not state.is_a("HostSriovInfo"):
        return None
    return Sriov(
        capable=state.flag("sriovCapable") is True,
        enabled=state.flag("sriovEnabled") is True,
        active=state.flag("sriovActive") is True,
        vf_requested=state.number("numVirtualFunctionRequested") or 0,
        vf_present=state.number("numVirtualFunction") or 0,
        vf_max=state.number("maxVirtualFunctionSupported") or 0,
    )


def _graphics(item: Data | None, host_name: str, notes: Notes) -> Graphics | None:
    if item is None:
        return None
    mode = item.text("vgpuMode") or GpuMode.NONE.value
    if mode not in {known.value for known in GpuMode}:
        notes.add(f"{host_name}: vGPU mode '{mode}' is not known and counts as none")
        mode = GpuMode.NONE.value
    return Graphics(
        type=item.text("graphicsType") or "",
        mode=GpuMode(mode),
        memory_kib=item.number("memorySizeInKB") or None,
        vms=tuple(sorted((ref.moid for ref in item.refs("vm")), key=moid_order)),
    )


def read_pnics(props: Data, host_name: str, release: str | None, notes: Notes) -> tuple[Pnic, ...]:
    """Return the vmkernel's NICs in the host's order.

    A NIC is known to do RDMA when a HostRdmaDevice is paired with it; hosts before 7.0 tell nothing.
    """
    tells_rdma = (parse_release(release) or (0, 0, 0)) >= _FIRST_RDMA_RELEASE
    paired = {
        backing.text("pairedUplink")
        for device in props.items("config.network.rdmaDevice")
        if (backing := device.data("backing")) is not None
    }
    found = []
    for item in props.items("config.network.pnic"):
        speed = item.data("linkSpeed")
        device = item.text("device") or ""
        found.append(
            Pnic(
                device=device,
                address=read_address(item.text("pci"), notes, f"{host_name} {device}"),
                link_mbps=speed.number("speedMb") or None if speed else None,
                rdma=item.text("key") in paired if tells_rdma else None,
                mac=item.text("mac") or None,
            )
        )
    return tuple(found)
