"""Makes one file of a template, its style and its script: nothing is fetched, nothing else may run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_HERE: Final = "vplacer.report.page"
# C0 and C1 controls but tab and line feed, marks that reorder text, and what has no width.
_HIDDEN_RE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def page(template: str, scripts: Sequence[str], generator: str, values: Mapping[str, Any]) -> str:
    """Return a page as HTML ending in a newline; the same values give the same bytes.

    Args:
        template: its file.
        scripts: files of the script, in order.
        generator: what made it: "vplacer audit".
        values: what the template is given. All text in it is escaped.
    """
    from markupsafe import Markup

    style, script = _file("style.css"), "".join(_file(name) for name in scripts)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # The project's own files, not escaped: their hashes are in the policy.
    kept = {"style": Markup(style), "script": Markup(script), "policy": policy, "generator": generator}
    return _environment().get_template(template).render({**values, **kept}) + "\n"


def json_data(value: Any) -> Markup:
    """Return a value as JSON that may stand in a script element of data, in ASCII and without blanks."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(
        value, dumps=lambda item, **_: json.dumps(_plain(item), separators=(",", ":"), sort_keys=True)
    )


def visible(text: str) -> str:
    """Return a text with what cannot be seen, or reorders what is beside it, written out: ``[U+202E]``."""
    return _HIDDEN_RE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def clip(text: str, limit: int) -> str:
    """Shorten a text from its middle: names differ at their ends."""
    head = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def minute(iso: str) -> str:
    """Shorten an ISO 8601 UTC time to minutes; any other text stays."""
    return f"{iso[:10]} {iso[11:16]} UTC" if len(iso) >= 17 and iso.endswith("Z") else iso


def counted(number: int, word: str) -> str:
    """Return "1 host", "1,200 hosts"."""
    return f"{number:,} {word if number == 1 else word + 's'}"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(_HERE, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        auto_reload=False,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    made.filters |= {"clip": clip, "minute": minute, "counted": counted, "grouped": "{:,}".format}
    return made


def _plain(value: Any) -> Any:
    """Return a JSON value with the texts in it made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _file(name: str) -> str:
    return files(_HERE).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
