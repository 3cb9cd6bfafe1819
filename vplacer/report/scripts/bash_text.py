"""Texts as words of a bash command, whatever they hold."""

from __future__ import annotations

import shlex

from vplacer.report.scripts.words import is_plain


def quoted(text: str) -> str:
    """Return a text as one word. What cannot be seen is spelled out, so that the script shows all it does."""
    if is_plain(text.replace("\n", "").replace("\t", "")) and ("\n" not in text or text.isascii()):
        return shlex.quote(text)
    spelled = "".join(_spelled(byte) for byte in text.encode("utf-8", "surrogatepass"))
    return f"$'{spelled}'"


def _spelled(byte: int) -> str:
    char = chr(byte)
    return f"\\{char}" if char in "\\'" else char if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
