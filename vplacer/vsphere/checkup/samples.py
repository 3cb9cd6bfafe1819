"""Samples of hosts and VMs as the wire has them: spellings, signs, clocks, esxtop's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from vplacer.doctor.marks import named
from vplacer.doctor.observed import Clocks, EsxtopSchema, RawHost, Untold, VmRaw
from vplacer.vsphere.checkup.timed import TimedReader, attempt, spread, why_missing
from vplacer.vsphere.esxtop import parse_schema
from vplacer.vsphere.raw import Data, MoRef, RawObject, data_items

MOST_HOSTS = 20
MOST_CLOCKS = 50
MOST_VMS = 20
MOST_ESXTOP = 5
_SIGNED = ("bus", "slot", "function", "vendorId", "deviceId", "subVendorId", "subDeviceId", "classId")
_SERVICE_INSTANCE = MoRef("ServiceInstance", "ServiceInstance")
_RAW_PATHS = (
    "hardware.pciDevice",
    "hardware.numaInfo",
    "config.featureCapability",
    "config.maskedFeatureCapability",
)


def raw_hosts(reader: TimedReader, hosts: Sequence[RawObject]) -> tuple[RawHost, ...] | Untold:
    """Return the spellings of some hosts."""
    if not hosts:
        return ()
    answer = reader.properties([host.ref for host in hosts], _RAW_PATHS)
    if not answer.objects:
        return why_missing(answer.missing)
    return tuple(_raw_host(raw.ref.moid, raw.props) for raw in answer.objects)


def _raw_host(moid: str, props: Data) -> RawHost:
    devices = props.items("hardware.pciDevice")
    numa = props.data("hardware.numaInfo")
    nodes = numa.items("numaNode") if numa is not None else []
    negative: Counter[str] = Counter()
    for device in devices:
        negative.update(field for field in _SIGNED if (device.number(field) or 0) < 0)
    negative.update("typeId" for node in nodes if (node.number("typeId") or 0) < 0)
    return RawHost(
        moid=moid,
        pci_ids=tuple(device.text("id") or "" for device in devices),
        node_ids=tuple(text for node in nodes for text in node.texts("pciId")),
        parents=tuple(text for device in devices if (text := device.text("parentBridge"))),
        negative=dict(sorted(negative.items())),
        feature_capability=_length(props, "config.featureCapability"),
        masked_feature_capability=_length(props, "config.maskedFeatureCapability"),
    )


def _length(props: Data, path: str) -> int | None:
    return len(props.items(path)) if props.get(path) is not None else None


class VmReading:
    """Reads some VMs twice: at the start, and again when `finish` is called."""

    def __init__(self, reader: TimedReader, vms: Sequence[RawObject]) -> None:
        self._reader = reader
        self._refs = [vm.ref for vm in vms]
        self._first = attempt(lambda: self._read(("config.changeVersion", "config.extraConfig")))

    def finish(self) -> tuple[VmRaw, ...] | Untold:
        """Return what was read both times."""
        if isinstance(self._first, Untold):
            return self._first
        again = attempt(lambda: self._read(("config.changeVersion",)))
        if isinstance(again, Untold):
            return again
        return tuple(
            VmRaw(
                moid,
                _length(props, "config.extraConfig"),
                (
                    props.text("config.changeVersion"),
                    again[moid].text("config.changeVersion") if moid in again else None,
                ),
            )
            for moid, props in self._first.items()
        )

    def _read(self, paths: tuple[str, ...]) -> dict[str, Data]:
        answer = self._reader.properties(self._refs, paths)
        return {raw.ref.moid: raw.props for raw in answer.objects}


def esxtop_schemas(
    reader: TimedReader, manager: MoRef | None, hosts: Sequence[RawObject]
) -> tuple[EsxtopSchema | Untold, ...] | Untold:
    """Return the tables and columns that some hosts' esxtop services name. No sample is taken."""
    if manager is None:
        return Untold("the vCenter has no service manager", failed=False)
    found: list[EsxtopSchema | Untold] = []
    for host in spread(hosts, MOST_ESXTOP)[0]:
        read = attempt(lambda host=host: _schema(reader, manager, host))  # type: ignore[misc]
        if isinstance(read, Untold):
            # A missing privilege is a finding about the verb "measure", not about what was read.
            read = Untold(f"{named('host', host.ref.moid)}: {read.why}", failed=False)
        found.append(read)
    return tuple(found)


def _schema(reader: TimedReader, manager: MoRef, host: RawObject) -> EsxtopSchema | Untold:
    location = f"vmware.host.{host.props.text('name') or ''}"
    listed = data_items(reader.call(manager, "QueryServiceList", {"location": [location]}))
    command = next((item.ref("service") for item in listed if item.text("serviceName") == "Esxtop"), None)
    if command is None:
        return Untold("it offers no esxtop service", failed=False)
    text = reader.call(command, "ExecuteSimpleCommand", {"arguments": ["CounterInfo"]})
    return EsxtopSchema(host.ref.moid, parse_schema(text if isinstance(text, str) else ""))


def clocks(reader: TimedReader, hosts: Sequence[RawObject], now: Callable[[], datetime]) -> Clocks | Untold:
    """Compare clocks. A host is asked by its DateTimeSystem (System.Read)."""
    skew = _skew(reader, _SERVICE_INSTANCE, "CurrentTime", now)
    if isinstance(skew, Untold):
        return skew
    looked_at, sample = spread(hosts, MOST_CLOCKS)
    systems = _time_systems(reader, looked_at)
    told: dict[str, float | Untold] = {}
    for host in looked_at:
        system = systems.get(host.ref.moid)
        if system is None:
            told[host.ref.moid] = Untold("it names no DateTimeSystem", failed=False)
            continue
        found = attempt(lambda system=system: _skew(reader, system, "QueryDateTime", now))  # type: ignore[misc]
        told[host.ref.moid] = found if isinstance(found, Untold) else found[0]
    return Clocks(skew[0], skew[1], told, sample)


def _time_systems(reader: TimedReader, hosts: Iterable[RawObject]) -> dict[str, MoRef]:
    refs = [host.ref for host in hosts]
    answer = attempt(lambda: reader.properties(refs, ["configManager.dateTimeSystem"]))
    if isinstance(answer, Untold):
        return {}
    return {
        raw.ref.moid: ref
        for raw in answer.objects
        if (ref := raw.props.ref("configManager.dateTimeSystem")) is not None
    }


def _skew(
    reader: TimedReader, ref: MoRef, method: str, now: Callable[[], datetime]
) -> tuple[float, float] | Untold:
    """Return the server's clock against ours in seconds, and how long the answer took."""
    before = now()
    text = reader.call(ref, method)
    after = now()
    try:
        server = datetime.fromisoformat(str(text))
    except ValueError:
        return Untold(f"the answer to {method} is no time")
    if server.tzinfo is None:
        return Untold(f"the answer to {method} has no time zone")
    took = (after - before).total_seconds()
    return (server - before).total_seconds() - took / 2, took
