"""``format("lakebed")``: the batch side of the Python data source, and :func:`register`.

Spark makes these objects in processes of its own, which plan on the driver: what they are to remember is pickled with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from lakebed import _lakebed
from lakebed.errors import InvalidInputError
from lakebed.scan import Scan
from lakebed.spark import types
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

#: Here nobody tells how many tasks run at a time.
_LEAST_TASKS = 16
_LEAST_TASK_BYTES = 4 << 20
_MOST_TASK_BYTES = 128 << 20

#: What Delta Spark takes in a batch that reads changes.
_OF_CHANGES = ("readChangeFeed", "readChangeData", "startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp")
_STREAM_CHANGES = (
    "changes are read as a stream for now: spark.readStream.format('lakebed'), with readChangeFeed, startingVersion or "
    "startingTimestamp, and no end; trigger(availableNow=True) takes what there is"
)


def register(spark: SparkSession) -> None:
    """Makes ``format("lakebed")`` known to a session: for readers, writers, streams and SQL views.

    Spark hands no columns to such a source, and filters in a way that gives wrong rows (see :class:`Reader`): say what is wanted by the
    options ``columns`` and ``where``, or read with :func:`lakebed.spark.read`, where Spark prunes by itself.
    """
    spark.dataSource.register(LakebedSource)


class LakebedSource(DataSource):
    """A table by its path."""

    #: Pinned when Spark asks for the schema: a data frame stays at its version.
    _version: int | None = None

    @classmethod
    def name(cls) -> str:
        return "lakebed"

    def schema(self) -> StructType:
        options = Options(self.options)
        stream = StreamOptions.of(options)
        given = _ReadOptions.of(options)
        if stream.options:
            return stream_schema(stream.open())
        scan = given.scan(None, None)
        self._version = scan._table.version
        return _shown(scan)

    def reader(self, schema: StructType) -> DataSourceReader:
        return Reader(_ReadOptions.of(Options(self.options)), self._version, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return Writer(Options(self.options), schema, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return stream_reader(Options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return StreamWriter(Options(self.options), schema, overwrite)


@dataclass(frozen=True)
class _ReadOptions:
    """What options say of a batch read."""

    path: str
    version: int | None
    timestamp: str | None
    columns: list[str] | None
    where: str | None
    access: Access

    @classmethod
    def of(cls, options: Options) -> _ReadOptions:
        found = cls(
            path=options.path,
            version=options.number("version", "versionAsOf"),
            timestamp=options.text("timestamp", "timestampAsOf"),
            columns=options.names("columns"),
            where=options.text("where"),
            access=options.access(absolute_paths=options.flag("absolute_paths") or False),
        )
        options.refuse(*_OF_CHANGES, because=_STREAM_CHANGES)
        options.done("for reading")
        if found.version is not None and found.timestamp is not None:
            raise InvalidInputError("give version or timestamp, not both")
        return found

    def scan(self, version: int | None, columns: Sequence[str] | None) -> Scan:
        """The scan at a version that is pinned already, or else the one that is asked for."""
        time = None if version is not None else self.timestamp
        version = self.version if version is None else version
        table = Table(self.path, version=version, timestamp=time, **self.access.options())
        return table.scan(columns if columns is not None else self.columns, where=self.where)


def _shown(scan: Scan) -> StructType:
    schema = types.table_schema(scan._table.metadata()["schemaString"])
    return types.shown(types.pruned(schema, scan.schema))


class Reader(DataSourceReader):
    """A batch read: planned on the driver, carried out by tasks.

    It takes no filters from Spark. Up to 4.3 Spark plans a data frame's source once for all queries, whoever's filters came first: after
    ``df.where("id > 5").count()`` a ``df.count()`` would count the same rows again.
    """

    def __init__(self, options: _ReadOptions, version: int | None, schema: StructType) -> None:
        self._options = options
        self._version = version
        self._schema = schema
        refuse_uncarried(schema)

    def partitions(self) -> Sequence[InputPartition]:
        scan = self._options.scan(self._version, None)
        whole = _shown(scan)
        if whole.names != self._schema.names:
            scan = self._options.scan(scan._table.version, self._schema.names)
            whole = _shown(scan)
        differing = [
            f"{given.name} is {found.dataType.simpleString()}, not {given.dataType.simpleString()}"
            for found, given in zip(whole.fields, self._schema.fields, strict=True)
            if found.dataType != types.shown(self._schema)[given.name].dataType
        ]
        if differing:
            raise InvalidInputError(f"{self._options.path}: the schema that was given is not the table's: {'; '.join(differing)}")
        size_bytes = sum(size or 0 for size in scan.files().column("size_bytes").to_pylist())
        fair_bytes = min(_MOST_TASK_BYTES, max(_LEAST_TASK_BYTES, size_bytes // _LEAST_TASKS))
        return [TaskPartition(task) for task in scan.tasks(target_size_bytes=fair_bytes)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskPartition)
        yield from read_partition(partition, self._options.access, self._schema)


class Writer(DataSourceArrowWriter):
    """A batch write: planned here, carried out by tasks, committed once."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        self._access = options.access()
        self._options = write_options(options, overwrite, self._access)
        self._task = plan(self._options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartWritten:  # type: ignore[override]
        if self._task is None:
            return PartWritten(None)
        return PartWritten(write_part(self._task, iterator, self._access))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._task is not None:
            _lakebed.Table.commit_write(self._options, self._task, files_of(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        abort(self._options, messages)
