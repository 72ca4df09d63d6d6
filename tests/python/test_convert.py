"""Conversions of Parquet folders: the table beside Delta Spark's, and the folders that are refused."""

from __future__ import annotations

import datetime
import json
import math
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb
from stores.gateway import S3
from test_clone import of_kind
from writes import read

ROWS = pa.table({"id": pa.array([1, 2, 3, 4], pa.int64()), "a": ["1", "1", "2", None], "b": ["x y", "é=/%", "x y", "x y"]})


def folder(path: Path, table: pa.Table = ROWS, columns: tuple[str, ...] = ("a", "b")) -> Path:
    pq.write_to_dataset(table, path, partition_cols=list(columns))
    return path


def stats(path: Path) -> dict[str, Any]:
    """Returns the statistics of the only file."""
    [add] = of_kind(path, 0, "add")
    found: dict[str, Any] = json.loads(add["stats"])
    return found


def test_convert_keeps_rows_and_files(tmp_path: Path) -> None:
    path = folder(tmp_path / "a folder %25")
    before = sorted(file for file in path.rglob("*") if file.is_file())
    result = lb.convert(path, partition_schema={"a": "int", "b": "STRING"}, properties={"user.key": "x"}, user_metadata="why")
    assert (result.version, result.committed, result.partition_columns) == (0, True, ("a", "b"))
    assert (result.metrics.converted_files, result.metrics.rows) == (4, 4)
    assert result.metrics.converted_bytes == sum(file.stat().st_size for file in before)
    assert result.files == tuple(sorted(str(file.relative_to(path)) for file in before))
    assert sorted(file for file in path.rglob("*") if file.is_file() and "_delta_log" not in str(file)) == before
    assert result.schema == pa.schema([("id", pa.int64()), ("a", pa.int32()), ("b", pa.string())])
    table = lb.Table(path)
    assert sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "a": 1, "b": "x y"},
        {"id": 2, "a": 1, "b": "é=/%"},
        {"id": 3, "a": 2, "b": "x y"},
        {"id": 4, "a": None, "b": "x y"},
    ]
    assert table.count("b = 'é=/%'") == 1
    [entry] = table.history()
    assert (entry.operation, entry.metrics, entry.user_metadata) == ("CONVERT", {"numConvertedFiles": "4"}, "why")
    assert entry.parameters == {"numFiles": "4", "partitionedBy": '["a","b"]', "collectStats": "true", "sourceFormat": "parquet"}
    # The table goes on as any other.
    assert table.append(pa.table({"id": [5], "a": pa.array([7], pa.int32()), "b": ["n"]})).table.count() == 5
    assert table.refresh().delete("id = 1").table.count() == 4


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = folder(tmp_path / "t")
    result = lb.convert(path, partition_schema=pa.schema([("a", pa.int64()), ("b", pa.string())]), dry_run=True)
    assert (result.table, result.version, result.committed, len(result.files)) == (None, None, False, 4)
    assert result.schema == pa.schema([("id", pa.int64()), ("a", pa.int64()), ("b", pa.string())])
    assert not (path / "_delta_log").exists()


def test_convert_tells_its_progress(tmp_path: Path) -> None:
    seen: list[lb.FileProgress] = []
    result = lb.convert(folder(tmp_path / "t"), partition_schema={"a": "int", "b": "string"}, progress=seen.append)
    assert (seen[0].done_files, seen[-1].done_files, seen[-1].total_files) == (0, 4, 4)
    assert seen[-1].done_bytes == result.metrics.converted_bytes


def check_refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(lb.InvalidInputError) as caught:
        lb.convert(path, **options)
    assert message in str(caught.value)
    assert not lb.exists(path)


def test_partition_types_are_not_guessed(tmp_path: Path) -> None:
    path = folder(
        tmp_path / "t", pa.table({"id": [1, 2], "zip": ["01234", "99999"], "day": ["2024-01-01", "2024-01-02"]}), ("zip", "day")
    )
    check_refused(
        path,
        "the folders have partition columns, and their types are not known: pass partition_schema. By the names of the folders "
        'it may be {"zip": "string", "day": "date"}',
    )
    check_refused(path, "the partition columns zip, day, but partition_schema has zip", partition_schema={"zip": "string"})
    check_refused(
        path,
        "the partition columns zip, day, but partition_schema has day, zip",
        partition_schema={"day": "date", "zip": "string"},
    )
    check_refused(path, "partition column day: ", partition_schema={"zip": "string", "day": "int"})
    check_refused(path, 'column zip: type "number": at character 1', partition_schema={"zip": "number", "day": "date"})
    for wrong in (3, {"zip": 3}):
        with pytest.raises(TypeError):
            lb.convert(path, partition_schema=wrong)  # type: ignore[arg-type]
    table = lb.convert(path, partition_schema={"zip": "string", "day": "date"}).table
    assert table is not None
    assert table.to_arrow().sort_by("id")["zip"].to_pylist() == ["01234", "99999"]
    assert table.count("day = DATE '2024-01-02'") == 1


def test_folders_that_are_no_tables(tmp_path: Path) -> None:
    check_refused(tmp_path / "missing", "there is no Parquet file in this folder, so there is nothing to convert")
    (tmp_path / "empty" / "_SUCCESS").mkdir(parents=True)
    check_refused(tmp_path / "empty", "there is no Parquet file in this folder, so there is nothing to convert")
    text = tmp_path / "text"
    text.mkdir()
    pq.write_table(ROWS, text / "a.parquet")
    (text / "notes.csv").write_text("id\n1\n")
    check_refused(text, "notes.csv: this is not a Parquet file")
    (text / "notes.csv").rename(text / "_notes.csv")
    assert lb.convert(text).metrics.rows == 4
    outer = tmp_path / "outer"
    lb.write(outer / "inner", ROWS)
    check_refused(outer, "this is the log of a Delta table inside of the folder")
    links = tmp_path / "links"
    links.mkdir()
    (links / "a.parquet").symlink_to(text / "a.parquet")
    check_refused(links, "there are symbolic links in this folder")


def test_existing_table_is_left_alone(tmp_path: Path) -> None:
    lb.write(tmp_path / "t", ROWS)
    with pytest.raises(lb.TableExistsError, match="a table exists already"):
        lb.convert(tmp_path / "t")
    result = lb.convert(tmp_path / "t", mode="ignore")
    assert (result.version, result.committed, result.table is not None) == (0, False, True)
    with pytest.raises(lb.InvalidInputError, match="mode"):
        lb.convert(tmp_path / "t", mode="replace")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="nonsense"):
        lb.convert(tmp_path / "t", nonsense=1)  # type: ignore[call-arg]


def test_hidden_names_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for name in ["a.parquet", "sub/b.parquet", "_tmp/c.parquet", ".hidden/d.parquet", "sub/_e.parquet", "sub/.f.parquet"]:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [1]}), path / name)
    assert lb.convert(path).files == ("a.parquet", "sub/b.parquet")
    odd = folder(tmp_path / "odd", pa.table({"id": [1], "_p": ["x"]}), ("_p",))
    assert lb.convert(odd, partition_schema={"_p": "string"}).metrics.rows == 1


def test_schemas_are_merged_and_widened(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.mkdir()
    struct = pa.struct([("x", pa.int32())])
    pq.write_table(
        pa.table({"id": pa.array([1], pa.int64()), "n": pa.array([1], pa.int32()), "s": pa.array([{"x": 1}], struct)}),
        path / "1.parquet",
    )
    wide = pa.struct([("x", pa.int64()), ("y", pa.string())])
    pq.write_table(
        pa.table(
            {
                "id": pa.array([2], pa.int32()),
                "n": pa.array([2], pa.int64()),
                "s": pa.array([{"x": 2, "y": "y"}], wide),
                "new": ["z"],
            }
        ),
        path / "2.parquet",
    )
    result = lb.convert(path)
    table = result.table
    assert table is not None
    assert result.schema == pa.schema([("id", pa.int64()), ("n", pa.int64()), ("s", wide), ("new", pa.string())])
    assert table.properties == {"delta.enableTypeWidening": "true"}
    rows = table.to_arrow().sort_by("id").to_pylist()
    assert rows == [
        {"id": 1, "n": 1, "s": {"x": 1, "y": None}, "new": None},
        {"id": 2, "n": 2, "s": {"x": 2, "y": "y"}, "new": "z"},
    ]
    [meta] = of_kind(path, 0, "metaData")
    fields = {field["name"]: field for field in json.loads(meta["schemaString"])["fields"]}
    change = [{"toType": "long", "fromType": "integer"}]
    assert [fields[name]["metadata"].get("delta.typeChanges") for name in ("id", "n", "new")] == [change, change, None]
    assert fields["s"]["type"]["fields"][0]["metadata"] == {"delta.typeChanges": change}
    assert table.count("n = 2") == table.count("s.x = 1") == 1


def test_types_that_conflict_name_both_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "x": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [1], "x": ["a"]}), tmp_path / "2.parquet")
    with pytest.raises(lb.InvalidInputError) as caught:
        lb.convert(tmp_path)
    assert str(caught.value).endswith(
        "column x: its type is string in 2.parquet, but long in 1.parquet, and neither can hold the values of the other: rewrite "
        "one of the files"
    )


def test_names_that_need_mapping(tmp_path: Path) -> None:
    rows = pa.table({"a b": [1, 2], "c,d": [{"e f": 1}, {"e f": 2}]})
    pq.write_table(rows, tmp_path / "1.parquet")
    check_refused(tmp_path, "delta.columnMapping.mode")
    check_refused(tmp_path, "cannot be id: choose name", properties={"delta.columnMapping.mode": "id"})
    table = lb.convert(tmp_path, properties={"delta.columnMapping.mode": "name"}).table
    assert table is not None
    assert table.to_arrow() == rows
    assert table.count("`a b` > 1") == 1
    more = table.append(pa.table({"a b": [3], "c,d": [{"e f": 3}]})).table
    assert sorted(more.to_arrow()["a b"].to_pylist()) == [1, 2, 3]


def test_partition_column_in_the_files_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "p=2").mkdir()
    pq.write_table(pa.table({"id": [1], "p": ["other"]}), tmp_path / "p=2" / "a.parquet")
    result = lb.convert(tmp_path, partition_schema={"p": "int"})
    assert result.table is not None
    assert result.table.to_arrow().to_pylist() == [{"id": 1, "p": 2}]


def test_statistics_are_those_of_a_write(tmp_path: Path) -> None:
    """A write collects the same statistics from the rows. Both have several row groups."""
    moment = datetime.datetime(2024, 1, 1, 1, 2, 3, 456_789, tzinfo=datetime.timezone.utc)
    rows = pa.table(
        {
            "i": pa.array([3, None, -1, 7], pa.int32()),
            "l": pa.array([None, None, None, None], pa.int64()),
            "s": ["b" * 100, "a", None, "é" * 40],
            "d": pa.array([datetime.date(2024, 1, 2), None, datetime.date(1969, 1, 1), None]),
            "t": pa.array([moment, moment + datetime.timedelta(days=1), None, None], pa.timestamp("us", "UTC")),
            "n": pa.array([None, moment.replace(tzinfo=None), None, None], pa.timestamp("us")),
            "dec": pa.array([Decimal("1.50"), Decimal("-2.25"), None, None], pa.decimal128(10, 2)),
            "bin": [b"x", None, None, b"y"],
            "st": [{"x": 1, "y": "p"}, {"x": None, "y": "q"}, {"x": 5, "y": None}, {"x": 2, "y": "r"}],
            "li": [[1], None, [], [2, 3]],
            "bool": [True, None, False, None],
        }
    )
    (tmp_path / "c").mkdir()
    # Footers have no bounds of decimals that are stored as bytes.
    pq.write_table(rows, tmp_path / "c" / "a.parquet", row_group_size=2, store_decimal_as_integer=True)
    lb.convert(tmp_path / "c")
    lb.write(tmp_path / "w", rows)
    ours, written = stats(tmp_path / "c"), stats(tmp_path / "w")
    # A footer does not count the nulls of a list.
    assert written["nullCount"].pop("li") == 1
    assert ours == written


def test_nan_leaves_no_upper_bound(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, math.nan], "id": [1, 2]}), tmp_path / "a.parquet")
    table = lb.convert(tmp_path).table
    assert stats(tmp_path)["maxValues"] == {"id": 2}
    assert stats(tmp_path)["minValues"] == {"x": 1.0, "id": 1}
    assert table is not None
    assert table.count("x > 100") == 1


def test_without_statistics(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    check_refused(
        tmp_path,
        "row tracking (delta.enableRowTracking) needs the row counts",
        collect_statistics=False,
        properties={"delta.enableRowTracking": True},
    )
    table = lb.convert(tmp_path, collect_statistics=False).table
    assert "stats" not in of_kind(tmp_path, 0, "add")[0]
    assert table is not None
    assert (table.count(), table.count("id = 2")) == (2, 1)


def test_converted_rows_have_ids(tmp_path: Path) -> None:
    for number in range(2):
        pq.write_table(pa.table({"id": [number, number + 10]}), tmp_path / f"{number}.parquet")
    table = lb.convert(tmp_path, properties={"delta.enableRowTracking": True}).table
    assert table is not None
    found = table.scan(columns=["_metadata.row_id", "id"]).to_arrow().sort_by("id").to_pylist()
    assert [row["_metadata.row_id"] for row in found] == [0, 2, 1, 3]


def test_legacy_timestamps_are_read(tmp_path: Path) -> None:
    moments = pa.array([datetime.datetime(2024, 1, 1), None], pa.timestamp("us"))
    pq.write_table(pa.table({"t": moments}), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    result = lb.convert(tmp_path)
    assert result.table is not None
    assert result.table.count("t >= TIMESTAMP '2024-01-01 00:00:00Z'") == 1
    assert "t" not in stats(tmp_path)["minValues"]


def test_convert_on_s3(s3: S3) -> None:
    uri = s3.uri("converted")
    other = lb.write(s3.uri("converted-from"), pa.table({"id": [1, 2]}), storage_options=s3.options).table
    other.clone(uri)
    log = s3.folder / "converted" / "_delta_log"
    shutil.rmtree(log)
    result = lb.convert(uri, storage_options=s3.options)
    assert (result.metrics.rows, lb.Table(uri, storage_options=s3.options).count()) == (2, 2)


# --- beside Delta Spark -------------------------------------------------------------------------


def log_of(path: Path) -> dict[str, Any]:
    """Returns version 0 without its random parts."""
    [info], [meta], [protocol] = (of_kind(path, 0, kind) for kind in ("commitInfo", "metaData", "protocol"))
    adds = of_kind(path, 0, "add")
    for add in adds:
        found = json.loads(add.pop("stats"))
        add["rows"], add["nulls"] = found["numRecords"], found.get("nullCount", {}).get("id")
        add["bounds"] = (found.get("minValues", {}).get("id"), found.get("maxValues", {}).get("id"))
    return {
        "operation": (info["operation"], info["operationParameters"], info["operationMetrics"]),
        "schema": json.loads(meta["schemaString"]),
        "table": (meta["partitionColumns"], meta["configuration"], meta["format"]),
        "protocol": protocol,
        "adds": sorted(adds, key=lambda add: str(add["path"])),
    }


@pytest.mark.spark
def test_conversion_is_that_of_delta_spark(spark: Any, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    query = (
        "SELECT id, CAST(id % 2 AS INT) AS a, IF(id > 7, NULL, 'é=/% x') AS b, DATE'2024-01-01' + CAST(id AS INT) AS d,"
        " CAST(id / 3 AS DECIMAL(9, 2)) AS dec, named_struct('x', id) AS s, array(id) AS l, TIMESTAMP'2024-01-01 00:00:00' AS t"
        " FROM RANGE(10)"
    )
    spark.sql(query).write.partitionBy("a", "b").parquet(str(ours))
    shutil.copytree(ours, tmp_path / "theirs", copy_function=shutil.copy2)
    theirs = tmp_path / "theirs"
    spark.sql(f"CONVERT TO DELTA parquet.`{theirs}` PARTITIONED BY (a INT, b STRING)")
    lb.convert(ours, partition_schema={"a": "int", "b": "string"})
    assert log_of(ours) == log_of(theirs)
    expected = sorted(map(str, spark.read.format("delta").load(str(theirs)).collect()))
    assert sorted(map(str, spark.read.format("delta").load(str(ours)).collect())) == expected
    assert lb.Table(ours).to_arrow().sort_by("id") == lb.Table(theirs).to_arrow().sort_by("id")
    assert spark.read.format("delta").load(str(ours)).where("id = 3").count() == 1
    spark.sql(f"DELETE FROM delta.`{ours}` WHERE id = 3")
    assert lb.Table(ours).count() == 9


@pytest.mark.spark
def test_delta_spark_reads_widened_and_mapped_tables(spark: Any, tmp_path: Path) -> None:
    for name, kind in (("1", pa.int32()), ("2", pa.int64())):
        (tmp_path / "wide").mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": pa.array([int(name)], kind)}), tmp_path / "wide" / f"{name}.parquet")
    lb.convert(tmp_path / "wide")
    assert sorted(row.x for row in spark.read.format("delta").load(str(tmp_path / "wide")).collect()) == [1, 2]
    (tmp_path / "mapped").mkdir()
    pq.write_table(pa.table({"a b": [1, 2]}), tmp_path / "mapped" / "1.parquet")
    lb.convert(tmp_path / "mapped", properties={"delta.columnMapping.mode": "name"})
    assert sorted(row[0] for row in spark.read.format("delta").load(str(tmp_path / "mapped")).collect()) == [1, 2]


@pytest.mark.interop
def test_other_engines_read_converted_tables(tmp_path: Path) -> None:
    path = folder(tmp_path / "t", ROWS, ("b",))
    lb.convert(path, partition_schema={"b": "string"})
    expected = read.canonical(read.with_lakebed(str(path)))
    assert read.canonical(read.with_deltalake(str(path))) == expected
    assert read.canonical(read.with_duckdb(str(path))) == expected
