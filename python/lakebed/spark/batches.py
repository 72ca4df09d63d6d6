"""Splits rows into batches for Python by a row count instead of a size.

Spark computes the size of a batch after each row, column by column. For a wide table, this takes
longer than everything else (measured: a third of the time of writing 16 columns). If no row is
large, a row count limits a batch as well. Read :func:`counted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from lakebed.spark import session, types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["counted"]

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
#: With this setting, Spark does not compute sizes.
_ANY_SIZE = (1 << 31) - 1
_MOST_ROWS = 2048
#: The most bytes of the strings of a row. With rows of this size, a batch has 64 MiB, which is
#: Spark's own limit of a batch.
_MOST_BYTES = (64 << 20) // _MOST_ROWS
#: The error of a task that finds a larger row.
_LARGER = "lakebed: a row is too large to count rows"

_T = TypeVar("_T")


def counted(rows: DataFrame, action: Callable[[DataFrame], _T]) -> _T:
    """Runs an action that hands these rows to Python.

    Batches are limited by a row count instead of bytes if the types allow it, no setting says
    otherwise, and nothing else in the plan runs Python. If a row turns out to be large, the action
    runs again with limits in bytes. The settings are local to the thread and do not change the
    session. Spark Connect has no settings of a thread.
    """
    if not _may_be_counted(rows):
        return action(rows)
    try:
        with _local(rows.sparkSession, {_BYTES: str(_ANY_SIZE), _ROWS: str(_MOST_ROWS)}):
            return action(_of_small_rows(rows))
    except PySparkException as failed:
        if _LARGER not in str(failed):
            raise
    return action(rows)


def _may_be_counted(rows: DataFrame) -> bool:
    spark = rows.sparkSession
    if session.is_connect(spark) or session.changed(spark, _BYTES, _ROWS):
        return False
    if types.has_type(rows.schema, lambda leaf: isinstance(leaf, _LARGE) or types.is_variant(leaf)):
        return False
    # Strings in structs are not checked.
    inner = [field.dataType for field in rows.schema.fields if isinstance(field.dataType, StructType)]
    if any(types.has_type(struct, _is_text) for struct in inner):
        return False
    plan = rows._jdf.queryExecution().analyzed().toString()
    return not any(word in plan for word in ("Python", "Pandas", "InArrow"))


#: A single value of these types may be very large.
_LARGE = (ArrayType, BinaryType, MapType)


def _is_text(data_type: DataType) -> bool:
    return isinstance(data_type, StringType)


def _of_small_rows(rows: DataFrame) -> DataFrame:
    """Returns the rows. A large row raises an error."""
    texts = [F.col(types.quoted(field.name)) for field in rows.schema.fields if _is_text(field.dataType)]
    if not texts:
        return rows
    size_bytes = sum((F.coalesce(F.octet_length(text), F.lit(0)) for text in texts), F.lit(0))
    return rows.where(F.when(size_bytes <= _MOST_BYTES, True).otherwise(F.raise_error(_LARGER).cast("boolean")))


@contextmanager
def _local(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in settings}
    try:
        for name, value in settings.items():
            context.setLocalProperty(name, value)
        yield
    finally:
        for name, earlier in before.items():
            context.setLocalProperty(name, earlier)  # type: ignore[arg-type]  # None takes it away
