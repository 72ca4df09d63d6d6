"""`lbs.changes`: the change data feed of a table as a data frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lakebed import arguments
from lakebed.options import Storage, takes
from lakebed.spark import location, tasks, types
from lakebed.spark.arguments import check_session, condition
from lakebed.spark.credentials import Access
from lakebed.spark.groups import TASK_BYTES
from lakebed.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

__all__ = ["changes"]


@takes(Storage)
def changes(
    spark: SparkSession,
    uri: str | os.PathLike[str],
    start: int | datetime | str,
    end: int | datetime | str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    absolute_paths: bool = False,
    target_task_size: int = TASK_BYTES,
    **storage: Unpack[Storage],
) -> DataFrame:
    """Returns the change data feed of a table as a data frame.

    It has the changes of the versions from ``start`` to ``end``, or to the newest version. The
    versions are chosen now. The log is read now, and lakebed's reader reads the data on the
    executors when ``spark``, the session, runs a query.

    - ``uri``: the location, a URL or a path on this machine and on the workers. A relative path
      begins in the current folder of this process.
    - ``start`` and ``end`` are versions or timestamps, both included, as for
      :meth:`lakebed.Table.changes`.
    - ``columns`` selects columns of the table, and ``where`` is a predicate over them in SQL.
    - ``target_task_size``, ``absolute_paths``, ``storage_options`` and ``credentials`` are those of
      :func:`read`.
    """
    check_session(spark)
    target_task_size = arguments.task_size("target_task_size", target_task_size)
    columns, where = arguments.columns("columns", columns), condition(where)
    access = Access.of({**storage, "absolute_paths": absolute_paths})
    found = Table(location.of_caller(uri), **access.options()).changes(start, end, columns=columns, where=where)
    plan = found._changes.plan()
    pieces = plan.tasks(tasks.fair_size_bytes(spark, plan.size_bytes, target_task_size))
    whole = types.table_schema(found._delta_schema())
    schema = types.pruned(whole, found.schema)
    # The size for Spark's planner: the share of the files that belongs to the columns.
    size_bytes = int(plan.size_bytes * types.row_size_bytes(schema) / types.row_size_bytes(whole))
    name = f"lakebed {found.uri.rpartition('/')[2]} changes {found.start_version} to {found.end_version}"
    return tasks.frame(spark, tasks.TaskSet(name, pieces, size_bytes), access, types.shown(schema))
