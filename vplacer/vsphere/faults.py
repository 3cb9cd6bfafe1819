"""vSphere faults as errors: the type decides, the server's own text is quoted, never matched.

A fault explains itself in three places: its own message, ``faultMessage[].message`` and the chain of
``faultCause``. Simulators put nothing useful in the first (vcsim sends a Go type name), hosts put the
real reason in the last ("Module 'DevicePowerOn' power on failed").
"""

from __future__ import annotations

from vplacer.errors import AnswerLost, LoginFailed, PermissionMissing, SessionLost, VSphereError, VSphereFault
from vplacer.vsphere.raw import Data, MoRef

_MAX_DEPTH = 8


def is_session_end(fault: Data) -> bool:
    """Whether the server no longer knows the session. (NotAuthenticated is a kind of NoPermission.)"""
    return fault.is_a("NotAuthenticated")


def inner_fault(fault: Data) -> Data:
    """Return the fault inside a LocalizedMethodFault envelope, or the fault itself."""
    return fault.data("fault") or fault if fault.type == "LocalizedMethodFault" else fault


def wire_name(fault: Data) -> str:
    """Return the API name of a fault's type. Some servers send a name of their own for it: the type's with
    "Fault" behind it, which the tables do not know (govmomi)."""
    from pyVmomi import VmomiSupport

    for name in (fault.type, fault.type.removesuffix("Fault")):
        try:
            VmomiSupport.GuessWsdlType(name)
        except KeyError:
            continue
        return name
    return fault.type


def fault_texts(fault: Data, message: str = "") -> tuple[str, ...]:
    """Return every distinct text of a fault, outermost first: its message, its messages, its causes.

    Args:
        fault: the fault, with or without its envelope.
        message: the text that came beside it (``faultstring``).
    """
    found = [message, fault.text("localizedMessage") or ""]
    current: Data | None = fault
    for _ in range(_MAX_DEPTH):
        if current is None:
            break
        found.append(current.text("localizedMessage") or "")
        current = inner_fault(current)
        found.extend(item.text("message") or item.text("key") or "" for item in current.items("faultMessage"))
        current = current.data("faultCause")
    return tuple(dict.fromkeys(text.strip() for text in found if text.strip()))


def quoted(fault: Data, message: str = "") -> str | None:
    """Return the texts of a fault in quotes, or None where it has none."""
    texts = fault_texts(fault, message)
    return "; ".join(f'"{text}"' for text in texts) if texts else None


def missing_privileges(fault: Data) -> tuple[tuple[str, MoRef | None], ...]:
    """Return the privilege ids a NoPermission fault names, each with the object it is missing on."""
    found = [(fault.text("privilegeId") or "", fault.ref("object"))]
    for entry in fault.items("missingPrivileges"):
        found.extend((privilege, entry.ref("entity")) for privilege in entry.texts("privilegeIds"))
    return tuple(dict.fromkeys((privilege, ref) for privilege, ref in found if privilege))


def describe(fault: Data, message: str = "") -> str:
    """Return one line for a fault met while reading, such as ``NoPermission: needs System.Read``."""
    fault = inner_fault(fault)
    if privileges := missing_privileges(fault):
        return f"{fault.type}: needs " + ", ".join(privilege for privilege, _ in privileges)
    text = quoted(fault, message)
    return f"{fault.type}: {text}" if text else fault.type


def to_error(fault: Data, message: str, *, what: str, obj: str) -> VSphereError:
    """Return the error for a fault, other than the end of a session.

    Args:
        fault: the fault.
        message: the text that came beside it.
        what: what was being done, in words ("cannot read the hosts").
        obj: the object as the user knows it.
    """
    fault = inner_fault(fault)
    if fault.is_a("NoPermission"):
        privileges = missing_privileges(fault)
        names = ", ".join(f"{privilege} on {ref}" if ref else privilege for privilege, ref in privileges)
        return PermissionMissing(
            what,
            obj=obj,
            why=f"the account lacks {names}" if names else quoted(fault, message),
            hint="grant the privilege to the account's role there, propagated to children",
        )
    return VSphereFault(what, obj=obj, fault_type=fault.type, why=quoted(fault, message))


def to_login_error(fault: Data, message: str, *, host: str, user: str, password_from: str) -> VSphereError:
    """Return the error for a fault that answered a login.

    Args:
        fault: the fault.
        message: the text that came beside it.
        host: the vCenter.
        user: the user name that was tried.
        password_from: where the password came from, never the password.
    """
    fault = inner_fault(fault)
    if fault.is_a("PasswordExpired"):
        return LoginFailed(
            f"the password of '{user}' has expired",
            obj=host,
            why=quoted(fault, message),
            hint="change it in the vSphere Client, then here",
        )
    if fault.is_a("InvalidLogin"):
        return LoginFailed(
            f"the user name or the password of '{user}' was not accepted",
            obj=host,
            why=quoted(fault, message),
            hint=f"check the name with its domain (name@domain) and the password taken from {password_from}",
        )
    if fault.is_a("NoPermission"):
        return LoginFailed(
            f"'{user}' may not log in",
            obj=host,
            why=quoted(fault, message),
            hint="give the account a role on the vCenter, Read-only at least",
        )
    return to_error(fault, message, what="the login failed", obj=host)


def not_renewed(refused: LoginFailed) -> SessionLost:
    """Return the error for a session that ended and whose new login was refused."""
    return SessionLost(
        "the session has ended and could not be renewed", obj=refused.obj, why=refused.what, hint=refused.hint
    )


def lost_at(lost: AnswerLost, obj: str, host: str) -> AnswerLost:
    """Return the error for a lost answer with the object that the change was about."""
    return AnswerLost(lost.what, obj=obj, why=f"{host}: {lost.why}", hint=lost.hint)
