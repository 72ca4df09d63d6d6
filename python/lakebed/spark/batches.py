"""How Spark cuts the rows that it hands to Python into batches.

Spark asks after each row how large the batch has become, column by column: of a wide table that takes longer than everything else
on the way (measured: a third of the time of writing 16 columns). Where rows cannot be large, a number of rows bounds a batch as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType

from lakebed.spark import session, types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["counted"]

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
#: With this Spark does not look at sizes.
_ANY_SIZE = (1 << 31) - 1
#: Texts of 32 KiB make these what Spark takes for a batch otherwise, 64 MiB.
_ROWS_WITH_TEXTS = 2048


@contextmanager
def counted(df: DataFrame) -> Iterator[None]:
    """Actions of this thread count the rows of batches in place of their bytes, if the data allow it and no setting says otherwise.

    The settings are local to the thread, and stay out of the session. Connect has no such thing.
    """
    spark = df.sparkSession
    settings = _settings(df)
    if not settings or session.is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in settings}
    try:
        for name, value in settings.items():
            context.setLocalProperty(name, value)
        yield
    finally:
        for name, earlier in before.items():
            context.setLocalProperty(name, earlier)


def _settings(df: DataFrame) -> dict[str, str]:
    if session.changed(df.sparkSession, _BYTES, _ROWS):
        return {}
    if types.has_type(df.schema, lambda leaf: isinstance(leaf, _LARGE) or types.is_variant(leaf)):
        return {}
    has_texts = types.has_type(df.schema, _is_text)
    return {_BYTES: str(_ANY_SIZE), **({_ROWS: str(_ROWS_WITH_TEXTS)} if has_texts else {})}


#: Of values of these types one alone may be very large.
_LARGE = (ArrayType, BinaryType, MapType)


def _is_text(data_type: DataType) -> bool:
    return isinstance(data_type, StringType)
