"""From the bytes of a request to the bytes of an answer. Knows no HTTP."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.lab.soap import methods
from vplacer.lab.soap.call_log import CallLog, CallRecord
from vplacer.lab.soap.faults import FaultPlan, FaultRule, Harm
from vplacer.lab.soap.methods.table import OPERATION_HEADER, Call, not_simulated
from vplacer.lab.soap.sessions import Session
from vplacer.lab.soap.store import Withheld
from vplacer.lab.soap.vcenter import VCenter
from vplacer.lab.soap.wire import serialize, typetable, versions
from vplacer.lab.soap.wire.envelope import Request, Seen, parse_request

LOG = logging.getLogger(__name__)
_OK = 200
_FAULT = 500


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send. ``cookie`` is a new session's; ``harm`` tells the connection what to break."""

    status: int
    body: bytes
    cookie: str | None = None
    harm: Harm | None = None


class Dispatcher:
    """Answers calls. Thread-safe.

    ``calls`` counts them by method, one that failed too; ``log`` keeps the newest of them.
    """

    def __init__(self, vcenter: VCenter, faults: FaultPlan, calls: Counter[str], log: CallLog) -> None:
        self._vcenter = vcenter
        self._faults = faults
        self._lock = threading.Lock()
        self._calls = calls
        self._log = log

    def handle(self, data: bytes, soap_action: str, cookie: str | None) -> Reply:
        """Answer one request; whatever goes wrong becomes a fault, never an exception."""
        started = time.perf_counter()
        live = self._vcenter.site.live
        if live is not None:
            live.ticker.catch_up()
            if live.connection.is_down:
                return Reply(_OK, b"", harm=Harm.DROP_BEFORE)
        version = versions.requested_version(soap_action, self._vcenter.version)
        seen = Seen()
        reply = self._handle(data, version, cookie, seen)
        with self._lock:
            self._calls[seen.method] += 1
        self._log.add(
            CallRecord(
                seen.method,
                seen.this,
                seen.headers.get(OPERATION_HEADER),
                seen.user,
                reply.status,
                reply.harm,
            )
        )
        LOG.debug(
            "%s as %s: %d, %d bytes, %.1f ms",
            seen.method,
            typetable.version_id(version),
            reply.status,
            len(reply.body),
            1e3 * (time.perf_counter() - started),
        )
        return reply

    def _handle(self, data: bytes, version: str, cookie: str | None, seen: Seen) -> Reply:
        # A fault raised inside is the answer; everything else is a defect of the lab's own: what the
        # client got wrong has been refused by parse_request, by place and not by kind of exception.
        harm: Harm | None = None
        try:
            request = parse_request(data, version, seen)
            rule = self._faults.next(request.method) or self._ordered(request)
            if rule is not None:
                harm = rule.harm
                if harm is Harm.DROP_BEFORE:
                    return Reply(_OK, b"", harm=harm)
                self._apply(rule, cookie)
            call, result = self._call(request, version, cookie, seen)
            text = serialize.response(request.method, request.info, result, version)
            new_cookie = call.session.cookie if call.session.cookie != (cookie or "") else None
            return Reply(_OK, text.encode(), new_cookie or None, harm)
        except vmodl.MethodFault as fault:
            return Reply(_FAULT, _fault_text(fault, version), harm=harm)
        except Withheld as withheld:
            return Reply(_FAULT, _fault_text(withheld.fault, version), harm=harm)
        except Exception as error:
            LOG.exception("defect of the simulated vCenter in %s", seen.method)
            internal = vmodl.fault.SystemError(reason=repr(error), msg="A general system error occurred")
            return Reply(_FAULT, _fault_text(internal, version), harm=harm)

    def _ordered(self, request: Request) -> FaultRule | None:
        live = self._vcenter.site.live
        return None if live is None else live.connection.next(request)

    def _apply(self, rule: FaultRule, cookie: str | None) -> None:
        if rule.harm is Harm.DELAY:
            time.sleep(rule.delay_s)
        elif rule.harm is Harm.EXPIRE:
            session = self._vcenter.sessions.find(cookie)
            if session is not None:
                self._vcenter.sessions.end(session)
                self._vcenter.wake()
        elif rule.harm is Harm.FAULT and rule.fault is not None:
            raise rule.fault()

    def _call(self, request: Request, version: str, cookie: str | None, seen: Seen) -> tuple[Call, object]:
        session = self._vcenter.sessions.find(cookie) or self._vcenter.sessions.anonymous()
        try:
            return self._call_in(session, request, version, seen)
        except vmodl.fault.ManagedObjectNotFound:
            if session.is_anonymous:
                # Views and filters end with their session: say that it ended, not that they are gone.
                raise _not_authenticated(request.this, "System.View") from None
            raise

    def _call_in(self, session: Session, request: Request, version: str, seen: Seen) -> tuple[Call, object]:
        call = Call(self._vcenter, session, version, request.method, request.headers)
        seen.user = session.user or None
        method = methods.ALL.find(request.this, request.method)
        if method is None or not typetable.is_version(version, request.info.version):
            raise not_simulated(request.this, request.method)
        _check_privilege(session, request.this, request.info)
        call.require(request.this)
        for parameter in request.info.params:
            if not parameter.flags & typetable.OPTIONAL and getattr(request.args, parameter.name) is None:
                raise vmodl.fault.InvalidArgument(
                    invalidProperty=parameter.name,
                    msg=f"A specified parameter was not correct: {parameter.name}",
                )
        return call, method(call, request.this, request.args)


def _check_privilege(session: Session, this: typetable.Ref, info: typetable.Info) -> None:
    # Methods for which the table names no privilege check by argument; they need a session at least.
    privilege = info.privId or "System.View"
    if session.may(privilege):
        return
    if session.is_anonymous:
        raise _not_authenticated(this, privilege)
    raise vim.fault.NoPermission(
        object=this, privilegeId=privilege, msg="Permission to perform this operation was denied."
    )


def _not_authenticated(this: typetable.Ref, privilege: str) -> Any:
    return vim.fault.NotAuthenticated(
        object=this, privilegeId=privilege, msg="The session is not authenticated."
    )


def _fault_text(fault: Any, version: str) -> bytes:
    return serialize.fault_envelope(fault, version).encode()
