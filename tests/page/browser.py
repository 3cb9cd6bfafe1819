"""A headless Chromium, and what the tests of the pages ask of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}},
}
"""What a page is looked at as."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of the browser that is installed, or None."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def launched(path: str) -> Iterator[Browser]:
    """Start the browser for some tests. The sandbox needs rights that containers do not have."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, file: Path, fragment: str = "", **context: Any) -> Iterator[Page]:
    """Open a page; what the console says, and what is asked of any network, fails."""
    complaints: list[str] = []
    made = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    made.set_default_timeout(10_000)
    page = made.new_page()
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.extend(_foreign(request.url)))
    page.goto(f"{file.as_uri()}{fragment}")
    yield page
    made.close()
    assert complaints == []


def violations(page: Page) -> list[str]:
    """Return what axe finds wrong with the page as it is now."""
    # By evaluate: the page's policy allows no script but its own.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{item['id']}: {node['html'][:200]} {node['failureSummary']}"
        for item in found["violations"]
        for node in item["nodes"]
    ]


def _foreign(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:")) else [f"asked for {url}"]
