"""The choice of the reader for a table: Spark's plan of the table, and the cases in which Spark's
own Parquet reader must not read.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frames
import lakebed as lb
import lakebed.spark as lbs
from corpus import canon
from corpus.oracle import Oracle

pytestmark = pytest.mark.spark

DAYS = [dt.date(2026, 1, day) for day in range(1, 7)]


@pytest.fixture
def session(spark: Any) -> Any:
    """A session with settings that a test may change."""
    return spark.newSession()


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> str:
    """600 rows in 6 partitions of one file each."""
    rows = {"id": range(600), "day": [DAYS[row % 6] for row in range(600)], "text": [f"{row:099}" for row in range(600)]}
    data = pa.table({"id": pa.array(rows["id"], pa.int64()), "day": rows["day"], "text": rows["text"]})
    path = str(tmp_path_factory.mktemp("sales") / "table")
    lb.write(path, data, partition_by=["day"])
    return path


def plan(found: Any) -> str:
    text: str = found._jdf.queryExecution().executedPlan().toString()
    return text


def size_bytes(found: Any) -> int:
    """Returns the size of a data frame in Spark's plan."""
    return int(found._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())


def files_read(found: Any) -> int:
    """Returns the number of files that the scans of a query opened."""
    found.collect()
    leaves = found._jdf.queryExecution().executedPlan().collectLeaves()
    metrics = [leaves.apply(at).metrics() for at in range(leaves.size())]
    return sum(found.apply("numFiles").value() for found in metrics if found.contains("numFiles"))


def add_actions(table: str) -> list[dict[str, Any]]:
    lines = (Path(table) / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    return [action for action in map(json.loads, lines) if "add" in action]


def edit_adds(table: str, change: Any) -> None:
    """Replaces each add of the first commit by the result of `change`."""
    log = Path(table) / "_delta_log"
    for checksum in log.glob("*.crc"):
        checksum.unlink()
    commit = log / f"{0:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    changed = [{"add": change(action["add"])} if "add" in action else action for action in actions]
    commit.write_text("".join(json.dumps(action) + "\n" for action in changed))


# Pruning and sizes in Spark's plan


def test_spark_prunes_columns_and_partitions_by_itself(spark: Any, sales: str) -> None:
    found = lbs.read(spark, sales).where("day >= DATE '2026-01-05' AND id < 300").select("id")
    text = plan(found)
    assert "PartitionFilters: [isnotnull(day" in text
    assert "PushedFilters: [IsNotNull(id), LessThan(id,300)]" in text
    assert "ReadSchema: struct<id:bigint>" in text
    assert files_read(found) == 2
    assert files_read(lbs.read(spark, sales)) == 6


def test_where_prunes_files_before_spark_sees_them(spark: Any, sales: str) -> None:
    assert files_read(lbs.read(spark, sales, where="day = DATE '2026-01-03'")) == 1
    assert lbs.explain(spark, sales, columns=["id"], where="day = DATE '2026-01-03'").lakebed_files == 1


def test_values_that_no_directory_says_are_constants(spark: Any, tmp_path: Path) -> None:
    """Spark would read timestamps in directory names in the zone of the session."""
    times = pa.array([0, 1, None, -62_135_596_800_000_000], pa.timestamp("us", tz="UTC"))
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2, 3, 4], "at": times}), partition_by=["at"]).table
    found = lbs.read(spark, table.uri)
    assert lbs.explain(spark, table.uri).spark_reads == 4
    assert frames.rows(found) == canon.rows(table.to_arrow())
    assert files_read(found.where("at = TIMESTAMP '1970-01-01 00:00:00.000001Z'")) == 1


def test_more_values_than_reads_go_through_lakebed(spark: Any, tmp_path: Path) -> None:
    data = pa.table({"id": range(20), "at": pa.array(range(20), pa.timestamp("us", tz="UTC"))})
    table = lb.write(tmp_path / "t", data, partition_by=["at"]).table
    explained = lbs.explain(spark, table.uri)
    assert (explained.spark_files, explained.lakebed_files) == (0, 20)
    assert "20 files: Spark would need more than 16 separate reads" in str(explained)
    assert frames.rows(lbs.read(spark, table.uri)) == canon.rows(table.to_arrow())
    # The files differ only in the partition column.
    assert lbs.explain(spark, table.uri, columns=["id"]).spark_reads == 1


@pytest.mark.parametrize("reader", ["spark", "lakebed"])
def test_planner_knows_size_of_table(session: Any, sales: str, reader: str) -> None:
    real = sum(lb.Table(sales).files()["size_bytes"].to_pylist())
    found = lbs.read(session, sales, reader=reader)
    assert real * 0.8 < size_bytes(found) <= real * 1.1
    share = size_bytes(lbs.read(session, sales, columns=["id"], reader=reader)) / size_bytes(found)
    assert 0.1 < share < 0.6
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", str(real // 2))
    session.conf.set("spark.sql.adaptive.enabled", "false")
    small = session.range(3).withColumnRenamed("id", "other")
    assert "BroadcastHashJoin [id" in plan(found.join(small, found.id == small.other))
    assert "SortMergeJoin" in plan(found.join(lbs.read(session, sales, reader=reader).withColumnRenamed("id", "other"), "day"))


def test_plans_name_table_without_options(spark: Any, sales: str) -> None:
    text = plan(lbs.read(spark, sales, reader="lakebed", storage_options={"allow_http": "true"}))
    assert "MapInArrow lakebed table version 0, 6 files(" in text
    assert "allow_http" not in text


def test_counts_limits_and_nothing_at_all(spark: Any, sales: str, tmp_path: Path) -> None:
    empty = lb.create(tmp_path / "empty", pa.schema([("id", pa.int64()), ("s", pa.string())])).uri
    for reader in ("auto", "lakebed"):
        found = lbs.read(spark, sales, reader=reader)
        assert found.count() == 600
        assert len(found.limit(5).collect()) == 5
        assert found.where("id > 1000").collect() == []
        assert lbs.read(spark, sales, where="id > 1000", reader=reader).count() == 0
        assert lbs.read(spark, sales, columns=[], reader=reader).count() == 600
        assert lbs.read(spark, empty, reader=reader).collect() == []
        assert lbs.read(spark, empty, reader=reader).dtypes == [("id", "bigint"), ("s", "string")]


def test_many_tasks_of_small_files(spark: Any, tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": range(50), "part": range(50)}), partition_by=["part"]).table
    assert lbs.explain(spark, table.uri, reader="lakebed", target_task_size=1).lakebed_tasks == 50
    found = lbs.read(spark, table.uri, reader="lakebed", target_task_size=1)
    assert found.rdd.getNumPartitions() == 50
    assert frames.rows(found) == canon.rows(table.to_arrow())


# Deletion vectors


def test_deleted_rows_are_joined_out(spark: Any, corpus_by_name: dict[str, Oracle]) -> None:
    oracle = corpus_by_name["positions_over_many_row_groups"]
    found = lbs.read(spark, oracle.path)
    assert lbs.explain(spark, oracle.path).reasons == {}
    assert re.search(r"BroadcastHashJoin .* LeftAnti", plan(found))
    assert "deletion vectors of 1 files" in plan(found)
    rows = oracle.rows(oracle.latest)
    for condition, positions in oracle.conditions(oracle.latest).items():
        assert frames.lost_and_gained(frames.rows(found.where(condition)), [rows[at] for at in positions]) == "", condition


def test_files_of_one_size_with_deletion_vectors(spark: Any, corpus_by_name: dict[str, Oracle], tmp_path: Path) -> None:
    """The reader finds the deletion vector of a row by the size of its file, so files of the same
    size are read separately.
    """
    oracle = corpus_by_name["inline"]
    root = Path(shutil.copytree(oracle.path, tmp_path / "t"))
    table = lb.Table(root)
    with_vector = [file["path"] for file in table.files().to_pylist() if file["deleted_records"]]
    assert len(with_vector) == 2
    # A reader finds a Parquet footer from the end of the file, so bytes before it do no harm.
    sizes = {path: (root / path).stat().st_size for path in with_vector}
    longest = max(sizes.values())
    for path, size in sizes.items():
        content = (root / path).read_bytes()
        footer = size - 8 - int.from_bytes(content[-8:-4], "little")
        (root / path).write_bytes(content[:footer] + b"\0" * (longest - size) + content[footer:])
        for commit in (root / "_delta_log").glob("0*.json"):
            commit.write_text(commit.read_text().replace(f'"size":{size}', f'"size":{longest}'))
    for checksum in [*root.rglob(".*.crc"), *root.rglob("*.crc")]:
        checksum.unlink(missing_ok=True)
    assert lbs.explain(spark, root).spark_reads >= 2
    assert frames.lost_and_gained(frames.rows(lbs.read(spark, root)), oracle.rows(oracle.latest)) == ""


# Files that Spark's reader does not read

NAMES = {
    "plain.parquet": "spark",
    "a{b}*[c]?.parquet": "spark",
    "a b%20c.parquet": "spark",
    "ü日.parquet": "spark",
    "a=b,c.parquet": "spark",
    "a\\b\n.parquet": "spark",
    "x.parquet.gz": "spark",
    "_hidden.parquet": "lakebed",
    "_metadata": "lakebed",
    ".hidden.parquet": "lakebed",
    "x._COPYING_": "lakebed",
    "a:b.parquet": "lakebed",
    "_dir/.other/plain.parquet": "spark",
    "a=1/b={2}/plain.parquet": "spark",
}


@pytest.mark.parametrize(("name", "reader"), NAMES.items())
def test_names_of_files(spark: Any, tmp_path: Path, name: str, reader: str) -> None:
    from urllib.parse import quote

    table = lb.write(tmp_path / "odd {folder}* %41" / "t", pa.table({"id": [1, 2, 3]})).table
    root = tmp_path / "odd {folder}* %41" / "t"

    def renamed(add: dict[str, Any]) -> dict[str, Any]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / add["path"]).rename(root / name)
        return {**add, "path": quote(name)}

    edit_adds(str(root), renamed)
    explained = lbs.explain(spark, table.uri)
    assert ("spark" if explained.spark_files else "lakebed") == reader
    assert sorted(row.id for row in lbs.read(spark, table.uri).collect()) == [1, 2, 3]


def test_directories_that_lie(spark: Any, tmp_path: Path) -> None:
    """Partition values come from the log, whatever directory names say."""
    data = pa.table({"id": [1, 2, 3], "part": ["a", "b", None]})
    table = lb.write(tmp_path / "t", data, partition_by=["part"]).table

    def lie(add: dict[str, Any]) -> dict[str, Any]:
        return {
            **add,
            "partitionValues": {
                "part": {"a": "b", "b": "__HIVE_DEFAULT_PARTITION__", None: "1e3"}[add["partitionValues"]["part"]]
            },
        }

    edit_adds(str(tmp_path / "t"), lie)
    for reader in ("auto", "lakebed"):
        found = lbs.read(spark, table.uri, reader=reader)
        assert {row.id: row.part for row in found.collect()} == {1: "b", 2: "__HIVE_DEFAULT_PARTITION__", 3: "1e3"}
        assert [row.id for row in found.where("part = 'b'").collect()] == [1]


def test_paths_out_of_the_table_need_leave(spark: Any, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": [666]}), other)
    for path in (other.as_uri(), str(other), "../other.parquet", "%2e%2e/other.parquet"):
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        table = lb.write(tmp_path / "t", pa.table({"id": [1]})).table
        size = other.stat().st_size
        edit_adds(str(tmp_path / "t"), lambda add, path=path, size=size: {**add, "path": path, "size": size})
        with pytest.raises(Exception, match=r"outside|leads out|leave|InvalidInputError|CorruptTableError"):
            lbs.read(spark, table.uri).collect()


def lose(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("damage", [lose, empty, cut])
def test_damaged_files_fail_in_any_settings(session: Any, tmp_path: Path, damage: Any) -> None:
    session.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    session.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    root = tmp_path / "t"
    table = lb.write(root, pa.table({"id": range(10), "part": [row % 2 for row in range(10)]}), partition_by=["part"]).table
    victim = lb.Table(root).files()["path"][0].as_py()
    damage(root / victim)
    with pytest.raises(Exception, match=re.escape(os.path.basename(victim))) as error:
        lbs.read(session, table.uri).collect()
    assert re.search("lakebed.errors.(StoreError|CorruptTableError|TableNotFoundError)", str(error.value))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.parquet.int96TimestampConversion", "true"),
        ("spark.sql.parquet.recordLevelFilter.enabled", "true"),
        ("spark.sql.sources.useV1SourceList", "csv"),
        ("spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing", "true"),
    ],
)
def test_harmful_settings_choose_lakebed_reader(
    session: Any, corpus_by_name: dict[str, Oracle], setting: str, value: str
) -> None:
    session.conf.set(setting, value)
    for name in ("names_in_other_cases", "int96_timestamps", "nested_fields_added", "doubles"):
        oracle = corpus_by_name[name]
        explained = lbs.explain(session, oracle.path)
        if "Struct" not in setting or name == "nested_fields_added":
            assert explained.spark_files == 0
            assert list(explained.reasons) == [f"{setting} is {value}" if value != "csv" else f"{setting} lacks parquet"]
        assert frames.lost_and_gained(frames.rows(lbs.read(session, oracle.path)), oracle.rows(oracle.latest)) == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.parquet.mergeSchema": "true", "spark.sql.parquet.fieldId.read.enabled": "true"},
        {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY", "spark.sql.parquet.int96RebaseModeInRead": "LEGACY"},
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.parquet.enableNestedColumnVectorizedReader": "false", "spark.sql.parquet.columnarReaderBatchSize": "3"},
        {"spark.sql.session.timeZone": "America/St_Johns", "spark.sql.timestampType": "TIMESTAMP_NTZ"},
        {"spark.sql.files.maxPartitionBytes": "100", "spark.sql.files.openCostInBytes": "1"},
        {"spark.sql.sources.parallelPartitionDiscovery.threshold": "0"},
        {"spark.sql.execution.arrow.maxRecordsPerBatch": "2", "spark.sql.execution.arrow.useLargeVarTypes": "true"},
        {"spark.sql.ansi.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"},
    ],
    ids=lambda settings: "_".join(name.rpartition(".")[2] for name in settings),
)
def test_other_settings_change_nothing(session: Any, corpus_by_name: dict[str, Oracle], settings: dict[str, str]) -> None:
    for name, value in settings.items():
        session.conf.set(name, value)
    names = [
        "all_in_all",
        "legacy_calendar",
        "mapped_with_deletion_vectors",
        "chars_compared",
        "timestamps_ntz",
        "pages_of_version_2",
    ]
    for name in [*names, "partitioned_by_timestamp", "shredded_variants", "widened_from_int", "void_inside_a_struct"]:
        oracle = corpus_by_name[name]
        for reader in ("auto", "lakebed"):
            found = frames.rows(lbs.read(session, oracle.path, reader=reader))
            assert frames.lost_and_gained(found, oracle.rows(oracle.latest)) == "", (name, reader)


def test_where_means_the_same_in_every_session(session: Any, tmp_path: Path) -> None:
    at = pa.array([1_700_000_000_000_000, 1_700_003_600_000_000], pa.timestamp("us", tz="UTC"))
    table = lb.write(tmp_path / "t", pa.table({"id": [1, 2], "at": at, "s": ["a\\nb", "x"]})).table
    for settings in (
        {},
        {"spark.sql.session.timeZone": "America/St_Johns"},
        {"spark.sql.parser.escapedStringLiterals": "true"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.ansi.doubleQuotedIdentifiers": "true"},
    ):
        for name, value in settings.items():
            session.conf.set(name, value)
        for reader in ("auto", "lakebed"):
            found = [
                [row.id for row in lbs.read(session, table.uri, where=condition, reader=reader).collect()]
                for condition in ("at >= '2023-11-14 23:00:00'", "s = 'a\\\\nb'", "at < current_timestamp()", '"x" = s')
            ]
            assert found == [[2], [1], [1, 2], [2]], (settings, reader)
        for name in settings:
            session.conf.unset(name)


@pytest.mark.parametrize("reader", ["auto", "lakebed"])
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_nan_outside_statistics_is_greatest(spark: Any, tmp_path: Path, kind: pa.DataType, reader: str) -> None:
    x = pa.array([1.0, float("nan")], kind)
    table = lb.write(
        tmp_path / "t", pa.table({"id": [1, 2], "x": x, "s": pa.array([{"y": y} for y in x], pa.struct([("y", kind)]))})
    ).table
    found = lbs.read(spark, table.uri, reader=reader)
    assert reader == "lakebed" or lbs.explain(spark, table.uri).spark_files == 1
    for column in ("x", "s.y"):
        for condition in ("{} > 5", "{} >= 5", "{} = double('NaN')", "NOT ({} <= 5)", "{} IN (7, double('NaN'))"):
            condition = condition.format(column)
            assert [row.id for row in found.where(condition).collect()] == [2], condition


def test_required_reader_reads_or_fails(spark: Any, sales: str, corpus_by_name: dict[str, Oracle]) -> None:
    assert lbs.explain(spark, sales, reader="lakebed").reasons == {"reader='lakebed'": 6}
    both = {"columns": ["id"], "where": "id < 7"}
    assert lbs.explain(spark, sales, **both).spark_files == 0
    assert lbs.explain(spark, sales, reader="spark", **both).spark_files == 6
    assert lbs.read(spark, sales, reader="spark", **both).count() == 7
    with pytest.raises(lb.InvalidInputError, match="mapping mode is id"):
        lbs.read(spark, corpus_by_name["mapped_by_id"].path, reader="spark")


# Errors and secrets


def test_an_error_of_a_task_arrives_whole(spark: Any, tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": range(10)})).table
    file = tmp_path / "t" / table.files()["path"][0].as_py()
    file.write_bytes(b"x" * file.stat().st_size)
    with pytest.raises(Exception, match="lakebed.errors.CorruptTableError: .*" + re.escape(file.name)):
        lbs.read(spark, table.uri, reader="lakebed").collect()


@pytest.mark.parametrize(
    "key", ["aws_secret_access_key", "AWS_SESSION_TOKEN", "azure_storage_sas_key", "google_service_account_key"]
)
def test_secrets_are_refused_before_anything_runs(spark: Any, key: str) -> None:
    with pytest.raises(lb.InvalidInputError, match="credentials=") as error:
        lbs.read(spark, "s3://nowhere/t", storage_options={key: "hush", "region": "eu"})
    assert key in str(error.value)
    assert "hush" not in str(error.value)


def test_memory_table_is_refused(spark: Any) -> None:
    lb.write("memory://spark/t", pa.table({"id": [1]}))
    with pytest.raises(lb.InvalidInputError, match="memory"):
        lbs.read(spark, "memory://spark/t")
