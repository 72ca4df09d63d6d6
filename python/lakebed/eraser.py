"""Erase: rows go from a table and from its files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakebed.results import Result
from lakebed.times import moment

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["EraseMetrics", "EraseResult", "HoldingVersions", "erase"]


@dataclass(frozen=True)
class EraseMetrics:
    """The metrics of an erase."""

    #: Rows that left the newest version. None if the log has no row count of a file that was removed
    #: as a whole.
    erased_rows: int | None = None
    #: Rows that were copied to new files.
    copied_rows: int = 0
    added_files: int = 0
    added_bytes: int = 0
    #: Files that left the newest version, and their bytes. A dry run counts those that would.
    removed_files: int = 0
    removed_bytes: int = 0
    #: Removed files that had a deletion vector.
    deletion_vectors_removed: int = 0
    #: Removed files in which all matching rows had been deleted before.
    purged_files: int = 0
    #: Files that were deleted from the store, with the bytes of data files and change data files.
    deleted_files: int = 0
    deleted_bytes: int = 0
    #: Files of the log that were deleted or emptied.
    deleted_log_files: int = 0
    #: Files outside of the table's folder that hold matching rows. They belong to the source of a
    #: shallow clone and stay.
    outside_files: int = 0
    #: Files in which rows were searched, and their bytes.
    scanned_files: int = 0
    scanned_bytes: int = 0
    #: Conflicts with commits of other writers.
    conflicts: int = 0


@dataclass(frozen=True)
class HoldingVersions:
    """Consecutive older versions that hold matching rows."""

    first_version: int
    last_version: int
    #: Files of these versions that hold matching rows.
    data_files: int
    change_files: int
    #: Files that were deleted before, and that may have held such rows by their statistics in
    #: the log. The log may hold values of these rows.
    missing_files: int
    #: Files for which the predicate could not be decided. They count as holding such rows.
    undecided_files: int
    #: The time from which a vacuum deletes these files. None if a tag keeps them, or if they were all
    #: deleted before.
    files_until: datetime | None
    #: The time from which a cleanup of the log deletes the log of these versions. None if a tag keeps
    #: it.
    log_until: datetime | None
    #: The tags of these versions. As long as a version has a tag, its files stay.
    tags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EraseResult(Result[EraseMetrics]):
    """The result of an erase."""

    #: False if nothing was committed: nothing holds matching rows, or it is a dry run.
    committed: bool
    #: Whether it was a dry run.
    dry_run: bool
    #: The versions that still hold matching rows, oldest first. In a dry run, the newest version may
    #: be among them.
    older_versions: tuple[HoldingVersions, ...]


def erase(table: Table, options: dict[str, Any]) -> EraseResult:
    """Erases rows of an open table."""
    made, committed, metrics, older = table._table.erase(options)
    newer = table._with(made)
    return EraseResult(
        version=newer.version,
        metrics=EraseMetrics(**metrics),
        committed=committed,
        dry_run=bool(options["dry_run"]),
        older_versions=tuple(_holding(found) for found in older),
        table=newer,
    )


def _holding(found: dict[str, Any]) -> HoldingVersions:
    until = {name: found.pop(f"{name}_ms") for name in ("files_until", "log_until")}
    times = {name: None if time is None else moment(time) for name, time in until.items()}
    return HoldingVersions(**{**found, **times, "tags": tuple(found["tags"])})
