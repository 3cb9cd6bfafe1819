"""AuthorizationManager: what the account may do, everywhere alike."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.lab.soap.methods.table import Call, MethodTable
from vplacer.lab.soap.sessions import ALL_PRIVILEGES
from vplacer.lab.soap.wire import typetable
from vplacer.lab.soap.wire.typetable import Ref, Value

TABLE = MethodTable()
_ADMINISTRATOR_ROLE = -1
_READ_ONLY_ROLE = -2
_MANAGER = vim.AuthorizationManager


@TABLE.method(_MANAGER, "RetrieveEntityPermissions")
def retrieve_entity_permissions(call: Call, _this: Ref, args: Any) -> object:
    """List the permissions on an object: one, set at the root and inherited."""
    call.require(args.entity)
    root = call.vcenter.content.rootFolder
    if args.entity != root and not args.inherited:
        return []
    account = call.vcenter.account
    role = _ADMINISTRATOR_ROLE if account.privileges is None else _READ_ONLY_ROLE
    return [
        _MANAGER.Permission(entity=root, principal=account.username, group=False, roleId=role, propagate=True)
    ]


@TABLE.method(_MANAGER, "HasPrivilegeOnEntity")
def has_privilege_on_entity(call: Call, _this: Ref, args: Any) -> object:
    """Tell for each privilege whether the session holds it."""
    call.require(args.entity)
    return [call.session.may(privilege) for privilege in args.privId]


@TABLE.method(_MANAGER, "HasPrivilegeOnEntities")
def has_privilege_on_entities(call: Call, _this: Ref, args: Any) -> object:
    """Tell for each object and privilege whether the session holds it."""
    return [
        _MANAGER.EntityPrivilege(entity=call.require(entity).ref, privAvailability=_availability(call, args))
        for entity in args.entity
    ]


@TABLE.method(_MANAGER, "HasUserPrivilegeOnEntities")
def has_user_privilege_on_entities(call: Call, _this: Ref, args: Any) -> object:
    """Tell for each object and privilege whether a user holds it; an unknown user holds none."""
    kind: Any = _MANAGER.PrivilegeAvailability
    account = call.vcenter.account
    known = args.userName == account.username

    def holds(privilege: str) -> bool:
        return known and (account.privileges is None or privilege in account.privileges)

    told = [kind(privId=privilege, isGranted=holds(privilege)) for privilege in args.privId]
    return [
        _MANAGER.EntityPrivilege(
            entity=call.require(entity).ref, privAvailability=typetable.array_of(kind, told)
        )
        for entity in args.entities
    ]


@TABLE.method(_MANAGER, "FetchUserPrivilegeOnEntities")
def fetch_user_privilege_on_entities(call: Call, _this: Ref, args: Any) -> object:
    """List a user's privileges on objects; an unknown user has none."""
    account = call.vcenter.account
    held: list[str] = []
    if args.userName == account.username:
        held = sorted(ALL_PRIVILEGES if account.privileges is None else account.privileges)
    return [
        _MANAGER.UserPrivilegeResult(entity=call.require(entity).ref, privileges=held)
        for entity in args.entities
    ]


def _availability(call: Call, args: Any) -> Value:
    kind: Any = _MANAGER.PrivilegeAvailability
    return typetable.array_of(kind, [kind(privId=p, isGranted=call.session.may(p)) for p in args.privId])
