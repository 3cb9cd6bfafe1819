"""Reads a whole vCenter into an `Inventory`, and says what it could not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vplacer.errors import PermissionMissing
from vplacer.inventory.cluster import Cluster, Datastore, Network
from vplacer.inventory.cycle_search import no_cycle_search
from vplacer.inventory.hidden_holders import hidden_holder_gaps
from vplacer.inventory.host import HardwareLimits, Host
from vplacer.inventory.vcenter import About, Datacenter, Inventory
from vplacer.inventory.vm import Vm
from vplacer.vsphere import property_paths as paths
from vplacer.vsphere.gaps import Gaps
from vplacer.vsphere.host_queries import HostQueries, is_connected
from vplacer.vsphere.raw import MoRef, Notes, Progress, RawAnswer, RawObject, RawReader
from vplacer.vsphere.read_cluster import read_cluster, read_pool
from vplacer.vsphere.read_host import read_host
from vplacer.vsphere.read_names import shown_name
from vplacer.vsphere.read_offers import HostOffers
from vplacer.vsphere.read_vm import read_vm
from vplacer.vsphere.retrieve import SessionReader
from vplacer.vsphere.session import Session
from vplacer.vsphere.tags import read_tags
from vplacer.vsphere.tree import Tree

Tags = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What to read and how.

    Args:
        workers: how many hosts are asked at a time; 1 while a session is recorded or replayed.
        taken_at: ISO 8601 UTC with a trailing Z; None = the vCenter's own clock.
    """

    workers: int = 8
    taken_at: str | None = None


def collect(
    session: Session, options: CollectOptions | None = None, progress: Progress | None = None
) -> Inventory:
    """Read the inventory of a vCenter.

    Args:
        session: an open session.
        options: what to read.
        progress: told what is being read, how much is done, and the total where it is known.

    Returns:
        The inventory; `Inventory.gaps` tells what of it is missing, `Inventory.notes` what was left out.

    Raises:
        VSphereError: the connection or the session was lost.
    """
    # Answers are trees of millions of values; half the time went into looking for cycles in them.
    with no_cycle_search():
        return _collect(session, options or CollectOptions(), progress)


def _collect(session: Session, options: CollectOptions, progress: Progress | None) -> Inventory:
    reader = SessionReader(session, progress=progress)
    gaps, notes = Gaps(), Notes()
    tags: Tags = {}
    try:
        reading = read_tags(session.transport, session.credentials)
        tags = reading.tags
        if reading.note:
            notes.add(reading.note)
    except PermissionMissing as error:
        gaps.add_error(session.about.instance_uuid, "tags", error)
    inventory = Collector(
        reader,
        about=about_of(session, reader),
        taken_at=options.taken_at or server_time(session),
        tags=tags,
        options=options,
        progress=progress,
        gaps=gaps,
        notes=notes,
    ).collect()
    for note in session.notes.sorted():
        notes.add(note)
    return replace(inventory, notes=notes.sorted())


def read_all_tags(session: Session) -> Tags:
    """Return the tags by moid; none where the account may not read them."""
    try:
        return read_tags(session.transport, session.credentials).tags
    except PermissionMissing:
        return {}


def about_of(session: Session, reader: RawReader) -> About:
    """Return who answered, by the name its administrator gave the vCenter, else by its address."""
    name = None
    setting = session.service("setting")
    if setting is not None:
        answer = reader.properties([setting], ['setting["VirtualCenter.InstanceName"]'])
        for raw in answer.objects:
            option = raw.props.data('setting["VirtualCenter.InstanceName"]')
            name = option.text("value") if option else None
    about = session.about
    return About(
        name=name or session.host,
        instance_uuid=about.instance_uuid,
        version=about.version,
        build=about.build,
        api_version=about.api_version,
    )


def server_time(session: Session) -> str:
    """Return the vCenter's time to the second, ISO 8601 UTC."""
    now = session.call(MoRef("ServiceInstance", "ServiceInstance"), "CurrentTime")
    return f"{str(now)[:19]}Z"


@dataclass
class Collector:
    """Reads through any `RawReader`. One object reads once.

    Args:
        reader: the vCenter.
        about: who answers.
        taken_at: when, ISO 8601 UTC.
        tags: tags by moid.
        options: what to read.
        progress: told of every step.
        gaps: receives what could not be read.
        notes: receives what was left out.
        whole_units: the reader has one answer of an environment browser for all its hosts.
    """

    reader: RawReader
    about: About
    taken_at: str
    tags: Tags = field(default_factory=dict)
    options: CollectOptions = field(default_factory=CollectOptions)
    progress: Progress | None = None
    gaps: Gaps = field(default_factory=Gaps)
    notes: Notes = field(default_factory=Notes)
    whole_units: bool = False

    def collect(self) -> Inventory:
        """Read everything."""
        datacenters = self._retrieve("Datacenter", paths.DATACENTER)
        folders = self._retrieve("Folder", paths.FOLDER)
        units = self._retrieve("ComputeResource", paths.COMPUTE_RESOURCE)
        self.tree = Tree([*datacenters.objects, *folders.objects, *units.objects])
        self.unit_of_host = _unit_of_host(units)
        clusters = self._clusters()
        pools = self._retrieve("ResourcePool", paths.POOL)
        datastores = self._retrieve("Datastore", paths.DATASTORE)
        networks = self._retrieve("Network", paths.NETWORK)
        raw_hosts = self._hosts_answer()
        raw_vms = self._retrieve("VirtualMachine", paths.VM)
        hosts = self._hosts(raw_hosts)
        vms = self._vms(raw_vms.objects, raw_hosts.objects)
        self._check_references(hosts, vms)
        return Inventory(
            about=self.about,
            taken_at=self.taken_at,
            datacenters=tuple(
                Datacenter(raw.ref.moid, shown_name(raw.props.text("name"))) for raw in datacenters.objects
            ),
            clusters=clusters,
            hosts=hosts,
            pools=tuple(read_pool(raw) for raw in pools.objects),
            datastores=tuple(
                Datastore(
                    raw.ref.moid, shown_name(raw.props.text("name")), raw.props.flag("summary.accessible")
                )
                for raw in datastores.objects
            ),
            networks=tuple(
                Network(raw.ref.moid, shown_name(raw.props.text("name"))) for raw in networks.objects
            ),
            vms=vms,
            gaps=self.gaps.sorted(),
            notes=self.notes.sorted(),
        )

    def _retrieve(self, kind: str, wanted: Sequence[str], disconnected: Sequence[str] = ()) -> RawAnswer:
        answer = self.reader.retrieve(kind, wanted)
        self.gaps.add_answer(kind, answer, disconnected, self.notes)
        return answer

    def _clusters(self) -> tuple[Cluster, ...]:
        answer = self._retrieve("ClusterComputeResource", paths.CLUSTER)
        return tuple(
            read_cluster(
                raw,
                self.tree.name_of(raw.ref.moid),
                datacenter=self.tree.datacenter_of(raw.ref.moid),
                tags=self.tags.get(raw.ref.moid, ()),
                notes=self.notes,
            )
            for raw in answer.objects
        )

    def _hosts_answer(self) -> RawAnswer:
        answer = self.reader.retrieve("HostSystem", paths.host_paths())
        disconnected = []
        for raw in answer.objects:
            state = raw.props.text("runtime.connectionState")
            if state is not None and not is_connected(raw):
                disconnected.append(raw.ref.moid)
                self.gaps.add(raw.ref.moid, "config", "disconnected", f"the host is {state}")
            elif raw.props.data("config.product") is None or raw.props.data("hardware.cpuInfo") is None:
                self._told_nothing(raw, answer)
        self.gaps.add_answer("HostSystem", answer, disconnected, self.notes)
        return answer

    def _told_nothing(self, raw: RawObject, answer: RawAnswer) -> None:
        """Note a connected host without configuration, unless the reason is in the answer anyway."""
        if not any(entry.ref == raw.ref for entry in answer.missing):
            self.gaps.add(raw.ref.moid, "config", "fault", "vCenter gave no configuration of the host")

    def _hosts(self, answer: RawAnswer) -> tuple[Host, ...]:
        queries = self._queries()
        offers = queries.offers(answer.objects)
        limits = queries.limits(answer.objects)
        return tuple(self._host(raw, offers, limits) for raw in answer.objects)

    def _queries(self) -> HostQueries:
        browsers = {
            moid: browser
            for moid, unit in self.unit_of_host.items()
            if (browser := unit.props.ref("environmentBrowser")) is not None
        }
        return HostQueries(
            self.reader,
            browsers,
            workers=self.options.workers,
            progress=self.progress,
            gaps=self.gaps,
            notes=self.notes,
            whole_units=self.whole_units,
        )

    def _host(
        self,
        raw: RawObject,
        offers: Mapping[str, HostOffers],
        limits: Mapping[str, tuple[HardwareLimits, ...]],
    ) -> Host:
        moid = raw.ref.moid
        unit = raw.props.ref("parent")
        in_cluster = unit is not None and unit.type == "ClusterComputeResource"
        return read_host(
            raw,
            datacenter=self.tree.datacenter_of(unit.moid if unit else None),
            cluster=unit.moid if unit is not None and in_cluster else None,
            offers=offers.get(moid, HostOffers()),
            limits=limits.get(moid, ()),
            tags=self.tags.get(moid, ()),
            notes=self.notes,
        )

    def _vms(self, vms: Sequence[RawObject], hosts: Sequence[RawObject]) -> tuple[Vm, ...]:
        parents = {raw.ref.moid: raw.props.ref("parent") for raw in hosts}
        return tuple(self._vm(raw, parents) for raw in vms)

    def _vm(self, raw: RawObject, host_parents: Mapping[str, MoRef | None]) -> Vm:
        parent = raw.props.ref("parent")
        host = raw.props.ref("runtime.host")
        unit = host_parents.get(host.moid) if host else None
        folder = parent.moid if parent else None
        # A VM inside a vApp has no folder; its host's datacenter is its own.
        datacenter = self.tree.datacenter_of(folder or (unit.moid if unit else None))
        vm = read_vm(
            raw,
            datacenter=datacenter,
            folder=self.tree.folder_path(folder),
            tags=self.tags.get(raw.ref.moid, ()),
            notes=self.notes,
        )
        if not vm.readable:
            self._unreadable(vm)
        return vm

    def _unreadable(self, vm: Vm) -> None:
        """An orphaned entry takes nothing of any host; one that runs, or may, does."""
        state = vm.connection.value
        if state in ("orphaned", "invalid") and not vm.is_on:
            self.notes.add(f"{vm.name}: the VM is {state}; it was left out of account")
            return
        kind = "disconnected" if state in ("disconnected", "inaccessible") else "fault"
        self.gaps.add(vm.moid, "config", kind, f"the VM is {state}; its configuration is unknown")

    def _check_references(self, hosts: Sequence[Host], vms: Sequence[Vm]) -> None:
        """An account that sees a VM but not its host gets no fault for it: tell from the reference."""
        visible = {host.moid for host in hosts}
        for vm in vms:
            if vm.host is not None and vm.host not in visible:
                self.gaps.add(
                    vm.host, "", "permission", "VMs run on this host, but the account cannot see it"
                )
        for gap in hidden_holder_gaps(hosts, {vm.moid for vm in vms}):
            self.gaps.add(gap.object, gap.path, gap.kind, gap.reason)
        for moid in self.unit_of_host:
            if moid not in visible:
                self.gaps.add(
                    moid, "", "permission", "a cluster has this host, but the account cannot see it"
                )


def _unit_of_host(units: RawAnswer) -> dict[str, RawObject]:
    return {ref.moid: unit for unit in units.objects for ref in unit.props.refs("host")}
