"""Checks of the vCenter itself: version, certificate, clocks, sessions, speed."""

from __future__ import annotations

from vplacer.doctor.checks.common import SHOWN, differs, few, not_applicable, not_checked, ok
from vplacer.doctor.marks import named
from vplacer.doctor.model import Evidence, Finding, Outcome
from vplacer.doctor.observed import Clocks, Limits, Transport, Untold
from vplacer.inventory.limits_table import parse_release

FEATURES: tuple[tuple[str, str], ...] = (
    ("8.0.1.0", "host flags for device groups and hot-plug of fixed passthrough"),
    ("8.0.3.0", "vGPU mode of each card (same size, mixed size, MIG)"),
    ("9.0.0.0", "physical slots of PCI devices"),
    ("9.1.0.0", "which card each VM holds (pciId of bindings), DirectPath state of devices"),
)
"""API version and what it brought; older servers leave it out without a word (pyVmomi type tables)."""

_MAX_SKEW_S = 60.0
_SLOW_S = 5.0


def api_version(evidence: Evidence) -> Finding:
    """Name what the negotiated version lacks, and hosts older than the vCenter."""
    inventory = evidence.inventory
    if isinstance(inventory, Untold):
        return not_checked(inventory)
    spoken = _numbers(inventory.about.api_version)
    if not spoken:
        return not_checked(Untold("the API version is no number", failed=True))
    lacks = [f"from {version}: {what}" for version, what in FEATURES if spoken < _numbers(version)]
    own = parse_release(inventory.about.version)
    older = [
        f"{named('host', host.moid)} runs ESXi {host.version}"
        for host in inventory.hosts
        if own is not None and (release := parse_release(host.version)) is not None and release < own
    ]
    text = f"API {inventory.about.api_version}, vCenter {inventory.about.version}"
    if not lacks and not older:
        return ok(text)
    told = [*(f"not in this API: {what}" for what in lacks), *few(older)]
    return Finding(
        outcome=Outcome.OK,
        text=f"{text}; what newer versions tell is not known here",
        evidence=tuple(told),
        advice="nothing is wrong; facts that newer versions bring are reported as not known",
    )


def certificate(facts: Transport, _evidence: Evidence) -> Finding:
    """Say whether the certificate was verified."""
    if facts.verification == "verified":
        return ok(f"the certificate was verified with {facts.authorities}")
    if facts.verification == "none":
        return not_applicable("no connection was made")
    return differs(
        "the certificate was not verified",
        ("--insecure: whoever answers there gets the password",),
        "use --ca-file with the authority that issued it",
    )


def clocks(facts: Clocks, _evidence: Evidence) -> Finding:
    """Compare the clocks of client, vCenter and hosts."""
    wrong = []
    if abs(facts.vcenter_minus_client_s) > _MAX_SKEW_S + facts.round_trip_s:
        wrong.append(f"vCenter: {_signed(facts.vcenter_minus_client_s)} s against this machine")
    read = {moid: skew for moid, skew in facts.hosts.items() if not isinstance(skew, Untold)}
    for moid, ahead in sorted(read.items()):
        apart = ahead - facts.vcenter_minus_client_s
        if abs(apart) > _MAX_SKEW_S:
            wrong.append(f"{named('host', moid)}: {_signed(apart)} s against the vCenter")
    unread = len(facts.hosts) - len(read)
    looked = f"clocks of {facts.sample.words} hosts asked, {unread} did not answer"
    if wrong:
        return differs(
            "clocks differ by more than a minute",
            (*few(wrong), looked),
            "set up NTP on hosts and vCenter; measured homes and overlays are dated by these clocks",
        )
    skew = _signed(facts.vcenter_minus_client_s)
    if facts.sample.of and not read:
        return Finding(Outcome.NOT_CHECKED, "no host told its clock", (looked,), failed=True)
    return ok(f"within a minute; vCenter {skew} s against this machine", looked)


def sessions(facts: Limits, _evidence: Evidence) -> Finding:
    """Tell how many sessions there are and what limits them."""
    told = []
    if isinstance(facts.sessions, Untold):
        told.append(f"number of sessions: {facts.sessions.why}")
    else:
        told.append(f"{facts.sessions} sessions now")
    if isinstance(facts.settings, Untold):
        told.append(f"settings: {facts.settings.why}")
    else:
        told += [f"{key} = {value}" for key, value in sorted(facts.settings.items())]
    if isinstance(facts.sessions, Untold) and isinstance(facts.settings, Untold):
        failed = facts.sessions.failed and facts.settings.failed
        return not_checked(Untold("; ".join(told), failed=failed))
    if not isinstance(facts.sessions, Untold) and facts.sessions > 500:
        return differs(
            "there are very many sessions",
            told,
            "look for clients that never log out; a vCenter refuses new sessions beyond its limit",
        )
    return ok("sessions can be opened", *told)


def speed(evidence: Evidence) -> Finding:
    """Tell how long calls took."""
    if isinstance(evidence.observed, Untold):
        return not_checked(evidence.observed)
    calls = sorted(evidence.observed.calls, key=lambda call: (-call.longest_s, call.method))
    if not calls:
        return not_applicable("no call was made")
    told = [
        f"{call.method}: {call.count} calls, {call.total_s / call.count:.2f} s each, "
        f"longest {call.longest_s:.2f} s"
        for call in calls[: SHOWN * 2]
    ]
    slow = [call for call in calls if call.longest_s > _SLOW_S]
    if slow:
        return differs(
            f"{len(slow)} kinds of calls took more than {_SLOW_S:.0f} s",
            told,
            "look at the load of the vCenter and at the network between; reading takes as long as it does",
        )
    return ok("calls are answered quickly", *told)


def _signed(seconds: float) -> str:
    return f"{seconds:+.0f}"


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
