"""vNUMA and MMIO arithmetic, and the inverse of changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topology.hosts import make_host
from vplacer.constraints.vnuma_shape import (
    VnumaShape,
    legal_cores_per_socket,
    max_cores_per_socket,
    vnuma_node_of,
    vnuma_shape,
)
from vplacer.inventory.host import GpuMode, Graphics, HardwareLimits, PciDevice
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.plan.mmio import bar_gib, mmio_size_gb


@pytest.mark.parametrize(
    ("cpus", "limit", "expected"),
    [
        (96, 64, (48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)),
        (96, 256, (96, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)),
        (1, 64, (1,)),
        (7, 64, (7, 1)),
    ],
)
def test_legal_cores_per_socket(cpus: int, limit: int, expected: tuple[int, ...]) -> None:
    assert legal_cores_per_socket(cpus, limit) == expected


HALVES = (48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)


@pytest.mark.parametrize(
    ("release", "told", "version", "expected"),
    [
        ("8.0.3", {}, 19, HALVES),
        ("7.0.3", {}, 17, HALVES),
        ("8.0.3", {}, 20, (96, *HALVES)),
        ("8.0.3", {}, 21, (96, *HALVES)),
        ("9.0.0", {}, 22, (96, *HALVES)),
        # The host's own descriptor counts more than any table, for its version alone.
        ("8.0.3", {20: 32}, 20, HALVES[1:]),
        ("8.0.3", {20: 32}, 21, (96, *HALVES)),
        # Of a release nobody knows the least is taken.
        (None, {}, 21, HALVES),
    ],
)
def test_cores_per_socket_of_96_vcpus_by_hardware_version(
    release: str | None, told: dict[int, int], version: int, expected: tuple[int, ...]
) -> None:
    """A large VM on each hardware version (sapcc/helm-charts #6691)."""
    limits = tuple(
        HardwareLimits(number, "descriptor", None, None, cores, None, None, None, None)
        for number, cores in told.items()
    )
    host = replace(make_host({"pci": []}), version=release, limits=limits)
    assert legal_cores_per_socket(96, max_cores_per_socket(host, version)) == expected


def test_vnuma_nodes_may_outnumber_sockets() -> None:
    """Legal cores per socket stay, also when they span nodes (sapcc/helm-charts #6691)."""
    assert vnuma_shape(96, 4, 48, 64) == VnumaShape(nodes=4, cores_per_node=24, cores_per_socket=48)
    assert vnuma_shape(96, 4, 96, 64) == VnumaShape(nodes=4, cores_per_node=24, cores_per_socket=24)
    assert vnuma_shape(96, 4, 96, 256) == VnumaShape(nodes=4, cores_per_node=24, cores_per_socket=96)


@given(
    per_node=st.integers(1, 96),
    nodes=st.integers(1, 8),
    current=st.none() | st.integers(1, 128),
    limit=st.sampled_from([64, 256]),
)
def test_a_shape_keeps_every_rule(per_node: int, nodes: int, current: int | None, limit: int) -> None:
    shape = vnuma_shape(per_node * nodes, nodes, current, limit)
    sockets = shape.cores_per_socket
    assert shape.nodes * shape.cores_per_node == per_node * nodes
    assert (per_node * nodes) % sockets == 0
    assert sockets <= limit
    assert shape.cores_per_node % sockets == 0 or sockets % shape.cores_per_node == 0
    allowed = legal_cores_per_socket(per_node * nodes, limit)
    if current in allowed and (per_node % current == 0 or current % per_node == 0):
        assert sockets == current


def test_vcpus_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="15 vCPUs do not divide into 2"):
        vnuma_shape(15, 2, None, 64)


@pytest.mark.parametrize(
    ("pnode", "nodes", "vnodes", "expected"),
    [
        (0, (0, 1), 2, 0),
        (1, (0, 1), 2, 1),
        (3, (1, 3), 4, 2),
        (2, (0, 1), 2, None),
        (None, (0, 1), 2, None),
        (0, (0,), 1, None),
        (0, (0,), 2, 0),
    ],
)
def test_vnuma_node_of_a_device(
    pnode: int | None, nodes: tuple[int, ...], vnodes: int, expected: int | None
) -> None:
    assert vnuma_node_of(pnode, nodes, vnodes) == expected


def _card(ids: tuple[int, int], memory_gib: int | None = None) -> PciDevice:
    graphics = None if memory_gib is None else Graphics("direct", GpuMode.NONE, memory_gib * 1024 * 1024)
    return PciDevice(PciAddress(0, 1, 0, 0), PciIds(*ids), 0x302, "", "", graphics=graphics)


H100, A30, V100, A100_40 = (0x10DE, 0x2331), (0x10DE, 0x20B7), (0x10DE, 0x1DB6), (0x10DE, 0x20F1)


@pytest.mark.parametrize(
    ("ids", "count", "expected"),
    [(H100, 1, 256), (A30, 2, 128), (V100, 2, 128), (H100, 8, 2048), (A100_40, 1, 128)],
)
def test_published_mmio_sizes(ids: tuple[int, int], count: int, expected: int) -> None:
    assert mmio_size_gb([bar_gib(_card(ids))] * count) == expected


def test_a_card_of_unknown_model_counts_by_its_memory_and_else_not_at_all() -> None:
    assert bar_gib(_card((0x10DE, 0xFFFF), memory_gib=20)) == 32
    assert bar_gib(_card((0x10DE, 0xFFFF))) is None
    assert mmio_size_gb([32, None]) is None
    assert mmio_size_gb([]) is None
