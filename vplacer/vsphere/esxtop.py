"""What esxtop knows of a host's VMs, read through vCenter: where each lives and how local its memory is.

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

``HomeNodes`` is a mask, one bit a node: public samples of two-node hosts (NumOfNUMANodes 2) show 1, 2 and
3 (TheGabeMan/NUMAlocality-esxtop and Go parsers of the same text). A mask with a bit beyond the host's
nodes is not believed. A column that is not there is "not measured"; so is everything where the
privilege is missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vplacer.errors import PermissionMissing, VSphereError, VSphereFault
from vplacer.vsphere.raw import MoRef, RawReader, data_items

VM_TABLE = "SchedGroup"
_VM_PREFIX = "vm."

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class VmSample:
    """One VM at one moment; None = the column is absent or not a number.

    ``home_nodes`` are physical node numbers, None where the host says that it does not manage the VM's
    NUMA placement, or in a form that is not understood. ``host_node_count`` is the host's.
    """

    name: str
    group: str
    home_nodes: tuple[int, ...] | None
    host_node_count: int | None
    locality_percent: int | None
    remote_kib: int | None
    local_kib: int | None
    balance_migrations: int | None
    locality_swaps: int | None
    load_swaps: int | None


@dataclass(frozen=True, slots=True)
class HostSample:
    """One host's VMs, or why they were not measured. ``skipped_rows`` fit no table's columns."""

    vms: tuple[VmSample, ...] = ()
    not_measured: str | None = None
    skipped_rows: int = 0


def measure(reader: RawReader, service_manager: MoRef | None, host_name: str) -> HostSample:
    """Take one sample of a host.

    Args:
        reader: the vCenter.
        service_manager: from the service content; None = the server has none.
        host_name: the host's name in vCenter.

    Returns:
        The sample. A server or an account that cannot give one is no error: `not_measured` says why.

    Raises:
        VSphereError: the connection or the session is lost.
    """
    if service_manager is None:
        return HostSample(not_measured="the vCenter has no service manager")
    try:
        command = _esxtop_service(reader, service_manager, host_name)
        if command is None:
            return HostSample(not_measured="the host offers no esxtop service")
        schema, rows = _fetch(reader, command)
    except PermissionMissing as error:
        return HostSample(not_measured=error.why or "the account lacks Global.ServiceManagers")
    except VSphereFault as error:
        return HostSample(not_measured=error.why or error.what)
    return vm_samples(schema, rows)


def _esxtop_service(reader: RawReader, service_manager: MoRef, host_name: str) -> MoRef | None:
    listed = reader.call(service_manager, "QueryServiceList", {"location": [f"vmware.host.{host_name}"]})
    for entry in data_items(listed):
        if entry.text("serviceName") == "Esxtop":
            return entry.ref("service")
    return None


def _fetch(reader: RawReader, command: MoRef) -> tuple[str, str]:
    """Return the texts of CounterInfo and FetchStats. The host frees the sample even after a failure."""
    try:
        schema = _execute(reader, command, "CounterInfo")
        return schema, _execute(reader, command, "FetchStats")
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


def vm_samples(schema_text: str, rows_text: str) -> HostSample:
    """Return the VMs in one sample, in the order of their names.

    Args:
        schema_text: answer of CounterInfo.
        rows_text: answer of FetchStats.
    """
    schema = parse_schema(schema_text)
    columns = schema.get(VM_TABLE, ())
    if "VMName" not in columns or "HomeNodes" not in columns:
        return HostSample(not_measured="this release's esxtop service names no home nodes")
    rows, skipped = parse_rows(schema, rows_text, VM_TABLE)
    vms = [_vm_sample(row) for row in rows if row["VMName"] and _group(row).startswith(_VM_PREFIX)]
    return HostSample(tuple(sorted(vms, key=lambda vm: (vm.name, vm.group))), None, skipped)


def _group(row: Row) -> str:
    return row.get("GroupName", row.get("Name", ""))


def _vm_sample(row: Row) -> VmSample:
    return VmSample(
        name=row["VMName"],
        group=_group(row),
        home_nodes=_home_nodes(row),
        host_node_count=_number(row, "NumOfNUMANodes"),
        locality_percent=_number(row, "LocalityPct"),
        remote_kib=_number(row, "RemoteMemoryInKB"),
        local_kib=_number(row, "LocalMemoryInKB"),
        balance_migrations=_number(row, "NumOfBalanceMigrations"),
        locality_swaps=_number(row, "NumOfLocalitySwap"),
        load_swaps=_number(row, "NumOfLoadSwap"),
    )


def _home_nodes(row: Row) -> tuple[int, ...] | None:
    if row.get("IsNUMAValid", "1").strip().lower() in ("0", "false"):
        return None
    mask = _number(row, "HomeNodes")
    count = _number(row, "NumOfNUMANodes")
    if mask is None or count is None or not 0 < mask < 1 << count:
        return None
    return tuple(node for node in range(count) if mask >> node & 1)


def _number(row: Row, column: str) -> int | None:
    text = row.get(column, "").strip()
    return int(text) if text.lstrip("-").isdigit() else None
