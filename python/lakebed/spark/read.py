"""`lbs.read` returns a table as a data frame, and `lbs.explain` returns the reader that would read
it.

Both begin with :func:`_plan`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, cast

from lakebed import arguments
from lakebed.errors import InvalidInputError
from lakebed.options import takes
from lakebed.scan import Scan
from lakebed.spark import deletions, location, native, reader_choice, tasks, types
from lakebed.spark.arguments import check_session, condition
from lakebed.spark.credentials import Access
from lakebed.spark.groups import TASK_BYTES, FrameReading, Reader
from lakebed.spark.reader_choice import Asked, Choice
from lakebed.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

__all__ = ["Explanation", "explain", "read"]

#: Functions that may read the clock.
_NOW = re.compile(r"now|current_|local|curdate|unix", re.IGNORECASE)


@takes(FrameReading)
def read(spark: SparkSession, uri: str | os.PathLike[str], **options: Unpack[FrameReading]) -> DataFrame:
    """Returns a table at one version as a data frame.

    The log is read now. The data is read when ``spark``, the session, runs a query.

    - ``uri``: the location, a URL or a path on this machine and on the workers. A relative path
      begins in the current folder of this process.
    - ``columns``: the columns to return (``"_metadata.row_id"`` and the like as in
      :meth:`lakebed.Table.scan`).
    - ``where``: a predicate in SQL that selects rows. Files that cannot contain such rows are not
      read. Without it and ``columns``, Spark prunes columns and pushes filters down by itself where
      its own Parquet reader reads.
    - ``version``, ``timestamp`` or ``tag``: the version, or the newest one at a ``datetime`` with a
      zone or ISO text with one, or the version that has the tag. The default is the newest version.
    - ``reader``: ``"auto"`` takes the faster exact reader for each file. ``"spark"`` requires
      Spark's own reader, and ``"lakebed"`` lakebed's. :func:`explain` shows the choice.
    - ``target_task_size``: the most bytes that one task of lakebed's reader reads, unless a file is
      larger.
    - ``absolute_paths``: whether to read files outside of the table's folder. Shallow clones have
      such files.
    - ``storage_options`` say how to reach the store. They must not contain secrets, because Spark's
      plans contain them. ``credentials`` is a function that returns secret options. Each worker
      calls it. Without it, workers find credentials in their own environment.
    """
    plan = _plan(spark, uri, options)
    frames = [native.frame(spark, plan.asked, reading, _deleted(spark, plan, reading)) for reading in plan.choice.readings]
    if plan.choice.by_lakebed or not frames:
        frames.append(_by_lakebed(spark, plan))
    return reduce(lambda one, other: one.unionAll(other), frames)


@dataclass(frozen=True)
class Explanation:
    """The reader of each file of a table in Spark, and the reasons why Spark's reader does not read
    all of them.
    """

    #: The table's URL and version.
    table: str
    version: int
    #: The files that Spark's own Parquet reader reads, their size, and the number of its reads.
    spark_files: int
    spark_size_bytes: int
    spark_reads: int
    #: The files that lakebed reads, their size, and the number of tasks.
    lakebed_files: int
    lakebed_size_bytes: int
    lakebed_tasks: int
    #: The reasons why Spark's reader does not read these files, with the number of files.
    reasons: dict[str, int]

    def __str__(self) -> str:
        spark = f"Spark's Parquet reader: {self.spark_files} files ({self.spark_size_bytes} bytes) in {self.spark_reads} reads"
        arrow = f"lakebed by Arrow: {self.lakebed_files} files ({self.lakebed_size_bytes} bytes) in {self.lakebed_tasks} tasks"
        reasons = [f"  {files} files: {reason}" for reason, files in self.reasons.items()]
        return "\n".join([f"{self.table} at version {self.version}", spark, arrow, *reasons])


@takes(FrameReading)
def explain(spark: SparkSession, uri: str | os.PathLike[str], **options: Unpack[FrameReading]) -> Explanation:
    """Returns which reader :func:`read` with the same arguments would use, and why.

    It reads the log, but no data. The arguments are ``spark``, ``uri``, ``columns``, ``where``,
    ``version``, ``timestamp``, ``tag``, ``storage_options``, ``credentials``, ``absolute_paths``,
    ``reader`` and ``target_task_size``.
    """
    plan = _plan(spark, uri, options)
    return Explanation(
        table=plan.table.uri,
        version=plan.table.version,
        spark_files=plan.files.num_rows - len(plan.choice.by_lakebed),
        spark_size_bytes=sum(size for _, size in plan.sizes()) - plan.lakebed_size_bytes,
        spark_reads=len(plan.choice.readings),
        lakebed_files=len(plan.choice.by_lakebed),
        lakebed_size_bytes=plan.lakebed_size_bytes,
        lakebed_tasks=len(_tasks(spark, plan)),
        reasons=dict(plan.choice.reasons),
    )


@dataclass(frozen=True)
class _Plan:
    """A planned read."""

    table: Table
    access: Access
    scan: Scan
    asked: Asked
    files: pa.Table
    choice: Choice
    target_task_size: int

    @cached_property
    def lakebed_size_bytes(self) -> int:
        """The size of the files that lakebed reads."""
        return sum(size for path, size in self.sizes() if path in self.choice.by_lakebed)

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Returns the path and the size in bytes of each file."""
        paths: list[Any] = self.files.column("path").to_pylist()
        sizes: list[Any] = self.files.column("size_bytes").to_pylist()
        return zip(paths, sizes, strict=True)


def _plan(spark: SparkSession, uri: str | os.PathLike[str], options: Mapping[str, Any]) -> _Plan:
    target_task_size = arguments.task_size("target_task_size", options.get("target_task_size", TASK_BYTES))
    check_session(spark)
    reader = cast("Reader", arguments.given("reader", arguments.word("reader", options.get("reader", "auto"), Reader)))
    columns, where = arguments.columns("columns", options.get("columns")), condition(options.get("where"))
    access = Access.of(options)
    version: dict[str, Any] = {name: options.get(name) for name in ("version", "timestamp", "tag")}
    table = Table(location.of_caller(uri), **version, **access.options())
    if where is not None and _NOW.search(where):
        # The predicate is simplified to one value of the clock, for planning now and reading later.
        where = table.scan(where=where).explain().filter
    scan = table.scan(columns=columns, where=where)
    table_schema = types.table_schema(scan._delta_schema())
    mapping_mode = table.properties.get("delta.columnMapping.mode", "none").lower()
    if mapping_mode == "none":
        table_schema = types.unmapped(table_schema)
    asked = Asked(
        root=table.uri,
        table_schema=table_schema,
        schema=types.pruned(table_schema, scan.schema),
        partition_columns=table.partition_columns,
        mapping_mode=mapping_mode,
        columns=columns,
        where=where,
        absolute_paths=access.absolute_paths,
    )
    # Spark's reader skips row groups by the bounds of all columns of a file or of none.
    files = scan._files_for_engines() if reader != "lakebed" and types.has_type(table_schema, types.is_floating) else scan.files()
    chosen = reader_choice.choose(spark, asked, files, reader)
    if reader == "spark" and chosen.by_lakebed:
        reasons = "; ".join(f"{count} files: {reason}" for reason, count in chosen.reasons.items())
        raise InvalidInputError(
            f"{table.uri}: Spark's own reader cannot read this table exactly; leave out reader='spark' ({reasons})"
        )
    return _Plan(table, access, scan, asked, files, chosen, target_task_size)


def _deleted(spark: SparkSession, plan: _Plan, reading: reader_choice.Reading) -> DataFrame | None:
    if not reading.deleting:
        return None
    scan = plan.table.scan(columns=[], where=plan.asked.where, row_columns=[("row_index", "row"), ("file_size", "size")])
    name = f"{_name(plan)}, deletion vectors of {len(reading.deleting)} files"
    return deletions.of_files(spark, name, scan, reading.deleting, plan.access)


def _name(plan: _Plan) -> str:
    """Returns the name of the read in Spark's plans."""
    return f"lakebed {plan.table.uri.rpartition('/')[2]} version {plan.table.version}"


def _by_lakebed(spark: SparkSession, plan: _Plan) -> DataFrame:
    # Spark's planner estimates the share of a file's columns in its size by their types.
    share = types.row_size_bytes(plan.asked.schema) / types.row_size_bytes(plan.asked.table_schema)
    name = f"{_name(plan)}, {len(plan.choice.by_lakebed)} files"
    scan_tasks = tasks.TaskSet(name, _tasks(spark, plan), int(plan.lakebed_size_bytes * share))
    return tasks.frame(spark, scan_tasks, plan.access, types.shown(plan.asked.schema))


def _tasks(spark: SparkSession, plan: _Plan) -> list[bytes]:
    """Tasks for the files that Spark's reader does not read, enough of them for all cores."""
    if not plan.choice.by_lakebed:
        return []
    size_bytes = tasks.fair_size_bytes(spark, plan.lakebed_size_bytes, plan.target_task_size)
    are_all = len(plan.choice.by_lakebed) == plan.files.num_rows
    return plan.scan.tasks(target_task_size=size_bytes, paths=None if are_all else plan.choice.by_lakebed)
