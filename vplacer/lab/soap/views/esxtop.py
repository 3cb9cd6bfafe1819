"""The esxtop service of a host, as far as NUMA goes.

Columns and their spelling follow public samples of the service's text (lamw's Get-EsxtopAPI,
TheGabeMan/NUMAlocality-esxtop). Readers must take positions from CounterInfo, so here they need not be
those of any one release.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.lab.model.state import Home, LabState
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire.typetable import Ref

_PAGE_BYTES = 4096
_MIB = 1024**2
_UNSTEADY_BYTES = 64 * _MIB
_PHASES = 3
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
    """Return the command with its three arguments. Samples differ: each third one is the same."""
    phases = itertools.cycle(range(_PHASES))

    def execute(arguments: Sequence[str]) -> str:
        if list(arguments) == ["CounterInfo"]:
            return "".join(_line(table, columns) for table, columns in _TABLES.items())
        if list(arguments) == ["FetchStats"]:
            return sample(world, host, next(phases))
        if list(arguments) == ["FreeStats"]:
            return ""
        raise vmodl.fault.InvalidArgument(
            invalidProperty="arguments", msg="esxtop knows CounterInfo, FetchStats and FreeStats"
        )

    return Seen(command(host), {}, {"ExecuteSimpleCommand": execute})


def sample(world: World, host: Host, phase: int = 1) -> str:
    """Return what FetchStats answers: the numbers of rows, then the rows.

    In phase 0 memory is as local as it gets, in 2 as little; 1 is between.
    """
    state = world.now
    rows = [*_memory_rows(state, host, phase), *_vm_rows(state, host, phase)]
    counts = "".join(_line(table, [str(sum(row[0] == table for row in rows))]) for table in _TABLES)
    values = "".join(_line(row[0], row[1:]) for row in rows)
    return f"==NUM-OF-OBJECTS==\n{counts}==COUNTER-VALUE==\n{values}"


def _line(table: str, fields: Sequence[str]) -> str:
    return f"|{'|'.join((table, *fields))}|\n"


def _memory_rows(state: LabState, host: Host, phase: int) -> list[list[str]]:
    """Return the host's memory and each node's: what running VMs of known home take of it is not free."""
    taken = dict.fromkeys((node.id for node in host.numa_nodes), phase * _UNSTEADY_BYTES)
    for vm in _running(state, host):
        home = state.home(vm)
        for node in home.nodes if home is not None else ():
            taken[node] = taken.get(node, 0) + vm.memory_mib * _MIB // len(home.nodes if home else ())
    rows = [["PMem", str((host.memory_bytes or 0) // 1024), str(len(host.numa_nodes))]]
    for node_ in host.numa_nodes:
        total = node_.memory_bytes or 0
        free = max(0, total - taken[node_.id])
        rows.append(["NUMANode", str(node_.id), str(total // _PAGE_BYTES), str(free // _PAGE_BYTES)])
    return rows


def _running(state: LabState, host: Host) -> list[Vm]:
    return [vm for vm in state.inventory.vms_by_host.get(host.moid, ()) if vm.is_on]


def _vm_rows(state: LabState, host: Host, phase: int) -> list[list[str]]:
    nodes = len(host.numa_nodes)
    return [
        _vm_row(vm, state.home(vm), nodes, number, phase)
        for number, vm in enumerate(_running(state, host), 1)
    ]


def _percent(home: Home | None, phase: int) -> int | None:
    if home is None or home.locality_low is None or home.locality_high is None:
        return None
    middle = (home.locality_low + home.locality_high + 1) // 2
    return (home.locality_high, middle, home.locality_low)[phase]


def _vm_row(vm: Vm, home: Home | None, node_count: int, number: int, phase: int) -> list[str]:
    memory_kib = vm.memory_mib * 1024
    percent = _percent(home, phase)
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
