"""What a govc script reads of VMs and hosts is what a plan says of them, on whole example sites."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.report.scripts.bash_run import functions, need_jq
from tests.witness_programs import lab_environment
from vplacer.inventory.load import load_inventory_file
from vplacer.lab.soap.server import LabServer
from vplacer.plan.observed import observe_host, vm_facts
from vplacer.plan.script.fields import host_fields, vm_fields

pytestmark = pytest.mark.live

SITES = [
    REPO / "tests/cases/lab/odd-site.yaml",
    *(REPO / f"fixtures/sites/{name}.yaml" for name in ("nvswitch", "vgpu")),
]


@pytest.mark.parametrize("site", SITES, ids=lambda path: path.stem)
def test_facts(site: Path, witness_bin: Callable[[str], Path], tmp_path: Path) -> None:
    need_jq()
    govc = witness_bin("govc")
    loaded = load_inventory_file(site)
    inventory = loaded.inventory
    broken = {gap.object for gap in inventory.gaps}
    vms = [vm for vm in inventory.vms if vm.readable and vm.moid not in broken]
    hosts = [host for host in inventory.hosts if host.moid not in broken]
    assert vms
    calls = [f"vm_facts VirtualMachine:{vm.moid}" for vm in vms]
    calls += [f"host_facts HostSystem:{host.moid}" for host in hosts]
    with LabServer(loaded) as server:
        done = subprocess.run(
            ["bash", "-c", "\n".join([functions(), *calls])],
            env=lab_environment(server)
            | {"PATH": f"{govc.parent}:/usr/bin:/bin", "GOVMOMI_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    read = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(read) == len(calls)
    for vm, found in zip(vms, read, strict=False):
        wanted = json.loads(json.dumps(dict(vm_fields(vm_facts(vm).items()))))
        assert {name: found.get(name) for name in wanted} == wanted, vm.name
    for host, found in zip(hosts, read[len(vms) :], strict=True):
        wanted = dict(host_fields(observe_host(host, ()).fields))
        assert {name: found.get(name) for name in wanted} == wanted
