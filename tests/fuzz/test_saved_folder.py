"""A damaged folder of `govc object.save` is read, with gaps, or refused by an error that names a file."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.fuzz.mutations import damaged_text
from tests.fuzz.rounds import fuzz
from vplacer.errors import RequestError
from vplacer.jobs.lab_export import export_site
from vplacer.jobs.world import World
from vplacer.vsphere.collector import CollectOptions
from vplacer.vsphere.saved_reader import collect_folder

pytestmark = pytest.mark.timeout(3600)

WORLD = World(environ={}, clock=lambda: datetime.now(UTC), seconds=time.monotonic, warn=print)
_ODD = ("", "-1", "true", "nan", "9" * 5000, "host-1001", "0000:zz:00.0", "pci 0:1:2:3", "\x1b[4m")
_TYPES = ("HostSystem", "xsd:int", "ArrayOfString", "NoPermission", "LocalizedMethodFault", "FromTheFuture")


@st.composite
def damaged_values(draw: st.DrawFn, text: str) -> str:
    """Draw a file with one to four of its texts, types or names replaced: it stays well-formed."""
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(("text", "type", "name")))
        pattern = {"text": r">([^<>]+)<", "type": r'xsi:type="([^"]*)"', "name": r"<(\w+)[ >]"}[kind]
        found = list(re.finditer(pattern, text))
        if not found:
            continue
        one, other = draw(st.sampled_from(found)), draw(st.sampled_from(found))
        if kind == "name":
            old, new = one[1], other[1]
            text = re.sub(rf"(</?){old}(?=[ >/])", rf"\g<1>{new}", text)
        else:
            odd = _ODD if kind == "text" else _TYPES
            value = draw(st.sampled_from((*odd, other[1])))
            text = text[: one.start(1)] + value + text[one.end(1) :]
    return text


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    export_site("floating", folder, WORLD)
    kinds = "ServiceInstance|HostSystem|VirtualMachine|ClusterComp|Resource|EnvironmentB.*/Query|SessionM"
    files = [path for path in sorted(folder.rglob("*.xml")) if re.search(kinds, str(path))]
    whole = {path: path.read_text(encoding="utf-8") for path in files}

    def check(drawn: tuple[Path, str]) -> None:
        path, text = drawn
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        refusal = None
        try:
            collect_folder(folder, CollectOptions())
        except RequestError as error:
            refusal = str(error)
        finally:
            path.write_text(whole[path], encoding="utf-8")
        assert refusal is None or str(folder) in refusal

    strategy = st.sampled_from(files).flatmap(
        lambda path: st.tuples(
            st.just(path), st.one_of(damaged_text([whole[path]]), damaged_values(whole[path]))
        )
    )
    fuzz(strategy, check, 30, share=0.5)
