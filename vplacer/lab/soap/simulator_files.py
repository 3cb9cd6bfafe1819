"""A site as the files that govmomi's simulator loads (``vcsim -load DIR``).

The format is that of ``govc object.save``: one ObjectContent a managed object, and in a folder named
after the object the answers of methods whose answer is no property (govmomi: simulator/model.go,
cli/object/save.go). What it cannot carry is told by `vplacer.lab.soap.simulator_limits`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from pyVmomi import vim

from vplacer.lab.soap.store import Entry, Withheld
from vplacer.lab.soap.vcenter import Account, ServedSite, Settings, VCenter
from vplacer.lab.soap.views.host import LARGEST_VM_MIB
from vplacer.lab.soap.wire import serialize, typetable
from vplacer.lab.soap.wire.typetable import Ref

_NAMESPACES: Final = (
    'xmlns="urn:vim25" xmlns:xsd="http://www.w3.org/2001/XMLSchema" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
_NEVER: Final = datetime(2000, 1, 1, tzinfo=UTC)
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'

_FIRST: Final = "ServiceInstance"
"""Read first: the simulator takes who answers, and in which version, from it or from itself for good."""

_LEFT_OUT: Final = frozenset(
    {
        # The simulator runs no services of hosts.
        "SimpleCommand",
        # It makes these itself when a client asks a host for them, and cannot load them.
        "InternalDynamicTypeManager",
        "ReflectManagedMethodExecuter",
        # It has no methods for these; their properties are in the host's configuration as well.
        "HostAssignableHardwareManager",
        "HostDateTimeSystem",
        "HostGraphicsManager",
        "HostPciPassthruSystem",
        # It makes one of its own for the license manager.
        "LicenseAssignmentManager",
    }
)

# Managers that the simulator's own code looks up without asking whether they are there.
_MORE_MANAGERS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("alarmManager", vim.alarm.AlarmManager, "AlarmManager"),
    ("datastoreNamespaceManager", vim.DatastoreNamespaceManager, "DatastoreNamespaceManager"),
    ("dvSwitchManager", vim.dvs.DistributedVirtualSwitchManager, "DVSManager"),
    ("guestOperationsManager", vim.vm.guest.GuestOperationsManager, "guestOperationsManager"),
    ("ipPoolManager", vim.IpPoolManager, "IpPoolManager"),
    ("ovfManager", vim.OvfManager, "OvfManager"),
    ("perfManager", vim.PerformanceManager, "PerfMgr"),
    ("storageResourceManager", vim.StorageResourceManager, "StorageResourceManager"),
    ("userDirectory", vim.UserDirectory, "UserDirectory"),
    ("virtualDiskManager", vim.VirtualDiskManager, "virtualDiskManager"),
)


@dataclass(frozen=True, slots=True)
class SimulatorFile:
    """A file; ``name`` is relative, with ``/`` between folder and file."""

    name: str
    text: str


def simulator_files(site: ServedSite) -> Iterator[SimulatorFile]:
    """Yield the files of a site, in the order in which they have to be read.

    Args:
        site: what the simulated vCenter would serve; the service's own objects are added to its store.

    Raises:
        UsageError: its API version is unknown.
    """
    api_version = str(site.about.apiVersion)
    vcenter = VCenter(site, Account("", ""), Settings(api_version=api_version))
    entries = [entry for entry in vcenter.store.entries() if _kind(entry.ref) not in _LEFT_OUT]
    entries.sort(key=lambda entry: _kind(entry.ref) != _FIRST)
    objects = [(entry.ref, _properties(vcenter, entry)) for entry in entries]
    objects += [
        (_browser(entry.ref), {"datastore": typetable.array_of(vim.Datastore, [entry.ref])})
        for entry in entries
        if isinstance(entry.ref, vim.Datastore)
    ]
    objects += [(cls(moid), {}) for _, cls, moid in _MORE_MANAGERS]
    for number, (ref, props) in enumerate(objects):
        yield SimulatorFile(f"{number:04d}-{_place(ref)}.xml", _object(ref, props, vcenter.version))
    for entry in entries:
        if isinstance(entry.ref, vim.EnvironmentBrowser):
            yield from _answers(entry, vcenter.version)


def _kind(ref: Ref) -> str:
    return typetable.wire_name(type(ref))


def _place(ref: Ref) -> str:
    """Return the name of an object's folder (govmomi: ManagedObjectReference.Encode)."""
    return f"{_kind(ref)}-{quote(typetable.moid(ref), safe='')}"


def _browser(datastore: Ref) -> Ref:
    return vim.host.DatastoreBrowser(f"datastoreBrowser-{typetable.moid(datastore)}")


def _properties(vcenter: VCenter, entry: Entry) -> dict[str, Any]:
    """Return what the API version has of an object's properties, with what only the simulator needs."""
    props: dict[str, Any] = {}
    for name in entry.props:
        info = typetable.property_info(type(entry.ref), name)
        if info is None or not typetable.is_version(vcenter.version, info.version):
            continue
        with contextlib.suppress(Withheld):
            props[name] = entry.get(name)
    if isinstance(entry.ref, vim.ServiceInstance):
        content = copy.copy(props["content"])
        for name, cls, moid in _MORE_MANAGERS:
            setattr(content, name, cls(moid))
        return {"content": content}
    if isinstance(entry.ref, vim.ServiceManager):
        return {}
    if isinstance(entry.ref, vim.Datastore):
        props["browser"] = _browser(entry.ref)
    if isinstance(entry.ref, vim.HostSystem) and props.get("capability") is None:
        # Its check of a VM's configuration reads this without asking whether it is there.
        props["capability"] = vim.host.Capability(maxSupportedVmMemory=LARGEST_VM_MIB)
    if isinstance(entry.ref, vim.VirtualMachine):
        # It notes a VM's files here when the VM is changed, without asking whether there is such a list.
        props.setdefault("layout", vim.vm.FileLayout())
        props.setdefault("layoutEx", vim.vm.FileLayoutEx(timestamp=_NEVER))
        props.setdefault("storage", vim.vm.StorageInfo(timestamp=_NEVER))
    return props


def _object(ref: Ref, props: Mapping[str, Any], version: str) -> str:
    rows = "".join(
        f"<propSet><name>{name}</name>{serialize.property_value(value, version)}</propSet>\n"
        for name, value in props.items()
        if value is not None
    )
    return (
        f"{_HEAD}<ObjectContent {_NAMESPACES}>\n{serialize.reference('obj', ref)}\n{rows}</ObjectContent>\n"
    )


def _answers(entry: Entry, version: str) -> Iterator[SimulatorFile]:
    """Yield what an environment browser answers.

    The simulator keeps one answer a method and browser, whatever host or version is asked for: the one
    that a vCenter gives for the whole compute resource.
    """
    whole: Mapping[str, Mapping[str, object]] = {
        "QueryConfigTarget": {"host": None},
        "QueryConfigOption": {"key": None, "host": None},
        "QueryConfigOptionDescriptor": {},
        "QueryTargetCapabilities": {"host": None},
    }
    for method, arguments in whole.items():
        value = entry.answers[method](**arguments)
        if value is None and method == "QueryConfigTarget":
            # Without an answer the simulator makes one up from hosts that it takes to be connected.
            value = vim.vm.ConfigTarget(numCpus=0, numCpuCores=0, numNumaNodes=0)
        if value:
            yield SimulatorFile(f"{_place(entry.ref)}/{method}.xml", _response(method, value, version))


def _response(method: str, value: object, version: str) -> str:
    info = typetable.method_info(typetable.NAMESPACE, method)
    assert info is not None
    returned = typetable.make_info("returnval", info.result, info.version, info.resultFlags)
    body = serialize.to_xml(typetable.coerce(value, returned), returned, version)
    return f"{_HEAD}<{method}Response {_NAMESPACES}>{body}</{method}Response>\n"
