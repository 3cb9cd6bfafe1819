"""Refuses to send what the negotiated API version does not know.

pyVmomi drops every field that is newer than that version from a request, and turns newer types into their
base, without a word: a reconfigure task would succeed and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vplacer.errors import ApiTooOld
from vplacer.plan.features import feature_of_member


def refuse_newer(value: object, version: str) -> None:
    """Check an argument of a call.

    Args:
        value: a data object, a list of these, or a plain value.
        version: pyVmomi's name of the version that is spoken.

    Raises:
        ApiTooOld: the message names the feature, the version it needs and the one there is.
    """
    for member, since in newer_members(value, version):
        feature = feature_of_member(member)
        what = f"{feature.title} ({member})" if feature is not None else member
        raise ApiTooOld(
            f"{what} needs API {since}",
            why=f"{_public(version)} is spoken with this vCenter, which would drop it without a word",
            hint="upgrade the vCenter, or leave this out of the request",
        )


def newer_members(value: object, version: str) -> Iterator[tuple[str, str]]:
    """Yield the type or ``Type.field`` of everything set that is newer, with the version it needs."""
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    if isinstance(value, list):
        for item in value:
            yield from newer_members(item, version)
        return
    if not isinstance(value, VmomiSupport.DataObject):
        return
    kind: Any = type(value)
    if not support.IsChildVersion(version, kind._version):
        yield kind._wsdlName, _public(kind._version)
        return
    for info in kind._GetPropertyList():
        content = getattr(value, info.name)
        # A field's version is "" for the two that every type has.
        if content is None or not info.version:
            continue
        if not support.IsChildVersion(version, info.version):
            if content != []:
                yield f"{_declaring(kind, info.name)}.{info.name}", _public(info.version)
        else:
            yield from newer_members(content, version)


def _declaring(kind: Any, name: str) -> str:
    """Return the API name of the type that has a field first, of a type and its bases."""
    owners = [base for base in kind.__mro__ if name in getattr(base, "_propInfo", {})]
    return str(owners[-1]._wsdlName)


def _public(version: str) -> str:
    """Return the public id of a version, "8.0.3.0" for pyVmomi's vim.version.v8_0_3_0."""
    from pyVmomi import VmomiSupport

    return str(VmomiSupport.versionIdMap.get(version, version))
