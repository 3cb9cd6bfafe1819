"""ClusterComputeResource: DRS levels of VMs, rules and groups. HostPciPassthruSystem: labels."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.inventory.pci import PciAddress
from vplacer.lab.model.cluster_edit import PassthroughEdit
from vplacer.lab.soap.decode.cluster_spec import cluster_order
from vplacer.lab.soap.decode.members import invalid_argument, not_supported, refuse_others
from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.views.host import PASSTHRU_SYSTEM_PREFIX
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.ClusterComputeResource, "ReconfigureComputeResource_Task", "ReconfigureCluster_Task")
def reconfigure(call: Call, this: Ref, args: Any) -> object:
    """Change a cluster. What the spec leaves out stays: ``modify`` False is refused."""
    live, moid, order = call.live, typetable.moid(this), call.order
    call.require(this)
    if not args.modify:
        raise not_supported("modify=false")
    wanted = cluster_order(args.spec, live.world.clusters[moid], live.world.group_table(moid))
    return live.start_with_groups(
        lambda: live.machine.edit_cluster(moid, wanted.edit, order.user, order.operation), moid, wanted.table
    )


@TABLE.method(vim.host.PciPassthruSystem, "UpdatePassthruConfig")
def update_passthru_config(call: Call, this: Ref, args: Any) -> object:
    """Enable passthrough of devices, and label them."""
    live = call.live
    call.require(this)
    host = typetable.moid(this).removeprefix(PASSTHRU_SYSTEM_PREFIX)
    edits = [_edit(item) for item in args.config]
    live.do(lambda: live.machine.set_passthrough(host, edits))
    return None


def _edit(item: Any) -> PassthroughEdit:
    refuse_others(item, ("id", "passthruEnabled", "applyNow", "hardwareLabel"), "config")
    if item.applyNow is False:
        raise not_supported("config.applyNow=false")
    try:
        address = PciAddress.parse(item.id)
    except ValueError as error:
        raise invalid_argument("config.id", f"{item.id!r} is no PCI address") from error
    return PassthroughEdit(address, item.passthruEnabled, item.hardwareLabel)


@TABLE.method(vim.host.PciPassthruSystem, "Refresh")
def refresh(call: Call, this: Ref, _args: Any) -> object:
    """Do nothing: what the lab tells is never old."""
    call.require(this)
    return None
