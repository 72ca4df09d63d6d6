"""`lbs.write`: the rows of a data frame become files on the executors and one version on the driver. Begins with :func:`write`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from lakebed import _lakebed, arguments
from lakebed.arguments import Mode, SchemaMode
from lakebed.input import Batches
from lakebed.spark import batches, failure, location, session, types, written
from lakebed.spark.arguments import check_frame, condition
from lakebed.spark.credentials import Access, Credentials
from lakebed.spark.repeats import Batch, Repeats
from lakebed.table import Table
from lakebed.writer import CommitResult, WriteMetrics, _given, _options, _place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["foreach_batch", "write"]

#: Parts of a write that number rows, for each task that runs at a time.
_PARTS_PER_CORE = 2
#: So many parts at most number rows where nobody tells how many there will be.
MOST_PARTS = 1 << 20


def write(
    df: DataFrame,
    uri: str | os.PathLike[str],
    *,
    mode: Mode = "append",
    partition_by: str | Sequence[str] | None = None,
    cluster_by: str | Sequence[str] | None = None,
    where: str | None = None,
    partitions: Literal["static", "dynamic"] | None = None,
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
    optimize_write: bool | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Credentials | None = None,
) -> CommitResult:
    """Writes the rows of a data frame to a table, which is made if there is none, in one commit: all of them or none.

    The options are those of :func:`lakebed.write`. Spark's tasks write the files, with statistics; this process commits them. What tasks
    write that fail or run twice is named by no version.

    - ``partitions``: by default what the session's setting ``spark.sql.sources.partitionOverwriteMode`` says, unless ``where`` or
      ``schema="overwrite"`` says which rows make way.
    - ``optimize_write`` brings the rows of a partition together first, so that few files come of them: by default where the table has
      partitions, and as its property ``delta.autoOptimize.optimizeWrite`` says.

    Secrets stay out of Spark's plans: give ``credentials``, a function that each worker calls, or leave them to the workers' environment.
    """
    check_frame(df)
    uri, access = location.of_caller(uri), Access(arguments.strings("storage_options", storage_options), credentials)
    if optimize_write is not None:
        arguments.flag("optimize_write", optimize_write)
    options = {**_place(uri, access.storage_options, credentials), **_options({**locals(), "where": condition(where)})}
    if options["partitions"] is None and options["mode"] == "overwrite" and where is None and options["schema"] != "overwrite":
        options["partitions"] = session.setting(df.sparkSession, "spark.sql.sources.partitionOverwriteMode", "static")
    schema_text = written.delta_schema(df.schema)
    if isinstance(txn, Batch):
        options["batch"] = txn.known()
    planned, known = _lakebed.Table.plan_write(options, schema_text)
    if planned is None and known is None:
        assert isinstance(txn, Batch)
        options["batch"] = txn.known(rows=df.count())
        planned, known = _lakebed.Table.plan_write(options, schema_text)
    if planned is None:
        assert known is not None
        return CommitResult(known.version, WriteMetrics(), False, Table._wrap(known, _given(options)))
    rows, parts = _arranged(df, planned, optimize_write)
    name = f"lakebed write {os.path.basename(uri.rstrip('/'))}"
    part = WritePart(name, planned["task"], parts, access)
    with failure.told():
        found = batches.counted(rows, lambda rows: rows.mapInArrow(part, "files binary").collect())
    newer, committed, metrics = _lakebed.Table.commit_write(options, planned["task"], [bytes(row.files) for row in found])
    return CommitResult(newer.version, WriteMetrics(**metrics), committed, Table._wrap(newer, _given(options)))


def foreach_batch(
    uri: str | os.PathLike[str],
    *,
    app_id: str,
    repeats: Repeats = "check",
    mode: Mode = "append",
    partition_by: str | Sequence[str] | None = None,
    cluster_by: str | Sequence[str] | None = None,
    where: str | None = None,
    partitions: Literal["static", "dynamic"] | None = None,
    schema: SchemaMode = "enforce",
    user_metadata: str | None = None,
    target_file_size: int | None = None,
    properties: Mapping[str, Any] | None = None,
    compression: str | None = None,
    row_group_rows: int | None = None,
    bloom_columns: Sequence[str] | None = None,
    on_lossy: Literal["error", "truncate"] = "error",
    timeout: float | None = None,
    optimize_write: bool | None = None,
    storage_options: Mapping[str, str] | None = None,
    credentials: Credentials | None = None,
) -> Callable[[DataFrame, int], None]:
    """A function for ``writeStream.foreachBatch`` that writes each batch once, also when Spark repeats it after a failure.

    ``app_id`` names the stream in the table: keep it as long as the stream's checkpoint, and give each stream its own. A batch of another
    query is refused under this name, and so is one that has only its number in common with the batch that the table has: it ends at other
    offsets, or, where Spark does not tell them (on Connect), it has another number of rows. ``repeats="trust"`` takes the number alone for
    proof, as ``txn`` does. The other options are those of :func:`write`.
    """
    options = {name: value for name, value in locals().items() if name not in ("uri", "app_id", "repeats")}
    trusted = arguments.given("repeats", arguments.word("repeats", repeats, Repeats)) == "trust"
    # A Connect server calls the function in a folder of its own.
    uri = location.of_caller(uri)

    def write_batch(df: DataFrame, batch_id: int) -> None:
        write(df, uri, txn=Batch.in_foreach(df, app_id, batch_id, trusted=trusted), **options)

    return write_batch


def _arranged(df: DataFrame, planned: Mapping[str, Any], optimize_write: bool | None) -> tuple[DataFrame, int]:
    """The rows as tasks are to write them, and how many parts there are if tasks must know."""
    from pyspark.sql import functions as F

    given = {name.lower() for name in df.columns}
    # Those that are generated, or null because the data lacks them, are not there yet.
    columns = [F.col(types.quoted(name)) for name in planned["partition_columns"] if name.lower() in given]
    if planned["numbers_rows"]:
        parts = _PARTS_PER_CORE * session.parallelism(df.sparkSession)
        return df.repartition(parts, *columns), parts
    wanted = optimize_write
    if wanted is None and planned["optimize_write"] is not None:
        wanted = planned["optimize_write"].lower() == "true"
    if wanted is None:
        wanted = bool(columns)
    if not wanted:
        return df, 0
    if session.setting(df.sparkSession, "spark.sql.adaptive.enabled", "true") == "true":
        # Spark joins what is small and splits what is large of such a shuffle; without adaptive execution it passes the hint over.
        return df.hint("rebalance", *columns), 0
    return (df.repartition(*columns) if columns else df.repartition(session.parallelism(df.sparkSession))), 0


class WritePart:
    """What `mapInArrow` calls on executors: rows in, one row that tells the files out."""

    def __init__(self, name: str, task: bytes, parts: int, access: Access) -> None:
        #: What Spark shows in its plans.
        self.__name__ = name
        self._task = task
        #: How many there are, or 0 if that does not matter.
        self._parts = parts
        self._access = access

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with failure.alone():
            files = write_part(self._task, batches, self._access, self._parts)
        if files is not None:
            yield pa.record_batch([pa.array([files], pa.binary())], names=["files"])


def write_part(task: bytes, batches: Iterable[pa.RecordBatch], access: Access, parts: int = MOST_PARTS) -> bytes | None:
    """Writes what this task of Spark's has, if it has anything, and tells the files."""
    import pyarrow as pa
    from pyspark import TaskContext

    rows = iter(batches)
    first = next(rows, None)
    if first is None:
        return None
    context = TaskContext.get()
    part = context.partitionId() if context is not None and parts else 0
    schema = written.named_variants(first.schema)
    data = Batches(pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in chain([first], rows))
    return _lakebed.write_files(task, part, max(parts, 1), data, dict(access.storage_options), access.credentials)
