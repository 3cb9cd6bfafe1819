"""docs/request.md shows every key, and each of its examples loads."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conftest import REPO
from vplacer.request.load import parse_request
from vplacer.request.schema import request_schema

TEXT = (REPO / "docs" / "request.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_example_loads(block: str) -> None:
    whole = block if block.startswith("version:") else f"version: 1\n{block}"
    assert parse_request(whole, "docs/request.md").entries


def _keys(schema: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(schema, dict):
        found |= set(schema.get("properties", {}))
        for value in schema.values():
            found |= _keys(value)
    elif isinstance(schema, list):
        for value in schema:
            found |= _keys(value)
    return found


def test_every_key_is_explained_and_shown() -> None:
    keys = _keys(request_schema())
    assert len(keys) > 50
    examples = "\n".join(BLOCKS)
    assert {key for key in keys if f"`{key}`" not in TEXT and f"{{{key}:" not in TEXT} == set()
    assert {key for key in keys if not re.search(rf"\b{key}:", examples)} == set()


def _words(schema: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(schema, dict):
        found |= {word for word in schema.get("enum", []) if isinstance(word, str)}
        for value in schema.values():
            found |= _words(value)
    elif isinstance(schema, list):
        for value in schema:
            found |= _words(value)
    return found


def test_every_word_of_a_choice_is_explained() -> None:
    assert {word for word in _words(request_schema()) if f"`{word}`" not in TEXT} == set()
