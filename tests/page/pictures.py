"""Makes the pictures of pages in docs/images.

    python -m tests.page.pictures           makes them
    python -m tests.page.pictures FOLDER    makes them there

The test run makes them too, in a folder of its own. They are made anew here when a page has changed;
fonts differ from machine to machine, so that no test compares pictures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.page.browser import chromium, launched, opened
from tests.page.reports import shown_report, shown_site
from vplacer.plan.plan_file import load_plan
from vplacer.report.audit_html import audit_html
from vplacer.report.plan_html import plan_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPO = Path(__file__).resolve().parents[2]
IMAGES = REPO / "docs" / "images"
_WIDE = {"viewport": {"width": 1280, "height": 1500}}
PICTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "audit-wide.png": ("audit", "#list", {**_WIDE, "color_scheme": "light"}),
    "audit-dark.png": ("audit", "#list", {**_WIDE, "color_scheme": "dark"}),
    "audit-host.png": ("audit", "[aria-labelledby=hosts]", {**_WIDE, "color_scheme": "light"}),
    "audit-narrow.png": (
        "audit",
        "#list",
        {"viewport": {"width": 390, "height": 1700}, "color_scheme": "light"},
    ),
    "plan.png": ("plan", "#hosts-at", {**_WIDE, "color_scheme": "light"}),
}
"""File: which page, what of it must be in sight, and how it is looked at."""


def make(browser: Browser, folder: Path) -> list[Path]:
    """Write all pictures into a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        pages = Path(temporary)
        pages.joinpath("audit.html").write_text(audit_html(shown_report()), encoding="utf-8")
        pages.joinpath("plan.html").write_text(plan_html(_plan(pages)), encoding="utf-8")
        return [_shot(browser, pages, folder / name) for name in PICTURES]


def _plan(folder: Path) -> Any:
    folder.joinpath("site.yaml").write_text(shown_site(), encoding="utf-8")
    options = ["--from", "site.yaml", "--repair", "-o", "plan.json", "--now", "2025-01-01T03:00:00Z"]
    subprocess.run(
        [sys.executable, "-m", "vplacer", "plan", *options],
        cwd=folder,
        env={"PYTHONPATH": str(REPO)},
        check=True,
        capture_output=True,
    )
    return load_plan(folder / "plan.json")


def _shot(browser: Browser, pages: Path, file: Path) -> Path:
    page_name, seen, look = PICTURES[file.name]
    with opened(browser, pages / f"{page_name}.html", **look) as page:
        page.locator("details.host").first.scroll_into_view_if_needed()
        page.locator(".picture .card").first.wait_for()
        page.locator(seen).first.wait_for()
        if seen == "#list":
            page.evaluate("scrollTo(0, 0)")
        else:
            page.locator(seen).first.evaluate("item => item.scrollIntoView()")
        page.wait_for_timeout(300)
        page.screenshot(path=file)
    return file


def main() -> int:
    """Make the pictures where asked."""
    found = chromium()
    if found is None:
        sys.stderr.write("no Chromium is installed\n")
        return 1
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    with launched(found) as browser:
        for path in make(browser, folder):
            sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
