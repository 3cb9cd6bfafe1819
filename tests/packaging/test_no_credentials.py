"""No file of the repository holds the credentials that the example sessions were recorded with."""

from __future__ import annotations

import base64
import gzip
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.conftest import REPO, missing
from tests.credentials import RECORD_PASSWORD, RECORD_USER

ALLOWED = "tests/credentials.py"


def spellings(secret: str) -> set[bytes]:
    """Return the forms in which a secret can sit in a file: plain, URL-quoted and inside base64."""
    found = {secret.encode(), quote(secret, safe="").encode(), secret.encode("utf-16-le")}
    # Inside a longer base64 text a secret starts at any of three alignments; the characters that
    # depend on its neighbours are cut off at both ends.
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + secret.encode())
        start = 0 if before == 0 else before + 1
        end = len(coded) if (before + len(secret)) % 3 == 0 else -4
        found.add(coded[start:end])
    return found


SPELLINGS = {form for secret in (RECORD_USER, RECORD_PASSWORD) for form in spellings(secret)}


def leaks(content: bytes) -> bool:
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return any(form in content for form in SPELLINGS)


def repository_files() -> list[Path]:
    """Return tracked files and those about to be: a leak is best found before the commit."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        result = subprocess.run(listing, cwd=REPO, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        missing(f"the files of the repository cannot be listed: {error}")
    names = sorted({name.decode() for name in result.stdout.split(b"\0") if name})
    return [path for name in names if name != ALLOWED and (path := REPO / name).is_file()]


def test_no_file_holds_recording_credentials() -> None:
    files = repository_files()
    assert REPO / "pyproject.toml" in files
    assert [str(path.relative_to(REPO)) for path in files if leaks(path.read_bytes())] == []


@pytest.mark.parametrize("secret", [RECORD_USER, RECORD_PASSWORD])
@pytest.mark.parametrize("before", ["", "a", "ab"])
def test_search_finds_each_spelling(secret: str, before: str) -> None:
    basic = base64.b64encode(f"{before}{secret}:x".encode())
    assert leaks(b"Authorization: Basic " + basic)
    assert leaks(gzip.compress(f"<password>{secret}</password>".encode()))
    assert leaks(f"user={quote(secret)}".encode())
    assert not leaks(b"Authorization: Basic " + base64.b64encode(b"someone:else"))
