"""Deletion vectors for Spark's own reader: a join removes the deleted rows.

The join has one row per file, with the file's size and the bits of its deleted rows. The reader's
rows find the row of their file by the size, because a size has only one spelling. The join is an
anti join, because anti joins do not add rows, as Spark knows. It is a broadcast join, so that the
data is not shuffled. Read :func:`without` first.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from lakebed.spark import session, tasks
from lakebed.spark.credentials import Access

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.scan import Scan

__all__ = ["of_files", "without"]

_SCHEMA = StructType([StructField("size_bytes", LongType()), StructField("deleted", ArrayType(LongType()))])


def of_files(spark: SparkSession, name: str, scan: Scan, paths: Iterable[str], access: Access) -> DataFrame:
    """Returns the deleted rows of files, which their paths in the log name. One number holds the
    bits of 64 rows.

    The scan has the row index and the file size.
    """
    pieces = tasks.TaskSet(name, scan._deleted_tasks(paths))
    return tasks.run(spark, pieces, partial(_words, access), _SCHEMA, 2 * session.parallelism(spark))


def without(found: DataFrame, deleted: DataFrame) -> DataFrame:
    """Returns the rows of Spark's reader without the deleted rows."""
    size, row, words = (_unused(found, name) for name in ("file_size", "row_index", "deleted"))
    rows = found.select("*", F.col("_metadata.file_size").alias(size), F.col("_metadata.row_index").alias(row))
    deleted = deleted.select(F.col("size_bytes").alias("size_bytes_of_" + size), F.col("deleted").alias(words))
    word = F.get(words, F.shiftright(row, 6).cast("int"))
    bit = F.call_function("bit_get", word, F.col(row).bitwiseAND(F.lit(63)).cast("int"))
    is_deleted = (F.col(size) == F.col("size_bytes_of_" + size)) & (bit == 1)
    return rows.join(F.broadcast(deleted), is_deleted, "left_anti").drop(size, row)


def _unused(found: DataFrame, name: str) -> str:
    """Returns a name that no column has."""
    while name.lower() in (column.lower() for column in found.columns):
        name += "_"
    return name


def _words(access: Access, task: bytes) -> Iterator[pa.RecordBatch]:
    """Returns the row of a file, from the positions of its deleted rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakebed.scan import read_task

    size_bytes, words = 0, array("Q")
    one, six, mask = (pa.scalar(number, pa.uint64()) for number in (1, 6, 63))
    for rows in read_task(task, **access.options()):
        positions, size_bytes = rows.column(0).cast(pa.uint64()), rows.column(1)[0].as_py()
        bits = pc.shift_left(one, pc.bit_wise_and(positions, mask))
        by_word = pa.table({"word": pc.shift_right(positions, six), "bit": bits}).group_by("word").aggregate([("bit", "sum")])
        found: Any = zip(by_word["word"].to_pylist(), by_word["bit_sum"].to_pylist(), strict=True)
        for word, deleted in found:
            words.extend([0] * (word + 1 - len(words)))
            words[word] |= deleted
    if not words:
        return
    numbers: Any = pa.Array.from_buffers(pa.int64(), len(words), [None, pa.py_buffer(words)])
    lists = pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), numbers)
    yield pa.RecordBatch.from_arrays([pa.array([size_bytes], pa.int64()), lists], names=_SCHEMA.names)
