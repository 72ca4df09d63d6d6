"""Checks arguments that only Spark's functions have. :mod:`lakebed.arguments` checks all others."""

from __future__ import annotations

from typing import Any

from lakebed import arguments
from lakebed.errors import InvalidInputError

__all__ = ["check_frame", "check_session", "condition"]


def check_session(spark: Any) -> None:
    """Refuses a value that is not a Spark session, classic or Connect."""
    if not hasattr(type(spark), "createDataFrame"):
        raise TypeError(f"spark must be a SparkSession, not a {type(spark).__name__}")


def check_frame(df: Any) -> None:
    """Refuses a value that is not a data frame of Spark, and a data frame that is a stream."""
    if not hasattr(type(df), "mapInArrow"):
        own = hasattr(df, "to_spark")
        instead = "pass df.to_spark()" if own else "for pandas, polars and pyarrow, use lakebed.write"
        raise TypeError(f"df must be a Spark DataFrame, not a {type(df).__module__}.{type(df).__name__}: {instead}")
    if df.isStreaming:
        raise InvalidInputError(
            "df is a stream: use df.writeStream.format('lakebed'), or foreachBatch(lakebed.spark.foreach_batch(uri, app_id=...))"
        )


def condition(value: Any) -> str | None:
    """Checks a predicate in SQL."""
    if hasattr(value, "isNotNull"):
        raise TypeError(
            f'where={value!r}: it must be an SQL string, such as "id > 5": lakebed plans with it before Spark reads any rows. '
            "To filter by a Column, call df.where(...) on the data frame"
        )
    return arguments.text("where", value)
