"""The catalogue of known hardware: every entry valid, sourced and sane; ten and more cards as published."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.inventory.data import cases
from vplacer.errors import CatalogueError
from vplacer.inventory.catalogue import KINDS, catalogue_entries, read_catalogue
from vplacer.inventory.gpu_facts import PRECISIONS, GpuModel
from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name, gpu_models
from vplacer.inventory.nic_models import NicModel, nic_by_ids, nic_by_name, nic_models, read_nic
from vplacer.inventory.pci import PciIds
from vplacer.topology.boards import boards

GOOD = """
[sources]
sheet = "Sheet"

[[nic]]
name = "X"
ids = ["15b3:1015"]
device_name = "Card"
mbps = 1000
rdma = true
sources = { ids = "sheet", speed = "sheet", rdma = "sheet" }
"""


def file_of(folder: Path, text: str, name: str = "cards.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def nics_of(path: Path) -> list[NicModel]:
    return [read_nic(entry) for entry in read_catalogue([path])]


@pytest.mark.parametrize("case", cases("gpu-figures"), ids=lambda case: case["gpu"])
def test_published_figures(case: dict[str, Any]) -> None:
    model = gpu_by_name(case["gpu"])
    assert model is not None
    assert model is gpu_by_ids(PciIds(*(int(part, 16) for part in case["ids"].split(":"))))
    assert (model.memory_mib, model.memory_gb_s) == (case["gib"] * 1024, case["gb_s"])
    assert model.bar_gib == case.get("bar")
    assert model.pcie is not None
    assert f"{model.pcie.generation}x{model.pcie.lanes}" == case["pcie"]
    if case["nvlink"] == "none":
        assert model.nvlink is None
        assert model.without_nvlink
    else:
        assert model.nvlink is not None
        assert model.nvlink.gb_s_total == case["nvlink"]
    assert model.bridge_lanes == case.get("bridge")
    assert (model.mig_shape.instances if model.mig_shape else 0) == case["mig"]
    plain, dense, sparse = (
        dict(item) for item in (model.figures.plain, model.figures.tensor, model.figures.tensor_2_4)
    )
    for word, figure in case.get("plain", {}).items():
        assert plain[word] == figure
        assert word in (model.types or ())
    for word, figure in case.get("tensor", {}).items():
        shown = f"{dense[word]:g}" + (f"/{sparse[word]:g}" if word in sparse else "")
        assert shown == str(figure)
    assert [word for word in case["lacks"] if word in (model.types or ())] == []


@pytest.mark.parametrize(
    ("name", "class_id"),
    [
        ("A100-80", 0x0302),
        ("L40S", 0x0302),
        ("B200", 0x0302),
        ("RTX-A6000", 0x0300),
        ("RTX-6000-ADA", 0x0300),
        ("MI210", 0x0380),
        ("MI250X", 0x0380),
        ("MI300X", 0x1200),
        ("FLEX-170", 0x0380),
    ],
)
def test_classes_as_public_lspci_listings_have_them(name: str, class_id: int) -> None:
    model = gpu_by_name(name)
    assert model is not None
    assert model.class_id == class_id


def test_every_entry_is_read() -> None:
    assert {kind for kind in KINDS if catalogue_entries(kind)} == set(KINDS)
    assert len(gpu_models()) == len(catalogue_entries("gpu"))
    assert len(nic_models()) == len(catalogue_entries("nic"))
    assert len(boards()) == len(catalogue_entries("board"))


def test_sources_name_a_document() -> None:
    for kind in KINDS:
        for entry in catalogue_entries(kind):
            assert entry.sources(), entry.label
            assert all(len(text) > 15 for _, text in entry.sources()), entry.label


def test_ids_and_names_are_unique() -> None:
    devices = [
        (model.vendor, device, sub)
        for model in gpu_models()
        for device in (model.device, *model.other_devices)
        for sub in model.sub_devices or (None,)
    ]
    devices += [
        (nic.vendor, device, None) for nic in nic_models() for device in (nic.device, *nic.other_devices)
    ]
    assert len(set(devices)) == len(devices)
    words = [word.casefold() for m in (*gpu_models(), *nic_models()) for word in (m.name, *m.aliases)]
    assert len(set(words)) == len(words)
    for model in gpu_models():
        for device in (model.device, *model.other_devices):
            ids = PciIds(model.vendor, device, model.vendor, (*model.sub_devices, None)[0])
            assert gpu_by_ids(ids) is model
    for nic in nic_models():
        assert nic_by_ids(nic.ids) is nic


@pytest.mark.parametrize("model", gpu_models(), ids=lambda model: model.name)
def test_gpu_is_sane(model: GpuModel) -> None:
    assert 4 * 1024 <= model.memory_mib <= 512 * 1024
    if model.memory_gb_s is not None:
        assert 100 <= model.memory_gb_s <= 20_000
    if model.pcie is not None:
        assert model.pcie.generation in (3, 4, 5, 6)
        assert model.pcie.lanes in (8, 16)
    if model.mig_shape is not None:
        assert 1 < model.mig_shape.instances <= model.mig_shape.memory_slices <= 8
    if model.nvlink is not None:
        each = model.nvlink.links * model.nvlink.gb_s_each_way
        assert {1: 20, 2: 25, 3: 25, 4: 25, 5: 50}[model.nvlink.generation] >= model.nvlink.gb_s_each_way
        assert each * 2 == model.nvlink.gb_s_total
        assert all(b.lanes is None or b.lanes <= model.nvlink.links for b in model.nvlink.bridges)
        assert not model.nvlink.bridges or model.form == "pcie"
        assert not model.without_nvlink
    dense, sparse = dict(model.figures.tensor), dict(model.figures.tensor_2_4)
    assert not sparse or model.sparsity_2_4
    for word in dense.keys() & sparse.keys():
        assert sparse[word] == pytest.approx(2 * dense[word], rel=0.02)
    assert set(model.types or ()) <= set(PRECISIONS)


def test_a_board_has_no_more_links_than_its_gpus() -> None:
    for board in boards():
        for name in board.models:
            model = gpu_by_name(name)
            assert model is not None
            assert model.form == "module"
            assert model.nvlink is not None
            most = model.nvlink.links
            assert board.lanes == most if board.switched else board.lanes * (board.gpu_count - 1) <= most
    for one, other in combinations(boards(), 2):
        assert one.gpu_count != other.gpu_count or not set(one.models) & set(other.models)


@pytest.mark.parametrize("case", cases("catalogue-errors"), ids=lambda case: case["what"])
def test_refused(case: dict[str, Any], tmp_path: Path) -> None:
    text = GOOD
    for old, new in case["replace"].items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(CatalogueError) as caught:
        nics_of(file_of(tmp_path, text))
    assert case["told"] in str(caught.value)


def test_the_good_entry_is_good(tmp_path: Path) -> None:
    (nic,) = nics_of(file_of(tmp_path, GOOD))
    assert nic.ids == PciIds(0x15B3, 0x1015)


def test_one_name_in_two_files(tmp_path: Path) -> None:
    files = [file_of(tmp_path, GOOD), file_of(tmp_path, GOOD.replace("X", "x"), "more.toml")]
    with pytest.raises(CatalogueError, match=r"more\.toml: nic x: stands in cards\.toml too"):
        read_catalogue(files)


def test_an_unknown_card_tells_nothing() -> None:
    ids = PciIds(0x10DE, 0xFFF0)
    assert gpu_by_ids(ids) is None


def test_types_that_are_not_published_are_unknown() -> None:
    model = gpu_by_name("FLEX-170")
    assert model is not None
    assert model.types is None, "not (): nobody said that it has none"


def test_nvlink_of_a_card_without_facts_is_unknown() -> None:
    model = gpu_by_name("H800-80")
    assert model is not None
    assert (model.nvlink, model.without_nvlink) == (None, False)
    assert nic_by_name("ConnectX-8") is nic_by_name("cx8") is not None


def test_not_read_at_import() -> None:
    code = (
        "import vplacer.topology.boards, vplacer.inventory.nic_models, vplacer.inventory.catalogue as c;"
        "raise SystemExit(c._built_in.cache_info().currsize)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
