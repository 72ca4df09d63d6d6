"""Moments as the log counts them: in milliseconds since the epoch."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

__all__ = ["milliseconds", "moment"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(timestamp: datetime | str, *, up: bool = False) -> int:
    """A ``datetime`` with a zone, or ISO text with one, rounded down or up."""
    given = datetime.fromisoformat(timestamp.replace("Z", "+00:00")) if isinstance(timestamp, str) else timestamp
    if given.tzinfo is None:
        raise ValueError(f"timestamp {timestamp!r} has no time zone: write it with one, such as 2026-03-01T12:00:00Z")
    whole, rest = divmod(given - _EPOCH, _MILLISECOND)
    return whole + 1 if up and rest else whole


def moment(milliseconds: int) -> datetime:
    """The moment, in UTC."""
    seconds, rest = divmod(milliseconds, 1_000)
    return datetime.fromtimestamp(seconds, tz=timezone.utc).replace(microsecond=rest * 1_000)
