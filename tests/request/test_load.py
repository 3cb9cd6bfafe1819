"""Loading: whatever a file holds, the answer is a request or an error a person can read."""

from __future__ import annotations

import copy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vplacer.errors import FileFormatError, UnknownObjectError, VplacerError
from vplacer.request.canonical import request_sha256
from vplacer.request.load import load_request, parse_request

WHOLE = """
version: 1
defaults: {policy: preferred, affinity: hint, fabric_from: {tag_category: f}, may_move: true, priority: 1}
vms:
  - select: {name: [a, "b-*"], folder: f, tag: "t:x", pool: p, cluster: c, moid: vm-1, instance_uuid: u}
    cpus: 8
    memory: 32 GiB
    vnuma: {nodes: 2}
    gpus: {count: 2, model: A30, label: l, interconnect: root, interconnect_policy: required, policy: none}
    nics: [{count: 1, kind: sriov, network: n, near: gpu, at: switch, min_speed: 10 Gbit/s, rdma: true}]
    weight: 2.5
  - {template: t, name: "n-{n:02}", count: 3, gpus: [{profile: q}], power_on: false, latency: high}
rules:
  - {apart: a, at_most: 2}
  - {name: r, on: [h], vms: [a], policy: preferred}
gangs:
  - {name: g, vms: "n-*", fabric: same, fabric_from: {hosts: {x: [h], y: "i*"}}}
cpu_overcommit: {default: 4, c: 2}
memory_margin: 4 %
headroom: {hosts: 1}
partial: true
hosts: spread
"""


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _places(item, (*path, index))
    return found


_DATA = yaml.safe_load(WHOLE)
_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "*", "{n}", "{", "4 GiB", "0 GiB", "auto", "nvlink", "gpu", "\u2028", "a: b"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["count", "name", "nodes", "hosts", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def test_the_whole_example_loads() -> None:
    request = parse_request(WHOLE, "whole.yaml")
    assert [len(request.entries), len(request.rules), len(request.gangs)] == [2, 2, 1]
    assert request.entries[1].names == ("n-01", "n-02", "n-03")


@given(place=st.sampled_from(_places(_DATA)), junk=_JUNK)
def test_one_value_changed_to_anything(place: tuple[Any, ...], junk: Any) -> None:
    data = copy.deepcopy(_DATA)
    holder = data
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = junk
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False)
    said = None
    try:
        parse_request(text, "junk.yaml")
    except VplacerError as error:
        said = str(error)
    assert said is None or said.startswith("junk.yaml")


def test_a_count_that_nobody_could_count_to() -> None:
    text = 'version: 1\nvms: [{template: t, name: "n-{n}", count: 1000000000000}]\n'
    with pytest.raises(FileFormatError, match="count: 1000000000000 is more than 10000"):
        parse_request(text, "huge.yaml")


def test_the_hash_is_of_what_is_said() -> None:
    one = parse_request("version: 1\nvms:\n  - select: {name: a}\n    cpus: 4\n", "one.yaml")
    same = parse_request("vms: [{cpus: 4, select: {name: 'a'}}] # same\nversion: 1\n", "two.yaml")
    other = parse_request("version: 1\nvms: [{cpus: 8, select: {name: a}}]\n", "one.yaml")
    assert request_sha256(one.data) == request_sha256(same.data) != request_sha256(other.data)
    assert request_sha256({"b": 1, "a": ["x"]}) == sha256(b'{"a":["x"],"b":1}').hexdigest()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownObjectError, match="no such file"):
        load_request(tmp_path / "none.yaml")
    with pytest.raises(UnknownObjectError, match="folder"):
        load_request(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00version")
    with pytest.raises(FileFormatError, match="not text"):
        load_request(binary)


def test_many_faults_are_cut_and_counted() -> None:
    entries = "".join(f"  - {{select: {{name: a{n}}}, cpu: 4}}\n" for n in range(80))
    with pytest.raises(FileFormatError) as caught:
        parse_request(f"version: 1\nvms:\n{entries}", "long.yaml")
    assert caught.value.line == 3
    assert str(caught.value).splitlines()[-1] == "and 30 more"
