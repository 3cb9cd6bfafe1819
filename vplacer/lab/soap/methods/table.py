"""How methods are declared and found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyVmomi import vim, vmodl

from vplacer.lab.soap.live import Live, Order
from vplacer.lab.soap.sessions import Session
from vplacer.lab.soap.store import Entry
from vplacer.lab.soap.vcenter import VCenter
from vplacer.lab.soap.wire import reflect, typetable
from vplacer.lab.soap.wire.typetable import Ref

OPERATION_HEADER = "operationID"
"""SOAP header by which a client names what it does, so that the server's log tells."""


@dataclass(slots=True)
class Call:
    """One call being answered. ``session`` is replaced by a method that logs in."""

    vcenter: VCenter
    session: Session
    version: str
    method: str
    headers: dict[str, str]

    @property
    def operation(self) -> str | None:
        """What the client calls this operation, in the SOAP header; None = it does not say."""
        return self.headers.get(OPERATION_HEADER)

    @property
    def live(self) -> Live:
        """What carries out writing calls.

        Raises:
            vmodl.fault.NotSupported: the site can only be read.
        """
        if self.vcenter.site.live is None:
            raise vmodl.fault.NotSupported(msg="This site can only be read.")
        return self.vcenter.site.live

    @property
    def order(self) -> Order:
        """Who calls, and how they call it."""
        return Order(self.session.user, self.operation)

    def need(self, privilege: str, ref: Ref) -> None:
        """Refuse a session that lacks a privilege.

        Raises:
            vim.fault.NoPermission: it does.
        """
        if not self.session.may(privilege):
            raise vim.fault.NoPermission(
                object=ref, privilegeId=privilege, msg="Permission to perform this operation was denied."
            )

    def find(self, ref: Ref) -> Entry | None:
        """Return an object as this session sees it, or None."""
        return self.vcenter.retrieval.find(self.session)(ref)

    def require(self, ref: Ref) -> Entry:
        """Return an object as this session sees it.

        Raises:
            vmodl.fault.ManagedObjectNotFound: there is none.
        """
        return self.find(ref) or self.vcenter.store.require(ref)

    def answer(self, ref: Ref, **arguments: object) -> typetable.Value:
        """Return what the object itself answers to this method.

        Raises:
            vmodl.fault.ManagedObjectNotFound: the object does not exist.
            vmodl.fault.MethodNotFound: the site gives no answer for it.
        """
        answer = self.require(ref).answers.get(self.method)
        if answer is None:
            raise not_simulated(ref, self.method)
        return answer(**arguments)


Method: TypeAlias = Callable[[Call, Ref, Any], object]
"""Takes the call, the object it is made on and the arguments; returns a value, `Xml` or None."""


def not_simulated(ref: Ref, method: str) -> Any:
    """Make the fault for a method that the lab does not have."""
    return vmodl.fault.MethodNotFound(
        receiver=ref, method=method, msg=f"The simulated vCenter does not know {method} of this object"
    )


class MethodTable:
    """Methods by class and wire name. A method of a base class serves its subclasses."""

    def __init__(self) -> None:
        self._methods: dict[tuple[Any, str], Method] = {}

    def method(self, cls: Any, *names: str) -> Callable[[Method], Method]:
        """Declare a method of a class under its wire name (several, where they do the same).

        Raises:
            ValueError: the class has no such method, or it is declared already.
        """

        def declare(function: Method) -> Method:
            for name in names:
                if reflect.method_info(typetable.NAMESPACE, name) is None or (cls, name) in self._methods:
                    raise ValueError(f"cannot declare {name} of {cls.__name__}")
                self._methods[cls, name] = function
            return function

        return declare

    @classmethod
    def merged(cls, *tables: MethodTable) -> MethodTable:
        """Join tables."""
        whole = cls()
        for table in tables:
            whole._methods.update(table._methods)
        return whole

    def find(self, ref: Ref, name: str) -> Method | None:
        """Return the method of an object's class, or None."""
        for cls in type(ref).__mro__:
            method = self._methods.get((cls, name))
            if method is not None:
                return method
        return None
