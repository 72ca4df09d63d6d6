"""Which road the rows of a table take to Spark, file by file, and why.

Spark's own Parquet reader prunes columns and pushes filters down by itself, and Spark knows what it reads: it is the better road wherever
it gives exactly the rows that the log says. mapInArrow over scan tasks reads every table. Read :func:`choose` first. What keeps a table
from Spark's reader stands in `_of_session` and `_of_table`, what keeps a file from it in `_of_file`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from pyspark.sql.types import DataType, NullType, StructType, TimestampNTZType, TimestampType

from lakebed.spark import partitions, session, types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["Asked", "Reading", "Road", "Roads", "choose"]

#: What a caller may say of the road.
Road = Literal["auto", "spark", "arrow"]

#: Reads side by side at most: each is a scan of its own in Spark's plan.
_MOST_READINGS = 16


@dataclass(frozen=True)
class Asked:
    """What a read asks of a table, as far as it decides on the road."""

    #: The table's URL.
    root: str
    #: All its columns, with the metadata that Delta keeps with them.
    table_schema: StructType
    #: Those that come out, and of structs the fields that do.
    schema: StructType
    partition_columns: Sequence[str]
    mapping_mode: str
    columns: Sequence[str] | None
    where: str | None
    absolute_paths: bool


@dataclass(frozen=True)
class Reading:
    """Files that Spark's reader reads in one go."""

    #: Their places, with nothing escaped in them, as Hadoop takes paths.
    paths: list[str]
    #: Their partition values by column. None: those that their directories say.
    values: Mapping[str, pa.Scalar[Any]] | None


@dataclass
class Roads:
    """Which file takes which road."""

    readings: list[Reading] = field(default_factory=list)
    #: The files that lakebed reads, by their paths in the log.
    by_arrow: set[str] = field(default_factory=set)
    #: Why they do not take Spark's reader: the number of files by reason.
    reasons: Counter[str] = field(default_factory=Counter)

    def send_by_arrow(self, paths: Sequence[str], reason: str) -> None:
        self.by_arrow.update(paths)
        self.reasons[reason] += len(paths)


def choose(spark: SparkSession, asked: Asked, files: pa.Table, road: Road) -> Roads:
    """The road of each of the planned files, which are those of `Scan.files`."""
    roads = Roads()
    paths: list[Any] = files.column("path").to_pylist()
    reason = "road='arrow'" if road == "arrow" else _of_session(spark) or _of_table(asked) or _of_filter(spark, asked, road)
    if reason:
        roads.send_by_arrow(paths, reason)
        return roads
    places = [_place(asked.root, path) for path in paths]
    fit: list[int] = []
    facts: Any = zip(
        paths, places, files.column("size_bytes").to_pylist(), files.column("deleted_records").to_pylist(), strict=True
    )
    for row, (path, place, size_bytes, deleted_records) in enumerate(facts):
        reason = _of_file(asked, path, place, size_bytes, deleted_records)
        if reason:
            roads.send_by_arrow([path], reason)
        else:
            fit.append(row)
    readings = _readings(asked, fit, paths, places, files)
    if len(readings) > _MOST_READINGS:
        roads.send_by_arrow([paths[row] for row in fit], "partition values that directories do not say")
    else:
        roads.readings = readings
    return roads


def _of_session(spark: SparkSession) -> str | None:
    """What the session makes of Spark's reader that would cost rows, and that no option of a read overrules."""
    for name, default, harmful in _SETTINGS:
        if session.setting(spark, name, default) == harmful:
            return f"{name} is {harmful}"
    if "parquet" not in session.setting(spark, "spark.sql.sources.useV1SourceList", "parquet").split(","):
        return "spark.sql.sources.useV1SourceList lacks parquet"
    return None


#: Settings with their default and the value that does harm.
_SETTINGS = (
    # Columns whose names in files are in other case would be missing.
    ("spark.sql.caseSensitive", "false", "true"),
    # Shifts timestamps by the zone of the session.
    ("spark.sql.parquet.int96TimestampConversion", "false", "true"),
    # Takes -0.0 and 0.0 for different.
    ("spark.sql.parquet.recordLevelFilter.enabled", "false", "true"),
)


def _of_table(asked: Asked) -> str | None:
    scheme = urlsplit(asked.root).scheme
    if scheme != "file":
        return f"Spark may have no way to {scheme}:"
    if asked.mapping_mode == "id":
        return "columns are mapped by id"
    if any(types.has_type(field.dataType, _is_void) and not _is_void(field.dataType) for field in asked.schema.fields):
        return "void inside of a column"
    return None


def _is_void(data_type: DataType) -> bool:
    return isinstance(data_type, NullType)


def _of_filter(spark: SparkSession, asked: Asked, road: Road) -> str | None:
    """Spark has to filter as lakebed has pruned files: its session must read the condition as lakebed does."""
    if asked.where is None:
        return None
    if asked.columns is not None and road == "auto":
        return "columns and where are given: lakebed decodes no others"
    if any(field != asked.table_schema[field.name] for field in asked.schema.fields):
        return "where is given, and columns inside of others"
    other = session.changed(spark, *_MEANINGS)
    if other:
        return f"where may mean something else, for {', '.join(other)} is set"
    if session.setting(spark, "spark.sql.ansi.enabled", "true") != "true":
        return "where may mean something else, for spark.sql.ansi.enabled is false"
    zone = session.setting(spark, "spark.sql.session.timeZone", "UTC")
    has_times = types.has_type(asked.table_schema, lambda leaf: isinstance(leaf, (TimestampType, TimestampNTZType)))
    if zone not in _UTC and (has_times or "time" in asked.where.lower() or "(" in asked.where):
        return f"where may mean something else, for spark.sql.session.timeZone is {zone}"
    return None


#: Beginnings of settings that change what an expression in SQL means.
_MEANINGS = (
    "spark.sql.legacy.",
    "spark.sql.parser.",
    "spark.sql.decimalOperations.",
    "spark.sql.timestampType",
    "spark.sql.session.collation",
)
_UTC = {"utc", "etc/utc", "gmt", "z", "+00:00"}


def _of_file(asked: Asked, path: str, place: str, size_bytes: int, deleted_records: int) -> str | None:
    if deleted_records:
        return "deletion vector"
    if urlsplit(path).scheme and not asked.absolute_paths:
        return "outside of the table"
    parts = place.removeprefix("file:///").split("/")
    if not {"", ".", ".."}.isdisjoint(parts):
        return "a path with dots"
    # Spark takes such names for no data, without a word; of a colon Hadoop makes a URL.
    if parts[-1].startswith((".", "_")) or parts[-1].endswith("._COPYING_") or ":" in parts[-1]:
        return "a name that Spark hides"
    # Of an empty file Spark reads nothing, without a word.
    if _size_on_disk(place) != size_bytes:
        return "not of the size that the log says"
    return None


def _size_on_disk(place: str) -> int | None:
    try:
        return os.stat(place.removeprefix("file://")).st_size
    except OSError:
        return None


def _place(root: str, path: str) -> str:
    if urlsplit(path).scheme:
        return re.sub("^file:/*", "file:///", unquote(path))
    return f"file://{unquote(path)}" if path.startswith("/") else f"{unquote(root)}/{unquote(path)}"


def _readings(asked: Asked, rows: list[int], paths: list[str], places: list[str], files: pa.Table) -> list[Reading]:
    if not rows:
        return []
    if set(asked.partition_columns).isdisjoint(asked.schema.names):
        return [Reading([places[row] for row in rows], {})]
    root = unquote(asked.root) + "/"
    directories = [place.removeprefix(root).rpartition("/")[0] for place in places]
    values = files.column("partition").combine_chunks()
    columns = StructType([asked.table_schema[name] for name in asked.partition_columns])
    groups = partitions.groups(rows, directories, values, columns)
    return [Reading([places[row] for row in group.rows], group.values) for group in groups]
