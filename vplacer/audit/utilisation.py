"""What GPUs did over some days, as Prometheus or a table tells it, and whose GPUs they are.

docs/audit.md describes both files and the labels by which a series is matched to a VM.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from vplacer.errors import FileFormatError
from vplacer.inventory.pci import PciAddress

BUSY_ABOVE: Final = 1.0
"""Per cent of a sample up to which a GPU did nothing: counters of idle cards show 0, now and then 1."""
VM_LABELS: Final = ("vm_moid", "vm_uuid", "vm", "vm_name", "Hostname", "hostname", "instance")
"""Labels that may name the VM a series is of, the surest first: set by relabelling, else the guest's name."""
HOST_LABELS: Final = ("esxi_host", "host", "host_name")
"""Labels that may name the host of a card; then the address tells which card it is."""
ADDRESS_LABELS: Final = ("pci_bus_id", "address", "pci")
METRICS: Final = {
    "DCGM_FI_DEV_GPU_UTIL": 1.0,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 100.0,
    "nvidia_smi_utilization_gpu_ratio": 100.0,
    "nvidia_gpu_duty_cycle": 1.0,
}
"""Metrics that are known, and what makes per cent of them: dcgm-exporter, nvidia_gpu_exporter, GKE."""
_COLUMNS: Final = ("time", "util")
_TABLE: Final = "util"


@dataclass(frozen=True, slots=True)
class GpuSeries:
    """What one GPU did.

    ``vm``: words that may name its VM, the surest first; ``host`` and ``address``: or the card, on a host.
    ``gpu``: what tells it from others of the VM. ``samples``: times, in seconds since 1970, and per cent, in
    order of time; values that are no number are left out.
    """

    vm: tuple[str, ...]
    host: str | None
    address: PciAddress | None
    gpu: str
    samples: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Utilisation:
    """What a file told of GPUs. ``source``: the file's name."""

    source: str
    series: tuple[GpuSeries, ...]


def parse_utilisation(raw: bytes, path: str) -> Utilisation:
    """Read what the Prometheus HTTP API answered to ``query_range`` (JSON), or a table (CSV).

    Args:
        raw: the file's content; what begins with a brace is JSON.
        path: what errors call it.

    Raises:
        FileFormatError: it is neither, or has no sample.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError("is no UTF-8 text", path=path) from None
    series = _from_json(text, path) if text.lstrip().startswith("{") else _from_csv(text, path)
    if not any(item.samples for item in series):
        raise FileFormatError(
            "has no sample of any GPU", path=path, hint="ask for DCGM_FI_DEV_GPU_UTIL over the last days"
        )
    return Utilisation(path.replace("\\", "/").rpartition("/")[2], tuple(series))


def _from_json(text: str, path: str) -> list[GpuSeries]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise FileFormatError(f"is no JSON: {error}", path=path) from None
    if document.get("status") == "error":
        raise FileFormatError("is an error of Prometheus", path=path, why=str(document.get("error", "")))
    data = document.get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(data, dict) or data.get("resultType") != "matrix" or not isinstance(result, list):
        raise FileFormatError(
            "is no answer of Prometheus to query_range",
            path=path,
            pointer="data.resultType",
            hint="curl 'http://prometheus:9090/api/v1/query_range?query=DCGM_FI_DEV_GPU_UTIL&start=...&end=..."
            "&step=1h'",
        )
    found, others = [], set()
    for index, item in enumerate(result):
        try:
            labels = {str(key): str(value) for key, value in item["metric"].items()}
            values = [(float(time), float(value)) for time, value in item["values"]]
        except (KeyError, TypeError, ValueError, AttributeError):
            at = f"data.result[{index}]"
            raise FileFormatError("has no labels and values", path=path, pointer=at) from None
        metric = labels.get("__name__", "")
        if metric and metric not in METRICS:
            others.add(metric)
        else:
            found.append(_series(labels, values, metric))
    if others and not found:
        raise FileFormatError(
            f"has no metric that is known: {', '.join(sorted(others)[:4])}",
            path=path,
            hint=f"ask for one of {', '.join(METRICS)}, or for an expression in per cent without a name, "
            "such as "
            "max_over_time(NAME[1h])",
        )
    return found


def _from_csv(text: str, path: str) -> list[GpuSeries]:
    """Columns: time, util, and vm, or host and address; gpu where a VM has several."""
    reader = csv.DictReader(io.StringIO(text))
    names = [name.strip().lower() for name in reader.fieldnames or ()]
    if not set(_COLUMNS) <= set(names) or not ({"vm"} & set(names) or {"host", "address"} <= set(names)):
        raise FileFormatError(
            "is neither JSON of Prometheus nor a table with the columns time, util and vm (or host and "
            "address)",
            path=path,
            line=1,
        )
    reader.fieldnames = names
    grouped: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for row in reader:
        labels = {key: (value or "").strip() for key, value in row.items() if isinstance(key, str)}
        try:
            sample = (_time(labels.pop("time")), float(labels.pop("util")))
        except ValueError:
            what = "time is ISO 8601 or seconds since 1970, util per cent"
            raise FileFormatError(what, path=path, line=reader.line_num) from None
        grouped.setdefault(tuple(sorted(labels.items())), []).append(sample)
    return [_series(dict(labels), samples, _TABLE) for labels, samples in grouped.items()]


def _time(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()


def _series(labels: Mapping[str, str], values: Iterable[tuple[float, float]], metric: str) -> GpuSeries:
    """Blank values of DCGM are huge numbers; a ratio is told by its metric."""
    factor = METRICS.get(metric, 1.0)
    samples = sorted((time, value * factor) for time, value in values if math.isfinite(time + value))
    kept = tuple((time, value) for time, value in samples if 0.0 <= value <= 100.0)
    if not metric and any(0.0 < value <= 1.0 for _, value in kept) and all(value <= 1.0 for _, value in kept):
        kept = ()  # a query without a metric's name: per cent or a ratio, nobody can tell
    words = [labels[name] for name in VM_LABELS if labels.get(name)]
    telling = [labels[name] for name in ("UUID", "gpu", *ADDRESS_LABELS, "device") if labels.get(name)]
    return GpuSeries(
        vm=tuple(dict.fromkeys(words)),
        host=next((labels[name] for name in HOST_LABELS if labels.get(name)), None),
        address=_address(labels),
        gpu=telling[0] if telling else "",
        samples=kept,
    )


def _address(labels: Mapping[str, Any]) -> PciAddress | None:
    """NVIDIA's tools write the segment with eight digits: 00000000:3B:00.0."""
    for name in ADDRESS_LABELS:
        try:
            return PciAddress.parse(str(labels[name]).lower())
        except (KeyError, ValueError):
            continue
    return None
