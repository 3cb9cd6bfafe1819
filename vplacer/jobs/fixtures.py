"""Finds the example sites, requests, suppositions and cassettes that come with vplacer.

A wheel carries them as ``vplacer/fixtures``; in a checkout (and an editable install) they are the
folder ``fixtures/`` beside the package. Callers ask by kind and name and never see the difference.
"""

from __future__ import annotations

import difflib
import os
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from vplacer.errors import InternalError, UnknownObjectError

FixtureKind = Literal["sites", "requests", "what-if", "cassettes"]

_SUFFIX: Final[dict[FixtureKind, str]] = {
    "sites": ".yaml",
    "requests": ".yaml",
    "what-if": ".yaml",
    "cassettes": ".json.gz",
}
_SINGULAR: Final[dict[FixtureKind, str]] = {
    "sites": "example site",
    "requests": "example request",
    "what-if": "example of --what-if",
    "cassettes": "example cassette",
}


def list_fixtures(kind: FixtureKind) -> list[str]:
    """Return the names of all fixtures of a kind, sorted, without folder and suffix."""
    folder = fixtures_root() / kind
    if not folder.is_dir():
        return []
    suffix = _SUFFIX[kind]
    return sorted(
        entry.name.removesuffix(suffix)
        for entry in folder.iterdir()
        if entry.name.endswith(suffix) and not entry.name.startswith(".")
    )


def fixture_path(kind: FixtureKind, name: str) -> Path:
    """Return the file of the fixture ``name``, which exists.

    Raises:
        UnknownObjectError: there is none of that name; the message lists those there are.
    """
    known = list_fixtures(kind)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        choice = f"choose one of: {', '.join(known)}" if known else "this installation has none"
        raise UnknownObjectError(
            f"no {_SINGULAR[kind]} has this name",
            obj=name,
            hint=f"did you mean {close[0]}? {choice}" if close else choice,
        )
    return fixtures_root() / kind / f"{name}{_SUFFIX[kind]}"


def fixtures_root() -> Path:
    """Return the folder that holds ``sites``, ``requests``, ``what-if`` and ``cassettes``.

    Raises:
        InternalError: the package was built without its fixtures, or is run from inside an archive.
    """
    package = resources.files("vplacer")
    if not isinstance(package, Path):
        raise InternalError(
            "the example files cannot be read from inside an archive",
            obj=str(package),
            hint="install vplacer with pip, which unpacks it",
        )
    checkout = package.parent
    # A folder `fixtures` that merely lies beside an installed package is not ours.
    if (checkout / "pyproject.toml").is_file() and (checkout / "fixtures").is_dir():
        return checkout / "fixtures"
    if (package / "fixtures").is_dir():
        return package / "fixtures"
    raise InternalError("the example files are missing from this installation", obj=str(package))


def file_or_fixture(kind: FixtureKind, text: str) -> Path:
    """Return the file that a user's text names: a path, or the name of a fixture.

    A file of that name in the working folder wins. A text with a folder or a suffix is a path, whether
    the file exists or not: whoever opens it says what is wrong.

    Raises:
        UnknownObjectError: neither a file nor a fixture has this name.
    """
    path = Path(os.path.expanduser(text))
    if path.is_file() or "/" in text or os.sep in text or path.suffix:
        return path
    return fixture_path(kind, text)
