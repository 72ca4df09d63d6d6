"""Checks arguments that only Spark's functions have. :mod:`lakebed.arguments` checks all others."""

from __future__ import annotations

from typing import Any

from lakebed import arguments
from lakebed.errors import InvalidInputError

__all__ = ["check_frame", "check_session", "condition"]


def check_session(spark: Any) -> None:
    """Refuses a value that is not a Spark session, classic or Connect."""
    if not hasattr(type(spark), "createDataFrame"):
        raise TypeError(f"spark takes a SparkSession, not a {type(spark).__name__}")


def check_frame(df: Any) -> None:
    """Refuses a value that is not a data frame of Spark, and a data frame that is a stream."""
    if not hasattr(type(df), "mapInArrow"):
        own = hasattr(df, "to_spark")
        instead = "write df.to_spark()" if own else "lakebed.write takes pandas, polars and pyarrow"
        raise TypeError(f"df takes a data frame of Spark's, not a {type(df).__module__}.{type(df).__name__}: {instead}")
    if df.isStreaming:
        raise InvalidInputError(
            "df is a stream: use df.writeStream.format('lakebed'), or foreachBatch(lakebed.spark.foreach_batch(uri, app_id=...))"
        )


def condition(value: Any) -> str | None:
    """Checks a predicate in SQL."""
    if hasattr(value, "isNotNull"):
        raise TypeError(
            f'where={value!r}: it must be text in SQL, such as "id > 5": lakebed plans with it before Spark sees any rows. '
            "A Column filters a data frame: df.where(...)"
        )
    return arguments.text("where", value)
