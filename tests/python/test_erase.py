"""Erase, from Python: a search for erased rows in every byte below the table."""

from __future__ import annotations

import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

import lakebed as lb
from leftovers import MARK, holders

#: The condition that finds the value.
WHERE = f"name = '{MARK}'"
VECTORS = {"delta.enableDeletionVectors": True}
FEED = {"delta.enableChangeDataFeed": True}


def people(*names: str, start: int = 1) -> pa.Table:
    return pa.table({"id": list(range(start, start + len(names))), "name": list(names)})


def names(table: lb.Table) -> list[str]:
    found: list[str] = sorted(table.to_arrow()["name"].to_pylist())
    return found


def held(result: lb.EraseResult) -> list[tuple[int, int, int, int]]:
    return [(held.first_version, held.last_version, held.data_files, held.change_files) for held in result.older_versions]


# The newest version.


@pytest.mark.parametrize("properties", [{}, VECTORS])
def test_erase_leaves_no_byte_in_newest_files(tmp_path: Path, properties: dict[str, Any]) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK, "bob"), properties=properties).table
    result = table.append(people("cat", start=4)).table.erase(WHERE)
    assert (result.version, result.committed, result.metrics.erased_rows, result.metrics.copied_rows) == (2, True, 1, 2)
    assert (result.metrics.removed_files, result.metrics.added_files, result.metrics.purged_files) == (1, 1, 0)
    assert names(result.table) == ["ann", "bob", "cat"]
    files = list(result.table.files()["path"].to_pylist())
    assert len(files) == 2
    assert not any(str(path) in holders(tmp_path / "t") for path in files)
    stats = [line["add"]["stats"] for line in lines(tmp_path / "t", 2) if "add" in line]
    assert [json.loads(text)["maxValues"]["name"] for text in stats] == ["bob"]
    assert held(result) == [(0, 1, 1, 0)]
    assert names(lb.Table(tmp_path / "t", version=0)) == ["ann", "bob", MARK]


def test_erase_rewrites_files_of_deleted_rows(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK, "bob"), properties=VECTORS).table
    table = table.delete(WHERE).table
    result = table.erase(WHERE)
    metrics = result.metrics
    assert (metrics.erased_rows, metrics.purged_files, metrics.removed_files, metrics.copied_rows) == (0, 1, 1, 2)
    assert metrics.deletion_vectors_removed == 1
    assert names(result.table) == ["ann", "bob"]
    # The rows of the table stay, so readers of changes have nothing to do.
    changed = [action["dataChange"] for line in lines(tmp_path / "t", 2) for action in line.values() if "dataChange" in action]
    assert changed == [False, False]
    (path,) = result.table.files()["path"].to_pylist()
    assert str(path) not in holders(tmp_path / "t")
    assert held(result) == [(0, 1, 1, 0)]


def test_erase_removes_file_without_other_rows(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people(MARK), properties=VECTORS).table
    table = table.append(people("bob", start=2)).table
    result = table.erase(WHERE)
    assert (result.metrics.removed_files, result.metrics.added_files, names(result.table)) == (1, 0, ["bob"])


def test_erase_of_nothing_commits_nothing(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", "bob")).table
    for history in (False, True):
        result = table.erase(WHERE, history=history)
        assert (result.version, result.committed, result.older_versions) == (0, False, ())
        assert result.metrics.erased_rows == 0
    assert sorted(path.name for path in (tmp_path / "t" / "_delta_log").glob("*.json")) == [f"{0:020}.json"]


def test_dry_run_tells_all_and_writes_nothing(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table
    before = {path: path.read_bytes() for path in (tmp_path / "t").rglob("*") if path.is_file()}
    result = table.erase(WHERE, dry_run=True, history=True)
    assert (result.version, result.committed, result.dry_run) == (0, False, True)
    assert (result.metrics.erased_rows, result.metrics.removed_files) == (1, 1)
    assert held(result) == [(0, 0, 1, 0)]
    assert {path: path.read_bytes() for path in (tmp_path / "t").rglob("*") if path.is_file()} == before


def test_history_names_columns_but_no_value(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table
    entry = table.erase(f"{WHERE} AND id > 0", user_metadata="request 7").table.history(1)[0]
    assert (entry.operation, entry.user_metadata) == ("ERASE", "request 7")
    assert entry.parameters == {"columns": '["id","name"]', "history": "false"}
    assert entry.metrics["numDeletedRows"] == "1"
    assert MARK not in json.dumps(lines(tmp_path / "t", 1))


def test_erase_keeps_row_ids(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK, "bob"), properties={"delta.enableRowTracking": True, **VECTORS}).table
    columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    before = table.scan(columns=columns, where=f"NOT {WHERE}").to_arrow().sort_by("id")
    assert table.erase(WHERE, history=True).table.scan(columns=columns).to_arrow().sort_by("id") == before


def test_feed_derives_erase_from_files_without_changes(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK), properties=FEED).table
    result = table.erase(WHERE)
    assert not any("cdc" in line for line in lines(tmp_path / "t", 1))
    assert not (tmp_path / "t" / "_change_data").exists()
    changes = result.table.changes(start=1).to_arrow()
    found = sorted(zip(changes["_change_type"].to_pylist(), changes["name"].to_pylist(), strict=True))
    assert found == [("delete", "ann"), ("delete", MARK), ("insert", "ann")]


def test_where_may_select_all_rows(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", "bob")).table
    assert table.erase("true", history=True).table.count() == 0
    assert holders(tmp_path / "t", "ann") == []


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (" ", 'where: an erase needs a predicate; to erase all rows, give "true"'),
        (None, "where=None: a value is required"),
        (3, "where=3: it must be a string"),
    ],
)
def test_erase_refuses_bad_predicate(where: Any, said: str) -> None:
    table = lb.write("memory://erase/bad", people("ann"), mode="overwrite").table
    with pytest.raises((TypeError, lb.InvalidInputError)) as caught:
        table.erase(where)
    assert str(caught.value) == said


def test_erase_refuses_unknown_column_and_append_only(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann"), properties={"delta.appendOnly": True}).table
    with pytest.raises(lb.InvalidInputError, match="append-only"):
        table.erase("id = 1")
    other = lb.write(tmp_path / "u", people("ann")).table
    with pytest.raises(lb.PredicateError):
        other.erase("nme = 'ann'")
    with other.transaction() as tx, pytest.raises(lb.InvalidInputError) as caught:
        tx.erase("id = 1")
    assert str(caught.value) == "erase: it cannot be part of a transaction: use the table, before or after it"


# The account.


def test_account_tells_files_log_and_tags(tmp_path: Path) -> None:
    properties = {"delta.deletedFileRetentionDuration": "interval 2 days", "delta.logRetentionDuration": "interval 5 days"}
    table = lb.write(tmp_path / "t", people("ann", MARK), properties=properties).table
    (one,) = table.erase(WHERE).older_versions
    entries = {entry.version: entry.timestamp for entry in table.refresh().history()}
    assert one.files_until is not None
    assert one.log_until is not None
    assert abs(one.files_until - entries[1] - timedelta(days=2)) < timedelta(seconds=5)
    assert abs(one.log_until - entries[0] - timedelta(days=5)) < timedelta(seconds=5)
    table.refresh().tag("audit", 0)
    (one,) = table.refresh().erase(WHERE).older_versions
    assert (one.tags, one.files_until, one.log_until) == (("audit",), None, None)


def test_account_separates_runs_of_versions(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann")).table
    table = table.append(people(MARK, start=2)).table
    table = table.delete(WHERE).table
    table = table.append(people("bob", start=3)).table
    table = table.restore(version=1).table
    result = table.erase(WHERE)
    assert held(result) == [(1, 1, 1, 0), (4, 4, 1, 0)]


def test_account_reads_change_files(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK, "bob"), properties=FEED).table
    table = table.update({"name": "'gone'"}, where=WHERE).table
    result = table.erase(WHERE)
    assert (result.committed, result.version) == (False, 1)
    assert held(result) == [(0, 1, 1, 1)]


def test_account_after_vacuum_counts_missing_files(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table
    table = table.erase(WHERE).table.vacuum(0, enforce_retention=False).table
    (one,) = table.erase(WHERE).older_versions
    assert (one.first_version, one.last_version, one.data_files, one.missing_files, one.files_until) == (0, 0, 0, 1, None)


def test_account_finds_column_that_came_later(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"id": [1]})).table
    table = table.append(people(MARK, start=2), schema_mode="merge").table
    result = table.erase(WHERE)
    assert held(result) == [(1, 1, 1, 0)]
    assert result.older_versions[0].undecided_files == 0


def test_account_finds_rows_of_earlier_partitioning(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK), partition_by=["name"]).table
    table = lb.write(tmp_path / "t", people("ann", MARK), mode="overwrite", schema_mode="overwrite", partition_by=[]).table
    result = table.erase(WHERE)
    assert held(result) == [(0, 1, 2, 0)]


def test_account_finds_rows_of_renamed_column(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK), properties={"delta.columnMapping.mode": "name"}).table
    table = table.alter.rename_column("name", "label")
    result = table.erase(f"label = '{MARK}'", history=True)
    assert result.older_versions == ()
    assert result.metrics.deleted_files == 1
    assert holders(tmp_path / "t") == []


def test_account_begins_at_checkpoint_of_cleaned_log(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table
    table = table.append(people("bob", start=3)).table
    table.checkpoint()
    log = tmp_path / "t" / "_delta_log"
    for path in [*log.glob("*0.json"), *log.glob("*0.crc")]:
        path.unlink()
    table = lb.Table(tmp_path / "t")
    assert held(table.erase(WHERE)) == [(1, 1, 1, 0)]
    result = table.erase(WHERE, history=True)
    assert holders(tmp_path / "t") == []
    assert names(result.table) == ["ann", "bob"]


# The history.


def made(root: Path, kind: str) -> lb.Table:
    """A table that holds the mark in every way that its kind has."""
    properties: dict[str, Any] = {"delta.checkpointInterval": 3, **FEED}
    partition_by = None
    if kind == "vectors":
        properties |= VECTORS
    if kind == "v2":
        properties |= {"delta.checkpointPolicy": "v2", **VECTORS}
    if kind == "mapped":
        properties |= {"delta.columnMapping.mode": "name"}
    if kind == "timestamps":
        properties |= {"delta.enableInCommitTimestamps": True, "delta.enableRowTracking": True}
    if kind == "partitioned":
        partition_by = ["name"]
    table = lb.write(root, people("ann", MARK, "bob"), properties=properties, partition_by=partition_by).table
    table = table.append(people(MARK, "cat", start=4)).table
    table = table.update({"id": "id + 100"}, where=f"{WHERE} AND id = 4").table
    table = table.delete(f"{WHERE} AND id = 2").table
    if kind != "partitioned":
        table = table.update({"name": "concat(name, '!')"}, where="id = 1").table
    table.checkpoint()
    return table.append(people("dan", start=6)).table


KINDS = ["plain", "vectors", "v2", "mapped", "timestamps", "partitioned"]


@pytest.mark.parametrize("kind", KINDS)
def test_history_erase_leaves_no_byte(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "t"
    table = made(root, kind)
    assert holders(root) != []
    kept = sorted(name for name in names(table) if name != MARK)
    result = table.erase(WHERE, history=True)
    assert holders(root) == []
    assert result.older_versions == ()
    assert result.committed
    assert result.metrics.deleted_files > 0
    assert result.metrics.deleted_log_files > 0
    assert names(result.table) == names(lb.Table(root)) == kept
    assert [entry.operation for entry in result.table.history(2)] == ["ERASE HISTORY", "ERASED"]
    assert result.table.detail().num_files == len(result.table.files())
    if kind != "v2":
        other = DeltaTable(str(root))
        assert other.version() == result.version
        assert len(other.history()) == result.version
    assert lb.check(root, level="history").ok
    again = result.table.erase(WHERE, history=True)
    assert (again.committed, again.version, again.older_versions) == (False, result.version, ())
    # The table goes on.
    later = again.table.append(people("eve", start=9)).table
    assert names(later.delete("name = 'eve'").table) == kept


def test_history_erase_removes_names_of_partitions(tmp_path: Path) -> None:
    properties = {"delta.compatibility.symlinkFormatManifest.enabled": True}
    table = lb.write(tmp_path / "t", people("ann", MARK), partition_by=["name"], properties=properties).table
    assert "_symlink_format_manifest/name=zq-marker-zq" in holders(tmp_path / "t")
    table.erase(WHERE, history=True)
    assert holders(tmp_path / "t") == []
    others = holders(tmp_path / "t", "name=ann")
    assert "_symlink_format_manifest/name=ann/manifest" in others
    assert len([name for name in others if name.startswith("name=ann/part-")]) == 1


def test_history_stays_if_no_older_version_holds_rows(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann")).table
    table = table.append(people("bob", start=2)).table
    result = table.erase(WHERE, history=True)
    assert (result.committed, names(lb.Table(tmp_path / "t", version=0))) == (False, ["ann"])


def test_history_erase_leaves_other_files(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann")).table
    table = table.overwrite(people(MARK, start=2)).table
    stray = tmp_path / "t" / "part-stray.parquet"
    stray.write_bytes(b"nobody names me")
    before = {path.name for path in (tmp_path / "t").glob("*.parquet")}
    result = table.erase(WHERE, history=True)
    left = {path.name for path in (tmp_path / "t").glob("*.parquet")}
    assert stray.exists()
    assert len(before - left) == 1
    assert result.metrics.deleted_files == 1


def test_history_erase_refuses_tags_by_name(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table.tag("audit").tag("old")
    with pytest.raises(lb.InvalidInputError) as caught:
        table.erase(WHERE, history=True)
    assert str(caught.value) == (
        f"{table.uri}: older versions hold rows to erase, so all older versions would go, but tags keep some of them: audit, old. "
        "Drop these tags first (drop_tag), or erase without history"
    )
    assert names(lb.Table(tmp_path / "t")) == ["ann", MARK]
    result = table.drop_tag("audit").drop_tag("old").erase(WHERE, history=True)
    assert holders(tmp_path / "t") == []
    assert names(result.table) == ["ann"]


def test_history_erase_refuses_versions_kept_by_vacuum(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table.append(people("bob", start=3)).table
    table.vacuum(keep_versions=[0])
    with pytest.raises(lb.InvalidInputError) as caught:
        table.erase(WHERE, history=True)
    assert str(caught.value) == (
        f"{table.uri}: older versions hold rows to erase, so all older versions would go, but the last vacuum kept some of them: "
        "[0]. Vacuum without keep_versions first, or erase without history"
    )
    assert MARK in names(lb.Table(tmp_path / "t")), "nothing was erased"
    (held,) = table.erase(WHERE).older_versions
    assert (held.first_version, held.log_until) == (0, None)
    table.vacuum()
    table.erase(WHERE, history=True)
    assert holders(tmp_path / "t") == []


def test_dropped_version_is_not_found(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table
    old = lb.Table(tmp_path / "t", version=0)
    version = table.erase(WHERE, history=True).version
    assert version == 2
    for dropped in (0, 1):
        with pytest.raises(lb.VersionNotFoundError):
            lb.Table(tmp_path / "t", version=dropped)
    assert names(table.refresh()) == names(old.refresh()) == ["ann"]


def test_writer_from_before_does_not_lose_its_commit(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK)).table
    other = DeltaTable(str(tmp_path / "t"))
    table.erase(WHERE, history=True)
    # For this handle of deltalake, version 1 is still the next one.
    with pytest.raises(DeltaError):
        write_deltalake(other, people("lost", start=7), mode="append")
    assert "lost" not in names(lb.Table(tmp_path / "t"))
    # A handle of lakebed from before moves on.
    assert names(table.append(people("eve", start=8)).table)[:2] == ["ann", "eve"]


@pytest.mark.parametrize("is_vacuumed", [False, True])
def test_lite_vacuum_after_history_erase_needs_full_one(tmp_path: Path, is_vacuumed: bool) -> None:
    table = lb.write(tmp_path / "t", people("ann")).table
    if is_vacuumed:
        table = table.vacuum(0, enforce_retention=False).table
        assert (tmp_path / "t" / "_delta_log" / "_last_vacuum_info").exists()
    table = table.overwrite(people(MARK, "bob", start=2)).table
    table = table.erase(WHERE, history=True).table
    with pytest.raises(lb.VersionNotFoundError, match="run a full vacuum first"):
        table.vacuum(0, mode="lite", enforce_retention=False)
    assert table.vacuum(0, enforce_retention=False).metrics.deleted_files == 1
    assert (
        table.refresh().append(people("cat", start=5)).table.vacuum(0, mode="lite", enforce_retention=False).metrics.deleted_files
        == 0
    )


def test_feed_and_stream_from_dropped_versions_fail(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", people("ann", MARK), properties=FEED).table
    table = table.append(people("bob", start=3)).table
    version = table.erase(WHERE, history=True).version
    table = table.refresh()
    for start in range(version):
        with pytest.raises(lb.LakebedError):
            table.changes(start=start).to_arrow()
    assert table.changes(start=version).to_arrow().num_rows == 0


@pytest.mark.parametrize("kind", ["plain", "v2", "partitioned"])
@pytest.mark.parametrize("left", ["files", "log", "half"])
def test_interrupted_erase_is_finished_by_next(tmp_path: Path, kind: str, left: str) -> None:
    """Puts back the files that an interruption would have left: the log, or the files and the log."""
    root, copy = tmp_path / "t", tmp_path / "copy"
    table = made(root, kind)
    first = table.erase(WHERE)
    shutil.copytree(root, copy)
    done = first.table.erase(WHERE, history=True)
    fence = done.version
    for path in copy.rglob("*"):
        at = root / path.relative_to(copy)
        is_log = "_delta_log" in path.parts
        version = path.name.split(".")[0]
        if path.is_dir() or path.name.startswith((".", "_last")) or (not is_log and left != "files"):
            continue
        if is_log and left == "half" and version.isdigit() and int(version) < fence // 2:
            continue
        at.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, at)
    assert holders(root) != []
    kept = names(first.table)
    assert names(lb.Table(root)) == kept
    again = lb.Table(root).erase(WHERE, history=True)
    assert again.committed
    assert holders(root) == []
    assert names(again.table) == kept
    assert not lb.Table(root).erase(WHERE, history=True).committed


def test_shallow_clone_tells_of_files_elsewhere(tmp_path: Path) -> None:
    source = lb.write(tmp_path / "s", people("ann", MARK)).table
    clone = source.clone(tmp_path / "c", shallow=True).table
    result = clone.erase(WHERE, history=True)
    assert result.metrics.outside_files == 1
    assert names(result.table) == ["ann"]
    assert names(lb.Table(tmp_path / "s")) == ["ann", MARK]
    assert holders(tmp_path / "c") == []


def test_bounds_of_live_rows_hide_no_deleted_row(tmp_path: Path) -> None:
    """Another engine may write bounds of the rows that a vector leaves."""
    table = lb.write(tmp_path / "t", people("ann", MARK, "bob"), properties=VECTORS).table
    table = table.delete(WHERE).table
    commit = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    changed = []
    for line in lines(tmp_path / "t", 1):
        if "add" in line:
            stats = json.loads(line["add"]["stats"])
            stats |= {"maxValues": {"id": 3, "name": "bob"}, "minValues": {"id": 1, "name": "ann"}, "tightBounds": True}
            line["add"]["stats"] = json.dumps(stats)
        changed.append(json.dumps(line))
    commit.write_text("\n".join(changed) + "\n")
    os.remove(tmp_path / "t" / "_delta_log" / f"{1:020}.crc")
    result = lb.Table(tmp_path / "t").erase(WHERE, history=True)
    assert result.metrics.purged_files == 1
    assert holders(tmp_path / "t") == []


def lines(root: Path, version: int) -> list[dict[str, Any]]:
    text = (root / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]
