"""A GPU is given to a VM and does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from vplacer.audit.gpu_vms import vms_with_gpus
from vplacer.audit.gpu_work import gpu_work
from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.subject import Subject
from vplacer.audit.utilisation import BUSY_ABOVE, GpuSeries
from vplacer.audit.words import listed
from vplacer.inventory.finding import Certainty
from vplacer.inventory.vm import Vm

_DAY = 86_400


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield running VMs whose GPUs did nothing for some days, and those of which nobody can tell."""
    vms = [(vm, len(claims)) for vm, _host, claims in vms_with_gpus(subject) if vm.is_on]
    told = subject.utilisation
    if told is None:
        if vms:
            yield NotEvaluated("what GPUs do was not told: --utilisation FILE of DCGM or Prometheus does")
        return
    work = gpu_work(subject)
    silent: dict[str, list[str]] = {}
    for vm, gpus in vms:
        if vm.moid in work.by_vm:
            yield from _vm(subject, vm, gpus, work.by_vm[vm.moid])
        else:
            silent.setdefault(vm.host or "", []).append(vm.name)
    for host, names in silent.items():
        yield NotEvaluated(f"{told.source} tells nothing of {listed(names)}", host=host)
    if work.unmatched:
        yield NotEvaluated(f"{told.source} has series that are of no VM here: {listed(work.unmatched)}")


def _vm(subject: Subject, vm: Vm, gpus: int, series: tuple[GpuSeries, ...]) -> Iterator[Outcome]:
    days = subject.settings.idle_days
    now = datetime.fromisoformat(subject.inventory.taken_at).timestamp()
    begin = now - days * _DAY
    idle: list[int] = []
    never = True
    for item in series:
        samples = [(time, value) for time, value in item.samples if time <= now]
        seen = len({int(time // _DAY) for time, _ in samples if time > begin})
        if seen < days:
            yield NotEvaluated(f"of the {days} days before the audit only {seen} have samples", vm=vm.moid)
            return
        busy = [time for time, value in samples if value > BUSY_ABOVE]
        last = max(busy, default=samples[0][0])
        if last <= begin or not busy:
            idle.append(int((now - last) // _DAY))
            never = never and not busy
    if len(series) < gpus:
        yield NotEvaluated(f"data are there of {len(series)} of its {gpus} GPUs", vm=vm.moid)
    if idle:
        of = (
            "its GPU"
            if gpus == 1 and len(series) == 1
            else f"{len(idle)} of its {max(gpus, len(series))} GPUs"
        )
        since = datetime.fromtimestamp(now - min(idle) * _DAY, UTC).strftime("%Y-%m-%d")
        least = "at least " if never else ""
        yield Hit(
            f"{of} did nothing for {least}{min(idle)} days, since {since} (no sample above {BUSY_ABOVE:g} %)",
            Certainty.MEASURED,
            vm=vm.moid,
            host=vm.host,
            numbers=(("idle_gpus", len(idle)), ("idle_days", min(idle))),
        )


RULE = Rule(
    id="VPL045",
    name="gpu-idle",
    title="GPU given to a VM and idle",
    severity=Severity.WARNING,
    cause="The VM runs, holds a GPU, and does not use it: between rounds of training, after a project "
    "ended, or because the driver in the guest does not work. Nobody else can have the card.",
    evidence="Utilisation that DCGM or Prometheus recorded (--utilisation FILE): no sample above 1 % on "
    "any of the last 7 days (--idle-days), with samples on each of them. What has no such data is not "
    "evaluated.",
    fix="Ask its owner; switch the VM off, or give it a vGPU or MIG instance of the size it uses. If "
    "nobody knows it to be idle, look at the driver in the guest (nvidia-smi).",
    sample="its GPU did nothing for 12 days, since 2026-02-17 (no sample above 1 %)",
    find=find,
)
