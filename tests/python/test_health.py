"""The health of tables: each measure's value is counted here by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed as lb
from corpus.oracle import Oracle


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": [f"p{number % 2}" for number in ids]})


def test_small_files_are_counted_by_partition(tmp_path: Path) -> None:
    for number in range(6):
        table = lb.write(tmp_path / "t", rows(number), partition_by=["p"]).table
    health = table.health()
    small = health["small_files"]
    # Three files in each of two partitions become one each.
    assert (health.files, health.partitions, health.rows) == (6, 2, 6)
    assert (small.cost_files, small.cost_bytes, small.saved_files) == (6, health.size_bytes, 4)
    assert small.value == pytest.approx(4 / 6)
    assert (small.judgement, small.remedy) == ("act", "table.optimize()")
    after = table.optimize().table.health()
    assert (after.files, after["small_files"].judgement, after["small_files"].remedy) == (2, "ok", None)


def test_deleted_rows_are_debt(tmp_path: Path) -> None:
    properties = {"delta.enableDeletionVectors": True}
    table = lb.write(tmp_path / "t", rows(*range(10)), properties=properties).table
    size = table.health().size_bytes
    table = table.delete("id < 3").table
    health = table.health()
    debt = health["deleted_rows"]
    assert (health.rows, debt.value, debt.judgement) == (7, pytest.approx(0.3), "act")
    assert (debt.cost_files, debt.cost_bytes, debt.saved_bytes) == (1, size, int(size * 0.3))
    assert debt.detail == "3 of 10 rows are deleted in 1 deletion vectors"
    assert table.optimize(max_deleted_share=0).table.health()["deleted_rows"].value == 0


def test_missing_statistics_are_counted(tmp_path: Path) -> None:
    for number in range(4):
        lb.write(tmp_path / "t", rows(number))
    commit = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        action.get("add", {}).pop("stats", None)
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in commit.parent.glob("*.crc"):
        checksum.unlink()
    table = lb.Table(tmp_path / "t")
    health = table.health()
    missing = health["missing_statistics"]
    assert (health.rows, missing.value, missing.cost_files, missing.judgement) == (None, 0.25, 1, "act")


def test_overlap_is_measured_by_column(tmp_path: Path) -> None:
    table = lb.create(tmp_path / "t", pa.schema([("id", pa.int64()), ("same", pa.int64())]), cluster_by=["same"])
    for number in range(16):
        table = table.append(pa.table({"id": [number * 10, number * 10 + 9], "same": [0, 100]})).table
    measures = {measure.column: measure for measure in table.health().measures if measure.column}
    assert measures["id"].value == pytest.approx(1 / 16)
    assert (measures["id"].kind, measures["id"].judgement) == ("column_overlap", "ok")
    assert (measures["same"].kind, measures["same"].value, measures["same"].judgement) == ("clustering", 1.0, "act")
    assert measures["same"].detail == "a lookup of one value reads 16.0 of 16 files"


def test_log_is_measured(tmp_path: Path) -> None:
    properties = {"delta.checkpointInterval": 1000}
    for number in range(5):
        table = lb.write(tmp_path / "t", rows(number), properties=properties if number == 0 else None).table
    health = table.health()
    assert health["commits_since_checkpoint"].value == 5
    assert health["versions"].value == 5
    assert health["log_files"].value == len([*(tmp_path / "t" / "_delta_log").glob("0*")])
    table.checkpoint()
    assert lb.Table(tmp_path / "t").health()["commits_since_checkpoint"].value == 0


def test_removed_files_wait_for_a_vacuum(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", rows(1, 2)).table
    old = next((tmp_path / "t").rglob("*.parquet")).stat().st_size
    table = lb.write(tmp_path / "t", rows(3), mode="overwrite").table
    waiting = table.health()["tombstones"]
    assert (waiting.value, waiting.judgement, waiting.remedy) == (0.0, "ok", None)
    assert waiting.detail == f"0 removed files with 0 bytes wait for a vacuum; 1 more with {old} bytes are kept for 7 days"
    # A file that keeps rows in the table is not removed, although its older form is.
    table = lb.write(tmp_path / "t", rows(4, 5, 6)).table
    table = table.alter.set_properties({"delta.enableDeletionVectors": True}).delete("id = 4").table
    assert table.health()["deleted_rows"].cost_files == 1
    table = table.alter.set_properties({"delta.deletedFileRetentionDuration": "interval 0 days"})
    health = table.health()
    waiting = health["tombstones"]
    assert (waiting.saved_files, waiting.saved_bytes) == (1, old)
    assert waiting.value == pytest.approx(old / health.size_bytes)
    assert (waiting.judgement, waiting.remedy) == ("watch", "table.vacuum()")
    after = table.vacuum(retention_hours=0, enforce_retention=False).table.health()["tombstones"]
    assert (after.saved_files, after.saved_bytes, after.judgement) == (0, 0, "ok")


def test_features_without_use_are_named(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", rows(1, 2)).table
    assert (table.health()["unused_features"].value, table.health()["rare_features"].value) == (0, 0)
    table = table.alter.add_feature("deletionVectors")
    found = table.health()["unused_features"]
    assert (found.value, found.judgement, found.remedy) == (1, "watch", 'table.alter.drop_feature("deletionVectors")')
    assert found.detail == "the version does not use deletionVectors; engines without these features cannot open the table"
    used = table.alter.set_properties({"delta.enableDeletionVectors": True}).delete("id = 1").table
    unset = used.alter.set_properties({"delta.enableDeletionVectors": False})
    assert unset.health()["unused_features"].value == 0, "a file has a deletion vector"
    rare = unset.alter.add_feature("typeWidening").health()["rare_features"]
    assert (rare.value, rare.judgement, rare.detail) == (1, "ok", "few engines can read tables with typeWidening")


def test_health_can_be_shown_and_exported(tmp_path: Path) -> None:
    health = lb.write(tmp_path / "t", rows(1)).table.health()
    assert repr(health).splitlines()[:2] == [
        "Health(version=0, files=1, judgement='ok')",
        "  ok    small_files: 0 of 1 files are small; combined they are 0 fewer",
    ]
    table = health.to_arrow()
    assert table.num_rows == len(health.measures)
    assert table["kind"].to_pylist() == [measure.kind for measure in health.measures]
    assert json.loads(json.dumps(health.to_dict()))["files"] == 1
    assert "small_files" in health._repr_html_()
    with pytest.raises(KeyError):
        health["unknown"]


def test_health_counts_every_layout(oracle: Oracle) -> None:
    health = lb.Table(oracle.path, absolute_paths=oracle.outside).health()
    assert (health.version, health.files) == (oracle.latest, len(oracle.files))
    assert health.size_bytes == sum(size for _, size, *_ in oracle.files)
    assert health.rows in (None, len(oracle.rows(oracle.latest)))
