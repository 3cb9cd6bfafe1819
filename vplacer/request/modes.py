"""The affinity mode of a VM that does not state one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.vcenter import Inventory
from vplacer.request.demand import AffinityMode, GpuAsk, NicAsk
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.labels import LabelledDevice, labelled_devices, nic_name, portable_nodes

_Key = tuple[tuple[GpuAsk, ...], tuple[NicAsk, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Whole cards of one ask."""

    kind: DeviceKind
    count: int
    model: str | None
    label: str | None

    def fits(self, device: LabelledDevice) -> bool:
        """Whether a labelled card will do."""
        return (
            device.kind is self.kind
            and self.model in (None, device.model, device.ids)
            and self.label in (None, device.label)
        )


class ModeChooser:
    """Knows the cards of every host, and which of them carry a portable label."""

    def __init__(self, inventory: Inventory, topologies: Mapping[str, HostTopology]) -> None:
        self.cluster_of = {host.moid: host.cluster for host in inventory.hosts}
        self.labelled: dict[str, list[LabelledDevice]] = {}
        self.portable: dict[str, list[LabelledDevice]] = {}
        self._known: dict[_Key, AffinityMode] = {}
        for cluster in inventory.clusters:
            devices = labelled_devices(inventory, topologies, cluster.moid)
            nodes = portable_nodes(devices)
            for device in devices:
                self.labelled.setdefault(device.host, []).append(device)
                if device.label in nodes:
                    self.portable.setdefault(device.host, []).append(device)
        self.cards = {
            moid: [(d.kind, d.model or nic_name(d.ids), str(d.ids)) for d in topology.devices]
            for moid, topology in topologies.items()
        }

    def default(
        self, gpus: tuple[GpuAsk, ...], nics: tuple[NicAsk, ...], hosts: tuple[str, ...]
    ) -> AffinityMode:
        """Return label where cards with portable labels can serve every ask, else hint.

        That is so if in every cluster with hosts among ``hosts`` that have such cards at all, one of these
        hosts has as many with portable labels. vGPUs and device groups take no label, so such a VM gets
        hint; so does one without devices. NICs count only for VMs without GPUs: beside a GPU they follow it.
        """
        key = (gpus, nics, hosts)
        if key not in self._known:
            self._known[key] = self._default(*key)
        return self._known[key]

    def _default(
        self, gpus: tuple[GpuAsk, ...], nics: tuple[NicAsk, ...], hosts: tuple[str, ...]
    ) -> AffinityMode:
        if any(ask.profile or ask.group for ask in gpus):
            return AffinityMode.HINT
        asks = [_Wanted(DeviceKind.GPU, ask.count, ask.model, ask.label) for ask in gpus]
        if not asks:
            whole = [ask for ask in nics if ask.kind == "passthrough"]
            asks = [_Wanted(DeviceKind.NIC, ask.count, ask.model, ask.label) for ask in whole]
        if not asks:
            return AffinityMode.HINT
        having: set[str | None] = set()
        served: set[str | None] = set()
        for host in hosts:
            if all(self._has(host, ask) for ask in asks):
                having.add(self.cluster_of.get(host))
            if self._serves(host, asks):
                served.add(self.cluster_of.get(host))
        return AffinityMode.LABEL if having and having <= served else AffinityMode.HINT

    def _has(self, host: str, ask: _Wanted) -> bool:
        if ask.label is not None:
            return any(device.label == ask.label for device in self.labelled.get(host, ()))
        return any(
            ask.kind is kind and ask.model in (None, name, ids)
            for kind, name, ids in self.cards.get(host, ())
        )

    def _serves(self, host: str, asks: list[_Wanted]) -> bool:
        """Whether a host has enough portable cards for each ask, and for all of them together."""
        portable = self.portable.get(host, [])
        each = all(sum(1 for device in portable if ask.fits(device)) >= ask.count for ask in asks)
        some = sum(1 for device in portable if any(ask.fits(device) for ask in asks))
        return each and some >= sum(ask.count for ask in asks)
