from __future__ import annotations

from pathlib import Path

import pytest

from tests.vsphere.servers import Certificate, make_certificate


@pytest.fixture(scope="session")
def authority() -> Certificate:
    return make_certificate("Test CA", authority=True)


@pytest.fixture(scope="session")
def server_certificate(authority: Certificate) -> Certificate:
    return make_certificate("127.0.0.1", issuer=authority)


@pytest.fixture
def ca_file(authority: Certificate, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    path.write_text(authority.pem)
    return path
