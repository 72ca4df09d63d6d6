"""Erase on tables of Delta Spark: nothing is left of the rows, and Delta Spark goes on with the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import lakebed as lb
from leftovers import MARK, holders

pytestmark = pytest.mark.spark

WHERE = f"name = '{MARK}'"

#: The properties and the partitioning of tables.
KINDS = {
    "plain": ("'delta.enableDeletionVectors' = 'false'", ""),
    "vectors": ("'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'", ""),
    "v2": ("'delta.checkpointPolicy' = 'v2', 'delta.enableDeletionVectors' = 'true', 'delta.checkpointInterval' = '2'", ""),
    "mapped": ("'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true'", "PARTITIONED BY (name)"),
    "partitioned": ("'delta.enableChangeDataFeed' = 'true', 'delta.checkpointInterval' = '3'", "PARTITIONED BY (name)"),
    "tracked": ("'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true'", ""),
}


def sql(spark: Any, path: Path, text: str) -> list[Any]:
    rows: list[Any] = spark.sql(text.replace("TABLE_", f"delta.`{path}`")).collect()
    return rows


def made(spark: Any, path: Path, kind: str) -> None:
    properties, partitioning = KINDS[kind]
    create = f"CREATE TABLE TABLE_ (id BIGINT, name STRING) USING delta {partitioning} TBLPROPERTIES ({properties})"
    sql(spark, path, create)
    sql(spark, path, f"INSERT INTO TABLE_ SELECT /*+ COALESCE(1) */ id, if(id = 3, '{MARK}', concat('n', id)) FROM range(10)")
    sql(spark, path, f"INSERT INTO TABLE_ VALUES (20, '{MARK}'), (21, 'n21')")
    sql(spark, path, f"UPDATE TABLE_ SET id = id + 100 WHERE {WHERE} AND id = 20")
    sql(spark, path, f"DELETE FROM TABLE_ WHERE {WHERE} AND id = 3")
    sql(spark, path, "INSERT INTO TABLE_ VALUES (30, 'n30')")


@pytest.mark.parametrize("kind", KINDS)
def test_spark_goes_on_after_erase(spark: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    made(spark, path, kind)
    expected = [f"n{number}" for number in (0, 1, 2, 4, 5, 6, 7, 8, 9, 21, 30)]
    found = lambda: sorted((row.name for row in sql(spark, path, "SELECT name FROM TABLE_")), key=lambda name: int(name[1:]))  # noqa: E731
    version = lb.Table(path).version
    result = lb.Table(path).erase(WHERE)
    assert found() == expected
    assert result.older_versions[-1].last_version == version
    assert sql(spark, path, "DESCRIBE HISTORY TABLE_ LIMIT 1")[0].operation == "ERASE"
    result = lb.Table(path).erase(WHERE, history=True)
    assert holders(path) == []
    # This session knows the table as it was before.
    assert found() == expected
    history = sql(spark, path, "DESCRIBE HISTORY TABLE_")
    assert [row.operation for row in history][:2] == ["ERASE HISTORY", "ERASED"]
    assert [row.version for row in history] == list(range(result.version, 0, -1))
    assert sql(spark, path, "DESCRIBE DETAIL TABLE_")[0].numFiles == len(result.table.files())
    for dropped in (0, 1, version):
        with pytest.raises(Exception, match=r"Cannot time travel|VERSION_NOT_FOUND|DELTA_"):
            sql(spark, path, f"SELECT * FROM TABLE_ VERSION AS OF {dropped}")
    if "enableChangeDataFeed" in KINDS[kind][0]:
        changes = f"SELECT * FROM table_changes_by_path('{path}', {result.version})"
        assert spark.sql(changes).collect() == []
    sql(spark, path, "INSERT INTO TABLE_ VALUES (40, 'n40')")
    sql(spark, path, "DELETE FROM TABLE_ WHERE id = 21")
    sql(spark, path, "OPTIMIZE TABLE_")
    expected = [*expected[:-2], "n30", "n40"]
    assert found() == expected
    table = lb.Table(path)
    assert sorted(table.to_arrow()["name"].to_pylist()) == sorted(expected)
    assert lb.check(path, level="rows").ok
    if kind in ("plain", "partitioned"):
        assert len(DeltaTable(str(path)).history()) == table.version


def test_stream_of_spark_from_before_fails(spark: Any, tmp_path: Path) -> None:
    path, target, state = tmp_path / "t", tmp_path / "target", tmp_path / "state"
    sql(spark, path, "CREATE TABLE TABLE_ (id BIGINT, name STRING) USING delta")
    sql(spark, path, "INSERT INTO TABLE_ VALUES (1, 'n1')")

    def run() -> None:
        stream = spark.readStream.format("delta").load(str(path)).writeStream.format("delta")
        stream.option("checkpointLocation", str(state)).trigger(availableNow=True).start(str(target)).awaitTermination()

    run()
    sql(spark, path, f"INSERT INTO TABLE_ VALUES (2, 'n2'), (3, '{MARK}')")
    lb.Table(path).erase(WHERE, history=True)
    # The stream has not seen row 2, and the versions that brought it no longer exist.
    with pytest.raises(Exception, match="DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"):
        run()
