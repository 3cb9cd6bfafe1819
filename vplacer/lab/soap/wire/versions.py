"""API versions: which are served, which one a request asks for, and the file that lists them."""

from __future__ import annotations

import re

from vplacer.errors import UsageError
from vplacer.lab.soap.wire import typetable

_PLAIN_ID = re.compile(r"[0-9]+(\.[0-9]+)+")


def served_version(version_id: str) -> str:
    """Return pyVmomi's name for the API version a lab is to serve.

    Raises:
        UsageError: no such version; the message lists those there are.
    """
    name = typetable.version_name(version_id)
    if name is None or not _PLAIN_ID.fullmatch(version_id):
        known = [i for i in typetable.version_ids() if _PLAIN_ID.fullmatch(i)]
        raise UsageError(
            f"the simulated vCenter knows no API version '{version_id}'",
            hint=f"one of {', '.join(known)}",
        )
    return name


def requested_version(soap_action: str, newest: str) -> str:
    """Return the version a request asks for, by its SOAPAction header (``urn:vim25/8.0.3.0``).

    pyVmomi quotes the header and sends what it negotiated; govc sends the newest it knows, whatever the
    server. So unknown, missing or newer than ours means our newest.
    """
    wanted = soap_action.strip().strip('"').removeprefix("urn:").removeprefix("vim25/")
    name = typetable.version_name(wanted)
    return name if name is not None and typetable.is_version(newest, name) else newest


def version_file(version_id: str) -> bytes:
    """Return ``/sdk/vimServiceVersions.xml``: the newest version and all earlier ones of this server."""
    newest = served_version(version_id)
    prior = [
        i
        for i in typetable.version_ids()
        if i != version_id and _PLAIN_ID.fullmatch(i) and _is_prior(newest, i)
    ]
    listed = "".join(f"<version>{i}</version>" for i in prior)
    return (
        '<?xml version="1.0" encoding="UTF-8" ?>\n'
        f'<namespaces version="1.0"><namespace><name>{typetable.NAMESPACE}</name>'
        f"<version>{version_id}</version><priorVersions>{listed}</priorVersions>"
        "</namespace></namespaces>\n"
    ).encode()


def _is_prior(newest: str, version_id: str) -> bool:
    name = typetable.version_name(version_id)
    return name is not None and typetable.is_version(newest, name)
