"""``format("lakebed")``: the batch side of the Python data source, and :func:`register`.

Spark creates these objects in separate processes, which plan on the driver. State that must last is
pickled with the objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from lakebed import _lakebed
from lakebed.changes import Changes
from lakebed.errors import InvalidInputError
from lakebed.scan import Scan
from lakebed.spark import failure, session, types
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
from lakebed.spark.stream import StreamOptions, StreamWriter, stream_reader, stream_schema
from lakebed.spark.write import write_part
from lakebed.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter
    from pyspark.sql.types import StructType

__all__ = ["LakebedSource", "register"]

#: The number of tasks that run at a time is unknown here.
_LEAST_TASKS = 16
_LEAST_TASK_BYTES = 4 << 20
_MOST_TASK_BYTES = 128 << 20

#: Options that only batch reads have.
_OF_BATCHES = (
    "version",
    "versionAsOf",
    "timestamp",
    "timestampAsOf",
    "columns",
    "where",
    "absolute_paths",
    "endingVersion",
    "endingTimestamp",
)
#: The last columns of the change data feed.
_OF_CHANGES = ["_change_type", "_commit_version", "_commit_timestamp"]


def register(spark: SparkSession) -> None:
    """Registers ``format("lakebed")`` in ``spark``, a session: for readers, writers, streams and
    views.

    Spark passes no columns to such a source, and passes filters in a way that gives wrong rows (see
    :class:`Reader`). Use the options ``columns`` and ``where``, or :func:`lakebed.spark.read`,
    where Spark prunes by itself.

    For a write, Spark looks for the source in the active session of the writing thread, which a new
    thread does not have. Call this in each thread, as
    ``ThreadPoolExecutor(initializer=lbs.register, initargs=(spark,))`` does. With Spark Connect,
    one call is enough.
    """
    # Spark refuses a name that the active session knows, also if that is another session.
    session.make_active(spark)
    spark.dataSource.register(LakebedSource)


class LakebedSource(DataSource):
    """A table by its location."""

    #: The version is pinned when Spark requests the schema. A data frame stays at its version.
    _version: int | None = None

    @classmethod
    def name(cls) -> str:
        return "lakebed"

    def schema(self) -> StructType:
        with failure.alone():
            return self._schema()

    def _schema(self) -> StructType:
        options = Options(self.options)
        if not options.has(*_OF_BATCHES) and (stream := StreamOptions.of(options)).options:
            # Spark does not say whether it plans a batch or a stream. A batch of changes with the
            # options of a stream has the schema of that version.
            options.done("for a stream")
            opened = stream.open()
            self._version = opened.version
            return stream_schema(opened)
        rows = _ReadOptions.of(Options(self.options)).rows(None, None)
        self._version = _last_version(rows)
        return _shown(rows)

    def reader(self, schema: StructType) -> DataSourceReader:
        with failure.alone():
            return Reader(_ReadOptions.of(Options(self.options)), self._version, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        with failure.alone():
            return Writer(Options(self.options), schema, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        # The error keeps its traceback: otherwise, Spark would only show its own error about a
        # missing reader.
        return stream_reader(Options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        with failure.alone():
            return StreamWriter(Options(self.options), schema, overwrite)


@dataclass(frozen=True)
class _ReadOptions:
    """The options of a batch read."""

    path: str
    version: int | None
    timestamp: str | None
    #: The start and the end of a read of changes, by version or timestamp.
    start: int | str | None
    end: int | str | None
    columns: list[str] | None
    where: str | None
    access: Access

    @classmethod
    def of(cls, options: Options) -> _ReadOptions:
        reads_changes = options.flag("readChangeFeed", "readChangeData") or False
        found = cls(
            path=options.path,
            version=options.number("version", "versionAsOf"),
            timestamp=options.moment("timestamp", "timestampAsOf"),
            start=_bound(options, "starting", reads_changes),
            end=_bound(options, "ending", reads_changes),
            columns=options.names("columns"),
            where=options.text("where"),
            access=options.access(absolute_paths=options.flag("absolute_paths") or False),
        )
        options.done("for reading")
        names_version = found.version is not None or found.timestamp is not None
        if found.version is not None and found.timestamp is not None:
            raise InvalidInputError("give version or timestamp, not both")
        if reads_changes and (found.start is None or names_version):
            raise InvalidInputError(
                "changes need startingVersion or startingTimestamp. They may have endingVersion or endingTimestamp, "
                "but neither version nor timestamp"
            )
        if not reads_changes and (found.start is not None or found.end is not None):
            raise InvalidInputError(
                "starting and ending options are for changes only: add the option readChangeFeed=true, or leave them out"
            )
        return found

    def rows(self, version: int | None, columns: list[str] | None) -> Scan | Changes:
        """Returns the rows to read, at a pinned version or up to it. `columns` are all columns of a
        given schema.
        """
        if self.start is not None:
            if columns is not None and columns[-3:] != _OF_CHANGES:
                raise InvalidInputError(f"{self.path}: a schema for changes ends with {', '.join(_OF_CHANGES)}")
            table = Table(self.path, **self.access.options())
            narrowed: dict[str, Any] = {"columns": self.columns if columns is None else columns[:-3], "where": self.where}
            end = self.end
            if end is None and version is not None:
                # A start after the newest version gets its own error.
                end = max(version, self.start) if isinstance(self.start, int) else version
            found = table.changes(self.start, end, **narrowed)
            is_later = version is not None and found.end_version > version
            return table.changes(self.start, version, **narrowed) if is_later else found
        time = None if version is not None else self.timestamp
        version = self.version if version is None else version
        table = Table(self.path, version=version, timestamp=time, **self.access.options())
        return table.scan(columns if columns is not None else self.columns, where=self.where)


def _bound(options: Options, which: str, reads_changes: bool) -> int | str | None:
    version = options.number(f"{which}Version")
    timestamp = options.moment(f"{which}Timestamp") if reads_changes else options.text(f"{which}Timestamp")
    if version is not None and timestamp is not None:
        raise InvalidInputError(f"give {which}Version or {which}Timestamp, not both")
    return timestamp if version is None else version


def _last_version(rows: Scan | Changes) -> int:
    return rows.end_version if isinstance(rows, Changes) else rows._table.version


def _shown(rows: Scan | Changes) -> StructType:
    return types.shown(types.pruned(types.table_schema(rows._delta_schema()), rows.schema))


def _tasks(rows: Scan | Changes) -> list[bytes]:
    if isinstance(rows, Changes):
        plan = rows._changes.plan()
        return plan.tasks(_fair_bytes(plan.size_bytes))
    return rows.tasks(target_task_size=_fair_bytes(sum(size or 0 for size in rows.files().column("size_bytes").to_pylist())))


def _fair_bytes(size_bytes: int) -> int:
    return min(_MOST_TASK_BYTES, max(_LEAST_TASK_BYTES, size_bytes // _LEAST_TASKS))


class Reader(DataSourceReader):
    """A batch read. The driver plans it, and tasks read the rows.

    It takes no filters from Spark. Up to 4.3, Spark plans a data frame's source once for all
    queries, with the filters of the first one: after ``df.where("id > 5").count()``, ``df.count()``
    would return the same number.
    """

    def __init__(self, options: _ReadOptions, version: int | None, schema: StructType) -> None:
        self._options = options
        self._version = version
        self._schema = schema
        refuse_uncarried(schema)

    def partitions(self) -> Sequence[InputPartition]:
        with failure.alone():
            return [TaskPartition(task) for task in _tasks(self._rows())]

    def _rows(self) -> Scan | Changes:
        """Returns the rows to read, with the columns of the schema."""
        rows = self._options.rows(self._version, None)
        whole = _shown(rows)
        if whole.names != self._schema.names:
            rows = self._options.rows(_last_version(rows), self._schema.names)
            whole = _shown(rows)
        differing = [
            f"{given.name} is {found.dataType.simpleString()}, not {given.dataType.simpleString()}"
            for found, given in zip(whole.fields, self._schema.fields, strict=True)
            if found.dataType != types.shown(self._schema)[given.name].dataType
        ]
        if differing:
            raise InvalidInputError(f"{self._options.path}: the given schema differs from the table's: {'; '.join(differing)}")
        return rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # If there are no tasks, Spark creates a partition of its own.
        if isinstance(partition, TaskPartition):
            with failure.alone():
                yield from read_partition(partition, self._options.access, self._schema)


class Writer(DataSourceArrowWriter):
    """A batch write. The driver plans it, tasks write the files, and the driver commits once."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        self._access = options.access()
        self._options = write_options(options, overwrite, self._access)
        self._task = plan(self._options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartWritten:  # type: ignore[override]
        if self._task is None:
            return PartWritten(None)
        with failure.alone():
            return PartWritten(write_part(self._task, iterator, self._access))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._task is not None:
            with failure.alone():
                _lakebed.Table.commit_write(self._options, self._task, files_of(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        with failure.alone():
            abort(self._options, messages)
