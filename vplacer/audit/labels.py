"""Hardware labels by cluster: the cards that carry each, and the VMs that name it; shared by its rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from vplacer.audit.subject import Subject
from vplacer.constraints.labels import scope_of
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.vm import DynamicBacking, Vm
from vplacer.topology.assignable import AssignableDevice, allowed_by


@dataclass(frozen=True, slots=True)
class PlacedCard:
    """A card of a host, and the node with cores nearest to it; ``node`` None = not known."""

    host: Host
    card: AssignableDevice
    node: int | None


@dataclass(frozen=True, slots=True)
class Named:
    """A VM or template that names a label, and the device that does."""

    vm: Vm
    backing: DynamicBacking


@dataclass(frozen=True, slots=True)
class LabelScope:
    """The hosts that VMs with labels may move between: those of a cluster, or one host in none.

    ``cluster`` and ``host``: moids, one of them None. ``unread``: hosts whose cards are not known.
    ``cards``: GPUs and NICs that VMs can have whole, or that carry a label. ``named``: by label.
    """

    cluster: str | None
    host: str | None
    hosts: tuple[Host, ...]
    unread: tuple[Host, ...]
    cards: tuple[PlacedCard, ...]
    by_label: Mapping[str, tuple[PlacedCard, ...]]
    named: Mapping[str, tuple[Named, ...]]
    # Answers given before: many VMs ask for the same.
    _fitting: dict[Hashable, tuple[PlacedCard, ...]] = field(default_factory=dict, repr=False, compare=False)

    def fitting(self, named: Named) -> tuple[PlacedCard, ...]:
        """Return the cards that a device with a label may be."""
        backing = named.backing
        key = (backing.label, backing.allowed)
        if key not in self._fitting:
            cards = self.by_label.get(backing.label or "", ())
            self._fitting[key] = tuple(p for p in cards if allowed_by(backing.allowed, p.card.ids))
        return self._fitting[key]


def label_scopes(subject: Subject) -> tuple[LabelScope, ...]:
    """Return the scopes of a vCenter in which a card has a label or a VM names one, hosts in order."""
    return subject.derive(_scopes)


def nodes_by_host(cards: tuple[PlacedCard, ...]) -> Mapping[str, frozenset[int | None]]:
    """Return the nodes that cards are on, by the moid of their host; None = not known."""
    found: dict[str, set[int | None]] = {}
    for placed in cards:
        found.setdefault(placed.host.moid, set()).add(placed.node)
    return {host: frozenset(nodes) for host, nodes in found.items()}


def _scopes(subject: Subject) -> tuple[LabelScope, ...]:
    groups: dict[str, list[Host]] = {}
    for host in subject.inventory.hosts:
        groups.setdefault(scope_of(host), []).append(host)
    named = _named(subject)
    found = [_scope(subject, scope, hosts, named.get(scope, {})) for scope, hosts in groups.items()]
    return tuple(scope for scope in found if scope.by_label or scope.named)


def _scope(subject: Subject, scope: str, hosts: list[Host], named: Mapping[str, list[Named]]) -> LabelScope:
    in_cluster = hosts[0].cluster is not None
    cards = tuple(placed for host in hosts for placed in _cards(subject, host))
    by_label: dict[str, list[PlacedCard]] = {}
    for placed in cards:
        if placed.card.label:
            by_label.setdefault(placed.card.label, []).append(placed)
    return LabelScope(
        cluster=scope if in_cluster else None,
        host=None if in_cluster else scope,
        hosts=tuple(hosts),
        unread=tuple(host for host in hosts if _unread(subject, host)),
        cards=cards,
        by_label={label: tuple(by_label[label]) for label in sorted(by_label)},
        named={label: tuple(named[label]) for label in sorted(named)},
    )


def _cards(subject: Subject, host: Host) -> Iterator[PlacedCard]:
    topology = subject.topologies[host.moid]
    for card in subject.cards(host).devices:
        if card.passthrough or card.label:
            yield PlacedCard(host, card, topology.cpu_node_for(card.address))


def _unread(subject: Subject, host: Host) -> bool:
    if host.connection is not ConnectionState.CONNECTED:
        return True
    gaps = subject.inventory.gaps_by_object.get(host.moid, ())
    return any(gap.path.startswith(("hardware.pciDevice", "config")) for gap in gaps)


def _named(subject: Subject) -> dict[str, dict[str, list[Named]]]:
    hosts = subject.inventory.host_by_moid
    found: dict[str, dict[str, list[Named]]] = {}
    for vm in subject.inventory.vms:
        if not vm.readable or vm.host not in hosts:
            continue
        for backing in labelled_backings(vm):
            by_label = found.setdefault(scope_of(hosts[vm.host]), {})
            by_label.setdefault(backing.label or "", []).append(Named(vm, backing))
    return found


def labelled_backings(vm: Vm) -> tuple[DynamicBacking, ...]:
    """Return the devices of a VM that name a label, alike ones once."""
    found: dict[tuple[object, ...], DynamicBacking] = {}
    for device in vm.devices:
        backing = device.backing
        if isinstance(backing, DynamicBacking) and backing.label:
            found.setdefault((backing.label, backing.allowed), backing)
    return tuple(found.values())
