"""What README and documentation tell people to type and write is understood by the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.conftest import REPO
from vplacer.request.load import parse_request

PAGES = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    for found in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield str(found)


def commands() -> Iterator[tuple[str, str]]:
    """Yield each page and each command line of vplacer in its shell blocks, without what follows a pipe."""
    for page in PAGES:
        for block in blocks(page, "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                command = re.split(r"\s[|>#]\s|\s{2,}#", line)[0].strip().removeprefix("$ ")
                if command.startswith("vplacer "):
                    yield page.name, command.replace(" ...", "")


@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_documented_commands_are_understood(page: str, command: str, vplacer: Runner) -> None:
    outcome = vplacer([*command.split()[1:], "--help"])
    assert (outcome.code, outcome.err) == (0, "")


def test_the_request_of_the_readme_is_one() -> None:
    (request,) = blocks(REPO / "README.md", "yaml")
    parsed = parse_request(request, "README.md")
    assert len(parsed.entries) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
