"""DROP FEATURE: the log and the files after a drop, the obstacles of a drop, and that the result
is a table for readers that do not know the feature.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import lakebed as lb

DAY = 86_400
VECTORS = {"delta.enableDeletionVectors": True}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t"


def rows(first: int = 0, last: int = 10) -> pa.Table:
    ids = list(range(first, last))
    return pa.table({"id": pa.array(ids, pa.int32()), "p": [f"p{number % 2}" for number in ids]})


def actions(path: Path, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()]


def find(path: Path, version: int, kind: str) -> list[Any]:
    return [action[kind] for action in actions(path, version) if kind in action]


def history(path: Path, after: int) -> list[tuple[str, dict[str, Any]]]:
    """The operations of the log after a version, with their parameters."""
    found = []
    version = after + 1
    while (path / "_delta_log" / f"{version:020}.json").exists():
        [info] = find(path, version, "commitInfo")
        found.append((info["operation"], info["operationParameters"]))
        version += 1
    return found


def checkpoints(path: Path) -> list[int]:
    return sorted(int(file.name[:20]) for file in (path / "_delta_log").glob("*.checkpoint*.parquet"))


def dropped(feature: str, truncate: bool = False) -> tuple[str, dict[str, Any]]:
    return ("DROP FEATURE", {"featureName": feature, "truncateHistory": truncate})


def age(path: Path, seconds: float, until: int | None = None) -> None:
    """Makes commits and checkpoints up to a version older, by default all."""
    for file in (path / "_delta_log").iterdir():
        if until is not None and (not file.name[0].isdigit() or int(file.name[:20]) > until):
            continue
        then = file.stat().st_mtime - seconds
        os.utime(file, (then, then))


def refuse(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(lb.InvalidInputError) as caught:
        call()
    assert str(caught.value) == message


def protocol(reader: int, writer: int, reader_features: list[str] | None, writer_features: list[str] | None) -> dict[str, Any]:
    expected: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    if reader_features is not None:
        expected["readerFeatures"] = reader_features
    if writer_features is not None:
        expected["writerFeatures"] = writer_features
    return expected


PROTECTED = protocol(1, 7, None, ["appendOnly", "checkpointProtection", "invariants"])
BARRIER: list[tuple[str, dict[str, Any]]] = [("Empty Commit", {})] * 3


# What is in the way


def test_unknown_and_missing_features_are_refused(path: Path) -> None:
    table = lb.write(path, rows()).table
    drop = table.alter.drop_feature
    refuse(f"{table.uri}: there is no table feature nonsense; the table has appendOnly, invariants", lambda: drop("nonsense"))
    refuse(
        f"{table.uri}: the table does not have the table feature deletionVectors; it has appendOnly, invariants",
        lambda: drop("DELETIONVECTORS"),
    )
    refuse(
        f"{table.uri}: delta.enableDeletionVectors is a property and no table feature; unset the property, or name one of the "
        "features appendOnly, invariants",
        lambda: drop("delta.enableDeletionVectors"),
    )
    with pytest.raises(TypeError, match="truncate_history='yes': it must be True or False"):
        drop("appendOnly", truncate_history="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name=7: it must be a string"):
        drop(7)  # type: ignore[arg-type]
    with table.alter.together() as alter:
        refuse(
            "drop_feature('appendOnly') needs commits of its own: call it outside of together()",
            lambda: alter.drop_feature("appendOnly"),
        )
    with table.transaction() as tx, pytest.raises(lb.LakebedError, match="dropping a table feature"):
        tx.alter.drop_feature("appendOnly")
    assert history(path, 0) == []


OBSTACLES = {
    "appendOnly": 'the property delta.appendOnly is true (unset_properties("delta.appendOnly"))',
    "changeDataFeed": 'the property delta.enableChangeDataFeed is true (unset_properties("delta.enableChangeDataFeed"))',
    "checkConstraints": 'CHECK constraint positive (id >= 0) (drop_constraint("positive"))',
    "generatedColumns": 'column twice is generated (drop_column("twice"))',
    "identityColumns": 'column number is an identity column (drop_column("number"))',
    "allowColumnDefaults": 'column text has a default (set_default("text", None))',
    "clustering": "the rows are clustered by id, s.a (cluster_by())",
    "timestampNtz": 'column s.times has the type timestamp_ntz (drop_column("s.times")); column `a b`.element.key.time has the '
    'type timestamp_ntz (drop_column("`a b`.element.key.time"))',
}


def busy(path: Path) -> lb.Table:
    """A table that uses many features."""
    inside = pa.struct([("time", pa.timestamp("us"))])
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("s", pa.struct([("a", pa.int32()), ("times", pa.list_(pa.timestamp("us")))])),
            ("a b", pa.list_(pa.map_(inside, pa.int32()))),
            ("text", pa.string()),
        ]
    )
    properties = {"delta.appendOnly": True, "delta.enableChangeDataFeed": True, "delta.columnMapping.mode": "name"}
    table = lb.create(path, schema, properties=properties, cluster_by=["id", "s.a"])
    table.alter.add_constraint("positive", "id >= 0")
    table.alter.add_column("twice", "bigint", generated="id * 2")
    table.alter.add_column("number", "bigint", identity=True)
    return table.alter.set_default("text", "'none'")


def test_uses_in_the_definition_are_listed(path: Path) -> None:
    table = busy(path)
    for feature, what in OBSTACLES.items():
        message = f"{table.uri}: table feature {feature}: the table uses it: {what}"
        refuse(message, lambda feature=feature: table.alter.drop_feature(feature))
    refuse(
        f'{table.uri}: table feature domainMetadata: other features of the table need it; first drop_feature("clustering")',
        lambda: table.alter.drop_feature("domainMetadata"),
    )
    refuse(
        f"{table.uri}: table feature appendOnly: only writers must support it, so older versions can stay; drop it without "
        "truncate_history",
        lambda: table.alter.drop_feature("appendOnly", truncate_history=True),
    )
    assert history(path, table.version) == []


def test_calls_that_errors_name_clear_the_way(path: Path) -> None:
    table = busy(path)
    alter = table.alter
    alter.unset_properties("delta.appendOnly")
    alter.unset_properties("delta.enableChangeDataFeed")
    alter.drop_constraint("positive")
    alter.cluster_by()
    alter.set_default("text", None)
    alter.drop_column("twice")
    alter.drop_column("number")
    alter.drop_column("s.times")
    before = alter.drop_column("`a b`").version
    for feature in [*OBSTACLES, "domainMetadata", "invariants"]:
        if feature == "timestampNtz":
            continue
        result = alter.drop_feature(feature)
        assert (result.feature, result.protected_before, result.first_version, result.metrics.commits) == (feature, None, None, 1)
    features = ["columnMapping", "timestampNtz"]
    [last] = find(path, result.version, "protocol")
    assert last == protocol(3, 7, features, features)
    assert [name for name, _ in history(path, before)] == ["DROP FEATURE"] * 9
    [domain] = [domain for version in range(before, result.version) for domain in find(path, version, "domainMetadata")]
    assert (domain["domain"], domain["removed"]) == ("delta.clustering", True)
    result = alter.drop_feature("timestampNtz")
    assert find(path, result.version, "protocol") == [protocol(2, 7, None, ["checkpointProtection", "columnMapping"])]
    result.table.append(pa.table({"id": [1], "s": [{"a": 2}], "text": ["x"]}))
    assert lb.Table(path).to_arrow().to_pylist() == [{"id": 1, "s": {"a": 2}, "text": "x"}]


# Features of writers


def test_old_protocol_becomes_a_list_of_features(path: Path) -> None:
    properties = {"delta.minReaderVersion": 1, "delta.minWriterVersion": 6}
    table = lb.write(path, rows(), properties=properties).table
    assert find(path, 0, "protocol") == [protocol(1, 6, None, None)]
    result = table.alter(user_metadata="why").drop_feature("checkConstraints")
    listed = ["appendOnly", "changeDataFeed", "generatedColumns", "identityColumns", "invariants"]
    assert find(path, 1, "protocol") == [protocol(1, 7, None, listed)]
    assert history(path, 0) == [dropped("checkConstraints")]
    assert find(path, 1, "commitInfo")[0]["userMetadata"] == "why"
    assert (result.version, result.metrics) == (1, lb.DropFeatureMetrics(commits=1))
    for feature in ["changeDataFeed", "generatedColumns", "identityColumns"]:
        result = table.alter.drop_feature(feature)
    assert find(path, result.version, "protocol") == [protocol(1, 2, None, None)]


def test_in_commit_timestamps_end(path: Path) -> None:
    table = lb.write(path, rows()).table.alter.set_properties({"delta.enableInCommitTimestamps": True})
    result = table.alter.drop_feature("inCommitTimestamp")
    assert history(path, 1) == [
        ("SET TBLPROPERTIES", {"properties": '{"delta.enableInCommitTimestamps":"false"}'}),
        dropped("inCommitTimestamp"),
    ]
    assert result.table.properties == {"delta.enableInCommitTimestamps": "false"}
    assert find(path, 3, "protocol") == [protocol(1, 2, None, None)]
    assert "inCommitTimestamp" not in find(path, 3, "commitInfo")[0]
    assert DeltaTable(str(path)).to_pyarrow_table().num_rows == 10


def test_row_tracking_leaves_no_row_ids(path: Path) -> None:
    properties = {"delta.enableRowTracking": True, **VECTORS}
    table = lb.write(path, rows(), properties=properties, partition_by="p").table
    table.delete("id = 3")
    table.update({"id": "id + 100"}, where="id = 4")
    before = table.refresh().version
    result = table.alter.drop_feature("rowTracking")
    off = '{"delta.enableRowTracking":"false","delta.rowTrackingSuspended":"true"}'
    assert history(path, before) == [
        ("SET TBLPROPERTIES", {"properties": off}),
        ("ROW TRACKING UNBACKFILL", {"batchId": "0"}),
        dropped("rowTracking"),
    ]
    again = find(path, before + 2, "add")
    assert again
    assert all(not add["dataChange"] and "baseRowId" not in add and "defaultRowCommitVersion" not in add for add in again)
    assert any("deletionVector" in add for add in again)
    [domain] = find(path, before + 3, "domainMetadata")
    assert (domain["domain"], domain["removed"]) == ("delta.rowTracking", True)
    assert result.table.properties == {"delta.enableDeletionVectors": "true"}
    listed = ["appendOnly", "deletionVectors", "domainMetadata", "invariants"]
    assert find(path, before + 3, "protocol") == [protocol(3, 7, ["deletionVectors"], listed)]
    table.append(rows(20, 22))
    assert all("baseRowId" not in add for add in find(path, before + 4, "add"))
    expected = sorted([0, 1, 2, 104, 5, 6, 7, 8, 9, 20, 21])
    assert sorted(lb.Table(path).to_arrow()["id"].to_pylist()) == expected
    # A restore does not bring row tracking back, because the files of today have no row ids.
    restored = lb.Table(path).restore(version=before).table
    assert "delta.enableRowTracking" not in restored.properties
    assert restored.protocol.writer_features == tuple(listed)
    version = restored.version
    assert all("baseRowId" not in add for add in find(path, version, "add"))
    ids = lb.Table(path).alter.set_properties({"delta.enableRowTracking": True}).scan(columns=["id", "_metadata.row_id"])
    found = ids.to_arrow()
    assert len(set(found[found.schema.names[1]].to_pylist())) == found.num_rows == 9


def test_foreign_domains_are_removed_first(path: Path) -> None:
    table = lb.write(path, rows(), properties={"delta.feature.domainMetadata": "supported"}).table
    info = {"commitInfo": {"timestamp": 1, "operation": "HAND", "operationParameters": {}}}
    domain = {"domainMetadata": {"domain": "mine", "configuration": "{}", "removed": False}}
    commit = path / "_delta_log" / f"{1:020}.json"
    commit.write_text(json.dumps(info) + "\n" + json.dumps(domain) + "\n")
    table.alter.drop_feature("domainMetadata")
    assert history(path, 1) == [("DOMAIN METADATA CLEANUP", {"domainMetadataRemovedCount": 1}), dropped("domainMetadata")]
    assert find(path, 2, "domainMetadata") == [{"domain": "mine", "configuration": "{}", "removed": True}]
    assert find(path, 3, "protocol") == [protocol(1, 2, None, None)]


# Features of readers, with protected versions


def test_vectors_are_purged_and_protected(path: Path) -> None:
    table = lb.write(path, rows(), properties=VECTORS, partition_by="p").table
    table.delete("id = 3")
    table.delete("id = 5")
    before = table.refresh().version
    result = table.alter.drop_feature("deletionVectors")
    assert history(path, before) == [
        ("UNSET TBLPROPERTIES", {"properties": '["delta.enableDeletionVectors"]', "ifExists": True}),
        ("REORG", {"predicate": "[]", "applyPurge": True}),
        ("Deletion Vector Tombstones", {}),
        *BARRIER,
        dropped("deletionVectors"),
    ]
    [added] = find(path, before + 2, "add")
    assert (added["dataChange"], json.loads(added["stats"])["numRecords"]) == (False, 3)
    [removed] = find(path, before + 2, "remove")
    assert removed["dataChange"] is False
    assert removed["deletionVector"]["cardinality"] == 2
    # Both files of vectors are kept for older versions: that of the last one, and that of the one before.
    files = sorted(file.name for file in path.rglob("deletion_vector_*.bin"))
    tombstones = find(path, before + 3, "remove")
    assert sorted(tombstone["path"].split("/")[-1] for tombstone in tombstones) == files
    assert all(set(tombstone) == {"path", "deletionTimestamp", "dataChange"} for tombstone in tombstones)
    assert not any(tombstone["dataChange"] for tombstone in tombstones)
    version = before + 7
    assert (result.version, result.protected_before, result.first_version) == (version, version, None)
    assert result.metrics == lb.DropFeatureMetrics(commits=7, removed_files=1, added_files=1, deletion_vectors_removed=1)
    assert result.table.properties == {"delta.requireCheckpointProtectionBeforeVersion": str(version)}
    assert find(path, version, "protocol") == [PROTECTED]
    assert checkpoints(path) == [version - 3, version - 2, version - 1, version]
    assert sorted(DeltaTable(str(path)).to_pyarrow_table()["id"].to_pylist()) == [0, 1, 2, 4, 6, 7, 8, 9]
    assert [lb.Table(path, version=older).count() for older in range(before + 1)] == [10, 9, 8]
    assert lb.Table(path).check(level="rows").findings == ()
    # A vacuum by a writer without vectors keeps the files of tombstones.
    assert not [name for name in DeltaTable(str(path)).vacuum(dry_run=True) if name.endswith(".bin")]


def test_purge_of_a_table_without_vectors_only_unsets(path: Path) -> None:
    table = lb.write(path, rows(), properties=VECTORS).table
    result = table.alter.drop_feature("deletionVectors")
    unset = ("UNSET TBLPROPERTIES", {"properties": '["delta.enableDeletionVectors"]', "ifExists": True})
    assert history(path, 0) == [unset, *BARRIER, dropped("deletionVectors")]
    assert result.metrics == lb.DropFeatureMetrics(commits=5)


def test_restore_brings_vectors_back(path: Path) -> None:
    table = lb.write(path, rows(), properties=VECTORS).table
    table.delete("id = 3")
    table.alter.drop_feature("deletionVectors")
    restored = lb.Table(path).restore(version=1).table
    assert "deletionVectors" in restored.protocol.reader_features
    assert "checkpointProtection" in restored.protocol.writer_features
    assert sorted(restored.to_arrow()["id"].to_pylist()) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    result = restored.alter.drop_feature("deletionVectors")
    assert result.table.properties == {"delta.requireCheckpointProtectionBeforeVersion": str(result.version)}


def test_checkpoints_become_classic(path: Path) -> None:
    table = lb.write(path, rows(), properties={"delta.checkpointPolicy": "v2", "delta.checkpointInterval": 2}).table
    for first in range(4):
        table.append(rows(first, first + 1))
    before = table.refresh().version
    assert list((path / "_delta_log").glob("*.checkpoint.*.json"))
    result = table.alter.drop_feature("v2Checkpoint")
    policy = ("SET TBLPROPERTIES", {"properties": '{"delta.checkpointPolicy":"classic"}'})
    assert history(path, before) == [policy, *BARRIER, dropped("v2Checkpoint")]
    names = sorted(file.name for file in (path / "_delta_log").glob("*.checkpoint*") if int(file.name[:20]) > before + 1)
    assert names == [f"{version:020}.checkpoint.parquet" for version in range(before + 2, result.version + 1)]
    assert find(path, result.version, "protocol") == [PROTECTED]
    assert DeltaTable(str(path)).to_pyarrow_table().num_rows == 14
    assert lb.Table(path, version=before).count() == 14


def test_files_with_old_types_are_rewritten(path: Path) -> None:
    nested = pa.list_(pa.struct([("n", pa.int16())]))
    data = pa.table({"id": pa.array([1, 2], pa.int32()), "l": pa.array([[{"n": 1}], None], nested)})
    table = lb.write(path, data, properties={"delta.enableTypeWidening": True}).table
    table.alter.change_type("id", "bigint")
    table.append(pa.table({"id": [2**40], "l": pa.array([[{"n": 2}]], nested)}))
    table.alter.change_type("l.element.n", "int")
    table.append(pa.table({"id": [2**41], "l": pa.array([[{"n": 2**30}]], pa.list_(pa.struct([("n", pa.int32())])))}))
    before = table.refresh().version
    [newest] = find(path, before, "add")
    expected = sorted(table.refresh().to_arrow().to_pylist(), key=lambda row: row["id"])
    result = table.alter.drop_feature("typeWidening")
    names = [name for name, _ in history(path, before)]
    assert names == ["UNSET TBLPROPERTIES", "REORG", "DROP FEATURE", *["Empty Commit"] * 3, "DROP FEATURE"]
    assert result.metrics.removed_files == 2
    assert newest["path"] not in [removed["path"] for removed in find(path, before + 2, "remove")]
    for file in [newest, *find(path, before + 2, "add")]:
        assert pq.read_schema(path / file["path"]).field("id").type == pa.int64()
        assert pq.read_schema(path / file["path"]).field("l").type.value_type.field("n").type == pa.int32()
    [metadata] = find(path, before + 3, "metaData")
    assert "typeChanges" not in metadata["schemaString"]
    columns = json.loads(find(path, before + 3, "commitInfo")[0]["operationParameters"]["columns"])
    assert [(column["name"], column["type"]) for column in columns] == [("id", "long"), ("l.element.n", "integer")]
    assert find(path, result.version, "protocol") == [PROTECTED]
    assert sorted(lb.Table(path).to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    found = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == expected
    assert lb.Table(path, version=0).to_arrow()["id"].to_pylist() == [1, 2]


def test_files_get_the_logical_names(path: Path) -> None:
    data = pa.table({"id": pa.array(range(10), pa.int32()), "p": ["a", "b"] * 5, "s": [{"x": number} for number in range(10)]})
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.enableRowTracking": True,
        "delta.enableChangeDataFeed": True,
        **VECTORS,
    }
    table = lb.write(path, data, properties=properties, partition_by="p").table
    table.alter.rename_column("p", "part")
    table.alter.rename_column("s.x", "y")
    table.alter.drop_column("id")
    table.alter.add_column("id", "string")
    table.delete("s.y = 3")
    before = table.refresh().version
    columns = ["part", "s", "id", "_metadata.row_id", "_metadata.row_commit_version"]

    def known(version: int) -> list[Any]:
        found = lb.Table(path, version=version).scan(columns=columns).to_arrow().to_pylist()
        return sorted(found, key=lambda row: row["s"]["y"])

    expected = known(before)
    result = table.alter.drop_feature("columnMapping")
    assert history(path, before) == [("REMOVE COLUMN MAPPING", {}), *BARRIER, dropped("columnMapping")]
    [metadata] = find(path, before + 1, "metaData")
    assert "columnMapping" not in metadata["schemaString"] + json.dumps(metadata["configuration"])
    assert metadata["partitionColumns"] == ["part"]
    added = find(path, before + 1, "add")
    assert sorted(add["partitionValues"]["part"] for add in added) == ["a", "b"]
    assert not any("deletionVector" in add or add["dataChange"] for add in added)
    for add in added:
        assert pq.read_schema(path / add["path"]).names[:2] == ["s", "id"]
        assert set(json.loads(add["stats"])["minValues"]) <= {"s", "id"}
        assert json.loads(add["stats"])["minValues"]["s"].keys() == {"y"}
    assert known(result.version) == expected
    assert known(before) == expected
    assert "columnMapping" not in result.table.protocol.writer_features
    assert lb.Table(path).changes(before + 1, before + 1).to_arrow().num_rows == 0
    table.update({"id": "'new'"}, where="s.y = 4")
    assert lb.Table(path).to_arrow(where="id = 'new'").num_rows == 1
    assert lb.Table(path).check(level="rows").findings == ()
    # Mapping can be switched on again, and gives the names of today.
    mapped = lb.Table(path).alter.set_properties({"delta.columnMapping.mode": "name"})
    assert sorted(row["s"]["y"] for row in mapped.to_arrow().to_pylist()) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_clustering_follows_the_names_of_columns(path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("a", pa.int32())]))])
    table = lb.create(path, schema, properties={"delta.columnMapping.mode": "name"}, cluster_by=["id", "s.a"])
    table.append(pa.table({"id": [1, 2], "s": [{"a": 1}, {"a": 2}]}))
    table.alter.rename_column("id", "key")
    result = table.alter.drop_feature("columnMapping")
    assert result.table.detail().clustering_columns == ("key", "s.a")
    [domain] = [domain for version in range(3, result.version) for domain in find(path, version, "domainMetadata")]
    assert json.loads(domain["configuration"])["clusteringColumns"] == [["key"], ["s", "a"]]
    assert lb.Table(path).optimize(full=True).table.to_arrow().num_rows == 2


def test_names_that_need_mapping_are_in_the_way(path: Path) -> None:
    table = lb.write(path, pa.table({"a b": [1]}), properties={"delta.columnMapping.mode": "name"}).table
    message = (
        f'{table.uri}: column "a b": column names must not contain blanks or any of ,;{{}}()=; rename the column, or set the '
        "property delta.columnMapping.mode to name"
    )
    refuse(message, lambda: table.alter.drop_feature("columnMapping"))
    assert history(path, 0) == []
    table.alter.rename_column("`a b`", "ab")
    assert table.alter.drop_feature("columnMapping").table.to_arrow().to_pylist() == [{"ab": 1}]


def test_mode_of_mapping_points_to_the_drop(path: Path) -> None:
    table = lb.write(path, rows(), properties={"delta.columnMapping.mode": "name"}).table
    remedy = "drop the table feature columnMapping, which rewrites them"
    with pytest.raises(lb.InvalidInputError, match=remedy):
        table.alter.set_properties({"delta.columnMapping.mode": "none"})
    with pytest.raises(lb.InvalidInputError, match=remedy):
        table.alter.unset_properties("delta.columnMapping.mode")


def test_feature_without_traces_needs_only_the_barrier(path: Path) -> None:
    table = lb.write(path, rows(), properties={"delta.feature.vacuumProtocolCheck": "supported"}).table
    result = table.alter.drop_feature("vacuumprotocolcheck")
    assert history(path, 0) == [*BARRIER, dropped("vacuumProtocolCheck")]
    assert (result.protected_before, result.feature) == (4, "vacuumProtocolCheck")


# The history


def test_protected_checkpoints_outlive_cleanups(path: Path) -> None:
    properties = {"delta.logRetentionDuration": "interval 1 days", "delta.checkpointInterval": 1, **VECTORS}
    table = lb.write(path, rows(), properties=properties).table
    table.delete("id = 3")
    boundary = table.alter.drop_feature("deletionVectors").version
    # Versions and a barrier checkpoint are older than the retention period, but not all that are protected.
    age(path, 10 * DAY, until=boundary - 2)
    table.append(rows(10, 11))
    assert [lb.Table(path, version=version).count() for version in range(boundary)] == [10] + [9] * (boundary - 1)
    age(path, 10 * DAY)
    table.append(rows(11, 12))
    oldest = min(int(file.name[:20]) for file in (path / "_delta_log").glob("0*.json"))
    assert oldest >= boundary
    assert lb.Table(path).count() == 11


def test_history_within_the_retention_period_stays(path: Path) -> None:
    table = lb.write(path, rows(), properties=VECTORS).table
    table.delete("id = 3")
    with pytest.raises(lb.InvalidInputError) as caught:
        table.alter.drop_feature("deletionVectors", truncate_history=True)
    names = [name for name, _ in history(path, 1)]
    assert names == ["UNSET TBLPROPERTIES", "REORG", "Deletion Vector Tombstones"]
    assert checkpoints(path) == [4]
    last = os.stat(path / "_delta_log" / f"{4:020}.json").st_mtime_ns // 1_000_000_000
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(last + DAY + 60))
    assert str(caught.value) == (
        f"{table.uri}: table feature deletionVectors: the newest version does not use it any more, but versions up to 3 do. They "
        "can be deleted when they are older than 24 hours (delta.dropFeatureTruncateHistory.retentionDuration); run the same call "
        f"after {when}. Without truncate_history the feature can be dropped now, and these versions stay"
    )
    # A second call commits nothing while it has to wait.
    with pytest.raises(lb.InvalidInputError):
        table.alter.drop_feature("deletionVectors", truncate_history=True)
    assert len(history(path, 1)) == 3
    age(path, DAY + 61)
    result = table.alter.drop_feature("deletionVectors", truncate_history=True)
    assert history(path, 4) == [dropped("deletionVectors", truncate=True)]
    assert (result.version, result.protected_before, result.first_version) == (5, None, 4)
    assert result.metrics.deleted_log_files >= 4
    assert find(path, 5, "protocol") == [protocol(1, 2, None, None)]
    assert result.table.properties == {}
    assert not (path / "_delta_log" / f"{3:020}.json").exists()
    write_deltalake(str(path), rows(10, 12), mode="append")
    assert lb.Table(path).count() == 11
    with pytest.raises(lb.VersionNotFoundError):
        lb.Table(path, version=3)


def test_clean_history_needs_no_waiting(path: Path) -> None:
    table = lb.write(path, rows(), properties={"delta.feature.deletionVectors": "supported"}).table
    result = table.alter.drop_feature("deletionVectors", truncate_history=True)
    assert history(path, 0) == [dropped("deletionVectors", truncate=True)]
    assert (result.first_version, find(path, 1, "protocol")) == (None, [protocol(1, 2, None, None)])


@pytest.mark.parametrize("feature", ["columnMapping", "typeWidening", "v2Checkpoint", "timestampNtz", "variantType"])
def test_traces_of_each_feature_are_found(path: Path, feature: str) -> None:
    table = lb.write(path, rows()).table
    if feature == "columnMapping":
        table.alter.set_properties({"delta.columnMapping.mode": "name"})
    elif feature == "typeWidening":
        table.alter.set_properties({"delta.enableTypeWidening": True})
        table.alter.change_type("id", "bigint")
    elif feature == "v2Checkpoint":
        table.alter.set_properties({"delta.checkpointPolicy": "v2"})
        table.refresh().checkpoint()
    else:
        table.alter.set_properties({"delta.columnMapping.mode": "name"})
        table.alter.add_column("c", "timestamp_ntz" if feature == "timestampNtz" else "variant")
        table.alter.drop_column("c")
    # Old commits with traces can be in a checkpoint alone, too.
    with pytest.raises(lb.InvalidInputError, match=f"table feature {feature}: the newest version does not use it any more"):
        table.alter.drop_feature(feature, truncate_history=True)
    age(path, 2 * DAY)
    result = table.alter.drop_feature(feature, truncate_history=True)
    assert result.first_version is not None
    assert feature not in result.table.protocol.reader_features
    assert lb.Table(path).count() == 10


def test_protection_goes_with_the_versions(path: Path) -> None:
    table = lb.write(path, rows(), properties=VECTORS).table
    refused = table.alter.drop_feature("deletionVectors").table
    boundary = refused.version
    refuse(
        f"{table.uri}: table feature checkpointProtection: it protects older versions that need dropped features, so it can be "
        "dropped only with them (truncate_history)",
        lambda: table.alter.drop_feature("checkpointProtection"),
    )
    with pytest.raises(lb.InvalidInputError, match=f"checkpointProtection: versions up to {boundary - 1} need features"):
        table.alter.drop_feature("checkpointProtection", truncate_history=True)
    age(path, 2 * DAY)
    result = table.alter.drop_feature("checkpointProtection", truncate_history=True)
    assert result.table.properties == {}
    assert find(path, result.version, "protocol") == [protocol(1, 2, None, None)]
    assert result.first_version == boundary
    assert DeltaTable(str(path)).to_pyarrow_table().num_rows == 10


def test_tagged_version_is_in_the_way(path: Path) -> None:
    table = lb.write(path, rows(), properties=VECTORS).table
    table.delete("id = 3")
    table.tag("audit", version=1)
    with pytest.raises(lb.InvalidInputError):
        table.alter.drop_feature("deletionVectors", truncate_history=True)
    age(path, 2 * DAY)
    with pytest.raises(lb.InvalidInputError, match='tag "audit" keeps version 1; drop the tag first'):
        table.alter.drop_feature("deletionVectors", truncate_history=True)
    assert lb.Table(path, tag="audit").count() == 9
    table.drop_tag("audit")
    age(path, 2 * DAY)
    result = table.alter.drop_feature("deletionVectors", truncate_history=True)
    assert "deletionVectors" not in result.table.protocol.reader_features


# Other writers


def test_drop_beside_deletes_keeps_every_row(path: Path) -> None:
    table = lb.write(path, rows(0, 200), properties={"delta.checkpointInterval": 100, **VECTORS}).table
    stop, deleted, failed = threading.Event(), [], []

    def delete() -> None:
        own = lb.Table(path)
        for number in range(200):
            if stop.is_set():
                return
            try:
                own.delete(f"id = {number}")
                deleted.append(number)
            except lb.CommitConflictError as error:
                failed.append(error)

    worker = threading.Thread(target=delete)
    worker.start()
    try:
        while len(deleted) < 3:
            time.sleep(0.01)
        result = table.alter.drop_feature("deletionVectors")
    finally:
        stop.set()
        worker.join()
    assert failed == []
    files = DeltaTable(str(path)).to_pyarrow_table()
    assert sorted(files["id"].to_pylist()) == [number for number in range(200) if number not in deleted]
    newest = lb.Table(path)
    assert "deletionVectors" not in newest.protocol.reader_features
    for version in range(result.version, newest.version + 1):
        assert not [add for add in find(path, version, "add") if "deletionVector" in add]
    assert find(path, result.version - 1, "commitInfo")
    assert int(newest.properties["delta.requireCheckpointProtectionBeforeVersion"]) == result.version
    assert newest.check(level="rows").findings == ()


def test_write_begun_before_the_drop_conflicts_or_follows(path: Path) -> None:
    table = lb.write(path, rows(), properties={"delta.columnMapping.mode": "name"}).table
    older = lb.Table(path)
    table.alter.drop_feature("columnMapping")
    older.append(rows(10, 12))
    older.update({"id": "id + 1000"}, where="id = 11")
    assert sorted(DeltaTable(str(path)).to_pyarrow_table()["id"].to_pylist()) == [*range(11), 1011]
