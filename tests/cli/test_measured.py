"""--measured and --esxcli: what is printed, what is saved beside a snapshot, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.conftest import REPO
from vplacer.inventory.overlay_file import load_overlays

SITE = str(REPO / "tests" / "cases" / "lab" / "measured.yaml")
LAB = f"--lab {SITE} --allow-incomplete"


def test_topology_shows_homes_memory_and_places(vplacer: Runner) -> None:
    done = vplacer(f"topology show esx01 {LAB} --measured --esxcli")
    assert done.code == 0
    text = done.out[done.out.index("measured ") :]
    assert text.splitlines() == [
        "measured 2025-01-01 00:00Z, 3 samples",
        "  pNUMA 0  free 63.9 (63.9-64.0) GiB of 128.0 GiB",
        "  pNUMA 1  free 87.9 (87.9-88.0) GiB of 128.0 GiB",
        "  odd|name   not measured",
        "  wide       pNUMA 0,1  75 (61-88) % local  16.0 (7.7-25.0) GiB remote  moved 12 times",
        "  bound      pNUMA 1  100 % local",
        "  unmanaged  not measured",
        "  note: 1 row does not fit esxtop's columns, as when a VM's name holds a bar; left out",
        "  note: odd|name was not measured: its name holds a bar, which shifts esxtop's columns",
        "  note: unmanaged was not measured: the host's NUMA scheduler does not manage it",
    ]
    assert done.out.count("node from an overlay") == 3
    assert "VMs not measured on esx02: the host offers no esxtop service" in done.err


def test_json_tells_each_number_with_its_spread(vplacer: Runner) -> None:
    done = vplacer(f"topology show esx01 {LAB} --measured --samples 1 --format json")
    measured = json.loads(done.out)["measured"]
    assert (measured["at"], measured["age_seconds"]) == ("2025-01-01T00:00:00Z", 0)
    homes = {vm["name"]: vm["home"] for vm in measured["vms"]}
    assert homes["wide"]["locality_percent"] == {"median": 88, "low": 88, "high": 88}
    assert homes["odd|name"] is None
    assert measured["nodes"][0]["free_mib"]["median"] == 64 * 1024
    unasked = json.loads(vplacer(f"topology show esx01 {LAB} --format json").out)
    assert unasked["measured"] is None


def test_collect_keeps_what_hosts_told_beside_the_snapshot(vplacer: Runner, folder: Path) -> None:
    plain = vplacer(f"collect {LAB} -o plain.json")
    asked = vplacer(f"collect {LAB} --measured --esxcli -o asked.json")
    assert (plain.code, asked.code) == (0, 0)
    assert Path("plain.json").read_bytes() == Path("asked.json").read_bytes()
    assert not Path("plain.overlays").exists()
    sources = {(overlay.host, overlay.source) for overlay in load_overlays(Path("asked.overlays"))}
    assert sources == {
        ("esx01", "esxtop"),
        ("esx01", "esxcli hardware pci list"),
        ("esx02", "esxcli hardware pci list"),
        ("esx03", "esxtop"),
    }
    live = vplacer(f"topology show esx01 {LAB} --measured --esxcli").out
    assert vplacer("topology show esx01 --from asked.json --allow-incomplete").out == live


def test_a_later_measurement_replaces_the_earlier_one(vplacer: Runner, folder: Path) -> None:
    vplacer(f"collect {LAB} --measured -o one.json")
    vplacer(f"collect {LAB} --measured --samples 1 -o one.json")
    homes = [home for overlay in load_overlays(Path("one.overlays")) for home in overlay.homes]
    assert {item.home.samples for item in homes} == {1}


def test_an_old_measurement_is_told_with_its_age(vplacer: Runner, folder: Path) -> None:
    vplacer(f"collect {LAB} --measured -o one.json")
    path = Path("one.overlays/esx01.json")
    document = json.loads(path.read_text())
    for age, expected in (("2024-12-31T01:00:00Z", ""), ("2024-12-30T22:00:00Z", ", 26 hours older than")):
        document["sources"][0]["created"] = age
        path.write_text(json.dumps(document))
        (line,) = [
            line
            for line in vplacer("topology show esx01 --from one.json --allow-incomplete").out.splitlines()
            if line.startswith("measured")
        ]
        assert ("older" in line) == bool(expected)
        assert expected in line


def test_a_plan_is_the_same_with_and_without(vplacer: Runner) -> None:
    plan = "plan --lab a30pairs -r a30pairs --dry-run --now 2025-01-01T00:00:00Z"
    assert vplacer(f"{plan} --format json --measured").out == vplacer(f"{plan} --format json").out
    text = vplacer(f"{plan} --measured").out
    assert "Where they are now, as measured (no decision uses it)\n" in text
    assert "  esx04, 2025-01-01 00:00Z\n    notebook-1  pNUMA 1  99 % local" in text
    assert "as measured" not in vplacer(plan).out


def test_a_recorded_session_is_asked_again(vplacer: Runner, folder: Path) -> None:
    vplacer(f"collect {LAB} --measured --esxcli --record tape.json -o one.json")
    again = vplacer("topology show esx01 --replay tape.json --measured --esxcli --allow-incomplete")
    assert again.code == 0
    assert "wide       pNUMA 0,1  75 (61-88) % local" in again.out
    other = vplacer("topology show esx01 --replay nvswitch --measured")
    assert other.code != 0
    assert "record it again" in other.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("topology show esx01 --from a30pairs --measured", "asks the hosts themselves; a file has none"),
        ("topology show esx01 --from a30pairs --esxcli", "asks the hosts themselves; a file has none"),
        ("topology show esx01 --lab a30pairs --samples 2", "--samples goes with --measured only"),
        ("topology show esx01 --lab a30pairs --measured --interval 1", "is not in the range"),
        ("topology show esx01 --lab a30pairs --measured --samples 0", "is not in the range"),
        ("collect --lab a30pairs --measure-homes -o x.json", "No such option"),
    ],
)
def test_refused(vplacer: Runner, arguments: str, said: str) -> None:
    done = vplacer(arguments)
    assert done.code == 3
    assert said in done.err
