"""Chooses the reader of each file of a table in Spark, and gives the reasons.

Spark's own Parquet reader prunes columns and pushes filters down by itself, and Spark knows the
files. It is the better reader wherever it returns exactly the rows of the table. mapInArrow over
scan tasks reads every table. Read :func:`choose` first. `_of_session`, `_of_table` and `_of_filter`
have the reasons against Spark's reader for a whole table, and `places` those for a file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from lakebed.spark import partitions, places, session, types
from lakebed.spark.groups import Reader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["Asked", "Choice", "Reading", "choose"]

#: The most reads by Spark's reader. Each is a scan of its own in Spark's plan.
_MOST_READINGS = 16
#: The most rows in files with deletion vectors. Each is one bit of a broadcast.
_MOST_BITS = 64 << 23


@dataclass(frozen=True)
class Asked:
    """The facts about a read that the choice of the reader needs."""

    #: The table's URL.
    root: str
    #: All columns of the table, with their metadata.
    table_schema: StructType
    #: The returned columns, with the returned fields of structs.
    schema: StructType
    partition_columns: Sequence[str]
    mapping_mode: str
    columns: Sequence[str] | None
    where: str | None
    absolute_paths: bool

    @property
    def needed(self) -> StructType:
        """The columns that must be read."""
        return self.schema if self.where is None else self.table_schema


@dataclass(frozen=True)
class Reading:
    """Files that Spark's reader reads together."""

    #: Their paths without escapes, as Hadoop takes them.
    paths: list[str]
    #: Their partition values by column. None if the names of their directories have the values.
    values: Mapping[str, pa.Scalar[Any]] | None
    #: The paths in the log of the files with deletion vectors: either none or all files. No two of
    #: them have the same size.
    deleting: Sequence[str] = ()
    #: Whether all bounds of floating-point columns are known to cover NaN.
    complete_bounds: bool = False


@dataclass
class Choice:
    """The choice of the reader of each file."""

    readings: list[Reading] = field(default_factory=list)
    #: The files that lakebed reads, by their paths in the log.
    by_lakebed: set[str] = field(default_factory=set)
    #: The reasons why Spark's reader does not read them, with the number of files.
    reasons: Counter[str] = field(default_factory=Counter)

    def leave_to_lakebed(self, paths: Sequence[str], reason: str) -> None:
        self.by_lakebed.update(paths)
        self.reasons[reason] += len(paths)


def choose(spark: SparkSession, asked: Asked, files: pa.Table, reader: Reader) -> Choice:
    """Chooses the reader of each planned file.

    The files are those of `Scan.files`, with `complete_bounds` if there are floating-point columns.
    """
    choice = Choice()
    paths: list[Any] = files.column("path").to_pylist()
    reason = (
        "reader='lakebed'"
        if reader == "lakebed"
        else _of_session(spark, asked) or _of_table(asked, reader) or _of_filter(spark, asked, reader)
    )
    if reason:
        choice.leave_to_lakebed(paths, reason)
        return choice
    root = places.hadoop_root(asked.root)
    planned = _Planned(paths, [places.place(root, path) for path in paths], files)
    if len(set(planned.places)) < len(paths):
        choice.leave_to_lakebed(paths, "the table has a file twice")
        return choice
    whole: list[int] = []
    deleting: list[int] = []
    for row, (path, place, size_bytes, deleted_records) in enumerate(planned.facts()):
        reason = places.objection(path, place, size_bytes, asked.absolute_paths)
        if reason:
            choice.leave_to_lakebed([path], reason)
        else:
            (deleting if deleted_records else whole).append(row)
    if planned.num_records(deleting) > _MOST_BITS:
        choice.leave_to_lakebed([paths[row] for row in deleting], "the deletion vectors are too large for a broadcast")
        deleting = []
    readings: list[Reading] = []
    for complete_bounds in (True, False):
        readings += _readings(asked, planned, planned.bounded(whole, complete_bounds), False, complete_bounds)
        for rows in _of_distinct_sizes(planned, planned.bounded(deleting, complete_bounds)):
            readings += _readings(asked, planned, rows, True, complete_bounds)
    if len(readings) > _MOST_READINGS:
        choice.leave_to_lakebed(
            [paths[row] for row in whole + deleting], f"Spark would need more than {_MOST_READINGS} separate reads"
        )
    else:
        choice.readings = readings
    return choice


@dataclass(frozen=True)
class _Planned:
    """The planned files, by row."""

    paths: list[str]
    places: list[str]
    #: The table of `Scan.files`.
    table: pa.Table

    @cached_property
    def sizes_bytes(self) -> list[Any]:
        return self.table.column("size_bytes").to_pylist()

    def facts(self) -> Iterator[tuple[str, str, Any, Any]]:
        """Returns the log's path, Hadoop's path, the size and the number of deleted rows of each
        file.
        """
        return zip(self.paths, self.places, self.sizes_bytes, self.table.column("deleted_records").to_pylist(), strict=True)

    def bounded(self, rows: Sequence[int], complete_bounds: bool) -> list[int]:
        """Returns the rows of files with bounds that are known to cover NaN, or the rows of the
        other files.

        If the table of files has no column for this, the bounds of all files cover NaN.
        """
        if "complete_bounds" not in self.table.column_names:
            return list(rows) if complete_bounds else []
        told: list[Any] = self.table.column("complete_bounds").to_pylist()
        return [row for row in rows if told[row] == complete_bounds]

    def num_records(self, rows: Sequence[int]) -> float:
        """Returns the number of rows in files, including deleted rows."""
        counts = [self.table.column("num_records")[row].as_py() for row in rows]
        return sum(math.inf if count is None else count for count in counts)


def _of_session(spark: SparkSession, asked: Asked) -> str | None:
    """Returns a setting with which Spark's reader would lose rows, and that no option of a read
    overrides.
    """
    for name, default, harmful in _SETTINGS:
        if session.setting(spark, name, default) == harmful:
            return f"{name} is {harmful}"
    if types.has_type(asked.needed, lambda inner: isinstance(inner, StructType) and inner is not asked.needed):
        if session.version(spark) < (4, 1):
            return "Spark before 4.1 reads a struct as null if a file has none of the fields that are read"
        if session.setting(spark, _STRUCTS, "false") == "true":
            return f"{_STRUCTS} is true"
    if types.has_type(asked.needed, types.is_variant) and session.version(spark) < (4, 1):
        return "Spark before 4.1 does not read every variant"
    if "parquet" not in session.setting(spark, "spark.sql.sources.useV1SourceList", "parquet").split(","):
        return "spark.sql.sources.useV1SourceList lacks parquet"
    return None


_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"
#: Settings with their defaults and the harmful values.
_SETTINGS = (
    # Columns would be missing if their names in files differ in case.
    ("spark.sql.caseSensitive", "false", "true"),
    # Shifts timestamps by the zone of the session.
    ("spark.sql.parquet.int96TimestampConversion", "false", "true"),
    # -0.0 and 0.0 would be different.
    ("spark.sql.parquet.recordLevelFilter.enabled", "false", "true"),
)


def _of_table(asked: Asked, reader: Reader) -> str | None:
    scheme = urlsplit(asked.root).scheme
    if scheme not in places.SCHEMES:
        return f"Hadoop has no {scheme}:"
    if scheme != "file" and reader == "auto":
        return f"Spark may not be able to read {scheme}:"
    if not set(asked.schema.names) <= set(asked.table_schema.names):
        return "metadata columns are read"
    if asked.mapping_mode not in ("none", "name"):
        return f"the column mapping mode is {asked.mapping_mode}"
    if any(types.has_type(field.dataType, types.is_void) and not types.is_void(field.dataType) for field in asked.needed.fields):
        return "a column has a nested void"
    return None


def _of_filter(spark: SparkSession, asked: Asked, reader: Reader) -> str | None:
    """Returns the reason why Spark may read the predicate differently than lakebed, which prunes
    files by it. None if there is no such reason.
    """
    if asked.where is None:
        return None
    if asked.columns is not None and reader == "auto":
        return "columns and where are given: lakebed decodes only the columns that they need"
    if "_metadata" in asked.where.lower():
        # Spark has no row ids here, and spells paths of files differently.
        return "where uses metadata columns"
    if any(field != asked.table_schema[field.name] for field in asked.schema.fields):
        return "where is given, and nested columns are read"
    other = session.changed(spark, *_MEANINGS)
    if other:
        return f"where may mean something else in Spark, because {', '.join(other)} is set"
    if session.setting(spark, "spark.sql.ansi.enabled", "true") != "true":
        return "where may mean something else in Spark, because spark.sql.ansi.enabled is false"
    zone = session.setting(spark, "spark.sql.session.timeZone", "UTC")
    has_times = types.has_type(asked.table_schema, lambda leaf: isinstance(leaf, (TimestampType, TimestampNTZType)))
    if zone not in _UTC and (has_times or "time" in asked.where.lower() or "(" in asked.where):
        return f"where may mean something else in Spark, because spark.sql.session.timeZone is {zone}"
    return None


#: Prefixes of settings that change the meaning of SQL expressions.
_MEANINGS = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enforceReservedKeywords",
    "spark.sql.legacy.",
    "spark.sql.parser.",
    "spark.sql.decimalOperations.",
    "spark.sql.timestampType",
    "spark.sql.session.collation",
)
_UTC = {"utc", "etc/utc", "gmt", "z", "+00:00"}


def _readings(asked: Asked, planned: _Planned, rows: list[int], are_deleting: bool, complete_bounds: bool) -> list[Reading]:
    if not rows:
        return []
    columns = StructType([asked.table_schema[name] for name in asked.partition_columns])
    if not columns.names or (asked.where is None and set(columns.names).isdisjoint(asked.schema.names)):
        groups = [partitions.Group(rows, {})]
    else:
        root = places.hadoop_root(asked.root) + "/"
        directories = [place.removeprefix(root).rpartition("/")[0] for place in planned.places]
        groups = partitions.groups(rows, directories, planned.table.column("partition").combine_chunks(), columns)

    def reading(group: partitions.Group) -> Reading:
        deleting = [planned.paths[row] for row in group.rows] if are_deleting else []
        return Reading([planned.places[row] for row in group.rows], group.values, deleting, complete_bounds)

    return [reading(group) for group in groups]


def _of_distinct_sizes(planned: _Planned, rows: Iterable[int]) -> list[list[int]]:
    """Lists of rows. No two files in a list have the same size."""
    found: list[list[int]] = []
    seen: Counter[int] = Counter()
    for row in rows:
        at = seen[planned.sizes_bytes[row]]
        seen[planned.sizes_bytes[row]] += 1
        if at == len(found):
            found.append([])
        found[at].append(row)
    return found
