"""What would lift a rejection: the filter says it of a host, a check of a demand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.constraints.state_case import build_state
from vplacer.constraints.registry import checks, filters
from vplacer.constraints.state import Problem

SITE = {
    "host_kinds": {
        "k": {
            "cpu": {"packages": 2, "cores": 16},
            "memory_gib": 256,
            "devices": [
                {"gpu": "A30", "count": 2, "node": 0, "label": "left"},
                {"gpu": "A30", "node": 1, "passthrough": "enabled"},
                {"nic": "CX6-DX", "node": 0, "passthrough": "active"},
            ],
        },
        "vgpu": {
            "cpu": {"packages": 2, "cores": 16},
            "memory_gib": 256,
            "devices": [{"gpu": "A30", "node": 0}],
            "vgpu": {"profiles": ["nvidia_a30-6c"]},
        },
    },
    "datastores": ["vsan", "nfs"],
    "clusters": [
        {
            "name": "c",
            "hosts": [{"kind": "k", "name": "h", "datastores": ["vsan"]}, {"kind": "vgpu", "name": "v"}],
        },
        {
            "name": "d",
            "hosts": [
                {"kind": "k", "name": "m", "maintenance": True},
                {"kind": "k", "name": "z", "power": "standBy"},
            ],
        },
    ],
}


def _problem(demand: dict[str, Any], rules: dict[str, Any] | None = None) -> Problem:
    return build_state(SITE, {"demands": [{"name": "vm", **demand}], "rules": rules or {}}).problem


@pytest.mark.parametrize(
    ("constraint", "host", "demand", "field", "value", "says"),
    [
        ("maintenance", "m", {}, None, None, "end maintenance mode on m"),
        ("standby", "z", {}, None, None, "take z out of standby"),
        ("datastore", "h", {"datastores": ["nfs"]}, None, None, "mount datastore nfs on h"),
        ("cluster", "h", {"clusters": ["d"]}, "clusters", "c", "allow cluster c"),
        ("cluster", "h", {"hosts": ["v"]}, "hosts", "h", "allow host h"),
        ("gpu-model", "h", {"gpus": [{"model": "A30", "count": 3}]}, None, None, "reboot h"),
        ("gpu-model", "h", {"gpus": [{"model": "A30", "count": 4}]}, "gpus[0].count", "2", "ask for 2"),
        ("gpu-model", "h", {"gpus": [{"model": "A30", "label": "x"}]}, "gpus[0].label", "", "drop label"),
        ("gpu-model", "h", {"gpus": [{"model": "A40"}]}, "gpus[0].model", "A30", "take A30 instead"),
        ("nic-kind", "h", {"nics": [{"min_speed_mbps": 10**6}]}, "nics[0].min_speed", "", "minimum speed"),
        ("nic-kind", "h", {"nics": [{"count": 2}]}, "nics[0].count", "1", "ask for 1"),
        ("host-size", "h", {"cpus": 48, "latency_high": True}, "cpus", "32", "at most 32 vCPUs"),
        ("host-size", "h", {"memory_gib": 400}, "memory", None, "MiB of memory"),
        ("drs", "h", {"mode": "pin", "drs_override": False}, "affinity", "hint", "mode 'hint'"),
        ("vm-limits", "v", {"gpus": [{"profile": "nvidia_a30-6c", "count": 99}]}, None, None, "vGPUs"),
    ],
)
def test_filters(
    constraint: str, host: str, demand: dict[str, Any], field: str | None, value: str | None, says: str
) -> None:
    problem = _problem(demand)
    item = next(item for item in filters() if item.id == constraint)
    home = next(h for h in problem.inventory.hosts if h.name == host)
    asked = problem.request.demands[0]
    assert item.rejects(problem, asked, home) is not None
    relaxation = item.relax(problem, asked, home)
    assert relaxation is not None
    assert says in relaxation.text
    assert relaxation.field == field
    if value is not None:
        assert relaxation.value == value
    assert (relaxation.demand is None) == (field is None) or constraint == "vm-limits"


def test_a_filter_that_rejects_nothing_offers_nothing() -> None:
    problem = _problem({"gpus": [{"model": "A30"}], "nics": [{}]})
    host = next(h for h in problem.inventory.hosts if h.name == "h")
    demand = problem.request.demands[0]
    for item in filters():
        assert item.rejects(problem, demand, host) is None, item.id
        assert item.relax(problem, demand, host) is None, item.id


def _relax(
    constraint: str, demand: dict[str, Any], rules: dict[str, Any] | None = None
) -> list[tuple[str | None, str | None]]:
    problem = _problem(demand, rules)
    item = next(item for item in checks() if item.id == constraint)
    assert item.relax is not None
    found = item.relax(problem, problem.request.demands[0])
    assert [r.cost for r in found] == sorted(r.cost for r in found)
    return [(r.field, r.value) for r in found]


def test_policies_step_down() -> None:
    assert _relax("locality", {"gpus": [{"policy": "required"}]}) == [
        ("gpus[0].policy", "socket"),
        ("gpus[0].policy", "preferred"),
    ]
    assert _relax("locality", {"nics": [{"policy": "socket"}]}) == [("nics[0].policy", "preferred")]
    assert _relax("locality", {"gpus": [{"policy": "preferred"}]}) == []


def test_interconnect_steps_down() -> None:
    ask = {"count": 2, "interconnect": "nvlink", "interconnect_required": True}
    assert _relax("interconnect", {"gpus": [ask]}) == [
        ("gpus[0].interconnect", "numa"),
        ("gpus[0].interconnect", "socket"),
        ("gpus[0].interconnect_policy", "preferred"),
    ]


def test_nics_step_away() -> None:
    ask = {"near_gpu": True, "at": "root", "at_required": True}
    assert _relax("nic-near-gpu", {"gpus": [{}], "nics": [ask]}) == [
        ("nics[0].at", "numa"),
        ("nics[0].at", "socket"),
        ("nics[0].at_policy", "preferred"),
    ]


def test_what_is_not_steerable_can_be_steered_or_preferred() -> None:
    assert _relax("not-steerable", {"gpus": [{"policy": "socket"}]}) == [
        ("gpus[0].policy", "preferred"),
        ("affinity", "label"),
        ("affinity", "pin"),
    ]
    # A vGPU takes neither label nor static backing.
    assert _relax("not-steerable", {"gpus": [{"profile": "nvidia_a30-6c", "policy": "socket"}]}) == [
        ("gpus[0].policy", "preferred")
    ]


def test_labels_first_where_labels_are_wanting() -> None:
    assert _relax("label-portable", {"mode": "label", "gpus": [{}]}) == [
        (None, None),
        ("affinity", "hint"),
        ("affinity", "pin"),
    ]


def test_rules_become_preferences() -> None:
    rules = {"apart": [{"name": "r", "vms": ["vm"]}]}
    assert _relax("apart", {}, rules) == [("rules[r].policy", "preferred")]
