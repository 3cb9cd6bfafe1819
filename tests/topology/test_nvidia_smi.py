"""The importer of ``nvidia-smi topo -m``: public samples, traps, refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.topology.hosts import make_host
from tests.topology.smi_hosts import host_of
from vplacer.errors import FileFormatError, UsageError
from vplacer.inventory.host import Host
from vplacer.inventory.overlay_file import load_overlays, save_overlays
from vplacer.inventory.pci import PciAddress
from vplacer.report.topology_matrix import render_matrix
from vplacer.topology.build import build_host_topology
from vplacer.topology.describe import describe_host
from vplacer.topology.importers.facts import ReadOptions
from vplacer.topology.importers.fit import ImportResult, overlay_from_facts
from vplacer.topology.importers.nvidia_smi import matrix_facts
from vplacer.topology.importers.smi_matrix import SmiMatrix, is_gpu, parse_matrix

CREATED = "2026-11-01T00:00:00Z"
SAMPLES = (
    "4gpu-pairs-each-gpu-own-numa",
    "4gpu-pairs-numa-local-with-bdf",
    "a100-4gpu-one-bridge-missing",
    "a100pcie-8gpu-interleaved-pairs",
    "a6000-3gpu-pair-plus-single",
    "della-a100-4gpu",
    "delta-a100x4-numa-range",
    "gb200-4gpu",
    "h100-4gpu-empty-cpu-affinity",
    "h100-8gpu-sys-nic",
    "hgx-a100-8gpu-nps4",
    "l40s-4gpu-2nic",
    "p4d-a100-8gpu",
)


def overlay_from_matrix(
    matrix: SmiMatrix,
    host: Host,
    *,
    created: str,
    gpu_addresses: Sequence[PciAddress] = (),
    nic_addresses: Mapping[str, PciAddress] | None = None,
) -> ImportResult:
    """Import a matrix; without addresses, in the order of the host's."""
    told = gpu_addresses or any(row.address for row in matrix.rows)
    options = ReadOptions(gpus=tuple(gpu_addresses), nics=nic_addresses or {}, order_pci=not told)
    return overlay_from_facts(matrix_facts(matrix, host, options), host, created=created)


def read(test_data: Path, name: str) -> SmiMatrix:
    return parse_matrix((test_data / "nvidia-smi-topo" / f"{name}.txt").read_text(encoding="utf-8"), name)


def test_every_public_sample_is_tested(test_data: Path) -> None:
    found = {file.stem for file in (test_data / "nvidia-smi-topo").glob("*.txt")}
    assert found == set(SAMPLES)


def impossible(matrix: SmiMatrix, a: str, b: str) -> bool:
    """A report that says SYS of two GPUs and gives them one NUMA node contradicts itself."""
    nodes = {row.label: row.numa_node for row in matrix.rows}
    return matrix.word(a, b) == "SYS" and nodes[a] is not None and nodes[a] == nodes[b]


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_renders_to_its_own_words(test_data: Path, tmp_path: Path, name: str) -> None:
    matrix = read(test_data, name)
    host, addresses = host_of(matrix)
    gpus = [addresses[row.label] for row in matrix.gpu_rows]
    result = overlay_from_matrix(matrix, host, created=CREATED, gpu_addresses=gpus)
    odd = [(a, b) for a, b in combinations(matrix.labels, 2) if impossible(matrix, a, b)]
    assert len(result.contradictions) == len(odd), result.contradictions
    save_overlays(tmp_path, (result.overlay,))
    topology = build_host_topology(host, load_overlays(tmp_path))
    assert topology.mismatches == ()
    for a, b in combinations(matrix.labels, 2):
        if (a, b) not in odd:
            assert topology.relation(addresses[a], addresses[b]).word() == matrix.word(a, b), (a, b)
    # What is printed reads back as it was: labels differ, so compare in the order of addresses.
    printed = parse_matrix(render_matrix(describe_host(host, topology)))
    order = sorted(matrix.labels, key=lambda label: (not is_gpu(label), addresses[label]))
    for a, b in combinations(range(len(order)), 2):
        if (order[a], order[b]) not in odd and (order[b], order[a]) not in odd:
            word = printed.word(printed.labels[a], printed.labels[b])
            assert word == matrix.word(order[a], order[b])
    for row in matrix.gpu_rows:
        if row.numa_node is not None:
            index = order.index(row.label)
            assert printed.rows[index].numa_node == row.numa_node


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_copied_with_blanks_reads_alike(test_data: Path, name: str) -> None:
    tabbed = read(test_data, name)
    text = (test_data / "nvidia-smi-topo" / f"{name}.txt").read_text(encoding="utf-8")
    spaced = parse_matrix(text.expandtabs(8))
    assert [row.cells for row in spaced.rows] == [row.cells for row in tabbed.rows]
    for one, other in zip(spaced.rows, tabbed.rows, strict=True):
        # A cell may be lost where another of its row is empty; it is never put in the wrong column.
        assert one.numa_affinity in (other.numa_affinity, None)
        assert one.cpu_affinity in (other.cpu_affinity, None)


def test_numa_nodes_of_traps(test_data: Path) -> None:
    assert [row.numa_node for row in read(test_data, "delta-a100x4-numa-range").gpu_rows] == [None] * 4
    empty = read(test_data, "h100-4gpu-empty-cpu-affinity")
    assert [row.numa_node for row in empty.gpu_rows] == [0, 1, 1, 1]
    assert [row.cpu_affinity for row in empty.gpu_rows] == ["44-51,148-155", None, None, None]


PAIR = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV4\tSYS\tSYS\tPIX\t0-7\t0\t\tN/A
GPU1\tNV4\t X \tSYS\tSYS\tPIX\t0-7\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tNODE\tSYS\t8-15\t1\t\tN/A
GPU3\tSYS\tSYS\tNODE\t X \tSYS\t8-15\t1\t\tN/A
NIC0\tPIX\tPIX\tSYS\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node

NIC Legend:

  NIC0: mlx5_0
"""


def host(**changes: Any) -> Any:
    spec: dict[str, Any] = {
        "nodes": [{"id": 0, "package": 0}, {"id": 1, "package": 1}],
        "pci": [
            "16:01.0 bridge",
            "26:01.0 bridge",
            "36:01.0 bridge",
            "46:01.0 bridge",
            "56:01.0 bridge",
            "17:00.0 A30 < 16:01.0",
            "27:00.0 A30 < 26:01.0",
            "37:00.0 A30 < 36:01.0",
            "47:00.0 A30 < 46:01.0",
            "57:00.0 nic < 56:01.0",
        ],
    }
    return make_host({**spec, **changes})


def test_import_adds_links_nodes_and_names_the_missing_bridge() -> None:
    nic = PciAddress.parse("57:00.0")
    target = host()
    result = overlay_from_matrix(parse_matrix(PAIR), target, created=CREATED, nic_addresses={"mlx5_0": nic})
    assert result.contradictions == ()
    assert result.notes == (
        "GPU2 0000:37:00.0, GPU3 0000:47:00.0: no NVLink, unlike others of the model; "
        "a bridge may be missing or inactive",
        "vCenter knows the NUMA node of none of these devices, so it could not be checked that the file "
        "numbers the nodes as ESXi does",
    )
    topology = build_host_topology(target, [result.overlay])
    assert [device.node for device in topology.gpus] == [0, 0, 1, 1]
    assert [device.node for device in topology.nics] == [0]
    assert len(topology.links) == 6
    assert [link.lanes for link in topology.links] == [4, 0, 0, 0, 0, 0]


def test_import_without_addresses_of_nics_leaves_them_out() -> None:
    result = overlay_from_matrix(parse_matrix(PAIR), host(), created=CREATED)
    assert [str(device.address) for device in result.overlay.devices] == [
        "0000:17:00.0",
        "0000:27:00.0",
        "0000:37:00.0",
        "0000:47:00.0",
    ]


def test_contradictions_with_vcenter_are_named_and_left_out() -> None:
    listed = [
        {"id": 0, "package": 0, "devices": ["17:00.0", "37:00.0", "47:00.0"]},
        {"id": 1, "package": 1, "devices": ["27:00.0"]},
    ]
    result = overlay_from_matrix(parse_matrix(PAIR), host(nodes=listed), created=CREATED)
    assert result.contradictions == (
        "GPU0 to GPU2 is SYS, across nodes; vCenter says both are on pNUMA 0",
        "GPU0 to GPU3 is SYS, across nodes; vCenter says both are on pNUMA 0",
        "GPU1 0000:27:00.0: the file says NUMA node 0, vCenter says pNUMA 1",
        "GPU2 0000:37:00.0: the file says NUMA node 1, vCenter says pNUMA 0",
        "GPU3 0000:47:00.0: the file says NUMA node 1, vCenter says pNUMA 0",
    )
    assert [device.numa_node for device in result.overlay.devices] == [0, None, None, None]


def test_the_cpu_node_of_a_gpu_on_a_node_without_cores_is_no_contradiction() -> None:
    nodes = [
        {"id": 0, "package": 0},
        {"id": 1, "package": 1},
        {"id": 2, "cores": 0, "devices": ["17:00.0", "27:00.0", "37:00.0", "47:00.0"]},
    ]
    target = host(nodes=nodes)
    result = overlay_from_matrix(parse_matrix(PAIR), target, created=CREATED)
    assert result.contradictions == ()
    topology = build_host_topology(target, [result.overlay])
    assert [device.node for device in topology.gpus] == [2, 2, 2, 2]
    assert [topology.cpu_node_for(device.address) for device in topology.gpus] == [0, 0, 1, 1]
    printed = parse_matrix(render_matrix(describe_host(target, topology)))
    assert [(row.numa_affinity, row.gpu_numa_id) for row in printed.gpu_rows] == [
        ("0", "2"),
        ("0", "2"),
        ("1", "2"),
        ("1", "2"),
    ]


def test_a_range_of_nodes_is_not_used() -> None:
    text = PAIR.replace("0-7\t0\t", "0-7\t0-1\t")
    result = overlay_from_matrix(parse_matrix(text), host(), created=CREATED)
    assert [device.numa_node for device in result.overlay.devices] == [None, None, 1, 1]
    assert "GPU0 (0-1), GPU1 (0-1) names several nodes" in result.notes[0]


@pytest.mark.parametrize("word", ["N/A", "?", "NV4?"])
def test_words_that_tell_nothing_leave_the_link_open(word: str) -> None:
    text = PAIR.replace("NODE\tSYS\t8-15", f"{word}\tSYS\t8-15").replace(
        "SYS\tSYS\tNODE", f"SYS\tSYS\t{word}"
    )
    matrix = parse_matrix(text)
    assert matrix.word("GPU2", "GPU3") == word
    result = overlay_from_matrix(matrix, host(), created=CREATED)
    joined = {(str(link.a), str(link.b)): link.lanes for link in result.overlay.links}
    assert joined.get(("0000:37:00.0", "0000:47:00.0")) == (4 if word == "NV4?" else None)


def test_what_vplacer_prints_without_an_overlay_proves_nothing() -> None:
    """A word with "?" says that NVLink is unknown; reading it back must not make "none" of it."""
    nodes = [{"id": 0, "package": 0, "devices": ["17:00.0", "27:00.0", "37:00.0", "47:00.0"]}]
    target = host(nodes=nodes)
    text = render_matrix(describe_host(target, build_host_topology(target)))
    assert "NODE?" in text
    result = overlay_from_matrix(parse_matrix(text), target, created=CREATED)
    assert result.overlay.links == ()
    assert len(result.notes) == 6


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\x1b[4m" + text.replace("GPU NUMA ID", "GPU NUMA ID\x1b[0m", 1),
        lambda text: "Fri Nov  7\n$ nvidia-smi topo -m\n" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.expandtabs(8).replace("NIC0    CPU Affinity", "NIC0CPU Affinity"),
        lambda text: text.expandtabs(8).replace("SYS     SYS     PIX", "SYSSYS     PIX"),
        lambda text: text.replace("NIC0", "mlx5_0"),
        lambda text: text.split("Legend")[0].rstrip(),
    ],
    ids=["ansi", "prompt", "crlf", "glued heading", "glued words", "named nic", "no legend"],
)
def test_the_same_matrix_however_it_was_copied(change: Any) -> None:
    plain, other = parse_matrix(PAIR), parse_matrix(change(PAIR))
    assert [row.cells for row in other.rows] == [row.cells for row in plain.rows]
    assert [row.numa_node for row in other.gpu_rows] == [0, 0, 1, 1]


def test_a_column_of_addresses_gives_the_order() -> None:
    lines = PAIR.splitlines()
    lines[0] = lines[0].replace("CPU Affinity", "Bus-Id\tCPU Affinity")
    for index, bus in enumerate(("47", "37", "27", "17"), start=1):
        lines[index] = lines[index].replace("\t0-7", f"\t00000000:{bus}:00.0\t0-7")
        lines[index] = lines[index].replace("\t8-15", f"\t00000000:{bus}:00.0\t8-15")
    result = overlay_from_matrix(parse_matrix("\n".join(lines)), host(), created=CREATED)
    joined = [link for link in result.overlay.links if link.lanes]
    assert [(str(link.a), str(link.b)) for link in joined] == [("0000:37:00.0", "0000:47:00.0")]
    assert [device.numa_node for device in result.overlay.devices] == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no matrix found"),
        ("No devices were found\n", "no matrix found"),
        (PAIR[: PAIR.index("NIC0\tPIX")] + "NIC0\tPIX\tPI", "row NIC0, column GPU1: 'PI' is no word"),
        ("\n".join(PAIR.splitlines()[:4]), "no row for column GPU3: the matrix is cut off"),
        (PAIR.replace("GPU1\tNV4", "GPU1\tNV2"), "the matrix contradicts itself"),
        (PAIR.replace("GPU0\t X \t", "GPU0\t"), "is no word of the matrix|not X"),
        (PAIR.replace("NODE\t X ", "NODE\tBEST"), "'BEST' is no word of the matrix"),
        (PAIR.replace("\tCPU Affinity", ""), "column CPU Affinity is missing before NUMA Affinity"),
        (PAIR.replace("\t0-7\t", "\t0\t").replace("\t8-15\t", "\t1\t"), "one number a row, no CPUs"),
    ],
    ids=[
        "empty",
        "no devices",
        "cut in a row",
        "missing rows",
        "asymmetric",
        "shifted",
        "word",
        "heading",
        "cells",
    ],
)
def test_a_bad_matrix_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_matrix(text, "topo.txt")


def test_error_names_file_and_line() -> None:
    with pytest.raises(FileFormatError) as caught:
        parse_matrix(PAIR.replace("NODE\t X ", "NODE\tBEST"), "topo.txt")
    assert str(caught.value).startswith("topo.txt:5: row GPU3")


def test_a_matrix_of_another_host_is_refused() -> None:
    three = host(pci=["16:01.0 bridge", "17:00.0 A30 < 16:01.0", "27:00.0 A30", "37:00.0 A30"])
    with pytest.raises(UsageError, match="the matrix has 4 GPUs, the host has 3 of NVIDIA"):
        overlay_from_matrix(parse_matrix(PAIR), three, created=CREATED)


def test_addresses_must_be_gpus_of_the_host() -> None:
    nic = PciAddress.parse("57:00.0")
    gpus = [PciAddress.parse(text) for text in ("17:00.0", "27:00.0", "37:00.0")]
    with pytest.raises(UsageError, match=r"0000:57:00\.0 is not an NVIDIA GPU of this host"):
        overlay_from_matrix(parse_matrix(PAIR), host(), created=CREATED, gpu_addresses=[*gpus, nic])
    with pytest.raises(UsageError, match="4 GPUs, 3 addresses"):
        overlay_from_matrix(parse_matrix(PAIR), host(), created=CREATED, gpu_addresses=gpus)
    missing = {"NIC0": PciAddress.parse("77:00.0")}
    with pytest.raises(UsageError, match="NIC0: there is no device"):
        overlay_from_matrix(parse_matrix(PAIR), host(), created=CREATED, nic_addresses=missing)
