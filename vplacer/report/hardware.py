"""The catalogue of known hardware as text, JSON and Markdown. "?" = not known, "-" = none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vplacer.inventory.cpu_models import CpuFeature, CpuGeneration
from vplacer.inventory.gpu_facts import GpuModel
from vplacer.inventory.nic_models import NicModel
from vplacer.topology.boards import Board

FORMAT = "vplacer-hardware"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A table: a title, names of columns, rows of equal length."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(
    gpus: Sequence[GpuModel],
    nics: Sequence[NicModel],
    boards: Sequence[Board],
    features: Sequence[CpuFeature],
    cpus: Sequence[CpuGeneration],
) -> tuple[Table, ...]:
    """Return the catalogue as tables."""
    return (
        Table(
            "GPUs",
            ("name", "ids", "GiB", "GB/s", "BAR1", "PCIe", "NVLink", "MIG", "vGPU", "2:4", "computes in"),
            tuple(_gpu(model) for model in gpus),
        ),
        Table(
            "NICs",
            ("name", "ids", "Gb/s", "RDMA", "VF id", "VFs"),
            tuple(_nic(model) for model in nics),
        ),
        Table(
            "Boards",
            ("name", "GPUs", "links of any two", "over", "systems", "source"),
            tuple(_board(board) for board in boards),
        ),
        Table(
            "CPU features",
            ("key", "name", "gives", "seen from hardware version"),
            tuple((f.key, f.label, _list(f.gives), str(f.hardware_version)) for f in features),
        ),
        Table(
            "CPUs",
            ("generation", "vendor", "EVC mode", "features"),
            tuple(
                (c.name, c.vendor, c.evc or "?", _list([key.removeprefix("cpuid.") for key in c.features]))
                for c in cpus
            ),
        ),
    )


def render_text(found: Sequence[Table]) -> str:
    """Return aligned columns, ending in a newline."""
    blocks = []
    for table in found:
        widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (table.columns, *table.rows)
        ]
        blocks.append("\n".join([table.title, *(f"  {line}" for line in lines)]))
    return "\n\n".join(blocks) + "\n"


def render_markdown(found: Sequence[Table]) -> str:
    """Return Markdown tables, ending in a newline."""
    blocks = []
    for table in found:
        rows = [table.columns, tuple("---" for _ in table.columns), *table.rows]
        lines = "\n".join("| " + " | ".join(row) + " |" for row in rows)
        blocks.append(f"### {table.title}\n\n{lines}")
    return "\n\n".join(blocks) + "\n"


def render_json(
    gpus: Sequence[GpuModel],
    nics: Sequence[NicModel],
    boards: Sequence[Board],
    features: Sequence[CpuFeature],
    cpus: Sequence[CpuGeneration],
) -> str:
    """Return the document, ending in a newline. ``null`` = not published or not known."""
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "gpus": [_document(model) for model in gpus],
        "nics": [_document(model) for model in nics],
        "boards": [asdict(board) for board in boards],
        "cpu_features": [asdict(feature) for feature in features],
        "cpus": [
            {"name": c.name, "vendor": c.vendor, "evc": c.evc, "features": list(c.features)} for c in cpus
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def render_item_json(model: GpuModel | NicModel) -> str:
    """Return one model as JSON."""
    return json.dumps(_document(model), indent=2, ensure_ascii=False) + "\n"


def render_item(model: GpuModel | NicModel) -> str:
    """Return one model as text, each group of facts with its source."""
    gpu = isinstance(model, GpuModel)
    lines = [f"{model.name}  {model.vendor_name}  {model.device_name}"]
    sources = dict(model.sources)
    facts = _gpu_facts(model) if gpu else _nic_facts(model)
    width = max(len(word) for word, _, _ in facts) + 2
    for word, text, group in facts:
        lines.append(f"  {word:<{width}}{text}")
        if group in sources:
            lines.append(f"  {'':{width}}  {sources.pop(group)}")
    return "\n".join(lines) + "\n"


def _gpu_facts(model: GpuModel | NicModel) -> list[tuple[str, str, str]]:
    assert isinstance(model, GpuModel)
    figures = model.figures
    return [
        ("ids", _ids(model), "ids"),
        ("memory", f"{model.memory_mib // 1024} GiB, {_number(model.memory_gb_s)} GB/s", "memory"),
        ("BAR1", "?" if model.bar_gib is None else f"{model.bar_gib} GiB", "bar1"),
        ("MIG", _mig_words(model), "mig"),
        ("vGPU", _flag(model.vgpu), "vgpu"),
        ("NVLink", _nvlink(model), "nvlink"),
        ("PCIe", _pcie(model), "pcie"),
        ("2:4 sparsity", _flag(model.sparsity_2_4), "sparsity_2_4"),
        ("computes in", _list(model.types), "types"),
        ("plain", _figures(figures.plain), ""),
        ("tensor", _figures(figures.tensor), ""),
        ("tensor, 2:4", "-" if model.sparsity_2_4 is False else _figures(figures.tensor_2_4), "figures"),
    ]


def _nic_facts(model: GpuModel | NicModel) -> list[tuple[str, str, str]]:
    assert isinstance(model, NicModel)
    _, ids, speed, rdma, function, most = _nic(model)
    return [
        ("ids", ids, "ids"),
        ("speed", f"{speed} Gb/s a port", "speed"),
        ("RDMA", rdma, "rdma"),
        ("functions", f"id {function}, at most {most}", "vf"),
    ]


def _document(model: GpuModel | NicModel) -> dict[str, Any]:
    document = asdict(model)
    document["ids"] = _ids(model).split(", ")
    document["sources"] = dict(model.sources)
    if isinstance(model, GpuModel):
        document["figures"] = {
            name: dict(value)
            for name, value in (
                ("plain", model.figures.plain),
                ("tensor", model.figures.tensor),
                ("tensor_2_4", model.figures.tensor_2_4),
            )
        }
    for key in ("vendor", "device", "other_devices"):
        del document[key]
    return document


def _gpu(model: GpuModel) -> tuple[str, ...]:
    return (
        model.name,
        _ids(model),
        str(model.memory_mib // 1024),
        _number(model.memory_gb_s),
        "?" if model.bar_gib is None else str(model.bar_gib),
        _pcie(model),
        _nvlink(model),
        _mig(model),
        _flag(model.vgpu),
        _flag(model.sparsity_2_4),
        _list(model.types),
    )


def _nic(model: NicModel) -> tuple[str, ...]:
    return (
        model.name,
        _ids(model),
        "?" if model.mbps is None else f"{model.mbps / 1000:g}",
        _flag(model.rdma),
        "?" if model.vf_device is None else f"{model.vf_device:04x}",
        "?" if model.vf_max is None else str(model.vf_max),
    )


def _board(board: Board) -> tuple[str, ...]:
    return (
        board.name,
        f"{board.gpu_count} x {' or '.join(board.models)}",
        str(board.lanes),
        "NVSwitch" if board.switched else "direct links",
        _list(board.systems),
        board.source,
    )


def _ids(model: GpuModel | NicModel) -> str:
    subs = model.sub_devices if isinstance(model, GpuModel) else ()
    sub = f" ({model.vendor:04x}:{subs[0]:04x})" if subs else ""
    return ", ".join(
        f"{model.vendor:04x}:{device:04x}{sub}" for device in (model.device, *model.other_devices)
    )


def _nvlink(model: GpuModel) -> str:
    link = model.nvlink
    if link is None:
        return "-" if model.without_nvlink else "?"
    text = f"{link.links} x {link.gb_s_each_way:g} each way = {link.gb_s_total:g}"
    for bridge in link.bridges:
        text += f"; bridge of {bridge.cards}: {bridge.lanes or '?'} links"
    return text


def _mig(model: GpuModel) -> str:
    shape = model.mig_shape
    return "-" if shape is None else str(shape.instances)


def _mig_words(model: GpuModel) -> str:
    shape = model.mig_shape
    if shape is None:
        return "-"
    return f"at most {shape.instances} instances, {shape.memory_slices} slices of memory"


def _pcie(model: GpuModel) -> str:
    return "?" if model.pcie is None else f"{model.pcie.generation} x{model.pcie.lanes}"


def _figures(figures: tuple[tuple[str, float], ...]) -> str:
    return ", ".join(f"{word} {value:g}" for word, value in figures) or "?"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _flag(value: bool | None) -> str:
    return "?" if value is None else "yes" if value else "no"


def _list(words: Sequence[str] | None) -> str:
    return "?" if words is None else ", ".join(words) or "-"
