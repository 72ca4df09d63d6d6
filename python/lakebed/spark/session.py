"""Facts about a Spark session, classic or Connect. They do not depend on lakebed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import SparkNoSuchElementException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["changed", "is_connect", "make_active", "parallelism", "setting", "version"]

#: The least number of tasks of a read by a Connect session, which does not know the number of
#: cores.
_CONNECT_PARALLELISM = 16


def is_connect(spark: SparkSession) -> bool:
    """Returns whether the session uses Spark Connect. Otherwise, its JVM can be called."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def make_active(spark: SparkSession) -> None:
    """Makes the session the active one of this thread. A Connect server does so for each call."""
    if not is_connect(spark):
        jvm: Any = spark._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


def version(spark: SparkSession) -> tuple[int, int]:
    """Returns the version of Spark that runs the queries, such as (4, 1)."""
    major, minor = spark.version.split(".")[:2]
    return int(major), int(minor)


def setting(spark: SparkSession, name: str, default: str) -> str:
    """Returns a setting of the session, in lower case, also if it has the default value.

    `default` is for versions of Spark that do not know the setting.
    """
    try:
        # A default given here would replace Spark's own default.
        return (spark.conf.get(name) or default).lower()
    except SparkNoSuchElementException:
        return default.lower()


def changed(spark: SparkSession, *prefixes: str) -> list[str]:
    """Returns the names of the settings that are set, and begin with one of these prefixes."""
    return sorted(name for name in spark.conf.getAll if name.startswith(prefixes))


def parallelism(spark: SparkSession) -> int:
    """Returns the number of tasks that run at a time."""
    if not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    said = spark.conf.get("spark.sql.leafNodeDefaultParallelism", None) or spark.conf.get("spark.default.parallelism", None)
    return int(said) if said else _CONNECT_PARALLELISM
