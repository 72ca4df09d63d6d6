"""Making tables and writing rows to them."""

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
    **options: Unpack[Creating],
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
    given = {
        **checked(options),
        **located(uri, options),
        "constraints": dict(arguments.expressions("constraints", {} if constraints is None else constraints)),
        "mode": arguments.word("mode", mode, CreateMode),
        "name": arguments.words("name", name),
        "description": arguments.words("description", description),
        "user_metadata": arguments.words("user_metadata", user_metadata),
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
    """Writes rows to a table, which is made if there is none, in one commit: all of them or none.

    ``data`` is anything that speaks Arrow: a pyarrow table, batch or reader, a pandas or polars frame, a DuckDB relation, a lakebed scan.
    Readers may be larger than memory.

    - ``uri``: where; a URL, or a path on this machine.
    - ``mode``: ``append``; ``overwrite`` (all rows make way, or with ``where`` those for which it is true, or with
      ``partitions="dynamic"`` those of the partitions that are written to); ``error`` and ``ignore`` write only where there is no table.
    - ``schema_mode``: ``enforce`` (columns are found by name, and must fit), ``merge`` (new columns are added to the table), ``overwrite``.
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
    chosen = {"mode": mode, "where": where, "partitions": partitions, "schema_mode": schema_mode}
    given = {**checked({**options, **chosen}), **located(uri, options)}
    written, committed, metrics = _lakebed.Table.write(given, stream(data))
    table = Table._wrap(written, reopening(given))
    return CommitResult(version=table.version, metrics=WriteMetrics(**metrics), committed=committed, table=table)
