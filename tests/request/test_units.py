"""Sizes, speeds, overhead and MMIO against published figures."""

from __future__ import annotations

import pytest

from vplacer.inventory.vcenter import About, Inventory
from vplacer.request.demand import GpuAsk
from vplacer.request.sizing import GpuFigures, estimated_overhead_mib
from vplacer.request.units import memory_text, parse_memory_mib, parse_speed_mbps


@pytest.mark.parametrize(
    ("text", "mib"),
    [("4 MiB", 4), ("1GiB", 1024), ("1.5 GiB", 1536), ("0.5 TiB", 524288), ("24560 GiB", 25149440)],
)
def test_sizes(text: str, mib: int) -> None:
    assert parse_memory_mib(text) == mib


@pytest.mark.parametrize("mib", [4, 1024, 1536, 1048576, 1572864, 98308])
def test_sizes_round_trip(mib: int) -> None:
    assert parse_memory_mib(memory_text(mib)) == mib


@pytest.mark.parametrize(("text", "mbps"), [("100 Gbit/s", 100_000), ("2.5Gbps", 2500), ("40 Mbit/s", 40)])
def test_speeds(text: str, mbps: int) -> None:
    assert parse_speed_mbps(text) == mbps


@pytest.mark.parametrize("text", ["", "GiB", "-1 GiB", "1 GB", "1e3 GiB", "4 4 GiB", "1 GiB x", "0x10 GiB"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_memory_mib(text)


# VMware, vSphere Resource Management, "Sample Overhead Memory on Virtual Machines" (MiB by vCPUs 1, 2, 4, 8).
_TABLE = {
    256: (20.29, 24.28, 32.23, 48.16),
    1024: (25.90, 29.91, 37.86, 53.82),
    4096: (48.64, 52.72, 60.67, 76.78),
    16384: (139.62, 143.98, 151.93, 168.60),
}


@pytest.mark.parametrize("memory_mib", sorted(_TABLE))
def test_overhead_is_never_below_the_table_nor_far_above(memory_mib: int) -> None:
    for cpus, told in zip((1, 2, 4, 8), _TABLE[memory_mib], strict=True):
        assert told <= estimated_overhead_mib(cpus, memory_mib) <= told + 16


@pytest.mark.parametrize(
    ("asks", "gib"),
    [
        ([GpuAsk(1, model="H100-80")], 256),
        ([GpuAsk(1, model="A100-40")], 128),
        ([GpuAsk(2, model="A30")], 128),
        ([GpuAsk(8, model="H100-SXM-80")], 2048),
        ([GpuAsk(1, model="T4")], 32),
        ([GpuAsk(4, profile="grid_a30-6c")], 0),
        ([], 0),
    ],
)
def test_mmio_of_published_examples(asks: list[GpuAsk], gib: int) -> None:
    about = About("vc", "u", "8.0.3", "1", "8.0.3.0")
    empty = Inventory(about, "2025-01-01T00:00:00Z", (), (), (), (), (), (), ())
    assert GpuFigures(empty, {}).mmio_gib(asks) == gib
