"""What a host's CPUs offer: the function alone, and from an inventory YAML through the simulated vCenter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.topology.hosts import make_host
from vplacer.inventory.cluster import Cluster
from vplacer.inventory.cpu_models import (
    CPU_PRECISIONS,
    cpu_features,
    cpu_generations,
    generation_of,
    generation_of_evc,
)
from vplacer.inventory.site_load import load_site_text
from vplacer.topology.cpu_features import CpuOffer, cpu_precisions

CASES = yaml.safe_load((Path(__file__).parent / "data" / "cpu-features.yaml").read_text())

SITE = """
format_version: 1
host_kinds: {{k: {{cpu: {{cores: 8{cpu}}}, memory_gib: 64}}}}
clusters: [{{name: c{cluster}, hosts: [{{kind: k{host}}}]}}]
"""


def keys(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(f"cpuid.{name}" for name in names)


def cluster(evc: str | None) -> Cluster:
    return Cluster("domain-c1", "c", None, None, None, None, None, evc)


def shown(offer: CpuOffer) -> str:
    if offer.offered:
        assert offer.why is None
        return f"{', '.join(offer.features)} from {offer.hardware_version}"
    assert offer.features == ()
    assert offer.hardware_version is None
    return f"{'unknown' if offer.offered is None else 'no'}: {offer.why}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_offers(case: dict[str, Any]) -> None:
    host = replace(
        make_host({"pci": []}),
        version=case.get("release", "8.0.3"),
        cpu_features=keys(case["has"]),
        cpu_features_visible=keys(case["left"]),
    )
    offers = cpu_precisions(host, cluster(case.get("evc")))
    assert {offer.name: shown(offer) for offer in offers} == case["offers"]
    if "evc" not in case:
        assert cpu_precisions(host, None) == offers


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", "Broadwell"),
        ("Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz", "Skylake"),
        ("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "Cascade Lake"),
        ("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", "Cooper Lake"),
        ("Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", "Ice Lake"),
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", "Ice Lake"),
        ("Intel(R) Xeon(R) Gold 6448Y", "Sapphire Rapids"),
        ("INTEL(R) XEON(R) PLATINUM 8592+", "Emerald Rapids"),
        ("AMD EPYC 7H12 64-Core Processor", "Rome"),
        ("Intel(R) Xeon(R) 6972P", "Granite Rapids"),
        ("Intel(R) Xeon(R) 6780E", None),
        ("AMD EPYC 7551 32-Core Processor", "Naples"),
        ("AMD EPYC 7742 64-Core Processor", "Rome"),
        ("AMD EPYC 75F3 32-Core Processor", "Milan"),
        ("AMD EPYC 7763 64-Core Processor", "Milan"),
        ("AMD EPYC 9354 32-Core Processor", "Genoa"),
        ("AMD EPYC 9655 96-Core Processor", "Turin"),
        ("Some other processor", None),
    ],
)
def test_generation(model: str, name: str | None) -> None:
    found = generation_of(model)
    assert (None if found is None else found.name) == name


def test_generations_are_sane() -> None:
    known = {feature.key for feature in cpu_features()}
    assert {name for feature in cpu_features() for name in feature.gives} == set(CPU_PRECISIONS)
    modes = [generation.evc for generation in cpu_generations() if generation.evc]
    assert len(set(modes)) == len(modes)
    for generation in cpu_generations():
        assert set(generation.features) <= known
        for feature in cpu_features():
            if feature.key in generation.features:
                assert set(feature.needs) <= set(generation.features)
    assert generation_of_evc("intel-icelake") is generation_of("Intel(R) Xeon(R) Gold 6330")


@pytest.mark.parametrize(
    ("cpu", "cluster_line", "host_line", "has", "left"),
    [
        (", model: Intel Xeon Gold 6330", "", "", ["avx512vnni"], ["avx512vnni"]),
        (", model: Intel Xeon Gold 6330", ", evc: intel-skylake", "", ["avx512vnni"], []),
        (", model: Intel Xeon Gold 6330", ", evc: new-mode", "", ["avx512vnni"], None),
        (", model: My processor", "", "", None, None),
        (", model: My processor, features: [avx512bf16]", "", "", ["avx512bf16"], ["avx512bf16"]),
        (", features: []", "", "", [], []),
        (", model: Intel Xeon Gold 6430", "", ", version: '7.0.3'", ["avx512bf16", "avx512vnni"],
         ["avx512bf16", "avx512vnni"]),
        (", model: Intel Xeon Gold 6330", "", ", connection: disconnected", None, None),
    ],
)  # fmt: skip
def test_inventory_yaml(
    cpu: str, cluster_line: str, host_line: str, has: list[str] | None, left: list[str] | None
) -> None:
    text = SITE.format(cpu=cpu, cluster=cluster_line, host=host_line)
    host = load_site_text(text).inventory.hosts[0]
    assert (host.cpu_features, host.cpu_features_visible) == (keys(has), keys(left))
