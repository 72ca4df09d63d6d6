"""OPTIMIZE of lakebed beside OPTIMIZE of Delta Spark. Delta Spark reads every result, both write
the same history, and each continues the work of the other.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import lakebed as lb
from corpus import canon
from corpus.oracle import Oracle
from dml import log
from dml.drawn import ASSIGNMENTS, OF_IDS, WHERES, examples, merges, rows_from
from dml.model import FEED, TRACKING, VECTORS, Twin, canonical, is_refused_by_spark
from frames import rows as frame_rows
from layouts.proof import optimize, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def by_spark(spark: Any, path: str) -> list[str]:
    """Returns all rows as Delta Spark reads them, with row ids and commit versions."""
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    tracked = lb.Table(path).properties.get(TRACKING) == "true"
    frame = spark.read.format("delta").load(path)
    if tracked:
        frame = frame.select("*", "_metadata.row_id", "_metadata.row_commit_version")
    return frame_rows(frame)


def live(path: str) -> list[dict[str, Any]]:
    return list(log.live(path, lb.Table(path).version).values())


#: Columns of all types, computed from a number.
COLUMNS = {
    "id": "id",
    "b": "id % 3 = 0",
    "i": "CAST(id * 37 % 101 AS INT)",
    "f": "IF(id % 7 = 0, double('nan'), id / 3)",
    "de": "CAST(id * 1.37 AS DECIMAL(20, 4))",
    "d": "date_add(DATE '2020-01-01', CAST(id % 50 AS INT))",
    "ts": "timestamp_micros(id * 86400000123)",
    "ntz": "CAST(timestamp_micros(id * 999) AS TIMESTAMP_NTZ)",
    "c": "CAST(id % 10 AS STRING)",
    "s": "IF(id % 5 = 0, null, concat('s', id % 40))",
    "bin": "CAST(CAST(id AS STRING) AS BINARY)",
    "st": "IF(id % 9 = 0, null, named_struct('x', id % 20, 'in', named_struct('y', CAST(id AS STRING))))",
    "l": "array(id, null)",
    "m": "map('k', named_struct('v', id))",
    "v": "parse_json(concat('{\"a\": ', id, '}'))",
}
TYPES = {"c": "CHAR(4)", "s": "VARCHAR(50)", "v": "VARIANT"}


def of_all_types(spark: Any, path: str, properties: dict[str, str], partitioned: bool = False) -> None:
    """Creates a table with Delta Spark: 300 rows in six files, some of them updated and deleted
    later.
    """
    select = ", ".join(f"{text} AS {name}" for name, text in COLUMNS.items())
    kinds = dict(spark.sql(f"SELECT {select} FROM range(1)").dtypes) | TYPES
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    given = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    by = "PARTITIONED BY (d)" if partitioned else ""
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {by} TBLPROPERTIES ({given})")
    for first in range(0, 300, 50):
        spark.sql(f"INSERT INTO delta.`{path}` SELECT {select} FROM range({first}, {first + 50})")
    spark.sql(f"UPDATE delta.`{path}` SET i = -1 WHERE id % 50 = 3")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 50 = 7")


TABLES = {
    "vectors, tracked": {VECTORS: "true", TRACKING: "true", FEED: "true"},
    "mapped by name": {VECTORS: "true", "delta.columnMapping.mode": "name"},
    "mapped by id, tracked": {TRACKING: "true", "delta.columnMapping.mode": "id", "delta.enableInCommitTimestamps": "true"},
}


@pytest.mark.parametrize("properties", TABLES.values(), ids=TABLES.keys())
def test_delta_spark_reads_optimized_table(properties: dict[str, str], spark: Any, path: str) -> None:
    of_all_types(spark, path, properties, partitioned="delta.columnMapping.mode" in properties and TRACKING in properties)
    expected = by_spark(spark, path)
    kinds: list[dict[str, Any]] = [
        {"max_deleted_share": 0.0},
        {"zorder_by": ["i", "st.in.y", "ts"], "target_file_size": 6000},
        {"cluster_by": ["f", "de", "s", "bin", "ntz"], "target_file_size": 6000},
    ]
    for options in kinds:
        optimize(path, **options)
        assert by_spark(spark, path) == expected
    for where in ("i = -1", "f > 90", "f = double('nan')", "st.in.y = '77'", "s IS NULL", "ts < TIMESTAMP '1970-01-05'"):
        found = spark.read.format("delta").load(path).where(where).count()
        assert (where, found) == (where, lb.Table(path).scan(where=where).count())
    spark.sql(f"UPDATE delta.`{path}` SET i = i + 1 WHERE id < 20")
    assert by_spark(spark, path) == rows(path)


def test_delta_spark_reads_widened_columns_after_them(spark: Any, path: str) -> None:
    spark.sql(f"CREATE TABLE delta.`{path}` (a BYTE, d DECIMAL(5, 2), s STRUCT<x: INT>) USING delta "
              "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")  # fmt: skip
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1Y, 1.25, struct(3)), (null, null, null)")
    for column, kind in (("a", "BIGINT"), ("d", "DECIMAL(20, 5)"), ("s.x", "BIGINT")):
        spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {column} TYPE {kind}")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES ({2**40}, 123456.12345, struct({2**41}))")
    expected = by_spark(spark, path)
    for options in ({}, {"zorder_by": ["a", "s.x"]}, {"cluster_by": ["d", "a"]}):
        optimize(path, **options)
        assert by_spark(spark, path) == expected


def history(path: str) -> tuple[Any, Any, Any]:
    """Returns the `commitInfo` of the newest commit: parameters, and the metrics that do not depend
    on the writer of Parquet.
    """
    info = json.loads((Path(path) / "_delta_log" / f"{lb.Table(path).version:020}.json").read_text().splitlines()[0])[
        "commitInfo"
    ]
    counts = {
        name: value if name.endswith("Files") or "Vectors" in name else type(value)
        for name, value in info["operationMetrics"].items()
    }
    rest = {name: info.get(name) for name in ("operation", "isolationLevel", "isBlindAppend", "readVersion")}
    return info["operationParameters"], counts, rest


SAME = {
    "files": ("", "", {}),
    "where": ("", "WHERE p = 1", {"where": "p = 1"}),
    "z-order": ("", "ZORDER BY (b, s.x)", {"zorder_by": ["b", "s.x"]}),
    "z-order of some": ("", "WHERE p = 1 ZORDER BY (a)", {"where": "p = 1", "zorder_by": "a"}),
    "clustered": ("CLUSTER BY (a, s.x)", "", {}),
    "clustered, all": ("CLUSTER BY (a, s.x)", "FULL", {"full": True}),
}


@pytest.mark.parametrize(("by", "words", "options"), SAME.values(), ids=SAME.keys())
def test_the_history_says_the_same(by: str, words: str, options: dict[str, Any], spark: Any, tmp_path: Path) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    by = by or "PARTITIONED BY (p)"
    spark.sql(f"CREATE TABLE delta.`{theirs}` (a BIGINT, b BIGINT, s STRUCT<x: BIGINT>, p INT) USING delta {by} "
              f"TBLPROPERTIES ('{VECTORS}' = 'true')")  # fmt: skip
    for first in (0, 100, 200):
        spark.sql(f"INSERT INTO delta.`{theirs}` SELECT id, -id, struct(id * 7 % 100), id % 2 FROM range({first}, {first + 100})")
    spark.sql(f"DELETE FROM delta.`{theirs}` WHERE a % 10 = 1")
    shutil.copytree(theirs, ours)
    spark.sql(f"OPTIMIZE delta.`{theirs}` {words}")
    lb.Table(ours).optimize(**options)
    where = options.get("where")
    found, expected = history(ours), history(theirs)
    if where:
        # Delta Spark writes the parsed condition.
        assert json.loads(expected[0].pop("predicate")) == ["('p = 1)"]
        assert json.loads(found[0].pop("predicate")) == [where]
    assert found == expected
    if by.startswith("CLUSTER"):
        # Delta Spark does not tag the files of a Z-order.
        assert {add["tags"]["ZCUBE_ZORDER_BY"] for add in live(ours)} == {add["tags"]["ZCUBE_ZORDER_BY"] for add in live(theirs)}
    assert {add.get("clusteringProvider") for add in live(ours)} == {add.get("clusteringProvider") for add in live(theirs)}
    assert by_spark(spark, ours) == by_spark(spark, theirs)


def test_both_cluster_one_table_in_turn(spark: Any, path: str) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (a BIGINT, b BIGINT) USING delta CLUSTER BY (a) TBLPROPERTIES ('{TRACKING}' = 'true')"
    )

    def append(first: int, count: int) -> None:
        spark.sql(f"INSERT INTO delta.`{path}` SELECT id, id * 7919 % 1000 FROM range({first}, {first + count})")

    def cubes() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for add in live(path):
            found.setdefault(add.get("tags", {}).get("ZCUBE_ID", ""), set()).add(add["path"])
        return found

    append(0, 10_000)
    spark.sql(f"OPTIMIZE delta.`{path}`")
    (theirs,) = cubes()
    assert optimize(path).commits == 0
    append(10_000, 1_000)
    expected = by_spark(spark, path)
    # The files that Delta Spark clustered stay, because few rows were added.
    assert optimize(path).metrics.rows == 1_000
    assert theirs in cubes()
    assert len(cubes()) == 2
    assert by_spark(spark, path) == expected
    version = lb.Table(path).version
    spark.sql(f"OPTIMIZE delta.`{path}`")
    assert by_spark(spark, path) == rows(path)
    # Delta Spark combines small cubes, and then has nothing more to do.
    assert lb.Table(path).version <= version + 1
    version = lb.Table(path).version
    spark.sql(f"OPTIMIZE delta.`{path}`")
    assert lb.Table(path).version == version
    assert optimize(path).commits == 0
    before = cubes()
    spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY (b)")
    assert optimize(path).commits == 0
    assert cubes() == before
    append(20_000, 500)
    assert optimize(path).metrics.rows == 500
    assert before.items() <= cubes().items()
    result = optimize(path, full=True)
    assert result.metrics.rows == 11_500
    assert len(cubes()) == 1
    assert {add["tags"]["ZCUBE_ZORDER_BY"] for add in live(path)} == {'["b"]'}
    assert by_spark(spark, path) == rows(path)
    spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY NONE")
    assert optimize(path).commits == 0


def test_delta_spark_continues_clustering_of_lakebed(spark: Any, path: str) -> None:
    """The columns are mapped, and the tags name them as the schema does."""
    schema = pa.schema([("my a", pa.int64()), ("s", pa.struct([("x y", pa.int64())]))])
    properties = {"delta.columnMapping.mode": "name", TRACKING: True, VECTORS: True}
    table = lb.create(path, schema, cluster_by=["my a", "s.x y"], properties=properties)
    for first in range(0, 3000, 1000):
        data = {"my a": range(first, first + 1000), "s": [{"x y": value * 7 % 100} for value in range(1000)]}
        table.append(pa.table(data, schema))
    table.delete("`my a` % 100 = 1")
    expected = by_spark(spark, path)
    assert optimize(path).metrics.rows == 2970
    spark.sql(f"OPTIMIZE delta.`{path}`")
    assert by_spark(spark, path) == expected
    spark.sql(f"OPTIMIZE delta.`{path}` FULL")
    assert by_spark(spark, path) == expected
    assert optimize(path).commits == 0
    assert {add["clusteringProvider"] for add in live(path)} == {"liquid"}


def test_delta_spark_skips_by_filled_statistics(spark: Any, path: str) -> None:
    spark.conf.set("spark.databricks.delta.stats.collect", "false")
    try:
        spark.sql(
            f"CREATE TABLE delta.`{path}` (id BIGINT, s STRUCT<x: STRING>, t TIMESTAMP) USING delta TBLPROPERTIES ('{VECTORS}' = 'true')"
        )
        for first in range(0, 300, 100):
            frame = spark.range(first, first + 100, 1, 1).selectExpr(
                "id", f"struct('{first}' AS x) AS s", "timestamp_seconds(id) AS t"
            )
            frame.write.format("delta").mode("append").save(path)
    finally:
        spark.conf.unset("spark.databricks.delta.stats.collect")
    assert not any("minValues" in json.loads(add.get("stats") or "{}") for add in live(path))
    expected = by_spark(spark, path)
    result = lb.Table(path).optimize(target_file_size=1024)
    assert (result.metrics.described_files, result.metrics.removed_files) == (3, 0)
    assert by_spark(spark, path) == expected
    for where in ("id = 150", "s.x = '200'", "t < TIMESTAMP '1970-01-01 00:00:30Z'"):
        assert len(spark.read.format("delta").load(path).where(where).inputFiles()) == 1


@pytest.mark.parametrize(
    "topic", ["mapping", "nested", "primitives", "partitions", "chars", "variants", "deletion_vectors", "evolution"]
)
def test_delta_spark_reads_optimized_corpus(topic: str, spark: Any, tmp_path: Path, corpus_by_name: dict[str, Oracle]) -> None:
    for name, oracle in corpus_by_name.items():
        if oracle.refused or oracle.outside or not oracle.home.parent.name.startswith(topic):
            continue
        path = str(tmp_path / name)
        shutil.copytree(oracle.path, path)
        table = lb.Table(path)
        table.optimize(max_deleted_share=0.0)
        names = [f"`{field.name}`" for field in table.schema if field.name not in table.partition_columns]
        for column in names:
            try:
                table.optimize(cluster_by=column, full=True)
                break
            except lb.InvalidInputError:
                continue
        found = frame_rows(spark.read.format("delta").load(path))
        assert (name, found) == (name, oracle.rows(oracle.latest))
        assert canon.rows(lb.Table(path).to_arrow()) == found


#: The features of the tables with random appends.
MIXES = [
    ({VECTORS: True, FEED: True, TRACKING: True}, []),
    ({VECTORS: True, "delta.columnMapping.mode": "name"}, ["p"]),
    ({VECTORS: False, TRACKING: True, FEED: True}, ["k", "b"]),
]
ORDERS: list[dict[str, Any]] = [
    {},
    {"max_deleted_share": 0.0},
    {"zorder_by": ["n", "s.y"]},
    {"cluster_by": ["at", "f", "m"], "target_file_size": 3000},
    {"zorder_by": ["f", "day"], "target_file_size": 3000, "commit": "group"},
    {"where": "n > 1", "cluster_by": "id"},
]


@pytest.mark.parametrize(("properties", "partition_by"), MIXES, ids=["vectors", "mapped", "copied"])
def test_random_changes_by_both_keep_rows(properties: dict[str, Any], partition_by: list[str], spark: Any) -> None:
    @examples(3, (sorted(properties), partition_by))
    def check(data: Any) -> None:
        with log.folder() as folder:
            twin = Twin.create(folder + "/t", properties, partition_by)
            next_id = 0
            for step in range(9):
                deed = data.draw(st.sampled_from(["append", "append", "update", "delete", "merge"])) if step > 1 else "append"
                run = spark.sql if data.draw(st.integers(0, 3)) == 0 else None
                if deed == "append":
                    twin.append(data.draw(rows_from(next_id, 8)))
                    next_id += 8
                elif deed == "update":
                    twin.update(data.draw(ASSIGNMENTS), data.draw(OF_IDS if run else WHERES), run)
                elif deed == "delete":
                    twin.delete(data.draw(OF_IDS if run else WHERES), run)
                else:
                    ids = [row["id"] for row in twin.rows]
                    twin.merge(data.draw(merges(ids, next_id).filter(lambda one: not is_refused_by_spark(twin.rows, one))))
                    next_id += 30
                if step % 2:
                    options = data.draw(st.sampled_from(ORDERS))
                    result = optimize(twin.path, **_without(options, partition_by))
                    twin.rearranged(result.commits)
                    twin.check(result.table)
            twin.check_where(data.draw(WHERES))
            assert by_spark(spark, twin.path) == rows(twin.path)
            spark.sql(f"OPTIMIZE delta.`{twin.path}`")
            assert by_spark(spark, twin.path) == rows(twin.path)
            assert canonical(lb.Table(twin.path).to_arrow().to_pylist()) == canonical(twin.rows)

    check()


def _without(options: dict[str, Any], partition_by: list[str]) -> dict[str, Any]:
    """Removes the partition columns, because rows cannot be ordered by them."""
    return {
        key: [name for name in value if name not in partition_by] if isinstance(value, list) else value
        for key, value in options.items()
    }


def test_random_appends_are_clustered_by_both(spark: Any, path: str) -> None:
    """Both engines write to a clustered table and optimize it, a hundred rows at a time."""
    chance = random.Random(11)
    spark.sql(
        f"CREATE TABLE delta.`{path}` (a BIGINT, b STRING) USING delta CLUSTER BY (a, b) TBLPROPERTIES ('{VECTORS}' = 'true')"
    )
    expected: set[int] = set()
    for first in range(0, 1000, 100):
        values = list(range(first, first + 100))
        chance.shuffle(values)
        lb.Table(path).append(pa.table({"a": values, "b": [str(value * 31 % 97) for value in values]}))
        expected |= set(values)
        deed = chance.choice(["ours", "theirs", "full", "delete", "nothing"])
        if deed == "theirs":
            spark.sql(f"OPTIMIZE delta.`{path}`")
        elif deed == "delete":
            spark.sql(f"DELETE FROM delta.`{path}` WHERE a % 10 = {first // 100}")
            expected = {value for value in expected if value % 10 != first // 100}
        elif deed != "nothing":
            optimize(path, full=deed == "full", target_file_size=2000)
        assert sorted(lb.Table(path).to_arrow()["a"].to_pylist()) == sorted(expected)
    assert by_spark(spark, path) == rows(path)
