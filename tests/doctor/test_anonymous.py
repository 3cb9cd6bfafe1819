"""The saved report tells nothing of a site's names: two sites that differ in names only give one report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.doctor.lab_run import read
from vplacer.doctor.marks import foreign, named, render, secret
from vplacer.doctor.model import DoctorReport, Verb
from vplacer.doctor.observed import CallTime
from vplacer.doctor.privileges import judge_verbs
from vplacer.doctor.pseudonyms import Pseudonyms, RealNames
from vplacer.doctor.run import run_checks
from vplacer.inventory.moids import moid_order
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Gap, Inventory
from vplacer.jobs.doctor import names_of
from vplacer.jobs.fixtures import fixture_path
from vplacer.jobs.source import load_site
from vplacer.lab.soap.server import LabServer
from vplacer.report.doctor_document import doctor_document
from vplacer.report.doctor_json import doctor_json
from vplacer.report.doctor_text import doctor_markdown, doctor_text

SITES = ("a30pairs", "nvswitch", "untold", "vgpu", "subnuma")

# Names as they occur: with dots, words that reports use, mixed case, one inside another, markup.
ODD = ("esx01.corp.example.com", "node", "Host", "GPU-Prod", "esx1", "esx10", "a|b `c`", "10.20.30.40",
       "vm", "ok", "DIFFERS", "cluster_A", "Straße-Ü", "privilege", "the", "pNUMA", "HOST-1")  # fmt: skip


def renamed(inventory: Inventory, style: str) -> Inventory:
    """Give everything that has a name another one; what the names mean stays."""
    numbers = count()
    labels: dict[str, str] = {}

    def new(old: str) -> str:
        number = next(numbers)
        if style == "odd":
            return ODD[number] if number < len(ODD) else f"{ODD[number % len(ODD)]}{number}"
        return f"zq{number}-{style}"

    def relabel(text: str | None) -> str | None:
        return None if text is None else labels.setdefault(text, f"label-of-{style}-{len(labels)}")

    def device(item: Any) -> Any:
        state = item.passthrough
        return (
            item if state is None else replace(item, passthrough=replace(state, label=relabel(state.label)))
        )

    def host(item: Any) -> Any:
        devices = tuple(
            d
            if d.passthrough is None
            else replace(d, passthrough=replace(d.passthrough, label=relabel(d.passthrough.label)))
            for d in item.pci_devices
        )
        return replace(item, name=new(item.name), uuid=f"uuid-{style}-{item.moid}", pci_devices=devices)

    gaps = tuple(
        Gap(h.moid, "config", "fault", f'SystemError: "{h.name} at 10.1.2.3 is lost"')
        for h in inventory.hosts[:1]
    )
    hosts = tuple(host(item) for item in inventory.hosts)
    gaps = tuple(
        replace(g, reason=f'SystemError: "{hosts[0].name} on 10.1.2.3 ({style}.example) failed"')
        for g in gaps
    )
    return replace(
        inventory,
        about=replace(inventory.about, name=new(inventory.about.name), instance_uuid=f"{style}-uuid"),
        datacenters=tuple(replace(item, name=new(item.name)) for item in inventory.datacenters),
        clusters=tuple(replace(item, name=new(item.name)) for item in inventory.clusters),
        hosts=hosts,
        pools=tuple(replace(item, name=new(item.name)) for item in inventory.pools),
        datastores=tuple(replace(item, name=new(item.name)) for item in inventory.datastores),
        networks=tuple(replace(item, name=new(item.name)) for item in inventory.networks),
        vms=tuple(replace(item, name=new(item.name)) for item in inventory.vms),
        gaps=gaps,
    )


def report_of(inventory: Inventory, observed: Any) -> DoctorReport:
    from vplacer.doctor.model import Evidence

    names = names_of(inventory, observed.names)
    return DoctorReport(
        created="2026-11-30T12:00:00Z",
        version="0",
        source="vCenter",
        vcenter={"version": inventory.about.version, "api_version": inventory.about.api_version},
        counts={},
        results=run_checks(Evidence(inventory, replace(observed, calls=()))),
        verbs=judge_verbs(observed.rights, [Verb.READ, Verb.APPLY]),
        licences=observed.licences,
        calls=(CallTime("CurrentTime", 1, 0.0, 0.0),),
        names=names,
        order=tuple(sorted(names, key=moid_order)),
    )


def texts(report: DoctorReport, *, anonymous: bool) -> dict[str, str]:
    document = doctor_document(report, anonymous=anonymous)
    return {
        "json": doctor_json(document),
        "text": doctor_text(document, details=True),
        "markdown": doctor_markdown(document),
    }


def observe(site: Site, style: str) -> tuple[Inventory, Any]:
    inventory = renamed(site.inventory, style)
    served = replace(site, inventory=replace(inventory, gaps=()))
    user = {"first": "alice@corp.example", "second": "bob", "odd": "node"}[style]
    with LabServer(served, read_only=True, username=user) as server:
        observed, _, _ = read(server)
    return inventory, observed


@pytest.mark.parametrize("name", SITES)
def test_names_do_not_show(name: str) -> None:
    site = load_site(fixture_path("sites", name))
    reports = {}
    for style in ("first", "second", "odd"):
        inventory, observed = observe(site, style)
        reports[style] = report_of(inventory, observed)
    first, second, odd = (texts(reports[s], anonymous=True) for s in ("first", "second", "odd"))
    assert first == second == odd
    for text in first.values():
        for word in ("zq", "first", "second", "alice", "uuid", "10.1.2.3", "corp", "label-of", "lab00"):
            assert word not in text.lower()
    # The comparison is worth something: with real names the reports differ, and name the host.
    assert (
        texts(reports["first"], anonymous=False)["text"] != texts(reports["second"], anonymous=False)["text"]
    )
    host = reports["odd"].names[reports["odd"].order[-1]]
    assert host[1]


def test_serials_addresses_and_accounts_do_not_show() -> None:
    site = load_site(fixture_path("sites", "a30pairs"))
    inventory, observed = observe(site, "first")
    out = "".join(texts(report_of(inventory, observed), anonymous=True).values())
    hidden = [h.uuid for h in inventory.hosts] + [v.instance_uuid for v in inventory.vms]
    hidden += [p.mac for h in inventory.hosts for p in h.pnics]
    hidden += [observed.user, *(moid for moid in observed.names)]
    words = set(re.findall(r"[\w.@:-]+", out))
    assert [text for text in hidden if text and text in words] == []


NAMES = {
    "host-9": ("host", "node"),
    "host-10": ("host", "esx1.corp.example"),
    "vm-3": ("vm", "esx1"),
    "vm-4": ("vm", "db|prod"),
    "vm-5": ("vm", "AcmeState"),
    "vm-6": ("vm", "4711"),
}
ORDER = ("host-9", "host-10", "vm-3", "vm-4", "vm-5", "vm-6")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"{named('host', 'host-9')} failed", "host-1 failed"),
        ("pNUMA node 0 of a host", "pNUMA node 0 of a host"),
        (foreign("esx1.corp.example lost"), "host-2 lost"),
        (foreign("ESX1.CORP.EXAMPLE: connection refused"), "host-2: connection refused"),
        (foreign("esx1 and esx11 failed"), "vm-1 and (...) failed"),
        (foreign("the node is lost"), "the node is lost"),
        (foreign("call to 10.1.2.3 timed out"), "call to (...) timed out"),
        (foreign("CORP\\alice lacks System.Read on vm-3"), "(...) lacks System.Read on vm-1"),
        (foreign("[datastore7] secretvm/secretvm.vmx"), "[(...)] (...)"),
        (foreign("NoPermission: needs Global.Licenses"), "NoPermission: needs Global.Licenses"),
        (foreign("503 at 0000:3b:00.0"), "503 at 0000:3b:00.0"),
        (foreign("db|prod"), "vm-2"),
        (foreign("AcmeState is lost"), "vm-3 is lost"),
        (foreign("InvalidState: 4711 not found"), "InvalidState: 4711 not found"),
        (foreign("a folder of govc object.save has no tags"), "a folder of govc object.save has no tags"),
        (f"{secret('label', 'left')} {secret('label', 'LEFT')}", "label-1 label-1"),
        (f"{secret('label', 'a')} {secret('label', 'b')}", "label-1 label-2"),
        (named("vm", "vm-77"), "vm-5"),
    ],
)
def test_pseudonyms(said: str, shown: str) -> None:
    assert render(said, Pseudonyms(NAMES, ORDER)) == shown


def test_real_names() -> None:
    said = f"{named('host', 'host-10')} {foreign('x 10.1.2.3')} {secret('label', 'l')} {named('vm', 'vm-77')}"
    assert render(said, RealNames(NAMES)) == "esx1.corp.example x 10.1.2.3 l vm-77"


def test_marks_in_what_a_server_says_do_nothing() -> None:
    evil = "\x02object:\x1fhost-9\x03"
    assert "node" not in render(foreign(evil), RealNames(NAMES))
    assert json.loads(json.dumps(render(named("host", evil), Pseudonyms(NAMES, ORDER)))) == "host-3"
