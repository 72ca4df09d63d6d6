"""Vacuum from Python: the deleted files, the kept files, and the table in other engines afterwards."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

import duck
import lakebed as lb
from stores.gateway import S3

DAY = 86_400


def age(root: Path, days: float) -> None:
    """Makes all files and folders below the table old, except the log."""
    when = time.time() - days * DAY
    for path in sorted(root.rglob("*"), reverse=True):
        if "_delta_log" not in path.parts:
            os.utime(path, (when, when))


def files(root: Path) -> set[str]:
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != "_delta_log"}


def live(root: Path) -> set[str]:
    """Returns the data files that the newest version names, computed from the commits alone."""
    found: dict[str, Any] = {}
    for commit in sorted((root / "_delta_log").glob("*.json")):
        for action in map(json.loads, commit.read_text().splitlines()):
            if "remove" in action:
                found.pop(action["remove"]["path"], None)
        for action in map(json.loads, commit.read_text().splitlines()):
            if "add" in action:
                found[action["add"]["path"]] = action["add"]
    return set(found)


@pytest.fixture
def lived(tmp_path: Path) -> Path:
    """A table with deletion vectors, change data files, overwritten partitions, and a file that no
    commit ever named.
    """
    root = tmp_path / "t"
    properties = {"delta.enableDeletionVectors": True, "delta.enableChangeDataFeed": True}
    rows = pa.table({"id": range(20), "p": ["a", "b"] * 10})
    table = lb.write(str(root), rows, partition_by=["p"], properties=properties).table
    table.delete("id IN (3, 4)")
    table.update({"id": "id + 100"}, where="id < 3")
    table.overwrite(pa.table({"id": [50], "p": ["a"]}), where="p = 'a'")
    (root / "p=a" / "nobody.parquet").write_bytes(b"x")
    return root


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """The expected rows: of partition b 5, 7, … are left, 3 is deleted and 1 became 101. Partition
    a has only the new row.
    """
    return [{"id": n, "p": "b"} for n in [5, 7, 9, 11, 13, 15, 17, 19, 101]] + [{"id": 50, "p": "a"}]


def check_rows(root: Path, rows: list[dict[str, Any]]) -> None:
    expected = sorted(map(str, rows))
    assert sorted(map(str, lb.Table(str(root)).to_arrow().select(["id", "p"]).to_pylist())) == expected
    by_duck = duck.connect().sql(f"SELECT id, p FROM delta_scan('{root}')").to_arrow_table().to_pylist()
    assert sorted(map(str, by_duck)) == expected


def test_vacuum_deletes_unneeded_files_others_read_table(lived: Path, rows: list[dict[str, Any]]) -> None:
    before = files(lived)
    result = lb.Table(str(lived)).vacuum(0, enforce_retention=False)
    gone = set(result.files["path"].to_pylist())
    assert files(lived) == before - gone
    assert {path for path in files(lived) if path.endswith(".parquet")} == live(lived)
    assert "p=a/nobody.parquet" in gone
    assert any(path.startswith("_change_data/") for path in gone)
    # One file of deletion vectors is left, for the rows that were deleted and updated in partition
    # b.
    assert len([path for path in files(lived) if path.endswith(".bin")]) == 1
    assert result.metrics.deleted_files == len(gone)
    check_rows(lived, rows)
    operations = [entry.operation for entry in lb.Table(str(lived)).history(2)]
    assert operations == ["VACUUM END", "VACUUM START"]
    assert DeltaTable(str(lived)).history(1)[0]["operation"] == "VACUUM END"
    assert lb.Table(str(lived)).vacuum(0, enforce_retention=False).version == result.version


def test_a_dry_run_tells_and_does_nothing(lived: Path) -> None:
    before = files(lived)
    result = lb.Table(str(lived)).vacuum(0, enforce_retention=False, dry_run=True)
    assert result.dry_run
    assert (result.version, files(lived)) == (3, before)
    assert result.files.schema.names == ["path", "size_bytes", "modification_time"]
    assert result.metrics.found_files == result.files.num_rows == 6
    assert result.metrics.found_bytes == sum(result.files["size_bytes"].to_pylist())
    sizes = {path: (lived / path).stat().st_size for path in result.files["path"].to_pylist()}
    assert dict(zip(result.files["path"].to_pylist(), result.files["size_bytes"].to_pylist(), strict=True)) == sizes


def test_the_table_remembers_for_a_week(lived: Path) -> None:
    table = lb.Table(str(lived))
    assert table.vacuum(dry_run=True).metrics.found_files == 0
    age(lived, 8)
    # The files are old but left the table just now. Only files that no commit named, and old change
    # data files, may be deleted.
    found = set(table.vacuum(dry_run=True).files["path"].to_pylist())
    assert "p=a/nobody.parquet" in found
    assert {path.split("/")[0] for path in found - {"p=a/nobody.parquet"}} <= {"_change_data"}


def test_lite_leaves_what_no_commit_named(lived: Path, rows: list[dict[str, Any]]) -> None:
    table = lb.Table(str(lived))
    full = set(table.vacuum(0, enforce_retention=False, dry_run=True).files["path"].to_pylist())
    result = table.vacuum(0, mode="lite", enforce_retention=False)
    assert set(result.files["path"].to_pylist()) == full - {"p=a/nobody.parquet"}
    check_rows(lived, rows)


def test_retentions_that_make_no_sense_are_refused(lived: Path) -> None:
    table = lb.Table(str(lived))
    for hours in [-1, -0.001, float("nan"), float("inf")]:
        with pytest.raises(lb.InvalidInputError, match="retention_hours"):
            table.vacuum(hours, enforce_retention=False)
    with pytest.raises(lb.InvalidInputError, match="enforce_retention"):
        table.vacuum(167.9)
    with pytest.raises(lb.InvalidInputError, match="must be one of full, lite"):
        table.vacuum(mode="fast")  # type: ignore[arg-type]


def test_vacuum_takes_inventory_of_any_kind(lived: Path) -> None:
    old = datetime.now(timezone.utc) - timedelta(days=8)
    names = ["p=a/nobody.parquet", f"file:{lived}/p=a"]
    paths = pa.table({"path": names, "length": [1, 0], "isDir": [False, True], "modificationTime": [old, old]})
    table = lb.Table(str(lived))
    for given in [paths, paths.to_reader(), pl.from_arrow(paths)]:
        found = table.vacuum(inventory=given, dry_run=True)
        assert found.files["path"].to_pylist() == ["p=a/nobody.parquet"]
    absolute = paths.set_column(0, "path", pa.array([f"file://{lived}/p=a/nobody.parquet", names[1]]))
    assert table.vacuum(inventory=absolute, dry_run=True).files["path"].to_pylist() == ["p=a/nobody.parquet"]
    with pytest.raises(lb.InvalidInputError, match="no column isDir"):
        table.vacuum(inventory=paths.drop_columns(["isDir"]), dry_run=True)
    with pytest.raises(lb.InvalidInputError, match="modificationTime is string"):
        table.vacuum(inventory=paths.set_column(3, "modificationTime", pa.array(["x", "y"])), dry_run=True)
    odd = paths.set_column(0, "path", pa.array([f"{lived}/elsewhere/../x", names[1]]))
    with pytest.raises(lb.InvalidInputError, match=r"cannot be used: .*`\.\.`"):
        table.vacuum(inventory=odd, dry_run=True)
    assert table.vacuum(inventory=paths).metrics.deleted_files == 1
    assert not (lived / "p=a/nobody.parquet").exists()


def test_vacuum_keeps_deletion_vector_files(lived: Path, rows: list[dict[str, Any]]) -> None:
    """The vacuum of deltalake 1.6 would delete the files of live deletion vectors."""
    age(lived, 40)
    vectors = {path for path in files(lived) if path.endswith(".bin")}
    theirs = DeltaTable(str(lived)).vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False, full=True)
    ours = set(lb.Table(str(lived)).vacuum(0, enforce_retention=False, dry_run=True).files["path"].to_pylist())
    # This is a note and not a requirement. If it changes, deltalake has improved.
    print("deltalake would delete", sorted(set(theirs) & vectors), "of which we keep", sorted(vectors - ours))
    assert len(vectors - ours) == 1
    lb.Table(str(lived)).vacuum(0, enforce_retention=False)
    check_rows(lived, rows)


def test_vacuum_on_object_store_deletes_in_batches(s3: S3) -> None:
    uri, options = s3.uri("vacuum"), s3.options
    data = pa.table({"id": range(4), "p": ["a", "b", "c", "c"]})
    table = lb.write(uri, data, partition_by=["p"], storage_options=options).table
    table = table.overwrite(pa.table({"id": [9], "p": ["a"]})).table
    for number in range(2_500):
        (s3.folder / "vacuum" / "p=a" / f"nobody-{number}.parquet").write_bytes(b"x")
    (s3.folder / "vacuum" / "p=a" / "a b+c%20d=é.parquet").write_bytes(b"x")
    asked = s3.access_log.stat().st_size
    result = table.vacuum(0, enforce_retention=False)
    assert (result.metrics.deleted_files, result.metrics.listed_files, result.metrics.listed_folders) == (2_504, 2_505, 4)
    assert len([path for path in (s3.folder / "vacuum").rglob("*.parquet") if "_delta_log" not in path.parts]) == 1
    requests = s3.access_log.read_text()[asked:]
    # There are three batches and no single delete.
    assert (requests.count("s3_DeleteObjects "), requests.count("s3_DeleteObject ")) == (3, 0)
    assert result.table.to_arrow().to_pylist() == [{"id": 9, "p": "a"}]
