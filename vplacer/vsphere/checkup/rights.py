"""What the account may do, by the AuthorizationManager: asked about the session, or else about the user.

HasPrivilegeOnEntities (API 5.5, System.View) answers for a session, groups included. Servers without it
are asked HasUserPrivilegeOnEntities, then FetchUserPrivilegeOnEntities (API 6.5) for the user's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vplacer.doctor.observed import Rights, RightsOnKind, Untold
from vplacer.vsphere.checkup.timed import TimedReader, attempt, spread
from vplacer.vsphere.raw import MoRef, data_items

MOST_OBJECTS = 500
"""Objects of a kind that are asked about; of more, as many are taken spread evenly."""
_BATCH = 100

_Ask = Callable[[Sequence[MoRef], tuple[str, ...]], dict[MoRef, frozenset[str]]]


def read_rights(
    reader: TimedReader,
    manager: MoRef,
    session_key: str | None,
    user: str | None,
    objects: dict[str, Sequence[MoRef]],
    wanted: dict[str, tuple[str, ...]],
) -> Rights | Untold:
    """Return which of the wanted privileges the account has.

    Args:
        reader: the vCenter.
        manager: its AuthorizationManager.
        session_key: key of the session; None = not told.
        user: name of the account as the server has it; None = not told.
        objects: objects by kind.
        wanted: privileges by kind.
    """
    probe = next((refs[0] for refs in objects.values() if refs), None)
    if probe is None:
        return Untold("no object is visible to ask about")
    last: Untold = Untold("the server tells neither session nor user")
    for name, ask in _ways(reader, manager, session_key, user):
        tried = attempt(lambda ask=ask: ask([probe], ("System.View",)))  # type: ignore[misc]
        if not isinstance(tried, Untold):
            kinds = {kind: _on_kind(ask, kind, objects.get(kind, ()), wanted[kind]) for kind in wanted}
            return Rights(name, kinds)
        last = tried
    return last


def _ways(
    reader: TimedReader, manager: MoRef, session_key: str | None, user: str | None
) -> list[tuple[str, _Ask]]:
    def by_session(refs: Sequence[MoRef], privileges: tuple[str, ...]) -> dict[MoRef, frozenset[str]]:
        arguments = {"entity": list(refs), "sessionId": session_key, "privId": list(privileges)}
        return _granted(reader.call(manager, "HasPrivilegeOnEntities", arguments))

    def by_user(refs: Sequence[MoRef], privileges: tuple[str, ...]) -> dict[MoRef, frozenset[str]]:
        arguments = {"entities": list(refs), "userName": user, "privId": list(privileges)}
        return _granted(reader.call(manager, "HasUserPrivilegeOnEntities", arguments))

    def all_of_user(refs: Sequence[MoRef], _privileges: tuple[str, ...]) -> dict[MoRef, frozenset[str]]:
        arguments = {"entities": list(refs), "userName": user}
        answer = data_items(reader.call(manager, "FetchUserPrivilegeOnEntities", arguments))
        return {ref: frozenset(i.texts("privileges")) for i in answer if (ref := i.ref("entity")) is not None}

    found: list[tuple[str, _Ask]] = []
    if session_key:
        found.append(("HasPrivilegeOnEntities", by_session))
    if user:
        found.append(("HasUserPrivilegeOnEntities", by_user))
        found.append(("FetchUserPrivilegeOnEntities", all_of_user))
    return found


def _granted(answer: object) -> dict[MoRef, frozenset[str]]:
    return {
        ref: frozenset(
            privilege
            for entry in item.items("privAvailability")
            if entry.flag("isGranted") is True and (privilege := entry.text("privId"))
        )
        for item in data_items(answer)
        if (ref := item.ref("entity")) is not None
    }


def _on_kind(
    ask: _Ask, kind: str, refs: Sequence[MoRef], privileges: tuple[str, ...]
) -> RightsOnKind | Untold:
    looked_at, sample = spread(refs, MOST_OBJECTS)
    lacking: dict[str, list[str]] = {privilege: [] for privilege in privileges}
    for start in range(0, len(looked_at), _BATCH):
        batch = looked_at[start : start + _BATCH]
        answer = attempt(lambda batch=batch: ask(batch, privileges))  # type: ignore[misc]
        if isinstance(answer, Untold):
            return answer
        for ref in batch:
            # An object left out of the answer is one that the account has nothing on.
            held = answer.get(ref, frozenset())
            for privilege in privileges:
                if privilege not in held:
                    lacking[privilege].append(ref.moid)
    return RightsOnKind(kind, sample, {name: tuple(moids) for name, moids in lacking.items()})
