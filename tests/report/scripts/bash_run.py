"""Running a bash script of vplacer, or its functions alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.conftest import missing
from vplacer.report.scripts.bash_text import quoted
from vplacer.report.scripts.govc_library import FACTS_JQ, FUNCTIONS


def need_jq() -> None:
    if shutil.which("jq") is None:
        missing("no jq")


def functions() -> str:
    """Return the functions of every govc script."""
    return f"set -euo pipefail\nFACTS={quoted(FACTS_JQ)}\n{FUNCTIONS}"


def run_script(
    govc: Path, account: dict[str, str], script: str, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a script as an admin would. ``account``: the variables that tell govc where to log in."""
    need_jq()
    environment = os.environ | account
    environment |= {
        "PATH": f"{govc.parent}:{os.environ['PATH']}",
        "GOVC_PERSIST_SESSION": "false",
        "POWER_ON_GAP_SECONDS": "0",
    }
    return subprocess.run(
        ["bash", "-s", "--", *options],
        env=environment,
        input=script,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
