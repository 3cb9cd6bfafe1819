"""Boards whose NVLinks are part of the board (SXM): what needs no overlay.

A PCIe card has NVLink only where somebody put a bridge, and vCenter does not tell where: such links
come from overlays alone.

The number of links between two GPUs is what ``nvidia-smi topo -m`` prints (the # of NV#). Sources:
NVIDIA Fabric Manager User Guide (baseboards with NVSwitch: every GPU reaches every other over all its
links, 12 on HGX A100, 18 on HGX H100 and B200) and matrices in public reports, named at each board.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU board, every two of its GPUs joined by ``lanes`` NVLinks.

    ``models`` are names of `vplacer.inventory.gpu_models`; ``switched`` = over NVSwitch, else directly.
    """

    name: str
    models: tuple[str, ...]
    gpu_count: int
    lanes: int
    switched: bool
    source: str


BOARDS: Final[tuple[Board, ...]] = (
    Board(
        "HGX-2 16-GPU baseboard pair",
        ("V100-SXM3-32",),
        16,
        6,
        True,
        "NVIDIA/nccl-tests #78 (NV6 between all 16)",
    ),
    Board(
        "HGX A100 4-GPU",
        ("A100-SXM-40", "A100-SXM-80"),
        4,
        4,
        False,
        "public cluster documentation of 4-GPU A100 SXM nodes (NV4 between all four)",
    ),
    Board(
        "HGX A100 8-GPU",
        ("A100-SXM-40", "A100-SXM-80"),
        8,
        12,
        True,
        "NVIDIA Fabric Manager User Guide; NVIDIA/nccl #1505 (NV12 between all eight)",
    ),
    Board(
        "HGX H100 4-GPU",
        ("H100-SXM-80",),
        4,
        6,
        False,
        "NVIDIA/nccl #1617 (NV6 between all four)",
    ),
    Board(
        "HGX H100 8-GPU",
        ("H100-SXM-80",),
        8,
        18,
        True,
        "NVIDIA Fabric Manager User Guide; NVIDIA/nccl #1264 (NV18 between all eight)",
    ),
    Board(
        "HGX A800 8-GPU",
        ("A800-SXM-80",),
        8,
        8,
        True,
        "public notes on 8-GPU A800 servers (8 of the 12 links; NV8 between all eight)",
    ),
    Board(
        "HGX H800 8-GPU",
        ("H800-SXM-80",),
        8,
        8,
        True,
        "vllm-project/vllm #40755 (NV8 between all eight)",
    ),
    Board(
        "HGX H20 8-GPU",
        ("H20-96",),
        8,
        18,
        True,
        "vllm-project/vllm #5001 (NV18 between all eight)",
    ),
    Board(
        "HGX H200 8-GPU",
        ("H200-SXM-141",),
        8,
        18,
        True,
        "NVIDIA AI Enterprise documentation, NVSwitch; sgl-project/sglang #3817 (NV18 between all eight)",
    ),
    Board(
        "HGX B200 8-GPU",
        ("B200-SXM-180",),
        8,
        18,
        True,
        "NVIDIA Fabric Manager User Guide; sgl-project/sglang #8120 (NV18 between all eight)",
    ),
)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The boards known. Another set can be given wherever this one is the default."""

    boards: tuple[Board, ...] = BOARDS

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


DEFAULT_CATALOGUE: Final = Catalogue()
