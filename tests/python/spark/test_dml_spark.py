"""Deletes, updates and merges drawn at random, by lakebed on one table and by Delta Spark on its copy: the same rows, changes and row ids.

Both are held against the model of `dml.model`; and lakebed and Delta Spark change one table in turn. The tables have a column of every type
that conditions can be about, and each combination of what tables have occurs with each other.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from hypothesis import strategies as st

import duck
from dml import log
from dml.drawn import ASSIGNMENTS, WHERES, examples, merges, rows_from
from dml.model import FEED, SCHEMA, TRACKING, VECTORS, Merge, Run, Twin, canonical, events, is_refused_by_spark

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Form:
    """What a table has."""

    vectors: bool
    feed: bool
    tracking: bool
    mapped: bool
    partition_by: list[str]
    #: Whether Delta Spark makes the table and its files.
    is_sparks: bool

    @property
    def properties(self) -> dict[str, Any]:
        mapped = {"delta.columnMapping.mode": "name"} if self.mapped else {}
        return {VECTORS: self.vectors, FEED: self.feed, TRACKING: self.tracking, **mapped}


#: Any two of these occur together with all their values.
FORMS = {
    "copied, feed, tracked": Form(False, True, True, False, [], True),
    "vectors, feed, tracked, by p": Form(True, True, True, False, ["p"], False),
    "vectors, mapped, by day": Form(True, False, False, True, ["day"], True),
    "copied, feed, mapped, by k, b": Form(False, True, False, True, ["k", "b"], False),
    "vectors, feed": Form(True, True, False, False, [], True),
    "copied, tracked, mapped, by at, m": Form(False, False, True, True, ["at", "m"], False),
}

by_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@dataclass
class Ids:
    """Each row gets one of its own."""

    next: int = 0

    def take(self, count: int) -> int:
        self.next += count
        return self.next - count


def spark_table(spark: Any, path: str, form: Form) -> None:
    """Makes a table without rows."""
    kinds = {"id": "BIGINT", "n": "BIGINT", "k": "INT", "f": "DOUBLE", "m": "DECIMAL(12, 3)", "b": "BOOLEAN", "day": "DATE"}
    kinds |= {"at": "TIMESTAMP", "p": "STRING", "s": "STRUCT<x: INT, y: STRING>"}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    properties = ", ".join(f"'{name}' = '{str(value).lower()}'" for name, value in form.properties.items())
    by = f"PARTITIONED BY ({', '.join(form.partition_by)})" if form.partition_by else ""
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {by} TBLPROPERTIES ({properties})")


def append_by_spark(spark: Any, path: str) -> Callable[[pa.Table], None]:
    return lambda data: spark.createDataFrame(data).repartition(2).write.format("delta").mode("append").save(path)


def begin(data: st.DataObject, spark: Any, path: str, form: Form, ids: Ids) -> Twin:
    """A table of several files."""
    if form.is_sparks:
        spark_table(spark, path, form)
        twin = Twin(path, form.properties, form.partition_by, history=[[]], is_foreign=True)
    else:
        twin = Twin.create(path, form.properties, form.partition_by)
    for _ in range(1 if form.is_sparks else 2):
        rows = data.draw(rows_from(ids.take(12), 12))
        twin.append(rows, append_by_spark(spark, path) if form.is_sparks else None)
    return twin


#: One statement on a table, by lakebed or as text by another.
Statement = Callable[[Twin, "Run | None"], None]


def update(data: st.DataObject, spark: Any, twin: Twin, ids: Ids) -> tuple[Statement, Run]:
    values, where = data.draw(ASSIGNMENTS), data.draw(WHERES)
    return (lambda table, by: table.update(values, where, by)), spark.sql


def delete(data: st.DataObject, spark: Any, twin: Twin, ids: Ids) -> tuple[Statement, Run]:
    where = data.draw(WHERES)
    return (lambda table, by: table.delete(where, by)), spark.sql


def merge(data: st.DataObject, spark: Any, twin: Twin, ids: Ids) -> tuple[Statement, Run]:
    drawn = data.draw(
        merges([row["id"] for row in twin.rows], ids.take(20)).filter(lambda one: not is_refused_by_spark(twin.rows, one))
    )
    return (lambda table, by: table.merge(drawn, by)), run_merge(spark, drawn)


def run_merge(spark: Any, merge: Merge) -> Run:
    """Runs a merge whose source is a view."""

    def run(text: str) -> None:
        spark.createDataFrame(merge.source).createOrReplaceTempView("source")
        spark.sql(text)

    return run


@by_form
def test_the_same_statements_by_both_do_the_same(form: Form, spark: Any) -> None:
    @examples(2, form)
    def check(data: st.DataObject) -> None:
        if is_simplest(data):
            return
        with log.folder() as folder:
            ids = Ids()
            ours = begin(data, spark, folder + "/ours", form, ids)
            theirs = copied(ours, folder + "/theirs")
            for statement in (delete if form.mapped else update, merge):
                act, by_spark = statement(data, spark, ours, ids)
                act(ours, None)
                act(theirs, by_spark)
            assert canonical(ours.rows) == canonical(theirs.rows)
            check_by_others(spark, ours)
            check_by_spark(spark, theirs)

    check()


@pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])
def test_both_change_one_table_in_turn(vectors: bool, spark: Any) -> None:
    @examples(2, vectors)
    def check(data: st.DataObject) -> None:
        if is_simplest(data):
            return
        with log.folder() as folder:
            ids = Ids()
            form = Form(vectors, feed=True, tracking=True, mapped=False, partition_by=[], is_sparks=not vectors)
            twin = begin(data, spark, folder + "/t", form, ids)
            for number, statement in enumerate((merge, update, delete, merge)):
                act, by_spark = statement(data, spark, twin, ids)
                act(twin, by_spark if number % 2 == 0 else None)
            check_by_others(spark, twin)

    check()


def is_simplest(data: st.DataObject) -> bool:
    """The first example that hypothesis tries has the simplest of everything, which says nothing."""
    return data.draw(st.integers(0, 1 << 32)) == 0


def copied(twin: Twin, path: str) -> Twin:
    """The same table at another place."""
    shutil.copytree(twin.path, path)
    return replace(deepcopy(twin), path=path)


def check_by_spark(spark: Any, twin: Twin) -> None:
    """Delta Spark finds in the table what the model has: rows, the ids of rows, changes."""
    frame = spark.read.format("delta").load(twin.path)
    if twin.properties[TRACKING]:
        frame = frame.selectExpr("*", "_metadata.row_id", "_metadata.row_commit_version")
    found = frame.toArrow().to_pylist()
    assert [*SCHEMA.names] == [name for name in frame.columns if not name.startswith("row_")]
    if twin.properties[TRACKING]:
        tracked = [(row["id"], row.pop("row_id"), row.pop("row_commit_version")) for row in found]
        assert sorted(tracked) == sorted((id, *ids) for id, ids in twin.tracked.items())
    assert canonical(found) == canonical(twin.rows)
    if twin.properties[FEED]:
        feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).load(twin.path)
        assert events(feed.drop("_commit_timestamp").toArrow().to_pylist()) == twin.expected_changes(0)


def check_by_others(spark: Any, twin: Twin) -> None:
    """Every reader finds what the model has, and lakebed in every version."""
    twin.check_past()
    check_by_spark(spark, twin)
    if not twin.is_foreign:  # Of times that Spark wrote deltalake reads only those of a few centuries.
        found = QueryBuilder().register("t", DeltaTable(twin.path)).execute("SELECT * FROM t")
        assert canonical(pa.table(found).to_pylist()) == canonical(twin.rows)
    if twin.partition_by and "delta.columnMapping.mode" in twin.properties:
        return  # The values of such partitions come out null in DuckDB.
    with duck.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        found = connection.sql(f"SELECT * FROM delta_scan('{twin.path}')").to_arrow_table()
    assert canonical(found.to_pylist()) == canonical(twin.rows)
