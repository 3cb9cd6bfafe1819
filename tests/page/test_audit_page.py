"""The page of an audit in a browser: filters, pictures, printing, accessibility, hostile names."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.audit.full_report import empty_report, full_report
from tests.page.browser import LOOKS, opened, violations
from tests.page.reports import HOSTILE, big_report, hostile_report, shown_report
from vplacer.report.audit_html import audit_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SANE_SECONDS = 20


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    reports = {
        "shown": shown_report(),
        "full": full_report(),
        "hostile": hostile_report(*HOSTILE),
        "clean": empty_report(complete=True),
        "empty": empty_report(complete=False),
    }
    for name, report in reports.items():
        folder.joinpath(f"{name}.html").write_text(audit_html(report), encoding="utf-8")
    return folder


def shown(page: Page) -> int:
    return page.locator("#list .finding:visible").count()


def test_a_filter_is_set_by_keyboard_alone_and_kept_in_the_address(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html") as page:
        everything = shown(page)
        page.get_by_label("error", exact=True).focus()
        page.keyboard.press("Space")
        assert 0 < shown(page) < everything
        assert page.url.endswith("#severity=warning%2Cnote")
        assert page.locator("#count").inner_text() == f"Showing {shown(page)} of {everything} findings."
        page.get_by_label("Text").focus()
        page.keyboard.type("no such words")
        assert shown(page) == 0
        assert page.locator("#nothing").is_visible()
        address = page.url
    with opened(browser, files / "shown.html", address[address.index("#") :]) as page:
        assert shown(page) == 0
        page.get_by_role("button", name="All findings").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelectorAll('#list .finding:not([hidden])').length > 1")
        assert shown(page) == everything


@pytest.mark.parametrize(("field", "value"), [("rule", "VPL001"), ("cluster", "ml-east"), ("host", "esx02")])
def test_selects_show_what_they_name(browser: Browser, files: Path, field: str, value: str) -> None:
    with opened(browser, files / "shown.html") as page:
        found = page.locator(f"#f-{field} option", has_text=value).first
        page.locator(f"#f-{field}").select_option(found.get_attribute("value"))
        seen = page.locator("#list .finding:visible")
        assert seen.count() >= 1
        texts = seen.evaluate_all(
            "all => all.map(i => i.innerText + i.closest('.group').firstElementChild.innerText)"
        )
        assert all(value in text for text in texts)


def test_waived_findings_are_shown_when_asked_for(browser: Browser, files: Path) -> None:
    with opened(browser, files / "full.html") as page:
        assert shown(page) == 2
        page.get_by_label("waived too").check()
        assert shown(page) == 3
        assert "by design" in page.locator("#list .finding.waived").inner_text()
        page.get_by_label("only new").check()
        assert shown(page) == 1


def test_a_tile_filters_and_a_link_opens_the_picture(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html") as page:
        page.locator(".tile.warning").first.click()
        assert page.url.endswith("#severity=warning")
        assert shown(page) == 1
        page.locator("#list .finding:visible a[href^='#host-']").click()
        assert page.url.endswith("#severity=warning")
        picture = page.locator("details.host:focus-within .picture")
        picture.locator(".card").first.wait_for()
        far = picture.locator(".card.far-same")
        assert "embed-2" in far.inner_text()
        assert "same socket, other node" in far.inner_text()


def test_hosts_follow_the_filters(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html", "#host=none-such&severity=warning") as page:
        assert page.locator("details.host:visible h3").all_inner_texts() == ["esx02"]
        assert page.locator("#hosts-shown").inner_text().startswith("1 of 6 hosts")
        page.get_by_role("button", name="All findings").click()
        page.locator("details.host:visible").nth(5).wait_for()
        assert not page.locator("#hosts-shown").is_visible()


def test_remote_cards_are_told_by_word_and_sign_not_by_colour_alone(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html") as page:
        page.locator("details.host").first.scroll_into_view_if_needed()
        card = page.locator(".card.far-other", has_text="vision-etl")
        card.wait_for()
        assert "GPU3" in card.inner_text()
        assert "✕" in card.inner_text()
        assert "other socket" in card.inner_text()
        vm = page.locator(".vm.other", has_text="vision-etl")
        assert "GPU3" in vm.inner_text()
        local = page.locator(".card", has_text="GPU0").first
        assert "local" in local.inner_text()


def test_incomplete_is_said_first_and_loudly(browser: Browser, files: Path) -> None:
    with opened(browser, files / "empty.html") as page:
        assert page.locator("main h2").first.inner_text().startswith("⚠ INCOMPLETE: 1 place")
        assert "Nothing is wrong" not in page.locator("main").inner_text()
    with opened(browser, files / "clean.html") as page:
        assert "INCOMPLETE" not in page.locator("main").inner_text()
        assert "Nothing is wrong" in page.locator(".verdict").inner_text()


def test_what_was_not_evaluated_is_there_with_its_reason(browser: Browser, files: Path) -> None:
    with opened(browser, files / "full.html") as page:
        assert "no VM of this host was measured" in page.locator("[aria-labelledby=unseen]").inner_text()
        assert "Gone since" in page.locator("main").inner_text()


def test_hostile_names_stay_text(browser: Browser, files: Path) -> None:
    with opened(browser, files / "hostile.html") as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a name ran as script: {dialog.message}"))
        names = page.locator("#list h4").all_inner_texts()
        seen = [name.replace("\u202e", "[U+202E]").replace("\u2066", "[U+2066]") for name in HOSTILE]
        seen = [name.replace("\u200b", "[U+200B]").replace("\x07", "[U+0007]") for name in seen]
        assert sorted(names) == sorted(seen)
        page.locator("details.host").first.scroll_into_view_if_needed()
        page.locator(".picture .vm").first.wait_for()
        drawn = page.locator(".picture .vm bdi").all_inner_texts()
        assert sorted(drawn) == sorted(seen)
        assert page.locator("img").count() == 0
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0


@pytest.mark.parametrize(
    ("name", "look"),
    [
        *(("shown", look) for look in (*LOOKS, "print")),
        ("full", "dark"),
        ("hostile", "narrow"),
        ("empty", "light"),
    ],
)
def test_axe_finds_nothing(browser: Browser, axe: Path, files: Path, name: str, look: str) -> None:
    with opened(browser, files / f"{name}.html", **LOOKS.get(look, {})) as page:
        if look == "print":
            page.emulate_media(media="print")
        page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
        page.wait_for_timeout(200)
        assert violations(page) == []
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0


def test_axe_would_find_what_is_wrong(browser: Browser, axe: Path, files: Path) -> None:
    with opened(browser, files / "clean.html") as page:
        page.evaluate("document.querySelector('label[for=theme]').remove()")
        assert [text.split(":")[0] for text in violations(page)] == ["select-name"]


def test_the_switch_of_colours_overrules_the_system(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html", color_scheme="light") as page:
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.get_by_label("Colours").select_option("dark")
        assert page.evaluate(ground) != light
        page.get_by_label("Colours").select_option("light")
        assert page.evaluate(ground) == light


def test_for_the_printer_hosts_with_findings_are_drawn(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html") as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        found = page.locator("details.host[data-found]")
        assert found.count() == 3
        assert all(item.locator(".card").count() for item in found.all())
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details.host[open]").count() == 2


def test_without_script_all_findings_can_be_read(browser: Browser, files: Path) -> None:
    with opened(browser, files / "shown.html", java_script_enabled=False) as page:
        assert page.locator("#list .finding:visible").count() == len(shown_report().findings)
        assert not page.locator("#filters").is_visible()


def test_a_thousand_findings_on_five_hundred_hosts_open(browser: Browser, tmp_path: Path) -> None:
    report = big_report()
    assert len(report.findings) == 1000
    assert len(report.pictures or ()) == 500
    file = tmp_path / "big.html"
    file.write_text(audit_html(report), encoding="utf-8")
    began = time.monotonic()
    with opened(browser, file) as page:
        assert page.locator("#count").inner_text() == "Showing 1,000 of 1,000 findings."
        # Only a page that hangs is caught here; how fast it is, the benchmark says.
        assert time.monotonic() - began < SANE_SECONDS
        assert page.locator(".picture .card").count() < 1000


def test_a_page_is_the_same_bytes_each_time_and_asks_no_network() -> None:
    text = audit_html(shown_report())
    assert text == audit_html(shown_report())
    assert re.findall(r"https?:[^\s\"']*", text) == ["http://www.w3.org/2000/svg"], (
        "the name of a language, not asked"
    )
    assert "default-src 'none'" in html.unescape(text)
