"""Writes and reads every type of Spark. The values come back unchanged, or lakebed refuses the type
by name before a task runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

import lakebed as lb
import lakebed.spark as lbs

pytestmark = pytest.mark.spark

#: Values of the types that Delta has. All of them are columns of one table, and each value is also
#: in an array, a map and a struct.
KEPT: dict[type[T.DataType], list[str]] = {
    T.StringType: ["'é'", "''"],
    T.BinaryType: ["X'00FF'"],
    T.BooleanType: ["true"],
    T.ByteType: ["-128Y"],
    T.ShortType: ["32767S"],
    T.IntegerType: ["2147483647"],
    T.LongType: ["-9223372036854775808L"],
    T.FloatType: ["CAST('NaN' AS FLOAT)", "-0.0F"],
    T.DoubleType: ["CAST('-Infinity' AS DOUBLE)", "1.5D"],
    T.DecimalType: ["CAST('99999999999999999999999999999.999999999' AS DECIMAL(38,9))", "1.5BD"],
    T.DateType: ["DATE'0001-01-01'", "DATE'9999-12-31'"],
    T.TimestampType: ["TIMESTAMP'1960-02-29 23:59:59.999999+01:00'"],
    T.TimestampNTZType: ["TIMESTAMP_NTZ'2026-03-29 02:30:00.000001'"],
    T.ArrayType: ["array(1, null)", "CAST(array() AS ARRAY<INT>)"],
    T.MapType: ["map('k', 1, 'l', null)", "map(named_struct('a', 1), array('x'))"],
    T.StructType: ["named_struct('a', 1, 'b', named_struct('c', CAST(null AS STRING)))"],
    T.VariantType: ["""parse_json('{"a": [1, null, "x"]}')"""],
}

#: Values of the types that Delta does not have, and their errors.
REFUSED: dict[type[T.DataType], list[tuple[str, str]]] = {
    T.YearMonthIntervalType: [
        ("INTERVAL '1-2' YEAR TO MONTH", "interval year to month: cast it to a number or to STRING"),
        ("INTERVAL '3' MONTH", "interval month: cast it to a number or to STRING"),
    ],
    T.DayTimeIntervalType: [
        ("INTERVAL '1 02:03:04' DAY TO SECOND", "interval day to second: cast it to a number or to STRING"),
        ("INTERVAL '1' HOUR", "interval hour: cast it to a number or to STRING"),
    ],
    T.CalendarIntervalType: [("make_interval(1, 2, 3)", "interval: cast it to a number or to STRING")],
    T.TimeType: [("TIME'12:13:14'", r"time\(6\): cast it to STRING")],
    T.GeometryType: [("st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')", r"geometry\(.*\): cast it to BINARY")],
    T.GeographyType: [("st_geogfromwkb(X'0101000000000000000000F03F0000000000000040')", r"geography\(.*\): cast it to BINARY")],
    T.StringType: [
        ("'a' COLLATE UTF8_LCASE", "string collate UTF8_LCASE: cast it to STRING, which compares strings by their bytes")
    ],
}

#: The types that have tests of their own.
OTHERWISE = {T.NullType, T.CharType, T.VarcharType, T.UserDefinedType}

INSIDE = {"an array": "array({})", "a map": "map('k', {})", "a struct": "named_struct('f', {})"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def leaves(kind: type[Any]) -> set[type[Any]]:
    """Returns the leaf classes below a type of pyspark. The inner classes only group types."""
    below = {leaf for child in kind.__subclasses__() if child.__module__ == T.__name__ for leaf in leaves(child)}
    return below or {kind}


def test_no_type_of_spark_is_left_out() -> None:
    assert leaves(T.DataType) - {T.StructField} == set(KEPT) | set(REFUSED) | OTHERWISE


def by_format(df: Any, path: str, **options: Any) -> None:
    df.write.format("lakebed").mode("append").options(**options).save(path)


@pytest.mark.parametrize("write", [lbs.write, by_format])
def test_delta_types_come_back_by_each_reader(spark: Any, path: str, write: Any) -> None:
    lbs.register(spark)
    values = [value for values in KEPT.values() for value in values]
    columns = [*values, *(inside.format(value) for inside in INSIDE.values() for value in values)]
    nulls = [f"CASE WHEN id = 0 THEN {column} END AS c{number}" for number, column in enumerate(columns)]
    df = spark.range(2).selectExpr("id", *nulls)
    expected = rows(df)
    write(df, path)
    shown = spark.read.format("delta").load(path)
    for found in (shown, lbs.read(spark, path), lbs.read(spark, path, reader="lakebed"), spark.read.format("lakebed").load(path)):
        assert rows(found) == expected
        assert found.schema == shown.schema


def rows(df: Any) -> list[str]:
    """Returns the rows as text. NaN equals NaN, -0.0 differs from 0.0, and variants are written as
    JSON.
    """
    columns = [
        f"to_json(`{field.name}`)"
        if "variant" in field.dataType.simpleString() and "map<struct" not in field.dataType.simpleString()
        else f"`{field.name}`"
        for field in df.schema.fields
    ]
    return [repr(row) for row in df.orderBy("id").selectExpr(*columns).toDF(*df.columns).collect()]


def test_timestamps_ignore_zone_of_session(spark: Any, path: str) -> None:
    """Timestamps half an hour apart, on the day on which New York puts its clocks back."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    lbs.register(session)
    try:
        at = "timestamp_seconds(1793505600 + id * 1800)"
        rows_of = f"SELECT id, {at} AS at, CAST({at} AS DATE) AS day, CAST({at} AS TIMESTAMP_NTZ) AS local FROM range(24)"
        df = session.sql(rows_of)
        for number, by in enumerate(("", "at", "local")):
            table = f"{path}{number}"
            if number % 2:
                by_format(df, table, partition_by=by)
            else:
                lbs.write(df, table, partition_by=by or None)
            found = [
                lbs.read(session, table),
                lbs.read(session, table, reader="lakebed"),
                session.read.format("lakebed").load(table),
            ]
            for one in found:
                assert in_order(one) == in_order(df)
                one_o_clock = "at >= TIMESTAMP'2026-11-01 01:00:00' AND day = DATE'2026-11-01' AND hour(local) = 1"
                assert [row.id for row in one.where(one_o_clock).orderBy("id").collect()] == [2, 3, 4, 5]
            utc = "at < '2026-11-01T05:30:00Z'"
            assert lbs.read(session, table, where=utc).count() == df.where(utc).count() == 3
    finally:
        lbs.register(spark)


def in_order(df: Any) -> list[Any]:
    found: list[Any] = df.orderBy("id").collect()
    return found


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_types_unknown_to_delta_are_refused(spark: Any, path: str, kind: type[Any]) -> None:
    lbs.register(spark)
    for value, said in REFUSED[kind]:
        places = {
            "c": value,
            "c.element": f"array({value})",
            "c.value": f"map('k', {value})",
            "c.f.g": f"named_struct('f', named_struct('g', {value}))",
        }
        for place, column in places.items():
            df = spark.range(1).selectExpr("id", f"{column} AS c")
            with pytest.raises(lb.UnsupportedFeatureError, match=f"^column {place}: Delta tables have no type for {said}"):
                lbs.write(df, path)
        with pytest.raises(Exception, match=said.partition(":")[0] if kind is not T.CalendarIntervalType else "INTERVAL"):
            by_format(spark.range(1).selectExpr("id", f"{value} AS c"), path)
    assert not Path(path).exists()


def test_untyped_nulls_are_refused_in_new_columns(spark: Any, path: str) -> None:
    for column, place in (("null", "c"), ("named_struct('a', null, 'b', 1)", r"c\.a"), ("array(null)", r"c\.element")):
        with pytest.raises(lb.SchemaMismatchError, match=f"column {place} contains only nulls, so its type is not known"):
            lbs.write(spark.range(1).selectExpr("id", f"{column} AS c"), path)
    lbs.write(spark.range(1).selectExpr("id", "'x' AS c"), path)
    lbs.write(spark.range(1, 2).selectExpr("id", "null AS c"), path)
    assert [row.c for row in lbs.read(spark, path).orderBy("id").collect()] == ["x", None]


def test_char_lengths_of_spark_are_kept(spark: Any, path: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    df = session.range(1).selectExpr("id", "CAST('a' AS CHAR(3)) AS c", "CAST('b' AS VARCHAR(3)) AS v")
    assert [type(field.dataType) for field in df.schema.fields[1:]] == [T.CharType, T.VarcharType]
    lbs.write(df, path)
    shown = spark.read.format("delta").load(path)
    assert shown.select("c", "v").collect() == lbs.read(spark, path).select("c", "v").collect() == [("a  ", "b")]
    with pytest.raises(lb.ConstraintViolationError, match=r"v.*3"):
        lbs.write(spark.range(1).selectExpr("id", "'c' AS c", "'longer' AS v"), path)


def test_user_defined_types_match_delta_spark(spark: Any, path: str) -> None:
    schema = T.StructType([T.StructField("id", T.LongType()), T.StructField("c", VectorUDT())])
    lbs.write(spark.createDataFrame([(1, Vectors.dense([1.0, -2.5])), (2, None)], schema), path)
    expected = [(1, [1.0, -2.5]), (2, None)]
    for found in (spark.read.format("delta").load(path), lbs.read(spark, path), lbs.read(spark, path, reader="lakebed")):
        assert [(row.id, row.c and vector(row.c)) for row in found.orderBy("id").collect()] == expected


def vector(value: Any) -> list[float]:
    return list(value.values)


def test_invalid_schemas_are_invalid_input(spark: Any, path: str) -> None:
    for df in (spark.range(1).selectExpr("id", "id AS ID"), spark.range(1).selectExpr("id", "id"), spark.range(1).select()):
        with pytest.raises(lb.InvalidInputError):
            lbs.write(df, path)
    for column in ("struct()", "array(struct())", "named_struct('a', struct())"):
        with pytest.raises(lb.InvalidInputError):
            lbs.write(spark.range(1).selectExpr("id", f"{column} AS c"), path)
    assert not Path(path).exists()
