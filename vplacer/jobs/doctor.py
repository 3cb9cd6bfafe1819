"""Checks read-only what the product relies on in a vCenter: `vplacer doctor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer import __version__
from vplacer.doctor.marks import foreign
from vplacer.doctor.model import DoctorReport, Evidence, Verb
from vplacer.doctor.observed import Observed, Transport, Untold
from vplacer.doctor.privileges import judge_verbs
from vplacer.doctor.run import run_checks
from vplacer.errors import InternalError, VSphereFault
from vplacer.inventory.files import write_file
from vplacer.inventory.moids import moid_order
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.output_file import check_output, refuse_one_file_twice
from vplacer.jobs.source import SourceOptions, read_source, source_files
from vplacer.jobs.world import World, timestamp

if TYPE_CHECKING:
    from vplacer.vsphere.session import Session

Render = Callable[[DoctorReport], str]

_NO_SESSION = Untold("the source is a file: there is no vCenter to ask", failed=False)
_STILL = Untold("a simulated or recorded vCenter's clock stands still", failed=False)


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """What to check. ``verbs``: what the account is to be used for; ``output``: where the report goes."""

    source: SourceOptions
    verbs: tuple[Verb, ...] = (Verb.READ, Verb.PLAN)
    output: Path | None = None


def run_doctor(options: DoctorOptions, world: World, render_file: Render) -> DoctorReport:
    """Run the checks; write the report if asked to.

    What cannot be read is a result, not an error: only a connection or a login that fails is one.

    Args:
        options: the source, and what the account is used for.
        world: the outside.
        render_file: makes the text of the report file.

    Raises:
        VplacerError: the source cannot be opened at all, or the report cannot be written.
    """
    if options.output is not None:
        refuse_one_file_twice(options.output, options.source.record)
        inputs = source_files(options.source)
        check_output(options.output, FileKind.DOCTOR, inputs=inputs, force=options.source.force)
    evidence = _evidence(options.source, world)
    report = _report(evidence, options, world)
    if options.output is not None:
        write_file(options.output, render_file(report).encode())
    return report


def _evidence(source: SourceOptions, world: World) -> Evidence:
    observed: list[Observed] = []

    def also(session: Session) -> None:
        observed.append(_observe(session, source, world))

    inventory: Inventory | Untold
    overlays: tuple[Overlay, ...] = ()
    try:
        reading = read_source(replace(source, allow_incomplete=True), world, also)
        inventory, overlays = reading.inventory, reading.overlays
    except VSphereFault as error:
        if not observed:
            raise
        inventory = Untold(f"the inventory cannot be read: {foreign(error.why or error.what)}")
    return Evidence(inventory, observed[0] if observed else _NO_SESSION, overlays)


def _observe(session: Session, source: SourceOptions, world: World) -> Observed:
    from vplacer.vsphere.checkup.observe import Client, observe
    from vplacer.vsphere.retrieve import SessionReader

    client = Client(
        now=world.clock if source.vcenter is not None else _STILL,
        seconds=world.seconds,
        transport=_transport(source),
    )
    return observe(
        SessionReader(session),
        session.content,
        client,
        lambda what: world.progress.step(f"looking at {what}", 0, None),
    )


def _transport(source: SourceOptions) -> Transport:
    if source.cassette is not None:
        return Transport("none", "")
    if source.insecure:
        return Transport("not verified", "")
    if source.lab is not None:
        return Transport("verified", "the simulated vCenter's own authority")
    where = "the file of --ca-file" if source.ca_file is not None else "this machine's authorities"
    return Transport("verified", where)


def _report(evidence: Evidence, options: DoctorOptions, world: World) -> DoctorReport:
    observed, inventory = evidence.observed, evidence.inventory
    names = names_of(inventory, {} if isinstance(observed, Untold) else observed.names)
    return DoctorReport(
        created=timestamp(world.clock()),
        version=__version__,
        source=_source_word(options.source),
        vcenter=_vcenter(inventory),
        counts=_counts(inventory),
        results=run_checks(evidence),
        verbs=judge_verbs(observed if isinstance(observed, Untold) else observed.rights, options.verbs),
        licences=observed if isinstance(observed, Untold) else observed.licences,
        calls=() if isinstance(observed, Untold) else observed.calls,
        names=names,
        order=tuple(sorted(names, key=moid_order)),
    )


def _source_word(source: SourceOptions) -> str:
    if source.vcenter is not None:
        return "vCenter"
    if source.lab is not None:
        return "simulated vCenter"
    if source.cassette is not None:
        return "recorded session"
    if source.file is None:
        raise InternalError("no source was chosen")
    return "file"


def _vcenter(inventory: Inventory | Untold) -> dict[str, str]:
    if isinstance(inventory, Untold):
        return {}
    about = inventory.about
    return {"version": about.version, "build": about.build, "api_version": about.api_version}


def _counts(inventory: Inventory | Untold) -> dict[str, int]:
    if isinstance(inventory, Untold):
        return {}
    return {
        "clusters": len(inventory.clusters),
        "hosts": len(inventory.hosts),
        "vms": len(inventory.vms),
        "gaps": len(inventory.gaps),
    }


def names_of(
    inventory: Inventory | Untold, listed: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """Return kind and name of every object, so that no text shows one of them by chance."""
    names = dict(listed)
    if not isinstance(inventory, Untold):
        kinds = (
            ("datacenter", [(item.moid, item.name) for item in inventory.datacenters]),
            ("cluster", [(item.moid, item.name) for item in inventory.clusters]),
            ("host", [(item.moid, item.name) for item in inventory.hosts]),
            ("pool", [(item.moid, item.name) for item in inventory.pools]),
            ("datastore", [(item.moid, item.name) for item in inventory.datastores]),
            ("network", [(item.moid, item.name) for item in inventory.networks]),
            ("vm", [(item.moid, item.name) for item in inventory.vms]),
        )
        for kind, items in kinds:
            names.update((moid, (kind, name)) for moid, name in items)
        names[inventory.about.instance_uuid] = ("vcenter", inventory.about.name)
    return names
