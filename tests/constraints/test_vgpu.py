"""Room of cards for vGPUs, against the tables of NVIDIA's guides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.constraints.state_case import build_state
from vplacer.constraints.holdings import AssignableDevice, devices_of_host
from vplacer.inventory.bound_by import BoundBy
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.topology.assignable import assignable_devices
from vplacer.topology.build import build_host_topology
from vplacer.topology.claims import PASSTHROUGH, VGPU, Claim
from vplacer.topology.device_use import use_beside
from vplacer.topology.vgpu_capacity import vgpu_capacity
from vplacer.topology.vgpu_room import all_fit, profile_shape, room_for

PROFILES = {
    "A100-80": [f"grid_a100d-{n}c" for n in (4, 8, 10, 16, 20, 40, 80)]
    + ["grid_a100d-1-10c", "grid_a100d-2-20c", "grid_a100d-3-40c", "grid_a100d-4-40c", "grid_a100d-7-80c"]
    + ["grid_a100d-1-20c", "grid_a100d-1-10cme"],
    "A40": [f"nvidia_a40-{n}q" for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)],
    "A30": [
        "nvidia_a30-24c",
        "nvidia_a30-1-6c",
        "nvidia_a30-1-6cme",
        "nvidia_a30-2-12c",
        "nvidia_a30-2-12cme",
        "nvidia_a30-4-24c",
    ],
    "H100-80": [f"nvidia_h100-{n}c" for n in (4, 5, 8, 10, 16, 20, 40, 80)],
    "H20-96": [f"nvidia_h20-{n}c" for n in (4, 6, 12, 16, 24, 48, 96)],
    "H200-NVL-141": [f"nvidia_h200-{n}c" for n in (4, 7, 8, 14, 17, 28, 35, 70, 141)]
    + ["nvidia_h200-1-18c", "nvidia_h200-1-35c", "nvidia_h200-2-35c", "nvidia_h200-3-71c"],
    "L40S": [f"nvidia_l40s-{n}q" for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)],
}


def _host(model: str, mode: str, version: str = "8.0.3") -> tuple[Host, AssignableDevice]:
    site = {
        "host_kinds": {
            "k": {
                "version": version,
                "cpu": {"packages": 1, "cores": 32},
                "memory_gib": 512,
                "devices": [{"gpu": model, "node": 0, "mode": mode}],
                "vgpu": {"profiles": PROFILES[model]},
            }
        },
        "clusters": [{"name": "c", "hosts": [{"kind": "k"}]}],
    }
    problem = build_state(site, {}).problem
    host = problem.inventory.hosts[0]
    return host, devices_of_host(problem, host.moid)[0]


def _room(model: str, mode: str, profile: str, held: tuple[str, ...] = ()) -> int:
    host, card = _host(model, mode)
    shape = profile_shape(host, profile)
    assert shape is not None
    shapes = tuple(s for name in held if (s := profile_shape(host, name)) is not None)
    assert len(shapes) == len(held)
    return room_for(card, shape, shapes)


@pytest.mark.parametrize(
    ("model", "profile", "most"),
    [
        ("A40", "nvidia_a40-48q", 1),
        ("A40", "nvidia_a40-16q", 3),
        ("A40", "nvidia_a40-6q", 8),
        ("A40", "nvidia_a40-1q", 32),
        ("A100-80", "grid_a100d-80c", 1),
        ("A100-80", "grid_a100d-16c", 5),
        ("A100-80", "grid_a100d-8c", 10),
        ("A100-80", "grid_a100d-4c", 20),
        ("H20-96", "nvidia_h20-4c", 24),
        ("H200-NVL-141", "nvidia_h200-8c", 16),
        ("H200-NVL-141", "nvidia_h200-7c", 20),
        ("H200-NVL-141", "nvidia_h200-4c", 32),
    ],
)
def test_same_size(model: str, profile: str, most: int) -> None:
    assert _room(model, "sameSize", profile) == most
    assert _room(model, "sameSize", profile, (profile,)) == most - 1


@pytest.mark.parametrize(
    ("profile", "most"),
    [
        ("nvidia_a40-48q", 1),
        ("nvidia_a40-24q", 2),
        ("nvidia_a40-16q", 2),
        ("nvidia_a40-12q", 4),
        ("nvidia_a40-8q", 4),
        ("nvidia_a40-1q", 32),
    ],
)
def test_mixed_size_takes_fewer_of_some(profile: str, most: int) -> None:
    assert _room("A40", "mixedSize", profile) == most


@pytest.mark.parametrize(
    ("model", "profile", "held", "most"),
    [
        # 8C starts at 0, 12, 20, 32 ...: it is in the way of 10 GB once, of 16 GB (0, 24, 40, 64) once.
        ("H100-80", "nvidia_h100-10c", ("nvidia_h100-8c",), 7),
        ("H100-80", "nvidia_h100-16c", ("nvidia_h100-8c",), 3),
        ("H100-80", "nvidia_h100-40c", ("nvidia_h100-8c", "nvidia_h100-8c"), 0),
        ("L40S", "nvidia_l40s-1q", (), 16),
        ("A40", "nvidia_a40-1q", (), 32),
        # H20: two of 24 GB, and where they lie is not published.
        ("H20-96", "nvidia_h20-24c", (), 2),
        ("H20-96", "nvidia_h20-24c", ("nvidia_h20-24c",), 1),
        ("H20-96", "nvidia_h20-48c", ("nvidia_h20-4c",), 0),
        ("H20-96", "nvidia_h20-12c", ("nvidia_h20-24c",), 1),
    ],
)
def test_mixed_size_beside_others(model: str, profile: str, held: tuple[str, ...], most: int) -> None:
    assert _room(model, "mixedSize", profile, held) == most


def test_mixed_size_free_but_not_placeable() -> None:
    # 4 GiB each in both halves: 40 of 48 GiB are free, and 24 GiB have no place.
    assert _room("A40", "mixedSize", "nvidia_a40-24q", ("nvidia_a40-4q", "nvidia_a40-4q")) == 0
    assert _room("A40", "mixedSize", "nvidia_a40-12q", ("nvidia_a40-4q", "nvidia_a40-4q")) == 2
    assert _room("A40", "mixedSize", "nvidia_a40-4q", ("nvidia_a40-24q",)) == 4


def test_mixed_size_largest_first() -> None:
    host, card = _host("A40", "mixedSize")
    shapes = {name: profile_shape(host, name) for name in PROFILES["A40"]}
    large, small = shapes["nvidia_a40-24q"], shapes["nvidia_a40-8q"]
    assert large is not None
    assert small is not None
    assert all_fit(card, (), (small, large, small))
    assert not all_fit(card, (small,), (large, large))


@pytest.mark.parametrize(
    ("model", "profile", "most"),
    [
        ("A100-80", "grid_a100d-1-10c", 7),
        ("A100-80", "grid_a100d-2-20c", 3),
        ("A100-80", "grid_a100d-3-40c", 2),
        ("A100-80", "grid_a100d-4-40c", 1),
        ("A100-80", "grid_a100d-7-80c", 1),
        ("A30", "nvidia_a30-1-6c", 4),
        ("A30", "nvidia_a30-2-12c", 2),
        ("A30", "nvidia_a30-4-24c", 1),
        ("A100-80", "grid_a100d-1-20c", 4),
        ("A100-80", "grid_a100d-1-10cme", 1),
        ("A30", "nvidia_a30-1-6cme", 1),
        ("A30", "nvidia_a30-2-12cme", 1),
        ("H200-NVL-141", "nvidia_h200-1-18c", 7),
        ("H200-NVL-141", "nvidia_h200-1-35c", 4),
        ("H200-NVL-141", "nvidia_h200-2-35c", 3),
        ("H200-NVL-141", "nvidia_h200-3-71c", 2),
    ],
)
def test_mig(model: str, profile: str, most: int) -> None:
    assert _room(model, "multiInstanceGpu", profile) == most


def test_mig_beside_others() -> None:
    mode = "multiInstanceGpu"
    assert _room("A100-80", mode, "grid_a100d-3-40c", ("grid_a100d-1-10c",)) == 1
    assert _room("A100-80", mode, "grid_a100d-1-10c", ("grid_a100d-3-40c",)) == 3
    assert _room("A100-80", mode, "grid_a100d-7-80c", ("grid_a100d-1-10c",)) == 0
    # One instance a card has the media extensions (NVIDIA Multi-Instance GPU User Guide).
    assert _room("A100-80", mode, "grid_a100d-1-10cme", ("grid_a100d-1-10cme",)) == 0
    assert _room("A100-80", mode, "grid_a100d-1-10c", ("grid_a100d-1-10cme",)) == 6
    assert _room("A30", mode, "nvidia_a30-2-12cme", ("nvidia_a30-1-6cme",)) == 0


@pytest.mark.parametrize(
    ("mode", "profile"),
    [
        ("sameSize", "grid_a100d-1-10c"),
        ("mixedSize", "grid_a100d-1-10c"),
        ("multiInstanceGpu", "grid_a100d-10c"),
    ],
)
def test_the_current_mode_decides(mode: str, profile: str) -> None:
    assert _room("A100-80", mode, profile) == 0


def test_types_of_one_size_mix_from_8_0_u1_on() -> None:
    for version, room in (("8.0.0", 0), ("8.0.1", 3)):
        host, card = _host("A100-80", "sameSize", version)
        shape = profile_shape(host, "grid_a100d-20c")
        assert shape is not None
        other = type(shape)(**{**{f: getattr(shape, f) for f in shape.__slots__}, "name": "grid_a100d-20q"})
        assert room_for(card, shape, (other,)) == room


def test_a_profile_the_host_does_not_offer_has_no_shape() -> None:
    host, _ = _host("A40", "sameSize")
    assert profile_shape(host, "nvidia_a40-5q") is None


@pytest.mark.parametrize(
    ("model", "possible", "room"),
    [
        # Each card as it shares by time, and as it is in MIG mode.
        ("A40", PROFILES["A40"], {"nvidia_a40-24q": 2}),
        ("A100-80", ["grid_a100d-40c", "grid_a100d-80c"], {"grid_a100d-40c": 2, "grid_a100d-1-10c": 0}),
        ("A100-80", ["grid_a100d-1-10c", "grid_a100d-3-40c"], {"grid_a100d-40c": 0, "grid_a100d-1-10c": 7}),
        ("A100-80", ["grid_a100d-1-10c", "grid_a100d-40c"], {"grid_a100d-40c": 0, "grid_a100d-1-10c": 0}),
        ("A100-80", [], {"grid_a100d-40c": 2, "grid_a100d-1-10c": 0}),
    ],
)
def test_a_host_that_does_not_tell_modes(model: str, possible: list[str], room: dict[str, int]) -> None:
    """Before ESXi 8.0 U3 the list of what is possible now is all that tells MIG mode."""
    host, _ = _host(model, "none", "8.0.2")
    host = replace(host, vgpu_types=tuple(possible))
    (card,) = assignable_devices(host, build_host_topology(host))
    for profile, most in room.items():
        shape = profile_shape(host, profile)
        assert shape is not None
        assert room_for(card, shape, ()) == most, profile


def test_free_memory_beside_what_is_not_known_is_not_known() -> None:
    host, card = _host("A40", "sameSize")
    gone = Claim("vm-9", None, VGPU, card.address, (), None, BoundBy.PLATFORM, None, Certainty.PROVED, None)
    (capacity,) = vgpu_capacity(host, use_beside([card], [gone]))
    assert capacity.free_mib is None
    assert {room.why for room in capacity.rooms} == {"what the card holds is not known"}
    whole = replace(gone, kind=PASSTHROUGH, address=None, candidates=(card.address,))
    (capacity,) = vgpu_capacity(host, use_beside([card], [whole]))
    assert capacity.free_mib is None
    assert {room.why for room in capacity.rooms} == {"the whole card is held, or may be"}
