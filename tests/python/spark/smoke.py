"""Reads and writes a little through Spark. It runs with the versions of pyspark that the whole
suite does not run with, and with Connect.

It needs lakebed, pyspark and a JVM. It needs no jars and no other file of the tests.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

import lakebed as lb
import lakebed.spark as lbs

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "part": pa.array(["a b", "a b", None, "ü/%"], pa.string()),
        "day": pa.array([dt.date(2026, 1, 1), dt.date(1999, 12, 31), None, dt.date(2026, 1, 1)], pa.date32()),
        "flag": pa.array([True, None, False, True], pa.bool_()),
        "real": pa.array([-0.0, 0.5, None, float("inf")], pa.float64()),
        "money": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00")], pa.decimal128(12, 2)),
        "at": pa.array([0, 1, None, 1_700_000_000_123_456], pa.timestamp("us", tz="UTC")),
        "local": pa.array([0, None, 1, 1_700_000_000_123_456], pa.timestamp("us")),
        "raw": pa.array([b"", b"\x00\xff", None, b"x"], pa.binary()),
        "tags": pa.array([["x", None], [], None, ["y"]], pa.list_(pa.string())),
        "point": pa.array(
            [{"x": 1, "y": None}, None, {"x": None, "y": 2.0}, {"x": 3, "y": 4.0}],
            pa.struct({"x": pa.int32(), "y": pa.float32()}),
        ),
        "more": pa.array([[("k", 1)], [], None, [("l", None)]], pa.map_(pa.string(), pa.int16())),
    }
)


#: From 4.1 on, Spark writes streams of Arrow batches and reads structs correctly.
NEWER = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) >= (4, 1)


def main() -> None:
    print(f"pyspark {pyspark.__version__}, pyarrow {pa.__version__}, Python {sys.version.split()[0]}")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    small_round(spark)
    spark.stop()
    print("ok")


def small_round(spark: SparkSession) -> None:
    """Reads and writes with the functions and with the format. Ends the program if a result is
    wrong.
    """
    with tempfile.TemporaryDirectory(prefix="lakebed-smoke-") as folder:
        read(spark, Path(folder))
        write(spark, Path(folder) / "written")
        by_format(spark, Path(folder) / "by format")


def read(spark: SparkSession, folder: Path) -> None:
    """Reads with both readers: all types, with and without partitions, predicates and columns."""
    for name, partition_by in (("plain", []), ("parted", ["part", "day"])):
        table = lb.write(folder / name, ROWS, partition_by=partition_by).table
        # Before 4.1 Spark reads structs wrongly, so the reader `auto` lets lakebed read.
        for reader in ("spark" if NEWER else "auto", "lakebed"):
            found = lbs.read(spark, table.uri, reader=reader)
            check(rows(found), ROWS.to_pylist(), f"{name} by {reader}")
            check(found.where("real = 0").count(), 1, f"-0.0 equals 0 in {name} by {reader}")
            check(found.where("part = 'a b' AND day > DATE '2000-01-01'").count(), 1, f"a filter of {name} by {reader}")
            check(found.groupBy("part").count().count(), 3, f"groups of {name} by {reader}")
        found = lbs.read(spark, table.uri, columns=["id", "point.y"], where="flag")
        check(sorted(row.asDict(True)["id"] for row in found.collect()), [1, 4], f"columns and where of {name}")
        check([row["id"] for row in lbs.read(spark, table.uri, version=0).where("id = 3").collect()], [3], f"version 0 of {name}")


def write(spark: SparkSession, path: Path) -> None:
    """Creates a table, appends to it and replaces a part of it. Checks a write that violates a
    constraint, and a repeated write.
    """
    one = spark.range(0, 10, 1, 3).selectExpr("id", "id % 2 AS part")
    check(lbs.write(one, path, partition_by="part").metrics.output_rows, 10, "rows written")
    try:
        lbs.write(one, path, mode="overwrite", where="part = 1")
    except lb.ConstraintViolationError as error:
        said = f"file://{path}: the predicate of the overwrite (part = 1) is not met by a row with part = 0; nothing was written"
        check(str(error), said, "what a task raised")
    else:
        raise SystemExit("rows that are not to be replaced were written")
    lbs.write(one.where("id = 5"), path, mode="overwrite", where="part = 1")
    check(ids(path), [0, 2, 4, 5, 6, 8], "rows after a part was replaced")
    check(
        [lbs.write(spark.range(1), path, schema_mode="merge", txn=("smoke", 1)).committed for _ in range(2)],
        [True, False],
        "known writes",
    )


def by_format(spark: SparkSession, path: Path) -> None:
    """Does the same with `format("lakebed")`, with a view, and with a stream from one table to
    another.
    """
    lbs.register(spark)
    spark.range(5).write.format("lakebed").mode("append").save(str(path))
    df = spark.read.format("lakebed").load(str(path))
    check([df.where("id > 2").count(), df.count()], [2, 5], "rows by format, filtered and not")
    spark.range(7, 9).write.format("lakebed").mode("overwrite").option("mode", "append").save(str(path))
    check(ids(path), [0, 1, 2, 3, 4, 7, 8], "rows by format")
    copy = path.with_name("copy of it")
    follow(spark, path, copy)
    check(ids(copy), ids(path), "rows that were streamed")
    for id in (20, 21, 22):
        lbs.write(spark.range(id, id + 1), path)
    follow(spark, path, copy)
    check(ids(copy), ids(path), "rows that were streamed after a restart")


def follow(spark: SparkSession, path: Path, copy: Path) -> None:
    """Streams the existing rows. Reads one file at a time if this Spark can."""
    stream = (
        spark.readStream.format("lakebed")
        .option("maxFilesPerTrigger", 1)
        .load(str(path))
        .writeStream.option("checkpointLocation", f"{copy}-checkpoint")
    )
    stream = stream.format("lakebed") if NEWER else stream.foreachBatch(lbs.foreach_batch(copy, app_id="smoke"))
    (
        stream.trigger(availableNow=True).start(str(copy)) if NEWER else stream.trigger(availableNow=True).start()
    ).awaitTermination()


def ids(path: Path) -> list[int]:
    return sorted(lb.Table(path).to_arrow(["id"]).column("id").to_pylist())


def rows(found: Any) -> list[dict[str, Any]]:
    """Returns the rows of a data frame in the form of `pyarrow.Table.to_pylist`, sorted by id."""
    return sorted(found.toArrow().cast(ROWS.schema).to_pylist(), key=lambda row: row["id"])


def check(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise SystemExit(f"{what}: found {found}, expected {expected}")


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    main()
