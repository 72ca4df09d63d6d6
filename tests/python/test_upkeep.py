"""The files that lakebed writes to the log, checked by Delta Spark: checkpoints, checksums,
statistics, compactions, cleanup, history and detail.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
from settings import configured
from upkeep.delta_log import DeltaLog
from upkeep.skipping import PREDICATES, chunks
from upkeep.tables import KINDS, LIVES, Kind, live, parts
from writes import read

pytestmark = pytest.mark.spark

# The statistics of a checkpoint: as JSON, as typed columns.
STATS = {"both": (True, True), "json": (True, False), "struct": (False, True), "none": (False, False)}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


@pytest.fixture(scope="module")
def lived(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """Returns a function that puts a table with every kind of operation at a path. Each table is
    made once and then copied.
    """
    made: dict[str, Path] = {}

    def copy(life: str, path: str) -> str:
        if life not in made:
            made[life] = tmp_path_factory.mktemp(life) / "t"
            live(spark, str(made[life]), LIVES[life])
        shutil.copytree(made[life], path)
        return path

    return copy


def _check_checkpoint(kind: Kind, policy: str, stats: str, path: str, spark: Any) -> None:
    """Builds the table, keeps only lakebed's checkpoint of its state, and compares all readers."""
    as_json, as_struct = STATS[stats]
    properties = {
        "delta.checkpointPolicy": policy,
        "delta.checkpoint.writeStatsAsJson": as_json,
        "delta.checkpoint.writeStatsAsStruct": as_struct,
        "delta.checkpointInterval": 100,
    }
    kind.build(spark, path, properties)
    log = DeltaLog(spark, path)
    rows, state = read.canonical(log.rows()), log.state()

    checkpoint = lb.Table(path).checkpoint()
    assert checkpoint.name.endswith("checkpoint.parquet") == (policy == "classic")
    log.forget_commits_before(checkpoint.version)
    log.validate_checksum()
    log.forget_checksums()

    assert log.last_checkpoint() == checkpoint.version
    assert log.state() == [_without_statistics(action) if stats == "none" else action for action in state]
    unread = {*kind.unread, *(["deltalake"] if policy == "v2" else [])}
    for found in (log.rows(), *(read.PEERS[peer](path) for peer in read.PEERS if peer not in unread)):
        assert read.canonical(found) == rows


def _without_statistics(action: tuple[str, Any]) -> tuple[str, Any]:
    return action[0], {key: value for key, value in action[1].items() if key != "stats"}


@pytest.mark.parametrize("stats", list(STATS))
@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_a_checkpoint_alone_tells_every_value(policy: str, stats: str, path: str, spark: Any) -> None:
    _check_checkpoint(KINDS["odd_values"], policy, stats, path, spark)


@pytest.mark.parametrize("policy", ["classic", "v2"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.name != "odd_values"], ids=lambda kind: kind.name)
def test_a_checkpoint_alone_tells_what_features_keep(kind: Kind, policy: str, path: str, spark: Any) -> None:
    _check_checkpoint(kind, policy, "struct" if kind.name == "mapped_by_id" else "both", path, spark)


@pytest.mark.parametrize("life", list(LIVES))
def test_checksums_equal_state_of_delta_spark(life: str, lived: Callable[[str, str], str], path: str, spark: Any) -> None:
    log = DeltaLog(spark, lived(life, path))
    ours = log.versions_by_lakebed()
    assert len(ours) == 13
    for version in ours if life == "with_features" else ours[-2:]:
        log.validate_checksum(version)
    found = {version: log.checksum(version) for version in ours}
    log.forget_checksums()
    for version in ours:
        computed = log.computed_checksum(version)
        assert found[version].pop("txnId") == log.commit_info(version)["txnId"]
        if life == "with_transactions_that_expire":
            computed.pop("setTransactions")
        assert found[version] == computed, f"version {version}"
        assert computed.get("inCommitTimestampOpt") == log.commit_info(version).get("inCommitTimestamp")


def _damaged(checksum: dict[str, Any], field: str) -> dict[str, Any]:
    """Returns the checksum with one wrong field."""
    value = checksum[field]
    wrong = {
        "setTransactions": lambda: [{**value[0], "version": value[0]["version"] + 1}],
        "domainMetadata": lambda: [{**value[0], "configuration": "{}"}],
        "metadata": lambda: {**value, "description": "another"},
        "protocol": lambda: {**value, "writerFeatures": [*value["writerFeatures"], "changeDataFeed"]},
        "fileSizeHistogram": lambda: {**value, "fileCounts": [value["fileCounts"][0] - 1, 1, *value["fileCounts"][2:]]},
    }
    return {**checksum, field: wrong.get(field, lambda: value + 1)()}


# The errors of Delta Spark about a checksum that contradicts the state.
REFUSED = r"(?i)integrity|mismatch|STATE_RECOVER_ERROR"

# The fields that Delta Spark compares. It does not compare the counts of deleted records.
DAMAGES = [
    "tableSizeBytes", "numFiles", "numMetadata", "numProtocol", "numDeletedRecordsOpt", "numDeletionVectorsOpt", "setTransactions",
    "domainMetadata", "metadata", "protocol", "fileSizeHistogram",
]  # fmt: skip


def test_checksum_check_detects_each_wrong_field(path: str, spark: Any) -> None:
    properties = {"delta.enableDeletionVectors": True, "delta.enableRowTracking": True}
    lb.write(path, parts([1, 2, 3], ["a"] * 3), properties=properties, txn=("app", 1))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    version = lb.write(path, parts([4], ["b"])).version
    log = DeltaLog(spark, path)
    log.validate_checksum(version)
    sound = log.checksum(version)
    for field in DAMAGES:
        log.put_checksum(version, _damaged(sound, field))
        with pytest.raises(Exception, match=REFUSED):
            log.validate_checksum(version)


def test_delta_spark_verifies_checksums_and_commits(path: str, spark: Any) -> None:
    verification = {
        "spark.databricks.delta.incremental.commit.verify": True,
        "spark.databricks.delta.versionChecksum.forcedValidationInterval": 0,
        "spark.databricks.delta.versionChecksum.forcedValidationMinTimeIntevalMinutes": 0,
        "spark.databricks.delta.allFilesInCrc.verificationMode.enabled": True,
    }
    lb.write(path, parts([1, 2, 3], ["a", "b", None]), partition_by="p", properties={"delta.enableDeletionVectors": True})
    log = DeltaLog(spark, path)
    with configured(spark, verification):
        for number in range(4, 7):
            log.open()
            spark.sql(f"INSERT INTO delta.`{path}` VALUES ({number}, 'a'), ({10 * number}, 'b')")
            lb.write(path, parts([number], ["c"]), mode="overwrite", where="p = 'c'")
            log.open()
            spark.sql(f"DELETE FROM delta.`{path}` WHERE id = {number} AND p = 'a'")
            lb.write(path, parts([number], [None]), txn=("app", number))
        version = lb.Table(path).version
        log.put_checksum(version, _damaged(log.checksum(version), "numFiles"))
        log.open()
        with pytest.raises(Exception, match=REFUSED):
            spark.sql(f"INSERT INTO delta.`{path}` VALUES (7, 'a')")
    assert lb.Table(path).version == version


def _names(log: DeltaLog, versions: int) -> dict[str, int]:
    """Returns the version that added each file. Each commit added one file."""
    found = {}
    for version in range(versions):
        (line,) = [line for line in (log.folder / f"{version:020}.json").read_text().splitlines() if line.startswith('{"add"')]
        found[json.loads(line)["add"]["path"].rsplit("/", 1)[-1]] = version
    return found


def test_delta_spark_skips_by_either_statistics(tmp_path: Path, spark: Any) -> None:
    own, theirs = str(tmp_path / "own"), str(tmp_path / "spark")
    rows = chunks()
    statistics = {"delta.checkpoint.writeStatsAsJson": False, "delta.checkpoint.writeStatsAsStruct": True}
    for number, chunk in enumerate(rows):
        lb.write(own, chunk, properties=statistics if number == 0 else None)
        spark.createDataFrame(chunk).coalesce(1).write.format("delta").mode("append").save(theirs)

    def read_by(path: str, names: dict[str, int], predicates: list[str] = PREDICATES) -> dict[str, set[int]]:
        log = DeltaLog(spark, path)
        log.open()
        return {where: {names[name] for name in log.files_read(where)} for where in predicates}

    names = _names(DeltaLog(spark, own), len(rows))
    expected = read_by(theirs, _names(DeltaLog(spark, theirs), len(rows)))
    assert sum(len(files) < len(rows) for files in expected.values()) > len(PREDICATES) * 0.8
    assert read_by(own, names) == expected
    version = lb.Table(own).checkpoint().version
    DeltaLog(spark, own).forget_commits_before(version)
    # One predicate per type is enough for the typed statistics of the checkpoint.
    some = PREDICATES[::3]
    assert read_by(own, names, some) == {where: expected[where] for where in some}


OLD = 1_700_000_000


def _age(log: DeltaLog, versions: range) -> None:
    """Makes these versions and their checkpoints old, by the modification times of their files and
    by their in-commit timestamps.
    """
    for version in versions:
        for checkpoint in log.folder.glob(f"{version:020}.checkpoint.*"):
            os.utime(checkpoint, (OLD + version, OLD + version))
        commit = log.folder / f"{version:020}.json"
        lines = commit.read_text().splitlines()
        info = json.loads(lines[0])
        if "inCommitTimestamp" in info["commitInfo"]:
            info["commitInfo"]["inCommitTimestamp"] = (OLD + version) * 1_000
            (log.folder / f"{version:020}.crc").unlink()
            commit.write_text("\n".join([json.dumps(info), *lines[1:]]) + "\n")
        os.utime(commit, (OLD + version, OLD + version))


@pytest.mark.parametrize("sort", ["classic", "v2", "in_commit_timestamps"])
def test_cleanup_keeps_every_retained_version(sort: str, path: str, spark: Any) -> None:
    properties = {
        "delta.logRetentionDuration": "interval 1 days",
        "delta.checkpointInterval": 8,
        # Delta Spark allows no time travel beyond this duration.
        "delta.deletedFileRetentionDuration": "interval 5000 days",
    }
    if sort == "v2":
        properties["delta.checkpointPolicy"] = "v2"
    if sort == "in_commit_timestamps":
        properties["delta.enableInCommitTimestamps"] = "true"
    model: list[list[dict[str, Any]]] = []
    for number in range(8):
        part = "ab"[number % 2]
        rows = parts([number, -number], [part, part])
        replaces = number % 3 == 2
        lb.write(
            path, rows, partition_by="p" if number == 0 else None, properties=properties if number == 0 else None,
            mode="overwrite" if replaces else "append", where=f"p = '{part}'" if replaces else None,
        )  # fmt: skip
        kept = [row for row in (model[-1] if model else []) if not (replaces and row["p"] == part)]
        model.append(kept + rows.to_pylist())
        if number == 3:
            lb.Table(path).checkpoint()
    log = DeltaLog(spark, path)
    _age(log, range(5))
    before = log.state()
    assert lb.write(path, parts([], [])).version == 8
    model.append(model[-1])

    assert log.versions() == [*range(3, 9)]
    for version in range(3, 9):
        assert read.canonical(log.rows(version)) == read.canonical(model[version])
        assert read.canonical(lb.Table(path, version=version).to_arrow().to_pylist()) == read.canonical(model[version])
    for version in range(3):
        with pytest.raises(lb.VersionNotFoundError):
            lb.Table(path, version=version)
        with pytest.raises(Exception, match=r"(?i)version|not.*found"):
            log.rows(version)
    assert [row["version"] for row in spark.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()] == [*range(8, 2, -1)]
    assert [entry.version for entry in lb.Table(path).history()] == [*range(8, 2, -1)]
    log.forget_checksums()
    assert log.state() == before
    if sort == "v2":
        # The checkpoint for readers without V2 checkpoints has the same state.
        log.forget_checkpoints("0*.checkpoint.*-*")
        log.forget_commits_before(8)
        assert log.state() == before


def _vacuumed(spark: Any, path: str) -> set[str]:
    """Returns the files that Delta Spark's VACUUM would delete, without directories."""
    DeltaLog(spark, path).open()
    with configured(spark, {"spark.sql.sources.parallelPartitionDiscovery.parallelism": 2}):
        found = spark.sql(f"VACUUM delta.`{path}` RETAIN 200 HOURS DRY RUN").collect()
    return {row["path"].rsplit("/", 1)[-1] for row in found if "." in row["path"].rsplit("/", 1)[-1]}


def _with_tombstones(spark: Any, path: str) -> set[str]:
    """Writes old files: some removed lately, one removed long ago, and one that the table never
    had. Returns those that may be deleted.
    """
    lb.write(
        path, parts([1, 2, 3, 4, 5], ["a", "b", "c", "c", "c"]), partition_by="p",
        properties={"delta.enableDeletionVectors": True, "delta.checkpointInterval": 100},
    )  # fmt: skip
    lb.write(path, parts([10], ["a"]), mode="overwrite", where="p = 'a'")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 4")
    version = lb.write(path, parts([20], ["b"]), mode="overwrite", where="p = 'b'").version
    commit = DeltaLog(spark, path).folder / f"{version:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    (removed,) = [line["remove"] for line in lines if "remove" in line]
    removed["deletionTimestamp"] = OLD * 1_000
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (Path(path) / "p=a" / "orphan.parquet").write_bytes(b"")
    for file in [*Path(path).glob("p=*/*"), *Path(path).glob("*.bin")]:
        os.utime(file, (OLD, OLD))
    return {"orphan.parquet", removed["path"].rsplit("/", 1)[-1]}


def test_vacuum_from_checkpoint_finds_same_files(path: str, spark: Any) -> None:
    expected = _with_tombstones(spark, path)
    assert _vacuumed(spark, path) == expected
    version = lb.Table(path).checkpoint().version
    assert _vacuumed(spark, path) == expected
    log = DeltaLog(spark, path)
    log.forget_commits_before(version)
    log.forget_checksums()
    assert _vacuumed(spark, path) == expected


@pytest.mark.parametrize("life", ["plain", "with_features"])
def test_a_compaction_tells_what_its_commits_told(life: str, lived: Callable[[str, str], str], path: str, spark: Any) -> None:
    log = DeltaLog(spark, lived(life, path))
    log.forget_checksums()
    log.forget_checkpoints()
    last = lb.Table(path).version
    before = {version: log.state(version) for version in (6, 8, 10, last)}
    names = [lb.Table(path).compact_log(first, last) for first, last in ((2, 6), (7, 10), (11, last))]
    segment = log.snapshot().logSegment().deltas().mkString()
    assert [name in segment for name in names] == [True] * len(names)
    assert {version: log.state(version) for version in before} == before


def test_vacuum_from_compaction_finds_same_files(path: str, spark: Any) -> None:
    expected = _with_tombstones(spark, path)
    last = lb.Table(path).version
    lb.Table(path, version=0).checkpoint()
    name = lb.Table(path).compact_log(1, last)
    log = DeltaLog(spark, path)
    log.forget_checksums()
    assert name in log.snapshot().logSegment().deltas().mkString()
    assert _vacuumed(spark, path) == expected


@pytest.mark.parametrize("life", list(LIVES))
def test_history_and_detail_equal_delta_spark(life: str, lived: Callable[[str, str], str], path: str, spark: Any) -> None:
    DeltaLog(spark, lived(life, path)).open()
    described = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").selectExpr("*", "unix_millis(timestamp) AS ms").collect()
    assert [_of_entry(entry) for entry in lb.Table(path).history()] == [_of_row(row) for row in described]
    (row,) = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").selectExpr("*", *_TIMES).collect()
    _check_detail(lb.Table(path).detail(), row)


def test_detail_tells_names_descriptions_and_clustering(path: str, spark: Any) -> None:
    schema = pa.schema([("a b", pa.int64()), ("s", pa.struct([("x", pa.string())])), ("c", pa.date32())])
    properties = {"delta.columnMapping.mode": "name", "own": "ü = 'x'"}
    lb.create(path, schema, cluster_by=["s.x", "a b"], name="a name", description="what for", properties=properties)
    (row,) = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").selectExpr("*", *_TIMES).collect()
    detail = lb.Table(path).detail()
    assert (detail.name, detail.description, detail.clustering_columns) == ("a name", "what for", ("s.x", "`a b`"))
    _check_detail(detail, row)


_TIMES = ("unix_millis(createdAt) AS created", "unix_millis(lastModified) AS modified")


def _check_detail(detail: lb.Detail, row: Any) -> None:
    protocol = detail.protocol
    features = {*protocol.reader_features, *protocol.writer_features}
    has_own_times = detail.properties.get("delta.enableInCommitTimestamps") == "true"
    found = {
        "format": "delta",
        "id": detail.id,
        "name": detail.name,
        "description": detail.description,
        "created": _milliseconds(detail.created_at),
        # Delta Spark returns the modification time of the file even if the commit has a timestamp
        # of its own, which may be later.
        "modified": row["modified"] if has_own_times else _milliseconds(detail.last_modified),
        "partitionColumns": [*detail.partition_columns],
        "clusteringColumns": [*detail.clustering_columns],
        "numFiles": detail.num_files,
        "sizeInBytes": detail.size_bytes,
        "properties": detail.properties,
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        # Without a feature list, the protocol versions stand for features.
        "tableFeatures": sorted(features) if protocol.min_writer_version == 7 else row["tableFeatures"],
    }
    assert found == {key: row[key] for key in found}


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def _of_entry(entry: lb.HistoryEntry) -> dict[str, Any]:
    return {
        "version": entry.version,
        "ms": _milliseconds(entry.timestamp),
        "operation": entry.operation,
        "operationParameters": entry.parameters,
        "operationMetrics": entry.metrics,
        "userMetadata": entry.user_metadata,
        "engineInfo": entry.engine_info,
        "readVersion": entry.read_version,
        "isolationLevel": entry.isolation_level,
        "isBlindAppend": entry.is_blind_append,
    }


def _of_row(row: Any) -> dict[str, Any]:
    fields = (
        "version", "ms", "operation", "operationParameters", "operationMetrics", "userMetadata", "engineInfo", "readVersion",
        "isolationLevel", "isBlindAppend",
    )  # fmt: skip
    return {field: row[field] for field in fields}


# Each writer computes its own sizes and durations.
OWN_METRICS = {"numOutputBytes", "numRemovedBytes", "executionTimeMs", "scanTimeMs", "rewriteTimeMs"}


def test_operations_in_history_equal_delta_spark(tmp_path: Path, spark: Any) -> None:
    own, theirs = str(tmp_path / "own"), str(tmp_path / "spark")

    def both(table: pa.Table, options: dict[str, str] | None = None, **given: Any) -> None:
        lb.write(own, table, **given)
        writer = spark.createDataFrame(table).coalesce(1).write.format("delta").mode(given.get("mode", "append"))
        partition_by = given.get("partition_by", "p")
        (writer.partitionBy(partition_by) if partition_by else writer).options(**(options or {})).save(theirs)

    schema = parts([], []).schema
    lb.create(own, schema, partition_by="p", description="what for", properties={"own": "x"})
    spark.sql(
        f"CREATE TABLE delta.`{theirs}` (id BIGINT, p STRING) USING delta PARTITIONED BY (p) COMMENT 'what for' TBLPROPERTIES ('own' = 'x')"
    )
    both(parts([1, 2, 3, 4], ["a", "a", "b", "b"]))
    both(parts([5], ["a"]), {"txnAppId": "app", "txnVersion": "3", "userMetadata": "why"}, txn=("app", 3), user_metadata="why")
    both(parts([6], ["b"]), {"replaceWhere": "p = 'b'"}, mode="overwrite", where="p = 'b'")
    both(parts([7], ["c"]), {"partitionOverwriteMode": "dynamic"}, mode="overwrite", partitions="dynamic")
    both(parts([8], ["a"]), {"replaceWhere": "id = 1 OR id = 8"}, mode="overwrite", where="id = 1 OR id = 8")
    both(pa.table({"id": [9], "p": ["a"], "n": ["x"]}), {"mergeSchema": "true"}, schema_mode="merge")
    both(pa.table({"id": [10], "p": ["a"], "n": ["x"]}), mode="overwrite")
    both(pa.table({"z": [1]}), {"overwriteSchema": "true"}, mode="overwrite", schema_mode="overwrite", partition_by=[])
    found = [_told(DeltaLog(spark, own), version) for version in range(9)]
    assert found == [_told(DeltaLog(spark, theirs), version) for version in range(9)]


@pytest.mark.parametrize("mode", ["append", "overwrite", "error", "ignore"])
def test_creating_write_in_history_equals_spark(mode: Any, tmp_path: Path, spark: Any) -> None:
    own, theirs = str(tmp_path / "own"), str(tmp_path / "spark")
    lb.write(own, parts([1], ["a"]), mode=mode, partition_by="p")
    spark.createDataFrame(parts([1], ["a"])).coalesce(1).write.format("delta").mode(mode).partitionBy("p").save(theirs)
    assert _told(DeltaLog(spark, own), 0) == _told(DeltaLog(spark, theirs), 0)


def _told(log: DeltaLog, version: int) -> dict[str, Any]:
    info = log.commit_info(version)
    for name in ("timestamp", "txnId", "engineInfo"):
        assert info.pop(name)
    info["operationMetrics"] = {name: "own" if name in OWN_METRICS else value for name, value in info["operationMetrics"].items()}
    return info
