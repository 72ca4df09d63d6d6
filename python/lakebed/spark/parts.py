"""Shared parts of the batch and the stream side of the data source.

These are tasks as Spark's partitions, the results of writing tasks, and the options of writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

from pyspark.sql.datasource import InputPartition, WriterCommitMessage

from lakebed import _lakebed
from lakebed.arguments import Mode, OnLossy, Partitions, SchemaMode
from lakebed.errors import InvalidInputError
from lakebed.options import checked, located
from lakebed.scan import read_task
from lakebed.spark import types, written
from lakebed.spark.credentials import Access
from lakebed.spark.options import Options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = [
    "PartWritten",
    "TaskPartition",
    "abort",
    "files_of",
    "plan",
    "read_partition",
    "refuse_uncarried",
    "write_options",
]


class TaskPartition(InputPartition):
    """A task of a scan as one of Spark's partitions."""

    def __init__(self, task: bytes) -> None:
        self.task = task

    def __repr__(self) -> str:
        return f"TaskPartition({len(self.task)} bytes)"


def read_partition(partition: TaskPartition, access: Access, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Returns the rows of a task. Their schema is exactly the one that Spark expects of the data
    source.
    """
    import pyarrow as pa

    wanted = types.arrow_schema(schema)
    for rows in read_task(partition.task, **access.options()):
        rows = types.carried_rows(rows, schema)
        yield (
            rows
            if rows.schema.equals(wanted)
            else pa.RecordBatch.from_arrays(
                [column.cast(field.type) for column, field in zip(rows.columns, wanted, strict=True)], schema=wanted
            )
        )


def refuse_uncarried(schema: StructType) -> None:
    """Refuses types that Spark cannot take from a Python data source, with a clear message."""
    if types.carried(schema) != types.nullable(schema):
        names = [field.name for field in schema.fields if types.carried(types.alone(field)) != types.nullable(types.alone(field))]
        raise InvalidInputError(
            f"Spark does not accept year-month intervals from a Python data source (columns {', '.join(names)}): "
            "read with lakebed.spark.read, or leave them out with option('columns', ...)"
        )


@dataclass
class PartWritten(WriterCommitMessage):
    """The result of a writing task: the files that it wrote."""

    files: bytes | None


def plan(options: dict[str, Any], schema: StructType) -> bytes | None:
    """Returns the task of a write, or None if there is nothing to write."""
    planned, _ = _lakebed.Table.plan_write(options, written.delta_schema(schema))
    return None if planned is None else planned["task"]


def files_of(messages: Iterable[WriterCommitMessage | None]) -> list[bytes]:
    """Returns the files of the tasks that finished."""
    return [message.files for message in messages if isinstance(message, PartWritten) and message.files is not None]


def abort(options: dict[str, Any], messages: Iterable[WriterCommitMessage | None]) -> None:
    """Deletes the files of a write that cannot be committed any more."""
    messages = list(messages)
    # If all messages are present, Spark has called commit. It may have succeeded, and if not, it
    # has deleted the files.
    if any(message is None for message in messages):
        _lakebed.Table.abort_write(options, files_of(messages))


def write_options(options: Options, overwrite: bool, access: Access) -> dict[str, Any]:
    """Returns the options of a write, in the form that `_lakebed` takes."""
    where = options.text("where", "replaceWhere")
    mode = options.word("mode", among=get_args(Mode)) or ("overwrite" if overwrite else "append")
    app_id, number = options.text("txnAppId"), options.number("txnVersion")
    if (app_id is None) != (number is None):
        raise InvalidInputError("the options txnAppId and txnVersion must be given together")
    given: dict[str, Any] = {
        "mode": mode,
        "where": where,
        "partitions": options.word("partitions", "partitionOverwriteMode", among=get_args(Partitions)),
        "schema_mode": _schema_mode(options, mode),
        "txn": None if app_id is None else (app_id, number),
        "user_metadata": options.text("user_metadata", "userMetadata"),
        "target_file_size": options.number("target_file_size"),
        "compression": options.text("compression"),
        "row_group_rows": options.number("row_group_rows"),
        "bloom_columns": options.names("bloom_columns"),
        "on_lossy": options.word("on_lossy", among=get_args(OnLossy)),
        "timeout": options.seconds("timeout"),
        "partition_by": options.names("partition_by", "partitionBy"),
        "cluster_by": options.names("cluster_by", "clusterBy"),
        "properties": options.properties(),
    }
    options.done("for writing")
    return {**located(options.path, access.options()), **checked(given)}


def _schema_mode(options: Options, mode: str) -> SchemaMode:
    """Returns the schema mode of lakebed's option, or of Delta Spark's two options. They must not
    contradict.
    """
    said = options.word("schema_mode", among=get_args(SchemaMode))
    flags = {"merge": options.flag("mergeSchema"), "overwrite": options.flag("overwriteSchema")}
    for meant, flag in flags.items():
        if said is not None and flag is not None and flag != (said == meant):
            raise InvalidInputError(f"the options schema_mode={said} and {meant}Schema={str(flag).lower()} contradict each other")
    if flags["overwrite"] and mode != "overwrite":
        raise InvalidInputError(f"overwriteSchema=true needs the mode overwrite, which replaces all rows; the mode is {mode}")
    return cast("SchemaMode", said) if said else "overwrite" if flags["overwrite"] else "merge" if flags["merge"] else "enforce"
