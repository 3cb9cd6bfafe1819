"""Which overlays go with a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from vplacer.errors import UnknownObjectError
from vplacer.inventory.overlay import Overlay, OverlayDevice, OverlayLink
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.jobs.overlays import find_overlays, folder_beside, save_overlays

UUID = "11111111-2222-3333-4444-555555555555"
CARDS = [PciAddress.parse(text) for text in ("0000:17:00.0", "0000:18:00.0")]


def overlay(host: str, source: str, lanes: int = 4) -> Overlay:
    return Overlay(
        host=host,
        host_uuid=None,
        vcenter_uuid=UUID,
        created="2026-11-01T00:00:00Z",
        source=source,
        devices=tuple(OverlayDevice(card, PciIds(0x10DE, 0x20B7)) for card in CARDS),
        links=(OverlayLink(CARDS[0], CARDS[1], lanes),),
    )


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("a/site.json.gz", "a/site.overlays"),
        ("site.json", "site.overlays"),
        ("site.yaml", "site.overlays"),
        ("a.b.yml", "a.b.overlays"),
        ("site", "site.overlays"),
        (".json", ".json.overlays"),
    ],
)
def test_folder_beside_a_file(file: str, folder: str) -> None:
    assert folder_beside(Path(file)) == Path(folder)


def test_the_usual_places_add_up(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
    file = tmp_path / "site.json.gz"
    inside, beside, of_user = overlay("esx1", "yaml"), overlay("esx2", "smi"), overlay("esx3", "hwloc")
    save_overlays(folder_beside(file), (beside, of_user))
    save_overlays(tmp_path / "data" / "vplacer" / "overlays" / UUID, (of_user,))
    found = find_overlays(None, (inside,), file, environ, UUID)
    assert found.items == (inside, beside, of_user), "each once"
    assert found.origins == (
        str(file),
        str(tmp_path / "site.overlays"),
        str(tmp_path / "data" / "vplacer" / "overlays" / UUID),
    )
    assert find_overlays(None, (), None, {"XDG_DATA_HOME": str(tmp_path)}, UUID).items == ()


def test_a_folder_that_is_given_replaces_them_all(tmp_path: Path) -> None:
    file = tmp_path / "site.json"
    save_overlays(folder_beside(file), (overlay("esx2", "smi"),))
    given = overlay("esx9", "human")
    save_overlays(tmp_path / "given", (given,))
    found = find_overlays(tmp_path / "given", (overlay("esx1", "yaml"),), file, {}, UUID)
    assert (found.items, found.origins) == ((given,), (str(tmp_path / "given"),))


def test_a_folder_that_is_given_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UnknownObjectError, match="there is no such folder"):
        find_overlays(tmp_path / "nowhere", (), None, {}, UUID)
