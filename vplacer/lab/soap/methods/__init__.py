"""The methods served, one decorated function each."""

from __future__ import annotations

from vplacer.lab.soap.methods import (
    authorization,
    checks,
    cluster,
    collector,
    environment,
    esxcli,
    hardware,
    history,
    licence,
    power,
    search,
    service,
    session,
    view,
    vm_change,
)
from vplacer.lab.soap.methods.table import MethodTable

ALL = MethodTable.merged(
    authorization.TABLE,
    checks.TABLE,
    cluster.TABLE,
    collector.TABLE,
    environment.TABLE,
    esxcli.TABLE,
    hardware.TABLE,
    history.TABLE,
    licence.TABLE,
    power.TABLE,
    search.TABLE,
    service.TABLE,
    session.TABLE,
    view.TABLE,
    vm_change.TABLE,
)
"""Every method the simulated vCenter answers."""
