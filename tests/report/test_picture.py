"""The picture of a host: nothing overlaps or sticks out, nothing is lost, and what is unknown stays apart."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.conftest import REPO
from tests.hash_seeds import outputs_by_hash_seed
from tests.report.views import hard, sites, some_views, views_of
from vplacer.errors import UsageError
from vplacer.inventory.device_kind import DeviceKind
from vplacer.report.picture.text import clip, columns, wrap
from vplacer.report.topology_svg import render_svg
from vplacer.topology.host_view import HostView

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Rect:
    kind: str
    x: float
    y: float
    right: float
    bottom: float

    def holds(self, other: Rect) -> bool:
        inside = self.x <= other.x and other.right <= self.right
        return inside and self.y <= other.y and other.bottom <= self.bottom

    def meets(self, other: Rect) -> bool:
        beside = self.right <= other.x or other.right <= self.x
        return not beside and not (self.bottom <= other.y or other.bottom <= self.y)


def rect(element: ET.Element) -> Rect:
    x, y = float(element.get("x", "")), float(element.get("y", ""))
    wide, high = float(element.get("width", "")), float(element.get("height", ""))
    return Rect(element.get("class", ""), x, y, x + wide, y + high)


def text_rect(element: ET.Element) -> Rect:
    x, base = float(element.get("x", "")), float(element.get("y", ""))
    size = float(element.get("font-size", ""))
    assert element.get("lengthAdjust") == "spacingAndGlyphs", "another font is fitted to the room"
    return Rect("text", x, base - 0.8 * size, x + float(element.get("textLength", "")), base + 0.2 * size)


def own_box(group: ET.Element) -> Rect | None:
    found = group.find(f"{SVG}rect")
    return None if found is None else rect(found)


def boxes_inside(group: ET.Element) -> Iterator[tuple[ET.Element, Rect]]:
    """Yield the nearest framed boxes below a group: groups without a frame are looked through."""
    for child in group.findall(f"{SVG}g"):
        box = own_box(child)
        if box is None:
            yield from boxes_inside(child)
        else:
            yield child, box


def texts_of(group: ET.Element) -> Iterator[Rect]:
    """Yield the texts of a group and of those without a frame inside."""
    for text in group.findall(f"{SVG}text"):
        yield text_rect(text)
    for child in group.findall(f"{SVG}g"):
        if own_box(child) is None:
            yield from texts_of(child)


def check_layout(group: ET.Element, box: Rect) -> None:
    inner = list(boxes_inside(group))
    rects = [found for _, found in inner] + list(texts_of(group))
    for found in rects:
        assert box.holds(found), f"{found} sticks out of {box}"
    for index, one in enumerate(rects):
        for other in rects[index + 1 :]:
            assert not one.meets(other), f"{one} overlaps {other}"
    for child, found in inner:
        check_layout(child, found)


PAGES: dict[int, ET.Element] = {}


def page(view: HostView) -> ET.Element:
    """Return the picture, read; drawn once a view, which the cache of `views_of` keeps alive."""
    if id(view) not in PAGES:
        PAGES[id(view)] = ET.fromstring(render_svg(view))
    return PAGES[id(view)]


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.stem)
def test_boxes_and_texts_lie_inside_and_do_not_overlap(path: Path) -> None:
    for view in some_views(path):
        root = page(view)
        whole = Rect("svg", 0, 0, float(root.get("width", "")), float(root.get("height", "")))
        check_layout(root, whole)


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.stem)
def test_no_row_is_higher_than_what_is_in_it(path: Path) -> None:
    for view in some_views(path):
        if len(view.topology.nodes) > 2:
            continue  # packages side by side are of one height, and share it among their rows
        rooms: dict[tuple[str, float], list[float]] = {}
        for group in page(view).iter(f"{SVG}g"):
            box = own_box(group)
            if box is not None and box.kind in ("package", "switch"):
                inner = [found.bottom for _, found in boxes_inside(group)]
                rooms.setdefault((box.kind, box.y), []).append(box.bottom - max(inner))
            elif box is not None and box.kind == "node":
                inner = [found.bottom for _, found in boxes_inside(group)]
                inner += [found.bottom + 4 for found in texts_of(group)]
                rooms.setdefault((box.kind, box.y), []).append(box.bottom - max(inner))
        for row, room in rooms.items():
            assert min(room) < 15, f"{view.host.name}: the row {row} has room of {room} below"


def keys(element: ET.Element) -> list[str]:
    return [found.get("data-key", "") for found in element.iter(f"{SVG}g") if found.get("data-key")]


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.stem)
def test_every_device_and_vm_is_drawn_once(path: Path) -> None:
    for view in some_views(path):
        described = view.description
        drawn = keys(page(view))
        singles = [line.label for line in described.devices if line.place.kind is not DeviceKind.NVSWITCH]
        vms = [vm.moid for vm in described.vms]
        assert sorted(key for key in drawn if key in {*singles, *vms}) == sorted([*singles, *vms])


@pytest.mark.parametrize("path", sites(), ids=lambda path: path.stem)
def test_a_device_is_in_the_box_of_its_node_and_in_none_if_that_is_not_known(path: Path) -> None:
    for view in some_views(path):
        inside = {
            key: node.get("data-key", "")
            for node in page(view).iter(f"{SVG}g")
            if node.get("data-key", "").startswith("node-")
            for key in keys(node)
        }
        for line in view.description.devices:
            if line.place.kind is not DeviceKind.NVSWITCH:
                expected = None if line.place.node is None else f"node-{line.place.node}"
                assert inside.get(line.label) == expected, f"{view.host.name} {line.label}"
        for vm in view.description.vms:
            assert inside.get(vm.moid) == (f"node-{vm.nodes[0]}" if len(vm.nodes) == 1 else None)


def texts(element: ET.Element) -> str:
    return "\n".join(text.text or "" for text in element.iter(f"{SVG}text"))


def test_what_is_not_known_is_said() -> None:
    odd = texts(page(hard("odd")))
    for said in (
        "Locality not known",
        "passthrough after a reboot",
        "no passthrough",
        "100 Gb/s  64 VFs",
        "NVLink unknown",
        "in maintenance mode",
        "no home: ESXi may run each on any node",
    ):
        assert said in odd
    assert "1 device, not told which" in texts(page(hard("dgx2")))
    assert "measured, 62 % local" in texts(page(hard("nps4")))
    assert "NUMA node unknown" not in texts(page(hard("nps4")))


def test_names_are_escaped_shortened_and_whole_in_the_tooltip() -> None:
    root = page(hard("odd"))
    name = "web-<&\"'-7-with-a-name-that-is-much-longer-than-any-box-and-differs-at-its-end-7"
    assert name not in texts(root)
    assert "web-<&\"'-7-with-\u2026at-its-end-7" in texts(root) or "at-its-end-7\n" in texts(root)
    tips = [tip.text or "" for tip in root.iter(f"{SVG}title")]
    assert any(tip.startswith(name) for tip in tips)


def test_all_to_all_links_are_one_box_and_pairs_are_bars_between_neighbours() -> None:
    dgx2 = page(hard("dgx2"))
    assert "NV6 over NVSwitch between any two of 16 GPUs" in texts(dgx2)
    assert not list(dgx2.iter(f"{SVG}line"))
    pairs = page(some_views(REPO / "fixtures" / "sites" / "a30pairs.yaml")[0])
    assert len(list(pairs.iter(f"{SVG}line"))) == 4, "two bars a pair"
    crossed = page(hard("nps4"))
    assert "NVLink A: GPU0 \u2550 NV4 \u2550 GPU2" in texts(crossed)
    assert "across pNUMA 0, 5" in texts(crossed)
    assert not list(crossed.iter(f"{SVG}line")), "the two are not side by side"


def test_it_has_a_name_and_a_description_and_tooltips() -> None:
    root = page(some_views(REPO / "fixtures" / "sites" / "a30pairs.yaml")[0])
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Topology of esx01"
    about = root.findtext(f"{SVG}desc") or ""
    assert "pNUMA 0: GPU0 A30, GPU1 A30" in about
    assert "VMs train-1" in about
    gpu = next(group for group in root.iter(f"{SVG}g") if group.get("data-key") == "GPU0")
    tip = gpu.findtext(f"{SVG}title") or ""
    assert {"address 0000:06:00.0", "vendor:device 10de:20b7", "pNUMA 0, told by vcenter"} <= set(
        tip.split("\n")
    )


def test_the_picture_in_the_docs_is_the_one_that_is_drawn() -> None:
    view = next(view for view in views_of(REPO / "fixtures" / "sites" / "a30pairs.yaml"))
    shown = (REPO / "docs" / "topology.svg").read_text(encoding="utf-8")
    assert view.host.name == "esx01"
    assert shown == render_svg(view), "python docs/picture.py draws it anew"


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    code = (
        "import hashlib\n"
        "from tests.report.views import hard\n"
        "from vplacer.report.topology_svg import render_svg\n"
        "text = ''.join(render_svg(hard(name)) for name in ('dgx2', 'nps4', 'split'))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    assert len(outputs_by_hash_seed(code)) == 1


def test_without_the_layout_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Mapping[str, Any]) -> Any:
        if name.partition(".")[0] == "stretchable":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match="stretchable is not installed") as caught:
        render_svg(hard("odd"))
    assert caught.value.exit_code == 3
    assert "vplacer[svg]" in str(caught.value.hint)


def test_text_is_measured_in_columns() -> None:
    assert columns("\u65e5\u672c") == 4
    assert clip("abcdefghij", 5) == "ab\u2026ij"
    assert columns(clip("\u65e5\u672c\u8a9e\u306e\u540d\u524d", 7)) <= 7
    assert wrap("one two three", 7) == ("one two", "three")
    assert all(columns(line) <= 10 for line in wrap("\u65e5\u672c\u8a9e" * 9, 10))
