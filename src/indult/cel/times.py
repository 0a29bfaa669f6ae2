"""Timestamps and durations, exact to the nanosecond.

Python's datetime stops at microseconds and costs milliseconds to import, so both are plain integers here; `zoneinfo` is
imported only when an expression names a time zone.
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import TYPE_CHECKING, Final

from indult.errors import EvaluationError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

__all__ = ["Duration", "Timestamp", "add_times", "duration_part", "subtract_times", "timestamp_part"]

_SECOND: Final = 10**9
_DAY: Final = 86_400 * _SECOND
_FIRST: Final = -62_135_596_800 * _SECOND
_LAST: Final = 253_402_300_800 * _SECOND - 1
_LONGEST: Final = 315_576_000_000 * _SECOND + _SECOND - 1
_INT64: Final = 2**63

# Texts, not compiled patterns: `re` compiles each on first use and keeps it, and most programs use none of them.
_RFC3339: Final = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_TERM: Final = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_OFFSET: Final = r"([+-]?)([0-9]{2}):([0-9]{2})"
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3_600 * _SECOND,
}


@total_ordering
class Timestamp:
    """An instant between 0001-01-01 and 9999-12-31, as nanoseconds since 1970 in UTC."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        if not _FIRST <= nanos <= _LAST:
            raise EvaluationError("timestamp is out of range: years run from 1 to 9999")
        self.nanos = nanos

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Return the instant of an RFC 3339 text."""
        match = re.fullmatch(_RFC3339, text)
        if match is None:
            raise EvaluationError(f"not an RFC 3339 timestamp: `{text[:64]}`")
        year, month, day, hour, minute, second = map(int, match.groups()[:6])
        if not (
            1 <= month <= 12 and 1 <= day <= _month_days(year, month) and hour < 24 and minute < 60 and second < 60
        ):
            raise EvaluationError(f"no such date or time: `{text}`")
        fraction, zone = match.group(7) or "", match.group(8)
        seconds = _days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - _fixed_offset(zone)
        return cls(seconds * _SECOND + int(fraction[:9].ljust(9, "0")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __lt__(self, other: Timestamp) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        days, rest = divmod(self.nanos, _DAY)
        year, month, day = _civil(days)
        seconds, nanos = divmod(rest, _SECOND)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{year:04}-{month:02}-{day:02}T{clock}{_fraction(nanos)}Z"

    def __repr__(self) -> str:
        return f'timestamp("{self}")'


@total_ordering
class Duration:
    """A length of time of at most 10,000 years, as nanoseconds."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        if not -_LONGEST <= nanos <= _LONGEST:
            raise EvaluationError("duration is out of range: at most 315576000000s")
        self.nanos = nanos

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Return the length of a text such as `1h30m`, `-1.5s` or `250ms`."""
        body = text[1:] if text[:1] in ("+", "-") else text
        nanos, at = 0, 0
        for match in re.finditer(_TERM, body[:256]):
            if match.start() != at:
                break
            whole, _, fraction = match.group(1).partition(".")
            unit = _UNITS[match.group(2)]
            nanos += int(whole or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
            at = match.end()
        if body != "0" and (at == 0 or at != len(body)):
            raise EvaluationError(f"not a duration: `{text[:64]}`")
        return cls(-nanos if text[0] == "-" else nanos)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __lt__(self, other: Duration) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        seconds, nanos = divmod(abs(self.nanos), _SECOND)
        return f"{'-' if self.nanos < 0 else ''}{seconds}{_fraction(nanos)}s"

    def __repr__(self) -> str:
        return f'duration("{self}")'


def add_times(a: Timestamp | Duration, b: Timestamp | Duration) -> Timestamp | Duration:
    """Return the sum of two durations, or of a timestamp and a duration in either order."""
    if isinstance(a, Timestamp) or isinstance(b, Timestamp):
        return Timestamp(a.nanos + b.nanos)
    return _narrow(a.nanos + b.nanos)


def subtract_times(a: Timestamp | Duration, b: Timestamp | Duration) -> Timestamp | Duration:
    """Return the difference of two timestamps or two durations, or a timestamp moved back by a duration."""
    if isinstance(a, Timestamp) and isinstance(b, Duration):
        return Timestamp(a.nanos - b.nanos)
    return _narrow(a.nanos - b.nanos)


def _narrow(nanos: int) -> Duration:
    # Computed durations are 64 bit nanoseconds (about 292 years), written ones may be longer: as in the specification.
    if not -_INT64 <= nanos < _INT64:
        raise EvaluationError("duration overflow")
    return Duration(nanos)


def duration_part(value: Duration, what: str) -> int:
    """Return the whole hours, minutes or seconds of a duration, or the milliseconds of its last second."""
    sign = -1 if value.nanos < 0 else 1
    nanos = abs(value.nanos)
    if what == "getMilliseconds":
        return sign * (nanos % _SECOND // 1_000_000)
    return sign * (nanos // _UNITS[{"getHours": "h", "getMinutes": "m", "getSeconds": "s"}[what]])


def timestamp_part(value: Timestamp, what: str, zone: str = "UTC") -> int:
    """Return the part of an instant that `what` (`getFullYear`, `getHours`, ...) asks for, seen in a time zone."""
    nanos = value.nanos
    if zone not in ("UTC", ""):
        nanos += _zone_offset(zone, value) * _SECOND
    days, rest = divmod(nanos, _DAY)
    match what:
        case "getHours":
            return rest // _UNITS["h"]
        case "getMinutes":
            return rest // _UNITS["m"] % 60
        case "getSeconds":
            return rest // _SECOND % 60
        case "getMilliseconds":
            return rest // 1_000_000 % 1_000
        case "getDayOfWeek":
            return (days + 4) % 7
    year, month, day = _civil(days)
    return {
        "getFullYear": year,
        "getMonth": month - 1,
        "getDate": day,
        "getDayOfMonth": day - 1,
        "getDayOfYear": days - _days(year, 1, 1),
    }[what]


def _fraction(nanos: int) -> str:
    """Return no, three, six or nine digits behind a point."""
    if nanos == 0:
        return ""
    if nanos % 1_000_000 == 0:
        return f".{nanos // 1_000_000:03}"
    return f".{nanos // 1_000:06}" if nanos % 1_000 == 0 else f".{nanos:09}"


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar."""
    # Years are taken to begin in March, so that the leap day is the last of its year.
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of the date `days` after 1970-01-01."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return era * 400 + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def _month_days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _fixed_offset(zone: str) -> int:
    """Return the seconds of `Z`, `+01:00` or `01:00`."""
    if zone in ("Z", "z"):
        return 0
    match = re.fullmatch(_OFFSET, zone)
    if match is None or int(match.group(2)) > 23 or int(match.group(3)) > 59:
        raise EvaluationError(f"unknown time zone `{zone[:64]}`")
    seconds = int(match.group(2)) * 3_600 + int(match.group(3)) * 60
    return -seconds if match.group(1) == "-" else seconds


def _zone_offset(zone: str, value: Timestamp) -> int:
    if ":" in zone:
        return _fixed_offset(zone)
    from datetime import UTC, datetime, timedelta

    # Python's calendar has no room for the shift at either end of it; the zone's rule there is that of the last years.
    seconds = min(max(value.nanos // _SECOND, _FIRST // _SECOND + 172_800), _LAST // _SECOND - 172_800)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = moment.astimezone(_zone(zone)).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo

    # These two name whatever zone the machine is in; a verdict must not depend on that.
    if name in ("localtime", "posixrules"):
        raise EvaluationError(f"unknown time zone `{name}`")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as exc:
        raise EvaluationError(f"unknown time zone `{name[:64]}`") from exc
