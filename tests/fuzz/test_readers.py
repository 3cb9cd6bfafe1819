"""Whatever a file holds, a reader answers with a value or with an error that names the file.

Real files of each format are damaged; each reader must take them, or refuse them with an error of the
user's input (`RequestError`), never with another exception.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from tests.fuzz.mutations import damaged_bytes, damaged_json, damaged_text
from tests.fuzz.rounds import fuzz
from tests.fuzz.test_matrix_columns import matrices
from tests.plan.cases import case_named
from tests.topology.fact_hosts import host_of_facts
from vplacer.cli.config_file import read_config
from vplacer.errors import LimitReached, RequestError, VSphereError
from vplacer.inventory.canonical import canonical_json, sha256_of
from vplacer.inventory.codec import CodecError
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.overlay_file import load_overlay_file, overlay_bytes
from vplacer.inventory.site_load import load_site, load_site_text
from vplacer.inventory.snapshot import _fingerprints, parse_snapshot, snapshot_bytes
from vplacer.inventory.yaml_marks import decode_text
from vplacer.jobs.lab_state import load_state, save_state
from vplacer.jobs.source import SourceOptions, read_source
from vplacer.jobs.world import World
from vplacer.plan.plan_file import parse_plan, plan_bytes
from vplacer.request.load import parse_request
from vplacer.topology.importers import esxcli, hwloc, nccl
from vplacer.topology.importers.facts import Facts, ReadOptions
from vplacer.topology.importers.fit import overlay_from_facts
from vplacer.topology.importers.registry import FORMATS, detect
from vplacer.topology.importers.smi_matrix import is_gpu, parse_matrix
from vplacer.topology.importers.smi_query import parse_query
from vplacer.vsphere.cassettes import replaying

pytestmark = pytest.mark.timeout(3600)

REPO = Path(__file__).resolve().parents[2]
FIXTURES = REPO / "fixtures"
IMPORTS = yaml.safe_load((REPO / "tests/topology/imports/cases.yaml").read_text(encoding="utf-8"))
QUERY = """\
index, name, pci.bus_id, uuid, mig.mode.current
0, NVIDIA A30, 00000000:17:00.0, GPU-1, Disabled
  MIG 1g.6gb     Device  0: (UUID: MIG-1)
1, NVIDIA A30, 00000000:27:00.0, GPU-2, [N/A]
"""
BARE_QUERY = "0, 00000000:17:00.0\n1, 00000000:27:00.0\n2, 00000000:37:00.0\n"
CONFIG = """\
from = "a30pairs"
username = "reader@vsphere.local"
password_command = ["pass", "show", "vcenter"]
allow_incomplete = true

[plan]
request = "request.yaml"
seed = 7
partial = true

[topology.show]
format = "matrix"
"""


def never_fails(read: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a check: the reader answers, or refuses by an error of the user's input."""

    def check(value: Any) -> None:
        with suppress(RequestError):
            read(value)

    return check


def texts(test_data: Path, *patterns: str) -> list[str]:
    found = [file for pattern in patterns for file in sorted(test_data.glob(pattern))]
    assert found
    return [file.read_text(encoding="utf-8") for file in found if "COPYING" not in file.name]


def imported(case: dict[str, Any], name: str) -> bool:
    return str(case["expect"].get("format")) == name or name in case["name"].lower()


def through_a_file(facts: Facts, folder: Path) -> None:
    """Hold facts against the host they describe; what comes of it is written and read unchanged."""
    result = overlay_from_facts(facts, host_of_facts(facts), created="2026-11-01T00:00:00Z")
    file = folder / "overlay.json"
    file.write_bytes(overlay_bytes((result.overlay,)))
    assert load_overlay_file(file) == (result.overlay,)


def fact_reader(read: Callable[[str, str], Facts], folder: Path) -> Callable[[Any], None]:
    return never_fails(lambda text: through_a_file(read(text, "file"), folder))


def test_nvidia_smi(test_data: Path) -> None:
    whole = matrices(test_data)
    samples = [*whole, *(text.expandtabs(8) for text in whole)]
    fuzz(damaged_text(samples), never_fails(lambda text: parse_matrix(text, "file")), share=0.2)


def test_nvidia_smi_whole_import(test_data: Path) -> None:
    """From the damaged matrix to the overlay, for a host of as many cards."""
    from tests.topology.smi_hosts import host_of
    from vplacer.topology.importers.nvidia_smi import read

    texts_ = matrices(test_data)
    hosts = {text: host_of(parse_matrix(text)) for text in texts_}

    def check(pair: tuple[str, str]) -> None:
        whole, damaged = pair
        host, addresses = hosts[whole]
        options = ReadOptions(gpus=tuple(at for label, at in addresses.items() if is_gpu(label)))
        overlay_from_facts(read(damaged, "file", host, options), host, created="2026-11-01T00:00:00Z")

    pairs = st.sampled_from(texts_).flatmap(lambda text: st.tuples(st.just(text), damaged_text([text])))
    fuzz(pairs, never_fails(check), share=0.2)


def test_query_csv() -> None:
    fuzz(
        damaged_text([QUERY, BARE_QUERY]), never_fails(lambda text: parse_query(text, "file")), 200, share=0.5
    )


def test_nccl(test_data: Path, tmp_path: Path) -> None:
    samples = texts(test_data, "topo-files/nd*", "topo-files/p4d*", "topo-files/g5*", "topo-files/topo_*")
    samples += [case["text"] for case in IMPORTS if imported(case, "nccl")]
    fuzz(damaged_text(samples), fact_reader(nccl.read, tmp_path))


def test_hwloc(test_data: Path, tmp_path: Path) -> None:
    samples = texts(test_data, "topo-files/*intel64*", "topo-files/nvidia*", "topo-files/power8*")
    samples += [case["text"] for case in IMPORTS if imported(case, "hwloc")]
    fuzz(damaged_text(samples), fact_reader(hwloc.read, tmp_path))


def test_esxcli(test_data: Path, tmp_path: Path) -> None:
    samples = texts(test_data, "esxcli/*")
    samples += [case["text"] for case in IMPORTS if imported(case, "esxcli")]
    fuzz(damaged_text(samples), fact_reader(esxcli.read, tmp_path))


def test_detection(test_data: Path) -> None:
    samples = texts(test_data, "esxcli/*", "topo-files/nd*", "topo-files/*intel64*", "nvidia-smi-topo/*")

    def check(text: str) -> None:
        for item in FORMATS:
            item.recognises(text)
        detect(text, "file")

    fuzz(damaged_text(samples), never_fails(check), share=0.25)


def test_inventory_yaml() -> None:
    names = ("a30pairs", "nvswitch", "floating", "vgpu", "untold", "subnuma")
    samples = [(FIXTURES / "sites" / f"{name}.yaml").read_text(encoding="utf-8") for name in names]
    fuzz(damaged_text(samples), never_fails(lambda text: load_site_text(text, "file")), 30)


def test_request_yaml() -> None:
    samples = [f.read_text(encoding="utf-8") for f in sorted((FIXTURES / "requests").glob("*.yaml"))]
    fuzz(damaged_text(samples), never_fails(lambda text: parse_request(text, "file")), share=0.5)


def test_overlay_file(tmp_path: Path) -> None:
    overlays: list[Overlay] = []
    for name in ("a30pairs", "untold", "a100pcie"):
        overlays += load_site(FIXTURES / "sites" / f"{name}.yaml").overlays
    whole = [json.loads(overlay_bytes((replace(item, detail="file x"),))) for item in overlays[:6]]
    file = tmp_path / "overlay.json"

    def read(content: bytes) -> None:
        file.write_bytes(content)
        load_overlay_file(file)

    strategy = st.one_of(
        damaged_json(whole).map(lambda value: json.dumps(value).encode()),
        damaged_text([json.dumps(value, indent=2) for value in whole]).map(
            lambda text: text.encode("utf-8", "surrogatepass")
        ),
    )
    fuzz(strategy, never_fails(read), 150, share=0.5)


def sealed(samples: Sequence[bytes], seal: Callable[[Any], Any]) -> st.SearchStrategy[bytes]:
    """Damage files: their bytes, or the values inside, in which case the hash is made anew."""
    documents = [json.loads(sample) for sample in samples]
    inside = damaged_json(documents).map(seal).map(lambda value: json.dumps(value).encode())
    return st.one_of(inside, inside, damaged_bytes(samples))


def test_snapshot() -> None:
    small = load_site(FIXTURES / "sites" / "floating.yaml").inventory
    plain, packed = (snapshot_bytes(small, compress=compress) for compress in (False, True))

    def seal(document: Any) -> Any:
        if isinstance(document, dict) and isinstance(document.get("inventory"), dict):
            try:
                document["fingerprints"] = _fingerprints(document["inventory"])
            except CodecError:
                return document
            document.pop("sha256", None)
            document["sha256"] = sha256_of(document)
        return document

    strategy = st.one_of(sealed([plain], seal), damaged_bytes([packed]))
    fuzz(strategy, never_fails(lambda raw: parse_snapshot(raw, "file")), 40, share=0.4)


def test_plan_file() -> None:
    whole = plan_bytes(case_named("a bit of everything").plan())

    def seal(document: Any) -> Any:
        if isinstance(document, dict):
            document.pop("sha256", None)
            document["sha256"] = sha256_of(document)
        return document

    fuzz(sealed([whole], seal), never_fails(lambda raw: parse_plan(raw, "file")), 100, share=0.5)


def test_lab_state(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    save_state(load_site(FIXTURES / "sites" / "floating.yaml"), file)
    whole = file.read_bytes()

    def seal(document: Any) -> Any:
        if isinstance(document, dict) and "site" in document:
            document["sha256"] = sha256_of(document["site"])
        return document

    def read(raw: bytes) -> None:
        file.write_bytes(raw)
        load_state(file)

    fuzz(sealed([whole], seal), never_fails(read), 40, share=0.3)


def test_cassette(tmp_path: Path) -> None:
    """The file of a recorded session, up to the first call."""
    raw = gzip.decompress((FIXTURES / "cassettes" / "floating.json.gz").read_bytes())
    document = json.loads(raw)
    document["interactions"] = document["interactions"][:4]
    whole = canonical_json(document)
    file = tmp_path / "cassette.json"

    def read(content: bytes) -> None:
        file.write_bytes(content)
        with replaying(file):
            pass

    strategy = st.one_of(sealed([whole], lambda value: value), damaged_bytes([gzip.compress(whole)]))
    fuzz(strategy, never_fails(read), 40, share=0.3)


def test_recorded_answers(tmp_path: Path) -> None:
    """A recorded session in which an answer of the vCenter is damaged, read to its end."""
    document = json.loads(gzip.decompress((FIXTURES / "cassettes" / "floating.json.gz").read_bytes()))
    world = World(environ={}, clock=lambda: datetime.now(UTC), seconds=lambda: 0.0, warn=lambda _: None)
    file = tmp_path / "cassette.json"
    options = SourceOptions(cassette=str(file), allow_incomplete=True)
    whole = [entry["response"]["body"]["string"] for entry in document["interactions"]]

    def check(change: tuple[int, str]) -> None:
        index, text = change
        changed = copy.deepcopy(document)
        changed["interactions"][index]["response"]["body"]["string"] = text
        file.write_text(json.dumps(changed), encoding="utf-8")
        # Here the server is to blame, not the user; a defect of vplacer would be an InternalError.
        with suppress(RequestError, VSphereError, LimitReached):
            read_source(options, world)

    one = st.integers(0, len(whole) - 1).flatmap(
        lambda index: st.tuples(st.just(index), damaged_text([whole[index]]))
    )
    fuzz(one, check, 8, share=0.5)


def test_config(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"

    def read(text: str) -> None:
        file.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        read_config(file)

    fuzz(damaged_text([CONFIG]), never_fails(read), share=0.5)


def test_any_bytes(test_data: Path) -> None:
    samples = [file.read_bytes()[:4000] for file in sorted(test_data.glob("topo-files/*.xml"))]
    fuzz(
        damaged_bytes(samples), never_fails(lambda raw: detect(decode_text(raw, "file"), "file")), share=0.25
    )
