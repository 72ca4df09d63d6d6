"""Timestamps as in the log: milliseconds since the epoch."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

from lakebed.errors import InvalidInputError

__all__ = ["milliseconds", "moment"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(name: str, timestamp: Any, *, up: bool = False) -> int:
    """Converts a ``datetime`` with a zone, or ISO text with one, rounded down or up.

    `name` is the argument's name, for messages.
    """
    given = f"{name}={timestamp!r}"
    if isinstance(timestamp, str):
        try:
            found = datetime.fromisoformat(timestamp.strip().replace("Z", "+00:00"))
        except ValueError:
            raise InvalidInputError(f"{given}: it is not a timestamp in ISO format, such as 2026-03-01T12:00:00Z") from None
    elif isinstance(timestamp, datetime):
        found = timestamp
    elif isinstance(timestamp, date):
        raise TypeError(
            f"{given}: a date has neither a time nor a zone: pass a datetime with a zone, or a string such as 2026-03-01T00:00:00Z"
        )
    else:
        raise TypeError(f"{given}: it must be a datetime with a zone, or an ISO string with one, such as 2026-03-01T12:00:00Z")
    if found != found:
        raise InvalidInputError(f"{given}: it is not a timestamp")
    if found.tzinfo is None:
        raise InvalidInputError(f"{given}: it has no time zone: write it with one, such as 2026-03-01T12:00:00Z")
    whole, rest = divmod(found - _EPOCH, _MILLISECOND)
    return whole + 1 if up and rest else whole


def moment(milliseconds: int) -> datetime:
    """Returns the timestamp in UTC."""
    seconds, rest = divmod(milliseconds, 1_000)
    return datetime.fromtimestamp(seconds, tz=timezone.utc).replace(microsecond=rest * 1_000)
