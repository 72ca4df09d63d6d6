"""The scenarios. Each one writes a table and returns its expected rows, worked out by hand.

`unread` of a scenario has the engines that cannot read the table, each with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

import lakebed as lb

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """A way of writing a table."""

    name: str
    build: Callable[[str], Rows]
    #: The engines that cannot read the table, and why.
    unread: dict[str, str] = field(default_factory=dict)


SCENARIOS: list[Scenario] = []


def scenario(**unread: str) -> Callable[[Callable[[str], Rows]], Callable[[str], Rows]]:
    def register(build: Callable[[str], Rows]) -> Callable[[str], Rows]:
        SCENARIOS.append(Scenario(build.__name__, build, unread))
        return build

    return register


def rows_of(table: pa.Table) -> Rows:
    return table.to_pylist()


def people(ids: list[int], names: list[str | None]) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": pa.array(names, pa.string())})


@scenario()
def append_to_a_new_table(path: str) -> Rows:
    lb.write(path, people([1, 2], ["a", None]))
    lb.write(path, people([3], ["c"]))
    return [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]


@scenario()
def create_then_append(path: str) -> Rows:
    table = lb.create(path, people([], []).schema)
    table.append(people([1], ["x"]))
    table.append(people([2], ["y"]))
    return [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]


@scenario()
def overwrite_all(path: str) -> Rows:
    lb.write(path, people([1, 2], ["a", "b"]))
    lb.write(path, people([9], ["z"]), mode="overwrite")
    return [{"id": 9, "name": "z"}]


@scenario()
def all_types(path: str) -> Rows:
    instant = datetime(2024, 2, 29, 12, 30, 45, 123456, tzinfo=timezone.utc)
    table = pa.table(
        {
            "b": pa.array([True, False, None]),
            "i8": pa.array([-128, 127, None], pa.int8()),
            "i16": pa.array([-32768, 32767, None], pa.int16()),
            "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
            "i64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
            "f32": pa.array([1.5, float("-inf"), None], pa.float32()),
            "f64": pa.array([-0.25, 1e300, None], pa.float64()),
            "s": pa.array(["", "ünïcödé\n☃ 𝄞", None]),
            "bin": pa.array([b"", b"\x00\xff", None], pa.binary()),
            "d": pa.array([date(1582, 10, 15), date(9999, 12, 31), None]),
            "ts": pa.array([instant, datetime(1970, 1, 1, tzinfo=timezone.utc), None], pa.timestamp("us", "UTC")),
            "dec": pa.array([Decimal("-12345678901234567890.12"), Decimal("0.01"), None], pa.decimal128(38, 2)),
            "small": pa.array([Decimal("1.23"), Decimal("-9999999.99"), None], pa.decimal128(9, 2)),
            "st": pa.array(
                [{"x": 1, "y": "a"}, {"x": None, "y": None}, None], pa.struct([("x", pa.int64()), ("y", pa.string())])
            ),
            "li": pa.array([[1, None], [], None], pa.list_(pa.int32())),
            "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    lb.write(path, table)
    return rows_of(table)


@scenario()
def other_arrow_forms(path: str) -> Rows:
    """The Arrow types differ: large, view, dictionary and unsigned types, other units and zones.
    The values are the same.
    """
    import polars as pl

    lb.write(
        path,
        pa.table(
            {
                "large": pa.array(["a", "b"], pa.large_string()),
                "view": pa.array(["c", None], pa.string_view()),
                "dict": pa.array(["d", "d"]).dictionary_encode(),
                "u8": pa.array([0, 255], pa.uint8()),
                "u32": pa.array([0, 2**32 - 1], pa.uint32()),
                "ms": pa.array([0, 1_700_000_000_123], pa.timestamp("ms", "Europe/Paris")),
                "ns": pa.array([1_000, 2_000], pa.timestamp("ns", "UTC")),
                "fixed": pa.array([b"ab", b"cd"], pa.binary(2)),
                "ll": pa.array([[1], [2, 3]], pa.large_list(pa.int64())),
            }
        ),
    )
    lb.write(path, pl.DataFrame({"large": ["p"], "view": ["q"], "dict": ["r"], "u8": [7], "u32": [8]}))
    utc = timezone.utc
    return [
        {
            "large": "a", "view": "c", "dict": "d", "u8": 0, "u32": 0, "ms": datetime(1970, 1, 1, tzinfo=utc),
            "ns": datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=utc), "fixed": b"ab", "ll": [1],
        },
        {
            "large": "b", "view": None, "dict": "d", "u8": 255, "u32": 2**32 - 1,
            "ms": datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=utc),
            "ns": datetime(1970, 1, 1, 0, 0, 0, 2, tzinfo=utc), "fixed": b"cd", "ll": [2, 3],
        },
        {"large": "p", "view": "q", "dict": "r", "u8": 7, "u32": 8, "ms": None, "ns": None, "fixed": None, "ll": None},
    ]  # fmt: skip


def _partitioned() -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(8), pa.int64()),
            "p": pa.array(["a", "b", None, "a/b c%=", "ü", "a", "b", "x'y\"z"]),
            "d": pa.array([date(2024, 1, 1), date(2024, 1, 2)] * 4),
        }
    )


@scenario()
def partitioned_by_text_and_date(path: str) -> Rows:
    table = _partitioned()
    lb.write(path, table, partition_by=["p", "d"])
    return rows_of(table)


@scenario()
def partitioned_by_every_type(path: str) -> Rows:
    instant = datetime(2024, 2, 29, 12, 30, 45, 123456, tzinfo=timezone.utc)
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "i": pa.array([-5, None], pa.int32()),
            "l": pa.array([2**62, None], pa.int64()),
            "f": pa.array([1.5, None], pa.float64()),
            "b": pa.array([True, None]),
            "dec": pa.array([Decimal("1.20"), None], pa.decimal128(10, 2)),
            "ts": pa.array([instant, None], pa.timestamp("us", "UTC")),
            "d": pa.array([date(1, 1, 1), None]),
        }
    )
    lb.write(path, table, partition_by=["i", "l", "f", "b", "dec", "ts", "d"])
    return rows_of(table)


@scenario()
def dynamic_partition_overwrite(path: str) -> Rows:
    lb.write(path, pa.table({"id": [1, 2, 3, 4], "p": ["a", "a", "b", None]}), partition_by="p")
    lb.write(path, pa.table({"id": [10, 11], "p": ["a", None]}), mode="overwrite", partitions="dynamic")
    return [{"id": 10, "p": "a"}, {"id": 3, "p": "b"}, {"id": 11, "p": None}]


@scenario()
def replace_where_on_partitions(path: str) -> Rows:
    lb.write(path, pa.table({"id": [1, 2, 3], "p": [1, 2, 3]}), partition_by="p")
    lb.write(path, pa.table({"id": [20, 30], "p": [2, 3]}), mode="overwrite", where="p >= 2")
    return [{"id": 1, "p": 1}, {"id": 20, "p": 2}, {"id": 30, "p": 3}]


@scenario()
def replace_where_on_data(path: str) -> Rows:
    lb.write(path, pa.table({"id": [1, 2, None, 4], "v": ["a", "b", "c", "d"]}))
    lb.write(path, pa.table({"id": [100, 101], "v": ["e", "f"]}))
    lb.write(path, pa.table({"id": [2, 200], "v": ["B", "E"]}), mode="overwrite", where="id >= 2")
    return [{"id": 1, "v": "a"}, {"id": None, "v": "c"}, {"id": 2, "v": "B"}, {"id": 200, "v": "E"}]


@scenario()
def merged_schema(path: str) -> Rows:
    lb.write(path, pa.table({"id": [1], "s": pa.array([{"x": 1}])}))
    lb.write(path, pa.table({"new": ["n"], "ID": [2], "s": pa.array([{"y": "z", "x": 2}])}), schema_mode="merge")
    return [
        {"id": 1, "s": {"x": 1, "y": None}, "new": None},
        {"id": 2, "s": {"x": 2, "y": "z"}, "new": "n"},
    ]


@scenario()
def overwritten_schema(path: str) -> Rows:
    lb.write(path, pa.table({"id": [1], "p": ["a"]}), partition_by="p")
    lb.write(path, pa.table({"name": ["x"], "q": [5]}), mode="overwrite", schema_mode="overwrite", partition_by="q")
    return [{"name": "x", "q": 5}]


@scenario(
    duckdb="values of mapped partition columns come out null, of Delta Spark's tables too",
    deltalake="mapped columns come out null",
)
def column_mapping(path: str) -> Rows:
    table = pa.table({"a b": [1, 2], "p,q": ["x", "y"], "s": pa.array([{"in ner": 1}, None])})
    lb.write(path, table, partition_by="p,q", properties={"delta.columnMapping.mode": "name"})
    lb.write(path, pa.table({"a b": [3], "p,q": ["x"], "späte": [7]}), schema_mode="merge")
    return [
        {"a b": 1, "p,q": "x", "s": {"in ner": 1}, "späte": None},
        {"a b": 2, "p,q": "y", "s": None, "späte": None},
        {"a b": 3, "p,q": "x", "s": None, "späte": 7},
    ]


@scenario(deltalake="mapped columns come out null")
def column_mapping_by_id(path: str) -> Rows:
    table = pa.table({"x": [1, 2], "l": pa.array([[{"k": 1}], []])})
    lb.write(path, table, properties={"delta.columnMapping.mode": "id"})
    return rows_of(table)


@scenario(deltalake="refused: deletion vectors")
def every_feature_of_writers(path: str) -> Rows:
    lb.write(
        path,
        people([1, 2], ["a", "b"]),
        properties={
            "delta.enableRowTracking": True,
            "delta.enableInCommitTimestamps": True,
            "delta.enableDeletionVectors": True,
            "delta.enableChangeDataFeed": True,
            "delta.appendOnly": "false",
        },
    )
    lb.write(path, people([3], ["c"]))
    lb.write(path, people([4], ["d"]), mode="overwrite", where="id = 4")
    return [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}, {"id": 4, "name": "d"}]


@scenario(deltalake="refused: typeWidening")
def widened_types(path: str) -> Rows:
    properties = {"delta.enableTypeWidening": True}
    lb.write(path, pa.table({"i": pa.array([1], pa.int16()), "f": pa.array([1.5], pa.float32())}), properties=properties)
    lb.write(path, pa.table({"i": pa.array([2**40], pa.int64()), "f": pa.array([1e300], pa.float64())}), schema_mode="merge")
    return [{"i": 1, "f": 1.5}, {"i": 2**40, "f": 1e300}]


@scenario()
def wall_clock_times(path: str) -> Rows:
    table = pa.table({"t": pa.array([datetime(2024, 3, 31, 2, 30), None], pa.timestamp("us"))})
    lb.write(path, table)
    return rows_of(table)


@scenario()
def clustered(path: str) -> Rows:
    lb.write(path, people([2, 1], ["b", "a"]), cluster_by=["id"])
    lb.write(path, people([3], ["c"]))
    return [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}]


@scenario()
def many_files(path: str) -> Rows:
    table = pa.table({"id": pa.array(range(50_000), pa.int64()), "t": [f"text {i * 7919 % 50_000}" for i in range(50_000)]})
    lb.write(path, table, target_file_size=100_000, row_group_rows=5_000)
    assert len(lb.Table(path).files()) > 3
    return rows_of(table)


@scenario()
def compressed_and_bloomed(path: str) -> Rows:
    for codec in ["none", "snappy", "zstd", "zstd(9)", "gzip", "lz4"]:
        lb.write(path, people([len(codec)], [codec]), compression=codec, bloom_columns=["name"])
    return [{"id": len(codec), "name": codec} for codec in ["none", "snappy", "zstd", "zstd(9)", "gzip", "lz4"]]


@scenario()
def checkpointed(path: str) -> Rows:
    table = lb.create(path, people([], []).schema, properties={"delta.checkpointInterval": 5})
    for number in range(23):
        table.append(people([number], [str(number)]))
    return [{"id": number, "name": str(number)} for number in range(23)]


@scenario()
def an_empty_write(path: str) -> Rows:
    lb.write(path, people([], []))
    lb.write(path, people([1], ["a"]))
    lb.write(path, people([], []))
    return [{"id": 1, "name": "a"}]
