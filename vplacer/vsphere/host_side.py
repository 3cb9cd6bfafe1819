"""Reads what a change needs to know of a host: group templates, system ids, networks, its release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vplacer.errors import ApiTooOld, InventoryIncomplete, StaleError
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import SriovBacking, StaticBacking
from vplacer.plan.changes import Action, Reconfigure
from vplacer.plan.features import features_of, version_number
from vplacer.vsphere.data_objects import make
from vplacer.vsphere.encode_backings import HostSide
from vplacer.vsphere.existing import read_existing
from vplacer.vsphere.raw import Data, MoRef, Notes, RawReader
from vplacer.vsphere.read_address import read_address

_PATHS: Final = ("name", "parent", "network", "config.product")
_RELEASE_PARTS: Final = 3
"""Of an API version: hosts of one release differ in the fourth number from their vCenter."""


def read_host_side(reader: RawReader, host: MoRef | None, change: Reconfigure, vm_name: str) -> HostSide:
    """Return what the change needs; of a change that needs nothing only the host's name.

    Args:
        reader: the vCenter.
        host: the VM's host.
        change: the change.
        vm_name: for messages.

    Raises:
        ApiTooOld: the host's release is older than a feature that the change writes.
        StaleError: the VM has no host.
    """
    found = read_existing(reader, [host], _PATHS) if host is not None else ()
    if host is None or not found:
        raise StaleError("the VM has no host now", obj=vm_name, hint="look at it in the vSphere Client")
    props = found[0].props
    name = props.text("name") or host.moid
    _refuse_older_host(change, props.data("config.product"), name)
    wanted = _networks_wanted(change)
    networks = _networks(reader, [ref for ref in props.refs("network") if ref.moid in wanted])
    if not _needs_target(change):
        return HostSide(name, networks=networks)
    target = _config_target(reader, host, props.ref("parent"), name)
    groups = {
        group: entry
        for entry in target.items("vendorDeviceGroupInfo")
        if (group := entry.text("deviceGroupName") or entry.text("name"))
    }
    return HostSide(name, groups, _cards(target), networks)


def _refuse_older_host(change: Reconfigure, product: Data | None, name: str) -> None:
    """A host older than its vCenter gets the fields it does not know, and nobody says that they are lost."""
    release = product.text("apiVersion") if product is not None else None
    if not release or not all(part.isdigit() for part in release.split(".")):
        return
    for feature in features_of(change):
        if version_number(feature.api)[:_RELEASE_PARTS] > version_number(release)[:_RELEASE_PARTS]:
            raise ApiTooOld(
                f"{feature.title} needs a host with API {feature.api}",
                obj=name,
                why=f"the host has API {release}",
                hint="upgrade the host, or leave this out of the request",
            )


def _added(change: Reconfigure) -> Iterable[Any]:
    return (
        item.after.backing for item in change.devices if item.action is Action.ADD and item.after is not None
    )


def _networks_wanted(change: Reconfigure) -> set[str]:
    return {
        backing.network
        for backing in _added(change)
        if isinstance(backing, SriovBacking) and backing.network is not None
    }


def _needs_target(change: Reconfigure) -> bool:
    if any(item.action is Action.ADD for item in change.groups):
        return True
    return any(
        (isinstance(backing, StaticBacking) and not backing.system_id)
        or (isinstance(backing, SriovBacking) and backing.physical_function is not None)
        for backing in _added(change)
    )


def _config_target(reader: RawReader, host: MoRef, unit: MoRef | None, name: str) -> Data:
    found = read_existing(reader, [unit], ["environmentBrowser"]) if unit is not None else ()
    browser = found[0].props.ref("environmentBrowser") if found else None
    target = reader.call(browser, "QueryConfigTarget", {"host": host}) if browser is not None else None
    if not isinstance(target, Data):
        raise InventoryIncomplete(
            "the host does not tell what it offers to VMs",
            obj=name,
            why="its environment browser gives no ConfigTarget" if browser else "its cluster is not visible",
            hint="give the account System.View on the host's cluster, propagated to children",
        )
    return target


def _cards(target: Data) -> dict[PciAddress, Data]:
    found: dict[PciAddress, Data] = {}
    for entry in [*target.items("pciPassthrough"), *target.items("sriov")]:
        device = entry.data("pciDevice")
        address = read_address(device.text("id") if device else None, Notes(), "ConfigTarget")
        if address is not None and entry.text("systemId"):
            found.setdefault(address, entry)
    return found


def _networks(reader: RawReader, refs: Iterable[MoRef]) -> dict[str, Any]:
    return {ref.moid: _backing(reader, ref) for ref in refs}


def _backing(reader: RawReader, ref: MoRef) -> Any:
    if ref.type == "DistributedVirtualPortgroup":
        props = reader.properties([ref], ["key", "config.distributedVirtualSwitch"]).objects[0].props
        switch = props.ref("config.distributedVirtualSwitch")
        found = reader.properties([switch], ["uuid"]).objects if switch is not None else ()
        port = make(
            "DistributedVirtualSwitchPortConnection",
            switchUuid=(found[0].props.text("uuid") if found else None) or "",
            portgroupKey=props.text("key") or ref.moid,
        )
        return make("VirtualEthernetCardDistributedVirtualPortBackingInfo", port=port)
    if ref.type == "OpaqueNetwork":
        summary = reader.properties([ref], ["summary"]).objects[0].props.data("summary")
        return make(
            "VirtualEthernetCardOpaqueNetworkBackingInfo",
            opaqueNetworkId=(summary.text("opaqueNetworkId") if summary else None) or "",
            opaqueNetworkType=(summary.text("opaqueNetworkType") if summary else None) or "",
        )
    name = reader.properties([ref], ["name"]).objects[0].props.text("name") or ""
    return make("VirtualEthernetCardNetworkBackingInfo", deviceName=name, network=ref)
