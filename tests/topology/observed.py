"""Reads from a topology what a case states of it, in the case's own form.

Keys: ``words``, ``numa``, ``satisfies`` (by pair), ``nodes`` (by pair of nodes), ``device`` (fields of one),
``gpus``, ``nics``, ``cliques``, ``ownership``, ``board``, ``groups``, ``mismatches``, ``assumptions``.
"""

from __future__ import annotations

import re
from typing import Any

from tests.topology.hosts import address
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.levels import Level


def check_topology(topology: HostTopology, expect: dict[str, Any]) -> None:
    """Assert all that a case expects; addresses may be short."""
    assert expect, "a case must expect something"
    for key, value in expect.items():
        assert _observe(topology, key, value) == _normal(key, value), key


def _pair(text: str) -> tuple[Any, Any]:
    a, b = text.split()
    return address(a), address(b)


def _observe(topology: HostTopology, key: str, value: Any) -> Any:
    """Read from the topology what a case expects under a key, in the case's own form."""
    match key:
        case "words":
            return {text: topology.relation(*_pair(text)).word() for text in value}
        case "numa":
            return {text: str(topology.relation(*_pair(text)).numa) for text in value}
        case "satisfies":
            return {
                text: {level: topology.relation(*_pair(text)).satisfies(Level(level)) for level in levels}
                for text, levels in value.items()
            }
        case "nodes":
            return {text: str(topology.node_relation(*map(int, text.split()))) for text in value}
        case "device":
            return {text: _device(topology, text, fields) for text, fields in value.items()}
        case "gpus":
            return [str(device.address) for device in topology.gpus]
        case "nics":
            return [str(device.address) for device in topology.nics]
        case "cliques":
            return [[str(a) for a in group] for group in topology.nvlink_groups]
        case "ownership":
            return [[str(a) for a in group] for group in topology.ownership_groups]
        case "board":
            return topology.board
        case "groups":
            return {
                offer.name: None if offer.sets is None else [[str(a) for a in cards] for cards in offer.sets]
                for offer in topology.device_groups
            }
        case "mismatches" | "assumptions":
            return _matched(getattr(topology, key), value)
    raise AssertionError(f"unknown expectation {key}")


def _device(topology: HostTopology, text: str, fields: dict[str, Any]) -> dict[str, Any]:
    device = topology.device(address(text))
    assert device is not None, text
    return {name: _plain(getattr(device, name)) for name in fields}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return value
    return [_plain(item) for item in value] if isinstance(value, tuple) else str(value)


def _matched(sentences: tuple[str, ...], patterns: list[str]) -> list[str]:
    """Replace each sentence by the pattern it fits, so that a difference shows the sentence."""
    left = list(patterns)
    found = []
    for sentence in sentences:
        fits = next((p for p in left if re.search(p, sentence)), sentence)
        if fits in left:
            left.remove(fits)
        found.append(fits)
    return sorted(found)


def _normal(key: str, value: Any) -> Any:
    """Bring short addresses of a case to the canonical form."""
    if key in ("mismatches", "assumptions"):
        return sorted(value)
    if key in ("words", "numa", "satisfies", "nodes", "board"):
        return value
    return _long(value)


def _long(value: Any) -> Any:
    if isinstance(value, list):
        return [_long(item) for item in value]
    if isinstance(value, dict):
        return {k: _long(v) for k, v in value.items()}
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", value):
        return f"0000:{value}"
    return value
