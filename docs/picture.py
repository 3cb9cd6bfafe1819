"""Draws the pictures of the README from real runs.

    python docs/picture.py            writes docs/plan.svg and docs/topology.svg

The plan is what the program prints on a terminal, as rich's export draws it; the topology is a picture
that the program makes.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

DOCS = Path(__file__).resolve().parent
CODE = "from vplacer.cli.main import run; run()"
TERMINALS = {"plan.svg": "vplacer plan --dry-run --lab a30pairs -r a30pairs --now 2025-01-13"}
OWN = {"topology.svg": "vplacer topology show esx01 --lab a30pairs --format svg"}


def output(command: str) -> str:
    """Run a command as on a terminal that shows colours; return what it prints."""
    environment = {**os.environ, "FORCE_COLOR": "1", "PYTHONPATH": str(DOCS.parent)}
    environment.pop("NO_COLOR", None)
    result = subprocess.run(
        [sys.executable, "-c", CODE, *command.split()[1:]],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


def draw(command: str, path: Path) -> None:
    """Write the picture of one command."""
    text = Text.from_ansi(output(command).rstrip())
    shown = command.replace(" --now 2025-01-13", "")
    lines = [Text(f"$ {shown}", style="bold"), *text.split()]
    console = Console(record=True, width=max(line.cell_len for line in lines) + 1, file=io.StringIO())
    for line in lines:
        console.print(line, no_wrap=True, crop=False)
    svg = console.export_svg(title="vplacer", theme=MONOKAI, unique_id=path.stem)
    # rich's template fetches its font from a server; any monospace font will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    path.write_text(svg, encoding="utf-8")


def main() -> None:
    """Draw all pictures."""
    for name, command in TERMINALS.items():
        draw(command, DOCS / name)
    for name, command in OWN.items():
        (DOCS / name).write_text(output(command), encoding="utf-8")


if __name__ == "__main__":
    main()
