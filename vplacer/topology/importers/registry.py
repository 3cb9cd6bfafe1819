"""The formats that can be imported, one module each. A new one is its module and a line here.

A module has ``recognises(text)`` (does the content look like it; never raises), ``read(text, path)`` (text
in, `Facts` out, no I/O; with ``host`` and ``options`` too where the text alone does not say enough) and
``TOOL`` (the source its overlays name).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vplacer.errors import FileFormatError, UsageError
from vplacer.inventory.host import Host
from vplacer.topology.importers import esxcli, hwloc, nccl, nvidia_smi
from vplacer.topology.importers.facts import Facts, ReadOptions

_Reader = Callable[[str, str, Host, ReadOptions], Facts]


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name on the command line, what it is, and what tells it from others.

    ``options``: the options of the command that it uses.
    """

    name: str
    title: str
    sign: str
    recognises: Callable[[str], bool]
    read: _Reader
    options: frozenset[str] = frozenset()


def _alone(read: Callable[[str, str], Facts]) -> _Reader:
    """A reader that needs nothing but the text."""
    return lambda text, path, _host, _options: read(text, path)


FORMATS: Final = (
    Format(
        "nvidia-smi",
        "output of nvidia-smi topo -m",
        "a line of headings that starts with GPU0",
        nvidia_smi.recognises,
        nvidia_smi.read,
        frozenset({"--gpu", "--nic", "--query-gpu", "--order", "--taken-in"}),
    ),
    Format(
        "nccl",
        "NCCL topology XML",
        "the XML root element system",
        nccl.recognises,
        _alone(nccl.read),
    ),
    Format(
        "hwloc",
        "XML of hwloc (lstopo)",
        "the XML root element topology",
        hwloc.recognises,
        _alone(hwloc.read),
    ),
    Format(
        "esxcli",
        "output of esxcli hardware pci list",
        "blocks that start with a PCI address, or its csv, json or xml formatter",
        esxcli.recognises,
        _alone(esxcli.read),
    ),
)


def format_of(name: str) -> Format:
    """Return a format by its name.

    Raises:
        KeyError: there is none.
    """
    return {item.name: item for item in FORMATS}[name]


def detect(text: str, path: str) -> Format:
    """Return the format that a text is in, by its content.

    Raises:
        FileFormatError: it looks like none, or like several.
    """
    found = [item for item in FORMATS if item.recognises(text)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(item.name for item in found)
        raise FileFormatError(
            "the format cannot be told", path=path, why=f"it looks like {names}", hint="name it with --format"
        )
    looked = "; ".join(f"{item.name}: {item.sign}" for item in FORMATS)
    raise FileFormatError(
        "the format cannot be told", path=path, why=f"looked for {looked}", hint="name it with --format"
    )


def read_facts(chosen: Format, text: str, path: str, host: Host, options: ReadOptions) -> Facts:
    """Read a text in a format.

    Raises:
        FileFormatError: it is not in that format.
        UsageError: an option was given that the format has no use for, or one is missing.
    """
    for name in options.given:
        if name not in chosen.options:
            raise UsageError(f"{name} is of no use for the format {chosen.name}", obj=path)
    return chosen.read(text, path, host, options)
