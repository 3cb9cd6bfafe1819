"""The JSON Schema of a file of waivers."""

from __future__ import annotations

from vplacer.request.schema_parts import NAME, NAMES, Schema, about, mapping

NEVER = "never"
"""What stands for a waiver without an end."""
ANY_RULE = "*"
OBJECTS = ("vm", "host", "cluster", "device", "fingerprint")
"""Keys that say what a waiver is for."""


def waivers_schema() -> Schema:
    """Return the schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "vplacer waivers",
        **mapping(
            {
                "version": {"const": 1, "description": "Version of this format: 1."},
                "waivers": {
                    "type": "array",
                    "items": _waiver(),
                    "description": "Findings that are accepted. The first that holds for a finding counts.",
                },
            },
            "version",
            "waivers",
        ),
    }


def _waiver() -> Schema:
    date = {
        "type": "string",
        "pattern": rf"^(\d{{4}}-\d{{2}}-\d{{2}}|{NEVER})$",
        "title": f"a date such as 2026-12-31, or {NEVER}",
    }
    return mapping(
        {
            "rule": about(
                NAMES, f"Rules by id or name, such as VPL001 or gpu-remote; {ANY_RULE} = every rule."
            ),
            "vm": about(NAMES, "VMs: names, patterns with * ? [], or managed object ids."),
            "host": about(NAMES, "Hosts, with all that is on them: names, patterns or ids."),
            "cluster": about(NAMES, "Clusters, with all that is in them: names, patterns or ids."),
            "device": about(NAMES, "Devices as findings name them, such as 0000:3b:00.0; or patterns."),
            "fingerprint": about(NAMES, "Findings by their fingerprint, as --format json tells it."),
            "reason": about(NAME, "Why it is accepted."),
            "owner": about(NAME, "Who answers for it."),
            "expires": about(
                date, "The last day it holds, to its end in UTC. From then on it is a finding itself."
            ),
        },
        "rule",
        "reason",
        "owner",
        "expires",
    )
