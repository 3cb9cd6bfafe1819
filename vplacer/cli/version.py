"""What `vplacer --version` prints, from package metadata: pyVmomi itself is not imported."""

from __future__ import annotations

from importlib import metadata

import vplacer


def version_text() -> str:
    """Return the version of vplacer, that of pyVmomi and the range of API versions spoken."""
    from vplacer.jobs.about import OLDEST_API

    try:
        binding = metadata.version("pyvmomi")
    except metadata.PackageNotFoundError:
        return f"vplacer {vplacer.__version__} (pyVmomi is not installed)"
    # pyVmomi's version is that of the newest API it has types for.
    return f"vplacer {vplacer.__version__} (pyVmomi {binding}; vSphere API {OLDEST_API} to {binding})"
