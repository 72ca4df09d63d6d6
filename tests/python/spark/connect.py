"""The small round and reads of the corpus through Spark Connect: a program, since a process has one kind of session.

Its arguments are names of the corpus's cases.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
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
        for road in ("auto", "arrow"):
            found = lbs.read(spark, oracle.path, road=road)
            difference = frames.lost_and_gained(canon.rows(arrow(found)), expected)
            if difference or found.count() != len(expected):
                wrong.append(f"{name} by {road}: {difference}")
            condition, positions = next(iter(oracle.conditions(oracle.latest).items()))
            if lbs.read(spark, oracle.path, where=condition, road=road).count() != len(positions):
                wrong.append(f"{name} by {road} where {condition}")
        print(name, lbs.explain(spark, oracle.path), sep="\n")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print("ok")


def known_batches(spark: Any, folder: Path) -> None:
    """A batch that is repeated, one of an older copy of the checkpoint, one of another query."""
    source, target, checkpoint, older = (folder / name for name in ("source", "target", "checkpoint", "older"))

    def through(checkpoint: Path) -> str:
        """What became of the stream, and how many rows there are."""
        rows = spark.readStream.format("lakebed").load(str(source))
        writer = rows.writeStream.foreachBatch(lbs.foreach_batch(target, app_id="app"))
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as failed:
            said = [
                what
                for what in ("belongs to another query", "has 10 rows, and the one that the table has had 5")
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
    smoke.check(through(checkpoint), "done: 10", "a batch that is repeated")
    lbs.write(spark.range(10, 15), source)
    smoke.check(through(older), "has 10 rows, and the one that the table has had 5: 10", "a batch of an older copy")
    smoke.check(through(folder / "new"), "belongs to another query: 10", "a batch of another query")
    smoke.check(through(checkpoint), "done: 15", "the third batch")


def arrow(frame: Any) -> pa.Table:
    """The rows, with months as their number, which pyarrow has no type for."""
    from pyspark.sql.types import YearMonthIntervalType

    def shown(field: Any) -> Any:
        column = F.col(frames.quoted(field.name))
        is_months = isinstance(field.dataType, YearMonthIntervalType)
        return column.cast(YearMonthIntervalType(1, 1)).cast("int").alias(field.name) if is_months else column

    return frame.select(*[shown(field) for field in frame.schema.fields]).toArrow()


if __name__ == "__main__":
    main(sys.argv[1:])
