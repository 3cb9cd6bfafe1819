"""Who chooses the card, and what is guaranteed whatever is chosen."""

from __future__ import annotations

from typing import Any

from tests.constraints.state_case import build_state
from vplacer.constraints.labels import portable_node, scope_of, why_not_portable
from vplacer.constraints.locality import AskLocality, ask_locality
from vplacer.constraints.state import State
from vplacer.constraints.steering import (
    candidates,
    possible_cards,
)
from vplacer.inventory.pci import PciAddress
from vplacer.topology.levels import NumaRelation

SITE: dict[str, Any] = {
    "host_kinds": {
        "k": {
            "cpu": {"packages": 2, "cores": 32},
            "memory_gib": 512,
            "devices": [
                {"gpu": "A30", "count": 2, "node": 0, "switch": "a", "label": "left"},
                {"gpu": "A30", "count": 2, "node": 1, "switch": "b", "label": "right"},
                {"nic": "CX6-DX", "count": 2, "node": 0, "switch": "a", "passthrough": "active"},
            ],
            "nvlinks": [["gpu0", "gpu1"], ["gpu2", "gpu3"]],
        },
        "one": {
            "cpu": {"packages": 1, "cores": 32},
            "memory_gib": 256,
            "devices": [{"gpu": "A30", "node": 0}],
        },
    },
    "clusters": [{"name": "c", "hosts": [{"kind": "k", "name": "h"}, {"kind": "k", "name": "other"}]}],
    "hosts": [{"kind": "k", "name": "alone"}, {"kind": "one", "name": "single"}],
    "vms": [{"name": "holder", "on": "h", "cpus": 2, "memory_gib": 4, "devices": [{"static": "gpu3"}]}],
}


def _state(demands: list[dict[str, Any]], placements: dict[str, Any]) -> State:
    return build_state(SITE, {"demands": demands, "placements": placements})


def _gpus(state: State, host: str = "h") -> list[PciAddress]:
    moid = next(h.moid for h in state.problem.inventory.hosts if h.name == host)
    return [gpu.address for gpu in state.problem.topologies[moid].gpus]


def _candidates(state: State, placement: int = 0, device: int = 0) -> tuple[PciAddress, ...]:
    chosen = state.placements[placement]
    return candidates(state, chosen, chosen.devices[device])


def test_the_platform_chooses_among_all_that_nobody_holds_or_binds() -> None:
    state = _state(
        [{"name": "a", "gpus": [{"model": "A30"}]}, {"name": "b", "mode": "pin", "gpus": [{}]}],
        {
            "a": {"host": "h", "devices": ["gpus[0]=gpu0 platform"]},
            "b": {"host": "h", "nodes": [0], "devices": ["gpus[0]=gpu1 static"]},
        },
    )
    gpus = _gpus(state)
    assert _candidates(state) == (gpus[0], gpus[2])
    assert _candidates(state, 1) == (gpus[1],)


def test_a_label_leaves_its_own_cards() -> None:
    state = _state(
        [{"name": "a", "gpus": [{}]}], {"a": {"host": "h", "devices": ["gpus[0]=gpu0 label left"]}}
    )
    assert _candidates(state) == tuple(_gpus(state)[:2])


def test_a_label_that_is_used_up_is_no_choice_of_the_platform() -> None:
    demands = [{"name": "a", "gpus": [{"count": 2}]}, {"name": "b", "gpus": [{}]}]
    labelled = {"host": "h", "devices": ["gpus[0]=gpu0 label left", "gpus[0]=gpu1 label left"]}
    free = {"host": "h", "devices": ["gpus[0]=gpu2 platform"]}
    state = _state(demands, {"a": labelled, "b": free})
    assert _candidates(state, 1) == (_gpus(state)[2],)
    demands[0] = {"name": "a", "gpus": [{"count": 1}]}
    state = _state(demands, {"a": {"host": "h", "devices": ["gpus[0]=gpu0 label left"]}, "b": free})
    assert _candidates(state, 1) == tuple(_gpus(state)[:3])


def test_who_takes_all_there_are_knows_which() -> None:
    state = _state(
        [{"name": "a", "gpus": [{"count": 3}]}],
        {"a": {"host": "h", "devices": [f"gpus[0]=gpu{n} platform" for n in range(3)]}},
    )
    gpus = _gpus(state)
    assert possible_cards(state, state.placements[0]) == ((gpus[0],), (gpus[1],), (gpus[2],))


def _locality(state: State, kind: str = "gpu", index: int = 0) -> AskLocality:
    placement = state.placements[0]
    return ask_locality(state, state.problem.demand_by_id[placement.demand], placement, kind, index)


def test_nothing_is_local_unless_both_sides_are_fixed() -> None:
    pin = [{"name": "a", "mode": "pin", "gpus": [{}]}]
    bound = _locality(_state(pin, {"a": {"host": "h", "nodes": [0], "devices": ["gpus[0]=gpu0 static"]}}))
    assert (bound.numa, bound.both_sides_fixed) == (NumaRelation.SAME_NODE, True)
    floats = _locality(_state(pin, {"a": {"host": "h", "devices": ["gpus[0]=gpu0 static"]}}))
    assert (floats.numa, floats.both_sides_fixed) == (NumaRelation.UNKNOWN, False)
    hint = [{"name": "a", "gpus": [{}]}]
    luck = _locality(_state(hint, {"a": {"host": "h", "nodes": [0], "devices": ["gpus[0]=gpu0 platform"]}}))
    assert (luck.numa, luck.both_sides_fixed) == (NumaRelation.OTHER_SOCKET, False)
    single = _locality(_state(hint, {"a": {"host": "single", "devices": ["gpus[0]=gpu0 platform"]}}))
    assert (single.numa, single.both_sides_fixed) == (NumaRelation.SAME_NODE, True)


def test_a_nic_for_each_gpu_and_not_one_for_all() -> None:
    demand = [
        {
            "name": "a",
            "mode": "pin",
            "gpus": [{"count": 2}],
            "nics": [{"count": 2, "near_gpu": True, "at": "switch"}],
        }
    ]
    nics = ["nics[0]=nic0 static", "nics[0]=nic1 static"]
    near = {"host": "h", "nodes": [0], "devices": ["gpus[0]=gpu0 static", "gpus[0]=gpu1 static", *nics]}
    assert _locality(_state(demand, {"a": near}), "nic").near_gpu_ok is True
    split = {"host": "h", "nodes": [0], "devices": ["gpus[0]=gpu0 static", "gpus[0]=gpu2 static", *nics]}
    assert _locality(_state(demand, {"a": split}), "nic").near_gpu_ok is False


def test_labels_of_a_cluster_and_of_a_host_alone() -> None:
    problem = _state([], {}).problem
    hosts = {host.name: host for host in problem.inventory.hosts}
    for name in ("h", "alone"):
        scope = scope_of(hosts[name])
        assert (portable_node(problem, scope, "left"), portable_node(problem, scope, "right")) == (0, 1)
        assert why_not_portable(problem, scope, "left") is None
    assert why_not_portable(problem, scope_of(hosts["single"]), "left") == "no device has the label 'left'"
