"""What a program prints must not depend on Python's hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import REPO


def outputs_by_hash_seed(code: str) -> set[str]:
    """Run a program in processes of different hash seeds, and return what they print."""
    return {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=REPO,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPO)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
