"""A table, in the words of deltalake."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import lakebed
from lakebed.deltalake import arrow_types, files, metrics, reading, unsupported, versions
from lakebed.deltalake.alter import TableAlterer
from lakebed.deltalake.dialect import expressions, literal, sql
from lakebed.deltalake.exceptions import DeltaError, UnsupportedFeatureError, translated
from lakebed.deltalake.facts import DeltaTableConfig, Metadata, ProtocolVersions
from lakebed.deltalake.filters import FilterConjunctionType, FilterDNFType, FilterLiteralType, FilterType
from lakebed.deltalake.lenient import try_casts
from lakebed.deltalake.merge import TableMerger
from lakebed.deltalake.optimize import TableOptimizer
from lakebed.deltalake.positional import COMMIT_FIRST, FALSE, HOOKS_FIRST, NONE, TRUE, commit_keywords, keywords
from lakebed.deltalake.properties import WriterProperties, file_options
from lakebed.deltalake.schema import Schema
from lakebed.deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
    commit_options,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "DeltaTable",
    "DeltaTableConfig",
    "FilterConjunctionType",
    "FilterDNFType",
    "FilterLiteralType",
    "FilterType",
    "Metadata",
    "ProtocolVersions",
    "TableAlterer",
    "TableMerger",
    "TableOptimizer",
]


class DeltaTable:
    """A Delta table.

    Unlike :class:`lakebed.Table`, it moves: after an operation of its own it has the version that
    the operation committed.
    """

    @translated()
    def __init__(
        self,
        table_uri: str | Path | os.PathLike[str],
        version: int | None = None,
        storage_options: dict[str, str] | None = None,
        without_files: bool = False,
        log_buffer_size: int | None = None,
        skip_stats: bool = False,
    ) -> None:
        for name, value in {"without_files": without_files, "log_buffer_size": log_buffer_size, "skip_stats": skip_stats}.items():
            if value not in (None, False):
                warnings.warn(f"The {name!r} parameter is deprecated and ignored", DeprecationWarning, stacklevel=3)
        self._storage_options = storage_options
        self._storage: dict[str, Any] = {"storage_options": storage_options}
        self._opened = lakebed.Table(str(table_uri), version=version, **self._storage)

    @property
    def table_config(self) -> DeltaTableConfig:
        """The defaults of deprecated options."""
        warnings.warn("The 'table_config' property is deprecated", DeprecationWarning, stacklevel=2)
        return DeltaTableConfig(False, os.cpu_count() or 1)

    @staticmethod
    @translated()
    def is_deltatable(table_uri: str | Path | os.PathLike[str], storage_options: dict[str, str] | None = None) -> bool:
        """Returns whether there is a Delta table at this location."""
        return lakebed.exists(str(table_uri), storage_options=storage_options)

    @classmethod
    @translated()
    def create(
        cls,
        table_uri: str | Path,
        schema: Any,
        mode: Literal["error", "append", "overwrite", "ignore"] = "error",
        partition_by: list[str] | str | None = None,
        name: str | None = None,
        description: str | None = None,
        configuration: Mapping[str, str | None] | None = None,
        storage_options: dict[str, str] | None = None,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
        raise_if_key_not_exists: bool = TRUE,
    ) -> DeltaTable:
        """Creates a table without rows.

        ``mode="overwrite"`` replaces an existing one. ``mode="append"`` is an error, as in
        deltalake.
        """
        commit, hooks, _ = keywords(
            "create",
            args,
            (*COMMIT_FIRST, "raise_if_key_not_exists"),
            commit_properties=commit_properties,
            post_commithook_properties=post_commithook_properties,
            raise_if_key_not_exists=raise_if_key_not_exists,
        )
        if mode == "append":
            raise DeltaError(f"{table_uri}: create with mode='append' is not possible: use write_deltalake")
        opened = lakebed.create(
            table_uri,
            arrow_types.to_definition(schema if isinstance(schema, Schema) else Schema.from_arrow(schema)),
            mode={"overwrite": "replace"}.get(mode, mode),  # type: ignore[arg-type]
            partition_by=partition_by or None,
            name=name,
            description=description,
            properties={key: value for key, value in (configuration or {}).items() if value is not None} or None,
            storage_options=storage_options,
            **commit_options("create", commit, hooks, takes_txn=False),
        )
        return cls._of(opened, storage_options)

    @classmethod
    def _of(cls, opened: lakebed.Table, storage_options: dict[str, str] | None) -> DeltaTable:
        self = cls.__new__(cls)
        self._storage_options = storage_options
        self._storage = {"storage_options": storage_options}
        self._opened = opened
        return self

    # What the table is.

    @property
    def table_uri(self) -> str:
        """The location, with a slash at its end."""
        return self._opened.uri.rstrip("/") + "/"

    def version(self) -> int:
        """Returns the version of this object."""
        return self._opened.version

    def schema(self) -> Schema:
        """Returns the columns with the types of Delta."""
        return Schema.from_json(self._opened.schema_json)

    @translated()
    def metadata(self) -> Metadata:
        """Returns what the log says about the table as a whole."""
        found = self._opened.detail()
        created = None if found.created_at is None else round(found.created_at.timestamp() * 1000)
        return Metadata(found.id, found.name, found.description, list(found.partition_columns), created, self._opened.properties)

    def protocol(self) -> ProtocolVersions:
        """Returns the protocol versions and features."""
        found = self._opened.protocol
        writer = list(found.writer_features) if found.min_writer_version >= 7 else None
        reader = list(found.reader_features) if found.min_reader_version >= 3 else None
        return ProtocolVersions(found.min_reader_version, found.min_writer_version, writer, reader)

    @translated()
    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Returns the commits, newest first, as the log records them."""
        return [{**one.commit_info, "version": one.version} for one in self._opened.history(limit)]

    @translated()
    def transaction_version(self, app_id: str) -> int | None:
        """Returns the highest number of a commit of an application."""
        return self._opened.transaction_version(app_id)

    # Its files.

    @translated()
    def partitions(
        self, partition_filters: FilterType | None = None, *, file_pruning_predicate: Any = None
    ) -> list[dict[str, str]]:
        """Returns the values of the partition columns of each partition with files."""
        predicate = files.chosen("partition_filters", partition_filters, file_pruning_predicate)
        return files.partitions(self._opened, predicate)

    @translated()
    def file_uris(self, partition_filters: FilterType | None = None, *, file_pruning_predicate: Any = None) -> list[str]:
        """Returns the locations of the data files that may contain matching rows."""
        return files.uris(self._opened, files.chosen("partition_filters", partition_filters, file_pruning_predicate))

    @translated()
    def get_add_actions(self, flatten: bool = False) -> pa.Table:
        """Returns one row for each data file."""
        return files.add_actions(self._opened, flatten)

    @translated()
    def count(self) -> int:
        """Returns the number of rows, which is exact."""
        return self._opened.count()

    @translated()
    def deletion_vectors(self) -> pa.RecordBatchReader:
        """Returns one row for each file with a deletion vector: its location, and whether each of its
        rows is left.
        """
        return files.deletion_vectors(self._opened)

    # Its rows.

    @translated()
    def scan(self, columns: list[str] | None = None, predicate: str | None = None) -> pa.RecordBatchReader:
        """Returns a reader of the rows for which the SQL predicate is true."""
        return reading.rows(self._opened, columns, sql(predicate))

    def to_pyarrow_dataset(
        self,
        partitions: FilterType | None = None,
        filesystem: Any = None,
        parquet_read_options: Any = None,
        schema: pa.Schema | None = None,
        as_large_types: bool = False,
        file_pruning_predicate: Any = None,
    ) -> Any:
        """Is not available yet: raises an error."""
        raise UnsupportedFeatureError(
            "to_pyarrow_dataset: this version of lakebed has no datasets yet: use "
            "to_pyarrow_table(columns=, filters=), or scan(columns, predicate) for rows that do not fit in memory"
        )

    @translated()
    def to_pyarrow_table(
        self,
        partitions: FilterType | None = None,
        columns: list[str] | None = None,
        filesystem: Any = None,
        filters: Any = None,
    ) -> pa.Table:
        """Returns the rows as a pyarrow table. ``filters`` are those of ``pyarrow.parquet``."""
        unsupported.refused("to_pyarrow_table", "lakebed reads by storage_options", filesystem=filesystem)
        if partitions is not None:
            warnings.warn("`partitions` is deprecated; use `filters` instead", DeprecationWarning, stacklevel=3)
        return reading.table(self._opened, columns, partitions, filters)

    def to_pandas(
        self,
        partitions: FilterType | None = None,
        columns: list[str] | None = None,
        filesystem: Any = None,
        filters: Any = None,
        types_mapper: Any = None,
    ) -> pd.DataFrame:
        """Returns the rows as a pandas data frame."""
        found: Any = self.to_pyarrow_table(partitions, columns, filesystem, filters)
        return found.to_pandas(types_mapper=types_mapper)  # type: ignore[no-any-return]

    @translated()
    def load_cdf(
        self,
        starting_version: int = 0,
        ending_version: int | None = None,
        starting_timestamp: str | None = None,
        ending_timestamp: str | None = None,
        columns: list[str] | None = None,
        predicate: str | None = None,
        allow_out_of_range: bool = False,
    ) -> pa.RecordBatchReader:
        """Returns a reader of the change data feed."""
        start = starting_version if starting_timestamp is None else versions.moment(starting_timestamp)
        end = ending_version if ending_timestamp is None else versions.moment(ending_timestamp)
        return reading.changes(self._opened, start, end, columns, sql(predicate), allow_out_of_range)

    # Its versions.

    @translated()
    def load_as_version(self, version: int | str | datetime) -> None:
        """Moves this object to a version, or to the version as of a timestamp."""
        self._opened = versions.opened(self._opened, version, self._storage)

    @translated()
    def update_incremental(self) -> None:
        """Moves this object to the newest version."""
        self._opened = self._opened.refresh()

    @translated()
    def restore(
        self,
        target: int | datetime | str,
        *,
        ignore_missing_files: bool = False,
        protocol_downgrade_allowed: bool = False,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> dict[str, Any]:
        """Makes an older version the newest one."""
        if protocol_downgrade_allowed:
            unsupported.refused(
                "restore", "a restore of lakebed keeps the features of the table", protocol_downgrade_allowed=True
            )
        restore = self._opened.restore
        options = {
            # A timestamp before the oldest commit stands for that commit, as in deltalake.
            "version": target if isinstance(target, int) else versions.opened(self._opened, target, self._storage).version,
            "ignore_missing_files": ignore_missing_files or None,
            **commit_options("restore", commit_properties, post_commithook_properties, takes_txn=False),
        }
        result = restore(**unsupported.supported(restore, options))
        self._opened = result.table
        return {"numRemovedFile": result.metrics.removed_files, "numRestoredFile": result.metrics.restored_files}

    # Changes of rows.

    @translated()
    def delete(
        self,
        predicate: str | None = None,
        writer_properties: WriterProperties | None = None,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> dict[str, Any]:
        """Deletes the rows for which the predicate is true, or all rows."""
        commit, hooks = commit_keywords("delete", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        options = {**file_options("delete", writer_properties), **commit_options("delete", commit, hooks)}
        delete = self._opened.delete
        result, milliseconds = metrics.timed(lambda: delete(sql(predicate), **unsupported.supported(delete, options)))
        self._opened = result.table
        return metrics.deleted(result.metrics, milliseconds)

    @translated()
    def update(
        self,
        updates: dict[str, str] | None = None,
        new_values: dict[str, Any] | None = None,
        predicate: str | None = None,
        writer_properties: WriterProperties | None = None,
        error_on_type_mismatch: bool = True,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> dict[str, Any]:
        """Sets columns by SQL expressions (``updates``) or values of Python (``new_values``)."""
        commit, hooks = commit_keywords("update", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        if (updates is None) == (new_values is None):
            raise ValueError("pass either updates or new_values to update the table, not both and not neither")
        assignments = (
            expressions(updates or {}) if new_values is None else {key: literal(value) for key, value in new_values.items()}
        )
        if not error_on_type_mismatch:
            assignments = try_casts(assignments, self.schema())
        options = {**file_options("update", writer_properties), **commit_options("update", commit, hooks)}
        update = self._opened.update
        result, milliseconds = metrics.timed(
            lambda: update(assignments, where=sql(predicate), **unsupported.supported(update, options))
        )
        self._opened = result.table
        return metrics.updated(result.metrics, milliseconds)

    @translated()
    def merge(
        self,
        source: Any,
        predicate: str,
        source_alias: str | None = None,
        target_alias: str | None = None,
        merge_schema: bool = False,
        error_on_type_mismatch: bool = True,
        writer_properties: WriterProperties | None = None,
        streamed_exec: bool = True,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> TableMerger:
        """Returns a merge of source rows. Its methods add clauses, and ``execute()`` runs it.

        ``streamed_exec`` makes no difference: lakebed reads the source once and skips files by it.
        """
        commit, hooks = commit_keywords("merge", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        unsupported.memory("merge", max_spill_size=max_spill_size, max_temp_directory_size=max_temp_directory_size)
        options = {**file_options("merge", writer_properties), **commit_options("merge", commit, hooks)}
        is_lenient = not error_on_type_mismatch
        return TableMerger(self, source, predicate, source_alias, target_alias, merge_schema, is_lenient, options)

    @property
    def optimize(self) -> TableOptimizer:
        """Methods that rewrite data files."""
        return TableOptimizer(self)

    @property
    def alter(self) -> TableAlterer:
        """Methods that change the table's definition."""
        return TableAlterer(self)

    # Upkeep.

    @translated()
    def vacuum(
        self,
        retention_hours: int | None = None,
        dry_run: bool = True,
        enforce_retention_duration: bool = True,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
        full: bool = FALSE,
        keep_versions: list[int] | None = NONE,
    ) -> list[str]:
        """Returns the files that no version within the retention period needs.

        ``dry_run=False`` deletes them. ``full=True`` also finds files that no commit names.
        """
        commit, hooks, is_full, kept = keywords(
            "vacuum",
            args,
            (*HOOKS_FIRST, "full", "keep_versions"),
            commit_properties=commit_properties,
            post_commithook_properties=post_commithook_properties,
            full=full,
            keep_versions=keep_versions,
        )
        if retention_hours is not None and retention_hours < 0:
            raise ValueError(f"retention_hours={retention_hours!r}: The retention periods should be positive.")
        vacuum = self._opened.vacuum
        options = {
            "keep_versions": kept or None,
            **commit_options("vacuum", commit, hooks, takes_txn=False),
        }
        result = vacuum(
            retention_hours,
            mode="full" if is_full else "lite",
            dry_run=dry_run,
            enforce_retention=enforce_retention_duration,
            **unsupported.supported(vacuum, options),
        )
        if not dry_run:
            self._opened = result.table
        paths: list[Any] = result.files["path"].to_pylist()
        return paths

    @translated()
    def repair(
        self,
        dry_run: bool = False,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> dict[str, Any]:
        """Removes data files from the table that do not exist any more, and mends its checkpoints."""
        commit, hooks = commit_keywords("repair", args, HOOKS_FIRST, commit_properties, post_commithook_properties)
        repair = self._opened.repair
        options = commit_options("repair", commit, hooks, takes_txn=False)
        result = repair(drop_missing_files=True, dry_run=dry_run, **unsupported.supported(repair, options))
        if not dry_run:
            self.update_incremental()
        return {"dry_run": dry_run, "files_removed": [one.file for one in result.actions if one.kind == "drop_file"]}

    @translated()
    def generate(self) -> None:
        """Writes a symlink manifest."""
        self._opened.symlink_manifest()

    @translated()
    def create_checkpoint(self) -> None:
        """Writes a checkpoint of this version."""
        self._opened.checkpoint()

    @translated()
    def compact_logs(self, starting_version: int, ending_version: int) -> None:
        """Writes a log compaction of these commits."""
        self._opened.compact_log(starting_version, ending_version)

    @translated()
    def cleanup_metadata(self) -> None:
        """Deletes files of the log that are older than the log's retention period."""
        self._opened.clean_up_log()

    def create_write_transaction(
        self,
        actions: list[AddAction | RemoveAction],
        mode: str,
        schema: Any,
        partition_by: list[str] | str | None = None,
        partition_filters: FilterType | None = None,
        *args: Any,
        commit_properties: CommitProperties | None = None,
        post_commithook_properties: PostCommitHookProperties | None = None,
    ) -> None:
        """Is not available: lakebed commits only files that it wrote itself."""
        raise UnsupportedFeatureError(
            "create_write_transaction: lakebed commits only files that it wrote itself: use write_deltalake"
        )

    def __datafusion_table_provider__(self, session: Any | None = None) -> Any:
        """Is not available yet: raises an error."""
        raise UnsupportedFeatureError(
            "this version of lakebed has no table provider for DataFusion yet: pass it the rows of scan()"
        )

    def __repr__(self) -> str:
        return f"DeltaTable({self._opened.uri!r}, version={self.version()})"
