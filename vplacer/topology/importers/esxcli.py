"""Reads ``esxcli hardware pci list``, as text and with ``--formatter=csv``, ``json`` or ``xml``.

Bases are mixed (ESXi's own output): ``Address`` is hexadecimal, ``Parent Device`` and ``Dependent
Device`` are decimal, ids are hexadecimal with 0x in text and plain numbers in JSON. ``NUMA Node`` and
``Physical Slot`` are 4294967295 or -1 where ESXi knows none. Builds leave fields out or empty. Names of
fields differ by formatter ("NUMA Node", "NUMANode"), so they are compared by their letters alone.
``esxcli hardware pci pcipassthru list`` is another, two-column table, without NUMA nodes.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from vplacer.errors import FileFormatError
from vplacer.inventory.pci import PciAddress
from vplacer.topology.esxcli_device import read_device
from vplacer.topology.importers.facts import DeviceFact, Facts
from vplacer.topology.importers.safe_xml import Element, parse_xml, root_tag

TOOL = "esxcli hardware pci list"
_HEAD_RE = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_FIELD_RE = re.compile(r"\s+(?P<name>[A-Za-z][\w ]*?):(?:\s+(?P<value>.*?))?\s*", re.ASCII)
_TABLE_RE = re.compile(r"^Device ID\s+Enabled\s*$", re.MULTILINE)


@dataclass(slots=True)
class Record:
    """One device as listed: values by the letters of their names, each as text; the line it starts on."""

    line: int
    values: dict[str, str]


def recognises(text: str) -> bool:
    """Whether a text is such a listing, in any of its formats, or the table of `pcipassthru list`."""
    start = text.lstrip()
    if start.startswith("<"):
        return root_tag(text) == "output"
    if start.startswith(("[", "{")):
        return '"Address"' in text
    if _TABLE_RE.search(text):
        return True
    names = {_letters(name) for name in _first_line(text).split(",")}
    return {"address", "vendorid"} <= names or any(_blocks_start(line) for line in text.splitlines())


def read(text: str, path: str) -> Facts:
    """Read the listing.

    Raises:
        FileFormatError: it is no such listing, or a value in it cannot be; carries the line.
    """
    return listing_facts(records(text, path), path)


def records(text: str, path: str) -> list[Record]:
    """Return the devices of a listing, whatever its format.

    Raises:
        FileFormatError: it is no such listing.
    """
    start = text.lstrip()
    if start.startswith("<"):
        found = list(_from_xml(text, path))
    elif start.startswith(("[", "{")):
        found = list(_from_json(text, path))
    elif _TABLE_RE.search(text):
        raise FileFormatError(
            "this is the table of 'esxcli hardware pci pcipassthru list', which tells no NUMA node",
            path=path,
            hint="take: esxcli hardware pci list",
        )
    elif "address" in {_letters(name) for name in _first_line(text).split(",")}:
        found = list(_from_csv(text, path))
    else:
        found = list(_from_text(text, path))
    if not found:
        raise FileFormatError("no device is listed", path=path, hint="take: esxcli hardware pci list")
    return found


def listing_facts(listed: list[Record], path: str) -> Facts:
    """Return the facts of a listing.

    Raises:
        FileFormatError: a value cannot be, or an address stands twice.
    """
    devices: dict[PciAddress, DeviceFact] = {}
    silent = 0
    for record in listed:
        fact = _device(record, path)
        if fact.address in devices:
            raise FileFormatError(
                f"{fact.address} stands twice",
                path=path,
                line=record.line,
                why=f"the first is line {devices[fact.address].line}",
            )
        devices[fact.address] = fact
        silent += "numanode" not in record.values
    notes = []
    if silent:
        notes.append(f"{silent} of {len(devices)} devices are listed without the line NUMA Node")
    return Facts(tool=TOOL, devices=tuple(devices.values()), notes=tuple(notes))


def _device(record: Record, path: str) -> DeviceFact:
    try:
        device = read_device(record.values)
    except ValueError as problem:
        raise FileFormatError(str(problem), path=path, line=record.line) from None
    if device.unread:
        raise FileFormatError(device.unread[0], path=path, line=record.line)
    return DeviceFact(
        label=str(device.address),
        address=device.address,
        line=record.line,
        ids=device.plain_ids,
        class_id=device.class_id,
        node=device.numa_node,
        parent=device.parent,
        dependent=device.dependent,
        needed=device.class_id is not None and device.class_id >> 8 in (0x03, 0x12),
    )


def _address(text: str, path: str, line: int) -> PciAddress:
    try:
        return PciAddress.parse(text)
    except ValueError as problem:
        raise FileFormatError(str(problem), path=path, line=line) from None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _blocks_start(line: str) -> bool:
    return _HEAD_RE.fullmatch(line.rstrip()) is not None


def _from_text(text: str, path: str) -> Iterator[Record]:
    """Read the blocks: an address at the margin, then fields that are set in.

    Lines before the first block are skipped (prompts, notes); after it every line must belong to one.
    """
    record: Record | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if _blocks_start(line):
            if record is not None:
                yield record
            record = Record(number, {})
            continue
        if record is None:
            continue
        field = _FIELD_RE.fullmatch(line)
        if field is None:
            raise FileFormatError(f"'{line.strip()[:40]}' is no field of a device", path=path, line=number)
        _put(record, field["name"], field["value"] or "", path, number)
        if _letters(field["name"]) == "address":
            _same_as_head(record, text.splitlines()[record.line - 1], path, number)
    if record is not None:
        yield record


def _same_as_head(record: Record, head: str, path: str, number: int) -> None:
    if _address(record.values["address"], path, number) != _address(head, path, record.line):
        raise FileFormatError(
            f"Address {record.values['address']} stands below {head.strip()}", path=path, line=number
        )


def _put(record: Record, name: str, value: str, path: str, number: int) -> None:
    key = _letters(name)
    if key in record.values:
        raise FileFormatError(f"the field '{name}' is given twice", path=path, line=number)
    record.values[key] = value


def _from_csv(text: str, path: str) -> Iterator[Record]:
    """Read the CSV; every line of it ends in a comma, so the last column has no name."""
    rows = csv.reader(text.splitlines(), strict=True)
    try:
        names: list[str] = []
        for row in rows:
            if not any(row):
                continue
            if not names:
                names = [_letters(name) for name in row]
                continue
            if len(row) != len(names):
                raise FileFormatError(
                    f"{len(row)} cells, the headings have {len(names)}", path=path, line=rows.line_num
                )
            record = Record(rows.line_num, {})
            for name, value in zip(names, row, strict=True):
                if name:
                    _put(record, name, value, path, rows.line_num)
            yield record
    except csv.Error as error:
        raise FileFormatError("not valid CSV", path=path, line=rows.line_num, why=str(error)) from None


def _from_json(text: str, path: str) -> Iterator[Record]:
    from vplacer.inventory.yaml_marks import parse_document

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError("not valid JSON", path=path, line=error.lineno, why=error.msg) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError("not valid JSON", path=path, why=str(error)[:80]) from None
    document = parse_document(text, path)
    data = document.data
    if not isinstance(data, list):
        raise document.error((), "a list of devices is needed")
    for index, item in enumerate(data):
        mark = document.mark((index,))
        record = Record(mark.line if mark else 1, {})
        if not isinstance(item, dict):
            raise document.error((index,), "a device with its fields is needed")
        for name, value in item.items():
            if isinstance(value, str | int) and not isinstance(value, bool):
                _put(record, name, str(value), path, record.line)
        yield record


def _from_xml(text: str, path: str) -> Iterator[Record]:
    root = parse_xml(text, path)
    if root.tag != "output":
        raise FileFormatError("the root element is not 'output'", path=path, line=root.line)
    for element in root.walk():
        if element.tag != "structure":
            continue
        record = Record(element.line, {})
        for entry in element.all("field"):
            name = entry.get("name")
            if name is None:
                raise FileFormatError("<field> without name", path=path, line=entry.line)
            _put(record, name, _content(entry), path, entry.line)
        yield record


def _content(entry: Element) -> str:
    """Return the text of a field: it stands in an element of its type (``<string>``, ``<int>``)."""
    return "".join(element.text for element in entry.walk()).strip()
