"""VACUUM of lakebed beside VACUUM of Delta Spark. Both delete the same files of Delta Spark's
tables, and each continues the work of the other.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import lakebed as lb
from settings import configured

pytestmark = pytest.mark.spark

DAY = 86_400


@pytest.fixture(scope="module", autouse=True)
def settings(spark: Any) -> Any:
    names = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.databricks.delta.vacuum.logging.enabled": "true",
        # Otherwise Delta Spark lists these few folders in ten thousand tasks.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    with configured(spark, names):
        yield


def sql(spark: Any, path: Path, text: str) -> list[Any]:
    return spark.sql(text.replace("TABLE_", f"delta.`{path}`")).collect()


VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED = "'delta.enableChangeDataFeed' = 'true'"
NAMED = "'delta.columnMapping.mode' = 'name'"


def plain(spark: Any, path: Path) -> None:
    sql(
        spark,
        path,
        "CREATE TABLE TABLE_ (id BIGINT, p STRING) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    )
    for first in (0, 10):
        sql(spark, path, f"INSERT INTO TABLE_ SELECT id, 'a' FROM range({first}, {first + 10})")
    sql(spark, path, "DELETE FROM TABLE_ WHERE id < 3")
    sql(spark, path, "OPTIMIZE TABLE_")


def vectors_and_changes(spark: Any, path: Path) -> None:
    by = "PARTITIONED BY (p, `_q`)"
    sql(spark, path, f"CREATE TABLE TABLE_ (id BIGINT, p STRING, `_q` STRING) USING delta {by} TBLPROPERTIES ({VECTORS}, {FEED})")
    sql(spark, path, "INSERT INTO TABLE_ SELECT id, if(id % 2 = 0, 'a b', 'c/d'), if(id < 5, 'x', '_y') FROM range(20)")
    sql(spark, path, "DELETE FROM TABLE_ WHERE id IN (3, 4)")
    sql(spark, path, "UPDATE TABLE_ SET id = id + 100 WHERE id < 2")
    sql(spark, path, "DELETE FROM TABLE_ WHERE id = 7")
    sql(spark, path, "INSERT OVERWRITE TABLE_ PARTITION (p = 'a b', `_q`) SELECT 77L, 'x'")


def mapped(spark: Any, path: Path) -> None:
    properties = f"{VECTORS}, {NAMED}, 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3'"
    sql(spark, path, f"CREATE TABLE TABLE_ (id BIGINT, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES ({properties})")
    sql(spark, path, "INSERT INTO TABLE_ SELECT id, id % 3 FROM range(12)")
    sql(spark, path, "DELETE FROM TABLE_ WHERE id = 3")
    sql(spark, path, "DELETE FROM TABLE_ WHERE p = 1")
    sql(spark, path, "DELETE FROM TABLE_ WHERE id = 5")
    sql(spark, path, "RESTORE TABLE TABLE_ TO VERSION AS OF 2")


TABLES = [plain, vectors_and_changes, mapped]


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes each table once, with files that were never named. Returns copies."""
    known: dict[str, Path] = {}

    def copy(build: Any, path: Path) -> Path:
        if build.__name__ not in known:
            root = tmp_path_factory.mktemp(build.__name__) / "t"
            build(spark, root)
            for name in ["nobody.parquet", "_tmp/f", "sub/f", "p=1/.f", "_q=3/f", "_q=3/_tmp/f", "_other=1/f", "_delta_index/f"]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(b"x")
            known[build.__name__] = root
        shutil.copytree(known[build.__name__], path)
        # The commits get old times, so that the retention period can be computed from the log.
        # Files are older than all commits.
        when = time.time() - 40 * DAY
        for found in path.rglob("*"):
            if "_delta_log" not in found.parts and found.is_file():
                os.utime(found, (when, when))
        return path

    return copy


def by_spark(spark: Any, path: Path, how: str) -> set[str]:
    """Returns the files that Delta Spark would delete. Its result also has empty folders."""
    found = (Path(row[0].removeprefix("file:")) for row in sql(spark, path, f"VACUUM TABLE_ {how} DRY RUN"))
    return {str(file.relative_to(path)) for file in found if not file.is_dir()}


def by_us(path: Path, hours: float | None, mode: Any = "full") -> set[str]:
    found = lb.Table(str(path)).vacuum(hours, mode=mode, enforce_retention=False, dry_run=True)
    return set(found.files["path"].to_pylist())


def rows(spark: Any, path: Path) -> list[str]:
    return sorted(map(str, sql(spark, path, "SELECT * FROM TABLE_")))


@pytest.mark.parametrize("build", TABLES)
def test_both_would_delete_the_same_files(build: Any, spark: Any, made: Any, tmp_path: Path) -> None:
    path = made(build, tmp_path / "t")
    for hours, how in [(0, "RETAIN 0 HOURS"), (None, ""), (24, "RETAIN 24 HOURS")]:
        assert by_us(path, hours) == by_spark(spark, path, how), how
    assert by_us(path, 0, "lite") == by_spark(spark, path, "LITE RETAIN 0 HOURS")
    assert "nobody.parquet" in by_us(path, None)
    assert by_us(path, None) < by_us(path, 0)


@pytest.mark.parametrize("build", TABLES)
def test_delta_spark_reads_vacuumed_table(build: Any, spark: Any, made: Any, tmp_path: Path) -> None:
    path = made(build, tmp_path / "t")
    before = rows(spark, path)
    result = lb.Table(str(path)).vacuum(0, enforce_retention=False)
    assert rows(spark, path) == before
    assert by_spark(spark, path, "RETAIN 0 HOURS") == set()
    end, start = sql(spark, path, "DESCRIBE HISTORY TABLE_ LIMIT 2")
    assert (end["operation"], end["operationParameters"]) == ("VACUUM END", {"status": "COMPLETED"})
    parameters = {"retentionCheckEnabled": "false", "defaultRetentionMillis": "604800000", "specifiedRetentionMillis": "0"}
    assert (start["operation"], start["operationParameters"]) == ("VACUUM START", parameters)
    count, size = str(result.metrics.found_files), str(result.metrics.found_bytes)
    assert start["operationMetrics"] == {"numFilesToDelete": count, "sizeOfDataToDelete": size}
    assert end["operationMetrics"]["numDeletedFiles"] == count


def test_commits_say_what_delta_spark_says(spark: Any, made: Any, tmp_path: Path) -> None:
    """Compares all keys and the types of their values, without the writer, the time and the number
    of folders.
    """

    def shape(path: Path, version: int) -> Any:
        (line,) = (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()
        info = json.loads(line)["commitInfo"]
        for name in ("timestamp", "engineInfo", "txnId"):
            info.pop(name)
        for name in ("sizeOfDataToDelete", "numVacuumedDirectories"):
            info["operationMetrics"].pop(name, None)
        return list(info), info

    ours, theirs = made(plain, tmp_path / "ours"), made(plain, tmp_path / "theirs")
    for path in (ours, theirs):
        # Delta Spark counts folders among files. It takes this folder for empty.
        shutil.rmtree(path / "p=1")
    version = lb.Table(str(ours)).version
    lb.Table(str(ours)).vacuum(0, enforce_retention=False)
    sql(spark, theirs, "VACUUM TABLE_ RETAIN 0 HOURS")
    for step in (1, 2):
        names, info = shape(ours, version + step)
        their_names, their_info = shape(theirs, version + step)
        assert (names, info) == (their_names, their_info)


def test_each_goes_on_where_the_other_was(spark: Any, made: Any, tmp_path: Path) -> None:
    path = made(plain, tmp_path / "t")
    note = path / "_delta_log" / "_last_vacuum_info"

    def noted() -> Any:
        return json.loads(note.read_text()).get("latestCommitVersionOutsideOfRetentionWindow")

    lb.Table(str(path)).vacuum(0, mode="lite", enforce_retention=False)
    done = noted()
    assert done == 4
    assert by_spark(spark, path, "LITE RETAIN 0 HOURS") == set()
    sql(spark, path, "INSERT OVERWRITE TABLE_ SELECT 1L, 'x'")
    found = by_spark(spark, path, "LITE RETAIN 0 HOURS")
    assert len(found) == 1
    assert by_us(path, 0, "lite") == found
    sql(spark, path, "VACUUM TABLE_ LITE RETAIN 0 HOURS")
    assert noted() > done
    assert by_us(path, 0, "lite") == set()
    sql(spark, path, "INSERT OVERWRITE TABLE_ SELECT 2L, 'x'")
    assert len(by_us(path, 0, "lite")) == 1
    lb.Table(str(path)).vacuum(0, enforce_retention=False)
    assert by_spark(spark, path, "LITE RETAIN 0 HOURS") == set()
    assert rows(spark, path) == ["Row(id=2, p='x')"]
