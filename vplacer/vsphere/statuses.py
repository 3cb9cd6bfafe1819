"""HTTP answers that are no SOAP, as errors."""

from __future__ import annotations

from vplacer.errors import ConnectionFailed
from vplacer.vsphere.transport import Reply


def not_a_vcenter(reply: Reply, path: str, host: str) -> ConnectionFailed:
    """Return the error for a server that does not answer a path that every vCenter has."""
    if reply.status >= 500 or reply.status in (429, 407):
        return bad_status(reply, host)
    return ConnectionFailed(
        "a web server answers here, but no vCenter",
        obj=host,
        why=f"{path}: HTTP {reply.status} {reply.reason}".rstrip(),
        hint="check the address and the port",
    )


def bad_status(reply: Reply, host: str) -> ConnectionFailed:
    """Return the error for an answer that neither a result nor a fault comes with."""
    status = f"HTTP {reply.status} {reply.reason}".rstrip()
    if reply.status in (429, 502, 503, 504):
        return ConnectionFailed(
            "the vCenter does not take requests now",
            obj=host,
            why=status,
            hint="its services are starting, or it has too many sessions; wait and try again",
        )
    return ConnectionFailed("the vCenter refused the request", obj=host, why=status)
