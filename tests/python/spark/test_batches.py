"""The batches in which `lbs.write` hands rows to Python. If no row is large, Spark counts rows. If
a row is large, Spark limits the bytes of a batch. No setting stays changed in the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
import lakebed.spark as lbs
from lakebed.spark import batches

pytestmark = pytest.mark.spark

BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def sizes(rows: Any) -> list[int]:
    """Returns the numbers of rows in the batches of a task."""

    def count(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in found:
            yield pa.record_batch({"rows": pa.array([batch.num_rows], pa.int32())})

    return [row.rows for row in batches.counted(rows, lambda rows: rows.mapInArrow(count, "rows int").collect())]


def test_small_rows_are_counted(spark: Any) -> None:
    rows = spark.range(0, 5000, 1, 1).selectExpr("id", "repeat('x', 10) AS text")
    assert sizes(rows) == [2048, 2048, 904]
    context = spark.sparkContext
    assert (context.getLocalProperty(BYTES), context.getLocalProperty(ROWS)) == (None, None)


def test_large_rows_are_weighed(spark: Any) -> None:
    # One string has 40 KB, the others are null. Spark makes batches of 10,000 rows unless a batch
    # is larger than 64 MiB.
    rows = spark.range(0, 12_000, 1, 1).selectExpr("id", "IF(id = 7000, repeat('x', 40000), NULL) AS text")
    assert sizes(rows) == [10_000, 2000]
    context = spark.sparkContext
    assert (context.getLocalProperty(BYTES), context.getLocalProperty(ROWS)) == (None, None)


@pytest.mark.parametrize(
    "text", ["array('x') AS x", "CAST('x' AS BINARY) AS x", "named_struct('a', 'x') AS x", "map(1, 'x') AS x"]
)
def test_what_may_be_large_is_weighed(spark: Any, text: str) -> None:
    assert sizes(spark.range(0, 12_000, 1, 1).selectExpr("id", text)) == [10_000, 2000]


def test_other_functions_keep_their_batches(spark: Any) -> None:
    rows = spark.range(0, 5000, 1, 1).mapInArrow(lambda found: found, "id bigint")
    assert sizes(rows) == [5000]


def test_settings_of_the_session_go_first(spark: Any) -> None:
    spark.conf.set(ROWS, "3000")
    try:
        assert sizes(spark.range(0, 5000, 1, 1).selectExpr("id", "'x' AS text")) == [3000, 2000]
    finally:
        spark.conf.unset(ROWS)


def test_rows_of_all_sizes_are_written_once(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(0, 3000, 1, 2).selectExpr("id", "repeat('y', CAST(IF(id % 1000 = 999, 50000, id % 7) AS INT)) AS text")
    assert lbs.write(rows, tmp_path / "t").metrics.output_rows == 3000
    found = lb.Table(tmp_path / "t").to_arrow()
    assert sorted(found["id"].to_pylist()) == list(range(3000))
    assert sum(map(len, found["text"].to_pylist())) == sum(50_000 if id % 1000 == 999 else id % 7 for id in range(3000))
