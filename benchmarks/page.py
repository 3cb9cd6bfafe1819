"""Opening the page of an audit in headless Chromium: 1,000 findings on 500 hosts.

Goal: 2 s from asking for the file until the findings are counted and can be filtered.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Report, main, repeated
from tests.page.browser import chromium, launched, opened
from tests.page.reports import big_report
from vplacer.report.audit_html import audit_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GOAL_S = 2.0
_FILTERED = """() => {
  const began = performance.now();
  const box = document.querySelector('#f-text');
  box.value = 'far-7';
  box.dispatchEvent(new Event('input', {bubbles: true}));
  document.body.getBoundingClientRect();
  return performance.now() - began;
}"""
_ALL_DRAWN = """() => {
  const began = performance.now();
  dispatchEvent(new Event('beforeprint'));
  document.body.getBoundingClientRect();
  return performance.now() - began;
}"""


def measure(quick: bool) -> Report:
    report = Report("The page of an audit")
    path = chromium()
    if path is None:
        report.check("a Chromium is installed", False, "none: nothing was measured")
        return report
    found = big_report(50 if quick else 500)
    text, making = repeated(lambda: audit_html(found), 1 if quick else 5)
    with tempfile.TemporaryDirectory() as folder, launched(path) as browser:
        file = Path(folder) / "audit.html"
        file.write_text(text, encoding="utf-8")
        runs = [_opened(browser, file) for _ in range(2 if quick else 6)][1:]
    seconds, filtered, drawn, version = (
        statistics.median(run[0] for run in runs),
        statistics.median(run[1] for run in runs),
        statistics.median(run[2] for run in runs),
        browser.version,
    )
    row = {
        "findings": len(found.findings),
        "hosts": len(found.pictures or ()),
        "page, MiB": len(text.encode()) / 2**20,
        "make it, wall s": statistics.median(cost.wall_s for cost in making),
        "open it, wall s": seconds,
        "filter it, s": filtered,
        "draw all hosts for the printer, s": drawn,
    }
    note = (
        "Opened: from asking for the file until the findings are counted. Medians; the first run is left out."
    )
    report.table(f"Chromium {version}", [row], note)
    if not quick:
        report.limit("a page of 1,000 findings on 500 hosts: open", GOAL_S, seconds, "s")
    return report


def _opened(browser: Browser, file: Path) -> tuple[float, float, float]:
    """Return seconds until the page can be used, until a filter is applied, until all hosts are drawn."""
    began = time.monotonic()
    with opened(browser, file) as page:
        page.wait_for_function("document.getElementById('count').textContent.startsWith('Showing')")
        seconds = time.monotonic() - began
        return seconds, page.evaluate(_FILTERED) / 1000, page.evaluate(_ALL_DRAWN) / 1000


if __name__ == "__main__":
    sys.exit(main(measure))
