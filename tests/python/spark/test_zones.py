"""Instants in a session in New York, over the hour that does not exist in spring and the hour that
occurs twice in autumn. The instants stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakebed as lb
import lakebed.spark as lbs

pytestmark = pytest.mark.spark

#: The local time that is written, and its instant in seconds. In the night in which clocks go from
#: 02:00 to 03:00, Spark reads 02:30 as 03:30. Of the two times 01:30 in autumn, Spark takes the
#: first.
WRITTEN = {
    "2026-03-08 01:30:00": 1772951400,
    "2026-03-08 02:30:00": 1772955000,
    "2026-03-08 03:30:00": 1772955000,
    "2026-11-01 00:30:00": 1793507400,
    "2026-11-01 01:30:00": 1793511000,
    "2026-11-01 02:30:00": 1793518200,
}
#: The second 01:30. No local time without a zone means it.
AGAIN = 1793514600


@pytest.fixture
def new_york(spark: Any) -> Iterator[Any]:
    setting = "spark.sql.session.timeZone"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "America/New_York")
    lbs.register(spark)
    yield spark
    spark.conf.set(setting, before)


def rows(spark: Any) -> Any:
    texts = ", ".join(f"('{text}')" for text in WRITTEN)
    found = spark.sql(f"SELECT t, CAST(t AS TIMESTAMP) AS at, CAST(t AS TIMESTAMP_NTZ) AS wall FROM VALUES {texts} AS v(t)")
    again = spark.sql(f"SELECT 'again' AS t, timestamp_seconds({AGAIN}) AS at, TIMESTAMP_NTZ'2026-11-01 01:30:00' AS wall")
    return found.unionAll(again)


EXPECTED = {
    **{text: (seconds, text) for text, seconds in WRITTEN.items()},
    "again": (AGAIN, "2026-11-01 01:30:00"),
}


def told(df: Any) -> dict[str, tuple[int, str]]:
    """Returns the instant and the local time of each row, by the text of the row."""
    return {row.t: (row.s, row.w) for row in df.selectExpr("t", "unix_seconds(at) AS s", "CAST(wall AS STRING) AS w").collect()}


@pytest.mark.parametrize("partition_by", [None, "at"])
def test_instants_are_written_read_and_filtered(new_york: Any, tmp_path: Path, partition_by: str | None) -> None:
    spark, paths = new_york, [str(tmp_path / name) for name in ("by_function", "by_format")]
    lbs.write(rows(spark), paths[0], partition_by=partition_by)
    options = {} if partition_by is None else {"partition_by": partition_by}
    rows(spark).write.format("lakebed").mode("append").options(**options).save(paths[1])
    for path in paths:
        whole = lb.Table(path).to_arrow(["t", "at", "wall"]).to_pylist()
        assert {row["t"]: (int(row["at"].timestamp()), str(row["wall"])) for row in whole} == EXPECTED
        reads = [lbs.read(spark, path, reader=reader) for reader in ("auto", "lakebed")]
        for df in (*reads, spark.read.format("lakebed").load(path), spark.read.format("delta").load(path)):
            assert told(df) == EXPECTED
            # Predicates on instants use the zone of the session. The column `wall` has no zone.
            for condition, found in (
                ("at = TIMESTAMP'2026-11-01 01:30:00'", {"2026-11-01 01:30:00"}),
                ("at = TIMESTAMP'2026-03-08 02:30:00'", {"2026-03-08 02:30:00", "2026-03-08 03:30:00"}),
                ("at > TIMESTAMP'2026-11-01 01:30:00'", {"again", "2026-11-01 02:30:00"}),
                ("hour(at) = 1 AND month(at) = 11", {"2026-11-01 01:30:00", "again"}),
                ("wall = TIMESTAMP_NTZ'2026-03-08 02:30:00'", {"2026-03-08 02:30:00"}),
            ):
                assert set(told(df.where(condition))) == found, condition
        # The predicate of `lbs.read` uses UTC, as the documentation says.
        for reader in ("auto", "lakebed"):
            found = lbs.read(spark, path, where="at = TIMESTAMP'2026-11-01 06:30:00'", reader=reader)
            assert set(told(found)) == {"again"}


def test_instants_go_through_a_stream(new_york: Any, tmp_path: Path) -> None:
    spark, path, targets = new_york, str(tmp_path / "t"), [str(tmp_path / name) for name in ("by_sink", "by_function")]
    lbs.write(rows(spark), path, partition_by="at")
    stream = spark.readStream.format("lakebed").load(path)
    sink = stream.writeStream.format("lakebed").option("checkpointLocation", str(tmp_path / "a")).option("partition_by", "at")
    sink.trigger(availableNow=True).start(targets[0]).awaitTermination()
    write_batch = lbs.foreach_batch(targets[1], app_id="app", partition_by="wall")
    function = stream.writeStream.foreachBatch(write_batch).option("checkpointLocation", str(tmp_path / "b"))
    function.trigger(availableNow=True).start().awaitTermination()
    for target in targets:
        assert told(lbs.read(spark, target)) == told(spark.read.format("delta").load(target)) == EXPECTED
