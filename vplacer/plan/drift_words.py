"""What moved since a plan, in words."""

from __future__ import annotations

from vplacer.plan.model import DriftItem
from vplacer.plan.staleness import moved_cards


def value_text(value: object) -> str:
    """Return a field's value; None is "unset", which is neither zero nor empty."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value) or "none"
    return str(value) if value != "" else '""'


def change_text(item: DriftItem) -> str:
    """Say one field that moved, without the object's name; of a list only what came and went."""
    if item.field == "power" and item.now in ("poweredOn", "poweredOff"):
        return f"is {'on' if item.now == 'poweredOn' else 'off'}"
    if item.field == "exists":
        return "is gone"
    if isinstance(item.was, tuple) and isinstance(item.now, tuple):
        moved = moved_cards(item.was, item.now) if item.field == "cards" else ()
        told = {text for card in moved for text in (card.before, card.after)}
        gone = [text for text in item.was if text not in item.now and text not in told]
        came = [text for text in item.now if text not in item.was and text not in told]
        parts = [card.what for card in moved]
        parts += [f"- {text}" for text in gone] + [f"+ {text}" for text in came]
        return f"{item.field}: {'; '.join(parts) or 'other numbers of equal entries'}"
    return f"{item.field}: {value_text(item.was)} -> {value_text(item.now)}"
