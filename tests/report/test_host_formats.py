"""Each format is one module, and all commands offer all of them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import REPO
from tests.report.views import hard, views_of
from vplacer.cli import topology_export, topology_show
from vplacer.report.host_formats import format_names, load_format

NAMES = format_names()


def test_the_formats() -> None:
    assert NAMES == ("dot", "graphml", "json", "matrix", "nccl", "svg", "tree")


@pytest.mark.parametrize("name", NAMES)
def test_each_says_its_suffix_and_how_its_files_begin(name: str) -> None:
    form = load_format(name)
    text = form.render(hard("odd"))
    assert re.fullmatch(r"(\.[a-z]+)+", form.suffix)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert not form.starts or text.startswith(form.starts)


def test_suffixes_differ() -> None:
    suffixes = [load_format(name).suffix for name in NAMES]
    assert len(set(suffixes)) == len(suffixes)


def test_show_and_export_offer_all() -> None:
    for module in (topology_show, topology_export):
        option = next(param for param in module.command.params if param.name == "format")
        assert tuple(option.type.choices) == NAMES  # type: ignore[attr-defined]


def test_offering_them_imports_none() -> None:
    code = (
        "import sys, vplacer.cli.topology_export, vplacer.cli.topology_show\n"
        "found = [m for m in sys.modules if m.startswith('vplacer.report.topology_')]\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPO, check=True)


QUOTED = r'"(?:[^"\\]|\\.)*"'
DOT_LINE = re.compile(
    rf"  (?:node \[shape=box\]|{QUOTED} \[label={QUOTED}, shape=\w+\]"
    rf"|{QUOTED} -- {QUOTED}(?: \[style=\w+(?:, label={QUOTED})?\])?);"
)


def test_dot_is_of_statements_that_graphviz_reads() -> None:
    for view in views_of(REPO / "tests" / "report" / "cases" / "pictures.yaml"):
        first, *lines, last = load_format("dot").render(view).rstrip("\n").split("\n")
        assert (first, last) == ("graph topology {", "}")
        wrong = [line for line in lines if not DOT_LINE.fullmatch(line)]
        assert wrong == []
