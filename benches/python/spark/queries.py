"""The queries, as DuckDB's extensions give them at run time.

Spark takes all of them word by word; for the double quotes round names it has a setting (`engines.CONF`).
"""

from pathlib import Path
from typing import Any


def connect(database: Path | None = None) -> Any:
    """DuckDB with both extensions; they come from PyPI, nothing is fetched at run time."""
    import duckdb
    import duckdb_extensions

    connection = duckdb.connect(str(database) if database else ":memory:")
    for name in ("tpch", "tpcds"):
        duckdb_extensions.import_extension(name, con=connection)
        connection.execute(f"LOAD {name}")
    connection.execute("SET enable_progress_bar = false")
    return connection


def texts(suite: str) -> dict[str, str]:
    """The queries of a suite by name (`q01`)."""
    benchmark = suite.removesuffix("_doubles")
    rows = connect().execute(f"SELECT query_nr, query FROM {benchmark}_queries() ORDER BY 1").fetchall()
    return {f"q{number:02}": text.strip().rstrip(";") for number, text in rows}
