"""Runs the small round and reads tables of the corpus through Spark Connect. This is a program
because a process has one kind of session.

The arguments are names of cases of the corpus.
"""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import smoke
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import frames
import lakebed as lb
import lakebed.spark as lbs
from corpus import build, canon


def main(names: list[str]) -> None:
    spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    smoke.small_round(spark)
    with tempfile.TemporaryDirectory(prefix="lakebed-connect-") as folder:
        known_batches(spark, Path(folder))
    wrong = []
    for name, oracle in build.load(names).items():
        expected = oracle.rows(oracle.latest)
        for reader in ("auto", "lakebed"):
            found = lbs.read(spark, oracle.path, reader=reader)
            difference = frames.lost_and_gained(canon.rows(arrow(found)), expected)
            if difference or found.count() != len(expected):
                wrong.append(f"{name} by {reader}: {difference}")
            condition, positions = next(iter(oracle.conditions(oracle.latest).items()))
            if lbs.read(spark, oracle.path, where=condition, reader=reader).count() != len(positions):
                wrong.append(f"{name} by {reader} where {condition}")
        print(name, lbs.explain(spark, oracle.path), sep="\n")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print("ok")


def known_batches(spark: Any, folder: Path) -> None:
    """Checks four batches: one that is repeated, one of an older copy of the checkpoint, one of
    another query, and one that is written in two parts.
    """
    source, target, checkpoint, older = (folder / name for name in ("source", "target", "checkpoint", "older"))
    warned = folder / "warned"
    write_batch = lbs.foreach_batch(target, app_id="app")

    def whole(df: Any, number: int) -> None:
        # The function runs in a process of the Connect server, and only a log file brings its
        # warnings back.
        logging.getLogger("lakebed").addHandler(logging.FileHandler(warned, delay=True))
        write_batch(df, number)

    def halves(df: Any, number: int) -> None:
        for part in range(2):
            write_batch(df.where(F.col("id") % 2 == part), number)

    def through(checkpoint: Path, function: Callable[[Any, int], None] = whole) -> str:
        """Runs the stream. Returns its outcome and the number of rows in the target."""
        rows = spark.readStream.format("lakebed").load(str(source))
        writer = rows.writeStream.foreachBatch(function)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as failed:
            said = [
                what
                for what in (
                    "belongs to another query",
                    "has 10 rows, and the batch with this number in the table had 5",
                    "a second write of batch 3",
                )
                if what in str(failed)
            ]
            return f"{' '.join(said) or failed}: {lb.Table(target).count()}"
        return f"done: {lb.Table(target).count()}"

    lbs.write(spark.range(0, 5), source)
    smoke.check(through(checkpoint), "done: 5", "the first batch")
    shutil.copytree(checkpoint, older)
    lbs.write(spark.range(5, 10), source)
    smoke.check(through(checkpoint), "done: 10", "the second batch")
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    smoke.check(warned.exists(), False, "a warning before anything was repeated")
    smoke.check(through(checkpoint), "done: 10", "a batch that is repeated")
    said = "is skipped with 5 rows: the table has a batch with this number and the same number of rows"
    smoke.check(said in warned.read_text(), True, "a warning of rows that are as many")
    lbs.write(spark.range(10, 15), source)
    smoke.check(through(older), "has 10 rows, and the batch with this number in the table had 5: 10", "a batch of an older copy")
    smoke.check(through(folder / "new"), "belongs to another query: 10", "a batch of another query")
    smoke.check(through(checkpoint), "done: 15", "the third batch")
    lbs.write(spark.range(15, 20), source)
    smoke.check(through(checkpoint, halves), "a second write of batch 3: 17", "a batch in two parts under one name")


def arrow(frame: Any) -> pa.Table:
    """Returns the rows. pyarrow has no type for intervals of months, so they become numbers."""
    from pyspark.sql.types import YearMonthIntervalType

    def shown(field: Any) -> Any:
        column = F.col(frames.quoted(field.name))
        is_months = isinstance(field.dataType, YearMonthIntervalType)
        return column.cast(YearMonthIntervalType(1, 1)).cast("int").alias(field.name) if is_months else column

    return frame.select(*[shown(field) for field in frame.schema.fields]).toArrow()


if __name__ == "__main__":
    main(sys.argv[1:])
