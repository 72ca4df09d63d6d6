"""The calls that lakebed refuses in Spark, and their messages. The scenarios run in any session,
classic or Connect.

Run as a program, this file runs all scenarios on Connect, because a process has one kind of
session.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed as lb
import lakebed.spark as lbs

#: The scenarios. The name of a scenario states the rule that it checks.
SCENARIOS: list[Callable[[Any, Path], None]] = []


def scenario(check: Callable[[Any, Path], None]) -> Callable[[Any, Path], None]:
    SCENARIOS.append(check)
    return check


def by_function(spark: Any, uri: Any) -> list[Callable[[], Any]]:
    """Returns calls of the functions that take the location of a table."""
    return [
        lambda: lbs.read(spark, uri),
        lambda: lbs.explain(spark, uri),
        lambda: lbs.changes(spark, uri, 0),
        lambda: lbs.write(spark.range(1), uri),
        lambda: lbs.foreach_batch(uri, app_id="a"),
    ]


def by_format(spark: Any, uri: str, folder: Path) -> list[Callable[[], Any]]:
    """Returns the calls of `format("lakebed")` with a location. Connect asks the server when the
    schema is needed.
    """
    stream = spark.readStream.format("rate").load().writeStream.format("lakebed").option("checkpointLocation", str(folder / "cp"))
    return [
        lambda: spark.read.format("lakebed").load(uri).schema,
        lambda: spark.read.format("lakebed").schema("id bigint").load(uri).collect(),
        lambda: spark.range(1).write.format("lakebed").mode("append").save(uri),
        lambda: spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING lakebed OPTIONS (path '{uri}')").collect(),
        lambda: spark.readStream.format("lakebed").load(uri).schema,
        lambda: stream.start(uri).awaitTermination(20),
    ]


def refused(attempt: Callable[[], Any], said: str, kind: type[BaseException] = Exception) -> str:
    """Checks that the call raises with this text. Returns the message."""
    with pytest.raises(kind) as raised:
        attempt()
    assert said in str(raised.value), str(raised.value)[-3000:]
    return str(raised.value)


def of_argument(attempt: Callable[[], Any], name: str, kind: type[BaseException]) -> None:
    """Checks that the error begins with the argument's name, or is Python's error for an unexpected
    argument of this name.
    """
    with pytest.raises(kind) as raised:
        attempt()
    assert str(raised.value).startswith(name) or f"unexpected keyword argument '{name}'" in str(raised.value), str(raised.value)


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Makes this folder the working directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def ids(path: Path) -> list[int]:
    return sorted(lb.Table(path).to_arrow(["id"]).column("id").to_pylist())


# Locations


@scenario
def tables_in_memory_are_refused(spark: Any, folder: Path) -> None:
    said = "exists in one process only"
    for attempt in by_function(spark, "memory://t"):
        refused(attempt, said, lb.InvalidInputError)
    for attempt in by_format(spark, "memory://t", folder):
        refused(attempt, said)


@scenario
def a_relative_path_begins_in_the_folder_of_the_caller(spark: Any, folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    with inside(folder / "a"):
        made = lbs.write(spark.range(3), "t").table
        write_batch = lbs.foreach_batch("t", app_id="a")
        lbs.write(spark.range(3, 4), "./t")
    with inside(folder / "a" / "b"):
        found = lbs.read(spark, "../t")
        write_batch(spark.range(4, 5), 1)
        with pytest.raises(lb.TableNotFoundError):
            lbs.read(spark, "t")
        assert made.count() == 3
    assert found.count() == 4
    assert ids(folder / "a" / "t") == [0, 1, 2, 3, 4]
    assert sorted(os.listdir(folder / "a" / "b")) == []


@scenario
def a_path_that_only_the_caller_understands_is_refused_by_format(spark: Any, folder: Path) -> None:
    with inside(folder):
        lbs.write(spark.range(1), "t")
        for uri, said in (("t", "give the full path, os.path.abspath('t')"), ("~/t", "os.path.expanduser('~/t')")):
            for attempt in by_format(spark, uri, folder):
                refused(attempt, said)


@scenario
def one_place_has_one_meaning_at_every_door(spark: Any, folder: Path) -> None:
    path = folder / "with blanks, ü and %20"
    escaped = str(path).replace("%", "%25").replace(" ", "%20").replace("ü", "%C3%BC")
    before = os.environ["HOME"]
    os.environ["HOME"] = str(folder)
    try:
        uris = [path, str(path), f"{path}/", f"file:{escaped}", f"file://{escaped}", f"~/{path.name}"]
        for number, uri in enumerate(uris):
            lbs.write(spark.range(number, number + 1), uri)
            assert lbs.read(spark, uri).count() == number + 1
    finally:
        os.environ["HOME"] = before
    for uri in uris[1:-1]:
        spark.range(9, 10).write.format("lakebed").mode("append").save(uri)
    assert spark.read.format("lakebed").load(str(path)).count() == 10
    assert ids(path) == [0, 1, 2, 3, 4, 5, 9, 9, 9, 9]
    assert os.listdir(folder) == [path.name]


@scenario
def what_is_neither_a_path_nor_a_url_is_refused(spark: Any, folder: Path) -> None:
    with inside(folder):
        for uri, said in (
            ("s3:/bucket/t", "write s3://bucket/t"),
            ("dbfs:/t", "as /dbfs/t"),
            ("word:/t", "./word:/t for a folder of that name"),
            ("s3n:bucket/t", "write s3n://bucket/t"),
            ("gcs:bucket/t", "write gcs://bucket/t"),
            ("wasbs:c@a/t", "write wasbs://c@a/t"),
            (" s3://b/t", "it begins or ends with whitespace"),
            ("file:t", "file:///folder/table"),
            ("nope://b/t", "unknown scheme nope"),
            ("", "empty"),
        ):
            for attempt in by_function(spark, uri):
                refused(attempt, said, lb.InvalidInputError)
            for attempt in by_format(spark, uri, folder)[:3]:
                refused(attempt, said)
        for attempt in by_function(spark, "~nobody-of-that-name/t"):
            refused(attempt, "write the full path of that home folder", lb.InvalidInputError)
        for wrong in (None, 5, b"t", spark):
            refused(lambda wrong=wrong: lbs.write(spark.range(1), wrong), "it must be a URL or a path", TypeError)  # type: ignore[misc]
    assert os.listdir(folder) == []


# Threads


@scenario
def threads_that_registered_write_by_format(spark: Any, folder: Path) -> None:
    def round_trip(number: int) -> int:
        path = str(folder / str(number))
        spark.range(number).write.format("lakebed").mode("append").save(path)
        found: int = spark.read.format("lakebed").load(path).count()
        return found

    with ThreadPoolExecutor(3, initializer=lbs.register, initargs=(spark,)) as pool:
        assert list(pool.map(round_trip, range(1, 7))) == [1, 2, 3, 4, 5, 6]


# Errors


@scenario
def an_error_stands_alone(spark: Any, folder: Path) -> None:
    path = str(folder / "t")
    lb.create(path, lb.write(folder / "rows", {"id": [1]}).table.schema, constraints={"positive": "id > 0"})

    def changed(batches: Any) -> Any:
        lb.create(path, lb.Table(path).schema, mode="replace")
        yield from batches

    reader = spark.read.format("lakebed")
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: reader.load(f"{path}/none").schema, f"TableNotFoundError: file://{path}/none: there is no Delta table here"),
        (lambda: reader.option("limit", 1).load(path).schema, "InvalidInputError: format('lakebed') does not know these options"),
        (lambda: spark.read.format("lakebed").schema("id string").load(path).collect(), "InvalidInputError: " + path),
        (lambda: append(spark.range(1), path, timeout="soon"), "InvalidInputError: option timeout='soon'"),
        (lambda: append(spark.range(1), path), "ConstraintViolationError: file://" + path),
        # There is one task, because several tasks would replace the table at once and one of them
        # would fail.
        (lambda: append(spark.range(1, 2, 1, 1).mapInArrow(changed, "id bigint"), path), "CommitConflictError: file://" + path),
    ]
    for attempt, said in cases:
        alone(refused(attempt, "lakebed.errors." + said))
    for file in (folder / "rows").glob("*.parquet"):
        file.unlink()
    alone(refused(lbs.read(spark, folder / "rows", reader="lakebed").collect, "lakebed.errors.StoreError: "))
    lb.create(path, lb.Table(path).schema, mode="replace", constraints={"positive": "id > 0"})
    with pytest.raises(lb.ConstraintViolationError) as failed:
        lbs.write(spark.range(1), path)
    alone(str(failed.value.__cause__))


@scenario
def an_error_of_a_stream_stands_alone(spark: Any, folder: Path) -> None:
    lb.create(folder / "t", lbs.write(spark.range(3), folder / "rows").table.schema, constraints={"positive": "id > 0"})

    def through(source: str, checkpoint: str) -> None:
        stream = spark.readStream.format("lakebed").load(str(folder / source)).writeStream.format("lakebed")
        stream = stream.option("checkpointLocation", str(folder / checkpoint)).trigger(availableNow=True)
        stream.start(str(folder / "t")).awaitTermination()

    def said(source: str, checkpoint: str, error: str) -> None:
        text = refused(lambda: through(source, checkpoint), "lakebed.errors." + error).partition("JVM stacktrace:")[0]
        assert 'File "' not in text, text[:3000]

    # A task raises it.
    said("rows", "a", f"ConstraintViolationError: file://{folder}/t: CHECK constraint positive")
    lbs.write(spark.range(1, 3), folder / "good")
    through("good", "b")
    lb.Table(folder / "good").delete("id = 1")
    # It is raised where offsets are computed.
    said("good", "b", f"InvalidInputError: file://{folder}/good: version 1 deletes rows")
    for file in lbs.write(spark.range(3, 5), folder / "gone").table.files().column("path").to_pylist():
        (folder / "gone" / str(file)).unlink()
    said("gone", "c", "StoreError: ")  # A task that reads raises it.
    assert ids(folder / "t") == [1, 2]


@scenario
def variants_are_written_wherever_they_are_and_other_types_refused_by_name(spark: Any, folder: Path) -> None:
    variants = ["array(parse_json('1')) AS a", "map('k', parse_json('2')) AS m", "named_struct('v', parse_json('3')) AS s"]
    for number, write in enumerate((lambda df: lbs.write(df, folder / "0"), lambda df: append(df, str(folder / "1")))):
        write(spark.range(1).selectExpr("id", *variants))
        found = lbs.read(spark, folder / str(number)).selectExpr("to_json(a[0])", "to_json(m['k'])", "to_json(s.v)").collect()
        assert [tuple(row) for row in found] == [("1", "2", "3")]
        for expression, named in (("INTERVAL 1 YEAR AS i", "column i:"), ("array(INTERVAL 1 DAY) AS i", "column i.element:")):
            refused(
                lambda w=write, e=expression: w(spark.range(1).selectExpr(e)), f"{named} Delta tables have no type for interval"
            )  # type: ignore[misc]


def alone(text: str) -> None:
    """Checks that a message has no Python traceback, and that nothing follows the error except
    Spark's own addition.
    """
    assert 'File "' not in text, text[:3000]
    own = text.partition("JVM stacktrace:")[0].rstrip().splitlines()
    assert "lakebed.errors." in (own[-2] if "SQLSTATE" in own[-1] and "lakebed.errors." not in own[-1] else own[-1]), text[:3000]


def append(df: Any, path: str, **options: Any) -> None:
    df.write.format("lakebed").mode("append").options(**options).save(path)


# Arguments and options


@scenario
def an_argument_that_makes_no_sense_is_refused_by_its_name(spark: Any, folder: Path) -> None:
    path = folder / "t"
    lbs.write(spark.range(5), path)
    reads: list[tuple[str, Any, type[Exception]]] = [
        ("version", "0", TypeError),
        ("version", True, TypeError),
        ("version", 0.0, TypeError),
        ("version", -1, lb.InvalidInputError),
        ("where", F.col("id") > 1, TypeError),
        ("where", True, TypeError),
        ("columns", "", lb.InvalidInputError),
        ("columns", ["id", ""], lb.InvalidInputError),
        ("columns", [1], TypeError),
        ("columns", F.col("id"), TypeError),
        ("columns", [F.col("id")], TypeError),
        ("timestamp", "tomorrow", lb.InvalidInputError),
        ("timestamp", datetime(2026, 1, 1), lb.InvalidInputError),
        ("timestamp", date(2026, 1, 1), TypeError),
        ("timestamp", 0, TypeError),
        ("reader", "nonsense", lb.InvalidInputError),
        ("reader", "", lb.InvalidInputError),
        ("target_task_size", 0, lb.InvalidInputError),
        ("target_task_size", "1", TypeError),
        ("storage_options", "x", TypeError),
        ("storage_options", {"timeout": 1}, TypeError),
        ("credentials", {"aws_access_key_id": "x"}, TypeError),
        ("nope", 1, TypeError),
    ]
    for name, value, kind in reads:
        for function in (lbs.read, lbs.explain):
            of_argument(lambda f=function, o={name: value}: f(spark, path, **o), name, kind)  # type: ignore[misc]
        if name not in ("version", "timestamp", "reader"):
            of_argument(lambda o={name: value}: lbs.changes(spark, path, 0, **o), name, kind)  # type: ignore[misc]
    refused(lambda: lbs.read(spark.range(1), path), "spark must be a SparkSession, not a DataFrame", TypeError)
    refused(lambda: lbs.read(path, spark), "spark must be a SparkSession", TypeError)  # type: ignore[arg-type]
    assert lbs.explain(spark, path, reader="LAKEBED").spark_files == 0  # type: ignore[arg-type]
    assert lbs.read(spark, path, columns="id", reader="Spark").count() == 5  # type: ignore[arg-type]


@scenario
def an_argument_of_a_write_that_makes_no_sense_is_refused_by_its_name(spark: Any, folder: Path) -> None:
    path = folder / "t"
    lbs.write(spark.range(5), path)
    writes: list[tuple[str, Any, type[Exception]]] = [
        ("mode", "nope", lb.InvalidInputError),
        ("partitions", "some", lb.InvalidInputError),
        ("schema_mode", "", lb.InvalidInputError),
        ("on_lossy", "x", lb.InvalidInputError),
        ("partition_by", F.col("id"), TypeError),
        ("cluster_by", "", lb.InvalidInputError),
        ("where", F.col("id") > 1, TypeError),
        ("optimize_write", "yes", TypeError),
        ("storage_options", ["x"], TypeError),
        ("credentials", "company.lake:credentials", TypeError),
        ("nope", 1, TypeError),
    ]
    for name, value, kind in writes:
        of_argument(lambda o={name: value}: lbs.write(spark.range(1), path, **o), name, kind)  # type: ignore[misc]
        of_argument(lambda o={name: value}: lbs.foreach_batch(path, app_id="a", **o)(spark.range(1), 0), name, kind)  # type: ignore[misc]
    refused(lambda: lbs.write([{"id": 1}], path), "df must be a Spark DataFrame, not a builtins.list", TypeError)  # type: ignore[arg-type]
    refused(lambda: lbs.write(lb.Table(path).to_pandas(), path), "for pandas, polars and pyarrow, use lakebed.write", TypeError)  # type: ignore[arg-type]
    stream = spark.readStream.format("rate").load()
    refused(lambda: lbs.write(stream, path), "df is a stream", lb.InvalidInputError)
    assert lb.Table(path).version == 0
    assert lbs.write(spark.range(7, 8), path, mode="OverWrite", schema_mode="MERGE", on_lossy="Error").version == 1  # type: ignore[arg-type]
    assert ids(path) == [7]


@scenario
def an_option_that_makes_no_sense_is_refused_by_its_name(spark: Any, folder: Path) -> None:
    path = str(folder / "t")
    lbs.write(spark.range(5), path)
    for name, value, said in (
        ("versionAsOf", "abc", "option versionAsOf='abc': it must be a whole number of 0 or more"),
        ("limit", "1", "does not know these options for reading: limit"),
    ):
        refused(lambda n=name, v=value: spark.read.format("lakebed").option(n, v).load(path).schema, said)  # type: ignore[misc]
    refused(lambda: append(spark.range(1), path, mode="nope"), "option mode='nope': it must be one of append, overwrite")
    refused(lambda: spark.read.format("lakebed").load().schema, "the path of the table is missing")
    refused(lambda: spark.read.format("lakebed").load([path, path]).schema, "one table at a time")
    refused(lambda: spark.sql(f"CREATE TABLE t USING lakebed LOCATION '{path}'").collect(), "CREATE TEMPORARY VIEW")
    assert lb.Table(path).version == 0
    append(spark.range(7, 8), path, MODE="OverWrite", SCHEMA_MODE="Merge", mergeSchema="true")
    assert ids(folder / "t") == [7]
    assert spark.read.format("lakebed").option("VERSIONASOF", " 0 ").load(path).count() == 5


@scenario
def a_schema_that_is_given_is_pinned_at_the_first_action(spark: Any, folder: Path) -> None:
    path = str(folder / "t")
    lbs.write(spark.range(1), path)
    given, asked = (
        spark.read.format("lakebed").schema(schema) if schema else spark.read.format("lakebed") for schema in ("id bigint", "")
    )
    given, asked = given.load(path), asked.load(path)
    assert given.columns == asked.columns == ["id"]
    lbs.write(spark.range(1, 2), path)
    assert (given.count(), asked.count()) == (2, 1)
    lbs.write(spark.range(2, 3), path)
    # Classic sessions and Connect servers keep the plan of the first action.
    assert given.count() == 2
    assert spark.read.format("lakebed").schema("id bigint").option("versionAsOf", 0).load(path).count() == 1


def main() -> None:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    lbs.register(spark)
    for check in SCENARIOS:
        with tempfile.TemporaryDirectory(prefix="lakebed-doors-") as folder:
            check(spark, Path(folder))
        print(check.__name__, flush=True)
    print("ok")


if __name__ == "__main__":
    main()
