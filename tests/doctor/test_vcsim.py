"""Against vcsim: whatever a server of other authors answers, every check answers too."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vplacer.doctor.model import Evidence, Outcome, Verb
from vplacer.doctor.observed import Licences, Transport
from vplacer.doctor.privileges import judge_verbs
from vplacer.doctor.run import run_checks
from vplacer.vsphere.address import Address
from vplacer.vsphere.checkup.observe import Client, observe
from vplacer.vsphere.collector import collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

pytestmark = pytest.mark.live


def test_default_inventory(witness_bin: Callable[[str], Path], tmp_path: Path) -> None:
    with subprocess.Popen(
        [witness_bin("vcsim"), "-stdinexit", "-api-version", "8.0.3.0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline().strip().rpartition(":")[2].removesuffix("/sdk"))
        credentials = Credentials("user", Secret("pass"), "a test", "a test")
        options = ConnectOptions(Address("127.0.0.1", port), insecure=True)
        client = Client(lambda: datetime.now(UTC), time.monotonic, Transport("not verified", ""))
        with Session.connect(options, credentials) as session:
            observed = observe(SessionReader(session), session.content, client, lambda _what: None)
            results = {r.id: r.finding for r in run_checks(Evidence(collect(session), observed))}
        process.stdin.close()
        process.wait(20)
    assert not [id for id, finding in results.items() if "vplacer itself" in finding.text]
    assert results["D06"].outcome is Outcome.OK
    assert results["D15"].evidence == ("negative on the wire: vendorId 20",)
    assert results["D20"].outcome is Outcome.NOT_CHECKED
    assert results["D26"].outcome is Outcome.NOT_CHECKED
    assert isinstance(observed.licences, Licences)
    assert observed.licences.found[0].edition == "eval"
    verbs = judge_verbs(observed.rights, [Verb.READ])
    assert {verb.outcome for verb in verbs} == {Outcome.OK}
