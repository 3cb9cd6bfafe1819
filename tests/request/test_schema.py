"""The schema of requests is valid itself, and its examples and defaults are values that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from vplacer.request.schema import request_schema


def _parts(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        yield where, schema
        for key, value in schema.items():
            if key not in ("examples", "default"):
                yield from _parts(value, f"{where}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from _parts(value, f"{where}/{index}")


def test_it_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(request_schema())


def test_every_key_is_described() -> None:
    bare = [
        f"{where}/{key}"
        for where, part in _parts(request_schema())
        for key, value in part.get("properties", {}).items()
        if isinstance(value, dict) and "description" not in value
    ]
    # Their parent says what they are.
    assert [key for key in bare if key.rsplit("/", 1)[1] not in ("nodes", "tag_category", "hosts")] == []


@pytest.mark.parametrize("kind", ["default", "examples"])
def test_examples_and_defaults_fit(kind: str) -> None:
    checked = 0
    for where, part in _parts(request_schema()):
        if kind in part and not where.endswith("/properties"):
            values = part[kind] if kind == "examples" else [part[kind]]
            for value in values:
                errors = list(jsonschema.Draft202012Validator(part).iter_errors(value))
                assert not errors, f"{where}: {value!r}: {errors[0].message}"
                checked += 1
    assert checked > 10


def test_no_object_takes_unknown_keys() -> None:
    loose = [
        where
        for where, part in _parts(request_schema())
        if part.get("type") == "object" and "additionalProperties" not in part
    ]
    assert loose == []
