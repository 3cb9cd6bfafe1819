"""Which methods only read, so that they may be sent a second time."""

from __future__ import annotations

from typing import Final

REPEATABLE: Final = frozenset(
    {
        "CreateCollectorForTasks",
        "CreateContainerView",
        "CurrentTime",
        "DestroyCollector",
        "DestroyView",
        "ExecuteSimpleCommand",
        "ExecuteSoap",
        "FetchUserPrivilegeOnEntities",
        "FindChild",
        "HasPrivilegeOnEntities",
        "HasUserPrivilegeOnEntities",
        "Login",
        "QueryAssignedLicenses",
        "QueryConfigOptionDescriptor",
        "QueryConfigOptionEx",
        "QueryConfigTarget",
        "QueryDateTime",
        "QueryOptions",
        "QueryServiceList",
        "RetrieveDynamicPassthroughInfo",
        "RetrieveManagedMethodExecuter",
        "RetrievePropertiesEx",
        "RetrieveServiceContent",
        "RetrieveVendorDeviceGroupInfo",
        "RetrieveVgpuDeviceInfo",
        "RetrieveVgpuProfileInfo",
    }
)
"""Methods that may be sent again when a kept connection turns out to be closed. All others are sent once.

A view or a session made twice is dropped by the server at the end. Commands of hosts are run only to read:
those of esxtop, and lists of esxcli.
"""
