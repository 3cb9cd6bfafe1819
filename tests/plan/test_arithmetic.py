"""vNUMA and MMIO arithmetic, and the inverse of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vplacer.inventory.host import GpuMode, Graphics, PciDevice
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.plan.mmio import bar_gib, mmio_size_gb
from vplacer.plan.vnuma import legal_cores_per_socket, vnuma_node_of, vnuma_shape


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
