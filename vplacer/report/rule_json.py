"""Rules of the audit as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from vplacer.audit.model import Rule
from vplacer.report.audit_document import rule_document


def rules_json(rules: Iterable[Rule]) -> str:
    """Return a JSON list of rules, ending in a newline."""
    return json.dumps([rule_document(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n"
