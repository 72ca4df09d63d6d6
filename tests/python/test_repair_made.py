"""Damage of tables that are made here: deletion vectors, row ids, in-commit timestamps, change data
files and log compactions. `test_repair.py` damages the tables of the corpus.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

LEVELS = ("log", "state", "files", "footers", "rows", "history")
MONTH = 30 * 24 * 3600


def log(root: Path, name: str) -> Path:
    return root / "_delta_log" / name


def edit(root: Path, version: int, change: Callable[[str, dict[str, Any]], object]) -> None:
    """Runs `change(kind, action)` on the actions of a commit, and deletes the checksums."""
    commit = log(root, f"{version:020}.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        for kind, content in action.items():
            change(kind, content)
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in (root / "_delta_log").glob("*.crc"):
        checksum.unlink()


def made(root: Path, **properties: str) -> lb.Table:
    """Returns a table of three versions. Each adds ten rows."""
    options: dict[str, Any] = {"properties": {f"delta.{name}": value for name, value in properties.items()}}
    for number in range(3):
        table = lb.write(root, pa.table({"id": range(number * 10, number * 10 + 10)}), **options if number == 0 else {}).table
    return table


def with_vectors(root: Path, **properties: str) -> lb.Table:
    """Returns a table in which a deletion vector hides every third row of 2 of 3 files."""
    return made(root, enableDeletionVectors="true", **properties).delete("id % 3 = 0 AND id >= 10").table


def ids(root: Path) -> list[int]:
    return sorted(lb.Table(root).to_arrow()["id"].to_pylist())


def vector_files(root: Path) -> list[Path]:
    return list(root.rglob("deletion_vector_*.bin"))


def lower_mark(root: Path) -> None:
    made(root, enableRowTracking="true")
    for version in range(3):
        edit(
            root,
            version,
            lambda kind, content: content.update(configuration='{"rowIdHighWaterMark":4}') if kind == "domainMetadata" else None,
        )


def lose_row_id(root: Path) -> None:
    made(root, enableRowTracking="true")
    edit(root, 1, lambda kind, content: content.pop("baseRowId") if kind == "add" else None)


def turn_back_time(root: Path) -> None:
    made(root, enableInCommitTimestamps="true")
    edit(root, 1, lambda kind, content: content.update(inCommitTimestamp=5) if kind == "commitInfo" else None)


def lose_time(root: Path) -> None:
    made(root, enableInCommitTimestamps="true")
    edit(root, 1, lambda kind, content: content.pop("inCommitTimestamp") if kind == "commitInfo" else None)


def lose_changes(root: Path) -> None:
    made(root, enableChangeDataFeed="true").update({"id": "id + 100"}, where="id = 3")
    for file in (root / "_change_data").glob("*.parquet"):
        file.unlink()


def compacted(root: Path) -> Path:
    made(root).compact_log(1, 2)
    return log(root, f"{1:020}.{2:020}.compacted.json")


def lose_line_of_compaction(root: Path) -> None:
    file = compacted(root)
    lines = file.read_text().splitlines(keepends=True)
    lines.remove(next(line for line in lines if line.startswith('{"add"')))
    file.write_text("".join(lines))


def tear_compaction(root: Path) -> None:
    compacted(root).write_text('{"add":{"pa')


def repeat_action(kind: str) -> Callable[[Path], object]:
    def breaks(root: Path) -> None:
        made(root)
        commit = log(root, f"{2 if kind == 'add' else 0:020}.json")
        line = next(line for line in commit.read_text().splitlines(keepends=True) if line.startswith(f'{{"{kind}"'))
        commit.write_text(commit.read_text() + line)

    return breaks


def change_add(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def breaks(root: Path) -> None:
        made(root)
        edit(root, 1, lambda kind, content: change(content) if kind == "add" else None)

    return breaks


def forget_feature(root: Path) -> None:
    with_vectors(root)

    def change(kind: str, content: dict[str, Any]) -> None:
        if kind == "protocol":
            content.clear()
            content.update(minReaderVersion=1, minWriterVersion=2)

    edit(root, 0, change)


def lose_newest_commit(root: Path) -> None:
    made(root)
    shutil.copy(log(root, f"{2:020}.crc"), log(root, f"{3:020}.crc"))


def leave_orphan(root: Path) -> None:
    with_vectors(root)
    orphan = root / "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin"
    shutil.copy(vector_files(root)[0], orphan)
    old = orphan.stat().st_mtime - MONTH
    os.utime(orphan, (old, old))


@dataclass(frozen=True)
class Planted:
    """Damage, the finding at its first level, and the kinds of the actions that mend it."""

    breaks: Callable[[Path], object]
    kind: str
    level: str
    mended_by: tuple[str, ...] = ()


PLANTED = {
    "add_twice": Planted(repeat_action("add"), "commit_contradictory", "log"),
    "metadata_twice": Planted(repeat_action("metaData"), "commit_contradictory", "log"),
    "vector_without_feature": Planted(forget_feature, "file_entry_invalid", "state"),
    "checksum_without_version": Planted(lose_newest_commit, "checksum_wrong", "state", ("move_aside", "write_checkpoint")),
    "statistics_torn": Planted(
        change_add(lambda add: add.update(stats='{"numRec')), "statistics_unreadable", "footers", ("compute_statistics",)
    ),
    "row_id_mark_too_low": Planted(lower_mark, "row_id_mark_wrong", "state", ("raise_row_id_mark",)),
    "row_id_missing": Planted(lose_row_id, "file_entry_invalid", "state"),
    "timestamp_back": Planted(turn_back_time, "commit_time_wrong", "history"),
    "timestamp_missing": Planted(lose_time, "commit_time_wrong", "history"),
    "change_file_missing": Planted(lose_changes, "change_file_missing", "history"),
    "compaction_without_a_file": Planted(lose_line_of_compaction, "compaction_wrong", "state", ("move_aside",)),
    "compaction_torn": Planted(tear_compaction, "compaction_unreadable", "state", ("move_aside",)),
    "row_count_wrong": Planted(
        change_add(lambda add: add.update(stats='{"numRecords":77}')), "row_count_wrong", "footers", ("compute_statistics",)
    ),
    "orphaned_vector": Planted(leave_orphan, "deletion_vector_orphaned", "history", ("delete_orphan",)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_damage_is_found_and_mended(name: str, tmp_path: Path) -> None:
    case, root = PLANTED[name], tmp_path / "t"
    case.breaks(root)
    rows = ids(root)
    first = LEVELS.index(case.level)
    for number in range(max(first - 1, 0), first + 1):
        assert list(lb.check(root, LEVELS[number]).counts) == ([case.kind] if number == first else []), LEVELS[number]
    planned = lb.repair(root, level="history")
    assert tuple(action.kind for action in planned.actions) == case.mended_by
    done = lb.repair(root, level="history", dry_run=False)
    assert done.actions == planned.actions
    assert bool(done.check.findings) == (not case.mended_by)
    assert ids(root) == rows


@pytest.mark.parametrize("name", [name for name, case in PLANTED.items() if case.mended_by])
def test_remedy_of_finding_mends_it(name: str, tmp_path: Path) -> None:
    case, root = PLANTED[name], tmp_path / "t"
    case.breaks(root)
    table = lb.Table(root)
    (finding,) = table.check(case.level).findings  # type: ignore[arg-type]
    assert finding.remedy is not None
    eval(finding.remedy, {"table": table})
    assert not lb.check(root, "history").findings


def test_remedy_of_invalid_vector_names_the_level(tmp_path: Path) -> None:
    root = tmp_path / "t"
    with_vectors(root)
    for file in vector_files(root):
        file.write_bytes(bytes(file.stat().st_size))
    finding = lb.check(root, "footers").findings[0]
    assert finding.remedy == 'table.repair(lost_deletion_vectors=..., level="footers")'


def test_raised_mark_gives_new_row_ids(tmp_path: Path) -> None:
    lower_mark(tmp_path / "t")
    assert lb.repair(tmp_path / "t", level="state", dry_run=False).commits == (3,)
    table = lb.write(tmp_path / "t", pa.table({"id": [30]})).table
    found = table.to_arrow(["_metadata.row_id"])["_metadata.row_id"].to_pylist()
    assert sorted(found) == list(range(31))


@pytest.mark.parametrize("breaks", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:9])])
def test_lost_vectors_are_left_without_choice(breaks: Callable[[Path], object], tmp_path: Path) -> None:
    root = tmp_path / "t"
    with_vectors(root)
    for file in vector_files(root):
        breaks(file)
    done = lb.repair(root, level="history", dry_run=False)
    assert (done.actions, done.commits) == ((), ())
    finding = done.check.findings[0]
    assert finding.remedy == "table.repair(lost_deletion_vectors=...)"
    assert "its deleted rows come back, or all of its rows are lost" in finding.meaning


@pytest.mark.parametrize("tight", [True, False])
def test_lost_vectors_bring_deleted_rows_back(tight: bool, tmp_path: Path) -> None:
    root = tmp_path / "t"
    with_vectors(root)

    def tighten(kind: str, content: dict[str, Any]) -> None:
        if kind == "add" and tight:
            told = json.loads(content["stats"])
            told.update(tightBounds=True, minValues={"id": told["minValues"]["id"] + 1})
            content["stats"] = json.dumps(told)

    edit(root, 3, tighten)
    for file in vector_files(root):
        file.unlink()
    planned = lb.repair(root, lost_deletion_vectors="restore_deleted_rows")
    assert [action.kind for action in planned.actions] == ["drop_deletion_vector"] * 2
    ending = "which deletes 3 rows, does not exist: the deleted rows come back"
    assert all(action.reason.endswith(ending) for action in planned.actions)
    assert lb.Table(root).version == 3
    done = lb.repair(root, level="rows", dry_run=False, lost_deletion_vectors="restore_deleted_rows")
    assert (done.commits, done.check.findings) == ((4,), ())
    assert ids(root) == list(range(30))
    assert lb.Table(root).to_arrow(where="id = 12")["id"].to_pylist() == [12]
    (entry,) = lb.Table(root).history(1)
    assert (entry.operation, entry.metrics) == (
        "FSCK",
        {"numDeletionVectorsRemoved": "2", "numRestoredRows": "6"},
    )


def test_files_of_lost_vectors_are_dropped(tmp_path: Path) -> None:
    root = tmp_path / "t"
    with_vectors(root, enableRowTracking="true")
    for file in vector_files(root):
        file.write_bytes(bytes(file.stat().st_size))
    planned = lb.repair(root, level="footers", lost_deletion_vectors="drop_files")
    assert [action.kind for action in planned.actions] == ["drop_file"] * 2
    assert all(action.reason.endswith(": all rows of the file are lost") for action in planned.actions)
    done = lb.repair(root, level="footers", dry_run=False, lost_deletion_vectors="drop_files")
    assert (done.commits, done.check.findings) == ((4,), ())
    assert ids(root) == list(range(10))


def test_sound_vectors_stay_beside_lost_ones(tmp_path: Path) -> None:
    """Two commits write two vector files, and one of them is lost."""
    root = tmp_path / "t"
    with_vectors(root)
    before = set(vector_files(root))
    lb.Table(root).delete("id = 1")
    (new,) = set(vector_files(root)) - before
    new.unlink()
    done = lb.repair(root, dry_run=False, lost_deletion_vectors="restore_deleted_rows")
    assert len(done.actions) == 1
    assert done.check.ok
    assert ids(root) == [number for number in range(30) if number < 10 or number % 3 != 0]


def test_choice_without_value_names_the_choices(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(TypeError, match="one of restore_deleted_rows, drop_files"):
        lb.repair(tmp_path / "t", lost_deletion_vectors=...)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", ["young", "named_by_a_removed_file", "named_by_an_old_version", "tagged", "linked"])
def test_vectors_that_are_no_orphans_stay(case: str, tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = with_vectors(root)
    if case == "young":
        shutil.copy(vector_files(root)[0], root / "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin")
    elif case == "named_by_a_removed_file":
        table.delete("id >= 10")
    elif case == "named_by_an_old_version":
        table.delete("id >= 10").table.checkpoint()
    elif case == "tagged":
        table.tag("kept")
        table.delete("id >= 10")
    else:
        orphan = root / "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin"
        shutil.copy(vector_files(root)[0], orphan)
        (root / "link").symlink_to(orphan)
    if case != "young":
        for file in vector_files(root):
            os.utime(file, (0, 0))
    before = sorted(vector_files(root))
    done = lb.repair(root, level="history", dry_run=False)
    assert (done.actions, sorted(vector_files(root))) == ((), before)


@pytest.mark.spark
def test_delta_spark_reads_tables_after_choice(tmp_path: Path, spark: Any) -> None:
    expected = {"restore_deleted_rows": list(range(30)), "drop_files": list(range(10))}
    for choice, rows in expected.items():
        root = tmp_path / choice
        with_vectors(root, enableRowTracking="true")
        for file in vector_files(root):
            file.unlink()
        lb.repair(root, dry_run=False, lost_deletion_vectors=choice)  # type: ignore[arg-type]
        found = spark.read.format("delta").load(str(root)).orderBy("id").collect()
        assert [row.id for row in found] == rows, choice
        spark.createDataFrame([(99,)], "id bigint").write.format("delta").mode("append").save(str(root))
        table = lb.Table(root)
        assert table.check("rows").ok
        ids = table.to_arrow(["_metadata.row_id"])["_metadata.row_id"].to_pylist()
        assert len(set(ids)) == len(rows) + 1
