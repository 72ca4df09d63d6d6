"""Streams from and to lakebed's tables. Delta Spark's source and lakebed's source return the same
rows, and a repeated batch is written once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import lakebed as lb
import lakebed.spark as lbs

pytestmark = pytest.mark.spark

Rows = list[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def registered(spark: Any) -> None:
    lbs.register(spark)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def changed_table(spark: Any, path: str, *, vectors: bool, feed: bool = False) -> None:
    """Creates a table: version 0 creates it, 1 and 2 insert, 3 updates a row, 4 deletes a row, 5
    deletes a whole file, 6 inserts.
    """
    properties = f"'delta.enableDeletionVectors' = '{vectors}', 'delta.enableChangeDataFeed' = '{feed}'"
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, name STRING) USING delta TBLPROPERTIES ({properties})")
    for statement in (
        f"INSERT INTO delta.`{path}` SELECT id, 'first' FROM range(0, 4, 1, 1)",
        f"INSERT INTO delta.`{path}` SELECT id, 'second' FROM range(10, 13, 1, 1)",
        f"UPDATE delta.`{path}` SET name = 'new' WHERE id = 1",
        f"DELETE FROM delta.`{path}` WHERE id = 2",
        f"DELETE FROM delta.`{path}` WHERE name = 'second'",
        f"INSERT INTO delta.`{path}` VALUES (20, 'last')",
    ):
        spark.sql(statement)


def streamed(spark: Any, source: str, path: str, checkpoint: Path, **options: str) -> tuple[list[Rows], str | None]:
    """Returns the batches of a stream until now, each sorted, and the error of the stream."""
    batches: list[Rows] = []

    def keep(batch: Any, number: int) -> None:
        batches.append(sorted((tuple(row) for row in batch.collect()), key=repr))

    rows = spark.readStream.format(source).options(**options).load(path)
    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception as failed:
        return batches, str(failed)
    return batches, None


OPTIONS: dict[str, dict[str, str]] = {
    "plain": {},
    "ignoreChanges": {"ignoreChanges": "true"},
    "ignoreDeletes": {"ignoreDeletes": "true"},
    "skipChangeCommits": {"skipChangeCommits": "true"},
    "startingVersion": {"startingVersion": "1", "ignoreChanges": "true"},
    "startingVersion in small batches": {"startingVersion": "1", "ignoreChanges": "true", "maxFilesPerTrigger": "1"},
}


@pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_stream_batches_equal_delta_spark(spark: Any, path: str, tmp_path: Path, vectors: bool, options: dict[str, str]) -> None:
    changed_table(spark, path, vectors=vectors)
    if "startingVersion" not in options:
        # The stream reads the first snapshot and then commits, because it begins before the table
        # changes.
        fresh = str(tmp_path / "fresh")
        spark.sql(
            f"CREATE TABLE delta.`{fresh}` (id BIGINT, name STRING) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
        )
        spark.sql(f"INSERT INTO delta.`{fresh}` SELECT id, 'first' FROM range(0, 4, 1, 1)")
        for source in ("delta", "lakebed"):
            first, failed = streamed(spark, source, fresh, tmp_path / source, **options)
            assert (first, failed) == ([[(id, "first") for id in range(4)]], None)
        spark.sql(f"INSERT INTO delta.`{fresh}` SELECT id, 'second' FROM range(10, 13, 1, 1)")
        spark.sql(f"UPDATE delta.`{fresh}` SET name = 'new' WHERE id = 1")
        spark.sql(f"DELETE FROM delta.`{fresh}` WHERE id = 2")
        path = fresh
    theirs, their_failure = streamed(spark, "delta", path, tmp_path / "delta", **options)
    ours, our_failure = streamed(spark, "lakebed", path, tmp_path / "lakebed", **options)
    assert ours == theirs
    assert (our_failure is None) == (their_failure is None), (our_failure, their_failure)
    if our_failure is not None:
        assert "skipChangeCommits" in our_failure, "the error tells what to do"


@pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])
def test_stream_changes_equal_delta_spark(spark: Any, path: str, tmp_path: Path, vectors: bool) -> None:
    changed_table(spark, path, vectors=vectors, feed=True)
    options = {"readChangeFeed": "true", "startingVersion": "1"}
    theirs, _ = streamed(spark, "delta", path, tmp_path / "delta", **options)
    ours, failed = streamed(spark, "lakebed", path, tmp_path / "lakebed", **options)
    assert failed is None
    assert sorted(chain.from_iterable(ours), key=repr) == sorted(chain.from_iterable(theirs), key=repr)
    kinds = [row[2] for row in chain.from_iterable(ours)]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "insert": 8,
        "update_preimage": 1,
        "update_postimage": 1,
        "delete": 4,
    }


def test_schemas_are_tracked_as_by_delta_spark(spark: Any, path: str, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, name STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    found: dict[str, list[tuple[list[str], Rows]]] = {"delta": [], "lakebed": []}

    def run(source: str) -> str | None:
        """Runs the stream until now, or until it stops."""

        def keep(batch: Any, number: int) -> None:
            rows = sorted(tuple(row) for row in batch.collect())
            if rows:
                found[source].append((batch.columns, rows))

        checkpoint = tmp_path / source
        options = {"schemaTrackingLocation": f"{checkpoint}/_schema"}
        options |= {"allowSourceColumnRename": "always", "allowSourceColumnDrop": "always"}
        try:
            rows = spark.readStream.format(source).options(**options).load(path)
            writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
            writer.trigger(availableNow=True).start().awaitTermination()
        except Exception as failed:
            return str(failed)
        return None

    def run_all() -> None:
        """Restarts each stream. A schema change stops a stream, and it continues when it is started
        again.
        """
        for source in found:
            failures = []
            while (failed := run(source)) is not None:
                failures.append(failed)
                assert len(failures) < 10, failures[-1]

    statements = [
        "INSERT INTO {t} VALUES (1, 'a')",
        "ALTER TABLE {t} RENAME COLUMN name TO label",
        "INSERT INTO {t} VALUES (2, 'b')",
        "ALTER TABLE {t} ADD COLUMN more INT",
        "INSERT INTO {t} VALUES (3, 'c', 3)",
        "ALTER TABLE {t} DROP COLUMN label",
        "INSERT INTO {t} VALUES (4, 4)",
    ]
    for statement in statements:
        spark.sql(statement.format(t=f"delta.`{path}`"))
        if statement.startswith("INSERT INTO {t} VALUES (1") or statement.startswith("INSERT INTO {t} VALUES (3"):
            run_all()
    run_all()
    assert found["lakebed"] == found["delta"]
    assert found["lakebed"] == [
        (["id", "name"], [(1, "a")]),
        (["id", "label"], [(2, "b")]),
        (["id", "label", "more"], [(3, "c", 3)]),
        (["id", "more"], [(4, 4)]),
    ]


def test_batches_hold_so_many_files(spark: Any, path: str, tmp_path: Path) -> None:
    for number in range(5):
        lbs.write(spark.range(number * 10, number * 10 + 10, 1, 1), path)
    batches, _ = streamed(spark, "lakebed", path, tmp_path / "c", maxFilesPerTrigger="2")
    assert [len(batch) for batch in batches] == [20, 20, 10]
    assert sorted(chain.from_iterable(batches)) == [(id,) for id in range(50)]
    again, _ = streamed(spark, "lakebed", path, tmp_path / "c", maxFilesPerTrigger="2")
    assert again == []


def copy(
    spark: Any, source: str, target: str, checkpoint: Path, mode: str = "append", prepare: Callable[[Any], Any] = lambda df: df
) -> None:
    rows = prepare(spark.readStream.format("lakebed").option("skipChangeCommits", "true").load(source))
    writer = rows.writeStream.format("lakebed").outputMode(mode).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start(target).awaitTermination()


def ids(path: str) -> list[int]:
    return sorted(lb.Table(path).to_arrow(["id"]).column("id").to_pylist())


def test_repeated_batch_is_written_once(spark: Any, path: str, tmp_path: Path) -> None:
    target, checkpoint = str(tmp_path / "copy"), tmp_path / "checkpoint"
    lbs.write(spark.range(0, 5), path)
    copy(spark, path, target, checkpoint)
    lbs.write(spark.range(5, 9), path)
    copy(spark, path, target, checkpoint)
    assert ids(target) == list(range(9))
    # This simulates that Spark ended after the table's commit and before its own.
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    lbs.write(spark.range(9, 11), path)
    copy(spark, path, target, checkpoint)
    assert ids(target) == list(range(11))
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    log = [
        json.loads(line) for found in sorted(Path(target, "_delta_log").glob("*.json")) for line in found.read_text().splitlines()
    ]
    done = [(line["txn"]["appId"], line["txn"]["version"]) for line in log if "txn" in line and "/" not in line["txn"]["appId"]]
    assert done == [(query_id, 0), (query_id, 1), (query_id, 2)]


def test_complete_results_replace_those_before(spark: Any, path: str, tmp_path: Path) -> None:
    target = str(tmp_path / "sums")

    def sums(df: Any) -> Any:
        return df.groupBy((df.id % 2).alias("id")).count()

    for first in (0, 10):
        lbs.write(spark.range(first, first + 10), path)
        copy(spark, path, target, tmp_path / "checkpoint", "complete", sums)
    assert lb.Table(target).to_arrow().sort_by("id").to_pylist() == [{"id": 0, "count": 10}, {"id": 1, "count": 10}]


def test_foreach_batch_writes_each_batch_once(spark: Any, path: str, tmp_path: Path) -> None:
    write = lbs.foreach_batch(path, app_id="copy")
    for number in (0, 1, 1, 2):
        write(spark.range(number, number + 1), number)
    assert (ids(path), lb.Table(path).transaction_version("copy")) == ([0, 1, 2], 2)


def test_checkpoint_older_than_table_is_refused(spark: Any, path: str, tmp_path: Path) -> None:
    target, checkpoint, kept = str(tmp_path / "copy"), tmp_path / "checkpoint", tmp_path / "kept"
    for number in range(3):
        lbs.write(spark.range(number, number + 1), path)
        if number == 1:
            shutil.copytree(checkpoint, kept)
        copy(spark, path, target, checkpoint)
    shutil.rmtree(checkpoint)
    kept.rename(checkpoint)
    with pytest.raises(Exception, match=r"batch 1 of stream .* the table has batch 2 of the stream.*with a new checkpoint"):
        copy(spark, path, target, checkpoint)
    assert ids(target) == [0, 1, 2]
    assert len(list(Path(target).glob("*.parquet"))) == 3, "what was written for it is deleted"


def test_later_commits_do_not_fail_run(spark: Any, path: str, tmp_path: Path) -> None:
    lbs.write(spark.range(0, 2, 1, 1), path)
    seen: list[list[int]] = []

    def keep(batch: Any, number: int) -> None:
        seen.append(sorted(row.id for row in batch.collect()))
        if number == 0:
            spark.sql(f"DELETE FROM delta.`{path}`")

    lbs.write(spark.range(2, 3, 1, 1), path)
    rows = spark.readStream.format("lakebed").options(startingVersion="0", maxFilesPerTrigger="1").load(path)
    query = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    query.start().awaitTermination()
    assert seen == [[0, 1], [2]]


def test_change_stream_resumes_into_table(spark: Any, path: str, tmp_path: Path) -> None:
    target, checkpoint = str(tmp_path / "copy"), tmp_path / "checkpoint"

    def follow_changes() -> None:
        options = {"readChangeFeed": "true", "startingVersion": "0"}
        rows = spark.readStream.format("lakebed").options(**options).load(path).withColumnRenamed("_change_type", "change")
        rows = rows.withColumnsRenamed({"_commit_version": "version", "_commit_timestamp": "at"})
        writer = rows.writeStream.format("lakebed").option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start(target).awaitTermination()

    table = lb.write(path, [{"id": id, "v": "a"} for id in range(4)], properties={"delta.enableChangeDataFeed": True}).table
    follow_changes()
    table = table.update({"v": "'b'"}, where="id = 1").table
    follow_changes()
    table = table.delete("id = 2").table
    # This simulates that Spark ended after the table's commit and before its own.
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    follow_changes()
    table.upsert([{"id": 3, "v": "c"}, {"id": 9, "v": "c"}], "id")
    follow_changes()
    columns = ["id", "v", "change", "version"]
    found = lb.Table(target).to_arrow(columns).to_pydict()
    expected = lb.Table(path).changes(0).to_arrow().rename_columns({"_change_type": "change", "_commit_version": "version"})
    by_column = expected.to_pydict()
    assert sorted(zip(*(found[name] for name in columns), strict=True)) == sorted(
        zip(*(by_column[name] for name in columns), strict=True)
    )
    assert len(found["id"]) == 4 + 2 + 1 + 3


def test_stream_batches_get_distinct_identities(spark: Any, path: str, tmp_path: Path) -> None:
    targets = [str(tmp_path / name) for name in ("by_sink", "by_function")]
    for target in targets:
        spark.sql(
            f"CREATE TABLE delta.`{target}` (n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), id BIGINT) USING delta"
        )
    write_batch = lbs.foreach_batch(targets[1], app_id="app")
    for first in (0, 50, 100):
        lbs.write(spark.range(first, first + 50, 1, 3), path)
        copy(spark, path, targets[0], tmp_path / "a")
        rows = spark.readStream.format("lakebed").load(path).repartition(3)
        writer = rows.writeStream.foreachBatch(write_batch).option("checkpointLocation", str(tmp_path / "b"))
        writer.trigger(availableNow=True).start().awaitTermination()
    for target in targets:
        found = lb.Table(target).to_arrow().to_pydict()
        assert sorted(found["id"]) == list(range(150))
        assert len(set(found["n"])) == 150
        assert all(number >= 10 and number % 5 == 0 for number in found["n"])


def follow(spark: Any, path: str, checkpoint: Path, options: dict[str, str]) -> None:
    rows = spark.readStream.format("lakebed").options(**options).load(path)
    rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start().processAllAvailable()


def test_unknown_stream_option_is_named(spark: Any, path: str, tmp_path: Path) -> None:
    lbs.write(spark.range(1), path)
    for options, said in [
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger=0"),
        ({"startingVersion": "latest", "startingTimestamp": "2026-01-01"}, "not both"),
        ({"where": "id > 1"}, "does not know these options for a stream: where"),
    ]:
        with pytest.raises(Exception, match=said):
            follow(spark, path, tmp_path / "c", options)


def test_stream_after_schema_change_asks_restart(spark: Any, path: str, tmp_path: Path) -> None:
    lbs.write(spark.range(1), path)
    rows = spark.readStream.format("lakebed").load(path)
    lbs.write(spark.range(1).selectExpr("id", "'x' AS more"), path, schema_mode="merge")
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(Exception, match="Define the stream again"):
        query.processAllAvailable()
    batches, failed = streamed(spark, "lakebed", path, tmp_path / "c")
    assert (sorted(chain.from_iterable(batches), key=repr), failed) == ([(0, "x"), (0, None)], None)


@pytest.mark.parametrize("source", ["delta", "lakebed"])
def test_windows_come_once_update_mode_refused(spark: Any, path: str, tmp_path: Path, source: str) -> None:
    def hours(df: Any) -> Any:
        late = df.withWatermark("at", "10 minutes").groupBy(F.window("at", "1 hour")).agg(F.sum("n").alias("n"))
        return late.select(F.date_format("window.start", "HH:mm").alias("hour"), "n")

    def through(mode: str) -> None:
        rows = hours(spark.readStream.format(source).load(path))
        writer = rows.writeStream.format("lakebed").outputMode(mode).option("checkpointLocation", f"{tmp_path}/{mode}")
        writer.trigger(availableNow=True).start(f"{tmp_path}/sink").awaitTermination()

    # The row of 01:45 comes after a row of 02:00 and is not too late. The window of 05:00 is still
    # open at the end.
    for batch in ([("01:00", 1), ("01:30", 2)], [("02:00", 10), ("01:45", 4)], [("05:00", 100)]):
        rows = spark.createDataFrame(batch, "at string, n bigint")
        lbs.write(rows.select(F.concat(F.lit("2026-01-01 "), "at").cast("timestamp").alias("at"), "n"), path)
        through("append")
    found = lb.Table(tmp_path / "sink").to_arrow().sort_by("hour").to_pylist()
    assert found == [{"hour": "01:00", "n": 7}, {"hour": "02:00", "n": 10}]
    with pytest.raises(Exception, match="does not support Update mode"):
        through("update")
