"""What vplacer writes beside what other programs write for the same change, by their published code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from tests.vsphere.test_encoding_cases import encoded
from tests.vsphere.wire import canonical, leaves

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "published.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_as_published(case: dict[str, Any]) -> None:
    ours, theirs = leaves(canonical(encoded(case))), leaves(canonical(case["theirs"]))
    found = {
        at: [theirs.get(at), ours.get(at)]
        for at in sorted({*ours, *theirs})
        if ours.get(at) != theirs.get(at)
    }
    explained = case.get("differences", {})
    assert found == {at: item["theirs_vplacer"] for at, item in explained.items()}
    assert all(item["why"] for item in explained.values())


def test_assumptions_that_differences_rest_on_exist() -> None:
    page = (REPO / "docs" / "assumptions.md").read_text(encoding="utf-8")
    for name in ("tests/vsphere/cases/published.yaml", "tests/witness/govc_writes.yaml"):
        for found in re.findall(r"\bA-\d\d\b", (REPO / name).read_text(encoding="utf-8")):
            assert f"### {found} " in page, (name, found)
