"""The small round and reads of the corpus through Spark Connect: a program, since a process has one kind of session.

Its arguments are names of the corpus's cases.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import smoke
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import frames
import lakebed.spark as lbs
from corpus import build, canon


def main(names: list[str]) -> None:
    spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    smoke.small_round(spark)
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
