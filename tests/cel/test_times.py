from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indult.cel import Duration, Env, Timestamp, check, program
from indult.cel.times import timestamp_part
from indult.errors import EvaluationError

MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), timezones=st.just(UTC))  # noqa: DTZ001
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def value(source: str) -> Any:
    """Return what an expression gives."""
    return program(check(source, Env({}), expect=None))({})


def stamp(moment: datetime) -> Timestamp:
    """Return a moment as a timestamp of the language."""
    return Timestamp((moment - EPOCH) // timedelta(microseconds=1) * 1000)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("string(timestamp('2009-02-13T23:31:30Z'))", "2009-02-13T23:31:30Z"),
        ("string(timestamp('2009-02-13T23:31:30.123456789Z'))", "2009-02-13T23:31:30.123456789Z"),
        ("string(timestamp('2009-02-13T23:31:30.5+01:30'))", "2009-02-13T22:01:30.500Z"),
        ("string(timestamp(0))", "1970-01-01T00:00:00Z"),
        ("string(duration('1h2m3.5s'))", "3723.500s"),
        ("string(duration('-1us'))", "-0.000001s"),
        ("string(duration('0'))", "0s"),
        ("duration('90m') == duration('1h30m')", True),
        ("duration('1h') > duration('59m')", True),
        ("timestamp('2024-02-28T00:00:00Z') + duration('24h') == timestamp('2024-02-29T00:00:00Z')", True),
        ("timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-28T00:00:00Z') == duration('48h')", True),
        ("timestamp('2024-01-01T00:00:00Z') < timestamp('2024-01-01T00:00:00.000000001Z')", True),
        ("duration('3730s').getMinutes()", 62),
        ("duration('-3730s').getHours()", -1),
        ("duration('1.25s').getMilliseconds()", 250),
        ("timestamp('2009-02-13T23:31:30Z').getDayOfWeek()", 5),
        ("timestamp('2009-02-13T23:31:30Z').getMonth()", 1),
        ("timestamp('2009-02-13T23:31:30Z').getDate('Australia/Sydney')", 14),
        ("timestamp('2009-02-13T23:31:30Z').getHours('-09:30')", 14),
        ("timestamp('2009-07-13T23:31:30Z').getHours('Europe/London')", 0),
        ("timestamp('9999-12-31T23:59:59Z').getFullYear('Asia/Tokyo')", 10000),
    ],
)
def test_times(source: str, expected: object) -> None:
    """Timestamps and durations compare, add up, and come apart in UTC or in a time zone."""
    assert expected == value(source)


@pytest.mark.parametrize(
    "source",
    [
        "timestamp('2009-02-13')",
        "timestamp('2009-02-13 23:31:30Z')",
        "timestamp('2009-02-30T00:00:00Z')",
        "timestamp('2009-02-13T24:00:00Z')",
        "timestamp('2009-02-13T23:59:60Z')",
        "timestamp('2009-02-13T23:31:30')",
        "timestamp('0000-01-01T00:00:00Z')",
        "timestamp('0001-01-01T00:00:00+00:01')",
        "timestamp(253402300800)",
        "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
        "duration('')",
        "duration('1')",
        "duration('1d')",
        "duration('1h ')",
        "duration('--1h')",
        "duration('315576000001s')",
        "duration('9000000000s') + duration('9000000000s')",
        "timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')",
        "timestamp(0).getHours('Nowhere/Else')",
        "timestamp(0).getHours('localtime')",
        "timestamp(0).getHours('../../etc/passwd')",
        "timestamp(0).getHours('+25:00')",
    ],
)
def test_refused(source: str) -> None:
    """A time that does not exist, does not fit or names no zone is an error."""
    with pytest.raises(EvaluationError):
        value(source)


@given(MOMENTS)
def test_the_calendar_is_pythons(moment: datetime) -> None:
    """Text, date, clock, weekday and day of the year agree with the standard library."""
    ours = stamp(moment)
    parts = [
        timestamp_part(ours, name)
        for name in ("getFullYear", "getMonth", "getDate", "getHours", "getMinutes", "getSeconds", "getDayOfYear")
    ]
    theirs = [
        moment.year, moment.month - 1, moment.day, moment.hour, moment.minute, moment.second,
        moment.timetuple().tm_yday - 1,
    ]  # fmt: skip

    assert theirs == parts
    assert (moment.weekday() + 1) % 7 == timestamp_part(ours, "getDayOfWeek")
    assert ours == Timestamp.parse(str(ours))
    assert ours == Timestamp.parse(moment.isoformat())


@given(MOMENTS.filter(lambda moment: 1900 < moment.year < 2100), st.sampled_from(["America/New_York", "Asia/Kolkata"]))
def test_zones_are_pythons(moment: datetime, zone: str) -> None:
    """The hour in a time zone is the one that the standard library finds."""
    local = moment.astimezone(ZoneInfo(zone))

    assert (local.hour, local.minute) == (
        timestamp_part(stamp(moment), "getHours", zone),
        timestamp_part(stamp(moment), "getMinutes", zone),
    )


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_durations_read_back(nanos: int) -> None:
    """A duration reads back from its own text."""
    assert Duration(nanos) == Duration.parse(str(Duration(nanos)))
