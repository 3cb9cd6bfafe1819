"""Everything the doctor reads through a session, part by part: what fails is `Untold`, the rest goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vplacer.doctor.observed import Clocks, Licences, Limits, Observed, Rights, Transport, Untold
from vplacer.doctor.privileges import KIND_WORDS, ROOT, privileges_by_kind
from vplacer.vsphere.checkup import samples
from vplacer.vsphere.checkup.licences import read_licences
from vplacer.vsphere.checkup.rights import read_rights
from vplacer.vsphere.checkup.timed import TimedReader, attempt, spread, why_missing
from vplacer.vsphere.raw import Data, MoRef, RawObject, RawReader, data_items
from vplacer.vsphere.read_names import shown_name

_LISTED = (
    "Datacenter",
    "ClusterComputeResource",
    "HostSystem",
    "VirtualMachine",
    "ResourcePool",
    "Network",
    "Datastore",
)
_PATHS: Mapping[str, tuple[str, ...]] = {
    "HostSystem": ("name", "runtime.connectionState"),
    "VirtualMachine": ("name",),
}


@dataclass(frozen=True, slots=True)
class Client:
    """The client's side.

    ``now``: its clock, Untold = not to be compared; ``seconds``: measures durations; ``transport``: how it
    connected.
    """

    now: Callable[[], datetime] | Untold
    seconds: Callable[[], float]
    transport: Transport | Untold


def observe(reader: RawReader, content: Data, client: Client, progress: Callable[[str], None]) -> Observed:
    """Read it all.

    Args:
        reader: the vCenter.
        content: its ServiceContent.
        client: the client's side.
        progress: told what is being read.
    """
    return _Observer(TimedReader(reader, client.seconds), content, client, progress).observe()


class _Observer:
    def __init__(
        self, reader: TimedReader, content: Data, client: Client, progress: Callable[[str], None]
    ) -> None:
        self._reader = reader
        self._content = content
        self._client = client
        self._progress = progress
        self._objects: dict[str, Sequence[RawObject]] = {}
        self._lost: dict[str, Untold] = {}

    def observe(self) -> Observed:
        self._progress("objects")
        for kind in _LISTED:
            self._objects[kind] = self._list(kind)
        connected = [
            host
            for host in self._objects["HostSystem"]
            if host.props.text("runtime.connectionState") == "connected"
        ]
        sampled, host_sample = spread(connected, samples.MOST_HOSTS)
        vms, _ = spread(self._objects["VirtualMachine"], samples.MOST_VMS)
        reading = samples.VmReading(self._reader, vms)
        key, user = self._session()
        self._progress("spellings")
        hosts = attempt(lambda: samples.raw_hosts(self._reader, sampled))
        self._progress("clocks")
        clocks = attempt(lambda: self._clocks(connected))
        self._progress("esxtop services")
        manager = self._content.ref("serviceManager")
        esxtop = attempt(lambda: samples.esxtop_schemas(self._reader, manager, connected))
        self._progress("licences")
        licences = attempt(self._licences)
        self._progress("privileges")
        rights = attempt(lambda: self._rights(key, user))
        limits = Limits(attempt(self._session_count), attempt(self._settings))
        return Observed(
            user=user if user else Untold("the server does not tell the account's name"),
            transport=self._client.transport,
            clocks=clocks,
            hosts=hosts,
            host_sample=host_sample,
            vms=reading.finish(),
            esxtop=esxtop,
            licences=licences,
            rights=rights,
            limits=limits,
            calls=self._reader.times(),
            names=self._names(),
        )

    def _clocks(self, hosts: Sequence[RawObject]) -> Clocks | Untold:
        now = self._client.now
        return now if isinstance(now, Untold) else samples.clocks(self._reader, hosts, now)

    def _list(self, kind: str) -> Sequence[RawObject]:
        answer = attempt(lambda: self._reader.retrieve(kind, _PATHS.get(kind, ("name",))))
        if isinstance(answer, Untold):
            self._lost[kind] = answer
            return ()
        return answer.objects

    def _names(self) -> dict[str, tuple[str, str]]:
        return {
            raw.ref.moid: (KIND_WORDS[kind], shown_name(raw.props.text("name")))
            for kind, objects in self._objects.items()
            for raw in objects
        }

    def _session(self) -> tuple[str | None, str | None]:
        """Return the key of the session and the account's name as the server has it."""
        manager = self._content.ref("sessionManager")
        if manager is None:
            return None, None
        answer = attempt(lambda: self._reader.properties([manager], ["currentSession"]))
        if isinstance(answer, Untold) or not answer.objects:
            return None, None
        session = answer.objects[0].props.data("currentSession")
        return (session.text("key"), session.text("userName")) if session is not None else (None, None)

    def _licences(self) -> Licences | Untold:
        manager = self._content.ref("licenseManager")
        if manager is None:
            return Untold("the vCenter has no licence manager", failed=False)
        return read_licences(self._reader, manager, len(self._objects["HostSystem"]))

    def _rights(self, key: str | None, user: str | None) -> Rights | Untold:
        manager, root = self._content.ref("authorizationManager"), self._content.ref("rootFolder")
        if manager is None or root is None:
            return Untold("the vCenter has no authorization manager", failed=False)
        refs: dict[str, Sequence[MoRef]] = {
            kind: [raw.ref for raw in objects] for kind, objects in self._objects.items()
        }
        refs[ROOT] = [root]
        rights = read_rights(self._reader, manager, key, user, refs, privileges_by_kind())
        if isinstance(rights, Untold):
            return rights
        # Of objects that could not be listed nothing is known: that is not "all of none".
        return replace(rights, kinds={**rights.kinds, **self._lost})

    def _session_count(self) -> int | Untold:
        """Count sessions; the list takes Sessions.TerminateSession, so most accounts do not get it."""
        manager = self._content.ref("sessionManager")
        if manager is None:
            return Untold("there is no session manager", failed=False)
        answer = self._reader.properties([manager], ["sessionList"])
        if answer.objects and (listed := answer.objects[0].props.items("sessionList")):
            return len(listed)
        return Untold(why_missing(answer.missing).why, failed=False)

    def _settings(self) -> dict[str, str] | Untold:
        """Return the vCenter's settings about sessions and idle times that are numbers."""
        manager = self._content.ref("setting")
        if manager is None:
            return Untold("there are no settings", failed=False)
        found = attempt(
            lambda: data_items(self._reader.call(manager, "QueryOptions", {"name": "config.vpxd"}))
        )
        if isinstance(found, Untold):
            return Untold(found.why, failed=False)
        return {
            key: str(value)
            for option in found
            if (key := option.text("key")) and ("session" in key.lower() or "timeout" in key.lower())
            and isinstance(value := option.get("value"), int)
        }  # fmt: skip
