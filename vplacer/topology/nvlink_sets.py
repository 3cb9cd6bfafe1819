"""The GPUs of a host as sets joined by NVLink: what a picture draws as one thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.pci import PciAddress
from vplacer.topology.values import DeviceTopology, NvLink

MOST_LINKS: Final = 18
"""NVLinks of one GPU, at most: 18 on H100 and B200 (NVIDIA Hopper and Blackwell architecture papers)."""


@dataclass(frozen=True, slots=True)
class NvlinkSet:
    """GPUs that reach each other over NVLink, directly or over others.

    name: a letter, unique on the host.
    gpus: in address order.
    lanes: links between any two of them; None = not all are joined, or not by the same number.
    links: the pairs that are joined, in address order.
    switched: over NVSwitch, so that all links of a GPU serve each pair.
    nodes: the known NUMA nodes they are on; unknown ones are left out.
    sources: who told of the links.
    """

    name: str
    gpus: tuple[PciAddress, ...]
    lanes: int | None
    links: tuple[NvLink, ...]
    switched: bool
    nodes: tuple[int, ...]
    sources: tuple[str, ...]


def nvlink_sets(gpus: Sequence[DeviceTopology], links: Sequence[NvLink]) -> tuple[NvlinkSet, ...]:
    """Group GPUs by NVLink, in the order of their first addresses. A GPU without a known link is in none.

    That a set is switched follows from the numbers: between any two of n GPUs there are more links than
    direct ones could leave, with at most `MOST_LINKS` a GPU.
    """
    joined = [link for link in sorted(links) if link.lanes > 0]
    home = {gpu.address: gpu.node for gpu in gpus}
    found = []
    for index, members in enumerate(_components(sorted(home), joined)):
        inside = tuple(link for link in joined if link.a in members and link.b in members)
        widths = {link.lanes for link in inside}
        whole = len(widths) == 1 and len(inside) == len(members) * (len(members) - 1) // 2
        lanes = next(iter(widths)) if whole else None
        nodes = {node for address in members if (node := home[address]) is not None}
        found.append(
            NvlinkSet(
                name=_letters(index),
                gpus=tuple(members),
                lanes=lanes,
                links=inside,
                switched=lanes is not None and lanes * (len(members) - 1) > MOST_LINKS,
                nodes=tuple(sorted(nodes)),
                sources=tuple(sorted({link.source for link in inside})),
            )
        )
    return tuple(found)


def _components(addresses: Sequence[PciAddress], links: Sequence[NvLink]) -> list[list[PciAddress]]:
    near: dict[PciAddress, list[PciAddress]] = {}
    for link in links:
        near.setdefault(link.a, []).append(link.b)
        near.setdefault(link.b, []).append(link.a)
    found: list[list[PciAddress]] = []
    seen: set[PciAddress] = set()
    for start in addresses:
        if start in seen or start not in near:
            continue
        open_, members = [start], {start}
        while open_:
            for other in near[open_.pop()]:
                if other not in members:
                    members.add(other)
                    open_.append(other)
        seen |= members
        found.append(sorted(members))
    return found


def _letters(index: int) -> str:
    """Count in letters: A to Z, then AA."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("A") + rest) + text
    return text
