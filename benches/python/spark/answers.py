"""Compares two answers as sets of rows. Decimals and floats may differ as much as rounding and the
order of a sum can change them.

Begin with `difference(ours, theirs)`. DuckDB runs the same queries on the same files, and its
answers are the reference for all engines.
"""

import functools
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

from .queries import connect

#: Spark returns quotients and averages of decimals with six digits or more after the point, and
#: DuckDB returns floats.
RELATIVE, ABSOLUTE = 1e-5, 2e-6


def read(path: Path) -> Any:
    """Returns the answer that a worker has written."""
    import pyarrow.feather as feather

    return feather.read_table(path, memory_map=False)


@functools.cache
def _duckdb(folder: Path) -> Any:
    connection = connect()
    for table in folder.iterdir():
        connection.execute(f"CREATE VIEW {table.name} AS FROM read_parquet('{table}/*.parquet')")
    return connection


_answered: dict[tuple[Path, str], Any] = {}


def of_duckdb(folder: Path, text: str) -> Any:
    """Returns DuckDB's answer to a query over the tables in a folder."""
    if (folder, text) not in _answered:
        _answered[folder, text] = _duckdb(folder).execute(text).to_arrow_table()
    return _answered[folder, text]


def loaded(table: Path) -> dict[str, Any]:
    """Returns the content of the files of a copy of lineitem."""
    sums = "sum(l_orderkey), sum(l_extendedprice), sum(length(l_comment)), max(l_shipdate)"
    text = f"SELECT count(*), {sums} FROM read_parquet('{table}/*.parquet')"
    rows, *rest = connect().execute(text).fetchone()
    files = list(table.glob("*.parquet"))
    return {
        "rows": rows,
        "sums": " ".join(map(str, rest)),
        "files": len(files),
        "size_bytes": sum(f.stat().st_size for f in files),
    }


def difference(ours: Any, theirs: Any) -> str | None:
    """Returns how two Arrow tables differ, or None if they do not."""
    if (ours.num_rows, ours.num_columns) != (theirs.num_rows, theirs.num_columns):
        return f"{ours.num_rows} x {ours.num_columns}, not {theirs.num_rows} x {theirs.num_columns}"
    for one, other in zip(_rows(ours), _rows(theirs), strict=True):
        if not all(_same(a, b) for a, b in zip(one, other, strict=True)):
            return f"{one}, not {other}"[:300]
    return None


def _rows(table: Any) -> list[tuple[Any, ...]]:
    """Sorts rows by exact values first, and then by numbers that may differ a little."""
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=lambda row: ([_exact(v) for v in row], [_rough(v) for v in row]))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal | int | float) and not isinstance(value, bool):
        return int(value) if value == value and abs(value) != math.inf and value == int(value) else float(value)
    return value


def _exact(value: Any) -> str:
    return "" if isinstance(value, int | float) else f" {value}"


def _rough(value: Any) -> float:
    return float(f"{value:.4g}") if isinstance(value, int | float) else 0.0


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other)
