"""What kind of thing a PCI device is, from its vendor and class; and which devices are virtual functions.

Names are never looked at: vendors change them and ESXi shortens them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from vplacer.inventory.gpu_models import AMD, INTEL, NVIDIA, gpu_by_ids
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.nvswitch_models import is_nvswitch
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vf_ids import is_known_vf

_CLASS_VGA: Final = 0x0300
_CLASS_3D: Final = 0x0302
_CLASS_OTHER_DISPLAY: Final = 0x0380
_CLASS_ACCELERATOR: Final = 0x1200
_BASE_STORAGE: Final = 0x01
_BASE_NETWORK: Final = 0x02
_BASE_BRIDGE: Final = 0x06


class DeviceKind(StrEnum):
    """The kinds the planner tells apart."""

    GPU = "gpu"
    NIC = "nic"
    BRIDGE = "bridge"
    NVSWITCH = "nvswitch"
    STORAGE = "storage"
    VIRTUAL_FUNCTION = "virtual-function"
    OTHER = "other"


def device_kind(device: PciDevice) -> DeviceKind:
    """Return the kind of a device.

    A display or accelerator class makes a GPU only with a GPU vendor's id: a management controller's VGA
    (ASPEED, Matrox) and VMware's SVGA II (15ad, class 0300) are none. Intel's display devices count only
    if they are a known data-centre model, because its processors carry graphics of their own.

    A virtual function is told here by its id alone. Those that share the id of their card (NVIDIA's GPUs)
    show only beside the other devices of the host: `virtual_functions` finds all.
    """
    if is_known_vf(device.ids.vendor, device.ids.device):
        return DeviceKind.VIRTUAL_FUNCTION
    return _class_kind(device)


def _class_kind(device: PciDevice) -> DeviceKind:
    base = device.class_id >> 8
    if device.class_id in (_CLASS_VGA, _CLASS_3D, _CLASS_OTHER_DISPLAY, _CLASS_ACCELERATOR):
        return DeviceKind.GPU if _is_gpu(device) else DeviceKind.OTHER
    if is_nvswitch(device.ids.vendor, device.ids.device):
        return DeviceKind.NVSWITCH
    if base == _BASE_BRIDGE:
        return DeviceKind.BRIDGE
    if base == _BASE_NETWORK:
        return DeviceKind.NIC
    if base == _BASE_STORAGE:
        return DeviceKind.STORAGE
    return DeviceKind.OTHER


def _is_gpu(device: PciDevice) -> bool:
    vendor = device.ids.vendor
    # EPYC processors carry no graphics of their own, so any display device of AMD's is a card.
    if vendor in (NVIDIA, AMD):
        return True
    return vendor == INTEL and gpu_by_ids(device.ids) is not None


def virtual_functions(host: Host) -> dict[PciAddress, PciAddress | None]:
    """Return the virtual functions among a host's devices, each with its physical function if known.

    vSphere lists virtual functions as devices of their own and nowhere says whose they are. A device is
    taken for one if

    - its id is that of a virtual function (pci.ids), or
    - a network device without SR-IOV of its own shares vendor and parent bridge with a physical function
      that has functions now, has another id, and comes after it, or
    - it is a GPU that is not function 0 of device 0 on its bus, while that one is a GPU of the same id
      (NVIDIA's virtual functions carry the id of the card; every physical GPU is ``xx:00.0``).

    The physical function is the nearest one before it of the same vendor and kind behind the same bridge
    that still has functions left by its own count (HostSriovInfo.numVirtualFunction); None where no such
    device is seen.
    """
    by_address = {device.address: device for device in host.pci_devices}
    found: dict[PciAddress, PciAddress | None] = {}
    left = {
        device.address: device.sriov.vf_present
        for device in host.pci_devices
        if device.sriov is not None and device.sriov.vf_present > 0
    }
    for device in sorted(host.pci_devices, key=lambda item: item.address):
        kind = _class_kind(device)
        if kind is DeviceKind.GPU:
            first = by_address.get(PciAddress(device.address.segment, device.address.bus, 0, 0))
            if first is not None and first.address != device.address and _same_model(first, device):
                found[device.address] = first.address
            continue
        if kind is not DeviceKind.NIC or device.address in left:
            continue
        owner = _physical_function(device, by_address, left)
        if owner is not None:
            left[owner] -= 1
            found[device.address] = owner
        elif is_known_vf(device.ids.vendor, device.ids.device):
            found[device.address] = None
    return found


def _same_model(a: PciDevice, b: PciDevice) -> bool:
    return (a.ids.vendor, a.ids.device) == (b.ids.vendor, b.ids.device)


def _physical_function(
    device: PciDevice, by_address: dict[PciAddress, PciDevice], left: dict[PciAddress, int]
) -> PciAddress | None:
    """Of several ports, the functions come port after port: the first port with functions left."""
    known_vf = is_known_vf(device.ids.vendor, device.ids.device)
    for address in sorted(left):
        physical = by_address[address]
        if left[address] <= 0 or address >= device.address or address.segment != device.address.segment:
            continue
        if physical.ids.vendor != device.ids.vendor or physical.class_id != device.class_id:
            continue
        if physical.ids.device == device.ids.device or physical.parent_bridge != device.parent_bridge:
            continue
        if known_vf or (device.sriov is None or not device.sriov.capable):
            return address
    return None


def physical_devices(host: Host) -> tuple[PciDevice, ...]:
    """Return a host's devices without virtual functions: what there is to count."""
    functions = virtual_functions(host)
    return tuple(device for device in host.pci_devices if device.address not in functions)
