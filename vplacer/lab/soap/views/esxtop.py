"""The esxtop service of a host, as far as NUMA goes.

Columns and their spelling follow public samples of the service's text (lamw's Get-EsxtopAPI,
TheGabeMan/NUMAlocality-esxtop). Readers must take positions from CounterInfo, so here they need not be
those of any one release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.lab.model.state import Home
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire.typetable import Ref

_PAGE_BYTES = 4096
_TABLES: dict[str, tuple[str, ...]] = {
    "PMem": ("PhysicalMemInKB,U64", "NumOfNUMANodes,U32"),
    "NUMANode": ("NodeID,U32", "TotalInPages,U64", "FreeInPages,U64"),
    "SchedGroup": (
        "GroupID,U32",
        "GroupName,CSTR",
        "IsValid,U32",
        "IsVM,U32",
        "VMName,CSTR",
        "IsNUMAValid,U32",
        "HomeNodes,U64",
        "NumOfNUMANodes,U32",
        "NumOfBalanceMigrations,U32",
        "NumOfLocalitySwap,U32",
        "NumOfLoadSwap,U32",
        "RemoteMemoryInKB,U64",
        "LocalMemoryInKB,U64",
        "LocalityPct,U32",
    ),
}


def command(host: Host) -> Ref:
    """Return the reference of a host's esxtop command."""
    return vim.SimpleCommand(f"simpleCommand-esxtop-{host.moid}")


def service_info(host: Host) -> Any:
    """Return ``ServiceManagerServiceInfo``, by which the command is found."""
    return vim.ServiceManager.ServiceInfo(
        serviceName="Esxtop",
        location=[f"vmware.host.{host.name}"],
        service=command(host),
        description="Esxtop counters",
    )


def command_object(world: World, host: Host) -> Seen:
    """Return the command with its three arguments."""

    def execute(arguments: Sequence[str]) -> str:
        if list(arguments) == ["CounterInfo"]:
            return "".join(_line(table, columns) for table, columns in _TABLES.items())
        if list(arguments) == ["FetchStats"]:
            return sample(world, host)
        if list(arguments) == ["FreeStats"]:
            return ""
        raise vmodl.fault.InvalidArgument(
            invalidProperty="arguments", msg="esxtop knows CounterInfo, FetchStats and FreeStats"
        )

    return Seen(command(host), {}, {"ExecuteSimpleCommand": execute})


def sample(world: World, host: Host) -> str:
    """Return what FetchStats answers: the numbers of rows, then the rows."""
    rows = [*_memory_rows(host), *_vm_rows(world, host)]
    counts = "".join(_line(table, [str(sum(row[0] == table for row in rows))]) for table in _TABLES)
    values = "".join(_line(row[0], row[1:]) for row in rows)
    return f"==NUM-OF-OBJECTS==\n{counts}==COUNTER-VALUE==\n{values}"


def _line(table: str, fields: Sequence[str]) -> str:
    return f"|{'|'.join((table, *fields))}|\n"


def _memory_rows(host: Host) -> list[list[str]]:
    rows = [["PMem", str((host.memory_bytes or 0) // 1024), str(len(host.numa_nodes))]]
    for node in host.numa_nodes:
        pages = (node.memory_bytes or 0) // _PAGE_BYTES
        rows.append(["NUMANode", str(node.id), str(pages), str(pages)])
    return rows


def _vm_rows(world: World, host: Host) -> list[list[str]]:
    running = [vm for vm in world.inventory.vms_by_host.get(host.moid, ()) if vm.is_on]
    return [_vm_row(vm, world.state.home(vm), len(host.numa_nodes), n) for n, vm in enumerate(running, 1)]


def _vm_row(vm: Vm, home: Home | None, node_count: int, number: int) -> list[str]:
    memory_kib = vm.memory_mib * 1024
    percent = None if home is None else home.locality_percent
    local = 0 if home is None else memory_kib * (100 if percent is None else percent) // 100
    migrations = None if home is None else home.migrations
    return [
        "SchedGroup",
        str(1000 + number),
        f"vm.{40000 + number}",
        "1",
        "1",
        vm.name,
        "0" if home is None else "1",
        # A mask, one bit a node.
        str(0 if home is None else sum(1 << node for node in home.nodes)),
        str(node_count),
        "" if migrations is None else str(migrations),
        "0",
        "0",
        str(0 if home is None else memory_kib - local),
        str(local),
        "" if percent is None else str(percent),
    ]
