"""The methods served, one decorated function each."""

from __future__ import annotations

from vplacer.lab.soap.methods import (
    authorization,
    collector,
    environment,
    esxcli,
    hardware,
    licence,
    search,
    service,
    session,
    view,
)
from vplacer.lab.soap.methods.table import MethodTable

ALL = MethodTable.merged(
    authorization.TABLE,
    collector.TABLE,
    environment.TABLE,
    esxcli.TABLE,
    hardware.TABLE,
    licence.TABLE,
    search.TABLE,
    service.TABLE,
    session.TABLE,
    view.TABLE,
)
"""Every method the simulated vCenter answers."""
