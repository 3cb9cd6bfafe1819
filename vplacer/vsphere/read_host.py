"""HostSystem to `Host`: unset stays unset, nothing is guessed."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from vplacer.inventory.cpu_models import cpu_features
from vplacer.inventory.host import (
    ConnectionState,
    DeviceBinding,
    HardwareLimits,
    Host,
    HostCapability,
    HostPower,
)
from vplacer.inventory.moids import moid_order
from vplacer.vsphere.property_paths import ALWAYS_THERE, HOST_OPTIONS, feature_path
from vplacer.vsphere.raw import Data, Notes, RawObject, Value
from vplacer.vsphere.read_address import read_address
from vplacer.vsphere.read_names import shown_name
from vplacer.vsphere.read_numa import read_numa_nodes
from vplacer.vsphere.read_offers import HostOffers
from vplacer.vsphere.read_pci import read_devices, read_pnics

Word = TypeVar("Word", bound=StrEnum)


def read_host(
    raw: RawObject,
    *,
    datacenter: str | None,
    cluster: str | None,
    offers: HostOffers,
    limits: tuple[HardwareLimits, ...],
    tags: tuple[str, ...],
    notes: Notes,
) -> Host:
    """Read one host.

    Args:
        raw: its properties (`property_paths.HOST`).
        datacenter: moid of the datacenter it is in.
        cluster: moid of its cluster; None for a host outside clusters.
        offers: what its ConfigTarget told, empty where it was not asked.
        limits: what each hardware version allows on it.
        tags: its tags, "category:name".
        notes: told of what was left out.
    """
    props = raw.props
    name = shown_name(props.text("name")) or raw.ref.moid
    product = props.data("config.product")
    release = product.text("version") if product else None
    api_version = product.text("apiVersion") if product else None
    system = props.data("hardware.systemInfo")
    cpu = props.data("hardware.cpuInfo")
    package = next(iter(props.items("hardware.cpuPkg")), None)
    threading = props.data("config.hyperThread")
    graphics = props.data("config.graphicsConfig")
    return Host(
        moid=raw.ref.moid,
        name=name,
        datacenter=datacenter,
        cluster=cluster,
        connection=read_word(
            ConnectionState, props.text("runtime.connectionState"), ConnectionState.DISCONNECTED, name, notes
        ),
        power=read_word(HostPower, props.text("runtime.powerState"), HostPower.UNKNOWN, name, notes),
        in_maintenance=props.flag("runtime.inMaintenanceMode"),
        in_quarantine=props.flag("runtime.inQuarantineMode"),
        version=release,
        api_version=api_version,
        build=product.text("build") if product else None,
        vendor=system.text("vendor") or None if system else None,
        model=system.text("model") or None if system else None,
        uuid=system.text("uuid") or None if system else None,
        cpu_vendor=package.text("vendor") or None if package else None,
        cpu_model=_squeezed(package.text("description")) if package else None,
        cpu_hz=cpu.number("hz") if cpu else None,
        package_count=cpu.number("numCpuPackages") if cpu else None,
        core_count=cpu.number("numCpuCores") if cpu else None,
        thread_count=cpu.number("numCpuThreads") if cpu else None,
        hyperthreading_active=threading.flag("active") if threading else None,
        memory_bytes=props.number("hardware.memorySize"),
        memory_tiering=props.text("hardware.memoryTieringType") or None,
        system_memory_mib=_system_memory_mib(props.data("config.systemResources")),
        numa_nodes=read_numa_nodes(props, name, notes),
        pci_devices=read_devices(props, name, offers.system_ids, notes),
        pnics=read_pnics(props, name, api_version, notes),
        vgpu_profiles=offers.profiles,
        vgpu_types=tuple(props.texts("config.sharedPassthruGpuTypes")),
        device_groups=offers.groups,
        bindings=_bindings(props, name, notes),
        default_graphics_type=graphics.text("hostDefaultGraphicsType") or None if graphics else None,
        assignment_policy=graphics.text("sharedPassthruAssignmentPolicy") or None if graphics else None,
        datastores=_moids(props, "datastore"),
        networks=_moids(props, "network"),
        limits=limits,
        capability=HostCapability(
            assignable_hardware=props.flag("capability.assignableHardwareSupported"),
            assign_label=props.flag("capability.assignHwPciConfigSupported"),
            rebind_without_reboot=props.flag("capability.deviceRebindWithoutRebootSupported"),
            max_simultaneous_threads=props.number("capability.maxSupportedSimultaneousThreads") or None,
            fpt_hotplug=props.flag("capability.fptHotplugSupported"),
        ),
        options=_options(props),
        reboot_required=props.flag("summary.rebootRequired"),
        tags=tags,
        cpu_features=_features(props, "featureCapability"),
        cpu_features_visible=_features(props, "maskedFeatureCapability"),
    )


def read_word(kind: type[Word], text: str | None, unknown: Word, where: str, notes: Notes) -> Word:
    """Return an enumeration's value; one that is not known counts as ``unknown`` and is told."""
    if text in {word.value for word in kind}:
        return kind(text)
    if text:
        notes.add(f"{where}: state '{text}' is not known and counts as {unknown.value}")
    return unknown


def option_text(value: Value) -> str:
    """Return an option's value as text, booleans as the VMX language writes them."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value)


def _moids(props: Data, path: str) -> tuple[str, ...]:
    return tuple(sorted({ref.moid for ref in props.refs(path)}, key=moid_order))


def _squeezed(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def _system_memory_mib(root: Data | None) -> int | None:
    """Return what the host keeps for itself, from HostSystem.config.systemResources, in MiB.

    The tree's root "host" stands for the whole memory; "host/user" below it is where VMs live. A group
    with no reservation of its own still takes what its children reserve.
    """
    if root is None:
        return None
    if root.text("key") == "host":
        return sum(_reserved(child) for child in root.items("child") if child.text("key") != "host/user")
    return _reserved(root)


def _reserved(group: Data) -> int:
    config = group.data("config")
    memory = config.data("memoryAllocation") if config else None
    own = memory.number("reservation") or 0 if memory else 0
    return max(own, sum(_reserved(child) for child in group.items("child")))


def _bindings(props: Data, name: str, notes: Notes) -> tuple[DeviceBinding, ...]:
    found = []
    for item in props.items("config.assignableHardwareBinding"):
        vm = item.ref("vm")
        if vm is not None:
            found.append(
                DeviceBinding(
                    instance_id=item.text("instanceId") or "",
                    vm=vm.moid,
                    address=read_address(item.text("pciId"), notes, f"{name} assignableHardwareBinding"),
                    device_key=item.number("deviceKey"),
                )
            )
    return tuple(
        sorted(found, key=lambda item: (moid_order(item.vm), item.device_key or 0, item.instance_id))
    )


def _features(props: Data, name: str) -> tuple[str, ...] | None:
    """Return the features of a list whose value is 1; None where the list was not told.

    Hosts list what they have and leave out the rest (vmware/pyvmomi, dump of an ESXi 8.0.3).
    """
    if props.data(feature_path(name, ALWAYS_THERE)) is None:
        return None
    found = ((feature.key, props.data(feature_path(name, feature.key))) for feature in cpu_features())
    return tuple(sorted(key for key, told in found if told is not None and told.text("value") == "1"))


def _options(props: Data) -> tuple[tuple[str, str], ...]:
    found = []
    for name in HOST_OPTIONS:
        option = props.data(f'config.option["{name}"]')
        value = option.get("value") if option else None
        if value is not None:
            found.append((name, option_text(value)))
    return tuple(sorted(found))
