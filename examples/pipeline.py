"""A pipeline end to end on PySpark: raw events in, exactly once; validated, enriched, partitioned; aggregated by a second stream; late data
backfilled; audited; read by whoever comes.

Run it with `python examples/pipeline.py`: it needs pyspark and lakebed, and a folder that it makes itself. Each function is one stage.
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
    """A file of raw events, as an upstream system drops them: some are broken. Tells the good ones."""
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
    """The tables of the pipeline: a dimension, and events with everything that they promise."""
    cities = spark.createDataFrame(list(CITIES.items()), "city_code string, city string")
    lbs.write(cities, lake / "cities", mode="error", user_metadata="three cities to begin with")
    events = spark.createDataFrame([], "id bigint, at timestamp, city string, fare double, day date")
    lbs.write(events, lake / "events", partition_by="day", properties={"delta.enableDeletionVectors": True})


def ingest(spark: SparkSession, lake: Path) -> None:
    """Raw events, each exactly once: what is sound into `events`, with its city's name and day; the rest into `quarantine`, with a reason."""
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
    """A second stream, from the first one's table: fares by day and city. A day that gets rows, by whatever commit, is added up anew."""
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
    """One day anew, as a source of record has it: its rows make way for others in one commit, and no row of another day can slip in."""
    lbs.write(events, lake / "events", mode="overwrite", where=f"day = DATE '{day}'", user_metadata=f"backfill of {day}")


def audit(lake: Path) -> list[str]:
    """Who did what when, and what the table was before."""
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
