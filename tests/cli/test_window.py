"""`--window`: which span of time a text means, by the clock and the zone of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Runner
from vplacer.cli.window import parse_window

BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
"""Middle Europe, by rule: the same on machines without a list of zones."""


@pytest.fixture(params=["UTC0", BERLIN, "EST5"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield from _zone(request.param, monkeypatch)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield from _zone(BERLIN, monkeypatch)


def _zone(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", name)
    time.tzset()
    yield name
    monkeypatch.undo()
    time.tzset()


def _local(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("text", "now", "start", "end"),
    [
        ("22:00/23:30", "2026-11-30T12:00", "2026-11-30T22:00", "2026-11-30T23:30"),  # the next one
        ("22:00/23:30", "2026-11-30T22:30", "2026-11-30T22:00", "2026-11-30T23:30"),  # the one that is open
        ("22:00/23:30", "2026-11-30T23:30", "2026-12-01T22:00", "2026-12-01T23:30"),  # it has just closed
        ("22:00/04:00", "2026-11-30T12:00", "2026-11-30T22:00", "2026-12-01T04:00"),  # over midnight
        ("22:00/04:00", "2026-11-30T23:00", "2026-11-30T22:00", "2026-12-01T04:00"),
        ("22:00/04:00", "2026-12-01T03:59", "2026-11-30T22:00", "2026-12-01T04:00"),
        ("22:00/04:00", "2026-12-01T04:00", "2026-12-01T22:00", "2026-12-02T04:00"),
        ("00:00/00:30", "2026-12-31T23:59", "2027-01-01T00:00", "2027-01-01T00:30"),
        ("23:00/0:00", "2026-11-30T12:00", "2026-11-30T23:00", "2026-12-01T00:00"),
        (" 9:00 / 9:30:15 ", "2026-11-30T12:00", "2026-12-01T09:00", "2026-12-01T09:30:15"),
        ("2026-11-30T22:00/2026-12-01T04:00", "2026-11-01T12:00", "2026-11-30T22:00", "2026-12-01T04:00"),
    ],
)
def test_a_span_by_the_machines_own_clock(text: str, now: str, start: str, end: str) -> None:
    window = parse_window(text, _local(now))
    assert (window.start, window.end) == (_local(start), _local(end))


def test_times_of_day_are_those_of_the_machine_whatever_the_zone_of_now(berlin: str) -> None:
    assert berlin
    window = parse_window("22:00/04:00", datetime(2026, 11, 30, 21, 30, tzinfo=UTC))
    assert window.start == datetime(2026, 11, 30, 21, 0, tzinfo=UTC)
    assert window.end == datetime(2026, 12, 1, 3, 0, tzinfo=UTC)


def test_points_in_time_with_a_zone_are_taken_by_it(berlin: str) -> None:
    assert berlin
    window = parse_window("2026-11-30T22:00-05:00/2026-12-01T04:00Z", datetime(2026, 1, 1, tzinfo=UTC))
    assert window.start == datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
    assert window.end == datetime(2026, 12, 1, 4, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "now", "hours"),
    [
        ("22:00/04:00", "2026-10-24T12:00", 7),  # clocks go back that night
        ("22:00/04:00", "2027-03-27T12:00", 5),  # and forward in that one
    ],
)
def test_a_night_in_which_the_clocks_change(berlin: str, text: str, now: str, hours: int) -> None:
    assert berlin
    window = parse_window(text, _local(now))
    assert (window.end - window.start).total_seconds() == hours * 3600


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected START/END"),
        ("22:00", "expected START/END"),
        ("22:00/", "give two times of day, or two dates with times"),
        ("22:00/2026-12-01T04:00", "give two times of day, or two dates with times"),
        ("22:00/22:00", "start and end are the same time"),
        ("24:00/04:00", "'24:00' is no time of day"),
        ("22:60/23:00", "'22:60' is no time of day"),
        ("tonight/tomorrow", "'tonight' is no time"),
        ("2026-12-01T04:00/2026-11-30T22:00", "it ends before it starts"),
        ("2026-12-01T04:00/2026-12-01T04:00", "it ends before it starts"),
        ("2026-12-01T04:00Z/2026-12-01T04:30+02:00", "it ends before it starts"),
        ("2026-11-31T04:00/2026-12-01T04:00", "'2026-11-31T04:00' is no time"),
    ],
)
def test_what_is_no_window(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="^" + why):
        parse_window(text, datetime(2026, 11, 30, 12, 0, tzinfo=UTC))


def test_the_command_line_says_so(vplacer: Runner) -> None:
    outcome = vplacer("apply plan.json --vcenter vc.example.com --window 22:00/22:00")
    assert (outcome.code, "start and end are the same time" in outcome.err) == (3, True)
