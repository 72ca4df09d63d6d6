"""The example of the documentation for deletes, updates, change data feeds and row ids: four
versions of a table of three people and their fruits.

Version 0 creates the table, 1 inserts three rows in one file, 2 gives jack a banana, 3 deletes
john.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

Rows = list[tuple[Any, ...]]

EVENTS: Rows = [
    ("jack", "apple", "insert", 1),
    ("john", "pineapple", "insert", 1),
    ("sarah", "orange", "insert", 1),
    ("jack", "apple", "update_preimage", 2),
    ("jack", "banana", "update_postimage", 2),
    ("john", "pineapple", "delete", 3),
]
#: The rows at the end: the row id of each row, and the version that last wrote it.
TRACKED: Rows = [("jack", "banana", 0, 2), ("sarah", "orange", 1, 1)]


@pytest.fixture(params=[False, True], ids=["copied", "vectors"])
def fruits(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = str(tmp_path / "fruits")
    properties = {
        "delta.enableChangeDataFeed": True,
        "delta.enableRowTracking": True,
        "delta.enableDeletionVectors": request.param,
    }
    table = lb.create(path, pa.schema([("name", pa.string()), ("fruit", pa.string())]), properties=properties)
    people = {"name": ["jack", "sarah", "john"], "fruit": ["apple", "orange", "pineapple"]}
    assert table.append(pa.table(people)).metrics.added_files == 1
    updated = table.update({"fruit": "'banana'"}, where="name = 'jack'")
    deleted = table.delete("name = 'john'")
    assert (updated.version, deleted.version) == (2, 3)
    assert (updated.metrics.updated_rows, deleted.metrics.deleted_rows) == (1, 1)
    # Without deletion vectors, the update copies sarah and john, and the delete copies jack and
    # sarah.
    copied = (0, 0) if request.param else (2, 2)
    assert (updated.metrics.copied_rows, deleted.metrics.copied_rows) == copied
    return path


def in_order(rows: Any) -> Rows:
    """Sorts rows by version. In a version, inserts and deletes come before updates, and preimages
    before postimages.
    """
    return sorted((tuple(row) for row in rows), key=lambda row: (row[3], row[2] == "update_postimage", row[0]))


def test_lakebed_tells_what_happened(fruits: str) -> None:
    table = lb.Table(fruits)
    for start in range(4):
        for end in range(start, 4):
            found = table.changes(start, end).to_arrow().drop_columns(["_commit_timestamp"]).to_pylist()
            assert in_order(row.values() for row in found) == [event for event in EVENTS if start <= event[3] <= end]
    columns = ["name", "fruit", "_metadata.row_id", "_metadata.row_commit_version"]
    assert sorted(tuple(row.values()) for row in table.to_arrow(columns).to_pylist()) == TRACKED
    assert sorted(lb.Table(fruits, version=2).to_arrow()["name"].to_pylist()) == ["jack", "john", "sarah"]


@pytest.mark.spark
def test_delta_spark_tells_what_happened(fruits: str, spark: Any) -> None:
    for start in range(4):
        for end in range(start, 4):
            reader = spark.read.format("delta").option("readChangeFeed", "true")
            found = reader.option("startingVersion", start).option("endingVersion", end).load(fruits)
            found = found.select("name", "fruit", "_change_type", "_commit_version").collect()
            assert in_order(found) == [event for event in EVENTS if start <= event[3] <= end]
    frame = spark.read.format("delta").load(fruits)
    found = frame.selectExpr("name", "fruit", "_metadata.row_id", "_metadata.row_commit_version").collect()
    assert sorted(tuple(row) for row in found) == TRACKED
