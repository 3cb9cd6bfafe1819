"""PCI devices from the bytes of an answer to the inventory, and on to a backing: cases/pci-devices.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.vsphere.pci_host import backing_of, facts_of, read_case

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "pci-devices.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_device(case: dict[str, Any]) -> None:
    found = facts_of(read_case(case))
    assert {key: found[key] for key in case["read"]} == case["read"]


@pytest.mark.parametrize("case", [case for case in CASES if "static" in case], ids=lambda case: case["name"])
def test_static_backing(case: dict[str, Any]) -> None:
    assert backing_of(read_case(case)) == case["static"]
