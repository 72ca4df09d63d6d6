"""Reads a table with each engine and returns rows that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

import duck
import lakebed as lb

Rows = list[dict[str, Any]]


def with_lakebed(path: str) -> Rows:
    return lb.Table(path).to_arrow().to_pylist()


def with_deltalake(path: str) -> Rows:
    return pa.table(DeltaTable(path).to_pyarrow_table()).to_pylist()


def with_duckdb(path: str) -> Rows:
    with duck.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        return connection.sql(f"SELECT * FROM delta_scan('{path}')").to_arrow_table().to_pylist()


def with_spark(spark: Any, path: str) -> Rows:
    return spark.read.format("delta").load(path).toArrow().to_pylist()


PEERS: dict[str, Callable[[str], Rows]] = {"lakebed": with_lakebed, "deltalake": with_deltalake, "duckdb": with_duckdb}


def canonical(rows: Rows) -> list[str]:
    """Returns the rows in a form without order: names are sorted, maps are lists of pairs, and
    timestamps are in UTC.
    """
    return sorted(repr(_plain(row)) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, _plain(value[name])) for name in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if hasattr(value, "tzinfo") and getattr(value, "tzinfo", None) is not None:
        import datetime

        return value.astimezone(datetime.timezone.utc).replace(tzinfo=datetime.timezone.utc)
    return value
