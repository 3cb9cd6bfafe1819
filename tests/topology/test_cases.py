"""Runs tests/topology/cases: a host, overlays, and what the topology must say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.topology.hosts import make_host, make_overlay
from tests.topology.observed import check_topology
from vplacer.topology.build import build_host_topology


class _Loader(yaml.SafeLoader):
    """YAML without YAML 1.1's numbers of base 60, which make 1020.0 of the address 17:00.0."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers if tag != "tag:yaml.org,2002:float"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.load(file.read_text(encoding="utf-8"), _Loader)
]


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    host = make_host(case["host"])
    overlays = [make_overlay(spec, host) for spec in case.get("overlays", ())]
    topology = build_host_topology(host, overlays)
    check_topology(topology, case["expect"])
