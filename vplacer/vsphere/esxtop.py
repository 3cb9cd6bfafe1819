"""What esxtop knows of a host, read through vCenter: where each VM lives, and memory near and far.

vCenter offers every host's ``Esxtop`` service as a SimpleCommand (vSphere API:
ServiceManager.QueryServiceList, SimpleCommand.Execute; privilege Global.ServiceManagers). The service
is not documented: tables and columns change between releases, so positions come from its own
``CounterInfo`` and never from a number. Both answers are lines of fields between bars; FetchStats has
sections, of which the rows are in the second::

    |SchedGroup|GroupID,U32|GroupName,CSTR|...|        CounterInfo, one line a table
    ==NUM-OF-OBJECTS==
    |SchedGroup|612|
    ==COUNTER-VALUE==
    |SchedGroup|13567824|vm.4430541|...|               FetchStats, one line a row

How ``HomeNodes`` names nodes is not documented. It is read as a mask, one bit a node: public samples of
two-node hosts (TheGabeMan/NUMAlocality-esxtop, and Go parsers of the same text) show 1, 2 and 3, which are
no node numbers from 0. Where a host contradicts that, with a bit beyond its nodes or a 0 for a VM that it
manages, its home nodes are kept as the text they are. A column that is not there is "not measured"; so is
everything where the privilege is missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vplacer.errors import PermissionMissing, VSphereError, VSphereFault
from vplacer.vsphere.raw import MoRef, RawReader, data_items

VM_TABLE = "SchedGroup"
NODE_TABLE = "NUMANode"
_VM_PREFIX = "vm."
_KIB_PER_PAGE = 4
_LONGEST_COUNTER = 20
"""Digits of the largest number of 64 bits."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class VmSample:
    """One VM at one moment; None = the column is absent, or its text is not used.

    ``home_nodes`` are pNUMA ids, None where the text is not understood. ``managed`` False: the host says
    that its NUMA scheduler does not manage the VM.
    """

    name: str
    managed: bool
    home_nodes: tuple[int, ...] | None
    home_text: str
    locality_percent: int | None
    remote_kib: int | None
    local_kib: int | None
    balance_migrations: int | None


@dataclass(frozen=True, slots=True)
class NodeSample:
    """One pNUMA node at one moment."""

    node: int
    total_kib: int | None
    free_kib: int | None


@dataclass(frozen=True, slots=True)
class HostSample:
    """One host at one moment, or why it was not measured. ``notes``: what was left out, a sentence each."""

    vms: tuple[VmSample, ...] = ()
    nodes: tuple[NodeSample, ...] = ()
    not_measured: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Esxtop:
    """The esxtop service of one host, and the columns of its tables; or why there is none."""

    command: MoRef | None = None
    schema: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_measured: str | None = None


def open_esxtop(reader: RawReader, service_manager: MoRef | None, host_name: str) -> Esxtop:
    """Find the esxtop service of a host and ask for its columns.

    Args:
        reader: the vCenter.
        service_manager: from the service content; None = the server has none.
        host_name: the host's name in vCenter.

    Returns:
        The service. A server or an account that offers none is no error: `not_measured` says why.

    Raises:
        VSphereError: the connection or the session is lost.
    """
    if service_manager is None:
        return Esxtop(not_measured="the vCenter has no service manager")
    try:
        command = _esxtop_service(reader, service_manager, host_name)
        if command is None:
            return Esxtop(not_measured="the host offers no esxtop service")
        schema = parse_schema(_freeing(reader, command, "CounterInfo"))
    except (PermissionMissing, VSphereFault) as error:
        return Esxtop(not_measured=_why(error))
    columns = schema.get(VM_TABLE)
    if columns is None:
        return Esxtop(not_measured=f"this release's esxtop service has no table {VM_TABLE}")
    if "VMName" not in columns or "HomeNodes" not in columns:
        return Esxtop(not_measured="this release's esxtop service names no home nodes")
    return Esxtop(command, schema)


def take_sample(reader: RawReader, esxtop: Esxtop, nodes: Collection[int]) -> HostSample:
    """Take one sample of a host.

    Args:
        reader: the vCenter.
        esxtop: the host's service.
        nodes: the host's pNUMA ids; empty = not known.

    Raises:
        VSphereError: the connection or the session is lost.
    """
    if esxtop.command is None:
        return HostSample(not_measured=esxtop.not_measured)
    try:
        text = _freeing(reader, esxtop.command, "FetchStats")
    except (PermissionMissing, VSphereFault) as error:
        return HostSample(not_measured=_why(error))
    return read_sample(esxtop.schema, text, nodes)


def _why(error: VSphereError) -> str:
    return error.why or error.what


def _esxtop_service(reader: RawReader, service_manager: MoRef, host_name: str) -> MoRef | None:
    listed = reader.call(service_manager, "QueryServiceList", {"location": [f"vmware.host.{host_name}"]})
    for entry in data_items(listed):
        if entry.text("serviceName") == "Esxtop":
            return entry.ref("service")
    return None


def _freeing(reader: RawReader, command: MoRef, argument: str) -> str:
    """Run a command; the host frees what it took for it, even after a failure."""
    try:
        return _execute(reader, command, argument)
    finally:
        with contextlib.suppress(VSphereError):
            _execute(reader, command, "FreeStats")


def _execute(reader: RawReader, command: MoRef, argument: str) -> str:
    answer = reader.call(command, "ExecuteSimpleCommand", {"arguments": [argument]})
    return answer if isinstance(answer, str) else ""


def parse_schema(text: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table in the text of CounterInfo."""
    tables: dict[str, tuple[str, ...]] = {}
    for fields in _lines(text):
        tables[fields[0]] = tuple(field.partition(",")[0].strip() for field in fields[1:])
    return tables


def parse_rows(schema: Mapping[str, Sequence[str]], text: str, table: str) -> tuple[list[Row], int]:
    """Return the rows of one table in the text of FetchStats, by column name, and how many did not fit.

    A row with more or fewer fields than columns is not guessed at: a bar in a VM's name would shift
    every column after it, and how esxtop escapes one is not documented.
    """
    columns = schema.get(table, ())
    rows: list[Row] = []
    skipped = 0
    _, separator, section = text.partition("==COUNTER-VALUE==")
    if separator:
        text = section.partition("\n==")[0]
    for fields in _lines(text):
        if fields[0] != table:
            continue
        if len(fields) - 1 == len(columns):
            rows.append(dict(zip(columns, fields[1:], strict=True)))
        else:
            skipped += 1
    return rows, skipped


def _lines(text: str) -> list[list[str]]:
    found = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("|") and stripped.endswith("|") and len(stripped) > 2:
            found.append(stripped[1:-1].split("|"))
    return found


def read_sample(schema: Mapping[str, Sequence[str]], text: str, nodes: Collection[int]) -> HostSample:
    """Return what one answer of FetchStats tells, VMs in the order of their names.

    Args:
        schema: columns by table.
        text: answer of FetchStats.
        nodes: the host's pNUMA ids; empty = as many as each row says, from 0.
    """
    rows, skipped = parse_rows(schema, text, VM_TABLE)
    notes: list[str] = []
    if skipped:
        what = "1 row does" if skipped == 1 else f"{skipped} rows do"
        notes.append(f"{what} not fit esxtop's columns, as when a VM's name holds a bar; left out")
    vms = [_vm_sample(row, nodes, notes) for row in rows if row["VMName"] and _is_vm(row)]
    if any(vm.managed and vm.home_text.strip() == "0" for vm in vms):
        notes.append("home nodes are not understood: esxtop gives 0 for a VM, so they are no masks")
        vms = [replace(vm, home_nodes=None) for vm in vms]
    table, lost = parse_rows(schema, text, NODE_TABLE)
    if lost:
        notes.append("some rows of node memory do not fit esxtop's columns and were left out")
    found = tuple(sample for row in table if (sample := _node_sample(row, nodes, notes)) is not None)
    return HostSample(
        vms=tuple(sorted(vms, key=lambda vm: vm.name)),
        nodes=tuple(sorted(found, key=lambda sample: sample.node)),
        notes=tuple(notes),
    )


def _is_vm(row: Row) -> bool:
    return row.get("GroupName", row.get("Name", "")).startswith(_VM_PREFIX)


def _vm_sample(row: Row, nodes: Collection[int], notes: list[str]) -> VmSample:
    name = row["VMName"]
    percent = _number(row, "LocalityPct", name, notes)
    if percent is not None and percent > 100:
        notes.append(f"{name}: LocalityPct is {percent}, more than 100; left out")
        percent = None
    return VmSample(
        name=name,
        managed=row.get("IsNUMAValid", "1").strip().lower() not in ("0", "false"),
        home_nodes=_home_nodes(row, nodes),
        home_text=row["HomeNodes"],
        locality_percent=percent,
        remote_kib=_number(row, "RemoteMemoryInKB", name, notes),
        local_kib=_number(row, "LocalMemoryInKB", name, notes),
        balance_migrations=_number(row, "NumOfBalanceMigrations", name, notes),
    )


def _home_nodes(row: Row, nodes: Collection[int]) -> tuple[int, ...] | None:
    text = row["HomeNodes"].strip()
    if not _is_number(text):
        return None
    count = row.get("NumOfNUMANodes", "").strip()
    known = set(nodes) or set(range(int(count) if _is_number(count) and len(count) < 4 else 0))
    mask = int(text)
    told = tuple(node for node in range(mask.bit_length()) if mask >> node & 1)
    return told if told and known.issuperset(told) else None


def _node_sample(row: Row, nodes: Collection[int], notes: list[str]) -> NodeSample | None:
    node = _number(row, "NodeID", "a NUMA node", notes)
    if node is None:
        return None
    if nodes and node not in nodes:
        notes.append(f"esxtop tells of NUMA node {node}, which vCenter does not know; left out")
        return None
    total = _number(row, "TotalInPages", f"NUMA node {node}", notes)
    free = _number(row, "FreeInPages", f"NUMA node {node}", notes)
    return NodeSample(
        node,
        None if total is None else total * _KIB_PER_PAGE,
        None if free is None else free * _KIB_PER_PAGE,
    )


def _number(row: Row, column: str, whose: str, notes: list[str]) -> int | None:
    """Return a number that cannot be negative; None = not told, or told as something else."""
    text = row.get(column, "").strip()
    if _is_number(text):
        return int(text)
    if text:
        notes.append(f"{whose}: {column} is '{text[:40]}', not a number; left out")
    return None


def _is_number(text: str) -> bool:
    """Whether a text is a number of 64 bits at most, or nearly: longer ones are no counters."""
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_COUNTER
