"""``esxcli hardware pci list`` of a host, read through the vCenter session: on which NUMA node devices sit.

vCenter tells it only in ``numaNode[].pciId``, which can be empty. esxcli is reached without SSH and without
a login on the host: HostSystem.RetrieveManagedMethodExecuter gives an object whose ExecuteSoap runs a method
of the host itself, as govc (govmomi ``cli/esx``) and PowerCLI's Get-EsxCli do. The interface is not
documented, nor is its privilege: a denial reported for scripts of this kind names Host.Config.Settings
(arielsanchezmora/vDocumentation #33), and a server that denies it names the one that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

from vplacer.errors import PermissionMissing, VSphereFault
from vplacer.inventory.device_kind import DeviceKind, device_kind, physical_devices
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.overlay import OverlayDevice
from vplacer.topology.esxcli_device import EsxcliDevice, read_device
from vplacer.vsphere.raw import Data, MoRef, RawReader, Value
from vplacer.vsphere.reflect_methods import EXECUTE, RETRIEVE_EXECUTER

_HANDLER = "ha-cli-handler-hardware-pci"
_METHOD = "vim.EsxCLI.hardware.pci.list"
_VERSION = "urn:vim25/5.0"
_KINDS = (DeviceKind.GPU, DeviceKind.NIC, DeviceKind.NVSWITCH)


@dataclass(frozen=True, slots=True)
class PciList:
    """What esxcli told of a host's devices. ``not_told``: why it told nothing; ``notes``: lines left out."""

    devices: tuple[EsxcliDevice, ...] = ()
    not_told: str | None = None
    notes: tuple[str, ...] = ()


def places_unknown(host: Host) -> bool:
    """Whether vCenter places some GPU, NIC or NVSwitch of the host on none of its NUMA nodes."""
    return bool(host.numa_nodes) and any(host.node_of(d.address) is None for d in _of_interest(host))


def read_pci_list(reader: RawReader, host: MoRef) -> PciList:
    """Ask a host for its PCI devices.

    Returns:
        What it told. A server, host or account that cannot is no error: `PciList.not_told` says why.

    Raises:
        VSphereError: the connection or the session is lost.
    """
    try:
        executer = reader.call(host, RETRIEVE_EXECUTER)
        if not isinstance(executer, MoRef):
            return PciList(not_told="the vCenter offers no esxcli of this host")
        arguments = {"moid": _HANDLER, "version": _VERSION, "method": _METHOD}
        answer = reader.call(executer, EXECUTE, arguments)
    except (PermissionMissing, VSphereFault) as error:
        # Whose finding it is says the host; without it, hosts of one reason can be told together.
        return PciList(not_told=(error.why or error.what).removesuffix(f" on {host}"))
    return parse_answer(answer)


def parse_answer(answer: Value) -> PciList:
    """Read the result of ExecuteSoap: a text that is XML itself, or a fault."""
    if not isinstance(answer, Data):
        return PciList(not_told="the host gave no answer")
    fault = answer.data("fault")
    if fault is not None:
        return PciList(not_told=f'the host answered "{fault.text("faultMsg") or "a fault"}"')
    text = answer.text("response") or ""
    # A document type could make a short text expand without end; no such answer has one.
    if "<!DOCTYPE" in text:
        return PciList(not_told="the host's answer is not a list of devices")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return PciList(not_told="the host's answer is not a list of devices")
    return _devices(root)


def _devices(root: ElementTree.Element) -> PciList:
    found: list[EsxcliDevice] = []
    notes: list[str] = []
    for element in root:
        fields = {child.tag.rpartition("}")[2]: child.text or "" for child in element}
        try:
            found.append(read_device(fields))
        except ValueError as error:
            notes.append(f"a device of esxcli was left out: {error}")
    if not found:
        return PciList(not_told="esxcli lists no device", notes=tuple(notes))
    if all(device.numa_node is None for device in found):
        return PciList(tuple(found), not_told="esxcli names no NUMA node of any device", notes=tuple(notes))
    return PciList(tuple(found), notes=tuple(notes))


def placed_devices(host: Host, told: PciList) -> tuple[tuple[OverlayDevice, ...], tuple[str, ...]]:
    """Return the GPUs, NICs and NVSwitches of a host that esxcli names a node of, and what was not used.

    Ids are vCenter's own, so that the overlay is held against the same hardware later. A device that is
    another one to esxcli, or sits on a node that the host does not have, is not used.
    """
    by_address = {device.address: device for device in told.devices}
    nodes = {node.id for node in host.numa_nodes}
    used: list[OverlayDevice] = []
    notes: list[str] = []
    for device in _of_interest(host):
        line = by_address.get(device.address)
        if line is None or line.numa_node is None:
            continue
        notes += _contradictions(device, line)
        if not _same(device, line):
            notes.append(f"{device.address} is another device to esxcli than to vCenter ({device.ids})")
        elif line.numa_node not in nodes:
            notes.append(
                f"esxcli has {device.address} on NUMA node {line.numa_node}, which the host does not have"
            )
        else:
            used.append(OverlayDevice(device.address, device.ids, line.numa_node))
    return tuple(sorted(used)), tuple(notes)


def _contradictions(device: PciDevice, line: EsxcliDevice) -> list[str]:
    """Say where esxcli and vCenter name different devices above this one, or leaving with it."""
    dependent = None if device.passthrough is None else device.passthrough.dependent
    pairs = (
        ("the bridge above", device.parent_bridge, line.parent),
        ("the device that leaves with", dependent, line.dependent),
    )
    return [
        f"{what} {device.address} is {told} to esxcli and {known} to vCenter; vCenter's is used"
        for what, known, told in pairs
        if known is not None and told is not None and known != told
    ]


def _of_interest(host: Host) -> list[PciDevice]:
    return [device for device in physical_devices(host) if device_kind(device) in _KINDS]


def _same(device: PciDevice, line: EsxcliDevice) -> bool:
    ids = device.ids
    pairs = zip((ids.vendor, ids.device, ids.sub_vendor, ids.sub_device), line.ids, strict=True)
    return all(own is None or not readings or own in readings for own, readings in pairs)
