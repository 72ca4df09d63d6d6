"""Tables that lakebed and Delta Spark make together. Their logs have each kind of entry that a
checkpoint must keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

import lakebed as lb

Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of table. The caller gives the properties of the log's upkeep."""

    name: str
    build: Callable[[Any, str, Properties], None]
    #: The engines that cannot read such a table, and why.
    unread: dict[str, str] = field(default_factory=dict)


KINDS: dict[str, Kind] = {}


def kind(**unread: str) -> Callable[[Callable[[Any, str, Properties], None]], None]:
    def register(build: Callable[[Any, str, Properties], None]) -> None:
        KINDS[build.__name__] = Kind(build.__name__, build, unread)

    return register


_UTC = timezone.utc


@kind()
def odd_values(spark: Any, path: str, properties: Properties) -> None:
    """Statistics and partition values of every type: the least and greatest values, nulls, and
    strings that need escaping.
    """
    ends = [datetime(1, 1, 1, tzinfo=_UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=_UTC), None]
    texts = ["a/b c%=?+&#", "ü'\"x", None]
    table = pa.table(
        {
            "b": pa.array([True, False, None]),
            "i8": pa.array([-128, 127, None], pa.int8()),
            "i16": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
            "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
            "i64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
            "f32": pa.array([float("nan"), float("-inf"), None], pa.float32()),
            "f64": pa.array([-0.0, float("inf"), None], pa.float64()),
            "s": pa.array(["", "\U0010ffff" * 40, None]),
            "bin": pa.array([b"", b"\x00\xff", None], pa.binary()),
            "d": pa.array([date(1, 1, 1), date(9999, 12, 31), None]),
            "ts": pa.array(ends, pa.timestamp("us", "UTC")),
            "dec": pa.array([Decimal("-" + "9" * 36 + ".99"), Decimal("0.01"), None], pa.decimal128(38, 2)),
            "st": pa.array([{"x": 1, "in": {"y": "a"}}, {"x": None, "in": None}, None]),
            "li": pa.array([[1, None], [], None], pa.list_(pa.int32())),
            "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "void": pa.array([None, None, None], pa.string()),
            "p_s": pa.array(texts),
            "p_d": pa.array([date(1, 1, 1), date(2024, 2, 29), None]),
            "p_ts": pa.array([ends[0], datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=_UTC), None], pa.timestamp("us", "UTC")),
            # There are no negative values, because deltalake reads -0.50 as 0.-50.
            "p_dec": pa.array([Decimal("0.50"), Decimal("12345678.90"), None], pa.decimal128(10, 2)),
            "p_f": pa.array([float("-inf"), 1e300, None], pa.float64()),
            "p_b": pa.array([True, False, None]),
        }
    )
    lb.write(path, table, partition_by=[name for name in table.column_names if name.startswith("p_")], properties=properties)
    lb.write(path, table.take([1, 2]), txn=("jobs/a", 2**40))
    lb.write(path, table.take([0]), mode="overwrite", where="p_b")
    lb.write(path, table.take([1]), txn=("jobs/ü", 0), user_metadata="one more")


def _mapped(path: str, mode: str, properties: Properties) -> None:
    table = pa.table(
        {
            "the id": pa.array([1, 2, 3], pa.int64()),
            "p,q": pa.array(["x", "y=z", None]),
            "s": pa.array([{"in ner": 1, "t": "a"}, None, {"in ner": None, "t": "b"}]),
        }
    )
    lb.write(path, table, partition_by="p,q", properties={"delta.columnMapping.mode": mode, **properties})
    lb.write(path, pa.table({"the id": [4], "p,q": ["x"], "späte;r": [7.5]}), schema_mode="merge")
    lb.write(path, pa.table({"the id": [40], "p,q": ["y=z"]}), mode="overwrite", where="`p,q` = 'y=z'")


@kind(
    deltalake="mapped columns come out null",
    duckdb="values of mapped partition columns come out null, of Delta Spark's tables too",
)
def mapped_by_name(spark: Any, path: str, properties: Properties) -> None:
    _mapped(path, "name", properties)
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN `the id` TO id")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN `späte;r`")


@kind(
    deltalake="mapped columns come out null",
    duckdb="values of mapped partition columns come out null, of Delta Spark's tables too",
)
def mapped_by_id(spark: Any, path: str, properties: Properties) -> None:
    _mapped(path, "id", properties)


@kind(deltalake="refused: deletion vectors")
def deletion_vectors(spark: Any, path: str, properties: Properties) -> None:
    """Deletion vectors of Delta Spark: one was replaced by a larger one, and one belongs to a
    removed file.
    """
    lb.create(path, _numbers(0, 0).schema, properties={"delta.enableDeletionVectors": True, **properties})
    for start in (0, 100, 200):
        lb.write(path, _numbers(start, start + 50))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 10 = 3")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id BETWEEN 100 AND 120")
    lb.write(path, _numbers(200, 210), mode="overwrite", where="id >= 200")


@kind(deltalake="refused: row tracking")
def tracked_and_clustered(spark: Any, path: str, properties: Properties) -> None:
    """Row ids, in-commit timestamps, domains that are set, a removed domain, and transactions of
    two writers.
    """
    features = ("RowTracking", "InCommitTimestamps", "ChangeDataFeed", "TypeWidening")
    lb.write(
        path,
        _numbers(0, 5),
        cluster_by=["half"],
        properties={**{f"delta.enable{name}": True for name in features}, **properties},
        txn=("lakebed", 1),
    )
    frame = spark.range(5, 8, 1, 1).selectExpr("id", "id / 2 AS half")
    frame.write.format("delta").mode("append").option("txnAppId", "spark").option("txnVersion", "9").save(path)
    spark.sql(f"UPDATE delta.`{path}` SET half = -1 WHERE id = 6")
    spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY NONE")
    lb.write(path, _numbers(8, 10), txn=("lakebed", 2))


def _numbers(start: int, stop: int) -> pa.Table:
    ids = range(start, stop)
    return pa.table({"id": pa.array(ids, pa.int64()), "half": pa.array([number / 2 for number in ids], pa.float64())})


# The tables that go through every operation, by their properties.
LIVES: dict[str, dict[str, Any]] = {
    "plain": {},
    "with_features": {
        "delta.enableDeletionVectors": True,
        "delta.enableRowTracking": True,
        "delta.enableInCommitTimestamps": True,
        "delta.columnMapping.mode": "name",
    },
    "with_transactions_that_expire": {"delta.setTransactionRetentionDuration": "interval 30 days"},
}


def live(spark: Any, path: str, properties: dict[str, Any]) -> None:
    """Runs each operation of lakebed, and operations of Delta Spark between them."""
    lb.create(path, parts([], []).schema, partition_by="p", properties={"delta.checkpointInterval": 4, **properties})
    lb.write(path, parts([1, 2, 3, 4, 5, 6], ["a", "a", "a", "b", "b", None]))
    lb.write(path, parts([7], ["c"]), txn=("first", 1))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (2, 4)")
    lb.write(path, parts([8, 9], ["a", "b"]), txn=("first", 2), user_metadata="what for")
    lb.write(path, parts([5], ["b"]), mode="overwrite", where="p = 'b'")
    # Rows that stay would keep their row ids, which lakebed cannot assign yet.
    where = "p <> 'b'" if "delta.enableRowTracking" in properties else "id > 2 AND p <> 'b'"
    lb.write(path, parts([10, 30], ["a", "c"]), mode="overwrite", where=where)
    lb.write(path, pa.table({"id": [11], "p": ["a"], "n": [{"x": 1.5}]}), schema_mode="merge", txn=("second", 0))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('own' = 'ü')")
    lb.write(path, parts([12, 13], ["a", None]), mode="overwrite", partitions="dynamic")
    spark.sql(f"UPDATE delta.`{path}` SET id = id + 100 WHERE p IS NULL OR p = 'c'")
    lb.write(path, parts([14] * 5000, ["d"] * 5000))
    lb.write(path, pa.table({"z": [1, 2]}), mode="overwrite", schema_mode="overwrite", partition_by=[])
    lb.write(path, pa.table({"z": [3]}), txn=("first", 3))
    lb.create(path, pa.schema([("z", pa.int64())]), cluster_by="z", mode="replace", properties=properties)
    lb.write(path, pa.table({"z": [4]}))


def parts(ids: list[int], parts: list[str | None]) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array(parts, pa.string())})
