"""SessionManager: logging in and out."""

from __future__ import annotations

import hmac
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.store import Entry
from vplacer.lab.soap.updates import Collector
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref

TABLE = MethodTable()


@TABLE.method(vim.SessionManager, "Login")
def login(call: Call, _this: Ref, args: Any) -> object:
    """Start a session. A second login on a live session is refused, as vCenter does."""
    account = call.vcenter.account
    right_user = hmac.compare_digest((args.userName or "").encode(), account.username.encode())
    right_password = hmac.compare_digest((args.password or "").encode(), account.password.encode())
    live = call.vcenter.site.live
    locked = live is not None and live.connection.locked
    if locked or not (right_user and right_password and call.session.is_anonymous):
        raise vim.fault.InvalidLogin(msg="Cannot complete login due to an incorrect user name or password.")
    session = call.vcenter.sessions.login(account.username, account.privileges)
    manager = call.vcenter.managers["sessionManager"]
    shared = call.vcenter.store.require(manager)
    session.objects[typetable.moid(manager)] = Entry(
        manager, {**shared.props, "currentSession": session.user_session()}
    )
    collector = call.vcenter.managers["propertyCollector"]
    session.objects[typetable.moid(collector)] = Collector(collector)
    call.session = session
    return session.user_session()


@TABLE.method(vim.SessionManager, "LoginByToken", "LoginExtensionByCertificate", "LoginBySSPI")
def login_otherwise(_call: Call, _this: Ref, _args: Any) -> object:
    """Refuse: the lab knows a user name and a password only."""
    raise vim.fault.InvalidLogin(
        msg="The simulated vCenter has no single sign-on: log in with user name and password."
    )


@TABLE.method(vim.SessionManager, "Logout")
def logout(call: Call, _this: Ref, _args: Any) -> object:
    """End the session."""
    call.vcenter.sessions.end(call.session)
    call.vcenter.wake()
    return None


@TABLE.method(vim.SessionManager, "SessionIsActive")
def session_is_active(call: Call, _this: Ref, args: Any) -> object:
    """Tell whether a session of a user lives."""
    return any(s.key == args.sessionID and s.user == args.userName for s in call.vcenter.sessions.live())


@TABLE.method(vim.SessionManager, "TerminateSession")
def terminate_session(call: Call, _this: Ref, args: Any) -> object:
    """End other sessions."""
    by_key = {session.key: session for session in call.vcenter.sessions.live()}
    if call.session.key in args.sessionId:
        raise vmodl.fault.InvalidArgument(invalidProperty="sessionId", msg="a session cannot end itself so")
    if any(key not in by_key for key in args.sessionId):
        raise vim.fault.NotFound(msg="There is no such session.")
    for key in args.sessionId:
        call.vcenter.sessions.end(by_key[key])
    call.vcenter.wake()
    return None
