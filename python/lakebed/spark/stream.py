"""Streams of ``format("lakebed")``: a source with Delta's offsets and options, and a sink.

The sink writes each batch once. Spark keeps one reader per query on the driver, in a separate
process, and pickles another one for the tasks. It creates one writer for each batch and another one
to commit it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter, InputPartition, WriterCommitMessage

from lakebed import _lakebed
from lakebed.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lakebed.options import located
from lakebed.spark import failure, types
from lakebed.spark.credentials import Access
from lakebed.spark.options import Options
from lakebed.spark.parts import (
    PartWritten,
    TaskPartition,
    abort,
    files_of,
    plan,
    read_partition,
    refuse_uncarried,
    write_options,
)
from lakebed.spark.repeats import QUERY_ID, Batch, Repeats
from lakebed.spark.write import write_part

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = ["StreamOptions", "StreamWriter", "stream_reader"]

_LOGGER = logging.getLogger("lakebed.spark")

#: The options of streams with Delta Spark's names. lakebed's core defines their meaning.
_OF_STREAMS = (
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "startingVersion",
    "startingTimestamp",
    "ignoreDeletes",
    "ignoreChanges",
    "ignoreFileDeletion",
    "skipChangeCommits",
    "excludeRegex",
    "failOnDataLoss",
    "readChangeFeed",
    "readChangeData",
    "schemaTrackingLocation",
    "schemaLocation",
    "streamingSourceTrackingId",
    "allowSourceColumnRename",
    "allowSourceColumnDrop",
    "allowSourceColumnTypeChange",
)
#: The bytes of files that one task of a batch reads.
_TASK_BYTES = 64 << 20


@dataclass(frozen=True)
class StreamOptions:
    """The options of a stream of a table."""

    path: str
    options: dict[str, str]
    access: Access

    @classmethod
    def of(cls, options: Options) -> StreamOptions:
        given = {name: value for name in _OF_STREAMS if (value := options.text(name)) is not None}
        return cls(options.path, given, options.access())

    def open(self) -> _lakebed.Follow:
        """Returns the stream, with the table's current schema or the schema that the stream tracks."""
        return _lakebed.Follow.open({**located(self.path, self.access.options()), "options": self.options})


class StreamReader(DataSourceStreamReader):
    """A stream of a table's rows: offsets and tasks on the driver, rows on the executors."""

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._opened: _lakebed.Follow | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    @failure.alone()
    def initialOffset(self) -> dict[str, Any]:
        return _offset(self._stream().initial_offset())

    @failure.alone()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        tasks = self._stream().tasks(json.dumps(start), json.dumps(end), _TASK_BYTES)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        with failure.alone():
            yield from read_partition(partition, self._options.access, self._schema)

    @failure.alone()
    def commit(self, end: dict[str, Any]) -> None:
        self._stream().commit(json.dumps(end))

    @failure.alone()
    def _stream(self) -> _lakebed.Follow:
        if self._opened is None:
            opened = self._options.open()
            found = stream_schema(opened)
            if [(field.name, field.dataType) for field in found] != [(field.name, field.dataType) for field in self._schema]:
                raise SchemaMismatchError(
                    f"{self._options.path}: the table's schema has changed since the stream was defined: it is {found.simpleString()}, not "
                    f"{self._schema.simpleString()}. Define the stream again; its checkpoint keeps its progress"
                )
            self._opened = opened
        return self._opened

    @failure.alone()
    def _next(self, start: dict[str, Any], until: str | None, *, everything: bool) -> dict[str, Any]:
        """Returns the end of the next batch, or the start if there is nothing new."""
        stream = self._stream()
        max_files, max_bytes = (None, None) if everything else stream.limits()
        end = stream.latest_offset(json.dumps(start), max_files, max_bytes, until)
        return start if end is None else _offset(end)


class _ReaderBefore42(StreamReader):
    """A reader for Spark before 4.2. It requests the next offset without passing the start."""

    #: The start of the query or the end of its last batch, if known.
    _reached: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        self._reached = super().initialOffset()
        return self._reached

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        if self._reached is None:
            _LOGGER.warning(
                "%s: if a query is restarted or its trigger is availableNow, this version of Spark does not say where it stopped: its first "
                "batch contains everything that is available, and ignores maxFilesPerTrigger and maxBytesPerTrigger",
                self._options.path,
            )
            with failure.alone():
                self._reached = _offset(self._stream().newest_offset())
        else:
            self._reached = self._next(self._reached, None, everything=False)
        return self._reached

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        # A restarted query repeats its last batch if that was not finished. Otherwise, it requests
        # the empty range at its end.
        if start != end:
            self._reached = end
        return super().partitions(start, end)


def stream_reader(options: Options, schema: StructType) -> StreamReader:
    """Returns the source of a stream, for the version of Spark that runs."""
    given = StreamOptions.of(options)
    options.done("for a stream")
    refuse_uncarried(schema)
    if not hasattr(DataSourceStreamReader, "getDefaultReadLimit"):
        return _ReaderBefore42(given, schema)
    from lakebed.spark.admission import AdmittingReader

    return AdmittingReader(given, schema)


def stream_schema(stream: _lakebed.Follow) -> StructType:
    """Returns the schema of the rows of a stream, as Spark shows it."""
    schema = types.table_schema(stream.delta_schema())
    return types.shown(schema)


@dataclass
class BatchPart(PartWritten):
    """The result of a task of a batch: its files, the write task, and the id of the query."""

    task: bytes
    query_id: str | None


class StreamWriter(getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)):  # type: ignore[misc]
    """The sink of one batch. A batch that the table has is not written again.

    The table knows a batch by its query, its number and its offsets or row count. Spark creates the
    sink twice: it pickles one for the tasks, which need the write task. The other one commits, and
    gets the write task from the results of the tasks.
    """

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        if not hasattr(datasource, "DataSourceStreamArrowWriter"):
            raise UnsupportedFeatureError(
                "writing streams with format('lakebed') needs Spark 4.1 or newer; with an older version, use "
                "writeStream.foreachBatch(lakebed.spark.foreach_batch(path, app_id=...))"
            )
        self._access = options.access()
        self._checkpoint = options.text("checkpointLocation")
        self._trusted = options.word("repeats", among=get_args(Repeats)) == "trust"
        self._options = write_options(options, overwrite, self._access)
        if options.text("mode") is not None or self._options["txn"] is not None:
            raise InvalidInputError(
                "a stream has neither the option mode nor txnAppId: its output mode and its checkpoint determine both"
            )
        self._overwrites = self._options["mode"] == "overwrite"
        self._schema = schema
        self._task: bytes | None = None

    @failure.alone()
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_task": self._task or plan(self._options, self._schema)}

    @failure.alone()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchPart:
        from pyspark import TaskContext

        assert self._task is not None
        context = TaskContext.get()
        query_id = None if context is None else context.getLocalProperty(QUERY_ID)
        return BatchPart(write_part(self._task, iterator, self._access), self._task, query_id)

    @failure.alone()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        parts = [message for message in messages if isinstance(message, BatchPart)]
        files = files_of(messages)
        if not files and not self._overwrites:
            return
        task = parts[0].task if parts else plan(self._options, self._schema)
        query_id = parts[0].query_id if parts else None
        options = self._options
        if query_id is not None:
            batch = Batch.of_sink(query_id, batchId, self._checkpoint, trusted=self._trusted)
            options = {**options, "txn": batch.option()}
        assert task is not None
        _lakebed.Table.commit_write(options, task, files)

    @failure.alone()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        abort(self._options, messages)


def _offset(text: str) -> dict[str, Any]:
    offset: dict[str, Any] = json.loads(text)
    return offset
