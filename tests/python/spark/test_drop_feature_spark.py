"""DROP FEATURE of lakebed beside DROP FEATURE of Delta Spark, each on a copy of the same table. Both
then read and write the table that lakebed left.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import lakebed as lb

pytestmark = pytest.mark.spark

ROWS = "INSERT INTO TABLE_ SELECT CAST(id AS INT), CONCAT('p', id % 2) FROM range(0, 10, 1, 2)"


@dataclass(frozen=True)
class Case:
    """A table, and the feature that it loses."""

    feature: str
    properties: dict[str, str]
    statements: tuple[str, ...] = ()
    #: Whether versions from before the drop need the feature.
    protects: bool = True
    #: Whether deltalake can read the table after the drop.
    reads_elsewhere: bool = True
    partitioned: bool = False


VECTORS = {"delta.enableDeletionVectors": "true"}
CASES = {
    "vectors": Case("deletionVectors", VECTORS, ("DELETE FROM TABLE_ WHERE id = 3", "DELETE FROM TABLE_ WHERE id = 4")),
    "vectors and partitions": Case("deletionVectors", VECTORS, ("DELETE FROM TABLE_ WHERE id < 6",), partitioned=True),
    "unused vectors": Case("deletionVectors", VECTORS),
    "names": Case("columnMapping", {"delta.columnMapping.mode": "name"}, ("ALTER TABLE TABLE_ RENAME COLUMN id TO number",)),
    "names of partitions": Case(
        "columnMapping",
        {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"},
        ("ALTER TABLE TABLE_ RENAME COLUMN p TO part",),
        partitioned=True,
    ),
    "ids": Case("columnMapping", {"delta.columnMapping.mode": "id"}),
    "types": Case(
        "typeWidening",
        {"delta.enableTypeWidening": "true"},
        ("ALTER TABLE TABLE_ ALTER COLUMN id TYPE BIGINT", "INSERT INTO TABLE_ VALUES (10000000000, 'p1')"),
    ),
    "preview of types": Case("typeWidening-preview", {"delta.feature.typeWidening-preview": "supported"}),
    "checkpoints": Case("v2Checkpoint", {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1"}, (ROWS,)),
    "vacuum": Case("vacuumProtocolCheck", {"delta.feature.vacuumProtocolCheck": "supported"}),
    "timestamps": Case("inCommitTimestamp", {"delta.enableInCommitTimestamps": "true"}, protects=False),
    "later timestamps": Case(
        "inCommitTimestamp",
        {},
        ("ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')", ROWS),
        protects=False,
    ),
    "row ids": Case(
        "rowTracking",
        {"delta.enableRowTracking": "true", **VECTORS},
        ("DELETE FROM TABLE_ WHERE id = 3",),
        protects=False,
        reads_elsewhere=False,
    ),
    "constraints": Case("checkConstraints", {"delta.minReaderVersion": "1", "delta.minWriterVersion": "6"}, protects=False),
    "domains": Case("domainMetadata", {"delta.feature.domainMetadata": "supported"}, protects=False),
    "materialized partitions": Case(
        "materializePartitionColumns", {"delta.feature.materializePartitionColumns": "supported"}, protects=False
    ),
}


def sql(spark: Any, path: Path, *statements: str) -> list[Any]:
    rows: list[Any] = []
    for text in statements:
        rows = spark.sql(text.replace("TABLE_", f"delta.`{path}`")).collect()
    return rows


def make(spark: Any, path: Path, case: Case) -> None:
    properties = {"delta.enableDeletionVectors": "false", **case.properties}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    by = "PARTITIONED BY (p)" if case.partitioned else ""
    sql(spark, path, f"CREATE TABLE TABLE_ (id INT, p STRING) USING delta {by} TBLPROPERTIES ({listed})", ROWS, *case.statements)


def find(path: Path, version: int, kind: str) -> list[Any]:
    lines = (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [action[kind] for line in lines if kind in (action := json.loads(line))]


def newest(path: Path) -> int:
    return max(int(name[:20]) for name in os.listdir(path / "_delta_log") if name.endswith(".json") and name[0] == "0")


def operations(path: Path, after: int) -> list[str]:
    """The operations after a version. Delta Spark commits tombstones of vectors even if there are none,
    and sets or unsets properties with other operations.
    """
    names = []
    for version in range(after + 1, newest(path) + 1):
        [info] = find(path, version, "commitInfo")
        is_empty = not find(path, version, "remove") and not find(path, version, "add")
        if info["operation"] == "Deletion Vector Tombstones" and is_empty:
            continue
        names.append("SET TBLPROPERTIES" if info["operation"] == "UNSET TBLPROPERTIES" else info["operation"])
    return names


def definition(path: Path) -> dict[str, Any]:
    """The newest protocol, schema and properties. The number of the protected version depends on the
    number of commits.
    """
    version = newest(path)
    [protocol], [metadata] = find(path, version, "protocol"), find(path, version, "metaData")
    protected = metadata["configuration"].pop("delta.requireCheckpointProtectionBeforeVersion", None)
    assert protected in (None, str(version))
    return {
        "versions": (protocol["minReaderVersion"], protocol["minWriterVersion"]),
        "reader": sorted(protocol.get("readerFeatures") or []),
        "writer": sorted(protocol.get("writerFeatures") or []),
        "listed": ("readerFeatures" in protocol, "writerFeatures" in protocol),
        "properties": metadata["configuration"],
        "schema": json.loads(metadata["schemaString"]),
        "partitions": metadata["partitionColumns"],
        "protects": protected is not None,
    }


def rows_of(spark: Any, path: Path, version: int | None = None) -> list[tuple[Any, ...]]:
    at = "" if version is None else f" VERSION AS OF {version}"
    return sorted(tuple(row) for row in sql(spark, path, f"SELECT * FROM TABLE_{at}"))


def rows_of_lakebed(path: Path, version: int | None = None) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lb.Table(path, version=version).to_arrow().to_pylist())


@pytest.mark.parametrize("name", CASES)
def test_drop_ends_as_in_delta_spark(spark: Any, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    own, other = tmp_path / "lakebed", tmp_path / "spark"
    make(spark, own, case)
    shutil.copytree(own, other)
    before = newest(own)
    expected = rows_of(spark, own)
    older = {version: rows_of(spark, own, version) for version in range(1, before + 1)}
    result = lb.Table(own).alter.drop_feature(case.feature)
    sql(spark, other, f"ALTER TABLE TABLE_ DROP FEATURE `{case.feature}`")
    assert definition(own) == definition(other)
    assert operations(own, before) == operations(other, before)
    assert [find(own, result.version, "commitInfo")[0]["operationParameters"]] == [
        find(other, newest(other), "commitInfo")[0]["operationParameters"]
    ]
    assert (result.protected_before is not None) == case.protects
    # Everybody reads the same rows, in lakebed's table and in Delta Spark's, and older versions, too.
    assert rows_of(spark, own) == rows_of_lakebed(own) == rows_of_lakebed(other) == expected
    for version, rows in older.items():
        assert rows_of(spark, own, version) == rows_of_lakebed(own, version) == rows
    if case.reads_elsewhere:
        found = DeltaTable(str(own)).to_pyarrow_table().to_pylist()
        names = lb.Table(own).schema.names
        assert sorted(tuple(row[name] for name in names) for row in found) == expected
    # Everybody writes to it.
    names = lb.Table(own).schema.names
    sql(spark, own, "INSERT INTO TABLE_ VALUES (100, 'p0')", f"DELETE FROM TABLE_ WHERE {names[0]} = 0")
    lb.Table(own).update({names[0]: f"{names[0]} + 1000"}, where=f"{names[0]} = 1")
    after = sorted(
        [row for row in expected if row[0] not in (0, 1)] + [(100, "p0")] + [(1001, row[1]) for row in expected if row[0] == 1]
    )
    assert rows_of(spark, own) == rows_of_lakebed(own) == after
    # Delta Spark accepts lakebed's checkpoints of the table, and drops another feature of it.
    spark.catalog.clearCache()
    sql(spark, own, "ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')")
    sql(spark, own, "ALTER TABLE TABLE_ DROP FEATURE vacuumProtocolCheck")
    assert rows_of(spark, own) == rows_of_lakebed(own) == after


@pytest.mark.parametrize("by_lakebed_first", [True, False])
def test_versions_are_deleted_in_turns(spark: Any, tmp_path: Path, by_lakebed_first: bool) -> None:
    """One prepares the table, and the other drops the feature a day later."""
    path = tmp_path / "t"
    make(spark, path, Case("deletionVectors", VECTORS, ("DELETE FROM TABLE_ WHERE id = 3",)))
    expected = rows_of(spark, path)

    def by_lakebed() -> None:
        lb.Table(path).alter.drop_feature("deletionVectors", truncate_history=True)

    def by_spark() -> None:
        sql(spark, path, "ALTER TABLE TABLE_ DROP FEATURE deletionVectors TRUNCATE HISTORY")

    first, second = (by_lakebed, by_spark) if by_lakebed_first else (by_spark, by_lakebed)
    with pytest.raises(Exception, match="deletionVectors"):
        first()
    for file in (path / "_delta_log").iterdir():
        if file.is_file():
            then = file.stat().st_mtime - 2 * 86_400
            os.utime(file, (then, then))
    second()
    found = definition(path)
    assert (found["versions"], found["properties"], found["protects"]) == ((1, 2), {}, False)
    assert not (path / "_delta_log" / f"{1:020}.json").exists()
    assert rows_of(spark, path) == rows_of_lakebed(path) == expected


def test_spark_respects_protected_checkpoints(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(spark, path, Case("deletionVectors", VECTORS, ("DELETE FROM TABLE_ WHERE id = 3",)))
    result = lb.Table(path).alter.drop_feature("deletionVectors")
    with pytest.raises(Exception, match="DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD"):
        sql(spark, path, "ALTER TABLE TABLE_ DROP FEATURE checkpointProtection TRUNCATE HISTORY")
    for file in (path / "_delta_log").iterdir():
        if file.is_file():
            then = file.stat().st_mtime - 2 * 86_400
            os.utime(file, (then, then))
    sql(spark, path, "ALTER TABLE TABLE_ DROP FEATURE checkpointProtection TRUNCATE HISTORY")
    assert not (path / "_delta_log" / f"{result.version - 1:020}.json").exists()
    assert definition(path)["versions"] == (1, 2)
    assert rows_of_lakebed(path) == rows_of(spark, path)
