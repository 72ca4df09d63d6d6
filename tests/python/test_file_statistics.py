"""The statistics of files, as ``files`` lists them, and the options of the files that verbs write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb

ROWS = pa.table(
    {
        "p": ["a", "a", "b"],
        "n": pa.array([3, None, 5], pa.int32()),
        "day": [date(2026, 1, 2), date(2026, 1, 1), None],
        "inner": pa.array([{"x": 1.5, "tags": ["u"]}, None, {"x": 2.5, "tags": []}]),
        "flag": [True, False, None],
    }
)


def listed(table: lb.Table) -> dict[str, list[Any]]:
    """Returns the statistics, in the order of the partitions."""
    files = table.files(statistics=True)
    files = files.take(pa.compute.sort_indices(files["path"]))
    return {name: files[name].to_pylist() for name in ("null_count", "min", "max")}


@pytest.mark.parametrize("mode", ["none", "name"])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_files_have_statistics_of_their_columns(mode: str, checkpointed: bool, tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": mode}
    table = lb.write(tmp_path / "t", ROWS, partition_by="p", properties=properties).table
    if checkpointed:
        table.checkpoint()
        table = lb.Table(table.uri)
    files = table.files(statistics=True)
    by_partition = files.take(pa.compute.sort_indices(pa.compute.struct_field(files["partition"], "p")))
    assert by_partition["null_count"].to_pylist() == [
        {"n": 1, "day": 0, "inner": {"x": 1, "tags": 1}, "flag": 0},
        {"n": 0, "day": 1, "inner": {"x": 0, "tags": 0}, "flag": 1},
    ]
    assert by_partition["min"].to_pylist() == [
        {"n": 3, "day": date(2026, 1, 1), "inner": {"x": 1.5}},
        {"n": 5, "day": None, "inner": {"x": 2.5}},
    ]
    assert by_partition["max"].to_pylist() == [
        {"n": 3, "day": date(2026, 1, 2), "inner": {"x": 1.5}},
        {"n": 5, "day": None, "inner": {"x": 2.5}},
    ]
    assert by_partition["min"].type.field("n").type == pa.int32()
    plain = table.files()
    assert files.select(plain.column_names).equals(plain)


def test_properties_choose_columns_with_statistics(tmp_path: Path) -> None:
    rows = pa.table({"a": [1], "b": [2], "c": [3]})
    table = lb.write(tmp_path, rows, properties={"delta.dataSkippingStatsColumns": "b"}).table
    assert listed(table) == {"null_count": [{"b": 0}], "min": [{"b": 2}], "max": [{"b": 2}]}


def test_clustering_columns_have_statistics(tmp_path: Path) -> None:
    rows = pa.table({"a": [1], "b": [2]})
    table = lb.write(tmp_path, rows, cluster_by="b", properties={"delta.dataSkippingNumIndexedCols": 0}).table
    assert listed(table) == {"null_count": [{"b": 0}], "min": [{"b": 2}], "max": [{"b": 2}]}


def test_table_without_statistics_lists_empty_structs(tmp_path: Path) -> None:
    table = lb.write(tmp_path, ROWS, properties={"delta.dataSkippingNumIndexedCols": 0}).table
    files = table.files(statistics=True)
    assert [files[name].to_pylist() for name in ("null_count", "min", "max")] == [[{}], [{}], [{}]]


def test_statistics_must_be_a_flag(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^statistics='yes': it must be True or False$"):
        lb.write(tmp_path, ROWS).table.files(statistics="yes")  # type: ignore[arg-type]


# The options of the files that verbs write


NUMBERS = pa.table({"id": range(100), "b": [str(number) for number in range(100)]})
FILES: dict[str, Any] = {"compression": "zstd(3)", "row_group_rows": 30, "bloom_columns": ["id"]}
VERBS: dict[str, Callable[[lb.Table], Any]] = {
    "append": lambda table: table.append(NUMBERS, **FILES),
    "delete": lambda table: table.delete("id = 7", **FILES),
    "update": lambda table: table.update({"b": "'x'"}, where="id = 7", **FILES),
    "upsert": lambda table: table.upsert(NUMBERS.slice(5, 1), "id", **FILES),
    "optimize": lambda table: table.append(NUMBERS).table.optimize(**FILES),
    "cluster": lambda table: table.optimize(zorder_by="id", **FILES),
}


@pytest.mark.parametrize("verb", VERBS)
def test_options_of_files_reach_them(verb: str, tmp_path: Path) -> None:
    table = lb.write(tmp_path, NUMBERS).table
    before = set(table.files()["path"].to_pylist())
    result = VERBS[verb](table)
    added = [path for path in result.table.files()["path"].to_pylist() if path not in before]
    assert added
    for path in added:
        found = pq.ParquetFile(tmp_path / path).metadata
        groups = [found.row_group(index) for index in range(found.num_row_groups)]
        assert max(group.num_rows for group in groups) <= 30
        assert {group.column(0).compression for group in groups} == {"ZSTD"}
        assert b"id" in footer_columns_with_bloom_filters(tmp_path / path)


def footer_columns_with_bloom_filters(path: Path) -> set[bytes]:
    import duckdb

    found = duckdb.sql(f"SELECT path_in_schema, bloom_filter_offset FROM parquet_metadata('{path}')").fetchall()
    return {name.encode() for name, offset in found if offset is not None}


@pytest.mark.parametrize("verb", ["delete", "update"])
def test_options_of_transactions_files_reach_them(verb: str, tmp_path: Path) -> None:
    table = lb.write(tmp_path, NUMBERS).table
    before = set(table.files()["path"].to_pylist())
    with table.transaction() as tx:
        tx.delete("id = 7", **FILES) if verb == "delete" else tx.update({"b": "'x'"}, where="id = 7", **FILES)
    (added,) = [path for path in tx.result.table.files()["path"].to_pylist() if path not in before]
    assert pq.ParquetFile(tmp_path / added).metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bloom_columns": ["nope"]}, "bloom_columns: there is no column nope"),
        ({"compression": "zip"}, '"zip" is unknown'),
        ({"row_group_rows": 0}, "row_group_rows=0: it must be 1 or more"),
    ],
)
def test_option_of_files_without_sense_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    table = lb.write(tmp_path, NUMBERS).table
    calls: list[Callable[[], Any]] = [
        lambda: table.delete("id = 1", **options),
        lambda: table.update({"b": "'x'"}, **options),
        lambda: table.upsert(NUMBERS, "id", **options),
        lambda: table.optimize(**options),
    ]
    for call in calls:
        with pytest.raises(lb.InvalidInputError) as caught:
            call()
        assert message in str(caught.value)
    assert table.refresh().version == 0


# The cleanup of the log


def test_cleanup_deletes_only_what_checkpoints_replace(tmp_path: Path) -> None:
    table = lb.write(tmp_path, NUMBERS).table
    for _ in range(3):
        table = table.append(NUMBERS).table
    log = tmp_path / "_delta_log"
    old = time.time() - 40 * 86400
    for name in [f"{version:020}.json" for version in range(3)]:
        os.utime(log / name, (old, old))
    assert table.clean_up_log() == lb.LogCleanup(first_version=None, log_files=0, sidecars=0, leftovers=0)
    lb.Table(tmp_path, version=2).checkpoint()
    checkpoint = log / f"{2:020}.checkpoint.parquet"
    os.utime(checkpoint, (old, old))
    done = lb.Table(tmp_path, version=1).clean_up_log()
    assert done.first_version == 2
    assert not (log / f"{0:020}.json").exists()
    assert not (log / f"{1:020}.json").exists()
    assert lb.Table(tmp_path).count() == 400
    with pytest.raises(lb.VersionNotFoundError):
        lb.Table(tmp_path, version=1)
