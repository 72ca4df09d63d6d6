"""`lbs.write`: executors write the rows of a data frame, and the driver commits the files.

Begins with :func:`write`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from lakebed import _lakebed, arguments
from lakebed.arguments import Mode
from lakebed.errors import InvalidInputError
from lakebed.input import Batches
from lakebed.options import checked, located, reopening, takes
from lakebed.results import CommitResult, WriteMetrics
from lakebed.spark import batches, failure, location, session, types, written
from lakebed.spark.arguments import check_frame, condition
from lakebed.spark.credentials import Access
from lakebed.spark.groups import BatchWriting, FrameWriting
from lakebed.spark.repeats import Batch, Repeats
from lakebed.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

__all__ = ["foreach_batch", "write"]

#: If the table numbers rows (identity columns), the parts of a write per task that runs at a time.
_PARTS_PER_CORE = 2
#: The most parts that number rows if their count is unknown.
MOST_PARTS = 1 << 20


@takes(FrameWriting)
def write(df: DataFrame, uri: str | os.PathLike[str], **options: Unpack[FrameWriting]) -> CommitResult:
    """Writes the rows of a data frame to a table in one commit. The table is created if it does not
    exist.

    Spark's tasks write the files of ``df``, with statistics, and this process commits them. No
    version names the files of tasks that fail or run twice. The options mean the same as for
    :func:`lakebed.write`:

    - ``uri``: the location, a URL or a path on this machine and on the workers. A relative path
      begins in the current folder of this process.
    - ``mode``: ``append`` adds the rows. ``overwrite`` replaces all rows; with ``where``, the rows
      for which it is true; with ``partitions="dynamic"``, the partitions that the new rows belong
      to. ``error`` and ``ignore`` write only if there is no table.
    - ``partitions``: ``static`` or ``dynamic``. The default is the session's setting
      ``spark.sql.sources.partitionOverwriteMode``, unless ``where`` or ``schema_mode="overwrite"``
      selects the rows to replace.
    - ``schema_mode``: ``enforce`` (columns match by name, and their types must fit), ``merge``
      (adds new columns to the table) or ``overwrite`` (replaces the table's schema).
    - ``txn=("my-job", 7)``: an application and its number of this write. A write that the table
      knows already is not committed again.
    - ``user_metadata``: a text of your own, which the history keeps.
    - ``commit_info={"ticket": 4711}``: entries of your own in the commit's ``commitInfo``, which the
      history keeps as values of JSON.
    - ``upkeep``: whether a checkpoint and a cleanup of the log may follow; see :func:`lakebed.write`.
    - ``target_file_size``: the approximate size of files in bytes.
    - ``partition_by``, ``cluster_by`` and ``properties`` are for a new table; see
      :func:`lakebed.create`.
    - ``compression``: ``snappy``, ``zstd``, ``zstd(1)`` to ``zstd(22)``, ``gzip``, ``lz4`` or
      ``none``.
    - ``row_group_rows``: the most rows of a row group. ``bloom_columns``: columns with Bloom
      filters.
    - ``on_lossy="truncate"`` cuts off digits that a column cannot hold.
    - ``timeout``: the seconds to keep trying to commit while other writers commit first.
    - ``optimize_write`` shuffles the rows of each partition together first, so that there are fewer
      files. The default is the table's property ``delta.autoOptimize.optimizeWrite``; without it,
      true for a table with partitions.
    - ``storage_options`` say how to reach the store. They must not contain secrets, because Spark's
      plans contain them. ``credentials`` is a function that returns secret options. Each worker
      calls it. Without it, workers find credentials in their own environment.
    """
    check_frame(df)
    uri, access = location.of_caller(uri), Access.of(options)
    optimize_write = _optimize_write(options)
    given = {**_checked(options), **located(uri, options)}
    if (
        given["partitions"] is None
        and given["mode"] == "overwrite"
        and given["where"] is None
        and given["schema_mode"] != "overwrite"
    ):
        given["partitions"] = session.setting(df.sparkSession, "spark.sql.sources.partitionOverwriteMode", "static")
    schema_text = written.delta_schema(df.schema)
    batch = options.get("txn")
    if isinstance(batch, Batch):
        given["txn"] = batch.option()
    planned, known = _lakebed.Table.plan_write(given, schema_text)
    if planned is None and known is None:
        assert isinstance(batch, Batch)
        given["txn"] = batch.option(rows=df.count())
        planned, known = _lakebed.Table.plan_write(given, schema_text)
    if planned is None:
        assert known is not None
        return _result(known, False, {}, given)
    rows, parts = _arranged(df, planned, optimize_write)
    name = f"lakebed write {os.path.basename(_lakebed.uri_without_secrets(uri).rstrip('/'))}"
    part = WritePart(name, planned["task"], parts, access)
    with failure.told():
        found = batches.counted(rows, lambda rows: rows.mapInArrow(part, "files binary").collect())
    newer, committed, metrics = _lakebed.Table.commit_write(given, planned["task"], [bytes(row.files) for row in found])
    return _result(newer, committed, metrics, given)


@takes(BatchWriting)
def foreach_batch(
    uri: str | os.PathLike[str],
    *,
    app_id: str,
    repeats: Repeats = "check",
    **options: Unpack[BatchWriting],
) -> Callable[[DataFrame, int], None]:
    """Returns a function for ``writeStream.foreachBatch`` that writes each batch once.

    A batch that Spark repeats after a failure is not written again.

    - ``uri``: the table. The first batch creates it if it does not exist.
    - ``app_id`` names the stream in the table. Keep it as long as the stream's checkpoint, and give
      each stream its own. If your function writes a batch in several parts, give each write its own
      name: a second write under the same name with other rows is an error.
    - ``repeats="check"`` refuses a batch of another query under this name. It also refuses a batch
      that has the number of a known batch, but other offsets or, if Spark provides no offsets (on
      Connect), another row count. ``"trust"`` does not compare row counts. It is for queries that
      return other rows each time that they run.
    - ``mode``: ``append``, or ``overwrite``: each batch replaces all rows, or those that ``where``
      or ``partitions`` selects.
    - ``partition_by``, ``cluster_by``, ``schema_mode``, ``user_metadata``, ``commit_info``, ``upkeep``,
      ``target_file_size``, ``properties``, ``compression``, ``row_group_rows``, ``bloom_columns``,
      ``on_lossy``, ``timeout``, ``optimize_write``, ``storage_options`` and ``credentials`` are those
      of :func:`write`.

    The returned function takes a batch and its number, as Spark passes them. You may call it in a
    function of your own.
    """
    if not arguments.given("app_id", arguments.words("app_id", app_id)).strip():
        raise InvalidInputError(f"app_id={app_id!r}: the name of the stream is empty")
    trusted = arguments.given("repeats", arguments.word("repeats", repeats, Repeats)) == "trust"
    mode = options.get("mode", "append")
    if arguments.given("mode", arguments.word("mode", mode, Mode)) not in ("append", "overwrite"):
        raise InvalidInputError(
            f"mode={mode!r}: a stream must append its batches, or overwrite all rows with each batch: the mode must be append or overwrite"
        )
    # Invalid arguments raise an error now, and not in the first batch.
    _checked(options)
    arguments.strings("storage_options", options.get("storage_options"))
    # A Connect server calls the function in another folder.
    place = location.of_caller(uri)

    def write_batch(df: DataFrame, batch_id: int) -> None:
        check_frame(df)
        number = arguments.given("batch_id", arguments.integer("batch_id", batch_id))
        batch = Batch.in_foreach(df, app_id, number, trusted=trusted)
        with batch.written_once(place, df):
            write(df, place, txn=batch, **options)

    return write_batch


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a write in the form that `_lakebed` takes, with defaults. A batch sets
    `txn` later.
    """
    given = {"mode": "append", "partitions": None, "schema_mode": "enforce", **options, "where": condition(options.get("where"))}
    if isinstance(options.get("txn"), Batch):
        given["txn"] = None
    given.pop("optimize_write", None)
    return checked(given)


def _optimize_write(options: Mapping[str, Any]) -> bool | None:
    wanted = options.get("optimize_write")
    return None if wanted is None else arguments.flag("optimize_write", wanted)


def _result(handle: _lakebed.Table, committed: bool, metrics: Mapping[str, Any], options: Mapping[str, Any]) -> CommitResult:
    table = Table._wrap(handle, reopening(options))
    return CommitResult(version=table.version, metrics=WriteMetrics(**metrics), committed=committed, table=table)


def _arranged(df: DataFrame, planned: Mapping[str, Any], optimize_write: bool | None) -> tuple[DataFrame, int]:
    """Returns the rows as tasks write them, and the number of parts if tasks need it."""
    from pyspark.sql import functions as F

    given = {name.lower() for name in df.columns}
    # Generated columns, and columns that the data lacks, do not exist yet.
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
        # Spark joins small partitions of such a shuffle and splits large ones. Without adaptive
        # execution, it ignores the hint.
        return df.hint("rebalance", *columns), 0
    return (df.repartition(*columns) if columns else df.repartition(session.parallelism(df.sparkSession))), 0


class WritePart:
    """The function for `mapInArrow` on executors. It takes rows and returns one row with the
    files.
    """

    def __init__(self, name: str, task: bytes, parts: int, access: Access) -> None:
        #: The name in Spark's plans.
        self.__name__ = name
        self._task = task
        #: The number of parts, or 0 if it does not matter.
        self._parts = parts
        self._access = access

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with failure.alone():
            files = write_part(self._task, batches, self._access, self._parts)
        if files is not None:
            yield pa.record_batch([pa.array([files], pa.binary())], names=["files"])


def write_part(task: bytes, batches: Iterable[pa.RecordBatch], access: Access, parts: int = MOST_PARTS) -> bytes | None:
    """Writes the rows of this Spark task and returns the files. None if there are no rows."""
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
    return _lakebed.write_files(task, (part, max(parts, 1)), data, dict(access.storage_options), access.credentials)
