"""The results of operations: a version, the table at that version, and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.table import Table

__all__ = [
    "ChangeMetrics",
    "ChangeResult",
    "CloneMetrics",
    "CloneResult",
    "CommitResult",
    "ConvertMetrics",
    "ConvertResult",
    "DropFeatureMetrics",
    "DropFeatureResult",
    "ManifestResult",
    "OperationResult",
    "OptimizeMetrics",
    "OptimizeResult",
    "RestoreMetrics",
    "RestoreResult",
    "TransactionResult",
    "VacuumMetrics",
    "VacuumResult",
    "WriteMetrics",
]

_Metrics = TypeVar("_Metrics")


@dataclass(frozen=True, kw_only=True)
class Result(Generic[_Metrics]):
    """The fields that all results have."""

    #: The version of the commit, or the newest version if nothing was committed.
    version: int
    metrics: _Metrics
    #: The table at that version.
    table: Table


@dataclass(frozen=True)
class WriteMetrics:
    """The metrics of a write."""

    #: New data files, their rows (including copied rows) and their bytes.
    added_files: int = 0
    output_rows: int = 0
    output_bytes: int = 0
    #: Removed data files and their bytes.
    removed_files: int = 0
    removed_bytes: int = 0
    #: Rows that are unchanged, but were copied to new files.
    copied_rows: int = 0
    #: Replaced rows. None if the log has no row count for a removed file, or if nothing was
    #: replaced.
    deleted_rows: int | None = None
    #: Change data files.
    change_files: int = 0
    #: Conflicts with commits of other writers.
    conflicts: int = 0


@dataclass(frozen=True, kw_only=True)
class CommitResult(Result[WriteMetrics]):
    """The result of a write."""

    #: False if nothing was committed: the mode is ``ignore`` and the table exists, or the table
    #: knew the write already.
    committed: bool


@dataclass(frozen=True, kw_only=True)
class OperationResult:
    """One operation of a transaction, as the history of a commit of its own would show it."""

    #: The operation, such as ``"DELETE"``.
    name: str
    parameters: Mapping[str, Any]
    metrics: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class TransactionResult:
    """The result of a transaction with several operations."""

    #: The version of the commit, or the version on which the transaction began if nothing was
    #: committed.
    version: int
    #: False if there was no operation, or if the table knew the transaction already.
    committed: bool
    #: The operations, in order.
    operations: tuple[OperationResult, ...]
    #: Conflicts with commits of other writers.
    conflicts: int
    #: The table at that version.
    table: Table


@dataclass(frozen=True)
class ChangeMetrics:
    """The metrics of a change of rows."""

    #: Deleted rows. None if the log has no row count for a removed file.
    deleted_rows: int | None = None
    #: Updated rows and inserted rows.
    updated_rows: int = 0
    inserted_rows: int = 0
    #: Rows that are unchanged, but were copied to new files.
    copied_rows: int = 0
    #: Source rows of a merge.
    source_rows: int = 0
    #: New data files and removed data files, with their bytes.
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    #: Change data files.
    change_files: int = 0
    #: Files that got a first deletion vector, got another one, or were removed with one.
    deletion_vectors_added: int = 0
    deletion_vectors_updated: int = 0
    deletion_vectors_removed: int = 0
    #: Data files that were not skipped, and their bytes.
    scanned_files: int = 0
    scanned_bytes: int = 0
    #: Skipped data files. They may include files that left the table since its last checkpoint; the
    #: numbers of ``explain`` are exact.
    skipped_by_partition: int = 0
    skipped_by_statistics: int = 0
    #: Bytes that spilled to disk.
    spilled_bytes: int = 0
    #: The most memory that the process had reserved during the operation.
    peak_memory_bytes: int = 0
    #: Conflicts with commits of other writers.
    conflicts: int = 0


@dataclass(frozen=True, kw_only=True)
class ChangeResult(Result[ChangeMetrics]):
    """The result of a change of rows."""

    #: False if nothing was committed: no row matched, or the table knew the change already.
    committed: bool


@dataclass(frozen=True)
class CloneMetrics:
    """The metrics of a clone."""

    #: Data files of the source and their bytes.
    source_files: int = 0
    source_bytes: int = 0
    #: Data files that were copied and their bytes, and copied files of deletion vectors.
    copied_files: int = 0
    copied_bytes: int = 0
    copied_vector_files: int = 0
    #: Data files that left the target and their bytes.
    removed_files: int = 0
    removed_bytes: int = 0
    #: Data files that the target had already, and those that an interrupted clone had copied.
    kept_files: int = 0
    resumed_files: int = 0
    #: Conflicts with commits of other writers.
    conflicts: int = 0


@dataclass(frozen=True, kw_only=True)
class CloneResult(Result[CloneMetrics]):
    """The result of a clone. Its ``table`` is the clone."""


@dataclass(frozen=True)
class ConvertMetrics:
    """The metrics of a conversion."""

    #: Data files, their bytes and their rows.
    converted_files: int = 0
    converted_bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, kw_only=True)
class ConvertResult:
    """The result of a conversion."""

    #: The table and its version. None after a dry run.
    table: Table | None
    version: int | None
    metrics: ConvertMetrics
    #: False after a dry run, or if the mode is ``ignore`` and there was a table.
    committed: bool
    #: What was converted: ``parquet`` or ``iceberg``. None if there was a Delta table already.
    source_format: str | None
    #: The schema of the table, and its partition columns.
    schema: pa.Schema
    partition_columns: tuple[str, ...]
    #: The columns of an Iceberg table that have different names in different files. Engines that
    #: ignore field ids, such as DuckDB 1.5.5 and deltalake 1.6.6, find nulls in some of these files.
    found_by_id: tuple[str, ...]
    #: The paths of the files below the folder.
    files: tuple[str, ...]


@dataclass(frozen=True)
class ManifestResult:
    """The result of writing symlink manifests."""

    #: Written manifests, and deleted ones of partitions without files.
    written: int
    deleted: int


@dataclass(frozen=True)
class OptimizeMetrics:
    """The metrics of an optimize."""

    #: Groups of files that were rewritten, and groups that were given up because another writer
    #: changed one of their files.
    groups: int = 0
    lost_groups: int = 0
    #: New data files and removed data files, with their bytes.
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    #: Removed data files that had a deletion vector.
    deletion_vectors_removed: int = 0
    #: Rows of the new data files.
    rows: int = 0
    #: Data files that were not rewritten, but got statistics.
    described_files: int = 0
    #: Data files in the log that were considered.
    scanned_files: int = 0
    #: Bytes that spilled to disk.
    spilled_bytes: int = 0
    #: The most memory that the process had reserved during the operation.
    peak_memory_bytes: int = 0
    #: Conflicts with commits of other writers.
    conflicts: int = 0
    #: The bytes of the new data files: minimum, first quartile, median, third quartile, maximum.
    file_sizes: tuple[int, ...] | None = None
    #: The number of groups by how they were clustered: ``zorder``, ``hilbert``, ``kdtree``.
    methods: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OptimizeResult(Result[OptimizeMetrics]):
    """The result of an optimize."""

    #: The number of commits.
    commits: int


@dataclass(frozen=True)
class RestoreMetrics:
    """The metrics of a restore."""

    #: Data files that came back, and their bytes. A file that got its old deletion vector back
    #: counts here and as removed.
    restored_files: int = 0
    restored_bytes: int = 0
    #: Data files that left the table, and their bytes.
    removed_files: int = 0
    removed_bytes: int = 0
    #: The data files of the table after the restore, and their bytes.
    num_files: int = 0
    size_bytes: int = 0
    #: Files of the older version that do not exist any more. They are 0 unless
    #: ``ignore_missing_files`` is set.
    missing_files: int = 0
    #: Conflicts with commits of other writers.
    conflicts: int = 0


@dataclass(frozen=True, kw_only=True)
class RestoreResult(Result[RestoreMetrics]):
    """The result of a restore."""

    #: The version to which the table went back.
    restored_version: int
    #: False if nothing was committed: the table was in this state already, or it is a dry run.
    committed: bool
    #: Whether it was a dry run: ``metrics`` are those that the restore would have.
    dry_run: bool


@dataclass(frozen=True)
class DropFeatureMetrics:
    """The work of a drop of a table feature."""

    #: Committed versions.
    commits: int = 0
    #: Rewritten files, the files in their place, and the rewritten files that had a deletion vector.
    removed_files: int = 0
    added_files: int = 0
    deletion_vectors_removed: int = 0
    #: Deleted commits, checkpoints, log compactions and checksums.
    deleted_log_files: int = 0


@dataclass(frozen=True, kw_only=True)
class DropFeatureResult(Result[DropFeatureMetrics]):
    """The result of a drop of a table feature."""

    #: The feature, by its name in the protocol.
    feature: str
    #: Versions before this one need the feature, and their checkpoints are protected. None if no
    #: reader needs the feature, or if these versions were deleted.
    protected_before: int | None
    #: The oldest version that is left, if older ones were deleted.
    first_version: int | None


@dataclass(frozen=True)
class VacuumMetrics:
    """The metrics of a vacuum."""

    #: Files in the listed folders, in the inventory or in tombstones, and the listed folders.
    listed_files: int = 0
    listed_folders: int = 0
    #: Unneeded files that are younger than the retention period.
    young_files: int = 0
    #: Files to delete and their bytes. A commit has no sizes of deletion vector files.
    found_files: int = 0
    found_bytes: int = 0
    #: Deleted files and their bytes, and files that did not exist any more.
    deleted_files: int = 0
    deleted_bytes: int = 0
    missing_files: int = 0
    #: Deleted folders of this machine: old ones without files.
    deleted_folders: int = 0


@dataclass(frozen=True, kw_only=True)
class VacuumResult(Result[VacuumMetrics]):
    """The result of a vacuum."""

    #: Whether it was a dry run: ``files`` are those that would be deleted.
    dry_run: bool
    #: The deleted files, at most a million: ``path`` in the table, ``size_bytes`` and
    #: ``modification_time`` (null if it was not read).
    files: pa.Table
