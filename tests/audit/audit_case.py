"""Builds the subject of one audit case: a site, and what was measured on its hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vplacer.audit.plan_drift import PlanDrift
from vplacer.audit.settings import Settings
from vplacer.audit.subject import Subject
from vplacer.audit.utilisation import parse_utilisation
from vplacer.audit.waivers import Waiver
from vplacer.audit.waivers_file import parse_waivers
from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.host import DeviceBinding
from vplacer.inventory.measured import ESXCLI, ESXTOP, MeasuredHome, NodeMemory, Spread
from vplacer.inventory.overlay import Overlay, OverlayHome
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.vcenter import Gap, Inventory
from vplacer.inventory.vm import VmPower
from vplacer.plan.model import DriftItem, ObjectKind

MEASURED_AT = "2024-12-31T23:00:00Z"


def merged(base: Any, change: Any) -> Any:
    """Return a document with another laid over it: mappings by key, lists of named things by name."""
    if isinstance(base, dict) and isinstance(change, dict):
        return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}
    if isinstance(base, list) and isinstance(change, list) and _named(base) and _named(change):
        laid = {item["name"]: item for item in change}
        kept = [merged(item, laid.pop(item["name"])) if item["name"] in laid else item for item in base]
        return [*kept, *laid.values()]
    return change


def _named(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and "name" in item for item in items)


def build_subject(site: dict[str, Any], case: Mapping[str, Any]) -> Subject:
    """Return the subject of a case, by its keys: see `test_rules`."""
    document = {"format_version": 1, **merged(site, case.get("change", {}))}
    loaded = load_site_text(json.dumps(document), "site.yaml")
    inventory = _with_bindings(_with_fields(loaded.inventory, case), case.get("bindings", ()))
    gaps = tuple(Gap(**gap) for gap in case.get("gaps", ()))
    if gaps:
        inventory = replace(inventory, gaps=gaps)
    inventory = _untold(inventory, case.get("unset", {}))
    measured = _measured(inventory, case.get("measured", {}))
    overlays = (*loaded.overlays, *measured, *_esxcli(inventory, case.get("esxcli", {})))
    settings = Settings(**case.get("settings", {}))
    waivers, since = _waivers(case.get("waivers")), _since(inventory, case.get("moved"))
    told = _told(inventory, case.get("told", ()))
    moids = {vm.name: vm.moid for vm in inventory.vms}
    off_since = {moids[name]: when for name, when in case.get("off_since", {}).items()}
    table = case.get("utilisation")
    return Subject(
        inventory,
        overlays,
        settings,
        told,
        waivers=waivers,
        since=since,
        off_since=off_since,
        utilisation=None if table is None else parse_utilisation(table.encode(), "use.csv"),
    )


def _since(inventory: Inventory, moved: list[dict[str, Any]] | None) -> PlanDrift | None:
    """Return what moved since a plan: of a VM or host by name, or of one that is gone, a field."""
    if moved is None:
        return None
    moids = {item.name: item.moid for items in (inventory.hosts, inventory.vms) for item in items}
    items = [
        DriftItem(
            ObjectKind(item["kind"]),
            moids.get(item["name"], "gone-1"),
            item["name"],
            item["field"],
            item["was"],
            item["now"],
        )
        for item in moved
    ]
    return PlanDrift("2024-12-01T00:00:00Z", tuple(items))


def _waivers(entries: list[dict[str, Any]] | None) -> tuple[Waiver, ...] | None:
    if entries is None:
        return None
    return parse_waivers(json.dumps({"version": 1, "waivers": entries}), "waivers.yaml")


def _with_fields(inventory: Inventory, case: Mapping[str, Any]) -> Inventory:
    """Set fields of clusters, hosts and VMs (`set`), and take devices off VMs by position (`without`).

    For what a site file cannot say: that vCenter did not tell something, or told half of it.
    """
    given, gone = case.get("set", {}), case.get("without", {})
    parts = {
        kind: tuple(replace(item, **_fields(given.get(item.name, {}))) for item in items)
        for kind, items in (
            ("clusters", inventory.clusters),
            ("hosts", inventory.hosts),
            ("vms", inventory.vms),
        )
    }
    parts["vms"] = tuple(
        replace(vm, devices=tuple(d for i, d in enumerate(vm.devices) if i not in gone.get(vm.name, ())))
        for vm in parts["vms"]
    )
    return replace(inventory, **parts)


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return {key: VmPower(value) if key == "power" else value for key, value in lists.items()}


def _with_bindings(inventory: Inventory, told: Any) -> Inventory:
    """Add bindings: of a host, to a VM by name (or an id that nobody knows), an address and a device key."""
    moids = {vm.name: vm.moid for vm in inventory.vms}
    hosts = []
    for host in inventory.hosts:
        added = tuple(
            DeviceBinding(
                str(item.get("instance", f"added-{index}")),
                moids.get(item["vm"], item["vm"]),
                PciAddress.parse(item["address"]) if "address" in item else None,
                item.get("key"),
            )
            for index, item in enumerate(told)
            if item["host"] == host.name
        )
        hosts.append(replace(host, bindings=(*host.bindings, *added)))
    return replace(inventory, hosts=tuple(hosts))


def _untold(inventory: Inventory, unset: Mapping[str, Sequence[str]]) -> Inventory:
    """Set fields of hosts and VMs, by name, to None, as where a server does not tell them."""
    if not unset:
        return inventory
    hosts = tuple(_cleared(host, unset.get(host.name, ())) for host in inventory.hosts)
    vms = tuple(_cleared(vm, unset.get(vm.name, ())) for vm in inventory.vms)
    return replace(inventory, hosts=hosts, vms=vms)


def _cleared(value: Any, fields: Sequence[str]) -> Any:
    for path in fields:
        outer, _, inner = path.partition(".")
        part = replace(getattr(value, outer), **{inner: None}) if inner else _nothing(getattr(value, outer))
        value = replace(value, **{outer: part})
    return value


def _nothing(value: Any) -> Any:
    return () if isinstance(value, tuple) else None


def _esxcli(inventory: Inventory, notes: Mapping[str, Sequence[str]]) -> tuple[Overlay, ...]:
    """Make the overlays of what esxcli told of hosts, by name, and is not used."""
    uuid = inventory.about.instance_uuid
    return tuple(
        Overlay(host.name, host.uuid, uuid, MEASURED_AT, ESXCLI, notes=tuple(notes[host.name]))
        for host in inventory.hosts
        if host.name in notes
    )


def _told(inventory: Inventory, findings: Sequence[Mapping[str, str]]) -> tuple[Finding, ...]:
    hosts = {host.name: host.moid for host in inventory.hosts}
    return tuple(
        Finding(item["kind"], item["text"], Certainty.UNKNOWN, host=hosts[item["host"]]) for item in findings
    )


def _measured(inventory: Inventory, told: Mapping[str, Any]) -> tuple[Overlay, ...]:
    """Make an overlay of each host that a measured VM is on; null = the VM was not seen there."""
    by_host: dict[str, list[OverlayHome]] = {}
    vms = {vm.name: vm for vm in inventory.vms}
    for name, home in told.items():
        vm = vms[name]
        assert vm.host is not None
        assert vm.instance_uuid is not None
        homes = by_host.setdefault(vm.host, [])
        if home is not None:
            homes.append(OverlayHome(vm.instance_uuid, _home(home)))
    return tuple(
        Overlay(
            host=host.name,
            host_uuid=host.uuid,
            vcenter_uuid=inventory.about.instance_uuid,
            created=MEASURED_AT,
            source=ESXTOP,
            homes=tuple(by_host[host.moid]),
            node_memory=(NodeMemory(0, None, None),),
        )
        for host in inventory.hosts
        if host.moid in by_host
    )


def _home(told: Mapping[str, Any]) -> MeasuredHome:
    spreads = {
        key: Spread(*value) if isinstance(value, list) else Spread(value, value, value)
        for key, value in told.items()
        if key in ("locality_percent", "local_mib", "remote_mib")
    }
    plain = {key: value for key, value in told.items() if key not in spreads and key != "nodes"}
    return MeasuredHome(nodes=tuple(told["nodes"]), at=MEASURED_AT, **spreads, **plain)
