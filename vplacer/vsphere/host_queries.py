"""What has to be asked host by host: ConfigTarget and hardware limits, only where it matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vplacer.errors import PermissionMissing, VSphereFault
from vplacer.inventory.host import HardwareLimits
from vplacer.inventory.limits_table import table_limit, table_limits
from vplacer.vsphere.gaps import Gaps
from vplacer.vsphere.pool import map_bounded
from vplacer.vsphere.raw import Data, MoRef, Notes, Progress, RawObject, RawReader, Value, data_items
from vplacer.vsphere.read_limits import read_limits, read_version
from vplacer.vsphere.read_names import shown_name
from vplacer.vsphere.read_offers import HostOffers, read_offers

_OLDEST_VERSION = 13
_GUEST = "otherGuest64"
"""One guest system that every version knows: without a filter the answer lists hundreds of them."""


def is_connected(raw: RawObject) -> bool:
    """Whether vCenter can ask the host."""
    return raw.props.text("runtime.connectionState") == "connected"


def offers_devices(raw: RawObject) -> bool:
    """Whether a host gives devices to VMs, so that its ConfigTarget (hundreds of KB) is worth asking for."""
    props = raw.props
    return (
        any(
            item.flag("passthruActive") is True or item.flag("sriovActive") is True
            for item in props.items("config.pciPassthruInfo")
        )
        or any(item.text("graphicsType") == "sharedDirect" for item in props.items("config.graphicsInfo"))
        or bool(props.texts("config.sharedPassthruGpuTypes"))
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """Hosts that allow VMs the same: one of them is asked for all."""

    release: str | None
    build: str | None
    model: tuple[str | None, ...]
    sizes: tuple[int | None, ...]


class HostQueries:
    """Asks hosts; what one host cannot answer becomes a gap or a note, never a failure of all.

    Args:
        reader: the vCenter.
        browsers: environment browser of each host, by moid.
        workers: how many hosts are asked at a time.
        progress: told of every host done.
        gaps: receives what could not be read.
        notes: receives what was left out.
        whole_units: an answer is for all hosts of an environment browser, whichever host is asked for.
    """

    def __init__(
        self,
        reader: RawReader,
        browsers: Mapping[str, MoRef],
        *,
        workers: int,
        progress: Progress | None,
        gaps: Gaps,
        notes: Notes,
        whole_units: bool = False,
    ) -> None:
        hosts_of = Counter(browsers.values())
        self._shared = {browser for browser, hosts in hosts_of.items() if whole_units and hosts > 1}
        self._reader = reader
        self._browsers = browsers
        self._workers = workers
        self._progress = progress
        self._gaps = gaps
        self._notes = notes

    def offers(self, hosts: Sequence[RawObject]) -> dict[str, HostOffers]:
        """Return what each host that gives devices to VMs offers."""
        asked = [raw for raw in hosts if is_connected(raw) and offers_devices(raw)]
        answers = map_bounded(asked, self._target, workers=self._workers, done=self._step("devices of hosts"))
        found = {}
        for raw, target in zip(asked, answers, strict=True):
            if isinstance(target, Data):
                found[raw.ref.moid] = self._offers(raw, target)
        return found

    def _offers(self, raw: RawObject, target: Data) -> HostOffers:
        shared = self._browsers.get(raw.ref.moid) in self._shared
        offers = read_offers(
            target, raw.props, shown_name(raw.props.text("name")), self._notes, shared=shared
        )
        if offers.groups_of_others:
            self._gaps.add(
                raw.ref.moid,
                "QueryConfigTarget",
                "fault",
                "the answer is for several hosts: which of them has the device groups in it is not told",
            )
        return offers

    def _target(self, raw: RawObject) -> Value:
        browser = self._browsers.get(raw.ref.moid)
        if browser is None:
            self._gaps.add(raw.ref.moid, "QueryConfigTarget", "permission", "its cluster is not visible")
            return None
        try:
            return self._reader.call(browser, "QueryConfigTarget", {"host": raw.ref})
        except (PermissionMissing, VSphereFault) as error:
            self._gaps.add_error(raw.ref.moid, "QueryConfigTarget", error)
            return None

    def limits(self, hosts: Sequence[RawObject]) -> dict[str, tuple[HardwareLimits, ...]]:
        """Return what each hardware version allows on each connected host, lowest version first."""
        kinds: dict[_Kind, list[RawObject]] = {}
        for raw in hosts:
            if is_connected(raw):
                kinds.setdefault(_kind_of(raw.props), []).append(raw)
        samples = [members[0] for members in kinds.values()]
        answers = map_bounded(
            samples, self._limits_of, workers=self._workers, done=self._step("limits of host kinds")
        )
        return {
            raw.ref.moid: limits
            for members, limits in zip(kinds.values(), answers, strict=True)
            for raw in members
        }

    def _limits_of(self, raw: RawObject) -> tuple[HardwareLimits, ...]:
        product = raw.props.data("config.product")
        release = product.text("version") if product else None
        browser = self._browsers.get(raw.ref.moid)
        versions = self._versions(browser, raw.ref) if browser else []
        if browser is None or not versions:
            self._notes.add(f"hardware limits of ESXi {release} are from the built-in table")
            return table_limits(release)
        found: list[HardwareLimits] = []
        undecoded: list[str] = []
        for version in versions:
            limit = self._one_limit(browser, raw.ref, version, release)
            if limit is None:
                undecoded.append(str(version))
                limit = table_limit(release, version)
            if limit is not None:
                found.append(limit)
        if undecoded:
            self._notes.add(
                f"hardware limits of ESXi {release} for versions {', '.join(undecoded)} are from the"
                " built-in table: the host's own cannot be read"
            )
        return tuple(found)

    def _versions(self, browser: MoRef, host: MoRef) -> list[int]:
        try:
            descriptors = data_items(self._reader.call(browser, "QueryConfigOptionDescriptor"))
        except (PermissionMissing, VSphereFault):
            return []
        numbers = {
            read_version(item.text("key"))
            for item in descriptors
            if not item.refs("host") or host in item.refs("host")
        }
        return sorted(number for number in numbers if number is not None and number >= _OLDEST_VERSION)

    def _one_limit(
        self, browser: MoRef, host: MoRef, version: int, release: str | None
    ) -> HardwareLimits | None:
        from pyVmomi import vim

        from vplacer.vsphere.soap import managed_object

        spec = vim.EnvironmentBrowser.ConfigOptionQuerySpec(
            key=f"vmx-{version}", host=managed_object(host), guestId=[_GUEST]
        )
        try:
            option = self._reader.call(browser, "QueryConfigOptionEx", {"spec": spec})
        except (PermissionMissing, VSphereFault):
            return None
        return read_limits(option, version, release) if isinstance(option, Data) else None

    def _step(self, what: str) -> Callable[[int, int], None] | None:
        progress = self._progress
        if progress is None:
            return None
        return lambda done, total: progress(what, done, total)


def _kind_of(props: Data) -> _Kind:
    product, system = props.data("config.product"), props.data("hardware.systemInfo")
    cpu = props.data("hardware.cpuInfo")
    package = next(iter(props.items("hardware.cpuPkg")), None)
    return _Kind(
        release=product.text("version") if product else None,
        build=product.text("build") if product else None,
        model=(
            system.text("vendor") if system else None,
            system.text("model") if system else None,
            package.text("description") if package else None,
        ),
        sizes=(
            cpu.number("numCpuThreads") if cpu else None,
            cpu.number("numCpuCores") if cpu else None,
            props.number("hardware.memorySize"),
        ),
    )
