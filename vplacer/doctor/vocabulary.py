"""Words that may stay in a text of others when a report is made fit for the public.

A list of what may stay, not of what must go: whatever nobody thought of is hidden. Single words of the
English that faults are written in tell nothing of a site; anything with a dot, a slash, an at sign or a
digit in it may, and stays only where its form says what it is.
"""

from __future__ import annotations

import re
from typing import Final

_TEXT: Final = """
a about access account active after again all already an and answer answered any api are as at
available be because been before but by call called calls can cannot certificate changed client
closed cluster code column columns command communication complete completed component configuration
connect connected connection correct could count current data datastore deleted denied device
devices did disconnected do does done driver empty entity entry error esxi esxtop exceed exceeded
exist existing exists expected expired fail failed failure fault few field file folder for forbidden found
from gateway general given gives got graphics group has have held holds host hosts http id in
incorrect information instance internal invalid is it its key lack lacked lacks layer licence
license licenses limit link list listed loss lost manager many memory method missing mode module
more name named names needed needs network never new no node nodes none not nothing number numbers
object objects occurred of off offered offers on one only operation option or other out parameter
password path pci perform performed permission pool port power powered privilege privileges profile
property protocol proxy range read reading ready reason received recorded refused request requested
required requires reset resource response returned role same see sent server service services
session set setting since soap some specified specify ssl state status still stopped storage
supported system tagging tags task temporarily terminated than that the their there this time timed
timeout tls to too type unable unauthorized unavailable unexpected unknown unset unsupported use
used user value vcenter version vgpu virtual vm vms was were what when which while with without word
words yet you
"""
_METHODS: Final = """
ContinueRetrievePropertiesEx CreateContainerView CurrentTime DestroyView ExecuteSimpleCommand
FetchUserPrivilegeOnEntities HasPrivilegeOnEntities HasUserPrivilegeOnEntities QueryAssignedLicenses
QueryConfigOptionDescriptor QueryConfigOptionEx QueryConfigTarget QueryDateTime QueryOptions QueryServiceList
RetrievePropertiesEx
"""
_WORDS: Final = frozenset(_TEXT.split()) | frozenset(_METHODS.casefold().split())

_FORMS: Final = (
    re.compile(r"(?:vim\.|vmodl\.)?(?:fault\.)?[A-Z][A-Za-z]{1,40}(?:Fault|Error|Found|Property|Argument"
               r"|Permission|Authenticated|Connected|Reachable|Supported|Request|State|Name|Login)"),
    re.compile(r"(?:System|Global|Host|VirtualMachine|Resource|Network|Datastore|Sessions)"
               r"(?:\.[A-Z][A-Za-z]{1,40}){1,3}"),
    re.compile(r"govc|object\.save"),
    re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]"),
)  # fmt: skip
"""Types of faults, privilege ids, the tool of saved folders, PCI addresses."""
_NUMBER: Final = re.compile(r"[0-9]{1,6}")


def common_word(word: str) -> bool:
    """Whether a word is one that anybody writes: that something is called so does not show."""
    return word.casefold() in _WORDS or _NUMBER.fullmatch(word) is not None


def known_word(word: str) -> bool:
    """Whether a word that names nothing in the inventory tells nothing of a site."""
    return common_word(word) or any(form.fullmatch(word) for form in _FORMS)
