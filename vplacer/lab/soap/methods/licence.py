"""LicenseAssignmentManager. The answers are the site's."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.LicenseAssignmentManager, "QueryAssignedLicenses")
def query_assigned_licenses(call: Call, this: Ref, args: Any) -> object:
    """List which object has which licence; all, or those of one object."""
    return call.answer(this, entity_id=args.entityId)
