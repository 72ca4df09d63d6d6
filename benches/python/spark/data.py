"""The tables of TPC-H and TPC-DS at scale factor 1, each a Delta table that lakebed writes in its
default form.

`python -m benches.python.spark.data [SUITE ...]` makes the missing ones: `tpch` with tpchgen-cli,
`tpcds` with DuckDB's dsdgen (0.4 GB and about a minute each). `tpch_doubles` has the rows of `tpch`
with doubles instead of decimals. A table is in `tables.root()/SUITE/NAME`. It has one version and
no deletion vectors, so that `spark.read.parquet` of its folder returns the same rows, and every
engine decodes the same files.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..tables import root
from .queries import connect

SUITES = ("tpch", "tpch_doubles", "tpcds")


def tables(suite: str) -> dict[str, Path]:
    """Returns the existing tables of a suite by name."""
    folder = root() / suite
    return {path.name: path for path in sorted(folder.iterdir()) if path.is_dir()} if folder.is_dir() else {}


def tpch(scratch: Path) -> Iterator[tuple[str, Any]]:
    """Returns the names and rows of TPC-H."""
    import pyarrow.parquet as pq

    program = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([program, "parquet", "-s", "1", "-o", str(scratch)], check=True, capture_output=True)
    for path in sorted(scratch.glob("*.parquet")):
        yield path.stem, pq.read_table(path)


def tpch_doubles(scratch: Path) -> Iterator[tuple[str, Any]]:
    """Returns the same with doubles instead of decimals."""
    for name, rows in tpch(scratch):
        yield name, with_doubles(rows)


def with_doubles(rows: Any) -> Any:
    """Returns the rows with doubles instead of decimals."""
    import pyarrow as pa

    fields = [pa.field(f.name, pa.float64()) if pa.types.is_decimal(f.type) else f for f in rows.schema]
    return rows.cast(pa.schema(fields))


def tpcds(scratch: Path) -> Iterator[tuple[str, Any]]:
    """Returns the names and rows of TPC-DS."""
    connection = connect(scratch / "tpcds.duckdb")
    connection.execute("CALL dsdgen(sf = 1)")
    for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
        yield name, connection.table(name).to_arrow_table()


def plain(rows: Any) -> Any:
    """Returns the rows in the types of the tables. No column is NOT NULL.

    Spark's Parquet reader drops NOT NULL, and a Delta table keeps it. Spark plans some queries
    better with NOT NULL. With the same schema for all, only the engines' work with the files
    differs.
    """
    import pyarrow as pa

    texts = (pa.string_view(), pa.large_string())
    fields = [pa.field(f.name, pa.string() if f.type in texts else f.type) for f in rows.schema]
    return rows.cast(pa.schema(fields))


def make(suite: str) -> None:
    """Makes all tables of a suite. They appear together."""
    import lakebed as lb

    target = root() / suite
    root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        made = Path(scratch) / "made"
        rows_of = {"tpch": tpch, "tpch_doubles": tpch_doubles, "tpcds": tpcds}[suite]
        for name, rows in rows_of(Path(scratch)):
            done = lb.write(made / name, plain(rows))
            print(f"{suite}/{name}: {done.metrics.output_rows} rows, {done.metrics.added_files} files", flush=True)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


def main(names: list[str]) -> None:
    """Makes the named suites, or all missing ones."""
    for suite in SUITES:
        if suite in names or (not names and not tables(suite)):
            make(suite)


if __name__ == "__main__":
    main(sys.argv[1:])
