"""A card that no catalogue knows goes the whole way; what its model would tell stays unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner

_GPU = 'pci: {ids: "10de:fff0", class: 0x0302, vendor_name: NVIDIA Corporation, device_name: New card}'
_NIC = 'pci: {ids: "abcd:0001", class: 0x0200, vendor_name: Acme, device_name: New NIC}'

SITE = f"""
format_version: 1
host_kinds:
  k:
    cpu: {{cores: 16, model: My processor}}
    memory_gib: 256
    devices:
      - {{{_GPU}, name: gpu0, node: 0, passthrough: active}}
      - {{{_GPU}, name: gpu1, node: 1, passthrough: active}}
      - {{{_NIC}, name: nic0, node: 0, passthrough: active}}
clusters: [{{name: c, hosts: [{{kind: k}}]}}]
vms:
  - {{name: train, cpus: 8, memory_gib: 32, power: off, hardware_version: 21}}
"""

REQUEST = """
version: 1
vms:
  - select: {name: train}
    gpus: {count: 1, model: "10de:fff0"}
    affinity: pin
    power_on: true
"""


@pytest.fixture
def site(folder: Path, vplacer: Runner) -> Path:
    (folder / "site.yaml").write_text(SITE)
    (folder / "request.yaml").write_text(REQUEST)
    assert vplacer("collect --lab ./site.yaml -o site.json").code == 0
    return folder


def test_shown(site: Path, vplacer: Runner) -> None:
    outcome = vplacer("topology show esx01 --from ./site.json --format json")
    document = json.loads(outcome.out)
    gpus = [device for device in document["devices"] if device["kind"] == "gpu"]
    assert [(gpu["name"], gpu["model"], gpu["node"]) for gpu in gpus] == [
        ("New card", None, 0),
        ("New card", None, 1),
    ]
    assert [gpu["precisions"] for gpu in gpus] == [None, None]
    pair = next(pair for pair in document["relations"] if {pair["a"], pair["b"]} == {"GPU0", "GPU1"})
    assert pair["nvlinks"] is None, "not 0: nobody said that it has none"
    assert {offer["offered"] for offer in document["cpu_precisions"]} == {None}


def test_planned(site: Path, vplacer: Runner) -> None:
    outcome = vplacer("plan --dry-run --from ./site.json -r request.yaml --format json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    (step,) = [step for step in document["steps"] if step["kind"] == "reconfigure"]
    (added,) = step["change"]["devices"]
    assert added["after"]["backing"]["device_id"] == "fff0"
    keys = {change["key"] for change in step["change"]["extra_config"]}
    assert not any("MMIO" in key for key in keys), "its size is not known"
    assert "the size of a card's memory window is not known" in json.dumps(document)


def test_nvlink_is_not_promised(site: Path, vplacer: Runner) -> None:
    linked = "count: 2, interconnect: nvlink, interconnect_policy: required"
    (site / "request.yaml").write_text(REQUEST.replace("count: 1", linked))
    outcome = vplacer("plan --dry-run --from ./site.json -r request.yaml")
    assert outcome.code == 4
    assert "an overlay can tell what is not known" in outcome.out
