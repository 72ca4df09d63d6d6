"""NaN, which Spark orders above all numbers, in files of every writer. Most writers leave NaN out
of the bounds in footers and in the log.

The expected rows are computed here, and queried from Spark with all skipping turned off.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import lakebed as lb
import lakebed.spark as lbs
from lakebed.spark.reader_choice import Reader
from settings import configured

pytestmark = pytest.mark.spark

NAN = math.nan
#: The values of each file.
FILES: list[list[float | None]] = [
    [1.0, 2.0, 3.0],
    [1001.0, NAN],
    [NAN, 2001.0],
    [3001.0, NAN, 3002.0],
    [NAN, NAN],
    [None, NAN],
    [None, None],
    [4001.0, None, 4002.0],
    [-0.0, -0.0],
    [math.inf, 5000.0],
    [-math.inf, -5000.0],
]
TYPE = pa.schema(
    [
        ("id", pa.int64()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.struct([("d", pa.float64()), ("n", pa.int64())])),
    ]
)
#: Conditions on a value, in SQL and in Python. In Python, NaN is a value above infinity.
CONDITIONS: list[tuple[str, Callable[[tuple[int, float]], bool]]] = [
    ("{} > 2500", lambda x: x > (0, 2500.0)),
    ("{} >= 3002", lambda x: x >= (0, 3002.0)),
    ("NOT ({} <= 2500)", lambda x: x > (0, 2500.0)),
    ("{} < 2", lambda x: x < (0, 2.0)),
    ("{} = double('NaN')", lambda x: x == (1, 0.0)),
    ("{} >= double('Infinity')", lambda x: x >= (0, math.inf)),
    ("{} > double('Infinity')", lambda x: x > (0, math.inf)),
    ("{} <> 3001", lambda x: x != (0, 3001.0)),
    ("{} IN (2, double('NaN'))", lambda x: x in ((0, 2.0), (1, 0.0))),
    ("{} = 0", lambda x: x == (0, 0.0)),
    ("{} < 0", lambda x: x < (0, 0.0)),
    ("{} BETWEEN 2000 AND 3500", lambda x: (0, 2000.0) <= x <= (0, 3500.0)),
    ("{} + 1 > 2500", lambda x: x > (0, 2499.0)),
    ("-{} < -2500", lambda x: (0, 2500.0) < x < (1, 0.0)),
]
COLUMNS = ["d", "f", "s.d"]


def rank(value: float) -> tuple[int, float]:
    """Returns the position of a value in Spark's order."""
    return (1, 0.0) if math.isnan(value) else (0, value)


def batches() -> Iterator[pa.Table]:
    """Returns the rows of each file."""
    first = 0
    for values in FILES:
        ids = range(first, first + len(values))
        # Every second null value is in a null struct.
        structs = [None if value is None and row % 2 else {"d": value, "n": row} for row, value in zip(ids, values, strict=True)]
        yield pa.table([pa.array(ids), values, values, structs], schema=TYPE)
        first += len(values)


def expected(condition: Callable[[tuple[int, float]], bool]) -> list[int]:
    values = [value for file in FILES for value in file]
    return [row for row, value in enumerate(values) if value is not None and condition(rank(value))]


def by_lakebed(_: Any, path: Path) -> None:
    for rows in batches():
        lb.write(path, rows)


def by_delta_spark(spark: Any, path: Path) -> None:
    for rows in batches():
        spark.createDataFrame(rows).coalesce(1).write.format("delta").mode("append").save(str(path))


def by_deltalake(_: Any, path: Path) -> None:
    for rows in batches():
        deltalake.write_deltalake(str(path), rows, mode="append")


def files_by(writer: str, path: Path) -> None:
    path.mkdir()
    for number, rows in enumerate(batches()):
        place = path / f"{number:02}.parquet"
        match writer:
            case "pyarrow":
                pq.write_table(rows, place, write_page_index=True)
            case "duckdb":
                with duckdb.connect() as connection:
                    connection.register("rows", rows)
                    connection.execute(f"COPY (SELECT * FROM rows ORDER BY id) TO '{place}' (FORMAT parquet)")
            case "polars":
                frame = pl.from_arrow(rows)
                assert isinstance(frame, pl.DataFrame)
                frame.write_parquet(place, statistics="full")


def converted_by_delta_spark(writer: str) -> Callable[[Any, Path], None]:
    def make(spark: Any, path: Path) -> None:
        files_by(writer, path)
        spark.sql(f"CONVERT TO DELTA parquet.`{path}`")

    return make


def converted_by_deltalake(writer: str) -> Callable[[Any, Path], None]:
    def make(_: Any, path: Path) -> None:
        files_by(writer, path)
        deltalake.convert_to_deltalake(str(path))

    return make


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "lakebed": by_lakebed,
    "delta_spark": by_delta_spark,
    "deltalake": by_deltalake,
    **{f"{writer}_and_delta_spark": converted_by_delta_spark(writer) for writer in ("pyarrow", "duckdb", "polars")},
    **{f"{writer}_and_deltalake": converted_by_deltalake(writer) for writer in ("pyarrow", "duckdb", "polars")},
}


def found_by_spark(frame: Any, conditions: list[str]) -> dict[str, list[int]]:
    """Returns the ids of the rows that meet each condition. Each condition is a scan of its own,
    because Spark pushes predicates into scans.
    """
    asked = [frame.where(where).select(F.lit(where).alias("where"), "id") for where in conditions]
    found: dict[str, list[int]] = {where: [] for where in conditions}
    for row in reduce(lambda one, other: one.union(other), asked).collect():
        found[row["where"]].append(row["id"])
    return {where: sorted(ids) for where, ids in found.items()}


def check(spark: Any, uri: str, deleted: frozenset[int] = frozenset(), readers: Sequence[Reader] = ("auto", "lakebed")) -> None:
    """Checks all conditions in lakebed. Checks all conditions on one column and some on the others
    through Spark.
    """
    answers = {
        text.format(column): [row for row in expected(condition) if row not in deleted]
        for text, condition in CONDITIONS
        for column in COLUMNS
    }
    table = lb.Table(uri)
    for where, rows in answers.items():
        assert sorted(table.to_arrow(where=where)["id"].to_pylist()) == rows, where
        assert table.scan(where=where).count() == len(rows), where
    of_spark = {where: rows for at, (where, rows) in enumerate(answers.items()) if at % 3 == 0 or at % 7 == 1}
    for reader in readers:
        assert found_by_spark(lbs.read(spark, uri, reader=reader), list(of_spark)) == of_spark, reader
    for where in list(answers)[::9]:
        assert sorted(row.id for row in lbs.read(spark, uri, where=where).collect()) == answers[where], where


@pytest.mark.parametrize("writer", WRITERS)
def test_nan_of_any_writer_loses_nothing(spark: Any, tmp_path: Path, writer: str) -> None:
    path = tmp_path / "t"
    WRITERS[writer](spark, path)
    settings = {"spark.databricks.delta.stats.skipping": "false", "spark.sql.parquet.filterPushdown": "false"}
    with configured(spark, settings):
        answers = {text.format("d"): expected(condition) for text, condition in CONDITIONS}
        assert found_by_spark(spark.read.format("delta").load(str(path)), list(answers)) == answers
    check(spark, str(path))
    lb.Table(path).checkpoint()
    check(spark, str(path), readers=["auto"])


def files_left(path: Path, where: str) -> int:
    return lb.Table(path).scan(where=where).files().num_rows


def test_complete_float_bounds_skip_files(spark: Any, tmp_path: Path) -> None:
    """A column with NaN has no bound. A file of nulls is known to have no NaN."""
    with_nan = 5
    for writer, is_known in {"lakebed": True, "delta_spark": True, "deltalake": False}.items():
        path = tmp_path / writer
        WRITERS[writer](spark, path)
        for is_checkpoint in (False, True):
            if is_checkpoint:
                table = lb.Table(path)
                table.checkpoint()
                # A cleanup deletes the commits, which name their writers.
                for version in range(table.version):
                    (path / "_delta_log" / f"{version:020}.json").unlink()
            for column in COLUMNS:
                left = files_left(path, f"{column} > 4500")
                assert left == (with_nan + 1 if is_known else len(FILES) - 1), (writer, column, is_checkpoint)


def test_statistics_copied_by_spark_are_distrusted(spark: Any, tmp_path: Path) -> None:
    """Commits of Delta Spark copy the actions of other writers, with their statistics."""
    source = tmp_path / "source"
    by_deltalake(spark, source)
    clone = tmp_path / "clone"
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{source}`")
    assert lb.Table(clone, absolute_paths=True).scan(where="d > 2500").count() == len(expected(lambda x: x > (0, 2500.0)))
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 0")
    spark.sql(f"RESTORE TABLE delta.`{source}` TO VERSION AS OF {len(FILES) - 1}")
    check(spark, str(source))
    spark.sql(f"ALTER TABLE delta.`{source}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id IN (3, 8)")
    check(spark, str(source), frozenset({3, 8}))
    spark.sql(f"OPTIMIZE delta.`{source}`")
    check(spark, str(source), frozenset({3, 8}))


def test_lakebed_files_mark_bounds_complete(tmp_path: Path) -> None:
    table = lb.write(tmp_path / "t", pa.table({"d": [1.0]})).table
    (add,) = [json.loads(line)["add"] for line in (tmp_path / "t/_delta_log" / f"{0:020}.json").open() if '"add"' in line]
    assert add["tags"] == {"lakebed.completeStats": "true"}
    footer = pq.ParquetFile(tmp_path / "t" / table.files()["path"][0].as_py()).metadata
    assert footer.metadata[b"lakebed.completeStats"] == b"true"
    # A table without floating-point columns needs no mark.
    lb.write(tmp_path / "ints", pa.table({"i": [1]}))
    assert '"tags"' not in (tmp_path / "ints/_delta_log" / f"{0:020}.json").read_text()


def rows_scanned(frame: Any) -> int:
    """Runs a query. Returns the number of rows that its scans returned."""
    frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(leaves.apply(at).metrics().apply("numOutputRows").value() for at in range(leaves.size()))


@pytest.mark.parametrize("writer", ["lakebed", "delta_spark", "deltalake"])
def test_spark_skips_row_groups_with_complete_bounds(spark: Any, tmp_path: Path, writer: str) -> None:
    """Spark skips by the other columns if it must not skip by this one."""
    rows, path = 200_000, tmp_path / "t"
    data = pa.table({"id": pa.array(range(rows)), "d": [row / 7 for row in range(rows)]})
    for start in range(0, rows, 50_000):
        part = data.slice(start, 50_000)
        match writer:
            case "lakebed":
                lb.write(path, part)
            case "delta_spark":
                spark.createDataFrame(part).coalesce(1).write.format("delta").mode("append").save(str(path))
            case _:
                deltalake.write_deltalake(str(path), part, mode="append")
    for where, count in (("id = 7", 1), (f"d > {(rows - 10) / 7}", 9)):
        found = lbs.read(spark, path).where(where)
        is_unknown = writer == "deltalake" and where.startswith("d")
        assert rows_scanned(found) == (rows if is_unknown else 50_000), where
        assert found.count() == count


def test_filters_beside_floats_are_pushed(spark: Any, tmp_path: Path) -> None:
    """The bounds in files of deltalake may be wrong for NaN."""
    by_deltalake(spark, tmp_path / "t")
    frame = lbs.read(spark, tmp_path / "t").where("id >= 3 AND d > 2500")
    assert sorted(row.id for row in frame.collect()) == [row for row in expected(lambda x: x > (0, 2500.0)) if row >= 3]
    plan = frame._jdf.queryExecution().executedPlan().toString()
    (pushed,) = [line for line in plan.splitlines() if "PushedFilters" in line]
    assert "GreaterThanOrEqual(id,3)" in pushed
    assert "(d," not in pushed


def test_columns_that_became_floats(spark: Any, tmp_path: Path) -> None:
    """The older files have integers or floats, and statistics of these."""
    path = tmp_path / "t"
    properties = "'delta.enableTypeWidening' = 'true', 'delta.columnMapping.mode' = 'name'"
    columns = "id BIGINT, d INT, f FLOAT, s STRUCT<d: INT>"
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 1, 1.0, struct(1)), (2, 3000, 3000.0, struct(3000))")
    narrow = {"d": pa.array([2600], pa.int32()), "f": pa.array([NAN], pa.float32()), "s": [{"d": 2600}]}
    lb.write(path, pa.table({"id": [3], **narrow}))
    for column in COLUMNS:
        spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {column} TYPE DOUBLE")
    lb.write(path, pa.table({"id": [4, 5], "d": [NAN, 4000.5], "f": [NAN, 1e300], "s": [{"d": NAN}, {"d": -0.0}]}))
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (6, double('NaN'), 16777217D, struct(double('NaN'))), (7, 10.5, 0.1D, null)")
    conditions = [text.format(column) for text, _ in CONDITIONS for column in COLUMNS]
    settings = {"spark.databricks.delta.stats.skipping": "false", "spark.sql.parquet.filterPushdown": "false"}
    with configured(spark, settings):
        answers = found_by_spark(spark.read.format("delta").load(str(path)), conditions)
    assert answers["d > 2500"] == [2, 3, 4, 5, 6]
    assert answers["s.d = 0"] == [5]
    for is_checkpoint in (False, True):
        if is_checkpoint:
            lb.Table(path).checkpoint()
        for where, rows in answers.items():
            assert sorted(lb.Table(path).to_arrow(where=where)["id"].to_pylist()) == rows, (where, is_checkpoint)
    assert found_by_spark(lbs.read(spark, path), conditions[::4]) == {where: answers[where] for where in conditions[::4]}


def test_copied_mark_of_bounds_is_ignored(tmp_path: Path) -> None:
    """pyarrow copies the keys of a footer with the schema, but writes bounds without NaN."""
    table = lb.write(tmp_path / "source", pa.table({"id": [1, 2], "d": [5.0, NAN]})).table
    (file,) = table.files()["path"].to_pylist()
    (tmp_path / "t").mkdir()
    pq.write_table(pq.read_table(tmp_path / "source" / file), tmp_path / "t/0.parquet")
    footer = pq.ParquetFile(tmp_path / "t/0.parquet").metadata
    assert (footer.metadata[b"lakebed.completeStats"], footer.row_group(0).column(1).statistics.max) == (b"true", 5.0)
    deltalake.convert_to_deltalake(str(tmp_path / "t"))
    for where in ("d > 6", "d = double('NaN')", "isnan(d)"):
        assert lb.Table(tmp_path / "t").to_arrow(where=where)["id"].to_pylist() == [2], where


def test_nan_as_a_partition_value(tmp_path: Path) -> None:
    """The partition value equals the NaN that the statistics of other writers leave out."""
    rows = pa.table({"id": [1, 2, 3], "p": [NAN, NAN, NAN], "d": [1.0, 5.0, NAN]})
    deltalake.write_deltalake(str(tmp_path / "t"), rows, partition_by=["p"])
    equal = ("d = p", "p = d", "d <=> p", "d IN (p, 7)", "NOT d <> p", "abs(p) = d", "coalesce(p, 1D) = d", "greatest(p, 2D) = d")
    for where in (*equal, "d >= p", "d - p = p AND isnan(d)"):
        assert lb.Table(tmp_path / "t").to_arrow(where=where)["id"].to_pylist() == [3], where
