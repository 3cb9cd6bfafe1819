"""An apply as the rest of its machine sees it: where its password shows, and where not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Runner
from tests.cli.test_signals import CODE
from tests.conftest import REPO
from vplacer.inventory.site_load import load_site_text
from vplacer.lab.soap.server import LabServer

pytestmark = [
    pytest.mark.usefixtures("own_locks"),
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc"),
]

PASSWORD = "pass-5e8a-word"
SITE = """
format_version: 1
host_kinds: {plain: {cpu: {packages: 1, cores: 16}, memory_gib: 128}}
clusters: [{name: c, hosts: [{kind: plain, count: 1, name: esx01}]}]
vms: [{name: web, "on": esx01, power: "off", cpus: 2, memory_gib: 8}]
"""
REQUEST = "{version: 1, vms: [{select: {name: web}, cpus: 4}]}"


def test_the_password_is_in_no_command_line_and_no_file(folder: Path, vplacer: Runner) -> None:
    secret = folder.parent / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    site = load_site_text(SITE, "site.yaml")
    Path("request.yaml").write_text(REQUEST)
    seen: set[bytes] = set()
    with LabServer(site, password=PASSWORD, speed=200.0, clock_runs=True) as server:
        login = [
            *f"--vcenter 127.0.0.1:{server.port} --ca-file {server.ca_file}".split(),
            *f"--username {server.username} --debug".split(),
        ]
        planned = vplacer(
            ["plan", "-r", "request.yaml", "-o", "plan.json", "-q", "--password-file", str(secret), *login]
        )
        assert planned.code == 0, planned.err
        for command, source in (
            ("apply plan.json --check", "environment"),
            ("apply plan.json --format ndjson", "stdin"),
            ("rollback plan.json --yes --format json", "command"),
        ):
            options, environment = _source(source, secret)
            words = [*command.split(), "--allow-power-cycle", "--allow-hw-upgrade", *options, *login]
            seen |= _run(words, folder, environment, source == "stdin")
    assert any(b"rollback" in line for line in seen)
    texts = [
        (str(path), path.read_bytes())
        for root in (folder, folder.parent / "temporary")
        for path in root.rglob("*")
        if path.is_file()
    ]
    names = {Path(name).name for name, _ in texts}
    assert {"plan.json", "plan.json.journal", "apply.out", "apply.err", "rollback.out"} <= names, names
    for where, text in (*texts, *(("a command line", line) for line in seen)):
        assert PASSWORD.encode() not in text, where


def _source(source: str, secret: Path) -> tuple[list[str], dict[str, str]]:
    """Return the options and the environment that give the password."""
    if source == "stdin":
        return ["--password-stdin"], {}
    if source == "environment":
        return [], {"VPLACER_PASSWORD": PASSWORD}
    config = secret.parent / "config.toml"
    config.write_text(f'password_command = ["cat", "{secret}"]\n')
    return [], {"VPLACER_CONFIG": str(config)}


def _run(words: list[str], folder: Path, environment: dict[str, str], says: bool) -> set[bytes]:
    """Run a command to its end, its output in files; return the command lines of all processes meanwhile."""
    environ = {**os.environ, "PYTHONPATH": str(REPO), **environment}
    seen: set[bytes] = set()
    out_file, err_file = folder / f"{words[0]}.out", folder / f"{words[0]}.err"
    with out_file.open("a") as out, err_file.open("a") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", CODE, *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            text=True,
        )
        assert process.stdin is not None
        with process.stdin as stdin:
            stdin.write(PASSWORD + "\n" if says else "")
        deadline = time.monotonic() + 120
        while process.poll() is None:
            assert time.monotonic() < deadline
            seen |= _command_lines()
            time.sleep(0.05)
    assert process.returncode == 0, err_file.read_text()
    return seen


def _command_lines() -> set[bytes]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(path.read_bytes())
        except OSError:
            continue  # it has ended meanwhile
    return found
