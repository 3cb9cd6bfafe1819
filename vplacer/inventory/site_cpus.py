"""CPU features of the hosts of inventory YAML: from the processor's generation, or as the file says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vplacer.inventory.cpu_models import cpu_features, generation_of, generation_of_evc
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.limits_table import table_limits
from vplacer.inventory.yaml_marks import Document, Pointer


def with_cpu_features(
    document: Document, pointer: Pointer, host: Host, cpu: dict[str, Any], evc_mode: str | None
) -> Host:
    """Return a host with the features its CPUs have and those that its cluster's EVC mode leaves.

    A release tells the features it can show to VMs and no others. A host whose processor's generation is not
    known tells nothing, and none tells what an EVC mode leaves that the catalogue does not know.

    Raises:
        FileFormatError: a feature that is not known.
    """
    if host.connection is not ConnectionState.CONNECTED:
        return host
    has = _physical(document, pointer, host, cpu)
    if has is None:
        return host
    newest = max((limit.version for limit in table_limits(host.version)), default=0)
    told = {feature.key for feature in cpu_features() if feature.hardware_version <= newest}
    physical = tuple(sorted(has & told))
    if evc_mode is None:
        return replace(host, cpu_features=physical, cpu_features_visible=physical)
    mode = generation_of_evc(evc_mode)
    if mode is None:
        return replace(host, cpu_features=physical)
    visible = tuple(key for key in physical if key in mode.features)
    return replace(host, cpu_features=physical, cpu_features_visible=visible)


def _physical(document: Document, pointer: Pointer, host: Host, cpu: dict[str, Any]) -> frozenset[str] | None:
    given = cpu.get("features")
    if given is None:
        generation = generation_of(host.cpu_model or "")
        return None if generation is None else frozenset(generation.features)
    keys = {feature.name: feature.key for feature in cpu_features()}
    for index, name in enumerate(given):
        if name not in keys:
            raise document.error(
                (*pointer, "cpu", "features", index),
                f"no CPU feature is called '{name}'",
                hint=f"known: {', '.join(keys)}",
            )
    return frozenset(keys[name] for name in given)
