"""No cell of a matrix is ever read as another column's: cells are lost, put in and glued together.

Either the damaged matrix is refused, or every word and every affinity of it is the undamaged one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz.rounds import fuzz
from vplacer.errors import FileFormatError
from vplacer.topology.importers.smi_matrix import SmiMatrix, parse_matrix

pytestmark = pytest.mark.timeout(3600)

_CELLS = ("", "SYS", "NV4", "X", "N/A", "?", "0", "1", "0-7", "GPU9", "GPU1", "NIC0", "CPU Affinity")


def matrices(test_data: Path) -> list[str]:
    """Return the public matrices without the notes above them."""
    texts = []
    for file in sorted((test_data / "nvidia-smi-topo").glob("*.txt")):
        lines = file.read_text(encoding="utf-8").splitlines()
        texts.append("\n".join(line for line in lines if not line.startswith("#")))
    return texts


@st.composite
def changed_cells(draw: st.DrawFn, texts: Sequence[str]) -> tuple[str, str]:
    """Draw a matrix, and the same with one cell changed in some of its rows.

    A row is changed at one place only: a cell that is lost and another that is put in make a row that is
    right by all that can be told.
    """
    text = draw(st.sampled_from(texts))
    rows = [line.split("\t") for line in text.splitlines()]
    for index in draw(st.sets(st.integers(0, len(rows) - 1), min_size=1)):
        cells = rows[index]
        at = draw(st.integers(0, len(cells) - 1))
        match draw(st.sampled_from(("lose", "put", "glue"))):
            case "lose":
                del cells[at]
            case "put":
                cells.insert(at, draw(st.sampled_from(_CELLS)))
            case _:
                cells[at : at + 2] = ["".join(cells[at : at + 2])]
    return text, "\n".join("\t".join(cells) for cells in rows)


@st.composite
def changed_words(draw: st.DrawFn, texts: Sequence[str]) -> tuple[str, str]:
    """Draw a matrix copied with blanks, and the same with one word lost or glued in some of its rows."""
    text = draw(st.sampled_from(texts)).expandtabs(8)
    lines = text.splitlines()
    for index in draw(st.sets(st.integers(1, len(lines) - 1), min_size=1)):
        words = lines[index].split()
        at = draw(st.integers(0, len(words) - 1))
        glue = draw(st.booleans())
        words[at : at + 2] = ["".join(words[at : at + 2])] if glue else words[at + 1 : at + 2]
        lines[index] = "  ".join(words)
    return text, "\n".join(lines)


def same_places(pair: tuple[str, str]) -> None:
    whole, damaged = pair
    found = parsed(damaged)
    if isinstance(found, SmiMatrix):
        compare(parse_matrix(whole), found)
    else:
        # Without any line of headings there is no line to name.
        assert found.line is not None or found.what == "no matrix found"


def parsed(text: str) -> SmiMatrix | FileFormatError:
    try:
        return parse_matrix(text)
    except FileFormatError as error:
        return error


def compare(true: SmiMatrix, found: SmiMatrix) -> None:
    rows = {row.label: row for row in true.rows}
    for row in found.rows:
        assert row.label in rows
        for label, word in zip(found.labels, row.cells, strict=True):
            assert word == true.word(row.label, label), (row.label, label)
        # What is taken over; the lists of CPUs and the other texts are only told of.
        assert row.numa_node in (rows[row.label].numa_node, None)


def test_cells(test_data: Path) -> None:
    fuzz(changed_cells(matrices(test_data)), same_places, examples=300, share=0.4)


def test_words(test_data: Path) -> None:
    fuzz(changed_words(matrices(test_data)), same_places, examples=300, share=0.2)
