"""Reads a request file: schema and semantic faults together, each with file, line and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vplacer.errors import NewerFormatError
from vplacer.inventory.schema_check import faults_error, schema_faults
from vplacer.inventory.yaml_marks import Document, Pointer, parse_document, pointer_text, read_text
from vplacer.request.demand import AffinityMode, Policy
from vplacer.request.file import (
    FabricSource,
    FutureSpec,
    GangSpec,
    GpuSpec,
    NicSpec,
    OptionsSpec,
    Placing,
    RequestFile,
    RuleSpec,
    Selector,
    VmEntry,
)
from vplacer.request.naming import expand_names, listed
from vplacer.request.schema import request_schema
from vplacer.request.semantics import asks, find_faults, find_notes
from vplacer.request.units import parse_memory_mib, parse_percent, parse_speed_mbps
from vplacer.topology.levels import Level

FORMAT_VERSION = 1

_DEFAULT_FABRIC_CATEGORY = "fabric"


def load_request(path: Path) -> RequestFile:
    """Read and check a request file.

    Raises:
        UnknownObjectError: there is no such file, or it cannot be read.
        FileFormatError: it is not YAML, or not a request; its text lists every fault found.
        NewerFormatError: it says a newer version.
    """
    return parse_request(read_text(path), str(path))


def parse_request(text: str, path: str) -> RequestFile:
    """Check the text of a request; ``path`` is what errors call it.

    Raises:
        FileFormatError: it is not YAML, or not a request; its text lists every fault found.
        NewerFormatError: it says a newer version.
    """
    document = parse_document(text, path)
    _refuse_newer(document)
    faults = set(schema_faults(document, request_schema()))
    for pointer, message in find_faults(document):
        mark = document.mark(pointer)
        faults.add((mark.line, mark.column, pointer_text(pointer), message) if mark else (0, 0, "", message))
    if faults:
        raise faults_error(path, sorted(faults))
    return _Builder(document).build()


def empty_request() -> RequestFile:
    """Return a request that asks for nothing: for commands that look after what runs."""
    return _Builder(Document("", {"version": FORMAT_VERSION, "vms": []}, {}, {})).build()


def _refuse_newer(document: Document) -> None:
    version = document.data.get("version") if isinstance(document.data, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT_VERSION:
        raise NewerFormatError(
            f"the request has version {version}; this vplacer reads version {FORMAT_VERSION}",
            obj=document.path,
            hint="update vplacer",
        )


def names(value: Any) -> tuple[str, ...] | None:
    """Return a name or a list of names as a tuple; None stays None."""
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


class _Builder:
    """Turns a valid document into values."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data: dict[str, Any] = document.data
        self.defaults: dict[str, Any] = self.data.get("defaults") or {}

    def build(self) -> RequestFile:
        document = self.document
        notes = [f"{document.error(pointer, message).render()}" for pointer, message in find_notes(document)]
        return RequestFile(
            document=document,
            entries=tuple(self._entry(("vms", i), raw) for i, raw in enumerate(self.data["vms"])),
            rules=tuple(self._rule(("rules", i), raw) for i, raw in enumerate(self.data.get("rules") or [])),
            gangs=tuple(self._gang(("gangs", i), raw) for i, raw in enumerate(self.data.get("gangs") or [])),
            options=self._options(),
            notes=tuple(notes),
            future=tuple(
                self._future(("future", i), raw) for i, raw in enumerate(self.data.get("future") or [])
            ),
        )

    def _future(self, pointer: Pointer, raw: dict[str, Any]) -> FutureSpec:
        like = raw.get("like")
        return FutureSpec(
            pointer=pointer,
            name=str(raw.get("name", like)),
            share=raw.get("share", 1),
            like=like,
            shape=self._entry(pointer, raw) if like is None else None,
        )

    def _entry(self, pointer: Pointer, raw: dict[str, Any]) -> VmEntry:
        vnuma = raw.get("vnuma")
        gpus = [_gpu(at, item) for at, item in asks(pointer, raw, "gpus")]
        nics = [_nic(at, item) for at, item in asks(pointer, raw, "nics")]
        template = raw.get("template")
        return VmEntry(
            pointer=pointer,
            select=_selector(raw["select"]) if "select" in raw else None,
            template=template,
            name=raw.get("name"),
            names=expand_names(raw["name"], raw.get("count", 1)) if template is not None else (),
            cpus=raw.get("cpus"),
            memory_mib=parse_memory_mib(raw["memory"]) if "memory" in raw else None,
            vnuma_stated=vnuma is not None,
            vnuma_nodes=vnuma["nodes"] if isinstance(vnuma, dict) else None,
            gpus=tuple(gpus) if "gpus" in raw else None,
            nics=tuple(nics) if "nics" in raw else None,
            weight=raw.get("weight"),
            placing=_placing({**self.defaults, **raw}),
            own_affinity=_affinity(raw.get("affinity")),
        )

    def _rule(self, pointer: Pointer, raw: dict[str, Any]) -> RuleSpec:
        kind = next(kind for kind in ("apart", "together", "on", "off") if kind in raw)
        about_hosts = kind in ("on", "off")
        vms = names(raw["vms"] if about_hosts else raw[kind]) or ()
        hosts = (names(raw[kind]) or ()) if about_hosts else ()
        said = f"{listed(vms)} {kind} {listed(hosts)}" if about_hosts else f"{kind} {listed(vms)}"
        return RuleSpec(
            pointer=pointer,
            kind=kind,
            name=raw.get("name", said),
            vms=vms,
            hosts=hosts,
            at_most=raw.get("at_most", 1),
            required=raw.get("policy", "required") == "required",
        )

    def _gang(self, pointer: Pointer, raw: dict[str, Any]) -> GangSpec:
        same = raw.get("fabric", "any") == "same"
        return GangSpec(
            pointer=pointer,
            name=raw["name"],
            vms=names(raw["vms"]) or (),
            same_fabric=same,
            fabric_from=self._fabric(pointer, raw) if same else None,
        )

    def _fabric(self, pointer: Pointer, raw: dict[str, Any]) -> FabricSource:
        if "fabric_from" in raw:
            where: Pointer = (*pointer, "fabric_from")
            found = raw["fabric_from"]
        elif "fabric_from" in self.defaults:
            where = ("defaults", "fabric_from")
            found = self.defaults["fabric_from"]
        else:
            return FabricSource((*pointer, "fabric"), tag_category=_DEFAULT_FABRIC_CATEGORY)
        hosts = tuple((fabric, names(hosts) or ()) for fabric, hosts in found.get("hosts", {}).items())
        return FabricSource(where, tag_category=found.get("tag_category"), hosts=hosts)

    def _options(self) -> OptionsSpec:
        raw = self.data
        limits = raw.get("limits") or {}
        return OptionsSpec(
            cpu_overcommit=_ratios(raw.get("cpu_overcommit", 4), 4.0),
            memory_overcommit=_ratios(raw.get("memory_overcommit", 1), 1.0),
            memory_margin_percent=parse_percent(raw.get("memory_margin", "4 %")),
            headroom_hosts=(raw.get("headroom") or {}).get("hosts", 0),
            partial=raw.get("partial", False),
            hosts_goal=raw.get("hosts", "fewest"),
            max_power_cycles=limits.get("power_cycles"),
            max_moves=limits.get("moves"),
        )


def _selector(raw: dict[str, Any]) -> Selector:
    return Selector(
        name=names(raw.get("name")),
        folder=raw.get("folder"),
        tag=names(raw.get("tag")),
        pool=raw.get("pool"),
        cluster=raw.get("cluster"),
        moid=names(raw.get("moid")),
        instance_uuid=names(raw.get("instance_uuid")),
    )


def _gpu(pointer: Pointer, raw: dict[str, Any]) -> GpuSpec:
    return GpuSpec(
        pointer=pointer,
        count=raw.get("count"),
        model=raw.get("model"),
        label=raw.get("label"),
        profile=raw.get("profile"),
        group=raw.get("group"),
        interconnect=Level(raw.get("interconnect", "any")),
        interconnect_policy=raw.get("interconnect_policy"),
        policy=_policy(raw.get("policy")),
    )


def _nic(pointer: Pointer, raw: dict[str, Any]) -> NicSpec:
    return NicSpec(
        pointer=pointer,
        count=raw.get("count", 1),
        kind=raw.get("kind", "passthrough"),
        model=raw.get("model"),
        label=raw.get("label"),
        network=raw.get("network"),
        near_gpu=raw.get("near") == "gpu",
        at=Level(raw["at"]) if "at" in raw else None,
        at_policy=raw.get("at_policy"),
        policy=_policy(raw.get("policy")),
        min_speed_mbps=parse_speed_mbps(raw["min_speed"]) if "min_speed" in raw else None,
        rdma=raw.get("rdma"),
    )


def _placing(raw: dict[str, Any]) -> Placing:
    return Placing(
        policy=_policy(raw.get("policy")),
        affinity=_affinity(raw.get("affinity")),
        priority=raw.get("priority"),
        may_move=raw.get("may_move"),
        prefer_ht=raw.get("prefer_ht"),
        latency=raw.get("latency"),
        power_on=raw.get("power_on"),
        include_managed=raw.get("include_managed"),
        hosts=names(raw.get("hosts")),
        clusters=names(raw.get("clusters")),
        pool=raw.get("pool"),
        datastore=names(raw.get("datastore")),
        networks=names(raw.get("networks")),
        hardware_version=raw.get("hardware_version"),
    )


def _policy(word: str | None) -> Policy | None:
    return None if word is None else Policy(word)


def _affinity(word: str | None) -> AffinityMode | None:
    return None if word is None else AffinityMode(word)


def _ratios(value: float | dict[str, float], default: float) -> tuple[tuple[str, float], ...]:
    """Return cluster name to ratio, "" = the others."""
    if not isinstance(value, dict):
        return (("", float(value)),)
    table = {"": default} | {("" if name == "default" else name): float(r) for name, r in value.items()}
    return tuple(sorted(table.items()))
