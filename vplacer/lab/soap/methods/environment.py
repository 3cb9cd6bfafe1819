"""EnvironmentBrowser: what hosts offer to VMs. The answers are the site's."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.EnvironmentBrowser, "QueryConfigTarget", "QueryTargetCapabilities")
def query_target(call: Call, this: Ref, args: Any) -> object:
    """Return the devices or the capabilities of a host; without one, of the whole compute resource."""
    return call.answer(this, host=_host(call, args.host))


@TABLE.method(vim.EnvironmentBrowser, "QueryConfigOptionDescriptor")
def query_config_option_descriptor(call: Call, this: Ref, _args: Any) -> object:
    """List the hardware versions that can be asked for."""
    return call.answer(this)


@TABLE.method(vim.EnvironmentBrowser, "QueryConfigOption")
def query_config_option(call: Call, this: Ref, args: Any) -> object:
    """Return the limits of one hardware version."""
    return call.answer(this, key=args.key, host=_host(call, args.host))


@TABLE.method(vim.EnvironmentBrowser, "QueryConfigOptionEx")
def query_config_option_ex(call: Call, this: Ref, args: Any) -> object:
    """Return the limits of one hardware version, for some guest systems only."""
    spec = args.spec
    return call.answer(
        this,
        key=spec.key if spec else None,
        host=_host(call, spec.host) if spec else None,
        guest_ids=tuple(spec.guestId) if spec else (),
    )


def _host(call: Call, host: Ref) -> Ref:
    if host is not None:
        call.require(host)
        if not isinstance(host, vim.HostSystem):
            raise vmodl.fault.InvalidArgument(invalidProperty="host")
    return host
