"""Making tables and writing rows to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lakebed import _lakebed
from lakebed.columns import names
from lakebed.input import arrow_schema, stream
from lakebed.table import Table

__all__ = ["CommitResult", "WriteMetrics", "create", "write"]

Mode = Literal["append", "overwrite", "error", "ignore"]
SchemaMode = Literal["enforce", "merge", "overwrite"]


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
    mode: Literal["error", "ignore", "replace"] = "error",
    name: str | None = None,
    description: str | None = None,
    user_metadata: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Callable[[], Mapping[str, Any]] | None = None,
) -> Table:
    """Makes a table without rows.

    ``schema`` is a ``pyarrow.Schema``, or anything with ``__arrow_c_schema__``. ``partition_by`` keeps files apart by the values of some
    columns, ``cluster_by`` keeps like values together. ``properties`` are Delta's (``delta.enableDeletionVectors``, ...) or your own;
    ``constraints`` are SQL conditions by name that every row must meet. Where there is a table already, ``mode`` says what to do.

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
        "partition_by": names(partition_by),
        "cluster_by": names(cluster_by),
        "properties": _texts(properties),
        "constraints": dict(constraints or {}),
        "mode": mode,
        "name": name,
        "description": description,
        "user_metadata": user_metadata,
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
    partitions: Literal["static", "dynamic"] = "static",
    schema: SchemaMode = "enforce",
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    target_file_size: int | None = None,
    properties: Mapping[str, Any] | None = None,
    compression: str | None = None,
    row_group_rows: int | None = None,
    bloom_columns: Sequence[str] | None = None,
    on_lossy: Literal["error", "truncate"] = "error",
    timeout: float | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Callable[[], Mapping[str, Any]] | None = None,
) -> CommitResult:
    """Writes rows to a table, which is made if there is none, in one commit: all of them or none.

    ``data`` is anything that speaks Arrow: a pyarrow table, batch or reader, a pandas or polars frame, a DuckDB relation, a lakebed scan.
    Readers may be larger than memory.

    - ``mode``: ``append``; ``overwrite`` (all rows make way, or with ``where`` those for which it is true, or with
      ``partitions="dynamic"`` those of the partitions that are written to); ``error`` and ``ignore`` write only where there is no table.
    - ``schema``: ``enforce`` (columns are found by name, and must fit), ``merge`` (new columns are added to the table), ``overwrite``.
    - ``txn=("my-job", 7)``: a write that the table knows already is not done again.
    - ``properties``, ``partition_by``, ``cluster_by`` are for tables that are made here.
    - ``on_lossy="truncate"`` lets digits go that a column cannot hold, such as nanoseconds.
    - ``timeout``: seconds to go on trying while other writers are faster.

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


def write_rows(table: Table, data: Any, **given: Any) -> CommitResult:
    """Writes rows to a table that is open."""
    written, committed, metrics = table._table.write_rows(_options(given), stream(data))
    newer = Table._wrap(written, table._given)
    return CommitResult(newer.version, WriteMetrics(**metrics), committed, newer)


#: What the options of a write are called.
_WRITE = (
    "mode",
    "where",
    "partitions",
    "schema",
    "txn",
    "user_metadata",
    "target_file_size",
    "compression",
    "row_group_rows",
    "bloom_columns",
    "on_lossy",
    "timeout",
)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: given.get(name) for name in _WRITE}
    options["partition_by"] = names(given.get("partition_by"))
    options["cluster_by"] = names(given.get("cluster_by"))
    options["properties"] = _texts(given.get("properties"))
    if options["bloom_columns"] is not None:
        options["bloom_columns"] = names(options["bloom_columns"])
    return options


def _place(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, str] | None,
    credentials: Callable[[], Mapping[str, Any]] | None,
) -> dict[str, Any]:
    return {"uri": os.fspath(uri), "storage_options": dict(storage_options or {}), "credentials": credentials}


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    place = {name: options[name] for name in ("uri", "storage_options", "credentials")}
    return {**place, "absolute_paths": False}


def _texts(properties: Mapping[str, Any] | None) -> dict[str, str]:
    """Properties are texts: ``True`` is written as Delta writes it."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (properties or {}).items()}
