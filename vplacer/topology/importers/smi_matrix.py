"""Reads the text of ``nvidia-smi topo -m``.

The tool separates its cells by tabs, leaves a cell empty where it has nothing to say, and puts one
empty cell more before the last column than the heading has. Copies on the web have the tabs turned
into blanks, and some have columns glued together (``NIC11NIC12``, ``SYSSYS``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.errors import FileFormatError
from vplacer.inventory.pci import PciAddress, known_index

CPU_AFFINITY = "CPU Affinity"
NUMA_AFFINITY = "NUMA Affinity"
GPU_NUMA_ID = "GPU NUMA ID"

_ANSI_RE = re.compile(r"\x1b\[[0-9;]*m")
_LABEL_RE = re.compile(r"(?:GPU|NIC)\d+|[A-Za-z][\w.\-]*")
_WORD = r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC"
_WORD_RE = re.compile(rf"(?:{_WORD})\??|N/A|\?")
_SPACED_WORD_RE = re.compile(rf"\s*({_WORD_RE.pattern})")
_NIC_LEGEND_RE = re.compile(r"^\s*(NIC\d+):\s*(\S+)")
_BUS_HEAD_RE = re.compile(r"bus|bdf", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SmiRow:
    """One row. Affinity texts are as printed, None where there is none; ``line`` is 1-based."""

    label: str
    cells: tuple[str, ...]
    cpu_affinity: str | None
    numa_affinity: str | None
    gpu_numa_id: str | None
    address: PciAddress | None
    line: int

    @property
    def numa_node(self) -> int | None:
        """The one NUMA node named; None for a range ("0-3": the caller's cpuset), N/A or nothing."""
        text = self.numa_affinity or ""
        return known_index(int(text)) if re.fullmatch(r"\d+", text) else None


@dataclass(frozen=True, slots=True)
class SmiMatrix:
    """A matrix: a row a label, a cell a label. ``nic_names``: label to device name, from the legend."""

    labels: tuple[str, ...]
    rows: tuple[SmiRow, ...]
    nic_names: tuple[tuple[str, str], ...]

    @property
    def gpu_rows(self) -> tuple[SmiRow, ...]:
        """The rows of GPUs, in the tool's order."""
        return tuple(row for row in self.rows if is_gpu(row.label))

    def word(self, a: str, b: str) -> str:
        """Return the word between two labels.

        Raises:
            KeyError: a label is not in the matrix.
        """
        row = next((row for row in self.rows if row.label == a), None)
        if row is None or b not in self.labels:
            raise KeyError((a, b))
        return row.cells[self.labels.index(b)]


def is_gpu(label: str) -> bool:
    """Whether a label is a GPU's."""
    return re.fullmatch(r"GPU\d+", label) is not None


def parse_matrix(text: str, path: str = "<nvidia-smi topo -m>") -> SmiMatrix:
    """Parse the output of ``nvidia-smi topo -m``; lines before and after the matrix are skipped.

    Args:
        text: the output, or a copy of it.
        path: where it was read, for error messages.

    Raises:
        FileFormatError: no matrix, rows missing, or a matrix that contradicts itself.
    """
    lines = _ANSI_RE.sub("", text).splitlines()
    start = _find_head(lines)
    if start is None:
        raise FileFormatError(
            "no matrix found",
            path=path,
            hint="give the whole output of 'nvidia-smi topo -m', with the line of column headings",
        )
    tabbed = "\t" in lines[start]
    row_labels = _row_labels(lines[start + 1 :])
    columns = _columns(lines[start], tabbed)
    labels = tuple(name for name in columns if name in row_labels)
    strange = [name for name in columns if name not in row_labels and not _is_attribute(name)]
    if strange or not labels:
        raise FileFormatError(
            f"no row for column {strange[0] if strange else columns[0]}: the matrix is cut off",
            path=path,
            line=start + 1,
        )
    rows: list[SmiRow] = []
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        label = _first_word(line)
        if label in labels and label not in {row.label for row in rows}:
            make = _tabbed_row if tabbed else _spaced_row
            rows.append(make(line, label, columns, labels, path, number))
    names = [match.groups() for line in lines[start:] if (match := _NIC_LEGEND_RE.match(line))]
    matrix = SmiMatrix(labels, tuple(rows), tuple((label, name) for label, name in names))
    _check(matrix, path)
    return matrix


def _find_head(lines: Sequence[str]) -> int | None:
    """The line of headings: it names GPUs, and says nothing of how they are joined."""
    for index, line in enumerate(lines):
        if re.match(r"^\s*GPU\d+", line) and not _has_words(line):
            return index
    return None


def _has_words(line: str) -> bool:
    return any(_WORD_RE.fullmatch(token) for token in line.split())


def _first_word(line: str) -> str:
    tokens = line.split()
    return tokens[0] if tokens else ""


def _row_labels(lines: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for line in lines:
        if line.strip().startswith("Legend"):
            break
        tokens = line.split()
        if len(tokens) > 1 and (_SPACED_WORD_RE.match(tokens[1])):
            found.add(tokens[0])
    return frozenset(found)


def _columns(line: str, tabbed: bool) -> list[str]:
    """Return the headings, labels and attributes, in order."""
    if tabbed:
        cells = [cell.strip() for cell in line.split("\t")]
        return [cell for cell in cells if cell]
    front, *rest = re.split(rf"({CPU_AFFINITY})", line, maxsplit=1)
    columns = _LABEL_RE.findall(front)
    tail = "".join(rest)
    return columns + [name for name in (CPU_AFFINITY, NUMA_AFFINITY, GPU_NUMA_ID) if name in tail]


def _is_attribute(name: str) -> bool:
    return name in (CPU_AFFINITY, NUMA_AFFINITY, GPU_NUMA_ID) or _BUS_HEAD_RE.search(name) is not None


def _tabbed_row(
    line: str, label: str, columns: Sequence[str], labels: Sequence[str], path: str, number: int
) -> SmiRow:
    cells = [cell.strip() for cell in line.split("\t")]
    cells = cells[cells.index(label) + 1 :]
    by_name = dict(zip(columns, cells, strict=False))
    words = [by_name.get(name, "") for name in labels]
    for name, word in zip(labels, words, strict=True):
        if not _WORD_RE.fullmatch(word):
            raise FileFormatError(
                f"row {label}, column {name}: '{word}' is no word of the matrix", path=path, line=number
            )
    bus = next((by_name.get(name) for name in columns if _BUS_HEAD_RE.search(name)), None)
    last = next((cell for cell in reversed(cells[len(columns) - 1 :]) if cell), None)
    return SmiRow(
        label,
        tuple(words),
        by_name.get(CPU_AFFINITY) or None,
        by_name.get(NUMA_AFFINITY) or None,
        last if GPU_NUMA_ID in columns else None,
        _address(bus, path, number),
        number,
    )


def _spaced_row(
    line: str, label: str, columns: Sequence[str], labels: Sequence[str], path: str, number: int
) -> SmiRow:
    position = line.index(label) + len(label)
    words = []
    for name in labels:
        match = _SPACED_WORD_RE.match(line, position)
        if match is None:
            raise FileFormatError(f"row {label}: no word for column {name}", path=path, line=number)
        words.append(match[1])
        position = match.end()
    tail = line[position:].split()
    attributes = [name for name in columns if name not in labels]
    # With a cell missing, nothing tells which of the columns it was missing in.
    by_name = dict(zip(attributes, tail, strict=True)) if len(tail) == len(attributes) else {}
    return SmiRow(
        label,
        tuple(words),
        by_name.get(CPU_AFFINITY),
        by_name.get(NUMA_AFFINITY),
        by_name.get(GPU_NUMA_ID),
        None,
        number,
    )


def _address(text: str | None, path: str, number: int) -> PciAddress | None:
    if not text or text == "N/A":
        return None
    try:
        return PciAddress.parse(text)
    except ValueError as problem:
        raise FileFormatError(str(problem), path=path, line=number) from None


def _check(matrix: SmiMatrix, path: str) -> None:
    """Refuse a matrix whose columns were shifted or that was edited by halves."""
    for index, row in enumerate(matrix.rows):
        if row.label != matrix.labels[index]:
            raise FileFormatError(
                f"row {row.label} stands where {matrix.labels[index]} is expected", path=path, line=row.line
            )
        if row.cells[index] != "X":
            raise FileFormatError(
                f"row {row.label} has '{row.cells[index]}' for itself, not X", path=path, line=row.line
            )
        for other, word in zip(matrix.rows, row.cells, strict=True):
            if other.cells[index] != word:
                raise FileFormatError(
                    f"{row.label} to {other.label} is {word}, {other.label} to {row.label} is "
                    f"{other.cells[index]}: the matrix contradicts itself",
                    path=path,
                    line=row.line,
                )
