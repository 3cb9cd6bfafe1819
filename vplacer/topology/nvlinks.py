"""NVLinks between the GPUs of a host: from overlays, from the catalogue of boards, from the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from vplacer.inventory.gpu_facts import GpuModel
from vplacer.inventory.gpu_models import NVIDIA
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.topology.boards import Board, Catalogue
from vplacer.topology.values import NvLink


@dataclass(frozen=True, slots=True)
class Gpu:
    """What this module needs of a GPU; ``model`` None = not in the table of models."""

    address: PciAddress
    ids: PciIds
    model: GpuModel | None


def known_links(
    gpus: Sequence[Gpu], told: Sequence[NvLink], catalogue: Catalogue
) -> tuple[tuple[NvLink, ...], Board | None]:
    """Return what is known of NVLink for pairs of GPUs, and the board it was taken from, if any.

    A pair that is not in the answer is unknown. An overlay wins over the board: a link may have failed,
    and only the host can tell (vllm-project/vllm #16336: one of eight GPUs without NVLink).
    """
    by_pair = {(link.a, link.b): link for link in told}
    modules = [gpu for gpu in gpus if gpu.model is not None and gpu.model.form == "module"]
    board = catalogue.board_for([gpu.model.name for gpu in modules if gpu.model is not None])
    on_board = {gpu.address for gpu in modules} if board is not None else set()
    used = False
    found: list[NvLink] = []
    for one, other in combinations(sorted(gpus, key=lambda gpu: gpu.address), 2):
        pair = (one.address, other.address)
        without = _without_nvlink(one) or _without_nvlink(other)
        if pair in by_pair:
            found.append(by_pair[pair])
        elif without is not None:
            found.append(NvLink(*pair, 0, f"model: {without} has no NVLink"))
        elif board is not None and one.address in on_board and other.address in on_board:
            found.append(NvLink(*pair, board.lanes, f"catalogue: {board.name}"))
            used = True
    return tuple(found), board if used else None


def _without_nvlink(gpu: Gpu) -> str | None:
    """Name a GPU that cannot have NVLink; None where it can or where that is not known."""
    if gpu.ids.vendor != NVIDIA:
        return str(gpu.ids) if gpu.model is None else gpu.model.name
    if gpu.model is not None and gpu.model.without_nvlink:
        return gpu.model.name
    return None


def cliques(links: Sequence[NvLink]) -> tuple[tuple[PciAddress, ...], ...]:
    """Return the largest sets of GPUs that are all joined to each other by NVLink, in address order.

    Bron and Kerbosch with pivot; boards have at most 16 GPUs.
    """
    near: dict[PciAddress, set[PciAddress]] = {}
    for link in links:
        if link.lanes > 0:
            near.setdefault(link.a, set()).add(link.b)
            near.setdefault(link.b, set()).add(link.a)
    found: list[tuple[PciAddress, ...]] = []
    _extend(set(), set(near), set(), near, found)
    return tuple(sorted(found))


def _extend(
    chosen: set[PciAddress],
    open_: set[PciAddress],
    done: set[PciAddress],
    near: Mapping[PciAddress, set[PciAddress]],
    found: list[tuple[PciAddress, ...]],
) -> None:
    if not open_ and not done:
        if len(chosen) > 1:
            found.append(tuple(sorted(chosen)))
        return
    pivot = max(sorted(open_ | done), key=lambda address: len(near[address] & open_))
    for address in sorted(open_ - near[pivot]):
        _extend(chosen | {address}, open_ & near[address], done & near[address], near, found)
        open_ = open_ - {address}
        done = done | {address}
