"""Damage, the level of a check that finds it, and whether a repair mends it.

Each case damages a copy of a table of the corpus, or a table made here. The table must have no
finding before, the planted finding at its level and none before it, and after a repair that mends
it the same rows as before. The tests with Delta Spark read the repaired tables with it, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
from corpus import canon
from corpus.oracle import Oracle
from damage import Action, Broken, cut, empty, flip, garble, lengthen_footer, zero_middle

LEVELS = ("log", "state", "files", "footers", "rows", "history")

HINTED = "checkpoint_every_second_commit"  # checkpoints at 2, 4, 6, 8, 10; all commits are there
PARTS = "several_kinds_of_checkpoint"
V2 = "v2_checkpoint_with_all_commits"
CLASSIC_ALONE = "classic_checkpoint_with_json"  # the commits before the checkpoint are gone
PLAIN = "columns_added"  # versions 0 to 3, no checkpoint
VECTORS = "several_vectors_in_one_file"


@dataclass(frozen=True)
class Planted:
    """Damage of a table, and what must come of it."""

    table: str
    breaks: Callable[[Broken], object]
    #: The finding.
    kind: str
    #: The first level that finds it.
    level: str
    #: The options of the repair that mends it with all rows. None if no repair does.
    mended_by: dict[str, Any] | None = None


def top(table: Broken) -> Path:
    return table.checkpoints()[-1]


def hint(change: Callable[[Action], bytes | str | Action]) -> Callable[[Broken], object]:
    return lambda table: table.put_hint(change(table.hint()))


def checksum(change: Callable[[Action], object]) -> Callable[[Broken], object]:
    def breaks(table: Broken) -> None:
        path = table.log / f"{10:020}.crc"
        content = json.loads(path.read_bytes())
        change(content)
        path.write_text(json.dumps(content))

    return breaks


def stats(change: Callable[[Action], object]) -> Callable[[Broken], object]:
    def edit(kind: str, content: Action) -> None:
        if kind == "add" and content.get("stats"):
            told = json.loads(content["stats"])
            change(told)
            content["stats"] = json.dumps(told)

    return lambda table: table.edit(edit, 0)


def zero_first_page(path: Path) -> None:
    """Zeroes the header of the first page. The footer stays."""
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(16) + content[20:])


def first_column(told: Action) -> str:
    return next(iter(told["minValues"]))


MENDS: dict[str, Any] = {}
LOG = {"level": "log"}
STATE = {"level": "state"}
FOOTERS = {"level": "footers"}

PLANTED: dict[str, Planted] = {
    # The hint.
    "hint_empty": Planted(HINTED, hint(lambda _: b""), "hint_unreadable", "log", LOG),
    "hint_torn": Planted(HINTED, hint(lambda _: b'{"version":10,"siz'), "hint_unreadable", "log", LOG),
    "hint_of_noise": Planted(HINTED, hint(lambda _: bytes(range(256))), "hint_unreadable", "log", LOG),
    "hint_with_wrong_checksum": Planted(HINTED, hint(lambda old: {**old, "checksum": "0" * 32}), "hint_unreadable", "log", LOG),
    "hint_to_come": Planted(HINTED, hint(lambda _: {"version": 99, "size": 3}), "hint_wrong", "log", LOG),
    "hint_without_checkpoint": Planted(HINTED, hint(lambda _: {"version": 9, "size": 3}), "hint_wrong", "log", LOG),
    "hint_with_wrong_parts": Planted(
        HINTED, hint(lambda old: {"version": old["version"], "size": 7, "parts": 7}), "hint_wrong", "log", LOG
    ),
    "hint_with_wrong_counts": Planted(
        HINTED, hint(lambda old: {"version": old["version"], "size": 1, "numOfAddFiles": 1000}), "hint_wrong", "state", STATE
    ),
    "hint_of_older_checkpoint": Planted(HINTED, hint(lambda _: {"version": 4, "size": 7}), "hint_outdated", "log", LOG),
    # Checkpoints.
    "checkpoint_missing": Planted(HINTED, lambda table: top(table).unlink(), "hint_wrong", "log", LOG),
    "checkpoint_empty": Planted(HINTED, lambda table: empty(top(table)), "checkpoint_incomplete", "log", LOG),
    "checkpoint_cut": Planted(HINTED, lambda table: cut(top(table)), "checkpoint_unreadable", "state", STATE),
    "checkpoint_of_noise": Planted(HINTED, lambda table: garble(top(table)), "checkpoint_unreadable", "state", STATE),
    "checkpoint_with_zeros": Planted(HINTED, lambda table: zero_middle(top(table)), "checkpoint_unreadable", "state", STATE),
    "checkpoint_with_an_endless_footer": Planted(
        HINTED, lambda table: lengthen_footer(top(table)), "checkpoint_unreadable", "state", STATE
    ),
    "all_checkpoints_cut": Planted(
        HINTED, lambda table: [cut(path) for path in table.checkpoints()], "checkpoint_unreadable", "state", {"level": "history"}
    ),
    "sidecar_missing": Planted(V2, lambda table: table.sidecars()[-1].unlink(), "checkpoint_unreadable", "state", STATE),
    "sidecar_cut": Planted(V2, lambda table: cut(table.sidecars()[-1]), "checkpoint_unreadable", "state", STATE),
    "v2_top_torn": Planted(
        V2, lambda table: top(table).write_bytes(top(table).read_bytes()[:-20]), "checkpoint_unreadable", "state", STATE
    ),
    "only_checkpoint_cut": Planted(CLASSIC_ALONE, lambda table: cut(top(table)), "state_unreadable", "log"),
    # Checksums.
    "checksum_torn": Planted(HINTED, lambda table: cut(table.log / f"{10:020}.crc"), "checksum_unreadable", "state", STATE),
    "checksum_counts": Planted(HINTED, checksum(lambda crc: crc.update(numFiles=999)), "checksum_wrong", "state", STATE),
    "checksum_bytes": Planted(HINTED, checksum(lambda crc: crc.update(tableSizeBytes=1)), "checksum_wrong", "state", STATE),
    "checksum_of_another": Planted(
        HINTED, checksum(lambda crc: crc["metadata"].update(id="another")), "checksum_wrong", "state", STATE
    ),
    "old_checksum_torn": Planted(
        HINTED, lambda table: cut(table.log / f"{3:020}.crc"), "checksum_unreadable", "history", {"level": "history"}
    ),
    # Commits.
    "gap_in_commits": Planted(PLAIN, lambda table: table.commit(1).unlink(), "commit_missing", "log"),
    "first_commit_missing": Planted(PLAIN, lambda table: table.commit(0).unlink(), "commit_missing", "log"),
    "gap_below_checkpoint": Planted(HINTED, lambda table: table.commit(7).unlink(), "old_commit_missing", "log"),
    "commit_of_noise": Planted(PLAIN, lambda table: garble(table.commit(2)), "commit_unreadable", "log"),
    "commit_empty": Planted(PLAIN, lambda table: empty(table.commit(1)), "commit_unreadable", "log"),
    "commit_empty_below_checkpoint": Planted(HINTED, lambda table: empty(table.commit(7)), "old_commit_unreadable", "log"),
    "commit_cut_below_checkpoint": Planted(HINTED, lambda table: cut(table.commit(7)), "old_commit_unreadable", "history"),
    "schema_invalid": Planted(
        PLAIN,
        lambda table: table.edit(lambda kind, content: content.update(schemaString="{}") if kind == "metaData" else None),
        "definition_invalid",
        "log",
    ),
    "feature_unknown": Planted(
        PLAIN,
        lambda table: table.add_line(
            {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": ["newest"],
                    "writerFeatures": ["newest"],
                }
            },
            3,
        ),
        "feature_unsupported",
        "log",
    ),
    # File actions.
    "partition_value_that_is_no_number": Planted(
        "several_columns_out_of_order",
        lambda table: table.edit(lambda kind, content: content["partitionValues"].update(a="one") if kind == "add" else None),
        "file_entry_invalid",
        "state",
    ),
    # Data files.
    "data_file_missing": Planted(PLAIN, lambda table: table.data_files()[0].unlink(), "data_file_missing", "files"),
    "data_file_cut": Planted(PLAIN, lambda table: cut(table.data_files()[0]), "data_file_resized", "files"),
    "data_file_of_noise": Planted(PLAIN, lambda table: garble(table.data_files()[0]), "footer_unreadable", "footers"),
    "data_file_with_zeros": Planted(PLAIN, lambda table: zero_middle(table.data_files()[0]), "footer_unreadable", "footers"),
    "first_page_of_zeros": Planted(PLAIN, lambda table: zero_first_page(table.data_files()[0]), "rows_unreadable", "rows"),
    # Statistics.
    "row_count_wrong": Planted(PLAIN, stats(lambda told: told.update(numRecords=77)), "row_count_wrong", "footers", FOOTERS),
    "bounds_wrong": Planted(
        PLAIN, stats(lambda told: told["maxValues"].update({first_column(told): -99})), "bounds_wrong", "footers", FOOTERS
    ),
    "null_count_wrong": Planted(
        PLAIN, stats(lambda told: told["nullCount"].update({first_column(told): 1})), "null_count_wrong", "footers", FOOTERS
    ),
    # Deletion vectors.
    "vector_file_missing": Planted(VECTORS, lambda table: table.vector_file().unlink(), "deletion_vector_missing", "files"),
    "vector_file_cut": Planted(VECTORS, lambda table: cut(table.vector_file()), "deletion_vector_torn", "files"),
    "vector_file_of_noise": Planted(VECTORS, lambda table: garble(table.vector_file()), "deletion_vector_invalid", "footers"),
    "vector_with_another_cardinality": Planted(
        VECTORS,
        lambda table: table.edit(
            lambda kind, content: content["deletionVector"].update(cardinality=999) if content.get("deletionVector") else None, 3
        ),
        "deletion_vector_invalid",
        "footers",
    ),
    "vector_with_a_flipped_bit": Planted(
        VECTORS, lambda table: flip(table.vector_file(), 25), "deletion_vector_invalid", "footers"
    ),
}


def opened(table: Broken, level: str) -> lb.CheckResult:
    return lb.check(table.root, level, absolute_paths=table.oracle.outside)  # type: ignore[arg-type]


def read(table: Broken) -> list[str]:
    return canon.rows(lb.Table(table.root).to_arrow())


@pytest.mark.parametrize("name", PLANTED)
def test_check_finds_damage_at_its_level(name: str, tmp_path: Path, corpus_by_name: dict[str, Oracle]) -> None:
    case = PLANTED[name]
    table = Broken(corpus_by_name[case.table], tmp_path)
    case.breaks(table)
    first = LEVELS.index(case.level)
    for number, level in enumerate(LEVELS):
        found = opened(table, level)
        assert (case.kind in found.counts) == (number >= first), f"{level}: {found}"
        if number < first:
            assert not found.findings, f"{level}: {found}"


@pytest.mark.parametrize("name", [name for name, case in PLANTED.items() if case.mended_by])
def test_repair_mends_damage_without_loss(name: str, tmp_path: Path, corpus_by_name: dict[str, Oracle]) -> None:
    case = PLANTED[name]
    oracle = corpus_by_name[case.table]
    table = Broken(oracle, tmp_path)
    case.breaks(table)
    assert case.mended_by is not None
    before = sorted((path, path.stat().st_mtime_ns) for path in table.root.rglob("*") if path.is_file())
    planned = lb.repair(table.root, **case.mended_by)
    assert planned.dry_run
    assert planned.actions
    assert before == sorted((path, path.stat().st_mtime_ns) for path in table.root.rglob("*") if path.is_file())
    done = lb.repair(table.root, dry_run=False, **case.mended_by)
    assert done.actions == planned.actions
    assert not done.check.findings, done.check
    assert done.check.ok
    assert read(table) == oracle.rows(oracle.latest)
    assert not opened(table, "history").findings
    assert not lb.repair(table.root, level="history").actions


@pytest.mark.parametrize("name", [name for name, case in PLANTED.items() if not case.mended_by])
def test_repair_leaves_what_it_cannot_mend(name: str, tmp_path: Path, corpus_by_name: dict[str, Oracle]) -> None:
    case = PLANTED[name]
    table = Broken(corpus_by_name[case.table], tmp_path)
    case.breaks(table)
    before = {path: path.read_bytes() for path in table.root.rglob("*") if path.is_file()}
    done = lb.repair(table.root, dry_run=False, level="history")
    assert not done.actions
    assert before == {path: path.read_bytes() for path in table.root.rglob("*") if path.is_file()}


def made(path: Path) -> lb.Table:
    """Returns a table of three versions with one file each."""
    for number in range(3):
        table = lb.write(path, pa.table({"id": [number * 10, number * 10 + 1]})).table
    return table


def test_dropped_files_leave_the_other_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    file = table.scan(where="id = 10").files().to_pylist()[0]["path"]
    (tmp_path / "t" / file).unlink()
    planned = table.repair(drop_missing_files=True)
    assert [(action.kind, action.file) for action in planned.actions] == [("drop_file", file)]
    done = table.repair(dry_run=False, drop_missing_files=True, user_metadata="lost disk")
    assert done.commits == (3,)
    assert done.check.ok
    assert sorted(table.refresh().to_arrow()["id"].to_pylist()) == [0, 1, 20, 21]
    (entry,) = table.refresh().history(1)
    assert (entry.operation, entry.user_metadata) == ("FSCK", "lost disk")


def test_cut_log_keeps_the_commits_aside(tmp_path: Path) -> None:
    made(tmp_path / "t")
    log = tmp_path / "t" / "_delta_log"
    broken = log / f"{2:020}.json"
    broken.write_bytes(b'{"add":{"path')
    (log / f".{broken.name}.crc").write_bytes(b"crc\x00of Hadoop")
    assert not lb.repair(tmp_path / "t", dry_run=False).actions
    done = lb.repair(tmp_path / "t", dry_run=False, truncate_log=True)
    assert {action.kind for action in done.actions} == {"cut_commit"}
    assert (done.check.version, done.check.ok) == (1, True)
    (aside,) = (log / "_damaged").glob("*.json.*")
    assert aside.read_bytes() == b'{"add":{"path'
    assert not (log / f".{broken.name}.crc").exists()
    assert lb.write(tmp_path / "t", pa.table({"id": [99]})).version == 2
    assert sorted(lb.Table(tmp_path / "t").to_arrow()["id"].to_pylist()) == [0, 1, 10, 11, 99]


def test_cut_below_a_valid_commit_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "t")
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").write_bytes(b"")
    with pytest.raises(lb.InvalidInputError, match=r"cannot be cut after version 0, because 0{19}2\.json is a later file"):
        lb.repair(tmp_path / "t", dry_run=False, truncate_log=True)


def test_checkpoint_over_hadoop_checksum_is_replaced(tmp_path: Path) -> None:
    """A stale `.crc` of Hadoop beside a new file would keep Delta Spark from reading it."""
    table = made(tmp_path / "t")
    checkpoint = tmp_path / "t" / "_delta_log" / table.checkpoint().name
    beside = [checkpoint, checkpoint.parent / "_last_checkpoint"]
    for path in beside:
        garble(path)
        (path.parent / f".{path.name}.crc").write_bytes(b"crc\x00of Hadoop")
    assert lb.repair(tmp_path / "t", dry_run=False).check.ok
    assert not any((path.parent / f".{path.name}.crc").exists() for path in beside)
    assert all(path.exists() for path in beside)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"dry_run": "no"}, TypeError),
        ({"level": "deep"}, lb.InvalidInputError),
        ({"drop_missing_files": 1}, TypeError),
        ({"truncate": True}, TypeError),
        ({"timeout": -1}, lb.InvalidInputError),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for call in (table.repair, lambda **given: lb.repair(tmp_path / "t", **given)):
        with pytest.raises(error):
            call(**options)


@pytest.mark.spark
def test_delta_spark_reads_repaired_tables(tmp_path: Path, spark: Any, corpus_by_name: dict[str, Oracle]) -> None:
    for name, case in PLANTED.items():
        if case.mended_by is None:
            continue
        (tmp_path / name).mkdir()
        table = Broken(corpus_by_name[case.table], tmp_path / name)
        case.breaks(table)
        # An edited commit stands for one that another writer wrote so, with no checksum of Hadoop.
        for hidden in table.log.glob(".*.json.crc"):
            hidden.unlink()
        lb.repair(table.root, dry_run=False, **case.mended_by)
        found = spark.read.format("delta").load(str(table.root)).count()
        assert found == len(table.oracle.rows(table.oracle.latest)), name
    table = made(tmp_path / "dropped")
    next((tmp_path / "dropped").glob("*.parquet")).unlink()
    table.repair(dry_run=False, drop_missing_files=True)
    assert spark.read.format("delta").load(str(tmp_path / "dropped")).count() == 4
    made(tmp_path / "cut")
    (tmp_path / "cut" / "_delta_log" / f"{2:020}.json").write_bytes(b"{")
    lb.repair(tmp_path / "cut", dry_run=False, truncate_log=True)
    assert spark.read.format("delta").load(str(tmp_path / "cut")).count() == 4
