"""DuckDB, which reads Delta tables by an extension that comes from PyPI like DuckDB itself."""

from __future__ import annotations

import duckdb
import duckdb_extensions


def connect(*further: str) -> duckdb.DuckDBPyConnection:
    """A connection that knows Delta tables and these extensions, wherever none of them was ever installed."""
    connection = duckdb.connect()
    for name in (*further, "delta"):
        duckdb_extensions.import_extension(name, con=connection)
        connection.load_extension(name)
    return connection
