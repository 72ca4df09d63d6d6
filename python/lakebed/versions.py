"""Versions of a table: going back to one, naming one, and comparing two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakebed.history import History, entry
from lakebed.results import RestoreMetrics, RestoreResult
from lakebed.times import moment

if TYPE_CHECKING:
    from lakebed.table import Table

__all__ = ["FilesDifference", "SchemaDifference", "Tag", "VersionDifference", "diff", "restore", "tags"]


@dataclass(frozen=True)
class Tag:
    """The name of a version."""

    name: str
    version: int
    #: The time when the tag was set.
    created_at: datetime


@dataclass(frozen=True)
class SchemaDifference:
    """The columns in which two versions differ. A nested field is named by its path: ``a.b``."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    #: The old and the new name of columns.
    renamed: tuple[tuple[str, str], ...] = ()
    #: The name, the old type and the new type of columns.
    retyped: tuple[tuple[str, str, str], ...] = ()
    #: The name of columns, and whether they may have nulls now.
    nullability: tuple[tuple[str, bool], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a difference."""
        return self != SchemaDifference()


@dataclass(frozen=True)
class FilesDifference:
    """The data files that two versions do not have in common."""

    #: Files that only the newer version has, with their bytes and their rows without deleted ones.
    #: The rows are None if the log has no row count for one of the files.
    added_files: int = 0
    added_bytes: int = 0
    added_rows: int | None = 0
    #: Files that only the older version has.
    removed_files: int = 0
    removed_bytes: int = 0
    removed_rows: int | None = 0
    #: Files that both have, with different deletion vectors, and how many more of their rows are
    #: deleted.
    changed_files: int = 0
    changed_bytes: int = 0
    changed_deleted_rows: int = 0


@dataclass(frozen=True)
class VersionDifference:
    """The difference of two versions of a table."""

    from_version: int
    to_version: int
    schema: SchemaDifference
    #: The properties that differ: their values before and after. None means not set.
    properties: dict[str, tuple[str | None, str | None]]
    #: Table features that only one of the versions has.
    features_added: tuple[str, ...]
    features_dropped: tuple[str, ...]
    #: The columns before and after, if they differ.
    partition_columns: tuple[tuple[str, ...], tuple[str, ...]] | None
    clustering_columns: tuple[tuple[str, ...], tuple[str, ...]] | None
    files: FilesDifference
    #: The commits between the versions that the log still has, newest first.
    commits: History


def restore(table: Table, options: dict[str, Any]) -> RestoreResult:
    """Brings an open table back to an older version."""
    made, version, committed, metrics = table._table.restore(options)
    newer = table._with(made)
    return RestoreResult(
        version=newer.version,
        metrics=RestoreMetrics(**metrics),
        restored_version=version,
        committed=committed,
        dry_run=bool(options["dry_run"]),
        table=newer,
    )


def tags(found: Sequence[tuple[str, int, int]]) -> tuple[Tag, ...]:
    """Converts the tags of `_lakebed`."""
    return tuple(Tag(name, version, moment(created_at)) for name, version, created_at in found)


def diff(table: Table, start: int, end: int) -> VersionDifference:
    """Compares two versions of an open table."""
    found, commits = table._table.diff(start, end)
    schema: dict[str, Any] = {
        name: tuple(tuple(one) if isinstance(one, list) else one for one in ones) for name, ones in found["schema"].items()
    }
    both = {name: _pair(found[name]) for name in ("partition_columns", "clustering_columns")}
    return VersionDifference(
        from_version=found["from_version"],
        to_version=found["to_version"],
        schema=SchemaDifference(**schema),
        properties=found["properties"],
        features_added=tuple(found["features_added"]),
        features_dropped=tuple(found["features_dropped"]),
        partition_columns=both["partition_columns"],
        clustering_columns=both["clustering_columns"],
        files=FilesDifference(**found["files"]),
        commits=History([entry(*commit) for commit in commits]),
    )


def _pair(found: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    return None if found is None else (tuple(found[0]), tuple(found[1]))
