""":func:`create` and :func:`write` create tables and write rows by location."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakebed import _lakebed, arguments
from lakebed.arguments import CreateMode, Mode, Partitions, SchemaMode
from lakebed.input import arrow_schema, stream
from lakebed.options import Creating, WritingTo, checked, located, reopening, takes
from lakebed.results import CommitResult, WriteMetrics
from lakebed.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["create", "write"]


@takes(Creating)
def create(
    uri: str | os.PathLike[str],
    schema: Any,
    *,
    constraints: Mapping[str, str] | None = None,
    mode: CreateMode = "error",
    name: str | None = None,
    description: str | None = None,
    user_metadata: str | None = None,
    commit_info: Mapping[str, Any] | None = None,
    upkeep: Mapping[str, bool] | None = None,
    **options: Unpack[Creating],
) -> Table:
    """Creates a table without rows.

    - ``uri``: the location, a URL or a path on this machine.
    - ``schema``: a ``pyarrow.Schema``, or any object with ``__arrow_c_schema__``.
    - ``partition_by``: one or more columns; each combination of their values has files of its own.
      ``cluster_by``: columns by which the table arranges its rows.
    - ``properties``: Delta's (``delta.enableDeletionVectors``, ...) or your own.
    - ``constraints``: SQL predicates by name, which every row must satisfy.
    - ``mode``: what to do if the table exists: ``error`` raises an error, ``ignore`` returns the
      existing table, and ``replace`` replaces it. Older versions of it stay readable.
    - ``name`` and ``description`` are for people. ``user_metadata`` is a text of your own, which
      the history keeps, and ``commit_info`` has entries of your own for ``commitInfo``, as in
      :func:`lakebed.write`. ``upkeep`` is that of :func:`lakebed.write`, too.
    - ``storage_options`` and ``credentials`` say how to reach the store, as for
      :class:`lakebed.Table`.

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
    given = {
        **checked(options),
        **located(uri, options),
        "constraints": dict(arguments.expressions("constraints", {} if constraints is None else constraints)),
        "mode": arguments.word("mode", mode, CreateMode),
        "name": arguments.words("name", name),
        "description": arguments.words("description", description),
        "user_metadata": arguments.words("user_metadata", user_metadata),
        "commit_info": arguments.entries("commit_info", commit_info),
        "upkeep": arguments.upkeep("upkeep", upkeep),
    }
    made = _lakebed.Table.create(given, arrow_schema(schema))
    return Table._wrap(made, reopening(given))


@takes(WritingTo)
def write(
    uri: str | os.PathLike[str],
    data: Any,
    *,
    mode: Mode = "append",
    where: str | None = None,
    partitions: Partitions = "static",
    schema_mode: SchemaMode = "enforce",
    **options: Unpack[WritingTo],
) -> CommitResult:
    """Writes rows to a table in one commit. The table is created if it does not exist.

    ``data`` is any Arrow data: a pyarrow table, batch or reader, a pandas or polars frame, a DuckDB
    relation, a lakebed scan. Readers may be larger than memory.

    - ``uri``: the location, a URL or a path on this machine.
    - ``mode``: ``append`` adds the rows. ``overwrite`` replaces all rows; with ``where``, the rows
      for which it is true; with ``partitions="dynamic"``, the partitions that the new rows belong
      to. ``error`` and ``ignore`` write only if there is no table.
    - ``schema_mode``: ``enforce`` (columns match by name, and their types must fit), ``merge``
      (adds new columns to the table) or ``overwrite`` (replaces the table's schema).
    - ``txn=("my-job", 7)``: an application and its number of this write. A write that the table
      knows already is not committed again. A list of such pairs names several applications; the
      table knows the write if it knows all of its numbers.
    - ``user_metadata``: a text of your own, which the history keeps.
    - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which the
      history keeps as values of JSON. Entries that lakebed records, such as ``timestamp``, are
      refused.
    - ``upkeep``: whether a checkpoint and a cleanup of the log may follow the commit.
      ``{"checkpoint": False}`` writes no checkpoint, also if one is due: a later commit makes up for
      it. ``{"clean_up_log": False}`` keeps log files that are out of date, and ``True`` deletes them
      after a checkpoint.
    - ``target_file_size``: the approximate size of files in bytes, at least 1024. The default is
      ``delta.targetFileSize``; without it, 128 MiB, and more for tables of 256 GiB and above.
    - ``properties``, ``partition_by`` and ``cluster_by`` are for a new table; see
      :func:`lakebed.create`. ``name`` and ``description`` are for people. An existing table must
      have the same.
    - ``compression``: ``snappy``, ``zstd``, ``zstd(1)`` to ``zstd(22)``, ``gzip``, ``gzip(0)`` to
      ``gzip(9)``, ``lz4`` or ``none``. The default is ``delta.parquet.compression.codec``; without it, ``snappy``.
    - ``row_group_rows``: the most rows of a row group. ``bloom_columns``: columns with Bloom
      filters.
    - ``on_lossy="truncate"`` cuts off digits that a column cannot hold, such as nanoseconds.
    - ``timeout``: the seconds to keep trying while other writers commit first.
    - ``storage_options`` and ``credentials`` say how to reach the store, as for
      :class:`lakebed.Table`.

    Keywords such as those of ``mode`` may be in upper or lower case.

    >>> import lakebed as lb, pyarrow as pa
    >>> result = lb.write("memory://docs/write", pa.table({"id": [1, 2, 3]}))
    >>> result.version, result.metrics.output_rows
    (0, 3)
    >>> lb.write("memory://docs/write", pa.table({"id": [4]})).table.count()
    4
    """
    chosen = {"mode": mode, "where": where, "partitions": partitions, "schema_mode": schema_mode}
    given = {**checked({**options, **chosen}), **located(uri, options)}
    written, committed, metrics = _lakebed.Table.write(given, stream(data))
    table = Table._wrap(written, reopening(given))
    return CommitResult(version=table.version, metrics=WriteMetrics(**metrics), committed=committed, table=table)
