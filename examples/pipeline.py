"""A pipeline on PySpark from end to end.

A stream reads raw events exactly once, validates and enriches them, and writes them by day. A second
stream aggregates them. Late data is backfilled, and the tables are audited and read without Spark.

Run it with `python examples/pipeline.py`. It needs pyspark and lakebed, and creates its own folder.
Each function is one stage.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.functions import expr

import lakebed as lb
import lakebed.spark as lbs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS = 3
FIRST_DAY = datetime(2026, 3, 1, tzinfo=timezone.utc)
CITIES = {"LIM": "Lima", "OSL": "Oslo", "QUI": "Quito"}
FARES = ("sum(fare) AS fares", "count(*) AS trips")
EVENT = "id bigint, at timestamp, city_code string, fare double"


def land_events(lake: Path, number: int, count: int = 400, days_late: int = 0) -> list[dict[str, object]]:
    """Writes a file of raw events, as an upstream system does. Some are invalid; returns the valid ones."""
    chance = random.Random(number)
    events: list[dict[str, object]] = []
    for place in range(count):
        at = FIRST_DAY + timedelta(days=chance.randrange(DAYS) - days_late, seconds=chance.randrange(86_400))
        event = {
            "id": number * 1_000_000 + place,
            "at": at.isoformat(),
            "city_code": chance.choice([*CITIES, *CITIES, "???"]),
            "fare": round(chance.uniform(-1, 40), 2),
        }
        events.append(event)
    (lake / "raw").mkdir(parents=True, exist_ok=True)
    (lake / "raw" / f"{number:05}.json").write_text("\n".join(map(json.dumps, events)))
    return [event for event in events if event["city_code"] in CITIES and float(str(event["fare"])) > 0]


def make_tables(spark: SparkSession, lake: Path) -> None:
    """Creates the tables of the pipeline: a dimension table, and events partitioned by day."""
    cities = spark.createDataFrame(list(CITIES.items()), "city_code string, city string")
    lbs.write(cities, lake / "cities", mode="error", user_metadata="three cities to begin with")
    events = spark.createDataFrame([], "id bigint, at timestamp, city string, fare double, day date")
    lbs.write(events, lake / "events", partition_by="day", properties={"delta.enableDeletionVectors": True})


def ingest(spark: SparkSession, lake: Path) -> None:
    """Ingests raw events exactly once.

    Valid events go to `events`, with the name of their city and their day. The others go to
    `quarantine`, with a reason.
    """
    cities = lbs.read(spark, lake / "cities")
    write_events = lbs.foreach_batch(lake / "events", app_id="ingest of events")
    write_quarantine = lbs.foreach_batch(lake / "quarantine", app_id="ingest of quarantine")

    def split(batch: DataFrame, batch_id: int) -> None:
        batch = batch.join(cities, "city_code", "left").persist()
        reason = "CASE WHEN city IS NULL THEN 'unknown city' WHEN NOT coalesce(fare > 0, false) THEN 'no fare' END AS reason"
        judged = batch.selectExpr("*", reason)
        write_events(judged.where("reason IS NULL").selectExpr("id", "at", "city", "fare", "to_date(at) AS day"), batch_id)
        write_quarantine(judged.where("reason IS NOT NULL").drop("city"), batch_id)
        batch.unpersist()

    raw = spark.readStream.schema(EVENT).option("maxFilesPerTrigger", 2).json(str(lake / "raw"))
    stream = raw.writeStream.foreachBatch(split).option("checkpointLocation", str(lake / "checkpoints" / "ingest"))
    stream.trigger(availableNow=True).start().awaitTermination()


def aggregate(spark: SparkSession, lake: Path) -> None:
    """Aggregates fares by day and city, in a second stream from the table of the first one.

    Every day that gets rows is aggregated again, whatever commit added them.
    """
    lbs.register(spark)

    def add_up(batch: DataFrame, batch_id: int) -> None:
        days = ", ".join(f"DATE '{row.day}'" for row in batch.select("day").distinct().collect())
        if days:
            fares = lbs.read(spark, lake / "events", where=f"day IN ({days})").groupBy("day", "city").agg(*map(expr, FARES))
            lbs.write(fares, lake / "fares_by_day", mode="overwrite", partitions="dynamic", partition_by="day")

    events = spark.readStream.format("lakebed").option("ignoreChanges", "true").load(str(lake / "events"))
    stream = events.writeStream.foreachBatch(add_up).option("checkpointLocation", str(lake / "checkpoints" / "aggregate"))
    stream.trigger(availableNow=True).start().awaitTermination()


def backfill(spark: SparkSession, lake: Path, day: str, events: DataFrame) -> None:
    """Replaces the rows of one day by those of a source of record, in one commit.

    Rows of any other day are refused.
    """
    lbs.write(events, lake / "events", mode="overwrite", where=f"day = DATE '{day}'", user_metadata=f"backfill of {day}")


def audit(lake: Path) -> list[str]:
    """Lists the commits of the table and the number of rows of each version."""
    table = lb.Table(lake / "events")
    lines = [
        f"{entry.version:>3} {entry.operation:<12} {entry.metrics.get('numOutputRows', '-'):>6} rows" for entry in table.history()
    ]
    for version in range(table.version + 1):
        lines.append(f"version {version}: {lb.Table(lake / 'events', version=version).count()} rows")
    return lines


def main() -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark's workers are whatever `python3` is
    lake = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="lakebed-pipeline-"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    make_tables(spark, lake)
    sound = [event for number in range(5) for event in land_events(lake, number)]
    ingest(spark, lake)
    print(
        f"{len(sound)} sound events landed, {lb.Table(lake / 'events').count()} in the table, {lb.Table(lake / 'quarantine').count()} in quarantine"
    )
    aggregate(spark, lake)
    print(lb.Table(lake / "fares_by_day").to_pandas().sort_values(["day", "city"]).to_string(index=False))
    day = "2026-03-02"
    corrected = lbs.read(spark, lake / "events", where=f"day = DATE '{day}'").selectExpr(
        "id", "at", "city", "round(fare * 1.1, 2) AS fare", "day"
    )
    backfill(spark, lake, day, corrected)
    aggregate(spark, lake)
    print("\n".join(audit(lake)))
    spark.stop()


if __name__ == "__main__":
    main()
