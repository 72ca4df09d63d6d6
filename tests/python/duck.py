"""DuckDB, which reads Delta tables with an extension. The extension comes from PyPI, like DuckDB
itself.
"""

from __future__ import annotations

import duckdb
import duckdb_extensions


def connect(*further: str) -> duckdb.DuckDBPyConnection:
    """Returns a connection with the Delta extension and these extensions. They need not be
    installed on the machine.
    """
    connection = duckdb.connect()
    for name in (*further, "delta"):
        duckdb_extensions.import_extension(name, con=connection)
        connection.load_extension(name)
    return connection
