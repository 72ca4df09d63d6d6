"""RESTORE of lakebed beside RESTORE of Delta Spark, each on a copy of the same table."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
import lakebed.spark as lbs

pytestmark = pytest.mark.spark


def sql(spark: Any, path: Path, *statements: str) -> list[Any]:
    rows: list[Any] = []
    for text in statements:
        if text == REPLACE:
            lb.create(path, pa.schema([("name", pa.string())]), mode="replace")
            continue
        rows = spark.sql(text.replace("TABLE_", f"delta.`{path}`")).collect()
    return rows


def properties(**given: str) -> str:
    pairs = ", ".join(f"'delta.{name}' = '{value}'" for name, value in given.items())
    return f"TBLPROPERTIES ({pairs})"


@dataclass(frozen=True)
class Case:
    """A table, and the version to which it goes back."""

    statements: tuple[str, ...]
    version: int
    #: Properties in which lakebed differs on purpose, because they never go back.
    kept: tuple[str, ...] = ()
    #: Whether Delta Spark gives new row ids to a file that comes back with its old deletion vector.
    renumbered: bool = False


#: lakebed replaces the table. Delta Spark refuses another schema for a path.
REPLACE = "REPLACE"
CASES = {
    "rows": Case(
        (
            f"CREATE TABLE TABLE_ (id BIGINT, p STRING) USING delta {properties(enableDeletionVectors='false')}",
            "INSERT INTO TABLE_ SELECT id, 'a' FROM range(0, 10, 1, 2)",
            "DELETE FROM TABLE_ WHERE id < 3",
            "INSERT INTO TABLE_ SELECT id, 'b' FROM range(10, 20, 1, 1)",
            "OPTIMIZE TABLE_",
        ),
        1,
    ),
    "vectors": Case(
        (
            f"CREATE TABLE TABLE_ (id BIGINT) USING delta {properties(enableDeletionVectors='true', enableChangeDataFeed='true')}",
            "INSERT INTO TABLE_ SELECT id FROM range(0, 20, 1, 2)",
            "DELETE FROM TABLE_ WHERE id % 5 = 0",
            "DELETE FROM TABLE_ WHERE id % 5 = 1",
            "UPDATE TABLE_ SET id = id + 100 WHERE id = 2",
            "INSERT INTO TABLE_ VALUES (1000)",
        ),
        2,
    ),
    "partitions and schema": Case(
        (
            "CREATE TABLE TABLE_ (id BIGINT, p STRING) USING delta PARTITIONED BY (p)",
            "INSERT INTO TABLE_ VALUES (1, 'a b'), (2, 'c/d'), (3, NULL)",
            "ALTER TABLE TABLE_ ADD COLUMNS (more STRING COMMENT 'new')",
            "INSERT INTO TABLE_ VALUES (4, 'e', 'x')",
            "ALTER TABLE TABLE_ SET TBLPROPERTIES ('mine' = '1', 'delta.logRetentionDuration' = 'interval 60 days')",
            "COMMENT ON TABLE TABLE_ IS 'words'",
        ),
        1,
    ),
    "replaced": Case(
        (
            "CREATE TABLE TABLE_ (id BIGINT, p STRING) USING delta PARTITIONED BY (p)",
            "INSERT INTO TABLE_ VALUES (1, 'a')",
            REPLACE,
            "INSERT INTO TABLE_ VALUES ('n')",
        ),
        1,
    ),
    "mapped columns": Case(
        (
            f"CREATE TABLE TABLE_ (id BIGINT, name STRING) USING delta {properties(**{'columnMapping.mode': 'name'})}",
            "INSERT INTO TABLE_ VALUES (1, 'a')",
            "ALTER TABLE TABLE_ RENAME COLUMN name TO called",
            "ALTER TABLE TABLE_ ADD COLUMNS (more STRING)",
            "ALTER TABLE TABLE_ DROP COLUMN id",
            "INSERT INTO TABLE_ VALUES ('b', 'm')",
        ),
        1,
        ("delta.columnMapping.maxColumnId",),
    ),
    "row tracking": Case(
        (
            f"CREATE TABLE TABLE_ (id BIGINT) USING delta {properties(enableRowTracking='true', enableDeletionVectors='true')}",
            "INSERT INTO TABLE_ SELECT id FROM range(0, 10, 1, 2)",
            "DELETE FROM TABLE_ WHERE id = 3",
            "UPDATE TABLE_ SET id = id + 100 WHERE id = 8",
            "INSERT INTO TABLE_ VALUES (50)",
        ),
        1,
    ),
    "row tracking switched on": Case(
        (
            f"CREATE TABLE TABLE_ (id BIGINT) USING delta {properties(enableDeletionVectors='true')}",
            "INSERT INTO TABLE_ SELECT id FROM range(0, 10, 1, 2)",
            "ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
            "DELETE FROM TABLE_ WHERE id = 3",
        ),
        1,
        renumbered=True,
    ),
    "in-commit timestamps switched on": Case(
        (
            "CREATE TABLE TABLE_ (id BIGINT) USING delta",
            "INSERT INTO TABLE_ VALUES (1)",
            "ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
            "INSERT INTO TABLE_ VALUES (2)",
        ),
        1,
        (
            "delta.enableInCommitTimestamps",
            "delta.inCommitTimestampEnablementVersion",
            "delta.inCommitTimestampEnablementTimestamp",
        ),
    ),
    "in-commit timestamps": Case(
        (
            f"CREATE TABLE TABLE_ (id BIGINT) USING delta {properties(enableInCommitTimestamps='true')}",
            "INSERT INTO TABLE_ VALUES (1)",
            "INSERT INTO TABLE_ VALUES (2)",
        ),
        1,
    ),
    "identity": Case(
        (
            "CREATE TABLE TABLE_ (n BIGINT GENERATED ALWAYS AS IDENTITY, m BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 0 INCREMENT BY -2), v INT) USING delta",
            "INSERT INTO TABLE_ (v) VALUES (1)",
            "INSERT INTO TABLE_ (v) VALUES (2), (3)",
        ),
        1,
    ),
    "clustering": Case(
        (
            "CREATE TABLE TABLE_ (id BIGINT, v INT) USING delta CLUSTER BY (id)",
            "INSERT INTO TABLE_ VALUES (1, 2)",
            "ALTER TABLE TABLE_ CLUSTER BY (v)",
            "INSERT INTO TABLE_ VALUES (3, 4)",
        ),
        1,
    ),
    "clustered since": Case(
        (
            "CREATE TABLE TABLE_ (id BIGINT, v INT) USING delta",
            "INSERT INTO TABLE_ VALUES (1, 2)",
            "ALTER TABLE TABLE_ CLUSTER BY (v)",
            "INSERT INTO TABLE_ VALUES (3, 4)",
        ),
        1,
    ),
    "constraint and feature": Case(
        (
            "CREATE TABLE TABLE_ (id INT, v INT) USING delta",
            "INSERT INTO TABLE_ VALUES (1, 1)",
            "ALTER TABLE TABLE_ ADD CONSTRAINT positive CHECK (v > 0)",
            "ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
            "ALTER TABLE TABLE_ ALTER COLUMN id TYPE BIGINT",
            "INSERT INTO TABLE_ VALUES (3000000000, 2)",
        ),
        1,
    ),
}


def actions(path: Path, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()]


def of_kind(path: Path, version: int, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in actions(path, version) if kind in action]


def file_keys(path: Path, version: int, kind: str, with_ids: bool) -> list[tuple[Any, ...]]:
    def key(file: dict[str, Any]) -> tuple[Any, ...]:
        vector = file.get("deletionVector") or {}
        ids = (file.get("baseRowId"), file.get("defaultRowCommitVersion")) if with_ids else ()
        return (file["path"], vector.get("pathOrInlineDv"), vector.get("offset"), file["dataChange"], *map(str, ids))

    return sorted(map(key, of_kind(path, version, kind)), key=str)


def described(spark: Any, path: Path) -> dict[str, Any]:
    detail = sql(spark, path, "DESCRIBE DETAIL TABLE_")[0].asDict()
    names = ("description", "partitionColumns", "clusteringColumns", "numFiles", "sizeInBytes", "properties")
    return {**{name: detail[name] for name in names}, "features": sorted(detail["tableFeatures"])}


def compare(spark: Any, path: Path, case: Case, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for copy in (ours, theirs):
        shutil.copytree(path, copy)
    sql(spark, theirs, f"RESTORE TABLE TABLE_ TO VERSION AS OF {case.version}")
    before = lb.Table(ours).version
    result = lb.Table(ours).restore(version=case.version)
    assert (result.version, result.committed, result.restored_version) == (before + 1, True, case.version)
    version = result.version
    for kind in ("add", "remove"):
        with_ids = kind == "remove" or not case.renumbered
        assert file_keys(ours, version, kind, with_ids) == file_keys(theirs, version, kind, with_ids)
    (info,), (expected,) = of_kind(ours, version, "commitInfo"), of_kind(theirs, version, "commitInfo")
    for name in ("operation", "operationParameters", "operationMetrics"):
        assert info[name] == expected[name]
    ours_found, theirs_found = described(spark, ours), described(spark, theirs)
    for name in case.kept:
        assert ours_found["properties"].pop(name) is not None
        theirs_found["properties"].pop(name, None)
    assert ours_found == theirs_found
    assert spark.read.format("delta").load(str(ours)).schema.json() == spark.read.format("delta").load(str(theirs)).schema.json()
    rows = f"SELECT * FROM {{}} VERSION AS OF {case.version}"
    old = sorted(map(str, sql(spark, ours, rows.format("TABLE_"))))
    assert sorted(map(str, sql(spark, ours, "SELECT * FROM TABLE_"))) == old
    assert sorted(map(str, sql(spark, theirs, "SELECT * FROM TABLE_"))) == old
    assert (
        lb.Table(ours)
        .to_arrow()
        .sort_by([(name, "ascending") for name in lb.Table(ours).schema.names])
        .equals(lb.Table(theirs).to_arrow().sort_by([(name, "ascending") for name in lb.Table(theirs).schema.names]))
    )
    assert domain_of(ours, "delta.clustering") == domain_of(theirs, "delta.clustering")
    if case.renumbered:
        assert of_kind(ours, version, "add")[0]["baseRowId"] == of_kind(ours, version, "remove")[0]["baseRowId"]
    else:
        assert domain_of(ours, "delta.rowTracking") == domain_of(theirs, "delta.rowTracking")
    if "enableChangeDataFeed" in case.statements[0]:
        expected = fed(spark, theirs, version)
        assert expected
        assert fed(spark, ours, version) == expected
        assert sorted(map(str, feed_rows(ours, version))) == sorted(map(str, feed_rows(theirs, version)))
        assert sorted((row["_change_type"], row["id"]) for row in feed_rows(ours, version)) == expected


def fed(spark: Any, path: Path, version: int) -> list[tuple[str, int]]:
    options = {"readChangeFeed": "true", "startingVersion": str(version)}
    rows = spark.read.format("delta").options(**options).load(str(path)).collect()
    return sorted((row["_change_type"], row["id"]) for row in rows)


def feed_rows(path: Path, version: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lb.Table(path).changes(version).to_arrow().drop_columns(["_commit_timestamp"]).to_pylist()
    return rows


def domain_of(path: Path, name: str) -> Any:
    found = None
    for version in range(lb.Table(path).version + 1):
        for domain in of_kind(path, version, "domainMetadata"):
            if domain["domain"] == name:
                found = None if domain["removed"] else json.loads(domain["configuration"])
    return found


@pytest.mark.parametrize("name", CASES)
def test_restore_equals_delta_spark(spark: Any, tmp_path: Path, name: str) -> None:
    path, case = tmp_path / "table", CASES[name]
    sql(spark, path, *case.statements)
    compare(spark, path, case, tmp_path)


def test_restore_of_append_only_table_is_refused(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "table"
    sql(spark, path, f"CREATE TABLE TABLE_ (id BIGINT) USING delta {properties(appendOnly='true')}")
    sql(spark, path, "INSERT INTO TABLE_ VALUES (1)", "INSERT INTO TABLE_ VALUES (2)")
    with pytest.raises(lb.InvalidInputError, match="the table is append-only"):
        lb.Table(path).restore(version=1)
    # The protocol forbids the removal of rows of such a table. Delta Spark does it all the same.
    sql(spark, path, "RESTORE TABLE TABLE_ TO VERSION AS OF 1")
    assert lb.Table(path).count() == 1


@pytest.mark.parametrize("fraction_ms", [0, 120, 123])
def test_restore_by_timestamp_equals_delta_spark(fraction_ms: int, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "table"
    sql(
        spark,
        path,
        "CREATE TABLE TABLE_ (id BIGINT) USING delta",
        "INSERT INTO TABLE_ VALUES (1)",
        "INSERT INTO TABLE_ VALUES (2)",
    )
    begun_ms = (int(time.time()) - 3600) * 1000
    for version in range(3):
        at_ns = (begun_ms + version * 60_000 + fraction_ms) * 1_000_000
        os.utime(path / "_delta_log" / f"{version:020}.json", ns=(at_ns, at_ns))
    moment = next(entry.timestamp for entry in lb.Table(path).history() if entry.version == 1)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for copy in (ours, theirs):
        shutil.copytree(path, copy)
    sql(spark, theirs, f"RESTORE TABLE TABLE_ TO TIMESTAMP AS OF '{moment.strftime('%Y-%m-%d %H:%M:%S.%f')}'")
    result = lb.Table(ours).restore(timestamp=moment)
    assert (result.restored_version, result.metrics.removed_files) == (1, 1)
    (info,), (expected,) = of_kind(ours, 3, "commitInfo"), of_kind(theirs, 3, "commitInfo")
    assert info["operationParameters"] == expected["operationParameters"]


def test_read_opens_tag_and_clone(spark: Any, tmp_path: Path) -> None:
    path, target = str(tmp_path / "t"), str(tmp_path / "clone")
    table = lb.write(path, pa.table({"id": [1]})).table.tag("first", version=0)
    table.append(pa.table({"id": [2]})).table.clone(target, shallow=True)

    def ids(uri: str, **options: Any) -> list[int]:
        return sorted(row["id"] for row in lbs.read(spark, uri, **options).collect())

    assert ids(path, tag="first", reader="spark") == [1]
    assert ids(path, tag="first", reader="lakebed") == [1]
    assert ids(target) == [1, 2]
