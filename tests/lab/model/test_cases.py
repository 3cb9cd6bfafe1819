"""What the state machine enforces, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.model.lab_cases import Runner, load_cases


@pytest.mark.parametrize("case", load_cases())
def test_case(case: dict[str, Any]) -> None:
    Runner(case).run()
