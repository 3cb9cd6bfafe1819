"""The tree of commands: name, module and one line of help each, known without importing any of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import click

from vplacer.cli.common import write_examples


@dataclass(frozen=True, slots=True)
class Leaf:
    """A command: module ``vplacer.cli.<module>`` holds it as ``command``."""

    module: str
    help: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A group of commands, with examples of what they are for."""

    help: str
    children: Mapping[str, Leaf | Branch]
    examples: tuple[str, ...] = ()


TREE: Final = Branch(
    "Plan NUMA-, PCIe- and NVLink-local placement of GPU virtual machines on vSphere 8 and later.",
    {
        "plan": Leaf("plan", "Decide where the requested VMs go, and show what would change."),
        "capacity": Leaf("capacity", "Tell how many more VMs of each kind fit, and what runs out."),
        "show": Leaf("show", "Show a saved plan."),
        "rehearse": Leaf("rehearse", "Carry a plan out at a simulated vCenter, and show what happens."),
        "apply": Leaf("apply", "Carry out a plan, or go on with it."),
        "rollback": Leaf("rollback", "Take back what was carried out of a plan."),
        "audit": Leaf("audit", "Find VMs whose GPUs, NICs, memory and vCPUs have drifted apart."),
        "rule": Leaf("rule", "Explain a rule of the audit, or list them all."),
        "collect": Leaf("collect", "Read a vCenter into a snapshot file."),
        "topology": Branch(
            "Look at what hangs on which NUMA node, PCIe switch and NVLink.",
            {
                "show": Leaf("topology_show", "Show the topology of one host."),
                "export": Leaf("topology_export", "Write the topology of hosts for other programs."),
                "import": Leaf("topology_import", "Make an overlay from what a tool says of a host."),
            },
            (
                "vplacer topology show esx01 --lab nvswitch",
                "vplacer topology import esx01.txt --host esx01 --from site.json.gz -o overlays",
            ),
        ),
        "request": Branch(
            "Work with request files.",
            {"init": Leaf("request_init", "Write a commented request from the VMs there are today.")},
            (
                "vplacer request init --lab a30pairs",
                "vplacer request init --from site.json.gz --cluster gpu -o request.yaml",
            ),
        ),
        "labels": Branch(
            "Hardware labels, by which requests steer VMs to a NUMA node without pinning them to a host.",
            {
                "plan": Leaf("labels_plan", "Plan the labels of a cluster's GPUs and NICs; changes nothing."),
                "apply": Leaf("labels_apply", "Set the labels of a saved plan at its vCenter."),
            },
            (
                "vplacer labels plan --lab a30pairs --scheme pair",
                "vplacer labels apply labels.json --vcenter vc.example.com",
            ),
        ),
        "doctor": Leaf("doctor", "Check what vplacer relies on in a vCenter; changes nothing."),
        "hardware": Branch(
            "The GPUs, NICs, boards and CPUs that are known, with sources.",
            {
                "list": Leaf("hardware_list", "List what is known."),
                "show": Leaf("hardware_show", "Show one GPU or NIC, each fact with its source."),
            },
            ("vplacer hardware list", "vplacer hardware show A30"),
        ),
        "schema": Leaf("schema", "Print the JSON Schema of a file format."),
        "lab": Branch(
            "The simulated vCenter: plan with nothing but this package.",
            {
                "list": Leaf("lab_list", "List the example sites."),
                "serve": Leaf("lab_serve", "Serve a site as a vCenter on this machine."),
                "record": Leaf("lab_record", "Record a session with a site's simulated vCenter."),
                "export": Leaf("lab_export", "Write a site for another simulated vCenter, vcsim."),
            },
            ("vplacer lab list", "vplacer lab serve nvswitch --port 8443"),
        ),
        "config": Branch(
            "Look at the configuration.",
            {"show": Leaf("config_show", "Show which options are set, and where from.")},
            ("vplacer config show --origin", "vplacer config show --all"),
        ),
        "completion": Leaf("completion", "Print the completion script of a shell."),
    },
    (
        "vplacer plan --dry-run --lab nvswitch -r nvswitch",
        "vplacer collect --vcenter vc.example.com --username ro@vsphere.local -o site.json.gz",
    ),
)


class LazyGroup(click.Group):
    """A group that imports a command's module when that command is used, not before."""

    def __init__(self, *args: Any, branch: Branch, **kwargs: Any) -> None:
        super().__init__(*args, help=branch.help, **kwargs)
        self._branch = branch

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the tree."""
        del ctx
        return list(self._branch.children)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None = there is none of that name."""
        del ctx
        entry = self._branch.children.get(cmd_name)
        return None if entry is None else load(cmd_name, entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that ``args`` begins with; name the nearest one where there is none."""
        if args and args[0] not in self._branch.children and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], self._branch.children, n=1)
            guess = f" Did you mean '{close[0]}'?" if close else ""
            ctx.fail(f"No such command '{args[0]}'.{guess}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the tree."""
        del ctx
        rows = [(name, entry.help) for name, entry in self._branch.children.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        write_examples(formatter, self._branch.examples)


def load(name: str, entry: Leaf | Branch) -> click.Command:
    """Return the command or group of an entry of the tree."""
    if isinstance(entry, Branch):
        return LazyGroup(name=name, branch=entry)
    command = import_module(f"vplacer.cli.{entry.module}").command
    assert isinstance(command, click.Command)
    return command


def leaves(branch: Branch = TREE, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Leaf]]:
    """Yield every command with its path, such as ``("lab", "serve")``."""
    for name, entry in branch.children.items():
        if isinstance(entry, Branch):
            yield from leaves(entry, (*path, name))
        else:
            yield (*path, name), entry
