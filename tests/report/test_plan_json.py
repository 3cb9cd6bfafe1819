"""The JSON of a plan is a promise: its shape is kept, and every key of it is documented."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import pytest

from tests.conftest import REPO
from tests.plan.cases import case_named, check_golden
from vplacer.plan.model import Plan
from vplacer.report.plan_json import plan_json

DOCUMENT = (REPO / "docs" / "plan-file.md").read_text()


@pytest.mark.parametrize(
    ("name", "case"), [("mix.json", "a bit of everything"), ("nofit.json", "it does not fit")]
)
def test_golden(name: str, case: str) -> None:
    check_golden(name, plan_json(case_named(case).plan()))


def _types(hint: Any, seen: set[Any]) -> Iterator[Any]:
    """All dataclasses and enumerations a plan may hold."""
    for argument in typing.get_args(hint):
        yield from _types(argument, seen)
    if hint in seen or not isinstance(hint, type) or isinstance(hint, types.GenericAlias):
        return
    if issubclass(hint, Enum) or is_dataclass(hint):
        seen.add(hint)
        yield hint
    if is_dataclass(hint):
        for inner in typing.get_type_hints(hint).values():
            yield from _types(inner, seen)


EVERY = sorted(set(_types(Plan, set())), key=lambda kind: kind.__name__)
WITHIN_TEXT = {"PciAddress"}
"""Written as one text."""


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_every_key_and_word_is_documented(kind: type) -> None:
    if kind.__name__ in WITHIN_TEXT:
        return
    if issubclass(kind, Enum):
        names = [member.value for member in kind if kind.__name__ not in ("Symbol",)]
    else:
        names = [field.name for field in fields(kind)]
    missing = [name for name in names if f"`{name}`" not in DOCUMENT]
    assert missing == []


def test_no_key_beyond_the_documented_ones() -> None:
    document = json.loads(plan_json(case_named("a bit of everything").plan()))
    assert sorted(document) == sorted(
        ["format", "format_version", "sha256", *(field.name for field in fields(Plan))]
    )
