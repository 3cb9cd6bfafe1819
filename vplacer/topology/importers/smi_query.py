"""Reads ``nvidia-smi --query-gpu=index,pci.bus_id --format=csv``: which PCI address each GPU number has.

More columns may stand beside the two. Without headings (``noheader``) the columns are told by their
content: one holds nothing but addresses, one the numbers 0, 1, ... once each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vplacer.errors import FileFormatError
from vplacer.inventory.pci import PciAddress

COMMAND = "nvidia-smi --query-gpu=index,pci.bus_id --format=csv"

_ADDRESS_HEADS = frozenset({"pci.bus_id", "gpu_bus_id", "bus_id"})
_ADDRESS_RE = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_NUMBER_RE = re.compile(r"[0-9]{1,4}")
_MIG_RE = re.compile(r"\s*MIG\b")

_Row = tuple[int, list[str]]


def parse_query(text: str, path: str) -> dict[int, PciAddress]:
    """Return addresses by GPU number.

    Raises:
        FileFormatError: number or address of a line cannot be told, or one stands twice; carries the line.
    """
    rows = [
        (number, [cell.strip() for cell in line.split(",")])
        for number, line in enumerate(text.splitlines(), start=1)
        # Lines of MIG instances stand between those of GPUs; they have no number of their own.
        if line.strip() and not line.startswith("#") and not _MIG_RE.match(line)
    ]
    if not rows:
        raise FileFormatError("no GPU is listed", path=path, hint=f"run: {COMMAND}")
    first = [cell.lower() for cell in rows[0][1]]
    headed = "index" in first or any(cell in _ADDRESS_HEADS for cell in first)
    if headed:
        rows = rows[1:]
        if not rows:
            raise FileFormatError("no GPU is listed below the headings", path=path, line=1)
        _same_width(rows, len(first), path)
        index, address = _headed(first, path)
    else:
        _same_width(rows, len(rows[0][1]), path)
        index, address = _unheaded(rows, path)
    return _table(rows, index, address, path)


def _headed(heads: Sequence[str], path: str) -> tuple[int, int]:
    indices = [place for place, head in enumerate(heads) if head == "index"]
    addresses = [place for place, head in enumerate(heads) if head in _ADDRESS_HEADS]
    if len(indices) != 1 or not addresses:
        missing = "index" if len(indices) != 1 else "pci.bus_id"
        raise FileFormatError(f"no column {missing}, or several", path=path, line=1, hint=f"run: {COMMAND}")
    return indices[0], addresses[0]


def _unheaded(rows: Sequence[_Row], path: str) -> tuple[int, int]:
    width = range(len(rows[0][1]))
    columns = [[cells[place] for _, cells in rows] for place in width]
    addresses = [p for p in width if all(_ADDRESS_RE.fullmatch(cell) for cell in columns[p])]
    wanted = sorted(range(len(rows)))
    indices = [
        p
        for p in width
        if all(_NUMBER_RE.fullmatch(cell) for cell in columns[p])
        and sorted(int(cell) for cell in columns[p]) == wanted
    ]
    if not addresses or len(indices) != 1:
        raise FileFormatError(
            "without headings it cannot be told which column is the GPU's number and which its address",
            path=path,
            line=rows[0][0],
            hint=f"run: {COMMAND}",
        )
    return indices[0], addresses[0]


def _same_width(rows: Sequence[_Row], width: int, path: str) -> None:
    for number, cells in rows:
        if len(cells) != width:
            raise FileFormatError(f"{len(cells)} cells where {width} are expected", path=path, line=number)


def _table(rows: Sequence[_Row], index: int, address: int, path: str) -> dict[int, PciAddress]:
    found: dict[int, PciAddress] = {}
    for number, cells in rows:
        if not _NUMBER_RE.fullmatch(cells[index]):
            raise FileFormatError(f"'{cells[index][:40]}' is no GPU number", path=path, line=number)
        if not _ADDRESS_RE.fullmatch(cells[address]):
            raise FileFormatError(f"'{cells[address][:40]}' is no PCI address", path=path, line=number)
        try:
            at = PciAddress.parse(cells[address])
        except ValueError as problem:
            raise FileFormatError(str(problem), path=path, line=number) from None
        gpu = int(cells[index])
        if gpu in found or at in found.values():
            raise FileFormatError(f"GPU {gpu} or its address {at} stands twice", path=path, line=number)
        found[gpu] = at
    return found
