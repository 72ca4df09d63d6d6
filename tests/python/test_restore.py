"""Restore, tags and differences of versions, from Python."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed as lb

KEEP_NOTHING: dict[str, Any] = {"retention_hours": 0, "enforce_retention": False}


@pytest.fixture
def table(tmp_path: Path) -> lb.Table:
    """Version 0 has ids 1 to 3, version 1 loses id 2, and version 2 adds id 4."""
    made = lb.write(tmp_path / "t", pa.table({"id": [1, 2, 3]}), properties={"delta.enableDeletionVectors": True}).table
    made.delete("id = 2")
    return made.append(pa.table({"id": [4]})).table


def ids(table: lb.Table) -> list[int]:
    found: list[int] = sorted(table.to_arrow()["id"].to_pylist())
    return found


def test_restore_returns_version_and_metrics(table: lb.Table) -> None:
    result = table.restore(version=0, user_metadata="oops")
    assert (result.version, result.restored_version, result.committed, result.dry_run) == (3, 0, True, False)
    assert ids(result.table) == [1, 2, 3]
    metrics = result.metrics
    assert (metrics.restored_files, metrics.removed_files, metrics.num_files, metrics.missing_files) == (1, 2, 1, 0)
    assert metrics.restored_bytes == metrics.size_bytes
    entry = result.table.history(1)[0]
    assert (entry.operation, entry.user_metadata, entry.parameters) == ("RESTORE", "oops", {"version": "0", "timestamp": None})
    assert entry.metrics["numOfFilesAfterRestore"] == "1"
    assert sorted(DeltaTable(table.uri).history()[0]["operationParameters"]) == ["timestamp", "version"]


def test_restore_by_timestamp_means_the_version_at_that_time(table: lb.Table) -> None:
    moment = next(entry.timestamp for entry in table.history() if entry.version == 1)
    assert table.restore(timestamp=moment, dry_run=True).restored_version == 1
    assert table.restore(timestamp=moment).restored_version == 1
    assert ids(table.refresh()) == [1, 3]
    with pytest.raises(lb.VersionNotFoundError):
        table.restore(timestamp=moment - timedelta(days=1))


def test_restore_after_vacuum_names_missing_files(table: lb.Table) -> None:
    table.overwrite(pa.table({"id": [9]}))
    table.vacuum(**KEEP_NOTHING)
    version = table.refresh().version
    with pytest.raises(lb.VersionNotFoundError, match=r"version 0 cannot be restored, because .*\.parquet\. Restore a later"):
        table.restore(version=0)
    assert table.refresh().version == version
    result = table.restore(version=0, ignore_missing_files=True)
    assert (result.metrics.missing_files, result.metrics.restored_files, ids(result.table)) == (1, 0, [])


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({}, TypeError, "version: give either version or timestamp"),
        ({"version": 0, "timestamp": "2026-01-01T00:00:00Z"}, TypeError, "version: give either version or timestamp"),
        ({"version": -1}, lb.InvalidInputError, "version=-1: it must be 0 or more"),
        ({"version": "0"}, TypeError, "version='0': it must be a whole number"),
        ({"version": 0, "dry_run": "no"}, TypeError, "dry_run='no': it must be True or False"),
        ({"version": 0, "retries": True}, TypeError, "Table.restore() got an unexpected keyword argument 'retries'"),
    ],
)
def test_restore_refuses_bad_arguments(table: lb.Table, given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        table.restore(**given)
    assert str(caught.value) == said
    assert table.refresh().version == 2


def test_tagged_version_opens_by_name(table: lb.Table) -> None:
    made = table.tag("before", version=0)
    assert made.version == 3
    assert table.tag("now").version == 4
    assert table.tag("now").version == 4, "the tag is there already"
    assert [(tag.name, tag.version) for tag in table.tags()] == [("before", 0), ("now", 2)]
    assert ids(lb.Table(table.uri, tag="before")) == [1, 2, 3]
    assert lb.Table(table.uri, tag="now").version == 2
    assert lb.Table(table.uri).detail().tags == table.tags()
    assert lb.Table(table.uri, version=0).detail().tags == ()
    with pytest.raises(lb.InvalidInputError, match='tag "now" is of version 2: drop the tag first, or replace it'):
        table.tag("now", version=1)
    table.tag("now", version=1, replace=True)
    assert lb.Table(table.uri, tag="now").version == 1
    table.drop_tag("now")
    with pytest.raises(lb.VersionNotFoundError, match=r'there is no tag "now": the table has the tags before$'):
        lb.Table(table.uri, tag="now")
    with pytest.raises(lb.VersionNotFoundError, match='there is no tag "now"'):
        table.drop_tag("now")
    with pytest.raises(TypeError, match="give version, timestamp or tag, not several of them"):
        lb.Table(table.uri, tag="before", version=0)
    for name in ("", "a b", "ä"):
        with pytest.raises(lb.InvalidInputError):
            table.tag(name)
    with pytest.raises(lb.VersionNotFoundError):
        table.tag("later", version=99)


def test_vacuum_keeps_files_of_tagged_versions(table: lb.Table) -> None:
    table.tag("before", version=0)
    table.overwrite(pa.table({"id": [9]}))
    table.vacuum(**KEEP_NOTHING)
    assert ids(lb.Table(table.uri, tag="before")) == [1, 2, 3]
    with pytest.raises(lb.LakebedError):
        lb.Table(table.uri, version=2).to_arrow()
    with pytest.raises(lb.VersionNotFoundError, match=r'tag "gone" cannot be set: .* version 2 cannot be read, because'):
        table.tag("gone", version=2)
    # A restore and a replacement of the table keep its tags.
    assert ids(table.restore(version=0).table) == [1, 2, 3]
    lb.create(table.uri, pa.schema([("other", pa.string())]), mode="replace")
    assert [tag.name for tag in lb.Table(table.uri).tags()] == ["before"]
    assert ids(lb.Table(table.uri, tag="before")) == [1, 2, 3]
    lb.Table(table.uri).drop_tag("before")
    assert lb.Table(table.uri).vacuum(**KEEP_NOTHING).metrics.deleted_files > 0
    with pytest.raises(lb.LakebedError):
        lb.Table(table.uri, version=0).to_arrow()


def test_vacuum_keeps_named_versions_once(table: lb.Table) -> None:
    table.overwrite(pa.table({"id": [9]}))
    table.vacuum(keep_versions=[1], **KEEP_NOTHING)
    assert ids(lb.Table(table.uri, version=1)) == [1, 3]
    kept = lb.Table(table.uri)
    assert (kept.detail().kept_versions, kept.properties["lakebed.keptVersions"]) == ((1,), "1")
    with pytest.raises(lb.LakebedError):
        lb.Table(table.uri, version=2).to_arrow()
    with pytest.raises(lb.VersionNotFoundError, match="keep_versions names version 77, which cannot be read"):
        table.vacuum(keep_versions=[77], **KEEP_NOTHING)
    with pytest.raises(TypeError, match="keep_versions='1': it must be a list of whole numbers"):
        table.vacuum(keep_versions="1")  # type: ignore[arg-type]
    table.vacuum(**KEEP_NOTHING)
    with pytest.raises(lb.LakebedError):
        lb.Table(table.uri, version=1).to_arrow()
    assert lb.Table(table.uri).detail().kept_versions == ()
    assert "lakebed.keptVersions" not in lb.Table(table.uri).properties


def test_broken_tag_stops_a_vacuum(table: lb.Table) -> None:
    root = Path(table.uri.removeprefix("file://"))
    commit = root / "_delta_log" / f"{0:020}.json"
    broken = commit.read_text().replace('"configuration":{', '"configuration":{"lakebed.tag.x":"soon",')
    copy = root.parent / "copy"
    (copy / "_delta_log").mkdir(parents=True)
    (copy / "_delta_log" / commit.name).write_text(broken)
    with pytest.raises(lb.InvalidInputError, match=r"the property lakebed\.tag\.x is not a tag"):
        lb.Table(copy).vacuum()
    with pytest.raises(lb.InvalidInputError, match=r"the property lakebed\.tag\.x is not a tag"):
        lb.Table(copy).tags()


@pytest.mark.parametrize("by", ["tag", "vacuum"])
def test_log_cleanup_keeps_named_versions(by: str, tmp_path: Path) -> None:
    root = tmp_path / "t"
    properties = {"delta.checkpointInterval": 2, "delta.logRetentionDuration": "interval 1 days"}
    table = lb.write(root, pa.table({"id": [0]}), properties=properties).table
    for number in range(1, 8):
        table.append(pa.table({"id": [number]}))
    if by == "tag":
        table.tag("third", version=3)
    else:
        table.vacuum(keep_versions=[3])
    assert lb.Table(root).detail().kept_versions == (3,)
    old = time.time() - 10 * 86_400
    for path in (root / "_delta_log").iterdir():
        os.utime(path, (old, old))
    for number in range(8, 12):
        table.append(pa.table({"id": [number]}))
    names = sorted(path.name for path in (root / "_delta_log").iterdir() if path.suffix == ".json")
    assert f"{0:020}.json" not in names, "the cleanup ran"
    assert f"{5:020}.json" not in names
    assert ids(lb.Table(root, version=3)) == [0, 1, 2, 3]
    assert DeltaTable(str(root)).to_pyarrow_table().num_rows == 12
    with pytest.raises(lb.VersionNotFoundError):
        lb.Table(root, version=5)


def test_tag_does_not_disturb_other_writers(table: lb.Table) -> None:
    other = lb.Table(table.uri)
    table.tag("one")
    other.append(pa.table({"id": [5]}))
    table.tag("two")
    other.delete("id = 5", retries=False)
    table.drop_tag("one")
    assert [tag.name for tag in other.tags()] == ["two"]


def test_diff_shows_what_changed(table: lb.Table) -> None:
    wide = table.append(pa.table({"id": [5], "more": ["x"]}), schema_mode="merge").table
    found = wide.diff(0)
    assert (found.from_version, found.to_version) == (0, 3)
    assert found.schema == lb.SchemaDifference(added=("more",))
    assert (found.properties, found.features_added, found.features_dropped) == ({}, (), ())
    assert (found.partition_columns, found.clustering_columns) == (None, None)
    files = found.files
    assert (files.added_files, files.added_rows, files.removed_files, files.removed_rows) == (2, 2, 0, 0)
    assert (files.changed_files, files.changed_deleted_rows) == (1, 1)
    assert [commit.version for commit in found.commits] == [3, 2, 1]
    back = wide.diff(3, 0)
    assert back.schema == lb.SchemaDifference(dropped=("more",))
    assert (back.files.removed_files, back.files.removed_rows, back.files.changed_deleted_rows) == (2, 2, -1)
    assert [commit.version for commit in back.commits] == [3, 2, 1]
    same = wide.diff(2, 2)
    assert not same.schema
    assert same.files == lb.FilesDifference()
    assert len(same.commits) == 0
    tagged = wide.tag("x").diff(3)
    assert list(tagged.properties) == ["lakebed.tag.x"]
    assert tagged.properties["lakebed.tag.x"][0] is None
    clustered = wide.alter.cluster_by("id").diff(4)
    assert clustered.clustering_columns == ((), ("id",))
    assert set(clustered.features_added) == {"clustering", "domainMetadata"}
    with pytest.raises(lb.VersionNotFoundError):
        wide.diff(0, 99)


def test_detail_of_another_version(table: lb.Table) -> None:
    assert table.detail(version=0) == lb.Table(table.uri, version=0).detail()
    assert table.detail(version=0).version == 0
    with pytest.raises(lb.VersionNotFoundError):
        table.detail(version=9)
