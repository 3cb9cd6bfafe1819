"""The NUMA options that the audit compares: they are read, and have the defaults of a real host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.topology.esxi_dump import load_dump
from tests.topology.hosts import make_host
from vplacer.audit.numa_options import INITIAL_THRESHOLD, NUMA_OPTIONS, default_of
from vplacer.vsphere.property_paths import HOST_OPTIONS


def test_the_options_compared_are_read() -> None:
    assert {*NUMA_OPTIONS, INITIAL_THRESHOLD} <= set(HOST_OPTIONS)


def test_defaults_are_those_of_a_fresh_host(test_data: Path) -> None:
    """A nested ESXi 8.0.3: vmware/pyvmomi's own test file. It does not list the workaround's option."""
    told: dict[str, Any] = {
        item["key"]: item["value"] for item in load_dump(test_data)["config"]["option"] if "key" in item
    }
    host = replace(make_host({"pci": []}), version="8.0.3")
    assert {name: str(told[name]) for name in NUMA_OPTIONS} == {
        name: default_of(name, host) for name in NUMA_OPTIONS
    }
    assert INITIAL_THRESHOLD not in told
