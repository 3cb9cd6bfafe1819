"""Shapes of the VMs asked of the fleet: thirteen that are always there, and as many more as are wanted."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.fleet.families import CARD_GIB, GROUP, PROFILES, TEMPLATES


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape. ``pool``: whose GPUs it takes (a model, "any", "L4", "group" or "cpu").

    ``gpus``: GPUs or shares of them. ``entry``: the keys of the request besides name, count and priority.
    ``frequency``: how often it is drawn, beside the others of its pool.
    """

    name: str
    pool: str
    gpus: float
    entry: dict[str, Any] = field(hash=False)
    frequency: float = 1.0


@dataclass(frozen=True, slots=True)
class _Pool:
    """Nodes of the hosts of a pool: cores and GiB a GPU, GPUs and NICs a node, nodes, most GPUs of a VM."""

    model: str | None
    cores: float
    gib: float
    kinds: tuple[tuple[str, float], ...]
    node_gpus: int
    node_nics: int
    nodes: int


_TWO: Final = {
    "H100-80": _Pool(
        "H100-80",
        14,
        240,
        (("1", 6), ("1n", 6), ("2", 3), ("2s", 4), ("2v", 4), ("4", 4), ("8", 2)),
        4,
        2,
        2,
    ),
    "A100-80": _Pool(
        "A100-80",
        16,
        240,
        (("1", 6), ("1n", 4), ("2v", 6), ("2s", 2), ("4", 3), ("8", 2)),
        4,
        2,
        2,
    ),
    "A30": _Pool("A30", 16, 115, (("1", 6), ("1n", 4), ("2v", 4)), 2, 1, 2),
    "any": _Pool(None, 12, 100, (("1", 2), ("2v", 1), ("1n", 1)), 2, 1, 2),
}
_EIGHT: Final = {
    "H100-80": _Pool("H100-80", 16, 230, (("1", 8), ("1n", 6), ("2w", 3), ("8", 1)), 1, 1, 8),
    "A100-80": _Pool("A100-80", 12, 170, (("1", 6), ("1n", 3), ("2v", 5), ("4w", 1)), 2, 1, 8),
    "A30": _Pool("A30", 8, 110, (("1", 6), ("1n", 4)), 1, 1, 8),
    "any": _Pool(None, 8, 100, (("1", 2), ("1n", 1)), 1, 1, 8),
}
_SHARES: Final = {
    False: {"H100-80": 0.22, "A100-80": 0.2, "A30": 0.12, "any": 0.1, "L4": 0.12, "group": 0.02, "cpu": 0.22},
    True: {"H100-80": 0.34, "A100-80": 0.24, "A30": 0.1, "any": 0.1, "cpu": 0.22},
}
"""Part of the shapes beyond the first thirteen that each pool has."""

_FIRST: Final = {
    False: (
        ("H100-80", "8", "pin"),
        ("H100-80", "4", "pin"),
        ("H100-80", "2s", "pin"),
        ("H100-80", "1n", "label"),
        ("A100-80", "2v", "pin"),
        ("A100-80", "1", "label"),
        ("A30", "2v", "pin"),
        ("any", "1", "pin"),
        ("L4", "nvidia_l4-12q", "pin"),
        ("L4", "nvidia_l4-24q", "pin"),
        ("group", GROUP, "pin"),
        ("cpu", "1", "pin"),
        ("cpu", "2", "pin"),
    ),
    True: (
        ("H100-80", "8", "pin"),
        ("H100-80", "2w", "pin"),
        ("H100-80", "1n", "pin"),
        ("H100-80", "1n", "label"),
        ("H100-80", "1", "label"),
        ("A100-80", "2v", "pin"),
        ("A100-80", "1", "label"),
        ("A100-80", "4w", "pin"),
        ("A30", "1n", "pin"),
        ("any", "1", "pin"),
        ("cpu", "1", "pin"),
        ("cpu", "1", "pin"),
        ("cpu", "2", "pin"),
    ),
}
_LABELLED: Final = 0.35
_PREFERRED: Final = 0.25


def shapes(count: int, *, eight_nodes: bool, hint: float, seed: int) -> tuple[Shape, ...]:
    """Return so many different shapes, at least thirteen; ``hint`` is the part of them that floats."""
    if count < len(_FIRST[eight_nodes]):
        raise ValueError(f"there are at least {len(_FIRST[eight_nodes])} shapes")
    chooser = random.Random(f"shapes {seed} {eight_nodes}")
    maker = _Maker(chooser, eight_nodes)
    found = [maker.make(pool, kind, mode, preferred=False) for pool, kind, mode in _FIRST[eight_nodes]]
    pools = _SHARES[eight_nodes]
    while len(found) < count:
        pool = chooser.choices(list(pools), list(pools.values()))[0]
        mode = "label" if chooser.random() < _LABELLED else "pin"
        found.append(maker.make(pool, None, mode, preferred=chooser.random() < _PREFERRED))
    return tuple(_floating(shape, index, hint) for index, shape in enumerate(found))


def _floating(shape: Shape, index: int, hint: float) -> Shape:
    """Let every so many-th shape float; what it requires becomes a wish, since hint cannot promise it."""
    if int((index + 1) * hint) == int(index * hint):
        return shape
    entry = {**shape.entry, "affinity": "hint", "policy": "preferred"}
    if "interconnect" in (gpus := entry["gpus"] or {}):
        entry["gpus"] = {**gpus, "interconnect_policy": "preferred"}
    return Shape(f"{shape.name}-f", shape.pool, shape.gpus, entry, shape.frequency)


class _Maker:
    def __init__(self, chooser: random.Random, eight_nodes: bool) -> None:
        self.chooser = chooser
        self.pools = _EIGHT if eight_nodes else _TWO
        self.eight_nodes = eight_nodes
        self.known: set[str] = set()
        self.number = 0

    def make(self, pool: str, kind: str | None, mode: str, *, preferred: bool) -> Shape:
        """Return a shape that was not made before."""
        while True:
            made = self._make(pool, kind, mode, preferred)
            text = repr(made.entry)
            if text not in self.known:
                self.known.add(text)
                self.number += 1
                return Shape(f"s{self.number:03}-{made.name}", pool, made.gpus, made.entry, made.frequency)

    def _make(self, pool: str, kind: str | None, mode: str, preferred: bool) -> Shape:
        if pool == "cpu":
            return self._cpu(kind or self.chooser.choice("1111112"))
        if pool == "L4":
            return self._vgpu(kind or self.chooser.choice([n for n in PROFILES if n.startswith("nvidia_l4")]))
        if pool == "group":
            return self._group()
        return self._whole(pool, kind, mode, preferred)

    def _cpu(self, kind: str) -> Shape:
        nodes = int(kind)
        most = 16 if self.eight_nodes else 40
        cpus = 2 * nodes * self.chooser.randint(1, most // 2)
        gib = 4 * nodes * self.chooser.randint(1, 24)
        vnuma = {"vnuma": {"nodes": nodes}} if nodes > 1 else {}
        entry = self._sized("cpu", cpus, gib, "pin") | {"gpus": []} | vnuma
        return Shape(f"cpu{kind}", "cpu", 0, entry, 3 if nodes == 1 else 1)

    def _vgpu(self, profile: str) -> Shape:
        share = PROFILES[profile] / CARD_GIB["vgpu"]
        cpus = max(1, round(6 * share * self.chooser.uniform(0.5, 1.2)))
        gib = max(4, 2 * round(60 * share * self.chooser.uniform(0.4, 1.1) / 2))
        entry = self._sized("vgpu", cpus, gib, "pin") | {"gpus": {"profile": profile}, "policy": "none"}
        return Shape(profile.rpartition("-")[2], "L4", share, entry, share)

    def _group(self) -> Shape:
        cpus, gib = self.chooser.randint(12, 30), 8 * self.chooser.randint(16, 56)
        entry = self._sized("vgpu", cpus, gib, "pin") | {
            "gpus": {"group": GROUP, "count": 2},
            "policy": "none",
        }
        return Shape("group", "group", 2, entry)

    def _whole(self, name: str, kind: str | None, mode: str, preferred: bool) -> Shape:
        pool = self.pools[name]
        names = [key for key, _ in pool.kinds]
        weights = [weight for _, weight in pool.kinds]
        kind = kind or self.chooser.choices(names, weights)[0]
        frequency = dict(pool.kinds)[kind]
        gpus = int(kind[0])
        nodes = -(-gpus // pool.node_gpus)
        cpus = max(1, round(pool.cores * gpus * self.chooser.uniform(0.42, 0.8) / nodes)) * nodes
        gib = 4 * nodes * max(1, round(pool.gib * gpus * self.chooser.uniform(0.2, 0.72) / 4 / nodes))
        # What depends on the card chosen, a label that several cards carry cannot promise.
        mode = (
            "pin"
            if kind[1:] in ("s", "v", "n") and not preferred and mode == "label" and nodes == 1
            else mode
        )
        mode = "pin" if nodes > 1 else mode
        ask: dict[str, Any] = {"count": gpus} | ({"model": pool.model} if pool.model else {})
        ask |= _interconnect(kind[1:], preferred)
        policy = "preferred" if preferred else "socket" if kind.endswith("w") else "required"
        entry = self._sized("gpu", cpus, gib, mode) | {"gpus": ask, "policy": policy}
        if kind.endswith("n"):
            entry["nics"] = {"count": 1, "near": "gpu", "at": "switch"}
        if nodes == 1 and gpus == pool.node_gpus == 4:
            entry["nics"] = {"count": pool.node_nics, "near": "gpu", "at": "switch"}
        if nodes > 1:
            entry["vnuma"] = {"nodes": nodes}
        return Shape(f"{(pool.model or 'any').lower()}-{kind}", name, gpus, entry, frequency)

    def _sized(self, template: str, cpus: int, gib: int, mode: str) -> dict[str, Any]:
        return {
            "template": TEMPLATES[template],
            "cpus": cpus,
            "memory": f"{gib} GiB",
            "affinity": mode,
        }


def _interconnect(kind: str, preferred: bool) -> dict[str, str]:
    level = {"s": "switch", "v": "nvlink"}.get(kind)
    if level is None:
        return {}
    return {"interconnect": level, "interconnect_policy": "preferred" if preferred else "required"}
