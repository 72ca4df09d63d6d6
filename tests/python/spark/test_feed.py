"""The change data feed and row ids of tables of Delta Spark. lakebed returns the same as Delta
Spark, in Python and through Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import lakebed as lb
import lakebed.spark as lbs

pytestmark = pytest.mark.spark

Rows = list[tuple[Any, ...]]

#: The forms of tables: properties, and the SQL that follows the columns.
FORMS: dict[str, tuple[dict[str, str], str]] = {
    "copied": ({"delta.enableDeletionVectors": "false"}, ""),
    "vectors": ({"delta.enableDeletionVectors": "true"}, ""),
    "mapped": ({"delta.enableDeletionVectors": "false", "delta.columnMapping.mode": "name"}, ""),
    "mapped, with vectors": ({"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}, ""),
    "partitioned": ({"delta.enableDeletionVectors": "false"}, "PARTITIONED BY (fruit)"),
    "partitioned, with vectors": ({"delta.enableDeletionVectors": "true"}, "PARTITIONED BY (fruit)"),
    "with times in commits": ({"delta.enableInCommitTimestamps": "true", "delta.enableDeletionVectors": "true"}, ""),
}

by_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@pytest.fixture(autouse=True)
def registered(spark: Any) -> None:
    lbs.register(spark)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "fruits")


def create(spark: Any, path: str, columns: str, properties: dict[str, str], behind: str = "") -> None:
    given = ", ".join(f"'{name}' = '{value}'" for name, value in {"delta.enableChangeDataFeed": "true", **properties}.items())
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {behind} TBLPROPERTIES ({given})")


def fruits(spark: Any, path: str, form: tuple[dict[str, str], str]) -> None:
    """Version 0 makes the table, 1 inserts three rows, 2 gives jack a banana, 3 deletes john."""
    create(spark, path, "name STRING, fruit STRING", *form)
    rows = [("jack", "apple"), ("sarah", "orange"), ("john", "pineapple")]
    spark.createDataFrame(rows, "name string, fruit string").coalesce(1).write.format("delta").mode("append").save(path)
    spark.sql(f"UPDATE delta.`{path}` SET fruit = 'banana' WHERE name = 'jack'")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE name = 'john'")


EVENTS: Rows = [
    ("jack", "apple", "insert", 1),
    ("john", "pineapple", "insert", 1),
    ("sarah", "orange", "insert", 1),
    ("jack", "apple", "update_preimage", 2),
    ("jack", "banana", "update_postimage", 2),
    ("john", "pineapple", "delete", 3),
]


def in_order(rows: Any) -> Rows:
    return sorted((tuple(row) for row in rows), key=repr)


def by_delta(spark: Any, path: str, **options: Any) -> Any:
    return spark.read.format("delta").options(readChangeFeed="true", **options).load(path)


def by_format(spark: Any, path: str, **options: Any) -> Any:
    return spark.read.format("lakebed").options(readChangeFeed="true", **options).load(path)


def by_python(path: str, *bounds: Any, **options: Any) -> Rows:
    # Spark returns timestamps without a zone, here in UTC.
    found = lb.Table(path).changes(*bounds, **options).to_arrow().to_pylist()
    return in_order((*list(row.values())[:-1], row["_commit_timestamp"].replace(tzinfo=None)) for row in found)


def check_range(spark: Any, path: str, start: int, end: int, columns: list[str]) -> Rows:
    """Checks that Python and all ways through Spark return the same changes of these columns as
    Delta Spark. Returns the changes without timestamps.
    """
    columns = [*columns, "_change_type", "_commit_version", "_commit_timestamp"]
    expected = in_order(by_delta(spark, path, startingVersion=start, endingVersion=end).select(columns).collect())
    found = lbs.changes(spark, path, start, end)
    assert found.columns == columns
    assert in_order(found.collect()) == expected
    assert in_order(by_format(spark, path, startingVersion=start, endingVersion=end).collect()) == expected
    assert by_python(path, start, end) == expected
    return [row[:-1] for row in expected]


def test_bounds_without_change_feed_are_refused(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["copied"])
    for options in ({"startingVersion": "1"}, {"startingTimestamp": "2026-01-01"}, {"endingVersion": "1"}):
        with pytest.raises(Exception, match="are for changes only: add the option readChangeFeed=true"):
            spark.read.format("lakebed").options(**options).load(path).collect()


def ranges(last: int) -> Iterator[tuple[int, int]]:
    return ((start, end) for start in range(last + 1) for end in range(start, last + 1))


@by_form
def test_every_range_equals_delta_spark(spark: Any, path: str, form: tuple[dict[str, str], str]) -> None:
    fruits(spark, path, form)
    for start, end in ranges(3):
        expected = in_order(row for row in EVENTS if start <= row[-1] <= end)
        assert check_range(spark, path, start, end, ["name", "fruit"]) == expected
    by_function = spark.sql(f"SELECT * FROM table_changes_by_path('{path}', 1)")
    assert in_order(by_function.collect()) == by_python(path, 1)
    assert by_function.dtypes == lbs.changes(spark, path, 1).dtypes == by_format(spark, path, startingVersion=1).dtypes


@pytest.mark.parametrize("mapped", [False, True], ids=["unmapped", "mapped"])
def test_rows_of_before_a_column_was_added(spark: Any, path: str, mapped: bool) -> None:
    fruits(spark, path, FORMS["mapped, with vectors" if mapped else "copied"])
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN (color STRING)")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ('eve', 'fig', 'blue')")
    for start, end in ranges(5):
        columns = ["name", "fruit"] if end < 4 else ["name", "fruit", "color"]
        found = check_range(spark, path, start, end, columns)
        assert (("eve", "fig", "blue", "insert", 5) in found) == (end == 5)


def test_renamed_columns_are_told(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["mapped"])
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN fruit TO food")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ('eve', 'fig')")
    check_range(spark, path, 0, 3, ["name", "fruit"])
    check_range(spark, path, 5, 5, ["name", "food"])
    with pytest.raises(lb.SchemaMismatchError, match="separately"):
        lb.Table(path).changes(3)
    with pytest.raises(lb.SchemaMismatchError, match="separately"):
        lbs.changes(spark, path, 3)
    with pytest.raises(Exception, match="separately"):
        by_format(spark, path, startingVersion=3, endingVersion=5).collect()


@pytest.mark.parametrize("vectors", ["false", "true"], ids=["copied", "vectors"])
def test_commits_of_all_kinds(spark: Any, path: str, vectors: str) -> None:
    """The versions have change data files, or none, or both kinds of changes beside each other."""
    create(spark, path, "id BIGINT, name STRING", {"delta.enableDeletionVectors": vectors})
    source = "(SELECT explode(sequence(3L, 6L)) AS id)"
    on = f"MERGE INTO delta.`{path}` t USING {source} s ON t.id = s.id"
    for statement in (
        f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, 'first' FROM range(5)",
        f"{on} WHEN MATCHED AND t.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'merged' WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new')",
        f"{on} WHEN MATCHED AND t.id > 100 THEN DELETE",
        f"DELETE FROM delta.`{path}` WHERE id < 1",
        f"OPTIMIZE delta.`{path}`",
        f"UPDATE delta.`{path}` SET name = 'updated' WHERE id IN (1, 6)",
        f"INSERT OVERWRITE delta.`{path}` VALUES (70, 'last')",
        f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 4",
        f"DELETE FROM delta.`{path}`",
    ):
        spark.sql(statement)
    files = Path(path, "_delta_log").glob("*.json")
    have_cdc = [any("cdc" in json.loads(line) for line in file.read_text().splitlines()) for file in files]
    assert any(have_cdc)
    assert not all(have_cdc)
    last = lb.Table(path).version
    for start in range(last + 1):
        check_range(spark, path, start, start, ["id", "name"])
        check_range(spark, path, start, last, ["id", "name"])
    check_range(spark, path, 0, 4, ["id", "name"])


def test_timestamp_bounds_equal_delta_spark(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["with times in commits"])
    times = {entry.version: entry.timestamp for entry in lb.Table(path).history()}
    tick = timedelta(milliseconds=1)
    for start, end in (
        (times[1], None),
        (times[1] + tick, times[3]),
        (times[1] - tick, times[3] - tick),
        (times[0] - timedelta(days=1), times[2]),
        (times[3], times[3]),
        (times[1] + tick, times[2] - tick),
    ):
        theirs, ours = {"startingTimestamp": spark_time(start)}, {"startingTimestamp": start.isoformat()}
        if end is not None:
            theirs, ours = {**theirs, "endingTimestamp": spark_time(end)}, {**ours, "endingTimestamp": end.isoformat()}
        expected = in_order(by_delta(spark, path, **theirs).collect())
        assert in_order(by_format(spark, path, **ours).collect()) == expected
        assert in_order(lbs.changes(spark, path, start, end).collect()) == expected
        assert by_python(path, start, end) == expected
    late = times[3] + tick
    with pytest.raises(Exception, match="DELTA_TIMESTAMP_GREATER_THAN_COMMIT"):
        by_delta(spark, path, startingTimestamp=spark_time(late)).collect()
    with pytest.raises(lb.VersionNotFoundError):
        lbs.changes(spark, path, late)
    # Delta Spark refuses an end in the future.
    assert lb.Table(path).changes(1, late).end_version == 3
    found = by_format(spark, path, startingVersion=1, endingTimestamp="2999-01-01T00:00:00Z")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ('eve', 'fig')")
    assert in_order(found.collect()) == by_python(path, 1, 3)


def spark_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


def test_what_makes_no_sense_is_refused(spark: Any, path: str, tmp_path: Path) -> None:
    fruits(spark, path, FORMS["vectors"])
    plain = str(tmp_path / "plain")
    create(spark, plain, "id BIGINT", {"delta.enableChangeDataFeed": "false"})
    spark.sql(f"ALTER TABLE delta.`{plain}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    for table, (start, end), error, said in (
        (path, (4, None), lb.VersionNotFoundError, "the newest version is 3"),
        (path, (2, 1), lb.InvalidInputError, "the end comes before the start"),
        (plain, (0, 1), lb.InvalidInputError, "version 0 does not record changes"),
    ):
        options = {"startingVersion": start} | ({} if end is None else {"endingVersion": end})
        with pytest.raises(Exception, match=r"DELTA_|CDC|CDF|version"):
            by_delta(spark, table, **options).collect()
        with pytest.raises(error, match=said):
            lbs.changes(spark, table, start, end)
        with pytest.raises(Exception, match=said):
            by_format(spark, table, **options).collect()
    begins = "changes need startingVersion or startingTimestamp"
    for options, said in (
        ({}, begins),
        ({"endingVersion": 2}, begins),
        ({"startingVersion": 1, "versionAsOf": 2}, begins),
        (
            {"startingVersion": 1, "startingTimestamp": "2026-01-01T00:00:00Z"},
            "give startingVersion or startingTimestamp, not both",
        ),
        ({"startingVersion": 1, "endingTimestamp": "2026-01-01"}, "option endingTimestamp='2026-01-01': "),
        ({"startingVersion": 1, "maxFilesPerTrigger": 2}, "does not know these options for reading: maxFilesPerTrigger"),
        ({"startingVersion": "latest", "endingVersion": 2}, "it must be a whole number"),
        ({"startingVersion": 1, "readChangeFeed": "false"}, "add the option readChangeFeed=true"),
        ({"endingVersion": 1, "readChangeFeed": "false"}, "add the option readChangeFeed=true"),
    ):
        # Spark passes the names of options in lower case.
        with pytest.raises(Exception, match=f"(?i){said}"):
            spark.read.format("lakebed").options(**{"readChangeFeed": "true", **options}).load(path).collect()
    assert lbs.changes(spark, plain, 1).collect() == []


def test_columns_conditions_and_a_schema(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["partitioned, with vectors"])
    expected = [(*row[1:],) for row in EVENTS if row[0] == "jack"]
    found = lbs.changes(spark, path, 0, columns=["fruit"], where="name = 'jack'").drop("_commit_timestamp")
    assert found.columns == ["fruit", "_change_type", "_commit_version"]
    assert in_order(found.collect()) == in_order(expected)
    options = {"columns": "fruit", "where": "name = 'jack'", "startingVersion": 0}
    assert in_order(by_format(spark, path, **options).drop("_commit_timestamp").collect()) == in_order(expected)
    assert lbs.changes(spark, path, 0).where("_change_type = 'delete'").select("name").collect() == [("john",)]
    reader = spark.read.format("lakebed").options(readChangeFeed="true", startingVersion=3)
    feed = "_change_type string, _commit_version bigint, _commit_timestamp timestamp"
    assert [row[:2] for row in reader.schema(f"name string, {feed}").load(path).collect()] == [("john", "delete")]
    with pytest.raises(Exception, match="a schema for changes ends with _change_type, _commit_version, _commit_timestamp"):
        reader.schema("name string").load(path).collect()
    with pytest.raises(Exception, match="the given schema differs from the table's"):
        reader.schema(f"name bigint, {feed}").load(path).collect()


def test_a_data_frame_stays_at_its_versions(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["copied"])
    found = [lbs.changes(spark, path, 2), by_format(spark, path, startingVersion=2)]
    found.append(by_format(spark, path, startingVersion=2, where="name > ''"))
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ('eve', 'fig')")
    assert [one.count() for one in found] == [3, 3, 3]
    assert [one.where("name = 'eve'").count() for one in found] == [0, 0, 0]
    assert lbs.changes(spark, path, 2).count() == 4


def test_batch_and_stream_share_options(spark: Any, path: str, tmp_path: Path) -> None:
    fruits(spark, path, FORMS["vectors"])
    options = {"readChangeFeed": "true", "startingVersion": "1"}
    batch = by_format(spark, path, startingVersion=1)
    stream = spark.readStream.format("lakebed").options(**options).load(path)
    assert stream.schema == batch.schema
    found: Rows = []
    writer = stream.writeStream.foreachBatch(lambda rows, _: found.extend(rows.collect()))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    assert in_order(found) == in_order(batch.collect()) == by_python(path, 1)
    ending = spark.readStream.format("lakebed").options(endingVersion="2", **options).load(path).writeStream.format("noop")
    with pytest.raises(Exception, match=r"(?i)does not know these options for a stream: endingVersion"):
        ending.option("checkpointLocation", str(tmp_path / "other")).start().awaitTermination()


def test_nothing_to_read_is_no_rows(spark: Any, path: str) -> None:
    create(spark, path, "id BIGINT", {})
    assert spark.read.format("lakebed").load(path).collect() == []
    assert spark.read.format("lakebed").option("where", "id > 1").load(path).count() == 0
    assert by_format(spark, path, startingVersion=0).collect() == lbs.changes(spark, path, 0).collect() == []


def test_the_planner_knows_what_the_changes_are(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["copied"])
    found = lbs.changes(spark, path, 1)
    assert "MapInArrow lakebed fruits changes 1 to 3(" in found._jdf.queryExecution().executedPlan().toString()
    with pytest.raises(lb.InvalidInputError, match="exists in one process only"):
        lbs.changes(spark, "memory://fruits", 1)


# Columns about rows


@pytest.mark.parametrize("vectors", ["false", "true"], ids=["copied", "vectors"])
@pytest.mark.parametrize("behind", ["", "PARTITIONED BY (day)"], ids=["plain", "partitioned"])
def test_row_ids_are_those_of_delta_spark(spark: Any, path: str, vectors: str, behind: str) -> None:
    create(
        spark,
        path,
        "id BIGINT, day STRING, n INT",
        {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": vectors},
        behind,
    )
    columns = ["_metadata.row_id", "id", "_metadata.row_commit_version", "n"]

    def check() -> None:
        expected = in_order(spark.read.format("delta").load(path).select(*columns).collect())
        rows = lb.Table(path).to_arrow(columns).to_pylist()
        assert [list(row) for row in rows[:1]] == [columns]
        assert in_order(row.values() for row in rows) == expected
        assert len({row[0] for row in expected}) == len(expected) > 0
        found = lbs.read(spark, path, columns=columns)
        assert found.dtypes == [(name, "int" if name == "n" else "bigint") for name in columns]
        assert in_order(found.collect()) == expected
        by_source = spark.read.format("lakebed").option("columns", ",".join(columns)).load(path)
        assert in_order(by_source.collect()) == expected

    for statement in (
        f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, concat('d', id % 2), 0 FROM range(10)",
        f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, concat('d', id % 2), 1 FROM range(10, 15)",
        f"UPDATE delta.`{path}` SET n = n + 10 WHERE id % 4 = 0",
        f"DELETE FROM delta.`{path}` WHERE id IN (3, 12)",
        f"OPTIMIZE delta.`{path}`",
        f"UPDATE delta.`{path}` SET n = n + 100 WHERE id % 3 = 0",
        f"INSERT INTO delta.`{path}` VALUES (20, 'd0', 2)",
    ):
        spark.sql(statement)
        check()


def test_where_rows_are(spark: Any, path: str) -> None:
    fruits(spark, path, FORMS["vectors"])
    columns = ["name", "_metadata.file_path", "_metadata.row_index", "_metadata.file_size"]
    expected = (
        spark.read.format("delta").load(path).select("name", "_metadata.file_name", "_metadata.row_index", "_metadata.file_size")
    )
    found = lbs.read(spark, path, columns=columns)
    assert found.columns == columns
    assert in_order(found.collect()) == in_order(expected.collect())
    assert lbs.explain(spark, path, columns=columns).reasons == {"metadata columns are read": 2}
    with pytest.raises(lb.InvalidInputError, match="metadata columns are read"):
        lbs.read(spark, path, columns=columns, reader="spark")
    with pytest.raises(lb.InvalidInputError, match="does not track rows"):
        lbs.read(spark, path, columns=["_metadata.row_id"])
    one = lbs.read(spark, path, columns=["_metadata.row_index"], where="name = 'sarah'")
    assert one.select("`_metadata.row_index`").collect() == [(1,)]
