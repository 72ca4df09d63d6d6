"""Tables to which Delta Spark, deltalake and lakebed write in turn. Each keeps the guarantees of
the others, and all read the same rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import duck
import lakebed as lb
from writes import read

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Feature:
    """A table that Delta Spark creates, the rows that lakebed appends, and the rows at the end."""

    name: str
    make: str
    appended: dict[str, Any]
    expected: list[dict[str, Any]]


FEATURES = [
    Feature(
        "constraints",
        "CREATE TABLE {t} (id BIGINT NOT NULL, v INT) USING delta; ALTER TABLE {t} ADD CONSTRAINT small CHECK (v < 10);"
        "INSERT INTO {t} VALUES (1, 1)",
        {"id": [2], "v": pa.array([9], pa.int32())},
        [{"id": 1, "v": 1}, {"id": 2, "v": 9}],
    ),
    Feature(
        "generated",
        "CREATE TABLE {t} (a INT, twice INT GENERATED ALWAYS AS (a * 2), s STRING,"
        " first STRING GENERATED ALWAYS AS (substring(s, 1, 1))) USING delta; INSERT INTO {t} (a, s) VALUES (4, 'ab')",
        {"a": pa.array([-7], pa.int32()), "s": ["xyz"]},
        [{"a": 4, "twice": 8, "s": "ab", "first": "a"}, {"a": -7, "twice": -14, "s": "xyz", "first": "x"}],
    ),
    Feature(
        "defaults",
        "CREATE TABLE {t} (id BIGINT, v STRING DEFAULT 'none', w INT) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');"
        "INSERT INTO {t} (id) VALUES (1)",
        {"id": [2]},
        [{"id": 1, "v": "none", "w": None}, {"id": 2, "v": "none", "w": None}],
    ),
    Feature(
        "identity",
        "CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 100 INCREMENT BY 10), v STRING) USING delta;"
        "INSERT INTO {t} (v) VALUES ('a')",
        {"v": ["b", "c"]},
        [{"id": 100, "v": "a"}, {"id": 110, "v": "b"}, {"id": 120, "v": "c"}],
    ),
    Feature(
        "column_mapping",
        "CREATE TABLE {t} (id BIGINT, `a b` STRUCT<`x y`: INT>) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name');"
        "INSERT INTO {t} VALUES (1, named_struct('x y', 1)); ALTER TABLE {t} RENAME COLUMN id TO `the id`",
        {"the id": [2], "a b": pa.array([{"x y": 2}], pa.struct([("x y", pa.int32())]))},
        [{"the id": 1, "a b": {"x y": 1}}, {"the id": 2, "a b": {"x y": 2}}],
    ),
    Feature(
        "mapped_by_id",
        "CREATE TABLE {t} (id BIGINT, l ARRAY<STRUCT<x: INT>>) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'id');"
        "INSERT INTO {t} VALUES (1, array(named_struct('x', 1)))",
        {"id": [2], "l": pa.array([[{"x": 5}]], pa.list_(pa.struct([("x", pa.int32())])))},
        [{"id": 1, "l": [{"x": 1}]}, {"id": 2, "l": [{"x": 5}]}],
    ),
    Feature(
        "deletion_vectors",
        "CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true');"
        "INSERT INTO {t} SELECT id FROM range(0, 10, 1, 1); DELETE FROM {t} WHERE id > 1",
        {"id": [77]},
        [{"id": 0}, {"id": 1}, {"id": 77}],
    ),
    Feature(
        "row_tracking_and_timestamps",
        "CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES "
        "('delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true', 'delta.enableChangeDataFeed' = 'true');"
        "INSERT INTO {t} VALUES (1)",
        {"id": [2, 3]},
        [{"id": 1}, {"id": 2}, {"id": 3}],
    ),
    Feature(
        "v2_checkpoint",
        "CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2');"
        "INSERT INTO {t} VALUES (1); INSERT INTO {t} VALUES (2); INSERT INTO {t} VALUES (3)",
        {"id": [4]},
        [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}],
    ),
    Feature(
        "clustered",
        "CREATE TABLE {t} (id BIGINT, v STRING) USING delta CLUSTER BY (v); INSERT INTO {t} VALUES (1, 'a')",
        {"id": [2], "v": ["b"]},
        [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}],
    ),
    Feature(
        "widened",
        "CREATE TABLE {t} (i SMALLINT, d DECIMAL(5, 2)) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true');"
        "INSERT INTO {t} VALUES (1, 1.25); ALTER TABLE {t} ALTER COLUMN i TYPE INT; ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12, 4)",
        {"i": pa.array([100_000], pa.int32()), "d": pa.array([Decimal("12345678.0001")], pa.decimal128(12, 4))},
        [{"i": 1, "d": Decimal("1.2500")}, {"i": 100_000, "d": Decimal("12345678.0001")}],
    ),
    Feature(
        "lengths",
        "CREATE TABLE {t} (c CHAR(4), v VARCHAR(3)) USING delta; INSERT INTO {t} VALUES ('ab', 'abc')",
        {"c": ["x"], "v": ["yz"]},
        [{"c": "ab  ", "v": "abc"}, {"c": "x   ", "v": "yz"}],
    ),
    Feature(
        "iceberg_v1",
        "CREATE TABLE {t} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV1' = 'true'); INSERT INTO {t} VALUES (1, 'a')",
        {"id": [2], "p": ["b"]},
        [{"id": 1, "p": "a"}, {"id": 2, "p": "b"}],
    ),
    Feature(
        "iceberg_v2",
        "CREATE TABLE {t} (id BIGINT, l ARRAY<INT>, m MAP<STRING, STRUCT<x: INT>>) USING delta TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV2' = 'true'); INSERT INTO {t} VALUES (1, array(1), null)",
        {"id": [2], "l": pa.array([[2, None]], pa.list_(pa.int32()))},
        [{"id": 1, "l": [1], "m": None}, {"id": 2, "l": [2, None], "m": None}],
    ),
]


def _make(spark: Any, feature: Feature, path: str) -> None:
    for statement in feature.make.split(";"):
        spark.sql(statement.strip().format(t=f"delta.`{path}`"))


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_lakebed_appends_to_what_delta_spark_made(feature: Feature, tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "t")
    _make(spark, feature, path)
    before = lb.Table(path).protocol
    result = lb.write(path, pa.table(feature.appended))
    assert result.table.protocol == before
    for found in (read.with_spark(spark, path), read.with_lakebed(path)):
        assert read.canonical(found) == read.canonical(feature.expected)
    # Delta Spark continues after lakebed.
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('own' = 'x')")
    assert lb.Table(path).version == result.version + 1


def test_row_ids_and_commit_versions_go_on(tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    spark.sql(f"INSERT INTO delta.`{path}` SELECT id FROM range(0, 3, 1, 1)")
    lb.write(path, pa.table({"id": [3, 4]}))
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (5)")
    frame = spark.read.format("delta").load(path).selectExpr("id", "_metadata.row_id", "_metadata.row_commit_version")
    assert sorted(tuple(row) for row in frame.collect()) == [(0, 0, 1), (1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 4, 2), (5, 5, 3)]


def test_statistics_are_those_of_delta_spark(tmp_path: Path, spark: Any) -> None:
    columns = (
        "id, cast(id % 7 as int) as i, cast(id as decimal(20, 3)) / 8 as d, cast(id / 3 as double) as f, "
        "concat(id, ' begins a text that is longer than thirty-two characters') as s, timestamp_micros(id * 1234567) as t, "
        "date_add(date'2020-01-01', cast(id as int)) as day, id % 2 = 0 as b, "
        "named_struct('x', id, 'y', if(id > 5, null, 'ü')) as st, array(id) as l"
    )
    frame = spark.range(0, 10, 1, 1).selectExpr(*_split(columns))
    spark_path, own_path = str(tmp_path / "spark"), str(tmp_path / "own")
    frame.write.format("delta").save(spark_path)
    lb.write(own_path, frame.toArrow())

    def statistics(path: str) -> Any:
        lines = (Path(path) / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        (add,) = [json.loads(line)["add"] for line in lines if line.startswith('{"add"')]
        return json.loads(add["stats"], parse_float=Decimal)

    assert statistics(own_path) == statistics(spark_path)


def test_all_readers_use_longer_string_bounds(spark: Any, tmp_path: Path) -> None:
    begins = "a text that is longer than thirty-two characters: " * 3
    path = str(tmp_path / "long")
    for digit in (3, 7):
        texts = [f"{begins}{digit}", f"{begins}{digit + 1}"]
        lb.write(path, pa.table({"s": texts, "b": [text.encode() for text in texts]}))
    left = lb.Table(path).scan(where=f"s = '{begins}7'")
    assert (left.files().num_rows, left.count()) == (1, 1)
    with duck.connect() as connection:
        for condition in (f"s = '{begins}7'", f"b = X'{begins.encode().hex()}37'", f"s > '{begins}7'"):
            assert spark.read.format("delta").load(path).where(condition).count() == 1, condition
        assert len(spark.read.format("delta").load(path).where(f"s = '{begins}7'").inputFiles()) == 1
        for condition in (f"s = '{begins}7'", f"b = '{begins}7'::BLOB", f"s > '{begins}7'"):
            count = connection.execute(f"SELECT count(*) FROM delta_scan('{path}') WHERE {condition}").fetchone()
            assert count == (1,), condition
    assert pa.table(DeltaTable(path).to_pyarrow_table(filters=[("s", "=", f"{begins}7")])).num_rows == 1
    for file in left.files()["path"].to_pylist():
        group = pq.ParquetFile(f"{path}/{file}").metadata.row_group(0)
        bounds = [(group.column(at).statistics.min, group.column(at).statistics.max) for at in range(2)]
        assert bounds == [(f"{begins}7", f"{begins}8"), (f"{begins}7".encode(), f"{begins}8".encode())]


def _split(columns: str) -> list[str]:
    """Splits at commas outside of brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in columns:
        quoted ^= letter == "'"
        depth += {"(": 1, ")": -1}.get(letter, 0) if not quoted else 0
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


Rows = list[dict[str, Any]]


def _by_spark(spark: Any, path: str, rows: Rows, mode: str, where: str | None) -> None:
    writer = spark.createDataFrame([(row["id"], row["p"], row["v"]) for row in rows], "id BIGINT, p STRING, v DOUBLE").coalesce(1)
    writer = writer.write.format("delta").mode(mode)
    (writer.option("replaceWhere", where) if where else writer).save(path)


def _by_deltalake(path: str, rows: Rows, mode: Any, where: str | None) -> None:
    write_deltalake(path, _table(rows), mode=mode, predicate=where)


def _by_lakebed(path: str, rows: Rows, mode: str, where: str | None) -> None:
    lb.write(path, _table(rows), mode=mode, where=where)  # type: ignore[arg-type]


def _table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.float64())]))


@pytest.mark.parametrize("seed", range(3))
def test_three_writers_agree_on_table(seed: int, tmp_path: Path, spark: Any) -> None:
    """The model is a list of rows. Each engine reads the last version and some earlier ones."""
    dice, path = random.Random(seed), str(tmp_path / "t")
    lb.create(path, _table([]).schema, partition_by="p", properties={"delta.checkpointInterval": dice.choice([3, 5, 10])})
    writers: dict[str, Callable[[Rows, str, str | None], None]] = {
        "spark": lambda rows, mode, where: _by_spark(spark, path, rows, mode, where),
        "deltalake": lambda rows, mode, where: _by_deltalake(path, rows, mode, where),
        "lakebed": lambda rows, mode, where: _by_lakebed(path, rows, mode, where),
    }
    model: list[Rows] = [[]]
    number = 0
    for _ in range(24):
        partition = dice.choice(["a", "b", "c d", None])
        rows = []
        for _ in range(dice.randint(1, 4)):
            rows.append({"id": number, "p": partition, "v": dice.choice([None, number / 4])})
            number += 1
        operation = dice.choice(["append", "append", "append", "replace", "overwrite" if dice.random() < 0.3 else "append"])
        where = None
        if operation == "replace" and partition is not None:
            where = f"p = '{partition}'"
            model.append([row for row in model[-1] if row["p"] != partition] + rows)
        elif operation == "overwrite":
            model.append(rows)
        else:
            operation = "append"
            model.append(model[-1] + rows)
        writers[dice.choice(list(writers))](rows, "append" if operation == "append" else "overwrite", where)
    last = lb.Table(path).version
    assert last == len(model) - 1
    for version in sorted({last, *dice.sample(range(last), 3)}):
        expected = read.canonical(model[version])
        assert read.canonical(lb.Table(path, version=version).to_arrow().to_pylist()) == expected
        assert read.canonical(pa.table(DeltaTable(path, version=version).to_pyarrow_table()).to_pylist()) == expected
        frame = spark.read.format("delta").option("versionAsOf", version).load(path)
        assert read.canonical(frame.toArrow().to_pylist()) == expected
