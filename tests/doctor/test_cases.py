"""Sites as data, and what the checks say of them. Checks that need a session have none here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from vplacer.doctor.marks import render
from vplacer.doctor.model import CheckResult, Evidence, Outcome
from vplacer.doctor.observed import Untold
from vplacer.doctor.pseudonyms import RealNames
from vplacer.doctor.run import run_checks
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Inventory

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
NO_SESSION = Untold("a file", failed=False)


def said(result: CheckResult, inventory: Inventory) -> str:
    named = (inventory.hosts, inventory.vms, inventory.clusters)
    show = RealNames({item.moid: ("", item.name) for items in named for item in items})
    return "\n".join(render(text, show) for text in (result.finding.text, *result.finding.evidence))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text())
    inventory = load_site_text(case["site"], path.name).inventory
    results = {r.id: r for r in run_checks(Evidence(inventory, NO_SESSION))}
    for check, expected in case["expect"].items():
        wanted = {"outcome": expected} if isinstance(expected, str) else expected
        text = said(results[check], inventory)
        assert (check, results[check].finding.outcome) == (check, wanted["outcome"]), text
        assert wanted.get("says", "") in text
        for name in wanted.get("names", ()):
            assert name in text.partition("\n")[2]
        for name in wanted.get("not_names", ()):
            assert name not in text.partition("\n")[2]
    differs = any(r.finding.outcome is Outcome.DIFFERS for r in results.values())
    incomplete = any(r.finding.failed for r in results.values())
    assert {"differs": differs, "incomplete": incomplete} == case["exit"]
