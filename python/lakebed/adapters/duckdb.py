"""Relations of DuckDB that rows become."""

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
    """A relation over the rows, in this connection or in one of its own. Nothing is read for a connection that is none."""
    import duckdb

    connection = connection if connection is not None else duckdb.connect()
    if not hasattr(connection, "from_arrow"):
        raise TypeError(f"connection={shown(connection)}: it must be a connection of DuckDB")
    rows = read()
    if not rows.column_names:
        raise InvalidInputError("columns=[]: a relation of DuckDB needs at least one column")
    return connection.from_arrow(rows)
