"""Reads the text of ``nvidia-smi topo -m``.

The tool separates its cells by tabs, leaves a cell empty where it has nothing to say, and puts one
empty cell more before the last column than the heading has. Copies on the web have the tabs turned
into blanks, and some have columns glued together (``NIC11NIC12``, ``SYSSYS``). `vplacer topology show
--format matrix` prints the same, and a legend of addresses that nvidia-smi does not have. A
row whose cells do not add up is refused by its line: nothing tells then which column each belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vplacer.errors import FileFormatError
from vplacer.inventory.pci import PciAddress, known_index

CPU_AFFINITY = "CPU Affinity"
NUMA_AFFINITY = "NUMA Affinity"
GPU_NUMA_ID = "GPU NUMA ID"

_ATTRIBUTES = (CPU_AFFINITY, NUMA_AFFINITY, GPU_NUMA_ID)
_ANSI_RE = re.compile(r"\x1b\[[0-9;]*m")
_LABEL_RE = re.compile(r"(?:GPU|NIC)[0-9]+|[A-Za-z][\w.\-]*", re.ASCII)
_WORD = r"X|NV[0-9]{1,3}|PIX|PXB|PHB|NODE|SYS|SOC"
_WORD_RE = re.compile(rf"(?:{_WORD})\??|N/A|\?")
_SPACED_WORD_RE = re.compile(rf"\s*({_WORD_RE.pattern})")
_LEGEND_RE = re.compile(r"^\s*((?:GPU|NIC)[0-9]+):\s*(\S+)")
_ADDRESS_RE = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]")
_BUS_HEAD_RE = re.compile(r"bus|bdf", re.IGNORECASE)
_DEVICE_RE = re.compile(r"(?:GPU|NIC)[0-9]+")
_INDEX_RE = re.compile(r"[0-9]{1,10}")
_RANGES_RE = re.compile(r"[0-9]{1,10}(?:[-,][0-9]{1,10})*|N/A|-1|\?|")
_ATTRIBUTE_RE = {
    CPU_AFFINITY: _RANGES_RE,
    NUMA_AFFINITY: _RANGES_RE,
    GPU_NUMA_ID: re.compile(r"[0-9]{1,10}|N/A|-1|\?|"),
}


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
        return known_index(int(text)) if _INDEX_RE.fullmatch(text) else None

    @property
    def several_nodes(self) -> bool:
        """Whether the NUMA affinity names several nodes."""
        text = self.numa_affinity or ""
        return text[:1].isdigit() and not text.isdigit()


@dataclass(frozen=True, slots=True)
class SmiMatrix:
    """A matrix: a row a label, a cell a label.

    ``nic_names`` (label to device name) and ``nic_addresses`` are from the legend.
    """

    labels: tuple[str, ...]
    rows: tuple[SmiRow, ...]
    nic_names: tuple[tuple[str, str], ...]
    nic_addresses: tuple[tuple[str, PciAddress], ...] = ()

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
    return re.fullmatch(r"GPU[0-9]+", label) is not None


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
    columns = _columns(lines[start], tabbed)
    body = _body(lines, start, columns)
    labels = _labels(columns, body, path, start + 1)
    make = _tabbed_row if tabbed else _spaced_row
    rows = tuple(make(line, columns, labels, path, number) for number, line in body)
    _refuse_shifted_attributes(rows, path, start + 1)
    if tabbed:
        _same_width(lines, [row.line for row in rows if is_gpu(row.label)], path)
    names, addresses = _legend(lines[start:])
    rows = tuple(row if row.address else replace(row, address=addresses.get(row.label)) for row in rows)
    nics = tuple((label, at) for label, at in addresses.items() if not is_gpu(label))
    matrix = SmiMatrix(labels, rows, tuple(names.items()), nics)
    _check(matrix, path)
    return matrix


def _legend(lines: Sequence[str]) -> tuple[dict[str, str], dict[str, PciAddress]]:
    """Return names by label, and addresses by label, of lines such as ``NIC0: mlx5_0``."""
    names: dict[str, str] = {}
    addresses: dict[str, PciAddress] = {}
    for line in lines:
        match = _LEGEND_RE.match(line)
        if match is None:
            continue
        label, text = match.groups()
        if _ADDRESS_RE.fullmatch(text):
            addresses[label] = PciAddress.parse(text)
        elif not is_gpu(label):
            names[label] = text
    return names, addresses


def _find_head(lines: Sequence[str]) -> int | None:
    """The line of headings: it names GPUs, and says nothing of how they are joined."""
    for index, line in enumerate(lines):
        if re.match(r"^\s*GPU[0-9]+", line) and not _has_words(line):
            return index
    return None


def has_heading(text: str) -> bool:
    """Whether a text has a line of column headings as ``nvidia-smi topo -m`` prints."""
    return _find_head(_ANSI_RE.sub("", text).splitlines()) is not None


def _has_words(line: str) -> bool:
    return any(_WORD_RE.fullmatch(token) for token in line.split())


def _body(lines: Sequence[str], start: int, columns: Sequence[str]) -> list[tuple[int, str]]:
    """Return the rows below the headings, with their line numbers: up to the legend."""
    found = []
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        if line.strip().startswith("Legend"):
            break
        tokens = line.split()
        if len(tokens) < 2 or not _SPACED_WORD_RE.match(tokens[1]):
            continue
        words = [token for token in tokens[1:] if _WORD_RE.fullmatch(token)]
        if tokens[0] in columns or _DEVICE_RE.fullmatch(tokens[0]) or len(words) > 1:
            found.append((number, line))
    return found


def _columns(line: str, tabbed: bool) -> list[str]:
    """Return the headings, labels and attributes, in order."""
    if tabbed:
        cells = [cell.strip() for cell in line.split("\t")]
        return [cell for cell in cells if cell]
    front, *rest = re.split(rf"({CPU_AFFINITY})", line, maxsplit=1)
    tail = "".join(rest)
    return _LABEL_RE.findall(front) + [name for name in _ATTRIBUTES if name in tail]


def _labels(columns: Sequence[str], body: Sequence[tuple[int, str]], path: str, head: int) -> tuple[str, ...]:
    """Return the labels; every one must have its column and its row, once."""
    rows: dict[str, int] = {}
    for number, line in body:
        label = line.split()[0]
        if label in rows:
            raise FileFormatError(
                f"row {label} stands twice", path=path, line=number, why=f"the first is line {rows[label]}"
            )
        rows[label] = number
    labels = tuple(name for name in columns if name in rows)
    strange = [name for name in columns if name not in rows and not _is_attribute(name)]
    if strange or not labels:
        raise FileFormatError(
            f"no row for column {strange[0] if strange else columns[0]}: the matrix is cut off",
            path=path,
            line=head,
        )
    for index, name in enumerate(columns):
        if columns.count(name) > 1:
            raise FileFormatError(f"column {name} stands twice", path=path, line=head)
        if name in labels and labels[min(index, len(labels) - 1)] != name:
            raise FileFormatError(f"column {name} stands after other columns", path=path, line=head)
    for label, number in rows.items():
        if label not in labels:
            raise FileFormatError(f"no column for row {label}", path=path, line=number)
    _refuse_lost_attribute(columns, path, head)
    return labels


def _refuse_shifted_attributes(rows: Sequence[SmiRow], path: str, head: int) -> None:
    """A list of CPUs that is one number in every row is the next column's: the first was cut out."""
    told = [row.cpu_affinity for row in rows if row.cpu_affinity is not None]
    if len(told) > 1 and all(_INDEX_RE.fullmatch(text) for text in told):
        raise FileFormatError(
            f"the column {CPU_AFFINITY} holds one number a row, no CPUs: the text was changed",
            path=path,
            line=head,
        )


def _refuse_lost_attribute(columns: Sequence[str], path: str, head: int) -> None:
    """The tool prints each attribute only after those before it; one that is missing was cut out."""
    there = [name for name in _ATTRIBUTES if name in columns]
    for name, expected in zip(there, _ATTRIBUTES, strict=False):
        if name != expected:
            raise FileFormatError(
                f"the column {expected} is missing before {name}: the text was changed", path=path, line=head
            )


def _is_attribute(name: str) -> bool:
    return name in _ATTRIBUTES or _BUS_HEAD_RE.search(name) is not None


def _tabbed_row(line: str, columns: Sequence[str], labels: Sequence[str], path: str, number: int) -> SmiRow:
    label = line.split(maxsplit=1)[0]
    cells = [cell.strip() for cell in line.split("\t")]
    if label not in cells:
        raise FileFormatError(
            f"row {label} has no tabs, the headings have: the text was changed", path=path, line=number
        )
    cells = cells[cells.index(label) + 1 :]
    words = (cells + [""] * len(labels))[: len(labels)]
    for name, word in zip(labels, words, strict=True):
        if not _WORD_RE.fullmatch(word):
            raise FileFormatError(
                f"row {label}, column {name}: '{word}' is no word of the matrix", path=path, line=number
            )
    values = _attributes(label, cells[len(labels) :], columns[len(labels) :], path, number)
    bus = next((values[name] for name in values if _BUS_HEAD_RE.search(name)), None)
    return _row(label, words, values, _address(bus, path, number), path, number)


def _attributes(
    label: str, cells: Sequence[str], names: Sequence[str], path: str, number: int
) -> dict[str, str]:
    """Give the cells after the words to their columns; a count that does not fit is refused.

    The tool prints an empty cell too many before "GPU NUMA ID", and a NIC has no cells or empty ones.
    """
    extra = 1 if GPU_NUMA_ID in names else 0
    if not any(cells) and len(cells) <= len(names) + extra:
        return {}
    if extra and len(cells) == len(names) + 1 and not cells[-2]:
        cells = [*cells[:-2], cells[-1]]
    # Without the cell too many, an empty one before the last is it, and another is lost.
    elif extra and len(cells) == len(names) and not cells[-2]:
        cells = cells[:-1]
    if len(cells) != len(names):
        raise FileFormatError(
            f"row {label} has {len(cells)} cells after its words, the headings have {len(names)}",
            path=path,
            line=number,
            why="nothing tells which of the columns each belongs to",
        )
    return dict(zip(names, cells, strict=True))


def _spaced_row(line: str, columns: Sequence[str], labels: Sequence[str], path: str, number: int) -> SmiRow:
    label = line.split(maxsplit=1)[0]
    position = line.index(label) + len(label)
    words = []
    for name in labels:
        match = _SPACED_WORD_RE.match(line, position)
        if match is None:
            raise FileFormatError(f"row {label}: no word for column {name}", path=path, line=number)
        words.append(match[1])
        position = match.end()
    tail = line[position:].split()
    if tail and not line[position].isspace():
        raise FileFormatError(f"row {label}: '{tail[0]}' is glued to the last word", path=path, line=number)
    attributes = [name for name in columns if name not in labels]
    # With a cell missing, nothing tells which of the columns it was missing in.
    values = dict(zip(attributes, tail, strict=True)) if len(tail) == len(attributes) else {}
    return _row(label, words, values, None, path, number)


def _row(
    label: str,
    words: Sequence[str],
    values: Mapping[str, str],
    address: PciAddress | None,
    path: str,
    number: int,
) -> SmiRow:
    for name, pattern in _ATTRIBUTE_RE.items():
        if not pattern.fullmatch(values.get(name, "")):
            raise FileFormatError(
                f"row {label}, column {name}: '{values[name]}' cannot be", path=path, line=number
            )
    return SmiRow(
        label,
        tuple(words),
        values.get(CPU_AFFINITY) or None,
        values.get(NUMA_AFFINITY) or None,
        values.get(GPU_NUMA_ID) or None,
        address,
        number,
    )


def _same_width(lines: Sequence[str], numbers: Sequence[int], path: str) -> None:
    """Refuse rows of GPUs that have unlike numbers of cells: one has lost or gained a cell."""
    widths = [len(lines[number - 1].rstrip("\r\n").split("\t")) for number in numbers]
    usual = max(widths, key=lambda width: (widths.count(width), width), default=0)
    for number, width in zip(numbers, widths, strict=True):
        if width != usual:
            raise FileFormatError(
                f"this row has {width} cells, other rows have {usual}", path=path, line=number
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
