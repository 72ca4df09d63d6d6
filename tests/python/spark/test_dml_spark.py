"""Random deletes, updates and merges. lakebed runs them on one table and Delta Spark on a copy.
Both must have the same rows, changes and row ids.

Both are compared with the model of `dml.model`. In other tests, lakebed and Delta Spark change one
table in turn. The tables have a column of every type that predicates can compare, and each pair of
table features occurs together.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from hypothesis import strategies as st

import duck
import lakebed as lb
from dml import log
from dml.drawn import ASSIGNMENTS, WHERES, examples, merges, rows_from
from dml.model import FEED, SCHEMA, TRACKING, VECTORS, Merge, Run, Twin, canonical, changes, events, is_refused_by_spark

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Form:
    """The features of a table."""

    vectors: bool
    feed: bool
    tracking: bool
    mapped: bool
    partition_by: list[str]
    #: Whether Delta Spark creates the table and its files.
    is_sparks: bool

    @property
    def properties(self) -> dict[str, Any]:
        mapped = {"delta.columnMapping.mode": "name"} if self.mapped else {}
        return {VECTORS: self.vectors, FEED: self.feed, TRACKING: self.tracking, **mapped}


#: The forms contain each combination of values of any two of these features.
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
    """Gives out unique ids."""

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
    """Makes a table of several files."""
    if form.is_sparks:
        spark_table(spark, path, form)
        twin = Twin(path, form.properties, form.partition_by, history=[[]], is_foreign=True)
    else:
        twin = Twin.create(path, form.properties, form.partition_by)
    for _ in range(1 if form.is_sparks else 2):
        rows = data.draw(rows_from(ids.take(12), 12))
        twin.append(rows, append_by_spark(spark, path) if form.is_sparks else None)
    return twin


#: Runs one statement on a table: with lakebed, or as SQL in another engine.
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
    """Runs a merge from a view."""

    def run(text: str) -> None:
        spark.createDataFrame(merge.source).createOrReplaceTempView("source")
        spark.sql(text)

    return run


@by_form
def test_statements_equal_delta_spark(form: Form, spark: Any) -> None:
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


#: Values of other types for each column. One UPDATE sets all of them. Some values do not fit the
#: type in any row.
FITTED = {
    "id": "at",
    "n": "'12'",
    "k": "m",
    "f": "p",
    "m": "1.2395",
    "b": "k",
    "day": "at",
    "at": "day",
    "p": "day",
    "s.x": "'5'",
    "s.y": "n",
}
UNFIT = [("k", "day"), ("day", "n"), ("k", "3000000000"), ("m", "1234567890.5"), ("f", "'x'"), ("s", "1")]


def test_assignment_casts_equal_delta_spark(spark: Any, tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    moment = datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    row = {"n": 2, "k": 1, "f": 1.5, "m": Decimal("7.500"), "b": False, "day": date(2023, 5, 6), "at": moment, "p": "7.25"}
    data = pa.Table.from_pylist([{"id": 1, **row, "s": {"x": 1, "y": "z"}}], SCHEMA)
    table = lb.write(ours, data).table
    shutil.copytree(ours, theirs)
    for name, value in UNFIT:
        text = f"UPDATE delta.`{theirs}` SET {name} = {value}"
        with pytest.raises(lb.LakebedError):
            table.update({name: value})
        with pytest.raises(Exception, match=r"CAST|MISMATCH"):
            spark.sql(text)
    table.update(FITTED)
    spark.sql(f"UPDATE delta.`{theirs}` SET {', '.join(f'{name} = {value}' for name, value in FITTED.items())}")
    found = lb.Table(ours).to_arrow().to_pylist()
    assert canonical(found) == canonical(lb.Table(theirs).to_arrow().to_pylist())
    assert [found[0][name] for name in ("id", "k", "m", "p", "s")] == [
        1704164645,
        7,
        Decimal("1.240"),
        "2023-05-06",
        {"x": 5, "y": "2"},
    ]
    assert (lb.Table(ours).version, lb.Table(theirs).version) == (1, 1)


#: The columns of sources that the table lacks. A merge adds them to the table.
WIDER = pa.struct([("y", pa.string()), ("z", pa.int64()), ("x", pa.int32())])
NARROWER = pa.struct([("y", pa.string())])
EVOLVING = {
    "a column more": {"v": pa.array(["x", "y"]), "s": pa.nulls(2, WIDER), "new": pa.array([5, 6])},
    "a column less": {"s": pa.array([{"y": "q", "z": 9, "x": 8}, None], WIDER), "new": pa.array([5, 6])},
    "a field less": {"v": pa.array([None, "y"]), "s": pa.array([{"y": "q"}, {"y": "r"}], NARROWER)},
}


@pytest.mark.parametrize("columns", EVOLVING.values(), ids=EVOLVING.keys())
def test_schema_evolution_equals_delta_spark(columns: dict[str, pa.Array], spark: Any, tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    data = pa.table({"id": [1, 2], "v": ["a", "b"], "s": pa.array([None, {"x": 2, "y": "b"}], inner)})
    table = lb.write(ours, data, properties={FEED: True}).table
    shutil.copytree(ours, theirs)
    source = pa.table({"id": [2, 3], **columns})
    merge = table.merge(source, "target.id = source.id", schema_mode="merge")
    merge.when_matched_update().when_not_matched_insert().execute()
    spark.createDataFrame(source).createOrReplaceTempView("source")
    spark.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{theirs}` AS target USING source ON target.id = source.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert lb.Table(ours).schema == lb.Table(theirs).schema
    assert canonical(lb.Table(ours).to_arrow().to_pylist()) == canonical(lb.Table(theirs).to_arrow().to_pylist())
    assert changes(lb.Table(ours), 1) == changes(lb.Table(theirs), 1)


def test_identity_refusals_equal_delta_spark(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT GENERATED BY DEFAULT AS IDENTITY, v STRING) USING delta")
    spark.sql(f"INSERT INTO delta.`{path}` (v) VALUES ('a')")
    spark.sql("SELECT 1L AS id, 'x' AS v").createOrReplaceTempView("source")
    merge = f"MERGE INTO delta.`{path}` AS target USING source ON target.id = source.id WHEN MATCHED THEN UPDATE SET"
    table, source = lb.Table(path), pa.table({"id": [1], "v": ["x"]})
    for text, deed in (
        (f"UPDATE delta.`{path}` SET id = id", lambda: table.update({"id": "id"})),
        (f"UPDATE delta.`{path}` SET id = DEFAULT", lambda: table.update({"id": "DEFAULT"})),
        (f"{merge} id = 7", lambda: table.merge(source, "target.id = source.id").when_matched_update({"id": "7"}).execute()),
        (f"{merge} *", lambda: table.merge(source, "target.id = source.id").when_matched_update().execute()),
    ):
        with pytest.raises(Exception, match="DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED"):
            spark.sql(text)
        with pytest.raises(lb.LakebedError, match=r"(?i)identity|numbered"):
            deed()
    assert lb.Table(path).version == 1


def is_simplest(data: st.DataObject) -> bool:
    """Returns whether this is the first example of hypothesis. It consists of the simplest values
    and tests nothing.
    """
    return data.draw(st.integers(0, 1 << 32)) == 0


def copied(twin: Twin, path: str) -> Twin:
    """Copies the table to another path."""
    shutil.copytree(twin.path, path)
    return replace(deepcopy(twin), path=path)


def check_by_spark(spark: Any, twin: Twin) -> None:
    """Checks that Delta Spark and the model agree on rows, row ids and changes."""
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
    """Checks that every reader agrees with the model, and that lakebed agrees in every version."""
    twin.check_past()
    check_by_spark(spark, twin)
    # deltalake reads only a few centuries of the timestamps that Spark writes.
    if not twin.is_foreign:
        found = QueryBuilder().register("t", DeltaTable(twin.path)).execute("SELECT * FROM t")
        assert canonical(pa.table(found).to_pylist()) == canonical(twin.rows)
    if twin.partition_by and "delta.columnMapping.mode" in twin.properties:
        return  # DuckDB returns null for the values of such partitions.
    with duck.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        found = connection.sql(f"SELECT * FROM delta_scan('{twin.path}')").to_arrow_table()
    assert canonical(found.to_pylist()) == canonical(twin.rows)


#: Values for columns that have nested fields or elements, by column.
WITH_PARTS = [
    ("s", "named_struct('x', id + 1, 'y', k)"),
    ("s", "named_struct('Y', 'new', 'X', '7')"),
    ("s", "if(id = 1, NULL, named_struct('x', 1.6BD, 'y', DATE '2026-11-22'))"),
    ("s.y", "s"),
    ("s.y", "named_struct('a', l, 'b', m)"),
    ("l", "array(id, k, NULL)"),
    ("l", "array('1', ' 2 ')"),
    ("l", "array()"),
    ("l", "array(1.5D, 2.5D)"),
    ("m", "map('a', id, 'b', k)"),
    ("m", "map(id, '5')"),
    ("m", "map()"),
    ("t", "l"),
    ("t", "m"),
    ("t", "CAST(CAST(l AS ARRAY<STRING>) AS STRING) || t"),
]


def test_nested_casts_equal_delta_spark(spark: Any, tmp_path: Path) -> None:
    made = tmp_path / "made"
    columns = "id BIGINT, k INT, s STRUCT<x: INT, y: STRING>, l ARRAY<INT>, m MAP<STRING, BIGINT>, t STRING"
    spark.sql(f"CREATE TABLE delta.`{made}` ({columns}) USING delta")
    spark.sql(
        f"INSERT INTO delta.`{made}` VALUES (1, 7, named_struct('x', 1, 'y', 'ü'), array(3, NULL), map('k', 5, 'l', NULL), 'text'), "
        "(2, NULL, NULL, NULL, NULL, NULL), (3, -1, named_struct('x', NULL, 'y', NULL), array(), map(), '')"
    )
    wrong = []
    for number, (column, value) in enumerate(WITH_PARTS):
        paths = [str(shutil.copytree(made, tmp_path / f"{number}-{of}")) for of in ("ours", "theirs")]
        lb.Table(paths[0]).update({column: value})
        spark.sql(f"UPDATE delta.`{paths[1]}` SET {column} = {value}")
        ours, theirs = (sorted(lb.Table(path).to_arrow().to_pylist(), key=lambda row: row["id"]) for path in paths)
        if ours != theirs:
            wrong.append((column, value, ours, theirs))
    assert wrong == []
