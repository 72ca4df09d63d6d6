"""Runs the pipeline of examples/pipeline.py stage by stage, and reads its tables with every engine."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import duck
import lakebed as lb
import lakebed.spark as lbs
from writes import read

pytestmark = pytest.mark.spark


def test_every_engine_counts_events_once(pipeline: ModuleType, spark: Any, tmp_path: Path) -> None:
    pipeline.make_tables(spark, tmp_path)
    sound = [event for number in range(3) for event in pipeline.land_events(tmp_path, number, 100)]
    pipeline.ingest(spark, tmp_path)
    sound += pipeline.land_events(tmp_path, 3, 100)
    # This simulates that Spark ended after the commits of the tables and before its own. Spark
    # repeats the last batch.
    commits = tmp_path / "checkpoints" / "ingest" / "commits"
    last = max(int(found.name) for found in commits.iterdir() if found.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    pipeline.ingest(spark, tmp_path)

    events = str(tmp_path / "events")
    cents = sum(round(float(str(event["fare"])) * 100) for event in sound)
    expected = (len(sound), len(sound), cents)
    frame = lb.Table(events).to_pandas()
    assert (len(frame), frame["id"].nunique(), round(frame["fare"].sum() * 100)) == expected
    table = pl.DataFrame(lb.Table(events).scan())
    assert (len(table), table["id"].n_unique(), round(table["fare"].sum() * 100)) == expected
    counted = "SELECT count(*), count(DISTINCT id), CAST(round(sum(fare) * 100) AS BIGINT) FROM"
    with duck.connect() as connection:
        assert connection.sql(f"{counted} delta_scan('{events}')").fetchall() == [expected]
    assert [tuple(row) for row in spark.sql(f"{counted} delta.`{events}`").collect()] == [expected]
    assert lb.Table(tmp_path / "quarantine").count() == 400 - len(sound)

    pipeline.aggregate(spark, tmp_path)
    by_hand: dict[tuple[str, str], int] = defaultdict(int)
    for event in sound:
        by_hand[(str(event["at"])[:10], pipeline.CITIES[event["city_code"]])] += 1

    def trips() -> dict[tuple[str, str], int]:
        return {(str(row["day"]), row["city"]): row["trips"] for row in read.with_spark(spark, str(tmp_path / "fares_by_day"))}

    assert trips() == by_hand

    version = lb.Table(events).version
    day = "2026-03-02"
    source = lbs.read(spark, events, where=f"day = DATE '{day}' AND city = 'Lima'")
    pipeline.backfill(spark, tmp_path, day, source)
    pipeline.aggregate(spark, tmp_path)
    kept = {key: count for key, count in by_hand.items() if key[0] != day or key[1] == "Lima"}
    assert trips() == kept
    assert lb.Table(events, version=version).count() == len(sound), "time travel: the table before the backfill"
    assert lb.Table(events).history()[0].user_metadata == f"backfill of {day}"
    assert pipeline.audit(tmp_path)[-1] == f"version {version + 1}: {sum(kept.values())} rows"
