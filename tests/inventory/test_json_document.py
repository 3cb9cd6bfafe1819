"""Sealed documents are written as Python's own JSON writer would, only faster."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vplacer.inventory.json_document import sealed_bytes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda some: st.lists(some, max_size=4) | st.dictionaries(st.text(max_size=4), some, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_the_text_is_that_of_the_standard_library(document: dict[str, Any]) -> None:
    text = json.dumps(document, sort_keys=True, indent=1, allow_nan=False)
    assert sealed_bytes(document) == text.encode("ascii") + b"\n"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}])
def test_what_json_does_not_know_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        sealed_bytes({"a": [value]})
