"""What a user installs: the wheel, alone in an environment and a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import vplacer
from tests.conftest import REPO

SITE = "nvswitch"


@dataclass(frozen=True)
class Installation:
    """A virtual environment that holds the wheel, and sees this one's dependencies behind it."""

    python: Path
    vplacer: Path
    site_packages: Path

    def run(self, folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command in an otherwise empty folder, without this checkout in sight."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("VPLACER_", "PYTHON", "VIRTUAL_ENV"))
        }
        environment |= {"HOME": str(folder), "COLUMNS": "120"}
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
        )


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # The build backend is part of the `dev` extra, so that no download is needed here.
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, REPO)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    root = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(root, with_pip=False, symlinks=True)
    python = root / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel)
    site_packages = Path(sysconfig.get_path("purelib", vars={"base": str(root)}))
    # Dependencies from here, after the wheel's own place: .pth files in there, such as that of an
    # editable install of vplacer, are not followed.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installation(python, root / "bin" / "vplacer", site_packages)


def test_wheel_carries_fixtures_types_and_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"vplacer/py.typed", "vplacer/fixtures/README.md"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "fixtures/", "benchmarks/")) for name in names)
    for kind in ("sites", "requests", "cassettes"):
        files = {path.name for path in (REPO / "fixtures" / kind).glob("*") if path.is_file()}
        assert {f"vplacer/fixtures/{kind}/{name}" for name in files} <= names


def test_wheel_carries_every_file_of_the_package(wheel: Path) -> None:
    """Data beside the code (schemas, catalogues) is as easily forgotten as fixtures are."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    listing = ["git", "ls-files", "-z", "vplacer"]
    result = subprocess.run(listing, cwd=REPO, capture_output=True, check=False)
    if result.returncode != 0:
        pytest.skip("not a git checkout")
    tracked = {name.decode() for name in result.stdout.split(b"\0") if name}
    assert {name for name in tracked if (REPO / name).exists()} - names == set()


def test_installed_package_is_the_wheel(installation: Installation, tmp_path: Path) -> None:
    code = (
        "import vplacer; from vplacer.jobs import fixtures; "
        "print(vplacer.__file__); print(fixtures.fixtures_root())"
    )
    result = installation.run(tmp_path, installation.python, "-c", code)
    package = installation.site_packages / "vplacer"
    assert result.stdout.splitlines() == [str(package / "__init__.py"), str(package / "fixtures")], (
        result.stderr
    )


def test_version(installation: Installation, tmp_path: Path) -> None:
    result = installation.run(tmp_path, installation.vplacer, "--version")
    assert result.returncode == 0, result.stderr
    assert vplacer.__version__ in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_plans_a_fixture_site_from_an_empty_folder(installation: Installation, tmp_path: Path) -> None:
    fixtures = installation.site_packages / "vplacer" / "fixtures"
    site, request = fixtures / "sites" / f"{SITE}.yaml", fixtures / "requests" / f"{SITE}.yaml"
    result = installation.run(
        tmp_path, installation.vplacer, "plan", "--dry-run", "--from", site, "-r", request
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip()
    # A dry run writes nothing anywhere.
    assert list(tmp_path.iterdir()) == []


def test_the_page_of_an_audit_is_made_of_files_in_the_wheel(
    installation: Installation, tmp_path: Path
) -> None:
    done = installation.run(tmp_path, installation.vplacer, "audit", "--lab", SITE, "-o", "audit.html")
    assert done.returncode == 0, done.stderr
    assert "</html>" in (tmp_path / "audit.html").read_text(encoding="utf-8")
