"""What operations return: the version, the table as of it, and the operation's metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.table import Table

__all__ = [
    "ChangeMetrics",
    "ChangeResult",
    "CommitResult",
    "OptimizeMetrics",
    "OptimizeResult",
    "VacuumMetrics",
    "VacuumResult",
    "WriteMetrics",
]

_Metrics = TypeVar("_Metrics")


@dataclass(frozen=True, kw_only=True)
class Result(Generic[_Metrics]):
    """What the results of all operations have."""

    #: The version that it became, or the latest one if there was nothing to do.
    version: int
    metrics: _Metrics
    #: The table as of that version.
    table: Table


@dataclass(frozen=True)
class WriteMetrics:
    """What a write did."""

    #: New files, their rows (with those that were copied) and their sizes.
    added_files: int = 0
    output_rows: int = 0
    output_bytes: int = 0
    #: Files that made way, and their sizes.
    removed_files: int = 0
    removed_bytes: int = 0
    #: Rows that stayed but had to move to new files.
    copied_rows: int = 0
    #: Rows that made way; none where the log does not tell how many there were, and where nothing was to make way.
    deleted_rows: int | None = None
    #: Files of changed rows, for the change data feed.
    change_files: int = 0
    #: How often another writer was faster.
    conflicts: int = 0


@dataclass(frozen=True, kw_only=True)
class CommitResult(Result[WriteMetrics]):
    """What came of a write."""

    #: False if there was nothing to do: the table was to be left alone, or knew the write already.
    committed: bool


@dataclass(frozen=True)
class ChangeMetrics:
    """What a change of rows did."""

    #: Rows that are gone; None where the log does not tell how many there were.
    deleted_rows: int | None = None
    #: Rows that are others now, and rows that are new.
    updated_rows: int = 0
    inserted_rows: int = 0
    #: Rows that stayed but had to move to new files.
    copied_rows: int = 0
    #: Rows of a merge's source.
    source_rows: int = 0
    #: New files and their sizes, and files that are gone.
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    #: Files of changed rows, for the change data feed.
    change_files: int = 0
    #: Files that got a deletion vector, got another one, or are gone with theirs.
    deletion_vectors_added: int = 0
    deletion_vectors_updated: int = 0
    deletion_vectors_removed: int = 0
    #: Files that had to be looked at and their sizes.
    scanned_files: int = 0
    scanned_bytes: int = 0
    #: Files that were ruled out; some may have left the table since its last checkpoint. What ``explain`` tells is exact.
    skipped_by_partition: int = 0
    skipped_by_statistics: int = 0
    #: What went to disk because it did not fit into memory.
    spilled_bytes: int = 0
    #: The most that the process had reserved of its memory budget meanwhile.
    peak_memory_bytes: int = 0
    #: How often another writer was faster.
    conflicts: int = 0


@dataclass(frozen=True, kw_only=True)
class ChangeResult(Result[ChangeMetrics]):
    """What came of a change of rows."""

    #: False if there was nothing to do: no row was concerned, or the table knew the change already.
    committed: bool


@dataclass(frozen=True)
class OptimizeMetrics:
    """What was done."""

    #: Groups of files that were written anew, and groups that were given up because another writer changed one of their files.
    groups: int = 0
    lost_groups: int = 0
    #: New files and their sizes, and files that are gone.
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    #: Files among those that are gone that had a deletion vector.
    deletion_vectors_removed: int = 0
    #: Rows of the new files.
    rows: int = 0
    #: Files that stayed and got statistics.
    described_files: int = 0
    #: Files that were looked at in the log.
    scanned_files: int = 0
    #: What went to disk because it did not fit into memory.
    spilled_bytes: int = 0
    #: The most that the process had reserved of its memory budget meanwhile.
    peak_memory_bytes: int = 0
    #: How often another writer was faster.
    conflicts: int = 0
    #: The sizes of the new files: the smallest, at a quarter, at half, at three quarters of the way, and the largest.
    file_sizes: tuple[int, ...] | None = None
    #: How many of the groups were clustered in which way: ``zorder``, ``hilbert``, ``kdtree``.
    methods: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OptimizeResult(Result[OptimizeMetrics]):
    """What came of it."""

    #: How many versions it became.
    commits: int


@dataclass(frozen=True)
class VacuumMetrics:
    """What a vacuum did."""

    #: Files that were looked at, in folders, in an inventory, or among what commits removed; and folders that were looked into.
    listed_files: int = 0
    listed_folders: int = 0
    #: Files that no version needs, but that are younger than the retention.
    young_files: int = 0
    #: Files that were to go and their sizes; a commit does not tell the sizes of deletion vectors' files.
    found_files: int = 0
    found_bytes: int = 0
    #: Files that went and their sizes, and those that were not there any more.
    deleted_files: int = 0
    deleted_bytes: int = 0
    missing_files: int = 0
    #: Folders of this machine that went: old ones with nothing in them.
    deleted_folders: int = 0


@dataclass(frozen=True, kw_only=True)
class VacuumResult(Result[VacuumMetrics]):
    """What came of a vacuum."""

    #: Whether nothing was done: ``files`` is what would go.
    dry_run: bool
    #: What went: ``path`` below the table, ``size_bytes``, ``modification_time`` (null where nobody asked for it). At most a million.
    files: pa.Table
