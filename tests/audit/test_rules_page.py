"""docs/audit.md lists every rule. VPLACER_UPDATE_GOLDEN=1 writes the table anew."""

from __future__ import annotations

import os

from tests.conftest import REPO
from vplacer.audit.registry import all_rules

PAGE = REPO / "docs" / "audit.md"
_START = "<!-- rules: VPLACER_UPDATE_GOLDEN=1 pytest tests/audit/test_rules_page.py -->\n"
_END = "<!-- rules end -->\n"


def _table() -> str:
    lines = ["| id | name | what is wrong | severity |", "|---|---|---|---|"]
    lines += [f"| {rule.id} | `{rule.name}` | {rule.title} | {rule.severity.value} |" for rule in all_rules()]
    return "\n".join(lines) + "\n"


def test_every_rule_is_listed() -> None:
    before, _, rest = PAGE.read_text().partition(_START)
    listed, _, after = rest.partition(_END)
    if os.environ.get("VPLACER_UPDATE_GOLDEN"):
        PAGE.write_text(before + _START + _table() + _END + after)
        return
    assert listed == _table()
