"""Versions and timestamps, as deltalake takes them."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

import lakebed

__all__ = ["moment", "opened"]

#: A date, a time and a zone, which deltalake demands.
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def moment(given: str | datetime) -> datetime:
    """Returns a timestamp with a zone. A ``datetime`` without one is in UTC."""
    if isinstance(given, datetime):
        return given if given.tzinfo is not None else given.replace(tzinfo=timezone.utc)
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is of type {type(given).__name__}: it must be a version, a datetime, or a string")
    if _TIMESTAMP.fullmatch(given.strip()) is None:
        raise ValueError(f"Failed to parse datetime string: {given!r} is not like 2026-03-01T12:00:00Z, with a zone")
    text = re.sub(r"\.(\d{1,6})\d*", lambda found: f".{found[1]:0<6}", given.strip())
    return datetime.fromisoformat(text.upper().replace("Z", "+00:00"))


def opened(table: lakebed.Table, version: int | str | datetime, storage: dict[str, Any]) -> lakebed.Table:
    """Opens another version of a table.

    A timestamp after the newest commit stands for that commit, and one before the oldest for the
    oldest one.
    """
    if isinstance(version, int) and not isinstance(version, bool):
        return lakebed.Table(table.uri, version=version, **storage)
    if not isinstance(version, (str, datetime)):
        raise TypeError("Invalid datatype provided for version, only int, str or datetime are accepted.")
    wanted = moment(version)
    try:
        return lakebed.Table(table.uri, timestamp=wanted, **storage)
    except lakebed.VersionNotFoundError:
        newest = table.refresh()
        commits = newest.history()
        if commits and commits[0].timestamp <= wanted:
            return newest
        if not commits or commits[-1].timestamp <= wanted:
            raise
        return lakebed.Table(table.uri, version=commits[-1].version, **storage)
