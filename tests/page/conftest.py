"""The browser, and pages in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import missing
from tests.page.browser import AXE, chromium, launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        missing("no Chromium is installed")
        return
    with launched(path) as found:
        yield found


@pytest.fixture(scope="session")
def axe() -> Path:
    if not AXE.is_file():
        missing("axe-core is not installed: npm ci --prefix tests/page")
    return AXE
