"""`lbs.write`: the rows of a data frame become files on the executors and one version on the driver. Begins with :func:`write`."""

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

#: Parts of a write that number rows, for each task that runs at a time.
_PARTS_PER_CORE = 2
#: So many parts at most number rows where nobody tells how many there will be.
MOST_PARTS = 1 << 20


@takes(FrameWriting)
def write(df: DataFrame, uri: str | os.PathLike[str], **options: Unpack[FrameWriting]) -> CommitResult:
    """Writes the rows of a data frame to a table, which is made if there is none, in one commit: all of them or none.

    Spark's tasks write the files of ``df``, with statistics; this process commits them. What tasks write that fail or run twice is named
    by no version. The options mean what they mean for :func:`lakebed.write`:

    - ``uri``: where; a URL, or a path on this machine and on the workers. A relative path begins in the current folder of this process.
    - ``mode``: ``append``; ``overwrite`` (all rows make way, or with ``where`` those for which it is true, or with
      ``partitions="dynamic"`` those of the partitions that are written to); ``error`` and ``ignore`` write only where there is no table.
    - ``partitions``: ``static`` or ``dynamic``; by default what the session's setting ``spark.sql.sources.partitionOverwriteMode`` says,
      unless ``where`` or ``schema_mode="overwrite"`` says which rows make way.
    - ``schema_mode``: ``enforce`` (columns are found by name, and must fit), ``merge`` (new columns are added to the table), ``overwrite``.
    - ``txn=("my-job", 7)``: a write that the table knows already is not done again.
    - ``user_metadata``: words of your own, which the history keeps.
    - ``target_file_size``: about how large files become, in bytes.
    - ``partition_by``, ``cluster_by`` and ``properties`` are for tables that are made here; see :func:`lakebed.create`.
    - ``compression``: ``snappy``, ``zstd``, ``zstd(1)`` to ``zstd(22)``, ``gzip``, ``lz4`` or ``none``.
    - ``row_group_rows``: the most rows of a row group; ``bloom_columns``: columns that get Bloom filters.
    - ``on_lossy="truncate"`` lets digits go that a column cannot hold.
    - ``timeout``: seconds to go on trying to commit while other writers are faster.
    - ``optimize_write`` brings the rows of a partition together first, so that few files come of them: by default where the table has
      partitions, and as its property ``delta.autoOptimize.optimizeWrite`` says.
    - ``storage_options`` say how to reach the store, without secrets: these stay out of Spark's plans. ``credentials`` is a function that
      returns them, which each worker calls; without it workers find them in their own environment.
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
    """A function for ``writeStream.foreachBatch`` that writes each batch once, also when Spark repeats it after a failure.

    - ``uri``: the table, which the first batch makes if there is none.
    - ``app_id`` names the stream in the table: keep it as long as the stream's checkpoint, and give each stream its own; and each write, if
      your function writes a batch in several parts: a second write under the same name with other rows is an error.
    - ``repeats="check"``: a batch of another query is refused under this name. A batch is refused too if it has the number of a known batch
      but other offsets, or, where Spark does not tell these (on Connect), another number of rows. ``"trust"`` leaves out the comparison of
      rows: for queries that give other rows each time that they run.
    - ``mode``: ``append``, or ``overwrite``, by which each batch replaces all rows, or those that ``where`` or ``partitions`` name.
    - ``partition_by``, ``cluster_by``, ``schema_mode``, ``user_metadata``, ``target_file_size``, ``properties``, ``compression``, ``row_group_rows``,
      ``bloom_columns``, ``on_lossy``, ``timeout``, ``optimize_write``, ``storage_options`` and ``credentials`` are those of :func:`write`.

    What comes back takes a batch and its number, as Spark gives them, and may be called in a function of your own.
    """
    if not arguments.given("app_id", arguments.words("app_id", app_id)).strip():
        raise InvalidInputError(f"app_id={app_id!r}: the name of the stream is empty")
    trusted = arguments.given("repeats", arguments.word("repeats", repeats, Repeats)) == "trust"
    mode = options.get("mode", "append")
    if arguments.given("mode", arguments.word("mode", mode, Mode)) not in ("append", "overwrite"):
        raise InvalidInputError(
            f"mode={mode!r}: a stream appends its batches, or replaces all rows by each of them: it must be append or overwrite"
        )
    # What makes no sense is told now, and not by the first batch.
    _checked(options)
    arguments.strings("storage_options", options.get("storage_options"))
    # A Connect server calls the function in a folder of its own.
    place = location.of_caller(uri)

    def write_batch(df: DataFrame, batch_id: int) -> None:
        check_frame(df)
        number = arguments.given("batch_id", arguments.integer("batch_id", batch_id))
        batch = Batch.in_foreach(df, app_id, number, trusted=trusted)
        with batch.written_once(place, df):
            write(df, place, txn=batch, **options)

    return write_batch


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a write as `_lakebed` takes them, those that are not given as well. A stream's batch stands for its `txn`."""
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
