"""Which VM each series of GPU utilisation is of: shared by what looks at idle GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vplacer.audit.held import holders
from vplacer.audit.subject import Subject
from vplacer.audit.utilisation import GpuSeries


@dataclass(frozen=True, slots=True)
class GpuWork:
    """The series by VM (moid), and how many are of no VM, or of several; ``unmatched``: words of a few."""

    by_vm: Mapping[str, tuple[GpuSeries, ...]]
    unmatched: tuple[str, ...]


def gpu_work(subject: Subject) -> GpuWork:
    """Match what `Subject.utilisation` told to VMs.

    A card of a host is its holder's; else a VM is named by managed object id, instance UUID, its name, or
    the guest's host name without domain and port, where one VM alone is called so.
    """
    return subject.derive(_match)


def _match(subject: Subject) -> GpuWork:
    found: dict[str, list[GpuSeries]] = {}
    unmatched: list[str] = []
    names = _names(subject)
    for series in subject.utilisation.series if subject.utilisation is not None else ():
        vm = _by_card(subject, series) or _by_name(names, series)
        if vm is None:
            unmatched.append(" ".join((series.vm or (series.host or "no label",))[:1]) or "no label")
        else:
            found.setdefault(vm, []).append(series)
    return GpuWork({vm: _one_a_gpu(items) for vm, items in found.items()}, tuple(dict.fromkeys(unmatched)))


def _one_a_gpu(series: list[GpuSeries]) -> tuple[GpuSeries, ...]:
    """Join series of one GPU: each pod or restart of an exporter begins one of its own."""
    found: dict[str, GpuSeries] = {}
    for index, item in enumerate(series):
        key = item.gpu or f"series {index}"
        known = found.get(key)
        samples = item.samples if known is None else tuple(sorted((*known.samples, *item.samples)))
        found[key] = replace(item, samples=samples)
    return tuple(found.values())


def _by_card(subject: Subject, series: GpuSeries) -> str | None:
    if series.host is None or series.address is None:
        return None
    for host in subject.inventory.hosts:
        if series.host.lower() in (host.name.lower(), host.name.lower().partition(".")[0], host.moid):
            held = holders(subject, host).get(series.address, ())
            return held[0] if len(held) == 1 else None
    return None


def _by_name(names: Mapping[str, str | None], series: GpuSeries) -> str | None:
    for word in series.vm:
        bare = word.lower().partition(":")[0]
        for spelling in (word.lower(), bare, bare.partition(".")[0]):
            vm = names.get(spelling)
            if vm is not None:
                return vm
    return None


def _names(subject: Subject) -> dict[str, str | None]:
    """Return VMs by what they may be called; None where several are called so."""
    found: dict[str, str | None] = {}
    for vm in subject.vms:
        for word in {vm.moid.lower(), (vm.instance_uuid or vm.moid).lower(), vm.name.lower()}:
            found[word] = None if word in found else vm.moid
    return found
