"""The rules of a merge: the rows of each clause, the meaning of `*`, the files that it reads, and
errors that leave the table unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed as lb
from dml import log
from dml.model import FEED, TRACKING, VECTORS
from dml.tables import spark_table
from lakebed import _lakebed

Rows = list[tuple[Any, ...]]

by_form = pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])
BY_ID = "target.id = source.id"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


@pytest.fixture
def in_parts() -> Iterator[None]:
    """Sets a memory limit so low that a source has several parts of a few rows."""
    _lakebed.set_memory_limit(256)
    yield
    lb.set_memory_limit(1 << 30)


def people(*rows: tuple[int | None, str | None]) -> pa.Table:
    return pa.table({"id": pa.array([row[0] for row in rows], pa.int64()), "v": pa.array([row[1] for row in rows], pa.string())})


def abc(path: str, **properties: Any) -> lb.Table:
    """Creates a table with the rows 1 a, 2 b and 3 c in one file."""
    return lb.write(path, people((1, "a"), (2, "b"), (3, "c")), properties=properties).table


def rows(table: lb.Table) -> Rows:
    return sorted((tuple(row.values()) for row in table.to_arrow().to_pylist()), key=repr)


def events(table: lb.Table) -> Rows:
    """Returns the changes in the version of this handle."""
    found = table.changes(table.version, table.version).to_arrow().drop_columns(["_commit_timestamp", "_commit_version"])
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def counts(result: lb.ChangeResult) -> tuple[int | None, ...]:
    """Returns the numbers of updated, deleted and inserted rows."""
    return result.metrics.updated_rows, result.metrics.deleted_rows, result.metrics.inserted_rows


def refused(path: str, error: type[Exception], said: str, deed: Callable[[], Any]) -> None:
    """Checks that the call raises this error and leaves the folder unchanged."""
    before = log.everything(path)
    with pytest.raises(error, match=said):
        deed()
    assert log.everything(path) == before


@by_form
def test_merge_takes_first_clause_that_holds(path: str, vectors: bool) -> None:
    target = pa.table({"id": range(1, 13), "v": ["a"] * 12, "n": range(1, 13)})
    table = lb.write(path, target, properties={VECTORS: vectors, FEED: True, TRACKING: True}).table
    source = pa.table({"id": [1, 2, 3, 4, 5, 21, 22, 23], "n": [1, None, 3, 4, 5, 1, 2, None]})
    result = (
        table.merge(source, BY_ID)
        .when_matched_delete(where="source.n = 1")
        .when_matched_update({"v": "'two'"}, where="source.n > 3 AND target.n < 5")
        .when_matched_delete(where="source.n > 3")
        .when_matched_update({"v": "'rest'", "n": "coalesce(source.n, -target.n)"})
        .when_not_matched_insert({"id": "source.id", "v": "'one'"}, where="source.n = 1")
        .when_not_matched_insert({"id": "source.id", "n": "source.n"}, where="source.n IS NOT NULL")
        .when_not_matched_by_source_update({"v": "'kept'"}, where="target.n = 7")
        .when_not_matched_by_source_delete(where="target.n < 9")
        .when_not_matched_by_source_update({"n": "target.n * 10"}, where="target.n < 11")
        .execute()
    )
    assert rows(result.table) == [
        (10, "a", 100),
        (11, "a", 11),
        (12, "a", 12),
        (2, "rest", -2),
        (21, "one", None),
        (22, None, 2),
        (3, "rest", 3),
        (4, "two", 4),
        (7, "kept", 7),
        (9, "a", 90),
    ]
    assert counts(result) == (6, 4, 2)
    assert result.metrics.copied_rows == (0 if vectors else 2)
    assert result.metrics.source_rows == 8
    found = events(result.table)
    assert [row for row in found if row[3] in ("delete", "insert")] == [
        (1, "a", 1, "delete"),
        (21, "one", None, "insert"),
        (22, None, 2, "insert"),
        (5, "a", 5, "delete"),
        (6, "a", 6, "delete"),
        (8, "a", 8, "delete"),
    ]
    assert {row[:3] for row in found if row[3] == "update_postimage"} == {
        (2, "rest", -2), (3, "rest", 3), (4, "two", 4), (7, "kept", 7), (9, "a", 90), (10, "a", 100)
    }  # fmt: skip
    assert {row[0] for row in found if row[3] == "update_preimage"} == {2, 3, 4, 7, 9, 10}
    assert len(found) == 18
    columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    tracked = {row["id"]: tuple(row.values())[1:] for row in result.table.to_arrow(columns).to_pylist()}
    for id in (2, 3, 4, 7, 9, 10, 11, 12):
        assert tracked.pop(id) == (id - 1, 0 if id > 10 else 1)
    assert {version for _, version in tracked.values()} == {1}
    assert len({row_id for row_id, _ in tracked.values()} - set(range(12))) == 2


@by_form
def test_merge_by_null_key_needs_null_safe(path: str, vectors: bool) -> None:
    source = people((None, "n"), (1, "one"))

    def merged(on: str) -> Rows:
        data = people((1, "a"), (None, "b"))
        table = lb.write(path, data, mode="overwrite", schema_mode="overwrite", properties={VECTORS: vectors}).table
        return rows(table.merge(source, on).when_matched_update().when_not_matched_insert().execute().table)

    assert merged(BY_ID) == [(1, "one"), (None, "b"), (None, "n")]
    assert merged("target.id <=> source.id") == [(1, "one"), (None, "n")]
    assert merged("target.id = source.id OR (target.id IS NULL AND source.id IS NULL)") == [(1, "one"), (None, "n")]
    assert merged("target.v IS NULL AND target.id = source.id") == [(1, "a"), (1, "one"), (None, "b"), (None, "n")]
    table = lb.write(path, people((1, "a"), (None, "b")), mode="overwrite").table
    assert rows(table.upsert(source, keys=["id"]).table) == [(1, "one"), (None, "n")]
    # A row with a null key has no match, so the clause for rows without a match applies.
    table = lb.write(path, people((1, "a"), (None, "b")), mode="overwrite").table
    assert rows(table.merge(source, BY_ID).when_not_matched_by_source_delete().execute().table) == [(1, "a")]


def test_a_key_of_several_columns_and_doubles(path: str) -> None:
    nan, zero = float("nan"), -0.0
    table = lb.write(path, pa.table({"k": ["a", "a", "b", "b"], "f": [nan, 0.0, nan, 1.5], "v": [1, 2, 3, 4]})).table
    source = pa.table({"k": ["a", "a", "b", "b"], "f": [zero, nan, 1.0, None], "v": [20, 10, 30, 40]})
    result = table.upsert(source, keys=["k", "f"])
    assert counts(result) == (2, 0, 2)
    assert [repr(row) for row in rows(result.table)] == [
        "('a', -0.0, 20)",
        "('a', nan, 10)",
        "('b', 1.0, 30)",
        "('b', 1.5, 4)",
        "('b', None, 40)",
        "('b', nan, 3)",
    ]


@by_form
def test_merge_with_several_matches_names_keys(path: str, vectors: bool) -> None:
    abc(path, **{VECTORS: vectors, FEED: True})
    twice = people((2, "x"), (9, "new"), (2, "y"))
    said = r"several source rows match one target row \(id = 2\)"

    def merge(on: str = BY_ID) -> lb.Merge:
        return lb.Table(path).merge(twice, on)

    refused(path, lb.InvalidInputError, said, lambda: merge().when_matched_update().execute())
    refused(path, lb.InvalidInputError, said, lambda: merge().when_matched_update().when_not_matched_insert().execute())
    refused(path, lb.InvalidInputError, said, lambda: lb.Table(path).upsert(twice, keys=["id"]))
    two_deletes = merge().when_matched_delete(where="source.v = 'x'").when_matched_delete()
    refused(path, lb.InvalidInputError, said, lambda: two_deletes.execute())
    nothing = merge().when_matched_update(where="source.v = 'nope'").when_not_matched_insert()
    refused(path, lb.InvalidInputError, said, lambda: nothing.execute())
    refused(
        path,
        lb.InvalidInputError,
        "the ON condition has no column of the target",
        lambda: merge("TRUE").when_matched_update().execute(),
    )
    # Several matches are no error for rows that are deleted unconditionally, or for rows to which
    # no clause applies.
    deleted = merge().when_matched_delete().when_not_matched_insert().execute()
    assert (counts(deleted), rows(deleted.table)) == ((0, 1, 1), [(1, "a"), (3, "c"), (9, "new")])
    assert sorted(events(deleted.table)) == [(2, "b", "delete"), (9, "new", "insert")]


def test_merge_in_parts_refuses_several_matches(path: str, in_parts: None) -> None:
    lb.write(path, pa.table({"id": range(100), "v": ["a"] * 100}))
    source = pa.table({"id": [*range(50), *range(49, 100)], "v": ["b"] * 101})
    merge = lb.Table(path).merge(source, BY_ID).when_matched_update()
    assert merge.explain().source_parts == 34
    refused(path, lb.InvalidInputError, r"\(id = 49\)", merge.execute)
    deleted = lb.Table(path).merge(source, BY_ID).when_matched_delete().execute()
    assert (counts(deleted), deleted.table.count()) == ((0, 100, 0), 0)


@by_form
def test_merge_in_parts_equals_merge_in_one(path: str, vectors: bool, in_parts: None) -> None:
    count = 300
    data = pa.table({"id": range(count), "v": ["a"] * count})
    table = lb.write(path, data, row_group_rows=64, properties={VECTORS: vectors, FEED: True, TRACKING: True}).table
    source = pa.table({"id": range(0, 2 * count, 2), "v": [f"b{number}" for number in range(count)]})
    merge = table.merge(source, BY_ID).when_matched_delete(where="source.id % 8 = 0").when_matched_update()
    merge = merge.when_not_matched_insert(where="source.id % 10 <> 0").when_not_matched_by_source_update(
        {"v": "'left'"}, where="id % 3 = 0"
    )
    assert merge.explain().source_parts == 100
    result = merge.execute()
    assert result.metrics.spilled_bytes > 0
    expected = {id: f"b{id // 2}" for id in range(0, count, 2) if id % 8}
    expected |= {id: "left" if id % 3 == 0 else "a" for id in range(1, count, 2)}
    expected |= {id: f"b{id // 2}" for id in range(count, 2 * count, 2) if id % 10}
    assert dict(rows(result.table)) == expected
    assert result.table.count() == len(expected)
    assert counts(result) == (112 + 50, 38, 120)
    assert len(events(result.table)) == 2 * 162 + 38 + 120
    columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    for row in result.table.to_arrow(columns).to_pylist():
        id, row_id, version = row.values()
        changed = id >= count or id % 2 == 0 or id % 3 == 0
        assert (row_id == id if id < count else row_id >= count, version) == (True, int(changed))


def test_merge_inserts_equal_source_rows(path: str) -> None:
    result = abc(path).merge(people((9, "x"), (9, "x"), (9, "y")), BY_ID).when_not_matched_insert().execute()
    assert (counts(result), rows(result.table)) == ((0, 0, 3), [(1, "a"), (2, "b"), (3, "c"), (9, "x"), (9, "x"), (9, "y")])


@by_form
def test_merge_of_inserts_rewrites_no_file(path: str, vectors: bool) -> None:
    table = abc(path, **{VECTORS: vectors, FEED: True})
    before = log.live(path, 0)
    result = table.merge(people((1, "x"), (4, "y")), BY_ID).when_not_matched_insert().execute()
    assert rows(result.table) == [(1, "a"), (2, "b"), (3, "c"), (4, "y")]
    done = log.effect(path, 1)
    assert (len(done.new), done.gone, done.changed, done.changes) == (1, [], [], [])
    assert before.items() <= log.live(path, 1).items()
    assert events(result.table) == [(4, "y", "insert")]
    again = table.merge(people((1, "x"), (4, "y")), BY_ID).when_not_matched_insert().execute()
    assert (again.committed, again.version, counts(again)) == (False, 1, (0, 0, 0))


def test_append_only_table_takes_inserts(path: str) -> None:
    abc(path, **{"delta.appendOnly": True})
    source = people((1, "x"), (4, "y"))
    for clause in ("when_matched_update", "when_matched_delete", "when_not_matched_by_source_delete"):
        merge = getattr(lb.Table(path).merge(source, BY_ID).when_not_matched_insert(), clause)()
        refused(path, lb.InvalidInputError, "append-only", merge.execute)
    result = lb.Table(path).merge(source, BY_ID).when_not_matched_insert().execute()
    assert rows(result.table) == [(1, "a"), (2, "b"), (3, "c"), (4, "y")]


@by_form
def test_deletes_alone(path: str, vectors: bool) -> None:
    table = abc(path, **{VECTORS: vectors, FEED: True})
    result = table.merge(people((2, "x"), (3, "y")), BY_ID).when_matched_delete(where="source.v = 'x'").execute()
    assert (rows(result.table), events(result.table)) == ([(1, "a"), (3, "c")], [(2, "b", "delete")])
    assert (counts(result), result.metrics.copied_rows) == ((0, 1, 0), 0 if vectors else 2)
    result = table.merge(people((3, "y")), BY_ID).when_not_matched_by_source_delete().execute()
    assert (rows(result.table), events(result.table)) == ([(3, "c")], [(1, "a", "delete")])


@by_form
def test_a_table_is_merged_into_itself(path: str, vectors: bool) -> None:
    table = abc(path, **{VECTORS: vectors, FEED: True})
    result = table.merge(table, BY_ID).when_matched_update({"v": "concat(target.v, source.v)"}).execute()
    assert rows(result.table) == [(1, "aa"), (2, "bb"), (3, "cc")]
    # The source keeps the rows of the version that it reads.
    shifted = result.table.merge(table.scan(where="id > 1"), "target.id = source.id - 1")
    shifted = shifted.when_matched_update({"v": "source.v"}).when_not_matched_by_source_delete()
    assert rows(shifted.execute().table) == [(1, "b"), (2, "c")]


@by_form
def test_an_empty_source_matches_nothing(path: str, vectors: bool) -> None:
    table, nothing = abc(path, **{VECTORS: vectors}), people()
    before = log.everything(path)
    for merge in (
        table.merge(nothing, BY_ID).when_matched_delete(),
        table.merge(nothing, BY_ID).when_matched_update().when_not_matched_insert(),
    ):
        result = merge.execute()
        assert (result.committed, result.version, counts(result)) == (False, 0, (0, 0, 0))
    assert log.everything(path) == before
    result = table.merge(nothing, BY_ID).when_not_matched_by_source_update({"v": "'x'"}, where="target.v = 'b'").execute()
    assert rows(result.table) == [(1, "a"), (2, "x"), (3, "c")]
    result = table.merge(nothing, BY_ID).when_not_matched_by_source_delete(where="target.v IN ('x', 'c')").execute()
    assert rows(result.table) == [(1, "a")]
    result = table.merge(nothing, BY_ID).when_not_matched_by_source_delete().execute()
    assert (rows(result.table), result.metrics.deleted_rows) == ([], 1)


@by_form
def test_an_empty_table_matches_nothing(path: str, vectors: bool) -> None:
    table = lb.create(path, people().schema, properties={VECTORS: vectors})
    merge = table.merge(people((1, "a"), (None, "b")), BY_ID).when_matched_update().when_not_matched_by_source_delete()
    assert not merge.execute().committed
    assert rows(merge.when_not_matched_insert().execute().table) == [(1, "a"), (None, "b")]


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("source.v IS NULL", [1, 3]),
        ("source.v = 'x'", [1, 2]),
        ("source.v IS NOT NULL AND source.id < 3", [1, 2, 3]),
        ("target.v = 'b'", [1, 3]),
        ("target.v > source.v", [1, 2, 3]),
        ("upper(target.v) = 'C'", [1, 2]),
        ("NULL", [1, 2, 3]),
        ("TRUE", [1]),
        ("1 = 0", [1, 2, 3]),
    ],
)
def test_conditions_of_on_beside_the_key(path: str, more: str, kept: list[int]) -> None:
    source = people((2, None), (3, "x"), (4, "y"))
    for on in (f"{BY_ID} AND {more}", f"({more}) AND {BY_ID}"):
        lb.write(path, people((1, "a"), (2, "b"), (3, "c")), mode="overwrite")
        result = lb.Table(path).merge(source, on).when_matched_delete().execute()
        assert [row[0] for row in rows(result.table)] == kept
        lb.write(path, people((1, "a"), (2, "b"), (3, "c")), mode="overwrite")
        result = lb.Table(path).merge(source, on).when_not_matched_insert().execute()
        # Source rows without a match are inserted. The row 4 never matches.
        assert result.metrics.inserted_rows == len(kept)
        lb.write(path, people((1, "a"), (2, "b"), (3, "c")), mode="overwrite")
        result = lb.Table(path).merge(source, on).when_not_matched_by_source_delete(where="target.v <> 'a'").execute()
        assert [row[0] for row in rows(result.table)] == [1, *(id for id in (2, 3) if id not in kept)]


@pytest.mark.parametrize(
    "where", ["target.k = 6", "target.k IS NULL", "target.x = 0 AND target.a = 8", "target.a = 8 OR target.k = 7"]
)
@pytest.mark.parametrize("source", [[], [(9, 9)], [(1, 7), (9, 9)]])
@pytest.mark.parametrize("on", ["target.id = source.id", "target.id + 0 = source.id AND target.a = source.a"])
def test_not_matched_conditions_name_any_column(path: str, on: str, source: list[tuple[int, int]], where: str) -> None:
    data = pa.table({"x": [0, 0, 0], "id": [1, 2, 3], "a": [7, 8, 9], "k": pa.array([6, None, 7], pa.int64())})
    table = lb.write(path, data).table
    rows_of_source = {
        "id": pa.array([row[0] for row in source], pa.int64()),
        "a": pa.array([row[1] for row in source], pa.int64()),
    }
    holds = {"target.k = 6": {1}, "target.k IS NULL": {2}, "target.x = 0 AND target.a = 8": {2}}.get(where, {2, 3})
    gone = holds - ({1} if (1, 7) in source else set())
    result = table.merge(pa.table(rows_of_source), on).when_not_matched_by_source_delete(where=where).execute()
    assert [row[1] for row in rows(result.table)] == [id for id in (1, 2, 3) if id not in gone]


def test_star_takes_target_columns_by_name(path: str) -> None:
    table = abc(path)
    more = pa.table({"EXTRA": [1, 2], "V": ["x", "y"], "Id": [3, 4]})
    result = table.merge(more, "target.id = source.Id").when_matched_update().when_not_matched_insert().execute()
    assert rows(result.table) == [(1, "a"), (2, "b"), (3, "x"), (4, "y")]
    less = pa.table({"id": [3, 4]})
    for clause, words in (("when_matched_update", "UPDATE SET"), ("when_not_matched_insert", "INSERT")):
        merge = getattr(table.merge(less, BY_ID), clause)()
        refused(
            path, lb.SchemaMismatchError, rf"{words} \* takes every column from the source, but the source lacks v", merge.execute
        )
    # Values are cast to the types of the columns where a cast exists.
    texts = pa.table({"id": ["1", "7"], "v": [5, 6]})
    result = table.merge(texts, BY_ID).when_matched_update().when_not_matched_insert().execute()
    assert rows(result.table) == [(1, "5"), (2, "b"), (3, "x"), (4, "y"), (7, "6")]
    refused(
        path,
        lb.PredicateError,
        "'x' cannot be cast to BIGINT",
        lambda: table.upsert(pa.table({"id": ["x"], "v": ["y"]}), keys=["id"]),
    )


EVOLVED = people((2, "x"), (4, "y")).append_column("new", pa.array([5, 6]))


@by_form
@pytest.mark.parametrize("mapped", [False, True], ids=["unmapped", "mapped"])
def test_schema_evolution_takes_columns_of_clauses(path: str, vectors: bool, mapped: bool) -> None:
    properties = {VECTORS: vectors, FEED: True, **({"delta.columnMapping.mode": "name"} if mapped else {})}

    def merge(source: pa.Table = EVOLVED) -> lb.Merge:
        lb.write(path, people((1, "a"), (2, "b"), (3, "c")), mode="overwrite", schema_mode="overwrite", properties=properties)
        return lb.Table(path).merge(source, BY_ID, schema_mode="merge")

    table = merge().when_matched_update().when_not_matched_insert().execute().table
    assert table.schema.names == ["id", "v", "new"]
    assert rows(table) == [(1, "a", None), (2, "x", 5), (3, "c", None), (4, "y", 6)]
    assert events(table) == [
        (2, "b", None, "update_preimage"),
        (2, "x", 5, "update_postimage"),
        (4, "y", 6, "insert"),
    ]
    named = (
        merge().when_matched_update({"new": "source.new + 1"}).when_not_matched_insert({"id": "source.id", "new": "source.new"})
    )
    assert rows(named.execute().table) == [(1, "a", None), (2, "b", 6), (3, "c", None), (4, None, 6)]
    # Columns that no clause names are not added.
    not_named = merge().when_matched_update({"v": "source.v"}).when_not_matched_insert({"id": "source.id"})
    assert rows(not_named.execute().table) == [(1, "a"), (2, "x"), (3, "c"), (4, None)]
    assert merge().when_matched_delete().execute().table.schema.names == ["id", "v"]
    # Columns that the source lacks stay, and are null in new rows.
    less = merge(EVOLVED.select(["id", "new"])).when_matched_update().when_not_matched_insert()
    assert rows(less.execute().table) == [(1, "a", None), (2, "b", 5), (3, "c", None), (4, None, 6)]


@by_form
def test_struct_evolution_keeps_fields_source_lacks(path: str, vectors: bool) -> None:
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    values = [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, None]

    def merge(values_of_source: list[Any], kind: pa.DataType, schema: Any = "merge") -> lb.Merge:
        data = pa.table({"id": [1, 2, 3], "s": pa.array(values, inner)})
        lb.write(path, data, mode="overwrite", schema_mode="overwrite", properties={VECTORS: vectors})
        source = pa.table({"id": [2, 3, 4], "s": pa.array(values_of_source, kind)})
        return lb.Table(path).merge(source, BY_ID, schema_mode=schema).when_matched_update().when_not_matched_insert()

    def structs(merge: lb.Merge) -> list[Any]:
        return [row[1] for row in rows(merge.execute().table)]

    wider = pa.struct([("y", pa.string()), ("z", pa.int64()), ("x", pa.int32())])
    new = {"x": 8, "y": "q", "z": 9}
    assert structs(merge([new, new, None], wider)) == [{"x": 1, "y": "a", "z": None}, new, new, None]
    narrower = pa.struct([("y", pa.string())])
    assert structs(merge([{"y": "q"}] * 3, narrower)) == [
        {"x": 1, "y": "a"},
        {"x": 2, "y": "q"},
        {"x": None, "y": "q"},
        {"x": None, "y": "q"},
    ]
    refused(path, lb.SchemaMismatchError, "lacks the field s.x", merge([{"y": "q"}] * 3, narrower, "enforce").execute)
    other_order = pa.struct([("y", pa.string()), ("x", pa.int32())])
    assert structs(merge([{"y": "q", "x": 7}, None, None], other_order, "enforce")) == [
        {"x": 1, "y": "a"},
        {"x": 7, "y": "q"},
        None,
        None,
    ]


@by_form
def test_struct_fields_are_updated_one_by_one(path: str, vectors: bool) -> None:
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    data = pa.table({"id": [1, 2, 3], "s": pa.array([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, None], inner)})
    table = lb.write(path, data, properties={VECTORS: vectors}).table
    source = pa.table({"id": [1, 3], "s": pa.array([{"x": 10, "y": "q"}, {"x": 30, "y": "r"}], inner)})
    merge = table.merge(source, BY_ID).when_matched_update({"target.s.x": "target.s.x + source.s.x", "s.y": "source.s.y"})
    merge = merge.when_not_matched_by_source_update({"s.y": "concat(target.s.y, s.x)"})
    result = merge.execute()
    assert rows(result.table) == [(1, {"x": 11, "y": "q"}), (2, {"x": 2, "y": "b2"}), (3, {"x": None, "y": "r"})]
    insert = table.merge(source, "FALSE").when_not_matched_insert({"id": "source.id", "s.x": "source.s.x"})
    refused(path, lb.PredicateError, "a new row needs values for whole columns", insert.execute)


def test_names_of_both_sides(path: str) -> None:
    table = lb.write(path, pa.table({"The Id": [1, 2], "a.b": ["x", "y"]}), properties={"delta.columnMapping.mode": "name"}).table
    source = pa.table({"key": [2, 3], "w": ["q", "r"]})
    result = (
        table.merge(source, "`the id` = KEY")
        .when_matched_update({"`A.b`": "w"})
        .when_not_matched_insert({"`The Id`": "key", "target.`a.b`": "source.w"})
        .execute()
    )
    assert rows(result.table) == [(1, "x"), (2, "q"), (3, "r")]
    merge = table.merge(source, "t.`The Id` = s.key", target_alias="t", source_alias="s")
    result = merge.when_matched_update({"t.`a.b`": "concat(s.w, t.`a.b`)"}, where="s.key = 3").execute()
    assert rows(result.table) == [(1, "x"), (2, "q"), (3, "rr")]


SOURCE = people((2, "x"), (4, "y"))

Make = Callable[[lb.Table], lb.Merge]

REFUSED: list[tuple[type[Exception], str, Make]] = [
    (lb.InvalidInputError, "without clauses does nothing", lambda t: t.merge(SOURCE, BY_ID)),
    (
        lb.InvalidInputError,
        "WHEN MATCHED: only the last of these clauses may have no condition",
        lambda t: t.merge(SOURCE, BY_ID).when_matched_delete().when_matched_update(),
    ),
    (
        lb.InvalidInputError,
        "WHEN NOT MATCHED: only the last",
        lambda t: t.merge(SOURCE, BY_ID).when_not_matched_insert().when_not_matched_insert(where="source.id > 1"),
    ),
    (lb.InvalidInputError, "name at least one column and its value", lambda t: t.merge(SOURCE, BY_ID).when_matched_update({})),
    (
        lb.InvalidInputError,
        "both have the alias t",
        lambda t: t.merge(SOURCE, "TRUE", target_alias="t", source_alias="T").when_matched_delete(),
    ),
    (lb.PredicateError, "`id` is a column of both tables", lambda t: t.merge(SOURCE, "id = id").when_matched_delete()),
    (
        lb.PredicateError,
        "no column `idd` in target; did you mean `id`",
        lambda t: t.merge(SOURCE, "target.idd = 1").when_matched_delete(),
    ),
    (lb.PredicateError, "a condition is true or false", lambda t: t.merge(SOURCE, "target.id").when_matched_delete()),
    (
        lb.PredicateError,
        "subqueries are not supported",
        lambda t: t.merge(SOURCE, "target.id IN (SELECT 1)").when_matched_delete(),
    ),
    (lb.PredicateError, "the table has no column `w`", lambda t: t.merge(SOURCE, BY_ID).when_matched_update({"w": "1"})),
    (lb.PredicateError, "no column `w`", lambda t: t.merge(SOURCE, BY_ID).when_matched_update({"v": "source.w"})),
    (lb.PredicateError, "no column `w`", lambda t: t.merge(SOURCE, BY_ID).when_matched_delete(where="source.w = 1")),
    (
        lb.PredicateError,
        "`target.v` is a column of the target",
        lambda t: t.merge(SOURCE, BY_ID).when_not_matched_insert({"id": "source.id", "v": "target.v"}),
    ),
    (
        lb.PredicateError,
        "`source.v` is a column of the source",
        lambda t: t.merge(SOURCE, BY_ID).when_not_matched_by_source_update({"v": "source.v"}),
    ),
    (
        lb.PredicateError,
        "`source.id` is a column of the source",
        lambda t: t.merge(SOURCE, BY_ID).when_not_matched_by_source_delete(where="source.id = 1"),
    ),
    (
        lb.PredicateError,
        "is given more than one value",
        lambda t: t.merge(SOURCE, BY_ID).when_not_matched_insert({"id": "source.id", "ID": "1"}),
    ),
    (
        lb.PredicateError,
        "assigned more than once",
        lambda t: t.merge(SOURCE, BY_ID).when_matched_update({"v": "'1'", "V": "'2'"}),
    ),
    (TypeError, 'it must be "all", or a mapping', lambda t: t.merge(SOURCE, BY_ID).when_matched_update("some")),  # type: ignore[arg-type]
    (TypeError, "write it as a string, such as '1'", lambda t: t.merge(SOURCE, BY_ID).when_matched_update({"v": 1})),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("error", "said", "make"), REFUSED, ids=[said for _, said, _ in REFUSED])
def test_what_makes_no_sense_is_refused(path: str, error: type[Exception], said: str, make: Make) -> None:
    abc(path)
    refused(path, error, said, lambda: make(lb.Table(path)).execute())


def test_upsert_with_invalid_keys_is_refused(path: str) -> None:
    table = abc(path)
    refused(path, TypeError, r"keys=1: it must be the name of a column", lambda: table.upsert(SOURCE, keys=1))
    refused(path, ValueError, "at least one key", lambda: table.upsert(SOURCE, keys=[]))
    refused(path, lb.PredicateError, "no column `nope`", lambda: table.upsert(SOURCE, keys=["nope"]))


@by_form
def test_constraint_violation_changes_nothing(path: str, vectors: bool) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    table = lb.create(path, schema, constraints={"short": "length(v) < 3"}, properties={VECTORS: vectors, FEED: True})
    table.append(people((1, "a"), (2, "b")))

    def merge(*source: tuple[int | None, str | None]) -> lb.Merge:
        return table.merge(people(*source), BY_ID).when_matched_update().when_not_matched_insert()

    check, null = r"CHECK constraint short \(length\(v\) < 3\)", "column id must not be null"
    refused(path, lb.ConstraintViolationError, check + ".*v = long", merge((1, "long"), (3, "c")).execute)
    refused(path, lb.ConstraintViolationError, check + ".*v = long", merge((1, "x"), (3, "long")).execute)
    refused(path, lb.ConstraintViolationError, check + ".*v = NULL", merge((2, None)).execute)
    refused(path, lb.ConstraintViolationError, null, merge((1, "x"), (None, "c")).execute)
    by_source = merge((2, "y")).when_not_matched_by_source_update({"v": "'long'"})
    refused(path, lb.ConstraintViolationError, check, by_source.execute)
    assert rows(merge((1, "x"), (3, "c")).execute().table) == [(1, "x"), (2, "b"), (3, "c")]


@by_form
def test_merge_fills_columns_clauses_omit(path: str, vectors: bool) -> None:
    """New rows get defaults and identity values. Generated columns are also computed in updates."""
    identity = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": False}
    fields = [
        {"name": "key", "type": "long", "metadata": identity},
        {"name": "a", "type": "integer"},
        {"name": "twice", "type": "integer", "metadata": {"delta.generationExpression": "a * 2"}},
        {"name": "v", "type": "string", "metadata": {"CURRENT_DEFAULT": "concat('d', 'e')"}},
    ]
    features = ["generatedColumns", "identityColumns", "allowColumnDefaults", "deletionVectors"]
    spark_table(path, fields, features, {VECTORS: str(vectors).lower()})
    table = lb.Table(path)
    table.append(pa.table({"a": pa.array([1, 2], pa.int32()), "v": ["x", "y"]}))
    source = pa.table({"a": pa.array([2, 3, 4], pa.int32()), "b": pa.array([20, 30, 40], pa.int32())})
    result = (
        table.merge(source, "target.a = source.a")
        .when_matched_update({"a": "source.b", "v": "DEFAULT"})
        .when_not_matched_insert({"a": "source.b"}, where="source.a = 3")
        .when_not_matched_insert({"a": "source.a", "v": "NULL"})
        .execute()
    )
    found = rows(result.table)
    assert [row for row in found if row[0] < 20] == [(10, 1, 2, "x"), (15, 20, 40, "de")]
    assert sorted(row[1:] for row in found if row[0] >= 20) == [(4, 8, None), (30, 60, "de")]
    assert {row[0] for row in found} == {10, 15, 20, 25}
    table.append(pa.table({"a": pa.array([5], pa.int32())}))
    assert max(row[0] for row in rows(lb.Table(path))) == 30
    wrong = table.merge(source, "target.a = source.a").when_not_matched_insert({"a": "source.a", "twice": "5"})
    refused(path, lb.ConstraintViolationError, "column twice is generated as", wrong.execute)
    numbered = table.merge(source, "FALSE").when_not_matched_insert({"key": "1", "a": "source.a"})
    refused(path, lb.InvalidInputError, "column key is an identity column that is always generated", numbered.execute)
    renumbered = table.merge(source, "target.a = source.a").when_matched_update({"key": "1"})
    refused(path, lb.LakebedError, "(?i)identity|numbered", renumbered.execute)


@by_form
def test_only_files_that_may_match_are_opened(path: str, vectors: bool) -> None:
    """The partition and the statistics of the key select the files. A merge opens one of three
    files in each of two partitions.
    """
    for first in (0, 10, 20):
        data = pa.table({"p": ["a", "b"] * 10, "id": [first + number // 2 for number in range(20)], "v": range(20)})
        lb.write(path, data, partition_by="p", properties={VECTORS: vectors} if first == 0 else None)
    for name, add in log.live(path, 2).items():
        ids = pq.read_table(Path(path) / name)["id"].to_pylist()
        if (add["partitionValues"]["p"], min(ids)) != ("b", 10):
            (Path(path) / name).write_bytes(b"")
    source = pa.table({"p": ["b", "b"], "id": [11, 13], "v": [-1, -2]})
    on = "target.p = source.p AND target.id = source.id"
    merge = lb.Table(path).merge(source, on).when_matched_update().when_not_matched_insert()
    explained = merge.explain()
    assert (explained.scan.files, explained.source_rows, explained.source_parts) == (1, 2, 1)
    result = merge.execute()
    metrics = result.metrics
    assert (metrics.updated_rows, metrics.copied_rows) == (2, 0 if vectors else 8)
    assert (metrics.scanned_files, metrics.skipped_by_partition, metrics.skipped_by_statistics) == (1, 3, 2)
    in_file = result.table.to_arrow(where="p = 'b' AND id BETWEEN 10 AND 19")
    assert dict(zip(in_file["id"].to_pylist(), in_file["v"].to_pylist(), strict=True)) == {
        id: {11: -1, 13: -2}.get(id, 2 * (id - 10) + 1) for id in range(10, 20)
    }


def test_merge_reads_source_once_across_retries(path: str) -> None:
    table, asked = abc(path), []

    def batches() -> Iterator[pa.RecordBatch]:
        asked.append(1)
        yield pa.record_batch({"id": [2, 4], "v": ["x", "y"]})

    reader = pa.RecordBatchReader.from_batches(people().schema, batches())
    merge = table.merge(reader, BY_ID).when_matched_update().when_not_matched_insert()
    assert asked == []
    assert (merge.explain().source_rows, log.live(path, 0).keys()) == (2, log.live(path, lb.Table(path).version).keys())
    assert counts(merge.execute()) == (1, 0, 1)
    assert counts(merge.execute()) == (2, 0, 0)
    assert asked == [1]


@pytest.mark.parametrize(
    "source",
    [
        SOURCE,
        SOURCE.to_pandas(),
        pd.DataFrame({"v": ["x", "y"]}, index=pd.Index([2, 4], name="id")),
        pl.DataFrame({"id": [2, 4], "v": ["x", "y"]}),
        {"id": [2, 4], "v": ["x", "y"]},
        [{"id": 2, "v": "x"}, {"id": 4, "v": "y"}],
    ],
    ids=["arrow", "pandas", "pandas with an index", "polars", "columns", "rows"],
)
def test_sources_of_all_kinds(path: str, source: Any) -> None:
    assert rows(abc(path).upsert(source, keys=["id"]).table) == [(1, "a"), (2, "x"), (3, "c"), (4, "y")]


def test_failing_source_changes_nothing(path: str) -> None:
    abc(path)

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [2, 4], "v": ["x", "y"]})
        raise ValueError("the source broke off")

    reader = pa.RecordBatchReader.from_batches(people().schema, batches())
    refused(path, lb.InvalidInputError, "the source broke off", lambda: lb.Table(path).upsert(reader, keys=["id"]))


@by_form
def test_merge_with_txn_is_done_once(path: str, vectors: bool) -> None:
    table = abc(path, **{VECTORS: vectors})
    first = table.merge(SOURCE, BY_ID, txn=("job", 1)).when_not_matched_insert().execute()
    assert (first.committed, first.version) == (True, 1)
    before = log.everything(path)
    for number in (1, 0):
        again = table.merge(people((7, "z")), BY_ID, txn=("job", number)).when_not_matched_insert().execute()
        assert (again.committed, again.version, again.metrics) == (False, 1, lb.ChangeMetrics())
        assert not table.upsert(people((7, "z")), keys=["id"], txn=("job", number)).committed
    assert log.everything(path) == before
    nothing = table.merge(SOURCE, BY_ID, txn=("job", 2)).when_not_matched_insert().execute()
    assert (nothing.committed, nothing.version, nothing.table.transaction_version("job")) == (True, 2, 2)


@by_form
def test_the_history_says_what_was_done(path: str, vectors: bool) -> None:
    merge = abc(path, **{VECTORS: vectors}).merge(SOURCE, BY_ID, user_metadata="why")
    merge = merge.when_matched_delete(where="source.v = 'q'").when_matched_update().when_not_matched_insert()
    entry = merge.when_not_matched_by_source_update({"v": "'z'"}, where="id = 3").execute().table.history()[0]
    assert (entry.operation, entry.user_metadata, entry.is_blind_append, entry.read_version) == ("MERGE", "why", False, 0)
    assert entry.parameters == {
        "predicate": f'["{BY_ID}"]',
        "matchedPredicates": """[{"predicate":"source.v = 'q'","actionType":"delete"},{"actionType":"update"}]""",
        "notMatchedPredicates": '[{"actionType":"insert"}]',
        "notMatchedBySourcePredicates": '[{"predicate":"id = 3","actionType":"update"}]',
    }
    told = {name.removeprefix("numTarget"): value for name, value in entry.metrics.items()}
    expected = {
        "numSourceRows": "2",
        "RowsInserted": "1",
        "RowsUpdated": "2",
        "RowsMatchedUpdated": "1",
        "RowsNotMatchedBySourceUpdated": "1",
        "RowsDeleted": "0",
        "RowsCopied": "0" if vectors else "1",
        "numOutputRows": "3" if vectors else "4",
        "FilesAdded": "1",
        "FilesRemoved": "0" if vectors else "1",
        "DeletionVectorsAdded": "1" if vectors else "0",
    }
    assert {name: told[name] for name in expected} == expected


@by_form
def test_rows_of_many_batches_meet(path: str, vectors: bool) -> None:
    """Both sides have more rows than a batch. Every third row of the table has a match."""
    count = 60_000
    data = pa.table({"id": range(count), "v": [number % 97 for number in range(count)]})
    table = lb.write(path, data, row_group_rows=7_001, properties={VECTORS: vectors}).table
    ids = list(range(0, count + 30_000, 3))
    source = pa.table({"id": ids, "v": [-id for id in ids]}).take(
        pa.array([number * 7_919 % len(ids) for number in range(len(ids))])
    )
    result = (
        table.merge(source, BY_ID)
        .when_matched_delete(where="target.v = 5")
        .when_matched_update()
        .when_not_matched_insert()
        .when_not_matched_by_source_delete(where="target.v = 6")
        .execute()
    )
    expected = {id: id % 97 for id in range(count) if id % 3 and id % 97 != 6}
    expected |= {id: -id for id in ids if id >= count or id % 97 != 5}
    found = result.table.to_arrow()
    assert dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True)) == expected
    assert found.num_rows == len(expected)
    met = [id for id in range(0, count, 3) if id % 97 != 5]
    gone = sum(1 for id in range(count) if id % 97 == (6 if id % 3 else 5))
    assert counts(result) == (len(met), gone, 10_000)


# --- a source in several parts ------------------------------------------------------------


def source_of_parts(*values: str) -> pa.Table:
    """Returns rows for key 2 with other rows between them, which match nothing. If the source has
    several parts, each row for key 2 is in a part of its own.
    """
    between = [(100 + row, "x" * 50) for row in range(20)]
    return people(*(row for value in values for row in [(2, value), *between]))


@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
@by_form
def test_unchanged_pair_is_no_second_match(path: str, request: pytest.FixtureRequest, parts: bool, vectors: bool) -> None:
    table = abc(path, **{VECTORS: vectors})
    if parts:
        request.getfixturevalue("in_parts")
    for values in (["skip", "new"], ["new", "skip"]):
        merge = (
            table.refresh()
            .merge(source_of_parts(*values), BY_ID)
            .when_matched_update({"v": "source.v"}, where="source.v = 'new'")
        )
        assert (merge.explain().source_parts > 1) == parts
        assert counts(merge.execute()) == (1, 0, 0)
        assert rows(table.refresh()) == [(1, "a"), (2, "new"), (3, "c")]


@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
@by_form
def test_two_matches_that_change_are_refused(path: str, request: pytest.FixtureRequest, parts: bool, vectors: bool) -> None:
    table = abc(path, **{VECTORS: vectors})
    if parts:
        request.getfixturevalue("in_parts")
    merge = table.merge(source_of_parts("new", "skip", "newer"), BY_ID)
    with pytest.raises(lb.InvalidInputError, match=r"several source rows match one target row \(id = 2\)"):
        merge.when_matched_update({"v": "source.v"}, where="source.v <> 'skip'").execute()
    merge = table.merge(source_of_parts("skip", "new"), BY_ID).when_matched_update({"v": "source.v"}, where="source.v = 'new'")
    with pytest.raises(lb.InvalidInputError, match="several source rows match"):
        merge.when_not_matched_insert(where="false").execute()
    assert rows(table.refresh()) == [(1, "a"), (2, "b"), (3, "c")]
