"""An exported site that vcsim serves: the plan of the lab, or a refusal that says why; there and back."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, Runner
from tests.witness_programs import serving

pytestmark = pytest.mark.live

Find = Callable[[str], Path]


def plan_in_vcsim(site: str, program: Path, folder: Path, vplacer: Runner) -> Outcome:
    assert vplacer(f"lab export {site} --format vcsim -o files").code == 0
    (folder / "password").write_text("any")
    (folder / "password").chmod(0o600)
    overlays = "--overlays files.overlays" if (folder / "files.overlays").is_dir() else ""
    with serving(program, "-load", str(folder / "files")) as url:
        address = url.rpartition("@")[2].removesuffix("/sdk")
        return vplacer(
            f"plan --vcenter {address} --insecure --username any --password-file password {overlays} "
            f"-r {site} --format json --now 2026-11-30"
        )


@pytest.mark.parametrize("site", ["floating", "a30pairs", "vgpu"])
def test_the_plan_is_that_of_the_lab(site: str, witness_bin: Find, folder: Path, vplacer: Runner) -> None:
    served = plan_in_vcsim(site, witness_bin("vcsim"), folder, vplacer)
    assert served.code == 0, served.err
    plan = json.loads(served.out)
    lab = json.loads(vplacer(f"plan --lab {site} -r {site} --format json --now 2026-11-30").out)
    assert plan["steps"]
    # The source tells the time of reading, and the fingerprint of an inventory that lacks the tags.
    assert {key for key in lab if plan[key] != lab[key]} == {"source", "sha256"}


@pytest.mark.parametrize(
    ("site", "message"),
    [
        ("nvswitch", "which of them has the device groups in it is not told"),
        ("untold", "the host does not tell the system id of 0000:04:00.0"),
    ],
)
def test_what_vcsim_does_not_tell_is_refused_and_named(
    site: str, message: str, witness_bin: Find, folder: Path, vplacer: Runner
) -> None:
    served = plan_in_vcsim(site, witness_bin("vcsim"), folder, vplacer)
    assert served.code == 5
    assert message in served.err


@pytest.mark.usefixtures("own_locks")
def test_a_plan_is_applied_and_taken_back(witness_bin: Find, folder: Path, vplacer: Runner) -> None:
    assert vplacer("lab export floating --format vcsim -o files").code == 0
    (folder / "password").write_text("any")
    (folder / "password").chmod(0o600)
    with serving(witness_bin("vcsim"), "-load", str(folder / "files")) as url:
        address = url.rpartition("@")[2].removesuffix("/sdk")
        host, port = address.split(":")
        (folder / "vcsim.pem").write_text(ssl.get_server_certificate((host, int(port))))
        login = f"--vcenter {address} --ca-file vcsim.pem --username any --password-file password"

        def run(command: str) -> Outcome:
            outcome = vplacer(f"{command} {login}")
            assert outcome.code == 0, outcome.out + outcome.err
            return outcome

        run("plan -r floating -o plan.json")
        assert run("rehearse plan.json --allow-power-cycle").out
        applied = json.loads(run("apply plan.json --yes --allow-power-cycle --format json").out)
        assert (applied["status"], applied["troubles"]) == ("done", [])
        assert json.loads(run("plan -r floating --format json").out)["steps"] == []
        back = json.loads(run("rollback plan.json --yes --allow-power-cycle --format json").out)
    assert back["status"] == "rolled_back"
