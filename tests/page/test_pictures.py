"""The pictures of pages that the docs show are made of the pages as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.page.pictures import IMAGES, PICTURES, make

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = IMAGES.parent


def test_all_pictures_are_made(browser: Browser, tmp_path: Path) -> None:
    made = make(browser, tmp_path)
    assert [path.name for path in made] == list(PICTURES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in made)


def test_the_docs_show_all_pictures_and_no_other() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"images/([\w-]+\.png)", page.read_text("utf-8"))}
    assert shown == set(PICTURES) == {path.name for path in IMAGES.iterdir()}
