"""OPTIMIZE: the files that it rewrites, the files that stay, and the unchanged rows. Clustering is
in `test_clustering`.
"""

from __future__ import annotations

import json
import math
import shutil
import threading
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lakebed as lb
from corpus import canon
from corpus.oracle import Oracle
from dml import log
from dml.model import FEED, TRACKING, VECTORS
from layouts.proof import optimize, rows
from layouts.tables import live, numbers, skipped, stats


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


# Small files


def test_small_files_of_a_partition_become_one(path: str) -> None:
    """The partition values are odd strings, dates and nulls. Files with the same spelling of a
    value are combined, and files with other spellings of it are not.
    """
    texts = ["a", "", None, "a/b c%=?+&#", "ü'\"x"]
    for part in range(3):
        data = {"id": range(part * 10, part * 10 + 10), "s": texts * 2, "d": [date(2024, 2, 29), None] * 5}
        lb.write(path, pa.table(data), partition_by=["s", "d"], properties={TRACKING: True} if part == 0 else None)
    before = {json.dumps(add["partitionValues"], sort_keys=True) for add in live(path)}
    result = optimize(path)
    assert {json.dumps(add["partitionValues"], sort_keys=True) for add in live(path)} == before
    # An empty string is a null.
    assert (result.metrics.groups, result.metrics.added_files, len(before)) == (8, 8, 8)


def test_partition_values_keep_their_text(path: str) -> None:
    """Another writer may have spelled the same value in several ways."""
    lb.write(path, pa.table({"id": [1], "p": pa.array([Decimal("1.50")], pa.decimal128(5, 2))}), partition_by="p")
    lb.write(path, pa.table({"id": [2], "p": pa.array([Decimal("1.50")], pa.decimal128(5, 2))}))
    lb.write(path, pa.table({"id": [3], "p": pa.array([Decimal("1.50")], pa.decimal128(5, 2))}))
    commit = Path(path) / "_delta_log" / f"{1:020}.json"
    commit.write_text(commit.read_text().replace('"1.50"', '"1.5"'))
    before = rows(path)
    assert lb.Table(path).optimize().metrics.removed_files == 2
    assert rows(path) == before
    assert {add["partitionValues"]["p"] for add in live(path)} <= {"1.5", "1.50"}


def test_files_of_about_the_target_size_stay(path: str) -> None:
    """Large files stay, a single file stays, and a large file with few other rows stays."""
    noise = np.random.default_rng(1).integers(0, 2**62, 100_000)
    lb.write(path, pa.table({"id": noise}))
    (large,) = live(path)
    lb.write(path, pa.table({"id": noise[:1000]}))
    for target in (large["size"] * 10, large["size"] * 4 // 3, large["size"] // 2):
        assert optimize(path, target_file_size=target).commits == 0
    lb.write(path, pa.table({"id": noise[1000:2000]}))
    result = optimize(path, target_file_size=large["size"] * 10)
    assert (result.metrics.removed_files, large["path"] in log.live(path, result.version)) == (2, True)
    lb.write(path, pa.table({"id": noise[:50_000]}))
    assert optimize(path, target_file_size=large["size"] * 10).metrics.removed_files == 3
    assert optimize(path, target_file_size=large["size"] // 8).commits == 0


def test_optimize_rewrites_rows_seldom(path: str) -> None:
    written = appended = 0
    for number in range(24):
        data = pa.table({"id": np.random.default_rng(number).integers(0, 2**62, 2000)})
        version = lb.write(path, data).version
        appended += sum(add["size"] for add in log.actions(path, version, "add"))
        written += lb.Table(path).optimize().metrics.added_bytes
    # A row is rewritten only when the other rows of its file have grown by at least a quarter, and
    # not with every append.
    assert written < 6 * appended
    assert len(live(path)) <= 8
    assert optimize(path).commits == 0


def test_fewer_small_files_than_asked_for_stay(path: str) -> None:
    for first in range(4):
        lb.write(path, numbers(first, 1))
    assert optimize(path, min_files=5).commits == 0
    assert optimize(path, min_files=4).metrics.removed_files == 4


def test_optimize_uses_target_size_of_table(path: str) -> None:
    for number in range(8):
        data = pa.table({"id": np.random.default_rng(number).integers(0, 2**62, 10_000)})
        lb.write(path, data, properties={"delta.targetFileSize": "170kb"} if number == 0 else None)
    result = optimize(path)
    assert result.metrics.added_files == 4
    assert optimize(path, target_file_size=2 * 170_000).metrics.added_files == 2


def test_optimize_by_group_commits_each(path: str) -> None:
    for first in range(3):
        lb.write(path, pa.table({"id": range(first * 4, first * 4 + 4), "p": ["a", "b", "c", None]}), partition_by="p")
    result = optimize(path, commit="group", user_metadata="tidy")
    assert (result.commits, result.version, result.metrics.groups) == (4, 6, 4)
    assert [entry.user_metadata for entry in result.table.history(4)] == ["tidy"] * 4


@pytest.mark.parametrize("options", [{}, {"zorder_by": "id"}, {"cluster_by": "id"}], ids=str)
def test_who_watches_is_told(path: str, options: dict[str, Any]) -> None:
    for first in range(3):
        lb.write(path, pa.table({"id": range(first * 4, first * 4 + 4), "p": ["a", "b", "c", None]}), partition_by="p")
    told: list[lb.Progress] = []
    result = lb.Table(path).optimize(progress=told.append, **options)
    total = result.metrics.removed_bytes
    assert {(found.total_bytes, found.total_groups) for found in told} == {(total, 4)}
    assert (told[-1].done_bytes, told[-1].done_groups) == (total, 4)
    assert [found.done_bytes for found in told] == sorted(found.done_bytes for found in told)


def test_progress_shows_a_line(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for first in range(2):
        lb.write(path, numbers(first, 1))
    lb.Table(path).optimize(progress=True)
    assert capsys.readouterr().err.endswith("1 of 1 groups\n")


# Deleted rows


@pytest.mark.parametrize(
    ("share", "purged"), [(0.05, ["b", "c", "d"]), (0.0, ["a", "b", "c", "d"]), (0.5, ["d"]), (1.0, [])], ids=str
)
def test_optimize_purges_deleted_rows(path: str, share: float, purged: list[str]) -> None:
    """Each partition has one file, and none, a 50th, a 10th, half or all but one of its rows are
    deleted. Exactly half does not exceed a share of one half.
    """
    data = {"id": range(500), "p": ["z"] * 100 + ["a"] * 100 + ["b"] * 100 + ["c"] * 100 + ["d"] * 100}
    properties = {VECTORS: True, FEED: True, TRACKING: True}
    lb.write(path, pa.table(data), partition_by="p", properties=properties)
    where = "id BETWEEN 100 AND 101 OR id BETWEEN 200 AND 209 OR id BETWEEN 300 AND 349 OR id BETWEEN 400 AND 498"
    lb.Table(path).delete(where)
    result = optimize(path, max_deleted_share=share)
    assert result.metrics.deletion_vectors_removed == len(purged)
    assert {add["partitionValues"]["p"] for add in live(path) if "deletionVector" not in add} == {"z", *purged}
    if purged:
        assert lb.Table(path).changes(result.version).to_arrow().num_rows == 0


def test_optimize_removes_file_without_rows(path: str) -> None:
    """Delta Spark leaves files in which all rows are deleted."""
    lb.write(path, numbers(0, 10), properties={VECTORS: True})
    lb.Table(path).delete("id < 6")
    (add,) = live(path)
    vector = {**add["deletionVector"], "cardinality": 10}
    lb.Table(path).delete("id < 9")
    lb.Table(path).delete("id = 9")
    assert live(path) == []
    assert vector["cardinality"] == 10
    assert optimize(path).commits == 0
    assert optimize(path, cluster_by="id").commits == 0


def test_optimize_drops_deleted_rows(path: str) -> None:
    lb.write(path, numbers(0, 100), properties={VECTORS: True, TRACKING: True})
    lb.write(path, numbers(100, 100))
    lb.Table(path).delete("id % 50 = 1")
    assert optimize(path).metrics.rows == 196
    lb.Table(path).delete("id = 7")
    # One row of 196 is too few to cluster the cube again.
    assert optimize(path, cluster_by="id").metrics.rows == 195
    lb.Table(path).delete("id = 8")
    assert optimize(path, cluster_by="id").commits == 0
    lb.Table(path).delete("id BETWEEN 20 AND 40")
    assert optimize(path, cluster_by="id").metrics.rows == 173


# Conditions


def test_optimize_where_takes_only_matching_files(path: str) -> None:
    for first in range(0, 60, 10):
        lb.write(path, pa.table({"id": range(first, first + 10), "p": ["a", "b"] * 5}), partition_by="p")
    for where, removed in (("id < 0", 0), ("p = 'a' AND id < 25", 3), ("p = 'b' AND id BETWEEN 25 AND 31", 2), ("p IN ('b')", 5)):
        assert (where, optimize(path, where=where).metrics.removed_files) == (where, removed)
    entry = lb.Table(path).history(1)[0]
    assert json.loads(entry.parameters["predicate"] or "") == ["p IN ('b')"]
    assert optimize(path, where="id < 25", zorder_by="id").metrics.removed_files == 2
    # Partition b has no other file.
    assert optimize(path, zorder_by="id").metrics.removed_files == 4


# Statistics


def without_statistics(path: str, *keys: str) -> None:
    """Removes all statistics or these from the log, like a writer that does not collect them."""
    for file in (Path(path) / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            if keys:
                add["stats"] = json.dumps({key: value for key, value in stats(add).items() if key not in keys})
            else:
                del add["stats"]
        file.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for file in (Path(path) / "_delta_log").glob("*.crc"):
        file.unlink()


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_files_without_statistics_get_some(path: str, mapping: str) -> None:
    """Files with deletion vectors get statistics, too, with the bounds of all their rows. Files
    that are large enough also get statistics.
    """
    properties = {VECTORS: True, TRACKING: True, "delta.columnMapping.mode": mapping}
    for first in (0, 100, 200):
        data = {"id": range(first, first + 100), "v": [None, first] * 50, "s": [{"x": first, "y": "a"}] * 100, "p": ["a"] * 100}
        lb.write(path, pa.table(data), partition_by="p", properties=properties if first == 0 else None)
    lb.Table(path).delete("id = 100")
    expected = {add["path"]: stats(add) for add in live(path)}
    without_statistics(path)
    before = rows(path)
    # The number of rows is unknown, so all of them might be deleted.
    options = {"target_file_size": 1024, "max_deleted_share": 1.0}
    assert lb.Table(path).optimize(fill_statistics=False, **options).commits == 0
    result = lb.Table(path).optimize(**options)
    assert (result.commits, result.metrics.described_files, result.metrics.removed_files) == (1, 3, 0)
    adds = live(path)
    assert {add["path"]: stats(add) for add in adds} == expected
    assert all(add["dataChange"] is False for add in adds)
    assert log.actions(path, result.version, "remove") == []
    assert rows(path) == before
    assert skipped(path, "id = 250") == skipped(path, "s.x = 200") == 2
    assert lb.Table(path).count() == 299
    assert lb.Table(path).optimize(**options).commits == 0


def test_optimize_describes_no_rewritten_file(path: str) -> None:
    for first in (0, 10):
        lb.write(path, numbers(first, 10), properties={VECTORS: True} if first == 0 else None)
    lb.Table(path).delete("id = 3")
    without_statistics(path)
    metrics = optimize(path).metrics
    assert (metrics.described_files, metrics.rows) == (0, 19)


def test_checksum_counts_described_file_once(path: str) -> None:
    """One commit rewrites small files and adds a large file again, with statistics."""
    for first, count in ((0, 2000), (2000, 10), (2010, 10)):
        lb.write(path, numbers(first, count))
    checksum = Path(path) / "_delta_log" / f"{2:020}.crc"
    known = checksum.read_bytes()
    without_statistics(path)
    checksum.write_bytes(known)
    result = lb.Table(path).optimize(target_file_size=4096)
    assert (result.metrics.described_files, result.metrics.removed_files) == (1, 2)
    assert lb.check(path, level="state").ok
    found = Path(path) / "_delta_log" / f"{result.version:020}.crc"
    assert not found.exists() or json.loads(found.read_text())["numFiles"] == len(live(path)) == 2


# Table features


def test_optimize_ignores_append_only_and_feed(path: str) -> None:
    """OPTIMIZE changes no row, so it may rewrite append-only tables. The change data feed has no
    rows for it.
    """
    lb.write(path, numbers(0, 5), properties={"delta.appendOnly": True, FEED: True, "delta.enableInCommitTimestamps": True})
    lb.write(path, numbers(5, 5))
    version = optimize(path).version
    assert lb.Table(path).changes(version).to_arrow().num_rows == 0
    assert [event["_commit_version"] for event in lb.Table(path).changes(0).to_arrow().to_pylist()] == [0] * 5 + [1] * 5
    optimize(path, zorder_by="id")


def test_rows_keep_their_numbers_through_all_kinds(path: str) -> None:
    for first in range(0, 40, 10):
        data = pa.table({"id": range(first, first + 10), "k": [3, 1, 2, None, 5] * 2})
        lb.write(path, data, properties={VECTORS: True, TRACKING: True} if first == 0 else None)
    lb.Table(path).update({"k": "k + 1"}, where="id % 4 = 0")
    lb.Table(path).delete("id % 7 = 0")
    for options in ({}, {"zorder_by": ["k"]}, {"cluster_by": ["k", "id"]}, {"cluster_by": ["k", "id"], "full": True}):
        optimize(path, **options)
        lb.write(path, pa.table({"id": [100, 101], "k": [1, 2]}))


def orderable(columns: pa.Schema, table: lb.Table) -> list[str]:
    """Returns the columns by which rows can be ordered."""
    found = []
    for name in columns.names:
        try:
            table.optimize(zorder_by=f"`{name}`", dry_run=True)
        except lb.InvalidInputError:
            continue
        found.append(f"`{name}`")
    return found


#: The tables to which lakebed does not write, with the feature that prevents it.
NOT_WRITTEN = {
    "iceberg_compat_v3": "icebergCompatV3",
    "feature_coordinated_commits": "coordinatedCommits",
}
#: The log has absolute paths, so a copy of the table would use the files of the original.
NOT_COPIED = {"absolute_paths_below_the_root"}


def test_optimize_keeps_corpus_tables(oracle: Oracle, path: str) -> None:
    """The tables are those of Delta Spark: every type, mapped columns, char and varchar, defaults,
    widened types, deletion vectors, odd paths.
    """
    if oracle.outside or oracle.home.name in NOT_COPIED:
        pytest.skip("it is no folder that can be copied")
    shutil.copytree(oracle.path, path)
    expected, table = oracle.rows(oracle.latest), lb.Table(path)
    if said := NOT_WRITTEN.get(oracle.home.name):
        with pytest.raises(lb.LakebedError, match=said):
            table.optimize(max_deleted_share=0.0)
        return
    kinds: list[dict[str, Any]] = [{"max_deleted_share": 0.0}]
    if table.detail().clustering_columns:
        kinds.append({"full": True})
    elif names := orderable(table.schema, table):
        kinds += [{"zorder_by": names[::3], "target_file_size": 1024}, {"cluster_by": names[:5]}]
    for options in kinds:
        lb.Table(path).optimize(**options)
        assert canon.rows(lb.Table(path).to_arrow()) == expected
        assert lb.Table(path).schema == table.schema
        assert lb.Table(path).optimize(**options).commits == 0


# Refused calls


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"zorder_by": "nope"}, "no column nope"),
        ({"cluster_by": ["id", "s.nope"]}, "s.nope"),
        ({"zorder_by": ["p"]}, "column p: it is a partition column"),
        ({"zorder_by": "l"}, "column l: rows cannot be ordered"),
        ({"zorder_by": "l.element"}, "l"),
        ({"cluster_by": "m"}, "column m: rows cannot be ordered"),
        ({"cluster_by": "s"}, "column s: rows cannot be ordered"),
        ({"zorder_by": ["id", "ID"]}, "ID is given twice"),
        ({"zorder_by": "id", "cluster_by": "id"}, "zorder_by and cluster_by"),
        ({"zorder_by": []}, "name the columns"),
        ({"cluster_by": []}, "name the columns"),
        ({"target_file_size": 0}, "target_file_size=0: it must be 1024 or more"),
        ({"target_file_size": -1}, "target_file_size=-1"),
        ({"min_files": -1}, "min_files"),
        ({"max_deleted_share": 1.5}, "max_deleted_share"),
        ({"max_deleted_share": -0.5}, "max_deleted_share"),
        ({"max_deleted_share": math.nan}, "max_deleted_share"),
        ({"commit": "never"}, "run, group"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused(path: str, options: dict[str, Any], said: str) -> None:
    data = pa.table(
        {"id": [1], "p": ["a"], "s": [{"x": 1}], "l": [[1]], "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))}
    )
    for _ in range(2):
        lb.write(path, data, partition_by="p")
    before = log.everything(path)
    for dry_run in (True, False):
        with pytest.raises(lb.InvalidInputError, match=said):
            lb.Table(path).optimize(dry_run=dry_run, **options)
    assert log.everything(path) == before


@pytest.mark.parametrize(("where", "said"), [("id", "true or false"), ("nope = 1", "nope"), ("id = ", "expected|end")], ids=str)
def test_conditions_that_are_none_are_refused(path: str, where: str, said: str) -> None:
    lb.write(path, numbers(0, 1))
    lb.write(path, numbers(1, 1))
    with pytest.raises(lb.PredicateError, match=said):
        lb.Table(path).optimize(where=where)
    assert lb.Table(path).version == 1


# Other writers


def side_by_side(path: str, deed: Callable[[], Any], **options: Any) -> lb.OptimizeResult:
    """Optimizes while another thread changes the table. Either may commit first, and a version
    names every file.
    """
    ready = threading.Barrier(2)

    def other() -> None:
        ready.wait()
        deed()

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    result = lb.Table(path).optimize(**options)
    thread.join()
    assert log.files(path) == log.named(path, lb.Table(path).version)
    return result


@pytest.mark.parametrize("commit", ["run", "group"])
def test_optimize_gives_up_only_lost_groups(path: str, commit: str) -> None:
    for first in (0, 10):
        lb.write(path, pa.table({"id": range(first, first + 10), "p": ["a", "b"] * 5}), partition_by="p")
    metrics = side_by_side(path, lambda: lb.Table(path).delete("id = 4"), commit=commit).metrics
    assert metrics.lost_groups + metrics.groups == 2
    assert metrics.lost_groups <= 1
    assert sorted(lb.Table(path).to_arrow()["id"].to_pylist()) == [id for id in range(20) if id != 4]


@pytest.mark.parametrize("options", [{}, {"cluster_by": "id"}], ids=str)
def test_rows_keep_their_ids_beside_new_ones(path: str, options: dict[str, Any]) -> None:
    for first in (0, 10):
        lb.write(path, numbers(first, 10), properties={TRACKING: True} if first == 0 else None)
    side_by_side(path, lambda: lb.write(path, numbers(20, 5)), **options)
    found = lb.Table(path).to_arrow(["id", "_metadata.row_id", "_metadata.row_commit_version"]).to_pylist()
    found = sorted(tuple(row.values()) for row in found)
    assert found[:20] == [(id, id, id // 10) for id in range(20)]
    assert [row[0] for row in found[20:]] == list(range(20, 25))
    assert len({row[1] for row in found}) == 25


def test_two_optimizes_at_once_keep_rows(path: str) -> None:
    for first in range(0, 40, 10):
        lb.write(path, numbers(first, 10))
    before = rows(path)
    side_by_side(path, lambda: lb.Table(path).optimize(), zorder_by="id")
    assert rows(path) == before


def test_who_watches_may_look_at_the_table(path: str) -> None:
    for first in (0, 10):
        lb.write(path, numbers(first, 10))
    seen: list[int] = []
    lb.Table(path).optimize(progress=lambda _: seen.append(lb.Table(path).count()))
    assert set(seen) == {20}
