"""Licences: editions, features, ends, and which host has which. Keys leave this module masked only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vplacer.doctor.observed import Licence, Licences, Sample, Untold
from vplacer.vsphere.checkup.timed import TimedReader, attempt, why_missing
from vplacer.vsphere.raw import Data, MoRef, Value, data_items
from vplacer.vsphere.scrub import SCRUBBED

_GROUP_RE = re.compile(r"[0-9A-Za-z]+")


def masked(key: str | None) -> str:
    """Return a licence key of which only the last group can be read; an evaluation's is all zeros."""
    groups = _GROUP_RE.findall(key or "")
    if len(groups) < 2:
        return "*****"
    if all(set(group) == {"0"} for group in groups):
        return "evaluation"
    last = groups[-1][-2:].rjust(len(groups[-1]), "*")
    return "-".join([*("*" * len(group) for group in groups[:-1]), last])


def read_licences(reader: TimedReader, manager: MoRef, host_count: int) -> Licences | Untold:
    """Return the licences of a vCenter.

    Args:
        reader: the vCenter.
        manager: its LicenseManager.
        host_count: how many hosts there are.
    """
    answer = reader.properties([manager], ["licenses", "licenseAssignmentManager", "evaluation"])
    props = answer.objects[0].props if answer.objects else None
    listed = props.items("licenses") if props is not None else []
    if not listed:
        lost = [entry for entry in answer.missing if entry.path == "licenses"]
        return (
            why_missing(lost or answer.missing)
            if (lost or answer.missing)
            else Untold("the vCenter lists no licences to this account")
        )
    assigner = props.ref("licenseAssignmentManager") if props is not None else None
    assigned = _assigned(reader, assigner)
    if any(item.text("licenseKey") == SCRUBBED for item in listed):
        # All keys read alike then, and every licence would seem to be on every host.
        assigned = Untold("the recording holds no licence keys", failed=False)
    hosts: dict[str, list[str]] = {}
    if not isinstance(assigned, Untold):
        for key, moid in assigned:
            hosts.setdefault(key, []).append(moid)
    evaluation = props.data("evaluation") if props is not None else None
    ends = _values(evaluation) if evaluation is not None else {}
    found = tuple(_licence(item, hosts.get(item.text("licenseKey") or "", ()), ends) for item in listed)
    if isinstance(assigned, Untold):
        return Licences(found, assigned)
    return Licences(found, Sample(len(assigned), max(len(assigned), host_count)))


def _assigned(reader: TimedReader, assigner: MoRef | None) -> list[tuple[str, str]] | Untold:
    """Return pairs of licence key and host, by moid."""
    if assigner is None:
        return Untold("the server names no licence assignment manager", failed=False)

    def ask() -> list[tuple[str, str]]:
        pairs = []
        for item in data_items(reader.call(assigner, "QueryAssignedLicenses")):
            licence, entity = item.data("assignedLicense"), item.text("entityId") or ""
            if licence is not None and entity.startswith("host-"):
                pairs.append((licence.text("licenseKey") or "", entity))
        return pairs

    return attempt(ask)


def _values(item: Data) -> dict[str, Value]:
    """Return the named values of a licence or evaluation, features left out."""
    return {
        key: entry.get("value")
        for entry in item.items("properties")
        if (key := entry.text("key")) is not None and key != "feature"
    }


def _hours_left(values: Mapping[str, Value]) -> float | None:
    """Licences say when they end as expirationHours, or as expirationMinutes when it is soon."""
    for key, per_hour in (("expirationHours", 1), ("expirationMinutes", 60)):
        value = values.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / per_hour
    return None


def _licence(item: Data, hosts: Sequence[str], evaluation: Mapping[str, Value]) -> Licence:
    features = [
        value.text("key") or ""
        for entry in item.items("properties")
        if entry.text("key") == "feature" and (value := entry.data("value")) is not None
    ]
    edition = item.text("editionKey") or ""
    # An evaluation's end stands beside the licences, not with its own.
    values = {**evaluation, **_values(item)} if edition == "eval" else _values(item)
    product, ends = values.get("ProductName"), values.get("expirationDate")
    return Licence(
        edition=edition,
        name=item.text("name") or "",
        key=masked(item.text("licenseKey")),
        features=tuple(features) or None,
        product=product if isinstance(product, str) else None,
        total=item.number("total"),
        used=item.number("used"),
        expires=ends if isinstance(ends, str) else None,
        hours_left=_hours_left(values),
        hosts=tuple(sorted(hosts)),
    )
