"""Hosts' TPM, assignable hardware and graphics, and the esxtop service. The answers are the site's."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(
    vim.host.AssignableHardwareManager,
    "RetrieveDynamicPassthroughInfo",
    "RetrieveVendorDeviceGroupInfo",
    "DownloadDescriptionTree",
)
def assignable_hardware(call: Call, this: Ref, _args: Any) -> object:
    """Return the kinds of devices or of device groups that a host offers."""
    return call.answer(this)


@TABLE.method(
    vim.host.GraphicsManager, "RetrieveVgpuDeviceInfo", "RetrieveVgpuProfileInfo", "IsSharedGraphicsActive"
)
def graphics(call: Call, this: Ref, _args: Any) -> object:
    """Return the vGPU cards or profiles of a host."""
    return call.answer(this)


@TABLE.method(vim.host.DateTimeSystem, "QueryDateTime")
def query_date_time(call: Call, this: Ref, _args: Any) -> object:
    """Tell a host's time: the hosts of a simulated vCenter share its clock."""
    call.require(this)
    return call.vcenter.now()


@TABLE.method(vim.HostSystem, "QueryTpmAttestationReport")
def query_tpm_attestation_report(_call: Call, _this: Ref, _args: Any) -> object:
    """Return no report: the simulated hosts have no TPM. `govc object.save` asks each host."""
    return None


@TABLE.method(vim.ServiceManager, "QueryServiceList")
def query_service_list(call: Call, this: Ref, args: Any) -> object:
    """List services by name and by location (``vmware.host.<host name>``)."""
    services = call.require(this).get("service") or []
    return [
        service
        for service in services
        if (not args.serviceName or service.serviceName == args.serviceName)
        and (not args.location or set(args.location) & set(service.location))
    ]


@TABLE.method(vim.SimpleCommand, "ExecuteSimpleCommand")
def execute_simple_command(call: Call, this: Ref, args: Any) -> object:
    """Run a command of a service, such as esxtop's ``CounterInfo``, ``FetchStats`` and ``FreeStats``."""
    return call.answer(this, arguments=tuple(args.arguments))
