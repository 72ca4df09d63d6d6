"""Reads with lakebed's reader: executors run scan tasks, and `mapInArrow` passes batches to Spark.

For Spark, this is a function over a range with one row per task, and it estimates the result's size
from the range. The length of the range is chosen by the size of the files. Otherwise, Spark would
broadcast large tables. Read :func:`frame` first.
"""

from __future__ import annotations

import os.path
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakebed.spark import failure, session, types
from lakebed.spark.credentials import Access

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["TaskSet", "Work", "fair_size_bytes", "frame", "run"]

#: The work of executors on a task. It travels pickled.
Work = Callable[[bytes], "Iterator[pa.RecordBatch]"]

#: A column of nulls that the planner estimates at a thousand bytes a row, so that the range can be
#: short.
_WEIGHT = "CAST(null AS STRUCT<" + ", ".join(f"b{at}: BINARY" for at in range(10)) + ">) AS weight"
#: The planner estimates 8 bytes for a number, and 1016 bytes instead of 16 for a row with the
#: weight.
_NUMBER_BYTES = 8 * 1016 // 16

#: Tasks are not made smaller than this to keep all cores busy.
_LEAST_TASK_BYTES = 4 << 20
#: About the most tasks that Spark's scheduler and the memory of this process can handle.
_MOST_TASKS = 100_000

#: The most bytes of tasks in one function. More tasks need several functions, because each Spark
#: task unpickles its whole function.
_MOST_BYTES = 1 << 20
#: The window of zlib.
_WINDOW_BYTES = 1 << 15


def fair_size_bytes(spark: SparkSession, size_bytes: int, most_bytes: int) -> int:
    """Returns the bytes that one task reads: at most the wanted size, and less if cores would be
    idle.
    """
    fair_bytes = max(_LEAST_TASK_BYTES, size_bytes // session.parallelism(spark))
    return max(min(most_bytes, fair_bytes), size_bytes // _MOST_TASKS)


@dataclass(frozen=True)
class TaskSet:
    """The tasks of one scan."""

    #: The name of the scan in Spark's plans.
    name: str
    tasks: Sequence[bytes]
    #: The size of the result for Spark's planner.
    size_bytes: int = 0


def frame(spark: SparkSession, tasks: TaskSet, access: Access, schema: StructType) -> DataFrame:
    """The rows of scan tasks, one Spark task each."""
    carried = types.carried(schema)
    found = run(spark, tasks, partial(_rows, access, carried), carried)
    if carried == schema:
        return found
    fields = zip(carried.fields, schema.fields, strict=True)
    return found.select(*[types.converted(F.col(types.quoted(came.name)), came.dataType, field) for came, field in fields])


def _rows(access: Access, carried: StructType, task: bytes) -> Iterator[pa.RecordBatch]:
    from lakebed.scan import read_task

    for rows in read_task(task, **access.options()):
        yield types.carried_rows(rows, carried)


def run(spark: SparkSession, tasks: TaskSet, work: Work, schema: StructType, most: int | None = None) -> DataFrame:
    """The results of `work` on tasks on the executors, in one Spark task each or in `most` of
    them.
    """
    stride = max(1, tasks.size_bytes // _NUMBER_BYTES // max(1, len(tasks.tasks)))
    found: DataFrame | None = None
    for pieces in _pieces(tasks.tasks):
        count = len(pieces.rests)
        numbers = spark.range(0, count * stride, 1, min(count, most or count)).where(F.col("id") % stride == 0)
        part = numbers.selectExpr("id", _WEIGHT).mapInArrow(_Run(tasks.name, pieces, stride, work), schema)
        found = part if found is None else found.unionAll(part)
    return spark.createDataFrame([], schema) if found is None else found


@dataclass(frozen=True)
class _Pieces:
    """Compressed tasks of one scan. Their common beginning (the schema, among others) is kept
    once.
    """

    head: bytes
    #: The dictionary for compressing the remainders, which are similar.
    likeness: bytes
    rests: list[bytes]

    def __getitem__(self, index: int) -> bytes:
        return self.head + zlib.decompressobj(zdict=self.likeness).decompress(self.rests[index])


class _Run:
    """The function for `mapInArrow` on executors. It takes numbers of tasks and returns their
    rows.
    """

    def __init__(self, name: str, pieces: _Pieces, stride: int, work: Work) -> None:
        self.__name__ = name
        self._pieces = pieces
        self._stride = stride
        self._work = work

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with failure.alone():
            for batch in numbers:
                numbered: list[int] = batch.column("id").to_pylist()  # type: ignore[assignment]
                for number in numbered:
                    yield from self._work(self._pieces[number // self._stride])


def _pieces(tasks: Sequence[bytes]) -> Iterator[_Pieces]:
    head: bytes = os.path.commonprefix(list(tasks))  # type: ignore[assignment]  # noqa: RUF071
    likeness = tasks[0][len(head) :][-_WINDOW_BYTES:] if tasks else b""
    rests: list[bytes] = []
    size_bytes = 0
    for task in tasks:
        packer = zlib.compressobj(zdict=likeness)
        rests.append(packer.compress(task[len(head) :]) + packer.flush())
        size_bytes += len(rests[-1])
        if size_bytes > _MOST_BYTES:
            yield _Pieces(head, likeness, rests)
            rests, size_bytes = [], 0
    if rests:
        yield _Pieces(head, likeness, rests)
