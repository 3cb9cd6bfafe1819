"""Checks of what hosts offer: limits, vGPU profiles and modes, device groups, CPU features."""

from __future__ import annotations

import re
from collections import Counter

from vplacer.doctor.checks.common import (
    count,
    described_hosts,
    differs,
    few,
    gpus,
    host_name,
    not_applicable,
    not_checked,
    ok,
)
from vplacer.doctor.marks import named, secret
from vplacer.doctor.model import Evidence, Finding
from vplacer.doctor.observed import RawHost, Untold
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import GpuMode, HardwareLimits, Host
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA, table_limit
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vcenter import Inventory

_FIGURES = (
    ("max_cpus", "vCPUs"),
    ("max_memory_mib", "MiB"),
    ("max_cores_per_socket", "cores per socket"),
    ("max_passthrough", "passthrough devices"),
    ("max_vgpus", "vGPUs"),
    ("max_device_groups", "device groups"),
)
_PROFILE_RE = re.compile(r"-(?:\d+-)?(?P<gib>[0-9]{1,4})[a-z]+\d*$")
_MODE_API = (8, 0, 3, 0)
_MODE_RELEASE = "8.0.3"


def limits(inventory: Inventory) -> Finding:
    """Compare the hosts' option descriptors with the built-in table."""
    hosts = [host for host in described_hosts(inventory) if host.limits]
    if not hosts:
        return not_applicable("no connected host tells limits")
    kinds: dict[tuple[object, ...], Host] = {}
    for host in hosts:
        kinds.setdefault((host.version, host.build, host.model, host.limits), host)
    told_by = Counter(limit.source for host in kinds.values() for limit in host.limits)
    wrong: set[str] = set()
    for host in kinds.values():
        for limit in host.limits:
            if limit.source == "descriptor":
                wrong.update(_against_table(host, limit))
    told = [", ".join(f"{number} from {source}" for source, number in sorted(told_by.items()))]
    if wrong:
        return differs(
            f"the built-in table differs from hosts in {count(len(wrong), 'figure')}",
            (*told, *few(sorted(wrong))),
            "the host's own figure is used; report these, so that the table can be mended",
        )
    if told_by.get("descriptor", 0) == 0:
        return not_checked(
            Untold("no host's option descriptors could be read; the table is used", failed=True)
        )
    return ok("option descriptors are read and agree with the table", *told)


def _against_table(host: Host, limit: HardwareLimits) -> list[str]:
    table = table_limit(host.version, limit.version)
    if table is None:
        return []
    return [
        f"ESXi {host.version}, vmx-{limit.version}: {own} {word}, the table says {theirs}"
        for field, word in _FIGURES
        if (own := getattr(limit, field)) is not None
        and (theirs := getattr(table, field)) is not None
        and own != theirs
        and not (field == "max_device_groups" and limit.version < FIRST_WITH_VNUMA)
    ]


def profiles(inventory: Inventory) -> Finding:
    """Compare vGPU profiles with their names and with the catalogue of GPUs."""
    seen, strange, unknown = 0, [], []
    for host in described_hosts(inventory):
        for profile in host.vgpu_profiles:
            seen += 1
            match = _PROFILE_RE.search(profile.name)
            stated = int(match["gib"]) if match else None
            if stated is None:
                strange.append(f"{profile.name}: no size in the name")
            elif stated != profile.framebuffer_gib:
                strange.append(f"{profile.name}: the API says {profile.framebuffer_gib} GiB")
            model = gpu_by_ids(PciIds(profile.vendor, profile.device))
            if model is None:
                unknown.append(f"{profile.vendor:04x}:{profile.device:04x} ({profile.name})")
            elif profile.framebuffer_gib * 1024 > model.memory_mib:
                strange.append(f"{profile.name}: more than the {model.memory_mib} MiB of {model.name}")
        described = {profile.name for profile in host.vgpu_profiles}
        if described:
            strange += [f"{n}: listed and not described" for n in host.vgpu_types if n not in described]
    if not seen:
        return not_applicable("no host describes vGPU profiles")
    told = [f"{seen} profiles on all hosts", f"models not in the catalogue: {len(set(unknown))}"]
    if strange or unknown:
        return differs(
            "vGPU profiles are not as their names or the catalogue say",
            (*told, *few(sorted({*strange, *unknown}))),
            "report these: how many vGPUs fit a card is computed from them",
        )
    return ok("vGPU profiles agree with their names and the catalogue", *told)


def modes(inventory: Inventory) -> Finding:
    """Say whether hosts tell the vGPU mode of each card that shares itself."""
    spoken = tuple(int(part) for part in inventory.about.api_version.split(".") if part.isdigit())
    shared = [
        (host, device)
        for host in described_hosts(inventory)
        for device in gpus(host)
        if device.graphics is not None and device.graphics.type == "sharedDirect"
    ]
    if not shared:
        return not_applicable("no card is set to shared direct (vGPU)")
    if spoken < _MODE_API:
        return not_checked(Untold("API 8.0.3.0 brought vgpuMode; this vCenter is older", failed=False))
    untold = [
        f"{host_name(host)} {device.address}, ESXi {host.version}"
        for host, device in shared
        if device.graphics is not None and device.graphics.mode is GpuMode.NONE
    ]
    counts = Counter(d.graphics.mode.value for _, d in shared if d.graphics is not None)
    told = ", ".join(f"{number} {mode}" for mode, number in sorted(counts.items()))
    if untold:
        return differs(
            f"no mode is told of {count(len(untold), 'vGPU card')}",
            (told, *few(untold)),
            f"hosts before {_MODE_RELEASE} tell none: such a card shares by one size, or is in MIG mode if "
            "the host offers nothing else; if it offers both, the card takes no vGPU in a plan",
        )
    return ok("the vGPU mode of each card is told", told)


def groups(inventory: Inventory) -> Finding:
    """Say whether the templates of device groups carry what attaching them needs."""
    seen, wrong = 0, []
    kinds: Counter[str] = Counter()
    for host in described_hosts(inventory):
        for group in host.device_groups:
            seen += 1
            kinds.update(component.kind for component in group.components)
            sequence = [component.sequence_id for component in group.components]
            if None in sequence:
                wrong.append(f"{host_name(host)} {_group(group.name)}: a template without sequenceId")
            elif len(set(sequence)) != len(sequence):
                wrong.append(f"{host_name(host)} {_group(group.name)}: sequenceIds repeat")
            elif any((number or 0) < 1 for number in sequence):
                wrong.append(f"{host_name(host)} {_group(group.name)}: a sequenceId below 1")
            if not group.components:
                wrong.append(f"{host_name(host)} {_group(group.name)}: no component")
    if not seen:
        return not_applicable("no host offers vendor device groups")
    told = f"{seen} groups on all hosts; components: " + ", ".join(
        f"{number} {kind}" for kind, number in sorted(kinds.items())
    )
    if wrong:
        return differs(
            "templates of device groups are not as documented",
            (told, *few(wrong)),
            "report them: the position in the group is then taken for the sequenceId",
        )
    return ok("templates of device groups carry sequence ids", told)


def _group(name: str) -> str:
    """Names are the driver's ("Nvidia:2@...%NVLink"); anything else might be somebody's own."""
    return (
        name
        if re.fullmatch(r"N[Vv][Ii]?[Dd]?[Ii]?[Aa]?:\d+@[\w.-]+(?:%\w+)?", name)
        else secret("group", name)
    )


def cpu_features(facts: tuple[RawHost, ...], evidence: Evidence) -> Finding:
    """Say whether hosts tell their CPU features, what EVC leaves of them, and each cluster's EVC mode."""
    asked = [host for host in facts if host.pci_ids or host.feature_capability is not None]
    if not asked or isinstance(evidence.inventory, Untold):
        return not_applicable("no connected host was looked at")
    lost = [named("host", host.moid) for host in asked if not host.feature_capability]
    masked = sum(1 for host in asked if host.masked_feature_capability)
    modes = Counter(cluster.evc_mode or "none" for cluster in evidence.inventory.clusters)
    known = [host for host in evidence.inventory.hosts if host.cpu_features]
    told = [
        f"{len(asked) - len(lost)} of {count(len(asked), 'host')} tell featureCapability, "
        f"{masked} maskedFeatureCapability",
        f"{count(len(known), 'host')} with a feature whose name the catalogue knows",
        "EVC modes of clusters: "
        + (", ".join(f"{n} x {m}" for m, n in sorted(modes.items())) or "no cluster"),
    ]
    if lost:
        return differs(
            f"CPU features are not told by {count(len(lost), 'host')}",
            (*told, *few(lost)),
            "whether their CPUs have AMX, BF16 or INT8 is then not known",
        )
    return ok("hosts tell their CPU features", *told)
