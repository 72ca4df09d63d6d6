"""DuckDB relations over the rows of scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lakebed.errors import InvalidInputError
from lakebed.values import shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["to_duckdb"]


def to_duckdb(read: Callable[[], pa.Table], connection: duckdb.DuckDBPyConnection | None) -> duckdb.DuckDBPyRelation:
    """Returns a relation over the rows, in this connection or in a new one. The connection is
    checked first.
    """
    import duckdb

    connection = connection if connection is not None else duckdb.connect()
    if not hasattr(connection, "from_arrow"):
        raise TypeError(f"connection={shown(connection)}: it must be a DuckDB connection")
    rows = read()
    if not rows.column_names:
        raise InvalidInputError("columns=[]: a DuckDB relation needs at least one column")
    return connection.from_arrow(rows)
