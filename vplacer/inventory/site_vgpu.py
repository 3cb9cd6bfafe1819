"""vGPU profiles and vendor device groups of a host kind."""

from __future__ import annotations

import re
from typing import Any, Final

from vplacer.inventory.gpu_facts import GpuModel
from vplacer.inventory.host import DeviceGroupType, GroupComponent, VgpuProfile
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.site_card_lines import Card, find_gpu, find_nic
from vplacer.inventory.site_pci import PciTree
from vplacer.inventory.yaml_marks import Document, Pointer

# grid_a30-24c, nvidia_h100xm-1-10c: [slices-]GiB and a letter for the class.
_PROFILE_RE: Final = re.compile(r"-(?:(?P<slices>[0-9]{1,4})-)?(?P<gib>[0-9]{1,4})(?P<class>[a-z])(?:me)?$")


def named_card(document: Document, place: Pointer, tree: PciTree, name: str) -> Card:
    """Return the card of a name, or raise an error at its place."""
    card = tree.card(name)
    if card is None:
        known = ", ".join(card.name for card in tree.cards) or "none"
        raise document.error(place, f"no device of this kind is called '{name}'", hint=f"known: {known}")
    return card


def make_profiles(
    document: Document, pointer: Pointer, raw: dict[str, Any], tree: PciTree
) -> tuple[VgpuProfile, ...]:
    """Return the vGPU profiles a host kind offers.

    Raises:
        FileFormatError: a name that does not say its size, a profile given twice, an unknown GPU.
    """
    given = raw.get("vgpu", {}).get("profiles", [])
    models = sorted({card.gpu.name for card in tree.cards if card.gpu})
    profiles: list[VgpuProfile] = []
    for index, entry in enumerate(given):
        place = (*pointer, "vgpu", "profiles", index)
        fields: dict[str, Any] = entry if isinstance(entry, dict) else {"name": entry}
        name = str(fields["name"])
        if any(profile.name == name for profile in profiles):
            raise document.error(place, f"the profile '{name}' is given twice")
        match = _PROFILE_RE.search(name)
        if match is None and "framebuffer_gib" not in fields:
            raise document.error(
                place,
                f"the name '{name}' does not end in its size, as in -20c",
                hint="say {name: ..., framebuffer_gib: N}",
            )
        if "gpu" in fields:
            model = find_gpu(document, (*place, "gpu"), str(fields["gpu"]))
        elif len(models) == 1:
            model = find_gpu(document, place, models[0])
        else:
            raise document.error(place, f"say which GPU it is for: {', '.join(models) or 'there is none'}")
        profiles.append(_profile(fields, name, match, model))
    return tuple(profiles)


def _profile(fields: dict[str, Any], name: str, match: re.Match[str] | None, model: GpuModel) -> VgpuProfile:
    gib = fields.get("framebuffer_gib", int(match["gib"]) if match else 0)
    mig = bool(match and match["slices"])
    quadro = bool(match and match["class"] != "c")
    return VgpuProfile(
        name=name,
        vendor=model.vendor,
        device=model.device,
        framebuffer_gib=int(gib),
        sharing=str(fields.get("sharing", "mig" if mig else "timeSliced")),
        profile_class=str(fields.get("class", "quadro" if quadro else "compute")),
        migratable=bool(fields.get("migratable", True)),
    )


def make_groups(
    document: Document,
    pointer: Pointer,
    raw: dict[str, Any],
    tree: PciTree,
    profiles: tuple[VgpuProfile, ...],
    links: tuple[tuple[Card, Card, int], ...] | None,
) -> tuple[tuple[DeviceGroupType, ...], dict[str, tuple[tuple[PciAddress, ...], ...]]]:
    """Return the device groups a host kind offers, and for each the sets of cards that may form it.

    Raises:
        FileFormatError: a group given twice, or a member that does not resolve.
    """
    groups: list[DeviceGroupType] = []
    sets: dict[str, tuple[tuple[PciAddress, ...], ...]] = {}
    for index, entry in enumerate(raw.get("device_groups", [])):
        place = (*pointer, "device_groups", index)
        name = str(entry["name"])
        if name in sets:
            raise document.error(place, f"the device group '{name}' is given twice")
        components = _components(document, place, entry, profiles)
        groups.append(DeviceGroupType(name, str(entry.get("description", name)), components))
        sets[name] = _group_sets(document, place, entry, tree, components, links)
    return tuple(groups), sets


def _components(
    document: Document, place: Pointer, entry: dict[str, Any], profiles: tuple[VgpuProfile, ...]
) -> tuple[GroupComponent, ...]:
    if ("vgpu" in entry) == ("components" in entry):
        raise document.error(place, "give vgpu and count, or components")
    if "vgpu" in entry and "count" not in entry:
        raise document.error(place, "the key 'count' is missing")
    lines = entry.get("components") or [{"vgpu": entry["vgpu"], "count": entry["count"]}]
    found: list[GroupComponent] = []
    for index, line in enumerate(lines):
        spot = (*place, "components", index)
        kinds = [kind for kind in ("vgpu", "gpu", "nic", "sriov") if kind in line]
        if len(kinds) != 1:
            raise document.error(spot, "a member is exactly one of vgpu, gpu, nic, sriov")
        for _ in range(int(line.get("count", 1))):
            found.append(_component(document, spot, line, kinds[0], len(found) + 1, profiles))
    return tuple(found)


def _component(
    document: Document,
    place: Pointer,
    line: dict[str, Any],
    kind: str,
    sequence: int,
    profiles: tuple[VgpuProfile, ...],
) -> GroupComponent:
    """Return a member; ``sequence`` is the small positive id the vendor's template carries."""
    configurable = bool(line.get("configurable", kind == "sriov"))
    if kind == "vgpu":
        name = str(line["vgpu"])
        if not any(profile.name == name for profile in profiles):
            raise document.error(place, f"the host kind has no vGPU profile '{name}'")
        return GroupComponent(
            "nvidiaVgpu", "NVIDIA Corporation", name, configurable, sequence_id=sequence, profile=name
        )
    model = (
        find_gpu(document, (*place, kind), str(line[kind]))
        if kind == "gpu"
        else find_nic(document, (*place, kind), str(line[kind]))
    )
    return GroupComponent(
        "sriovNic" if kind == "sriov" else "pciPassthru",
        model.vendor_name,
        model.device_name,
        configurable,
        sequence_id=sequence,
        allowed=() if kind == "sriov" else (PciIds(model.vendor, model.device),),
    )


def _group_sets(
    document: Document,
    place: Pointer,
    entry: dict[str, Any],
    tree: PciTree,
    components: tuple[GroupComponent, ...],
    links: tuple[tuple[Card, Card, int], ...] | None,
) -> tuple[tuple[PciAddress, ...], ...]:
    """Return which cards may form the group; the platform chooses one of these sets."""
    if "sets" in entry:
        return tuple(
            tuple(named_card(document, (*place, "sets", index), tree, str(name)).placed for name in names)
            for index, names in enumerate(entry["sets"])
        )
    gpus = [card for card in tree.cards if card.gpu is not None]
    size = sum(part.kind == "nvidiaVgpu" or _is_gpu(part, gpus) for part in components)
    if not size:
        return ()
    if links is not None and size == 2:
        return tuple((first.placed, second.placed) for first, second, lanes in links if lanes)
    blocks = [gpus[start : start + size] for start in range(0, len(gpus) - size + 1, size)]
    return tuple(tuple(card.placed for card in block) for block in blocks)


def _is_gpu(part: GroupComponent, gpus: list[Card]) -> bool:
    ids = {(card.what.ids.vendor, card.what.ids.device) for card in gpus}
    return part.kind == "pciPassthru" and any((a.vendor, a.device) in ids for a in part.allowed)
