"""Writes the topology of a host, or of each host, into files of a format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vplacer.errors import OutputError, UsageError
from vplacer.inventory.files import write_file
from vplacer.inventory.host import Host
from vplacer.jobs.output_file import check_writable, refuse_inputs, refuse_one_file_twice
from vplacer.jobs.source import SourceOptions, source_files
from vplacer.jobs.topology import all_topologies, host_topology
from vplacer.jobs.world import World
from vplacer.report.host_formats import Format, load_format

_HEAD: Final = 1000
_LONG_TITLE: Final = 6
"""A shorter first line, such as "{", tells nothing."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What is exported.

    Args:
        source: where the inventory comes from.
        host: as for `vplacer.jobs.topology.find_host`; None = all hosts.
        format: a name of `vplacer.report.host_formats.format_names`.
        output: the file, or the folder for all hosts; None = return the text of the host.
    """

    source: SourceOptions
    host: str | None
    format: str
    output: Path | None


@dataclass(frozen=True, slots=True)
class Exported:
    """``text`` where there is no output, else the ``files`` written."""

    text: str | None
    files: tuple[Path, ...]


def export_topology(options: ExportOptions, world: World) -> Exported:
    """Write one host's topology, or that of all hosts; all are made before the first is written.

    Raises:
        UnknownObjectError, AmbiguousObjectError: the name fits no host, or several.
        UsageError: the format cannot express the host, or a file is read by the run.
        OutputError: a file of another kind is in the way, or it cannot be written.
        VplacerError: the inventory cannot be read.
    """
    form = load_format(options.format)
    refuse_one_file_twice(options.output, options.source.record)
    if options.host is not None:
        if options.output is not None:
            _check_free(options.output, options)
        text = form.render(host_topology(options.host, options.source, world))
        if options.output is None:
            return Exported(text, ())
        texts: tuple[str, ...] = (text,)
        files: tuple[Path, ...] = (options.output,)
    else:
        if options.output is None:
            raise UsageError("all hosts go into a folder, a file each", hint="give -o DIR")
        _check_folder(options.output)
        views = all_topologies(options.source, world)
        texts = tuple(form.render(view) for view in views)
        names = file_names([view.host for view in views], form.suffix)
        files = tuple(options.output / name for name in names)
    for file, text in zip(files, texts, strict=True):
        _check_free(file, options)
        _check_kind(file, text, form, options)
    for file, text in zip(files, texts, strict=True):
        write_file(file, text.encode())
    return Exported(None, files)


def file_names(hosts: Sequence[Host], suffix: str) -> tuple[str, ...]:
    """Return a file name for each host: its name, and its managed object id where two would be one."""
    plain = [_safe(host.name) for host in hosts]
    lower = [name.lower() for name in plain]
    return tuple(
        f"{name}{suffix}" if lower.count(name.lower()) == 1 else f"{name}.{_safe(host.moid)}{suffix}"
        for name, host in zip(plain, hosts, strict=True)
    )


def _safe(name: str) -> str:
    """Replace what a file name should not hold on any system; never a hidden file."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "_"


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        why = "it is a file" if folder.exists() else "there is no such folder"
        raise OutputError(
            "cannot take a file for each host", obj=str(folder), why=why, hint="make the folder first"
        )


def _check_free(file: Path, options: ExportOptions) -> None:
    refuse_inputs(file, source_files(options.source))
    check_writable(file)


def _check_kind(file: Path, text: str, form: Format, options: ExportOptions) -> None:
    """Refuse to replace a file unless it is empty, or begins as the format's files do, or as the new one."""
    if options.source.force or not file.is_file():
        return
    title = text.partition("\n")[0] + "\n"
    starts = form.starts if len(title) < _LONG_TITLE else (*form.starts, title)
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise OutputError("cannot be read before it is replaced", obj=str(file), why=error.strerror) from None
    if head and not any(head.startswith(start.encode()[:_HEAD]) for start in starts):
        raise OutputError(
            f"exists already and is not known to be an export as {options.format}",
            obj=str(file),
            hint="give another path; --force replaces the file",
        )
