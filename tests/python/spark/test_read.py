"""Reads every table of the corpus with `lbs.read` and both readers, and compares with Delta Spark."""

from __future__ import annotations

import json
import os
from typing import Any
from zlib import crc32

import pytest

import frames
import lakebed as lb
import lakebed.spark as lbs
from corpus import canon
from corpus.oracle import Oracle

pytestmark = pytest.mark.spark

#: The tables with collated columns. lakebed refuses predicates on them, because it compares strings
#: by their bytes.
REFUSED_FILTERS = {"collated_strings"}


def read(spark: Any, oracle: Oracle, **options: Any) -> Any:
    return lbs.read(spark, oracle.path, absolute_paths=oracle.outside, **options)


def one_case_in(share: int, oracle: Oracle) -> None:
    """Skips the test unless the case belongs to one of `share` parts of the corpus. Every case is
    read once, and each further test runs on a part of the cases. With `LAKEBED_ALL_CASES=1` every
    test runs on all cases.
    """
    if not os.environ.get("LAKEBED_ALL_CASES") and crc32(oracle.home.name.encode()) % share:
        pytest.skip(f"one case in {share}")


def nullable(schema: Any) -> Any:
    return json.loads(schema.json().replace('"nullable":false', '"nullable":true'))


def check(found: Any, expected: list[str]) -> None:
    assert frames.lost_and_gained(frames.rows(found), expected) == ""


@pytest.mark.parametrize("reader", ["auto", "lakebed"])
def test_rows_and_schema_equal_delta_spark(spark: Any, oracle: Oracle, reader: str) -> None:
    if reader == "lakebed":
        one_case_in(3, oracle)
    found = read(spark, oracle, reader=reader)
    check(found, oracle.rows(oracle.latest))
    assert found.count() == len(oracle.rows(oracle.latest))
    # NOT NULL is ignored. Spark's reader of Parquet files declares every column nullable, and
    # constants are known to be not null.
    expected = spark.read.format("delta").load(str(oracle.path)).schema
    assert nullable(found.schema) == nullable(expected)


def test_each_version(spark: Any, oracle: Oracle) -> None:
    one_case_in(4, oracle)
    for version in oracle.versions[:-1]:
        check(read(spark, oracle, version=version), oracle.rows(version))


def test_pushed_filters_of_spark_keep_rows(spark: Any, oracle: Oracle) -> None:
    one_case_in(4, oracle)
    if lbs.explain(spark, oracle.path, absolute_paths=oracle.outside).spark_files == 0:
        pytest.skip("Spark's reader reads nothing of it")
    found = read(spark, oracle)
    rows = oracle.rows(oracle.latest)
    for condition, positions in list(oracle.conditions(oracle.latest).items())[::3]:
        check(found.where(condition), [rows[position] for position in positions])


@pytest.mark.parametrize("reader", ["auto", "lakebed"])
def test_where(spark: Any, oracle: Oracle, reader: str) -> None:
    one_case_in(8, oracle)
    rows = oracle.rows(oracle.latest)
    for condition, positions in list(oracle.conditions(oracle.latest).items())[1::6]:
        if oracle.home.name in REFUSED_FILTERS:
            with pytest.raises(lb.UnsupportedFeatureError, match="collation"):
                read(spark, oracle, where=condition)
        else:
            check(read(spark, oracle, where=condition, reader=reader), [rows[position] for position in positions])


@pytest.mark.parametrize("reader", ["auto", "lakebed"])
def test_columns_in_another_order(spark: Any, oracle: Oracle, reader: str) -> None:
    one_case_in(8, oracle)
    names = read(spark, oracle).columns[::-1]
    found = read(spark, oracle, columns=[f"`{name}`" if "." in name else name for name in names], reader=reader)
    assert found.columns == names
    expected = [
        json.dumps(json.loads(row)[::-1], separators=(",", ":"), ensure_ascii=False) for row in oracle.rows(oracle.latest)
    ]
    assert sorted(map(json.loads, expected), key=repr) == sorted(map(json.loads, frames.rows(found)), key=repr)


def test_tables_that_must_be_refused(spark: Any, refused: Oracle) -> None:
    with pytest.raises(lb.UnsupportedFeatureError):
        lbs.read(spark, refused.path)


def test_a_field_of_a_struct(spark: Any, corpus_by_name: dict[str, Oracle]) -> None:
    for name in ("structs", "nested_fields_renamed"):
        oracle = corpus_by_name[name]
        table = lb.Table(oracle.path)
        struct = next(field for field in table.schema if field.type.num_fields > 1)
        path = f"{struct.name}.{struct.type.field(1).name}"
        expected = canon.rows(table.to_arrow([path]))
        for reader in ("auto", "lakebed"):
            check(read(spark, oracle, columns=[path], reader=reader), expected)
