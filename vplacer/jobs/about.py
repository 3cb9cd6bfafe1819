"""Facts about this program that are told without doing anything."""

from __future__ import annotations

OLDEST_API = "8.0.0.1"
"""The oldest vSphere API that plans can be made for; `vplacer.vsphere.versions` refuses older ones."""
