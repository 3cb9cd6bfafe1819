"""Runs imports/cases.yaml: what a file says of a host, or why it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.topology.hosts import make_host
from vplacer.errors import VplacerError
from vplacer.inventory.host import Host
from vplacer.topology.importers.facts import QueryFile, ReadOptions
from vplacer.topology.importers.fit import ImportResult, overlay_from_facts
from vplacer.topology.importers.registry import detect, read_facts

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "imports" / "cases.yaml").read_text(encoding="utf-8")
)
KNOWN = {0: ["17:00.0", "27:00.0", "57:00.0"], 1: ["37:00.0", "47:00.0"]}


def host(nodes: dict[int, list[str]]) -> Host:
    return make_host(
        {
            "nodes": [{"id": n, "package": n, "devices": nodes.get(n, [])} for n in (0, 1)],
            "pci": [
                *(f"{bus}:01.0 bridge" for bus in ("16", "26", "36", "46", "56")),
                *(f"{bus}7:00.0 A30 < {bus}6:01.0" for bus in "1234"),
                "57:00.0 nic < 56:01.0",
            ],
        }
    )


def run(case: dict[str, Any]) -> tuple[str, ImportResult]:
    nodes = case.get("nodes", KNOWN)
    target = host({} if nodes == "unknown" else nodes)
    query = QueryFile(case["query"], "query") if "query" in case else None
    options = ReadOptions(query=query, order_pci=case.get("order_pci", False))
    chosen = detect(case["text"], "file")
    facts = read_facts(chosen, case["text"], "file", target, options)
    return chosen.name, overlay_from_facts(facts, target, created="2026-11-01T00:00:00Z")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_import(case: dict[str, Any]) -> None:
    expect = case["expect"]
    if "refused" in expect:
        with pytest.raises(VplacerError) as caught:
            run(case)
        assert expect["refused"] in str(caught.value)
        return
    chosen, result = run(case)
    assert chosen == expect.get("format", chosen)
    assert {str(d.address): d.numa_node for d in result.overlay.devices} == expect["nodes"]
    links = {f"{link.a.bus:02x} {link.b.bus:02x}": link.lanes for link in result.overlay.links}
    assert links == expect.get("links", {})
    said = "\n".join((*result.contradictions, *result.notes))
    for text in expect.get("says", ()):
        assert text in said
