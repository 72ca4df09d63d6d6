"""The queries, as DuckDB's extensions return them at run time.

Spark runs all of them unchanged. For the double quotes around names it has a setting
(`engines.CONF`).
"""

from pathlib import Path
from typing import Any


def connect(database: Path | None = None) -> Any:
    """Returns a DuckDB connection with both extensions. They come from PyPI, and nothing is
    downloaded at run time.
    """
    import duckdb
    import duckdb_extensions

    connection = duckdb.connect(str(database) if database else ":memory:")
    for name in ("tpch", "tpcds"):
        duckdb_extensions.import_extension(name, con=connection)
        connection.execute(f"LOAD {name}")
    connection.execute("SET enable_progress_bar = false")
    return connection


def texts(suite: str) -> dict[str, str]:
    """Returns the queries of a suite by name (`q01`)."""
    benchmark = suite.removesuffix("_doubles")
    rows = connect().execute(f"SELECT query_nr, query FROM {benchmark}_queries() ORDER BY 1").fetchall()
    return {f"q{number:02}": text.strip().rstrip(";") for number, text in rows}
