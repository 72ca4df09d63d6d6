"""Making tables and writing rows to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakebed import _lakebed, arguments
from lakebed.arguments import CreateMode, Mode, OnLossy, Partitions, SchemaMode
from lakebed.input import arrow_schema, stream
from lakebed.table import Table

__all__ = ["CommitResult", "Mode", "SchemaMode", "WriteMetrics", "create", "write"]


@dataclass(frozen=True)
class WriteMetrics:
    """What a write did."""

    #: New files, their rows (with those that were copied) and their sizes.
    files: int = 0
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


@dataclass(frozen=True)
class CommitResult:
    """What came of a write."""

    #: The version that it became, or the latest one if there was nothing to do.
    version: int
    metrics: WriteMetrics
    #: False if there was nothing to do: the table was to be left alone, or knew the write already.
    committed: bool
    #: The table as of that version.
    table: Table


def create(
    uri: str | os.PathLike[str],
    schema: Any,
    *,
    partition_by: str | Sequence[str] | None = None,
    cluster_by: str | Sequence[str] | None = None,
    properties: Mapping[str, Any] | None = None,
    constraints: Mapping[str, str] | None = None,
    mode: CreateMode = "error",
    name: str | None = None,
    description: str | None = None,
    user_metadata: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Callable[[], Mapping[str, Any]] | None = None,
) -> Table:
    """Makes a table without rows.

    - ``uri``: where; a URL, or a path on this machine.
    - ``schema``: a ``pyarrow.Schema``, or anything with ``__arrow_c_schema__``.
    - ``partition_by``: one or more columns; files are kept apart by their values. ``cluster_by``: columns whose like values are kept together.
    - ``properties``: Delta's (``delta.enableDeletionVectors``, ...) or your own.
    - ``constraints``: SQL conditions by name, which every row must meet.
    - ``mode``: what to do where there is a table already: ``error``; ``ignore`` leaves it as it is; ``replace`` puts the new one in its
      place, and older versions can still be read.
    - ``name`` and ``description`` are for people, and so is ``user_metadata``, which the history keeps.
    - ``storage_options`` and ``credentials`` say how to reach the store, as for :class:`lakebed.Table`.

    >>> import lakebed as lb, pyarrow as pa
    >>> table = lb.create(
    ...     "memory://docs/create",
    ...     pa.schema([("id", pa.int64()), ("day", pa.date32())]),
    ...     partition_by="day",
    ...     constraints={"positive": "id > 0"},
    ... )
    >>> table.version, table.partition_columns
    (0, ('day',))
    """
    options = {
        **_place(uri, storage_options, credentials),
        "partition_by": arguments.columns("partition_by", partition_by),
        "cluster_by": arguments.columns("cluster_by", cluster_by),
        "properties": arguments.properties("properties", properties),
        "constraints": dict(arguments.expressions("constraints", {} if constraints is None else constraints)),
        "mode": arguments.word("mode", mode, CreateMode),
        "name": arguments.words("name", name),
        "description": arguments.words("description", description),
        "user_metadata": arguments.words("user_metadata", user_metadata),
    }
    made = _lakebed.Table.create(options, arrow_schema(schema))
    return Table._wrap(made, _given(options))


def write(
    uri: str | os.PathLike[str],
    data: Any,
    *,
    mode: Mode = "append",
    partition_by: str | Sequence[str] | None = None,
    cluster_by: str | Sequence[str] | None = None,
    where: str | None = None,
    partitions: Partitions = "static",
    schema: SchemaMode = "enforce",
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    target_file_size: int | None = None,
    properties: Mapping[str, Any] | None = None,
    compression: str | None = None,
    row_group_rows: int | None = None,
    bloom_columns: str | Sequence[str] | None = None,
    on_lossy: OnLossy = "error",
    timeout: float | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Callable[[], Mapping[str, Any]] | None = None,
) -> CommitResult:
    """Writes rows to a table, which is made if there is none, in one commit: all of them or none.

    ``data`` is anything that speaks Arrow: a pyarrow table, batch or reader, a pandas or polars frame, a DuckDB relation, a lakebed scan.
    Readers may be larger than memory.

    - ``uri``: where; a URL, or a path on this machine.
    - ``mode``: ``append``; ``overwrite`` (all rows make way, or with ``where`` those for which it is true, or with
      ``partitions="dynamic"`` those of the partitions that are written to); ``error`` and ``ignore`` write only where there is no table.
    - ``schema``: ``enforce`` (columns are found by name, and must fit), ``merge`` (new columns are added to the table), ``overwrite``.
    - ``txn=("my-job", 7)``: a write that the table knows already is not done again.
    - ``user_metadata``: words of your own, which the history keeps.
    - ``target_file_size``: about how large files become, in bytes; by default ``delta.targetFileSize``, else 128 MiB, and more for tables of
      256 GiB and above. It is 1024 at least.
    - ``properties``, ``partition_by``, ``cluster_by`` are for tables that are made here; see :func:`lakebed.create`.
    - ``compression``: ``snappy``, ``zstd``, ``zstd(1)`` to ``zstd(22)``, ``gzip``, ``lz4`` or ``none``; by default
      ``delta.parquet.compression.codec``, else ``snappy``.
    - ``row_group_rows``: the most rows of a row group; ``bloom_columns``: columns that get Bloom filters.
    - ``on_lossy="truncate"`` lets digits go that a column cannot hold, such as nanoseconds.
    - ``timeout``: seconds to go on trying while other writers are faster.
    - ``storage_options`` and ``credentials`` say how to reach the store, as for :class:`lakebed.Table`.

    Words such as those of ``mode`` may be written in any case.

    >>> import lakebed as lb, pyarrow as pa
    >>> result = lb.write("memory://docs/write", pa.table({"id": [1, 2, 3]}))
    >>> result.version, result.metrics.output_rows
    (0, 3)
    >>> lb.write("memory://docs/write", pa.table({"id": [4]})).table.count()
    4
    """
    options = {
        **_place(uri, storage_options, credentials),
        **_options(locals()),
    }
    written, committed, metrics = _lakebed.Table.write(options, stream(data))
    table = Table._wrap(written, _given(options))
    return CommitResult(table.version, WriteMetrics(**metrics), committed, table)


def write_rows(table: Table, data: Any, given: Mapping[str, Any]) -> CommitResult:
    """Writes rows to a table that is open, by the options of :func:`write` that are given."""
    written, committed, metrics = table._table.write_rows(_options(given), stream(data))
    newer = Table._wrap(written, table._given)
    return CommitResult(newer.version, WriteMetrics(**metrics), committed, newer)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a write as `_lakebed` takes them, out of arguments of which some may mean something else."""
    get = given.get
    return {
        "mode": arguments.word("mode", get("mode"), Mode),
        "where": arguments.text("where", get("where")),
        "partitions": arguments.word("partitions", get("partitions"), Partitions),
        "schema": arguments.word("schema", get("schema"), SchemaMode),
        "txn": arguments.txn("txn", get("txn")),
        "user_metadata": arguments.words("user_metadata", get("user_metadata")),
        "target_file_size": arguments.file_size("target_file_size", get("target_file_size")),
        "compression": arguments.text("compression", get("compression")),
        "row_group_rows": arguments.integer("row_group_rows", get("row_group_rows"), least=1),
        "bloom_columns": arguments.columns("bloom_columns", get("bloom_columns")),
        "on_lossy": arguments.word("on_lossy", get("on_lossy"), OnLossy),
        "timeout": arguments.number("timeout", get("timeout")),
        "partition_by": arguments.columns("partition_by", get("partition_by")),
        "cluster_by": arguments.columns("cluster_by", get("cluster_by")),
        "properties": arguments.properties("properties", get("properties")),
    }


def _place(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, str] | None,
    credentials: Callable[[], Mapping[str, Any]] | None,
) -> dict[str, Any]:
    return {
        "uri": arguments.location("uri", uri),
        "storage_options": arguments.strings("storage_options", storage_options),
        "credentials": arguments.function("credentials", credentials),
    }


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    place = {name: options[name] for name in ("uri", "storage_options", "credentials")}
    return {**place, "absolute_paths": False}
