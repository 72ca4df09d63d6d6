"""The rules of deletes, updates and conditional overwrites: the files that they read and write,
their errors, and the unchanged table after an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb
from dml import log
from dml.model import FEED, TRACKING, VECTORS, canonical
from dml.tables import spark_table

Rows = list[dict[str, Any]]

by_form = pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def rows(path: str) -> Rows:
    return sorted(lb.Table(path).to_arrow().to_pylist(), key=repr)


def events(table: lb.Table, version: int) -> Rows:
    """Returns the changes of one version."""
    found = table.changes(version, version).to_arrow().drop_columns(["_commit_timestamp", "_commit_version"]).to_pylist()
    return sorted(found, key=repr)


def refused(path: str, error: type[Exception], said: str, deed: Callable[[lb.Table], Any]) -> None:
    """Checks that the call raises this error and leaves the folder unchanged."""
    before = log.everything(path)
    with pytest.raises(error, match=said):
        deed(lb.Table(path))
    assert log.everything(path) == before


def emptied(path: str) -> None:
    """Empties all data files, so that they cannot be read."""
    for file in Path(path).rglob("*.parquet"):
        file.write_bytes(b"")


def test_delete_of_whole_files_opens_none(path: str) -> None:
    """The files are chosen by partition values, by statistics, and by both."""
    for part in range(4):
        data = {"p": ["a", "b", "c", "d"] * 2, "id": range(part * 8, part * 8 + 8)}
        lb.write(path, pa.table(data), partition_by="p", properties={VECTORS: part % 2 == 0} if part == 0 else None)
    emptied(path)
    for where, files, rows_left in (
        ("p = 'a'", 4, 24),
        ("p IN ('b', 'z') AND id < 16", 2, 20),
        ("id >= 24", 3, 14),
        ("p = 'c' OR id BETWEEN 9 AND 15", 4, 6),
        (None, 3, 0),
    ):
        before = lb.Table(path).count()
        result = lb.Table(path).delete(where)
        metrics = result.metrics
        assert (metrics.removed_files, metrics.deleted_rows, result.table.count()) == (files, before - rows_left, rows_left)
        assert (metrics.added_files, metrics.deletion_vectors_added, metrics.change_files) == (0, 0, 0)


def test_delete_reads_file_only_without_proof(path: str) -> None:
    lb.write(path, pa.table({"id": [1, 3], "v": pa.array([None, 5], pa.int64())}))
    emptied(path)
    # The predicates do not match all rows of the file. One row makes the predicate false or null.
    for where in ("v > 4", "v IS NULL OR v < 5", "id <> 2 AND v <> 1"):
        with pytest.raises(lb.CorruptTableError, match=r"/part-[^/]*\.parquet: "):
            lb.Table(path).delete(where)
    assert lb.Table(path).delete("id > 0").metrics.deleted_rows == 2


def test_files_without_matches_are_not_opened(path: str) -> None:
    for first in (0, 10, 20):
        lb.write(path, pa.table({"id": range(first, first + 10)}))
    named = {min(add_ids(path, add)): Path(path) / add for add in log.live(path, 2)}
    named[0].write_bytes(b"")
    named[20].write_bytes(b"")
    table = lb.Table(path)
    deleted = table.delete("id = 11").metrics
    assert (deleted.deleted_rows, deleted.copied_rows, deleted.scanned_files, deleted.skipped_by_statistics) == (1, 9, 1, 2)
    updated = table.update({"id": "id + 100"}, where="id BETWEEN 12 AND 13").metrics
    assert (updated.updated_rows, updated.copied_rows, updated.scanned_files, updated.skipped_by_statistics) == (2, 7, 1, 2)


def add_ids(path: str, name: str) -> list[int]:
    import pyarrow.parquet as pq

    return pq.read_table(Path(path) / name)["id"].to_pylist()


@by_form
def test_unknown_predicate_selects_no_row(path: str, vectors: bool) -> None:
    """The values of v are 1, NULL and 3."""
    data = pa.table({"id": [1, 2, 3], "v": pa.array([1, None, 3], pa.int64())})
    for where, left in (
        ("v = 1", [2, 3]),
        ("v <> 1", [1, 2]),
        ("NOT (v = 1)", [1, 2]),
        ("v = NULL", [1, 2, 3]),
        ("v <=> NULL", [1, 3]),
        ("NOT (v <=> NULL)", [2]),
        ("v IN (1, NULL)", [2, 3]),
        ("v NOT IN (1, NULL)", [1, 2, 3]),
        ("v IS NULL OR v = 3", [1]),
        ("v > 0 OR NULL", [2]),
        ("v > 0 AND NULL", [1, 2, 3]),
        ("NULL", [1, 2, 3]),
        ("NOT (v > 100)", [2]),
        ("TRUE", []),
        ("FALSE", [1, 2, 3]),
    ):
        lb.write(path, data, mode="overwrite", schema_mode="overwrite", properties={VECTORS: vectors})
        result = lb.Table(path).delete(where)
        assert (where, [row["id"] for row in rows(path)]) == (where, left)
        assert (result.committed, result.metrics.deleted_rows) == (len(left) < 3, 3 - len(left))
        lb.write(path, data, mode="overwrite", schema_mode="overwrite", properties={VECTORS: vectors})
        result = lb.Table(path).update({"id": "id + 10"}, where=where)
        assert (where, [row["id"] for row in rows(path) if row["id"] < 10]) == (where, left)
        assert (result.committed, result.metrics.updated_rows) == (len(left) < 3, 3 - len(left))


@by_form
def test_constraint_violation_changes_nothing(path: str, vectors: bool) -> None:
    fields = [pa.field("id", pa.int64(), nullable=False), ("v", pa.int32()), ("p", pa.string())]
    properties = {VECTORS: vectors, FEED: True}
    table = lb.create(path, pa.schema(fields), partition_by="p", constraints={"small": "v < 10"}, properties=properties)
    table.append(pa.table({"id": range(1000), "v": pa.array([1, 9] * 500, pa.int32()), "p": ["a", "b", "c", "d"] * 250}))
    check, null = r"CHECK constraint small \(v < 10\)", "column id must not be null"
    # The row that violates the constraint comes last, after files of other rows were written.
    last = "IF(id = 999, 10, v)"
    refused(path, lb.ConstraintViolationError, check + ".*v = 10", lambda table: table.update({"v": "v + 1"}))
    refused(path, lb.ConstraintViolationError, check, lambda table: table.update({"v": last, "p": "concat(p, id % 7)"}))
    refused(path, lb.ConstraintViolationError, check + ".*v = NULL", lambda table: table.update({"v": "NULL"}, where="id = 3"))
    refused(path, lb.ConstraintViolationError, null, lambda table: table.update({"id": "nullif(id, 5)"}))
    refused(path, lb.ConstraintViolationError, null, lambda table: table.update({"id": "NULL"}, where="p = 'a'"))
    assert table.update({"v": "v + 1"}, where="v < 9").metrics.updated_rows == 500
    large, small = (pa.table({"id": [1], "v": pa.array([v], pa.int32()), "p": ["a"]}) for v in (10, 9))
    refused(path, lb.ConstraintViolationError, check, lambda table: table.overwrite(large, where="p = 'a'"))
    refused(
        path, lb.ConstraintViolationError, "predicate of the overwrite", lambda table: table.overwrite(small, where="p = 'b'")
    )


@by_form
def test_failing_expression_changes_nothing(path: str, vectors: bool) -> None:
    data = pa.table({"id": pa.array([1, 2**31 - 1], pa.int32()), "name": ["1", "x"]})
    lb.write(path, data, properties={VECTORS: vectors, FEED: True})
    for values, where, said in (
        ({"id": "id + 1"}, None, "does not fit INT"),
        ({"id": "name"}, None, "'x' cannot be cast to INT"),
        ({"id": "9999999999"}, "id = 1", "INT"),
        ({"id": "1 / 0"}, None, "(?i)zero"),
        ({"id": "1"}, "CAST(name AS INT) = 7", "'x' cannot be cast to INT"),
    ):
        refused(path, lb.PredicateError, said, lambda table, values=values, where=where: table.update(values, where=where))
    refused(path, lb.PredicateError, "'x' cannot be cast to INT", lambda table: table.delete("CAST(name AS INT) = 7"))
    assert lb.Table(path).update({"id": "id + 1"}, where="id < 5").metrics.updated_rows == 1


@pytest.mark.parametrize(
    ("values", "where", "said"),
    [
        ({"nme": "1"}, None, "no column `nme`; did you mean `name`"),
        ({"name": "nme"}, None, "there is no column `nme`"),
        ({"name": "'x'"}, "nme = 'y'", "there is no column `nme`"),
        ({"s.z": "1"}, None, "no field `z`"),
        ({"name.x": "1"}, None, "is not a struct"),
        ({"name": "'x'"}, "id IN (SELECT 1)", "subqueries are not supported"),
        ({"name": "'x'"}, "EXISTS (SELECT 1)", "subqueries are not supported"),
        ({"id": "(SELECT max(id) FROM t)"}, None, "subqueries are not supported"),
        ({"name": "'x'"}, "id", "a condition is true or false"),
        ({"id": "sum(id)"}, None, "aggregate"),
        ({"id": "rand()"}, None, "another answer at each call"),
        ({"name": "'x'", "NAME": "'y'"}, None, "assigned more than once"),
        ({"s.x": "1", "s": "s"}, None, "one is a part of the other"),
        ({"name": "'x"}, None, "(?i)quote|end|closed"),
        ({"name": ""}, None, "an expression is expected"),
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_refused(path: str, values: dict[str, str], where: str | None, said: str) -> None:
    lb.write(path, pa.table({"id": [1, 2], "name": ["a", "b"], "s": [{"x": 1}, {"x": 2}]}))
    refused(path, lb.PredicateError, said, lambda table: table.update(values, where=where))
    if where is not None:
        refused(path, lb.PredicateError, said, lambda table: table.delete(where))


def test_arguments_that_make_no_sense_are_refused(path: str) -> None:
    lb.write(path, pa.table({"id": [1, 2], "s": [{"x": 1}, {"x": 2}]}))
    refused(path, lb.InvalidInputError, "at least one column", lambda table: table.update({}))
    refused(path, TypeError, "write it as a string, such as '1'", lambda table: table.update({"id": 1}))
    refused(path, lb.SchemaMismatchError, "s", lambda table: table.update({"s": "1"}))


def test_append_only_tables_refuse(path: str) -> None:
    lb.write(path, pa.table({"id": [1]}), properties={"delta.appendOnly": True})
    for deed in (
        lambda table: table.delete("id = 1"),
        lambda table: table.delete(),
        lambda table: table.delete("id = 7"),
        lambda table: table.update({"id": "2"}),
        lambda table: table.overwrite(pa.table({"id": [1]}), where="id = 1"),
    ):
        refused(path, lb.InvalidInputError, "append-only", deed)


@by_form
def test_generated_columns_follow_and_others_stay(path: str, vectors: bool) -> None:
    generated = {"delta.generationExpression": "a * 2"}
    fields = [
        {"name": "a", "type": "integer"},
        {"name": "twice", "type": "integer", "metadata": generated},
        {"name": "name", "type": "string"},
    ]
    spark_table(path, fields, ["generatedColumns", "deletionVectors"], {VECTORS: str(vectors).lower()})
    table = lb.Table(path)
    table.append(pa.table({"a": pa.array([1, 2, None], pa.int32()), "name": ["x", "y", "z"]}))
    table.update({"a": "a + 10"}, where="name <> 'x'")
    assert rows(path) == [
        {"a": 1, "twice": 2, "name": "x"},
        {"a": 12, "twice": 24, "name": "y"},
        {"a": None, "twice": None, "name": "z"},
    ]
    refused(path, lb.ConstraintViolationError, "column twice is generated as", lambda table: table.update({"twice": "5"}))
    refused(
        path, lb.ConstraintViolationError, "column twice is generated as", lambda table: table.update({"a": "1", "twice": "5"})
    )
    table.update({"a": "7", "twice": "14"}, where="name = 'z'")
    table.update({"twice": "DEFAULT", "name": "upper(name)"}, where="a = 1")
    table.delete("twice = 24")
    assert rows(path) == [{"a": 1, "twice": 2, "name": "X"}, {"a": 7, "twice": 14, "name": "z"}]


@by_form
def test_identity_columns_stay(path: str, vectors: bool) -> None:
    identity = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": True}
    fields = [{"name": "id", "type": "long", "metadata": identity}, {"name": "v", "type": "string"}]
    spark_table(path, fields, ["identityColumns", "deletionVectors"], {VECTORS: str(vectors).lower()})
    table = lb.Table(path)
    table.append(pa.table({"v": ["a", "b", "c"]}))
    table.update({"v": "upper(v)"}, where="id > 10")
    table.delete("id = 15")
    table.append(pa.table({"v": ["d"]}))
    assert rows(path) == [{"id": 10, "v": "a"}, {"id": 20, "v": "C"}, {"id": 25, "v": "d"}]


@pytest.mark.parametrize("value", ["id + 1", "DEFAULT", "id"])
@pytest.mark.parametrize("explicit", [False, True])
def test_identity_columns_are_not_updated(path: str, explicit: bool, value: str) -> None:
    """This is as in Delta Spark. It does not matter whether lakebed or the caller assigns the
    numbers of new rows.
    """
    identity = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": explicit}
    fields = [{"name": "id", "type": "long", "metadata": identity}, {"name": "v", "type": "string"}]
    spark_table(path, fields, ["identityColumns"])
    lb.Table(path).append(pa.table({"v": ["a", "b"]}))
    refused(path, lb.LakebedError, "(?i)identity|numbered", lambda table: table.update({"id": value}))


def test_default_means_column_default(path: str) -> None:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "v", "type": "string", "metadata": {"CURRENT_DEFAULT": "concat('a', 'b')"}},
        {"name": "w", "type": "integer", "metadata": {"CURRENT_DEFAULT": "5"}},
        {"name": "x", "type": "integer"},
    ]
    spark_table(path, fields, ["allowColumnDefaults"])
    table = lb.Table(path)
    table.append(pa.table({"id": [1, 2], "v": ["c", "d"], "w": pa.array([1, 2], pa.int32()), "x": pa.array([1, 2], pa.int32())}))
    table.update({"v": "DEFAULT", "w": " default ", "x": "Default"}, where="id = 1")
    assert rows(path) == [{"id": 1, "v": "ab", "w": 5, "x": None}, {"id": 2, "v": "d", "w": 2, "x": 2}]
    refused(path, lb.PredicateError, "default", lambda table: table.update({"v": "concat(DEFAULT, 'x')"}))


@by_form
def test_change_with_txn_is_done_once(path: str, vectors: bool) -> None:
    table = lb.write(path, pa.table({"id": range(10)}), properties={VECTORS: vectors}).table
    assert table.delete("id = 1", txn=("job", 1)).committed
    before = log.everything(path)
    for number in (1, 0):
        result = table.delete("id = 2", txn=("job", number))
        assert (result.committed, result.version, result.metrics) == (False, 1, lb.ChangeMetrics())
        assert not table.update({"id": "id + 100"}, txn=("job", number)).committed
    assert log.everything(path) == before
    assert table.update({"id": "id + 100"}, where="id = 2", txn=("job", 2)).version == 2
    # The transaction identifier is stored, so that the caller sees that the run found nothing to
    # do.
    nothing = table.delete("id = 77", txn=("job", 3))
    assert (nothing.committed, nothing.version, nothing.metrics.deleted_rows) == (True, 3, 0)
    assert nothing.table.transaction_version("job") == 3
    assert not table.delete("id = 3", txn=("job", 3)).committed
    assert table.delete("id = 3", txn=("other", 1)).committed
    assert [row["id"] for row in rows(path)] == [0, 102, 4, 5, 6, 7, 8, 9]


@by_form
def test_struct_fields_are_updated_one_by_one(path: str, vectors: bool) -> None:
    inner = pa.struct([("y", pa.int64()), ("Z z", pa.string())])
    outer = pa.struct([("x", pa.int32()), ("in", inner)])
    values = [{"x": 1, "in": {"y": 1, "Z z": "a"}}, {"x": 2, "in": None}, None]
    data = pa.table({"id": [1, 2, 3], "s": pa.array(values, outer)})
    properties = {VECTORS: vectors, "delta.columnMapping.mode": "name"}
    table = lb.write(path, data, properties=properties).table
    table.update({"s.x": "id * 10", "s.IN.`Z z`": "'new'"}, where="id <> 3")
    expected: list[Any] = [{"x": 10, "in": {"y": 1, "Z z": "new"}}, {"x": 20, "in": {"y": None, "Z z": "new"}}, None]
    assert [row["s"] for row in rows(path)] == expected
    # All values are computed from the old row.
    table.update({"s.x": "s.in.y", "s.in.y": "s.x + id"})
    expected = [
        {"x": 1, "in": {"y": 11, "Z z": "new"}},
        {"x": None, "in": {"y": 22, "Z z": "new"}},
        {"x": None, "in": {"y": None, "Z z": None}},
    ]
    assert [row["s"] for row in rows(path)] == expected
    table.update({"s.in": "NULL"}, where="s.x IS NULL")
    table.update({"s": "NULL"}, where="id = 1")
    assert [row["s"] for row in rows(path)] == [None, {"x": None, "in": None}, {"x": None, "in": None}]


@by_form
def test_names_match_exactly_or_ignoring_case(path: str, vectors: bool) -> None:
    properties = {VECTORS: vectors, FEED: True, "delta.columnMapping.mode": "name"}
    data = pa.table({"The Id": [1, 2], "a.b": ["x", "y"], "ü`": [1.5, 2.5]})
    table = lb.write(path, data, properties=properties).table
    table.update({"`THE ID`": "`the id` + 10", "`a.b`": "upper(`A.B`)", "`ü```": "`Ü```"}, where="`a.b` = 'x'")
    table.delete("`The Id` = 2")
    assert rows(path) == [{"The Id": 11, "a.b": "X", "ü`": 1.5}]


@by_form
def test_updates_move_rows_between_partitions(path: str, vectors: bool) -> None:
    properties = {VECTORS: vectors, FEED: True, TRACKING: True}
    data = pa.table({"id": range(6), "p": ["a", "a", "b", "b", None, "c/ü"]})
    table = lb.write(path, data, partition_by="p", properties=properties).table
    ids = {row["id"]: row["_metadata.row_id"] for row in table.to_arrow(["id", "_metadata.row_id"]).to_pylist()}
    result = table.update(
        {"p": "CASE WHEN id = 0 THEN 'b' WHEN id = 2 THEN NULL WHEN id = 4 THEN 'x=y' ELSE p END"}, where="id % 2 = 0"
    )
    moved = {0: "b", 1: "a", 2: None, 3: "b", 4: "x=y", 5: "c/ü"}
    assert {row["id"]: row["p"] for row in rows(path)} == moved
    files = result.table.files().to_pylist()
    found = sorted((file["partition"]["p"] or "", file["num_records"] - file["deleted_records"]) for file in files)
    # New rows and copied rows are in one file.
    of_b = [("b", 1), ("b", 1)] if vectors else [("b", 2)]
    assert found == [("", 1), ("a", 1), *of_b, ("c/ü", 1), ("x=y", 1)]
    tracked = result.table.to_arrow(["id", "_metadata.row_id", "_metadata.row_commit_version"]).to_pylist()
    assert {row["id"]: tuple(row.values())[1:] for row in tracked} == {id: (ids[id], int(id % 2 == 0)) for id in range(6)}
    before = {0: "a", 2: "b", 4: None}
    pairs = [
        {"id": id, "p": p, "_change_type": kind}
        for kind, source in (("update_preimage", before), ("update_postimage", moved))
        for id, p in source.items()
        if id in before
    ]
    assert canonical(events(result.table, 1)) == canonical(pairs)
    # A query of one partition returns its rows, and a delete removes the files of a partition as a
    # whole.
    assert result.table.scan(where="p = 'b'").count() == 2
    assert result.table.delete("p IS NULL OR p = 'x=y'").metrics.removed_files == 2


@pytest.mark.parametrize("tracking", [False, True], ids=["untracked", "tracked"])
@pytest.mark.parametrize("feed", [False, True], ids=["no feed", "feed"])
@by_form
def test_replace_where_deletes_and_inserts(path: str, vectors: bool, feed: bool, tracking: bool) -> None:
    data = pa.table({"id": [1, 2, 3, 4], "p": ["a", "a", "b", "c"]})
    table = lb.write(path, data, partition_by="p", properties={VECTORS: vectors, FEED: feed, TRACKING: tracking}).table
    new = pa.table({"id": [2, 7], "p": ["a", "b"]})
    result = table.overwrite(new, where="id IN (2, 3, 7)")
    assert (result.metrics.deleted_rows, result.metrics.copied_rows) == (2, 0 if vectors else 1)
    assert [tuple(row.values()) for row in rows(path)] == [(1, "a"), (2, "a"), (4, "c"), (7, "b")]
    if feed:
        assert events(result.table, 1) == [
            {"id": 2, "p": "a", "_change_type": "delete"},
            {"id": 2, "p": "a", "_change_type": "insert"},
            {"id": 3, "p": "b", "_change_type": "delete"},
            {"id": 7, "p": "b", "_change_type": "insert"},
        ]
    if tracking:
        columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
        old = {row["id"]: tuple(row.values())[1:] for row in table.to_arrow(columns).to_pylist()}
        found = {row["id"]: tuple(row.values())[1:] for row in result.table.to_arrow(columns).to_pylist()}
        assert (found[1], found[4]) == (old[1], old[4])
        new_ids = {found[2][0], found[7][0]}
        # A row that is copied into a new file also takes an id there.
        assert new_ids == ({4, 5} if vectors else {5, 6})
        assert (found[2][1], found[7][1]) == (1, 1)


def test_feed_of_removed_file_has_null_partition(path: str) -> None:
    """Delta Spark omits the null values of partition columns when it removes a file."""
    data = pa.table({"id": [1, 2], "k": ["a", None], "l": [None, "b"]})
    table = lb.write(path, data, partition_by=["k", "l"], properties={FEED: True}).table
    table.delete("id > 0")
    commit = Path(path) / "_delta_log" / f"{1:020}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for line in lines:
        if "remove" in line:
            assert line["remove"]["extendedFileMetadata"] is True
            values = line["remove"]["partitionValues"]
            line["remove"]["partitionValues"] = {name: value for name, value in values.items() if value is not None}
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert events(lb.Table(path), 1) == [
        {"id": 1, "k": "a", "l": None, "_change_type": "delete"},
        {"id": 2, "k": None, "l": "b", "_change_type": "delete"},
    ]


def test_old_handles_change_the_newest_version(path: str) -> None:
    old = lb.write(path, pa.table({"id": [1]})).table
    old.append(pa.table({"id": [2]}))
    old.append(pa.table({"id": [3]}))
    result = old.delete("id = 2")
    assert (result.version, result.table.version, old.version, old.count()) == (3, 3, 0, 1)
    assert lb.Table(path, version=0).update({"id": "id * 10"}).metrics.updated_rows == 2
    assert [row["id"] for row in rows(path)] == [10, 30]


@by_form
def test_the_history_says_what_was_done(path: str, vectors: bool) -> None:
    table = lb.write(path, pa.table({"id": range(10)}), properties={VECTORS: vectors}).table
    table.delete("id < 2", user_metadata="why")
    table.update({"id": "id + 100"}, where="id >= 8")
    update, delete = table.refresh().history()[:2]
    assert (delete.operation, delete.parameters, delete.user_metadata) == ("DELETE", {"predicate": '["id < 2"]'}, "why")
    assert (update.operation, update.parameters, update.user_metadata) == ("UPDATE", {"predicate": '["id >= 8"]'}, None)
    assert [(entry.is_blind_append, entry.read_version) for entry in (update, delete)] == [(False, 1), (False, 0)]
    told = ("numDeletedRows", "numUpdatedRows", "numCopiedRows", "numAddedFiles", "numRemovedFiles", "numDeletionVectorsAdded")
    expected = (
        [("2", None, "0", "0", "0", "1"), (None, "2", "0", "1", "0", "1")]
        if vectors
        else [("2", None, "8", "1", "1", "0"), (None, "2", "6", "1", "1", "0")]
    )
    assert [tuple(entry.metrics.get(name) for name in told) for entry in (delete, update)] == expected


@by_form
def test_delete_spans_batches_and_row_groups(path: str, vectors: bool) -> None:
    """There are more rows than in a batch, and row groups end inside of batches. pyarrow computes
    the expected rows.
    """
    count = 100_000
    numbers = pa.array(range(count), pa.int64())
    data = pa.table({"id": numbers, "v": pa.array([number * 7 % 1_000 for number in range(count)], pa.int64())})
    properties = {VECTORS: vectors, FEED: True, TRACKING: True}
    table = lb.write(path, data, row_group_rows=3_001, properties=properties).table
    deleted = table.delete("v % 11 = 3")
    updated = table.update({"v": "-id"}, where="v % 11 = 5 OR id BETWEEN 50000 AND 70000")
    last = table.delete("v < -69990 OR id IN (0, 99999)")
    expected = {}
    for id in range(count):
        v, version = id * 7 % 1_000, 0
        if v % 11 == 3:
            continue
        if v % 11 == 5 or 50_000 <= id <= 70_000:
            v, version = -id, 2
        if not (v < -69_990 or id in (0, 99_999)):
            expected[id] = (v, id, version)
    gone = sum(1 for id in range(count) if id * 7 % 1_000 % 11 == 3)
    changed = sum(1 for id in range(count) if id * 7 % 1_000 % 11 != 3 and (id * 7 % 1_000 % 11 == 5 or 50_000 <= id <= 70_000))
    assert (deleted.metrics.deleted_rows, updated.metrics.updated_rows) == (gone, changed)
    assert last.metrics.deleted_rows == count - gone - len(expected)
    found = last.table.to_arrow(["id", "v", "_metadata.row_id", "_metadata.row_commit_version"])
    columns = [column.to_pylist() for column in found.columns]
    assert {row[0]: row[1:] for row in zip(*columns, strict=True)} == expected
    assert found.num_rows == len(expected)
    kinds = last.table.changes(1).to_arrow().group_by(["_commit_version", "_change_type"]).aggregate([([], "count_all")])
    assert {(row["_commit_version"], row["_change_type"]): row["count_all"] for row in kinds.to_pylist()} == {
        (1, "delete"): gone,
        (2, "update_preimage"): changed,
        (2, "update_postimage"): changed,
        (3, "delete"): last.metrics.deleted_rows,
    }


@pytest.mark.parametrize(
    "where",
    [
        "id > 2 -- the newer ones",
        "id > 2 --",
        "id > 2 /* the newer ones */",
        "id > 2 -- one\n AND id < 9 -- two",
        "id > 2 -- it's a )",
        "'--' = '--' AND id > 2",
    ],
)
def test_conditions_may_end_with_a_comment(where: str, tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3], "v": [0, 0, 0]})

    def table(name: str) -> lb.Table:
        return lb.write(str(tmp_path / name), rows).table

    assert table("delete").delete(where).table.to_arrow().sort_by("id")["id"].to_pylist() == [1, 2]
    assert table("update").update({"v": "1"}, where=where).table.to_arrow().sort_by("id")["v"].to_pylist() == [0, 0, 1]
    new = pa.table({"id": [3], "v": [7]})
    replaced = lb.write(str(tmp_path / "delete"), new, mode="overwrite", where=where).table
    assert replaced.to_arrow().sort_by("id").to_pydict() == {"id": [1, 2, 3], "v": [0, 0, 7]}
    merge = table("merge").merge(pa.table({"id": [1], "v": [5]}), on=f"target.id = source.id AND (source.v = 5) {'-- all'}")
    merged = merge.when_matched_update().when_not_matched_by_source_delete(where=where.replace("id", "target.id")).execute().table
    assert merged.to_arrow().sort_by("id").to_pydict() == {"id": [1, 2], "v": [5, 0]}
