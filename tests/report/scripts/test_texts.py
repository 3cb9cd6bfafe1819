"""Names that a script must carry unharmed, whatever they hold."""

from __future__ import annotations

import subprocess

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.scripts.playbook import PlaybookLoader, Unsafe
from tests.report.scripts.powershell import powershell_errors, strings
from vplacer.report.scripts import powershell_text, yaml_text
from vplacer.report.scripts.bash_text import quoted
from vplacer.report.scripts.words import comment, one_line

ODD = [
    "",
    "plain-1",
    "it's",
    '"two" $HOME `id` $(id) !! \\',
    "line\nbreak",
    "\r\n\t",
    "-rf *",
    "ü 測試 \U0001f600",
    "\u2028 \u202e abc \u2018quoted\u2019",
    "{{ 7 * 7 }} {% x %} {# y #} !unsafe",
    "{{{{#{%",
    "\x1b[31m",
]


def bash_says(text: str) -> bytes:
    return subprocess.run(["bash", "-c", f"printf %s {quoted(text)}"], capture_output=True, check=True).stdout


@pytest.mark.parametrize("text", ODD)
def test_bash_gets_the_text_as_it_is(text: str) -> None:
    assert bash_says(text) == text.encode()


@settings(max_examples=60)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_bash_gets_any_text(text: str) -> None:
    assert bash_says(text) == text.encode()


@pytest.mark.parametrize("text", ODD)
def test_powershell_gets_the_text_as_it_is(text: str) -> None:
    check_powershell(text)


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_powershell_gets_any_text(text: str) -> None:
    check_powershell(text)


def check_powershell(text: str) -> None:
    expression = powershell_text.quoted(text)
    assert expression.isascii()
    assert expression.isprintable()
    script = f"$name = {expression}"
    assert powershell_errors(script) == []
    (found,) = strings(script)
    if expression.startswith("([regex]::Unescape("):
        units = found.encode("ascii").decode("unicode_escape")
        found = units.encode("utf-16", "surrogatepass").decode("utf-16")
    assert found == text


@pytest.mark.parametrize("text", ODD)
def test_ansible_gets_the_text_as_it_is(text: str) -> None:
    check_yaml(text)


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_ansible_gets_any_text(text: str) -> None:
    check_yaml(text)


def check_yaml(text: str) -> None:
    line = f"[{yaml_text.quoted(text)}, {yaml_text.title(text)}]"
    assert line.isascii()
    assert line.isprintable()
    found, title = yaml.load(line, Loader=PlaybookLoader)
    assert found == text
    assert isinstance(found, Unsafe) == any(sign in text for sign in ("{{", "{%", "{#"))
    assert not any(sign in title for sign in ("{{", "{%", "{#"))


@pytest.mark.parametrize("text", ODD)
def test_a_comment_stays_one(text: str) -> None:
    (line,) = comment([f"about {text}"])
    assert line.startswith("# about")
    assert len(line.splitlines()) == 1
    assert one_line(text).isprintable()
