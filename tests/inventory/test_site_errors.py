"""Inventory YAML that is wrong: every fault is named with file, line and key."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPO
from tests.inventory.data import cases
from vplacer.errors import FileFormatError, NewerFormatError, RequestError
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.yaml_marks import parse_document

VALID = """\
# Twenty lines, so that a case's own lines start at 21.
format_version: 1

host_kinds:
  a:
    cpu: {packages: 2, cores: 8}
    memory_gib: 64
    devices:
      - {gpu: A30, node: 0, label: "gpu-n{node}"}
      - {gpu: A30, node: 1, label: "gpu-n{node}"}
      - {nic: X710, node: 0}

clusters:
  - name: lab
    drs: manual
    ha: off
    hosts:
      - kind: a
        count: 2

"""


def test_the_base_of_the_cases_is_valid() -> None:
    assert VALID.count("\n") == 20
    assert [host.name for host in load_site_text(VALID).inventory.hosts] == ["esx01", "esx02"]


@pytest.mark.parametrize("case", cases("site-errors"), ids=lambda case: case["told"])
def test_refused(case: dict[str, Any]) -> None:
    text = case.get("text") or VALID + case["add"]
    with pytest.raises(FileFormatError) as caught:
        load_site_text(text, "lab.yaml")
    shown = str(caught.value)
    assert case["told"] in shown
    assert shown.startswith(f"lab.yaml:{case['line']}:")
    assert caught.value.line == case["line"]


def test_all_faults_are_listed_in_the_order_of_the_file() -> None:
    text = VALID + "vms:\n  - {name: a, cpu: 2, memory_gib: x}\n  - {cpus: -1}\n"
    with pytest.raises(FileFormatError) as caught:
        load_site_text(text, "lab.yaml")
    lines = str(caught.value).splitlines()
    assert [line.split(": ", 1)[0].rsplit(":", 1)[0] for line in lines] == [
        *["lab.yaml:22"] * 3,
        *["lab.yaml:23"] * 3,
    ]
    assert any("vms[0].cpu: unknown key 'cpu' (did you mean 'cpus'?)" in line for line in lines)
    assert any("vms[1]: the key 'name' is missing" in line for line in lines)


def test_a_newer_format_is_refused_by_name() -> None:
    with pytest.raises(NewerFormatError, match="inventory format 2 is newer"):
        load_site_text("format_version: 2\nsomething: else\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: off", {"on": "off"}),
        ("a: [yes, no, y, N]", {"a": ["yes", "no", "y", "N"]}),
        ("a: [true, false, null, ~]", {"a": [True, False, None, None]}),
        ("a: [00:1c.0, 10:20:30, 190:20:30.15]", {"a": ["00:1c.0", "10:20:30", "190:20:30.15"]}),
        ("a: [1, -1, 0x10, 010, 1_000, 1.5, 1e3]", {"a": [1, -1, 16, "010", "1_000", 1.5, 1000.0]}),
        ("a: 2025-01-31", {"a": "2025-01-31"}),
        ("21: {x: 1}", {"21": {"x": 1}}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ('{"a": [1, "b", null]}', {"a": [1, "b", None]}),
        ("", None),
    ],
)
def test_yaml_means_what_people_mean(text: str, value: Any) -> None:
    assert parse_document(text, "x").data == value


def test_values_know_their_lines() -> None:
    document = parse_document("a:\n  - b: 1\n    c: [x, y]\n", "x")
    found = {pointer: (mark.line, mark.column) for pointer, mark in document.marks.items()}
    assert found[("a", 0, "b")] == (2, 8)
    assert found[("a", 0, "c", 1)] == (3, 12)
    assert document.key_marks[("a", 0, "c")].line == 3
    deep = document.mark(("a", 0, "c", 1, "not", "there"))
    assert deep is not None
    assert (deep.line, deep.column) == (3, 12)


def _bomb() -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 10)}]" for n in range(9)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &x [*x]", "nested too deeply, or an alias inside itself"),
        ("[" * 100_000, "not valid YAML"),
        ("!!python/object/apply:os.system [id]", "are not used here"),
        ("a: !custom 1", "are not used here"),
        ("a: !!int x", "not of the type int"),
        ("? [a]\n: b", "a key must be a word"),
        ("a: 1\n---\nb: 2", "not valid YAML"),
        ("a: *nothing", "not valid YAML"),
        (_bomb(), "aliases may multiply"),
    ],
)
def test_yaml_that_harms_is_refused(text: str, told: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse_document(text, "x.yaml")
    assert told in str(caught.value)
    assert caught.value.line is not None


BASES = [
    parse_document((REPO / "fixtures" / "sites" / f"{name}.yaml").read_text(), name).data
    for name in ("a30pairs", "nvswitch")
]
WORDS = st.sampled_from(
    ["", "gpu0", "esx01", "A30", "unknown", "0000:3b:00.0", "{n}", "*", "parent", "é", "a/b"]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.sampled_from([2**31, 2**70, 0.5, 1e300]),
    WORDS,
    st.lists(WORDS, max_size=2),
    st.dictionaries(WORDS, WORDS, max_size=2),
)


def _spots(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(data, dict):
        inner: list[tuple[Any, Any]] = list(data.items())
    elif isinstance(data, list):
        inner = list(enumerate(data))
    else:
        return [at]
    return [at, *(spot for key, value in inner for spot in _spots(value, (*at, key)))]


@settings(max_examples=250)
@given(st.data())
def test_whatever_is_changed_loads_or_is_refused(data: st.DataObject) -> None:
    """A changed value, a missing one, a doubled line: never anything but a site or an error of ours."""
    document = deepcopy(data.draw(st.sampled_from(BASES)))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(_spots(document)[1:]))
        parent = document
        for part in way:
            parent = parent[part]
        change = data.draw(st.sampled_from(["replace", "remove", "double"]))
        if change == "replace":
            parent[last] = data.draw(VALUES)
        elif change == "remove":
            del parent[last]
        elif isinstance(parent, list):
            parent.append(deepcopy(parent[last]))
    try:
        loaded = load_site_text(json.dumps(document), "lab.yaml")
    except RequestError as error:
        refusal = str(error)
    else:
        assert isinstance(loaded, Site)
        return
    assert refusal.startswith("lab.yaml")
