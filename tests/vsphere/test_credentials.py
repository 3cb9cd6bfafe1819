"""Where credentials come from (cases as data), and that a password is never seen."""

from __future__ import annotations

import copy
import io
import os
import pickle
import stat
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from vplacer.errors import UsageError
from vplacer.vsphere import credentials
from vplacer.vsphere.address import Address
from vplacer.vsphere.credentials import CredentialOptions, KeyringUnusable, Sources, resolve
from vplacer.vsphere.secret import Secret

CASES: list[dict[str, Any]] = yaml.safe_load((REPO / "tests/cases/credentials/precedence.yaml").read_text())
ADDRESS = Address("vc.example")


def sources_of(case: dict[str, Any]) -> Sources:
    entries = case.get("keyring")

    def keyring(service: str, user: str) -> str | None:
        assert service == "vplacer"
        if entries is None:
            raise KeyringUnusable("none here")
        password: str | None = entries.get(user)
        return password

    def run(command: Sequence[str], more: Mapping[str, str]) -> tuple[int, str]:
        assert more == {"VPLACER_VCENTER": "vc.example", "VPLACER_USERNAME": "a@x"}
        return case["command"]["code"], case["command"]["output"]

    stdin = io.StringIO(case["stdin"]) if "stdin" in case else None
    return Sources(case.get("environ", {}), stdin, keyring, run)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_precedence(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in case.get("files", {}).items():
        path = tmp_path / name
        path.write_bytes(content.encode())
        path.chmod(0o600)
    given = dict(case.get("given", {}))
    if "password_file" in given:
        given["password_file"] = Path(given["password_file"])
    options = CredentialOptions(**given)
    if "error" in case:
        with pytest.raises(UsageError) as caught:
            resolve(options, ADDRESS, sources_of(case))
        shown = str(caught.value)
        for part in case["error"]:
            assert part in shown
        assert "secret-" not in shown
        return
    found = resolve(options, ADDRESS, sources_of(case))
    assert found.warnings == ()
    for name, value in case["want"].items():
        got = getattr(found, name)
        assert (got.reveal() if isinstance(got, Secret) else got) == value


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o640, True), (0o644, True)])
def test_readable_password_file_is_warned_about(tmp_path: Path, mode: int, warned: bool) -> None:
    path = tmp_path / "pw"
    path.write_text("p")
    path.chmod(mode)
    found = resolve(CredentialOptions("a@x", path), ADDRESS, Sources({}))
    assert bool(found.warnings) == warned
    if warned:
        assert f"mode {mode:04o}" in found.warnings[0]
        assert f"chmod 600 {path}" in found.warnings[0]


def test_password_from_a_pipe_needs_no_mode(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"piped\n")
    os.close(writer)
    assert stat.S_ISFIFO(os.fstat(reader).st_mode)
    found = resolve(CredentialOptions("a@x", Path(f"/dev/fd/{reader}")), ADDRESS, Sources({}))
    os.close(reader)
    assert found.password.reveal() == "piped"
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("content", "expected"), [(b"\xff\xfe\x00", "not UTF-8"), (b"x" * 70_000, "too large")]
)
def test_wrong_kind_of_file(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "pw"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=expected):
        resolve(CredentialOptions("a@x", path), ADDRESS, Sources({}))


def test_terminal_is_no_pipe() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with pytest.raises(UsageError, match="on a pipe"):
        resolve(CredentialOptions("a@x", password_stdin=True), ADDRESS, Sources({}, Terminal("p\n")))


def test_real_command_gets_vcenter_and_user() -> None:
    def no_keyring(service: str, user: str) -> None:
        raise KeyringUnusable("none here")

    command = ["sh", "-c", 'echo "$VPLACER_USERNAME at $VPLACER_VCENTER"']
    options = CredentialOptions("a@x", password_command=command)
    found = resolve(options, ADDRESS, Sources({}, keyring=no_keyring))
    assert found.password.reveal() == "a@x at vc.example"
    missing = CredentialOptions("a@x", password_command="/no/such/command --with secret-token")
    with pytest.raises(UsageError) as caught:
        resolve(missing, ADDRESS, Sources({}, keyring=no_keyring))
    assert "/no/such/command) cannot be run: No such file or directory" in str(caught.value)
    assert "secret-token" not in str(caught.value)


def test_missing_keyring_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(credentials.importlib, "import_module", fail)
    with pytest.raises(UsageError) as caught:
        resolve(CredentialOptions("a@x"), ADDRESS, Sources({}))
    assert "pip install 'vplacer[keyring]'" in str(caught.value)


VALUE = "hunter2-visible"


def test_secret_is_never_shown() -> None:
    secret = Secret(VALUE)
    holder = credentials.Credentials("u", secret, "a", "b")
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r:>40}",
        f"{holder}",
        repr([secret]),
        "{}".format(secret),  # noqa: UP032 - another way to print
    ]
    assert all(VALUE not in text for text in shown)
    assert repr(secret) == "Secret(***)"
    assert not hasattr(secret, "__dict__")
    assert secret == Secret(VALUE)
    assert secret != Secret("other")
    assert secret != VALUE
    with pytest.raises(TypeError):
        hash(secret)
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(secret)
    with pytest.raises(TypeError, match="not written"):
        copy.deepcopy(holder)


def test_secret_is_not_in_a_traceback_with_locals() -> None:
    def fail(password: Secret) -> None:
        raise ValueError("failed")

    try:
        fail(Secret(VALUE))
    except ValueError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "Secret(***)" in shown
    assert VALUE not in shown.replace(f'VALUE = "{VALUE}"', "")
