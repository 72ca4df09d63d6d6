"""Symlink manifests beside those of Delta Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

ENABLED = {"delta.compatibility.symlinkFormatManifest.enabled": True}
ROWS = pa.table({"id": [1, 2, 3], "p": ["a b%c", "é=/x", None]})


def manifests(path: Path) -> dict[str, list[str]]:
    """Returns the sorted lines of all manifests, by the folder of the partition."""
    root = path / "_symlink_format_manifest"
    found = {str(file.parent.relative_to(root)): sorted(file.read_text().splitlines()) for file in root.rglob("manifest")}
    return dict(sorted(found.items()))


def expected(path: Path) -> dict[str, list[str]]:
    """Returns the manifests that the files of the newest version must have."""
    found: dict[str, list[str]] = {}
    live = {str(path / file) for file in _names(lb.Table(path))}
    for file in live:
        found.setdefault(str(Path(file).parent.relative_to(path)), []).append(f"file:{file}")
    return {folder: sorted(lines) for folder, lines in sorted(found.items())}


def _names(table: lb.Table) -> list[str]:
    from urllib.parse import unquote

    return [unquote(name) for name in table.files()["path"].to_pylist()]


def test_manifest_lists_files_by_partition(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t o", ROWS, partition_by="p").table
    assert table.symlink_manifest() == lb.ManifestResult(written=3, deleted=0)
    assert set(manifests(tmp_path / "t o")) == {"p=a b%25c", "p=é%3D%2Fx", "p=__HIVE_DEFAULT_PARTITION__"}
    assert manifests(tmp_path / "t o") == expected(tmp_path / "t o")
    table.delete("id = 1")
    assert table.symlink_manifest() == lb.ManifestResult(written=2, deleted=1)
    assert manifests(tmp_path / "t o") == expected(tmp_path / "t o")


def test_every_commit_updates_manifests(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = lb.write(path, ROWS, partition_by="p", properties=ENABLED).table
    assert manifests(path) == expected(path)
    table.append(pa.table({"id": [4], "p": ["new"]}))
    assert manifests(path) == expected(path)
    table.delete("id = 1")
    assert manifests(path) == expected(path)
    assert "p=a b%25c" not in manifests(path)
    table.refresh().update({"id": "id + 1"}, where="id = 4")
    table.append(pa.table({"id": [5, 6], "p": ["new", "new"]}))
    table.refresh().optimize()
    assert manifests(path) == expected(path)
    table.refresh().delete()
    assert manifests(path) == {}
    # Vacuum leaves manifests alone.
    table.append(ROWS).table.vacuum(0, enforce_retention=False)
    assert manifests(path) == expected(path)


def test_table_without_partitions_has_one_manifest(tmp_path: Path) -> None:
    table = lb.create(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=ENABLED)
    assert manifests(tmp_path / "t") == {".": []}
    table.append(pa.table({"id": [1]}))
    assert manifests(tmp_path / "t") == expected(tmp_path / "t")
    table.refresh().delete()
    assert manifests(tmp_path / "t") == {".": []}


def test_tables_that_readers_would_misread_are_refused(tmp_path: Path) -> None:
    vectors = {"delta.enableDeletionVectors": True}
    with pytest.raises(lb.InvalidInputError, match="deletion vectors cannot be enabled at the same time"):
        lb.create(tmp_path / "both", ROWS.schema, properties={**ENABLED, **vectors})
    table = lb.write(tmp_path / "dv", ROWS, properties=vectors).table
    assert table.symlink_manifest().written == 1
    table.delete("id = 1")
    with pytest.raises(
        lb.InvalidInputError, match="files of the table have deletion vectors, so their deleted rows would come back"
    ):
        table.symlink_manifest()
    mapped = lb.write(tmp_path / "mapped", ROWS, properties={"delta.columnMapping.mode": "name"}).table
    with pytest.raises(lb.InvalidInputError, match="the table has column mapping"):
        mapped.symlink_manifest()
    assert not (tmp_path / "mapped" / "_symlink_format_manifest").exists()


def test_failed_manifest_fails_no_commit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="lakebed"):
        result = lb.write(tmp_path / "t", ROWS, properties={**ENABLED, "delta.columnMapping.mode": "name"})
    assert result.version == 0
    assert any("its upkeep failed" in record.message and "column mapping" in record.message for record in caplog.records)


@pytest.mark.spark
def test_manifests_are_those_of_delta_spark(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t o"
    table = lb.write(path, ROWS, partition_by="p").table
    table.append(ROWS)
    table.symlink_manifest()
    ours = manifests(path)
    spark.sql(f"GENERATE symlink_format_manifest FOR TABLE delta.`{path}`")
    assert manifests(path) == ours
    empty = tmp_path / "empty"
    lb.create(empty, pa.schema([("id", pa.int64())])).symlink_manifest()
    ours = manifests(empty)
    spark.sql(f"GENERATE symlink_format_manifest FOR TABLE delta.`{empty}`")
    assert manifests(empty) == ours
    # Each goes on where the other has stopped.
    both = tmp_path / "both"
    lb.write(both, ROWS, partition_by="p", properties=ENABLED)
    spark.sql(f"INSERT INTO delta.`{both}` VALUES (7, 'spark')")
    spark.sql(f"DELETE FROM delta.`{both}` WHERE id = 3")
    assert manifests(both) == expected(both)
    lb.Table(both).delete("id = 7")
    assert manifests(both) == expected(both)
