"""Boards whose NVLinks are part of the board (SXM): what needs no overlay.

A PCIe card has NVLink only where somebody put a bridge, and vCenter does not tell where: such links
come from overlays alone. The boards stand in ``catalogue/systems-*.toml``, each with its source.

The number of links between two GPUs is what ``nvidia-smi topo -m`` prints (the # of NV#).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from vplacer.inventory.catalogue import catalogue_entries
from vplacer.inventory.catalogue_entry import Entry
from vplacer.inventory.gpu_models import gpu_by_name


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU board, every two of its GPUs joined by ``lanes`` NVLinks.

    ``models`` are names of `vplacer.inventory.gpu_models`; ``switched`` = over NVSwitch, else directly;
    ``systems``: the vendor's systems that are built on it. ``switches_listed``: hosts list its NVSwitches
    among their PCI devices.
    """

    name: str
    models: tuple[str, ...]
    gpu_count: int
    lanes: int
    switched: bool
    source: str
    systems: tuple[str, ...] = ()
    switches_listed: bool = False


@cache
def boards() -> tuple[Board, ...]:
    """Return the boards of the catalogue.

    Raises:
        CatalogueError: an entry is wrong.
    """
    return tuple(read_board(entry) for entry in catalogue_entries("board"))


def read_board(entry: Entry) -> Board:
    """Read one entry.

    Raises:
        CatalogueError: a key is unknown, missing or of the wrong type, a model is not in the catalogue.
    """
    models = entry.texts("models")
    for name in models:
        model = gpu_by_name(name)
        if model is None or model.name != name:
            raise entry.error("models", f"no GPU of the catalogue is called {name}")
    board = Board(
        name=entry.text("name"),
        models=models,
        gpu_count=entry.integer("gpus", least=2),
        lanes=entry.integer("lanes"),
        switched=entry.flag("switched"),
        source=dict(entry.sources()).get("links", ""),
        systems=entry.texts("systems", ()),
        switches_listed=entry.flag("switches_listed", entry.flag("switched")),
    )
    entry.finish(("links", "systems") if board.systems else ("links",))
    return board


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The boards known. Another set can be given wherever this one is the default."""

    boards: tuple[Board, ...] = field(default_factory=boards)

    def board_for(self, models: Sequence[str]) -> Board | None:
        """Return the board that carries the module GPUs of a host, or None.

        ``models`` names the model of each module GPU of the host. They must all be of one model and
        fill the board: with a GPU missing, or one too many, nothing is derived.
        """
        if not models or any(model != models[0] for model in models):
            return None
        for board in self.boards:
            if models[0] in board.models and len(models) == board.gpu_count:
                return board
        return None
