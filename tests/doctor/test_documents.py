"""docs/assumptions.md and docs/doctor.md say what the code says."""

from __future__ import annotations

import re

from tests.conftest import REPO
from vplacer.doctor.model import Verb
from vplacer.doctor.privileges import NEEDS, needs_of, table_markdown
from vplacer.doctor.run import CHECKS

PAGE = (REPO / "docs" / "assumptions.md").read_text(encoding="utf-8")
SECTIONS = {
    match[1]: body
    for part in PAGE.split("\n### ")[1:]
    if (match := re.match(r"(A-\d\d) ", part)) and (body := part)
}
ID_RE = re.compile(r"\bA-\d\d\b")
WITHOUT_ASSUMPTION = {"D02", "D05"}
"""Checks of the way to the server: they rest on nothing that vSphere would have to do."""


def test_every_section_has_an_id_of_its_own() -> None:
    headings = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    ids = [heading[:4] for heading in headings]
    assert len(set(ids)) == len(ids) == len(SECTIONS) >= 45


def test_every_assumption_says_all_there_is_to_say() -> None:
    for name, text in SECTIONS.items():
        for word in ("Fact", "Used by", "Evidence", "If wrong", "On real kit", "Doctor"):
            assert re.search(rf"^- {word}: \S", text, re.MULTILINE), (name, word)
        evidence = re.search(r"^- Evidence: (.*)$", text, re.MULTILINE)
        assert evidence is not None
        assert re.match(r"(strong|fair|weak|none)\b", evidence[1]), (name, evidence[1])


def test_modules_that_rely_on_an_assumption_exist() -> None:
    for name, text in SECTIONS.items():
        used = re.search(r"^- Used by: (.*)$", text, re.MULTILINE)
        assert used is not None
        for module in re.findall(r"`((?:\w+/)*\w+\.py)`", used[1]):
            assert (REPO / "vplacer" / module).is_file(), (name, module)


def test_every_id_named_anywhere_exists() -> None:
    places = [*(REPO / "vplacer").rglob("*.py"), *(REPO / "docs").glob("*.md"), REPO / "README.md"]
    for place in places:
        for found in ID_RE.findall(place.read_text(encoding="utf-8")):
            assert found in SECTIONS, f"{place}: {found}"


def test_checks_and_assumptions_name_each_other() -> None:
    by_page = {
        name: set(re.findall(r"\bD\d\d\b", text.partition("- Doctor:")[2])) for name, text in SECTIONS.items()
    }
    by_code = {name: {c.id for c in CHECKS if name in c.assumptions} for name in SECTIONS}
    for name in SECTIONS:
        assert by_code[name] <= by_page[name], name
    # A section may point at a check that touches it without being about it ("D16 counts ...").
    known = {check.id for check in CHECKS}
    assert all(ids <= known for ids in by_page.values())


def test_every_check_has_an_id_and_names_its_assumption() -> None:
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    assert {check.id for check in CHECKS if not check.assumptions} == WITHOUT_ASSUMPTION


def test_the_page_prints_the_table_of_privileges() -> None:
    page = (REPO / "docs" / "doctor.md").read_text(encoding="utf-8")
    printed = page.partition("<!-- privileges -->\n")[2].partition("\n<!-- /privileges -->")[0]
    assert printed == table_markdown()


def test_planning_needs_no_more_than_reading() -> None:
    assert needs_of(Verb.PLAN) == needs_of(Verb.READ)
    assert {need.privilege for need in needs_of(Verb.READ)} == {"System.View", "System.Read"}
    assert set(needs_of(Verb.APPLY)) > set(needs_of(Verb.READ))
    assert len(set(NEEDS)) == len(NEEDS)
