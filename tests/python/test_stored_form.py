"""Values that a column stores in another form. In a partition column, the empty string and the name
of Hive's null partition become null before predicates and constraints see them. Short strings are
padded, and digits may be lost.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lakebed as lb

#: Strings that the log cannot distinguish from null.
NO_TEXT = ["", "__HIVE_DEFAULT_PARTITION__"]

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def create(path: str, **options: Any) -> lb.Table:
    return lb.create(path, SCHEMA, partition_by=["p"], **options)


def rows(path: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in lb.Table(path).to_arrow().to_pylist()), key=repr)


@pytest.mark.parametrize("text", NO_TEXT)
def test_replace_where_checks_stored_values(path: str, text: str) -> None:
    create(path)
    for _ in range(3):
        with pytest.raises(lb.ConstraintViolationError, match="p = NULL"):
            lb.write(path, [{"id": 1, "p": text}], mode="overwrite", where=f"p = '{text}'")
    assert rows(path) == []
    for _ in range(3):
        lb.write(path, [{"id": 1, "p": text}], mode="overwrite", where="p IS NULL")
    assert rows(path) == [(1, None)]


@pytest.mark.parametrize("text", NO_TEXT)
def test_an_upsert_finds_its_own_rows_again(path: str, text: str) -> None:
    table = create(path)
    source = pa.table({"id": [1, 2], "p": [text, "a"]})
    for updated in (0, 2, 2):
        assert table.upsert(source, keys=["id", "P"]).metrics.updated_rows == updated
        table = table.refresh()
    assert rows(path) == [(1, None), (2, "a")]
    table.upsert(pa.table({"id": [1], "p": pa.array([None], pa.string())}), keys=["id", "p"])
    assert rows(path) == [(1, None), (2, "a")]


def test_bytes_are_told_like_text(path: str) -> None:
    table = lb.create(path, pa.schema([("id", pa.int64()), ("p", pa.binary())]), partition_by=["p"])
    source = pa.table({"id": [1, 2, 3], "p": [b"", b"__HIVE_DEFAULT_PARTITION__", b"x"]})
    for _ in range(2):
        table.refresh().upsert(source, keys=["id", "p"])
    assert rows(path) == [(1, None), (2, None), (3, b"x")]


@pytest.mark.parametrize("text", NO_TEXT)
def test_constraints_check_stored_values(path: str, tmp_path: Path, text: str) -> None:
    schema = pa.schema([("id", pa.int64()), pa.field("p", pa.string(), nullable=False)])
    lb.create(path, schema, partition_by=["p"])
    with pytest.raises(lb.ConstraintViolationError, match="column p must not be null"):
        lb.write(path, [{"id": 1, "p": text}])
    checked = str(tmp_path / "checked")
    table = create(checked, constraints={"has_p": "p IS NOT NULL"})
    with pytest.raises(lb.ConstraintViolationError, match="has_p"):
        table.append([{"id": 1, "p": text}])
    table.append([{"id": 1, "p": "a"}])
    with pytest.raises(lb.ConstraintViolationError, match="has_p"):
        table.refresh().update({"p": f"'{text}'"})
    merge = table.refresh().merge(pa.table({"id": [1], "p": [text]}), on="target.id = source.id")
    with pytest.raises(lb.ConstraintViolationError, match="has_p"):
        merge.when_matched_update().execute()
    assert rows(checked) == [(1, "a")]
    assert rows(path) == []


def test_update_and_dynamic_overwrite_share_partition(path: str) -> None:
    table = create(path)
    table.append([{"id": 1, "p": "a"}, {"id": 2, "p": ""}])
    table.refresh().update({"p": "''"}, where="id = 1")
    assert rows(path) == [(1, None), (2, None)]
    lb.write(path, [{"id": 3, "p": ""}], mode="overwrite", partitions="dynamic")
    assert rows(path) == [(3, None)]


def test_generated_columns_use_stored_values(path: str, tmp_path: Path) -> None:
    generated = pa.field("n", pa.int32(), metadata={"delta.generationExpression": "length(p)"})
    lb.create(path, pa.schema([("p", pa.string()), generated]), partition_by=["p"])
    lb.write(path, [{"p": ""}, {"p": "abc"}])
    assert rows(path) == [("abc", 3), (None, None)]
    upper = pa.field("p", pa.string(), metadata={"delta.generationExpression": "upper(s)"})
    other = str(tmp_path / "other")
    lb.create(other, pa.schema([("s", pa.string()), upper]), partition_by=["p"])
    lb.write(other, [{"s": ""}])
    lb.write(other, [{"s": "", "p": ""}])
    assert rows(other) == [("", None), ("", None)]


def test_other_columns_keep_empty_text(path: str) -> None:
    table = lb.create(path, pa.schema([("id", pa.string()), ("p", pa.string())]), partition_by=["p"])
    source = pa.table({"id": ["", "__HIVE_DEFAULT_PARTITION__"], "p": [" ", " "]})
    for _ in range(2):
        table.refresh().upsert(source, keys=["id", "p"])
    assert rows(path) == [("", " "), ("__HIVE_DEFAULT_PARTITION__", " ")]


def char(length: int) -> dict[str, str]:
    return {"__CHAR_VARCHAR_TYPE_STRING": f"char({length})"}


@pytest.mark.parametrize(
    ("key", "given", "stored"),
    [
        (pa.field("k", pa.string(), metadata=char(5)), pa.array(["ab", "abcde", None, ""]), ["ab   ", "abcde", None, "     "]),
        (pa.field("k", pa.float32()), pa.array([0.1, 1.0, None]), [float(np.float32(0.1)), 1.0, None]),
        (
            pa.field("k", pa.decimal128(10, 2)),
            pa.array([Decimal("0.123"), Decimal("1.000"), None], pa.decimal128(10, 3)),
            [Decimal("0.12"), Decimal("1.00"), None],
        ),
        (pa.field("k", pa.int32()), pa.array([1, -1, None], pa.int64()), [1, -1, None]),
        (pa.field("k", pa.int64()), pa.array([1, -1, None], pa.int8()), [1, -1, None]),
        (pa.field("k", pa.date32()), pa.array([dt.datetime(2020, 1, 2, 3), None]), [dt.date(2020, 1, 2), None]),
    ],
    ids=str,
)
@pytest.mark.parametrize("partition_by", [None, "k"])
def test_upsert_finds_keys_stored_differently(
    path: str, key: pa.Field, given: pa.Array, stored: list[Any], partition_by: str | None
) -> None:
    lb.create(path, pa.schema([key, ("v", pa.int64())]), partition_by=partition_by)
    for v, updated in enumerate((0, len(stored), len(stored))):
        source = pa.table({"k": given, "v": [v] * len(given)})
        assert lb.Table(path).upsert(source, keys=["k"], on_lossy="truncate").metrics.updated_rows == updated
    assert rows(path) == sorted(((value, 2) for value in stored), key=repr)


def test_upsert_refuses_key_longer_than_column(path: str) -> None:
    table = lb.create(path, pa.schema([pa.field("k", pa.string(), metadata=char(2)), ("v", pa.int64())]))
    table.append([{"k": "ab", "v": 1}])
    with pytest.raises(lb.ConstraintViolationError, match="column k allows at most 2 characters"):
        table.refresh().upsert([{"k": "abc", "v": 2}], keys=["k"])
    assert rows(path) == [("ab", 1)]


def test_a_merge_compares_what_its_condition_says(path: str) -> None:
    """As in Delta Spark, the condition of a merge is not changed, so an empty string of the source
    equals no value of the table.
    """
    table = create(path)
    source = pa.table({"id": [1], "p": [""]})
    for _ in range(2):
        merge = table.refresh().merge(source, on="target.id = source.id AND target.p <=> source.p")
        merge.when_matched_update().when_not_matched_insert().execute()
    assert rows(path) == [(1, None), (1, None)]


@pytest.mark.spark
def test_delta_spark_keeps_and_refuses_the_same(tmp_path: Path, spark: Any) -> None:
    paths = {name: str(tmp_path / name) for name in ("spark", "lakebed")}
    for path in paths.values():
        create(path)
    frame = spark.createDataFrame([(1, "")], "id BIGINT, p STRING")

    def of_spark(where: str) -> None:
        frame.write.format("delta").mode("overwrite").option("replaceWhere", where).save(paths["spark"])

    with pytest.raises(Exception, match="DELTA_REPLACE_WHERE_MISMATCH"):
        of_spark("p = ''")
    with pytest.raises(lb.ConstraintViolationError):
        lb.write(paths["lakebed"], frame.toArrow(), mode="overwrite", where="p = ''")
    for _ in range(2):
        of_spark("p IS NULL")
        lb.write(paths["lakebed"], frame.toArrow(), mode="overwrite", where="p IS NULL")
    frame.createOrReplaceTempView("empty_texts")
    merge = "USING empty_texts s ON t.id = s.id AND t.p <=> s.p WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    spark.sql(f"MERGE INTO delta.`{paths['spark']}` t {merge}")
    table = lb.Table(paths["lakebed"])
    on = "target.id = source.id AND target.p <=> source.p"
    table.merge(frame.toArrow(), on=on).when_matched_update().when_not_matched_insert().execute()
    hive = [(2, "__HIVE_DEFAULT_PARTITION__")]
    spark.createDataFrame(hive, frame.schema).write.format("delta").mode("append").save(paths["spark"])
    lb.write(paths["lakebed"], [{"id": 2, "p": hive[0][1]}])
    assert rows(paths["spark"]) == rows(paths["lakebed"]) == [(1, None), (1, None), (2, None)]
    read = spark.read.format("delta").load(paths["lakebed"]).collect()
    assert sorted(tuple(row) for row in read) == rows(paths["lakebed"])
