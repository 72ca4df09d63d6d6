"""The cases that rewrite files. Each call opens its own copy of a prepared table and rewrites it.
Only this call is timed.

- `compact/1k_small_files`: combines a thousand small files, with the default file size of the
  engine
- `zorder/TABLE`, `cluster/TABLE`: orders the rows so that queries skip files. The target size is
  the table's size divided by the requested number of files (`LAYOUTS`). Each engine has a `zorder`,
  and only lakebed has a `cluster`
- `zorder/ten_times_budget`, `cluster/ten_times_budget`: the same with rows that would take ten
  times lakebed's memory budget in memory
- `vacuum/100k_objects`: 1,000 files stay, and 100,000 old objects that no version names are deleted

The value of a layout is measured by the same code for all engines, from the bounds in the log of
each live file. It is the share of files that an equality skips, for the values of 500 random rows
of each column (`skipped`) or for 500 of its distinct values (`skipped_distinct`), and the number of
files that each query of `QUERIES` needs. DuckDB computes the rows and sums, which must equal those
of the generator.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .dml import SCALE, SUFFIX, copy
from .engines import Duckdb, Engine
from .tables import SEED, expected, root

OPERATIONS = ("compact", "zorder", "cluster", "vacuum")
SAMPLES = 500
LIVE_FILES = 1_000
PARTITIONS = 100
OBJECTS = int(100_000 * SCALE)
OLD_S = 1_577_836_800


@dataclass(frozen=True)
class Layout:
    """The columns of the layout, and the number of files."""

    columns: tuple[str, ...]
    files: int
    budget_bytes: int | None = None


#: The tables that have only bigints.
PLAIN = {
    "paper": Layout(("source_ip", "source_port", "dest_ip", "dest_port"), 100),
    "8_columns": Layout(tuple(f"c{number}" for number in range(8)), 100),
    "zipf": Layout(("client", "page", "city", "agent"), 100),
    "ten_times_budget": Layout(("id", "value"), 64, int((160 << 20) * SCALE)),
}
LAYOUTS = {name + SUFFIX: layout for name, layout in PLAIN.items()} | {
    "lineitem": Layout(("l_shipdate", "l_partkey", "l_suppkey"), 32),
}
#: Queries by ranges of columns. Both ends are included.
QUERIES: dict[str, dict[str, dict[str, tuple[Any, Any]]]] = {
    "lineitem": {
        "day": {"l_shipdate": ("1996-06-15", "1996-06-15")},
        "month": {"l_shipdate": ("1995-03-01", "1995-03-31")},
        "year": {"l_shipdate": ("1994-01-01", "1994-12-31")},
        "part": {"l_partkey": (123_456, 123_456)},
        "parts": {"l_partkey": (40_000, 41_999)},
        "supplier": {"l_suppkey": (4_321, 4_321)},
        "supplier, month": {"l_suppkey": (777, 777), "l_shipdate": ("1993-09-01", "1993-09-30")},
        "suppliers, year": {"l_suppkey": (9_000, 9_099), "l_shipdate": ("1997-01-01", "1997-12-31")},
        "part, quarter": {"l_partkey": (66_666, 66_666), "l_shipdate": ("1996-10-01", "1996-12-31")},
        "part, supplier": {"l_partkey": (150_001, 150_001), "l_suppkey": (2_502, 2_502)},
    }
}
MONEY = {name: f"sum(CAST({name} AS DECIMAL(38, 2)))" for name in ("l_orderkey", "l_extendedprice")}


def is_layout(operation: str) -> bool:
    """Returns whether this module has the case."""
    return operation in OPERATIONS


def tables(operation: str) -> list[str]:
    """Returns the tables of the operation."""
    return {"compact": [f"1k_small_files{SUFFIX}"], "vacuum": [f"100k_objects{SUFFIX}"]}.get(operation) or list(LAYOUTS)


def answer(operation: str, table: str) -> dict[str, Any]:
    """Returns the expected answer."""
    left = expected(table)
    return dict(left["full"]) if table == "lineitem" else left


def calls(engine: Engine, operation: str, table: str, scratch: Path) -> Iterator[Callable[[], Any]]:
    """Returns the timed calls. A call returns a function that computes the answer."""
    made, layout = engine.operation(operation), LAYOUTS.get(table)
    if layout and layout.budget_bytes:
        engine.limit_memory(layout.budget_bytes)
    arguments: list[Any] = []
    if layout:
        arguments = [layout.columns, sum(add["size"] for add in live(root() / table)) // layout.files]
    for number in range(1_000):
        path = copy(root() / table, scratch / str(number))
        if operation == "vacuum":
            put_objects(path)

        def once(path: Path = path) -> Callable[[], dict[str, Any]]:
            told = made(engine.open(str(path)), *arguments)
            return lambda: left_behind(operation, table, path) | {"metrics": told}

        yield once
        shutil.rmtree(path)


def put_objects(path: Path) -> None:
    """Adds old objects that no version names to the folders of the partitions. They are no hard
    links, so that deleting one frees its space.
    """
    for number in range(OBJECTS):
        object_path = path / f"part={number % PARTITIONS}" / f"part-{number:05}-of-a-failed-write.c000.snappy.parquet"
        object_path.write_bytes(b"PAR1")
        os.utime(object_path, (OLD_S, OLD_S))
    os.sync()


def left_behind(operation: str, table: str, path: Path) -> dict[str, Any]:
    """Returns the content of the table, and the value of its layout."""
    if operation == "vacuum":
        known = {add["path"] for add in live(path)}
        there = {str(file.relative_to(path)) for file in path.glob("part=*/*.parquet")}
        return {"live": len(known & there), "left": len(there - known)}
    layout = LAYOUTS.get(table)
    plain = layout.columns if layout and table != "lineitem" else ()
    row = {"row": f"sum({xor(list(plain))})"} if plain else {}
    sums = {name: f"sum({name})" for name in plain} | row or MONEY
    duckdb = Duckdb()
    duckdb.load()
    found = duckdb.connection.sql(f"SELECT count(*), {', '.join(sums.values())} FROM delta_scan('{path}')").fetchall()[0]
    before, after = live(root() / table), live(path)
    out: dict[str, Any] = {"rows": found[0]} | {name: str(value) for name, value in zip(sums, found[1:], strict=True)}
    out |= {"files_before": len(before), "files_after": len(after), "mb_after": round(sum(add["size"] for add in after) / 1e6, 2)}
    if layout:
        out |= skipped(root() / table, [add["path"] for add in before], after, layout)
    if queries := QUERIES.get(table):
        out["queries"] = {name: needed(after, ranges) for name, ranges in queries.items()}
    return out


def xor(columns: list[str]) -> str:
    """Returns the exclusive or of columns as SQL."""
    return f"xor({columns[0]}, {xor(columns[1:])})" if len(columns) > 1 else columns[0]


def live(path: Path) -> list[dict[str, Any]]:
    """Returns the `add` actions of the latest version, computed from all commits."""
    found: dict[str, dict[str, Any]] = {}
    for commit in sorted((path / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                found[action["add"]["path"]] = action["add"]
            elif "remove" in action:
                found.pop(action["remove"]["path"], None)
    return list(found.values())


def bounds(adds: list[dict[str, Any]], column: str) -> list[tuple[Any, Any] | None]:
    """Returns the least and the greatest value in each file, if the log has them."""
    out: list[tuple[Any, Any] | None] = []
    for add in adds:
        stats = json.loads(add.get("stats") or "{}")
        low, high = (stats.get(side, {}).get(column) for side in ("minValues", "maxValues"))
        out.append(None if low is None or high is None else (low, high))
    return out


def needed(adds: list[dict[str, Any]], ranges: dict[str, tuple[Any, Any]]) -> int:
    """Returns how many files may have rows in all ranges, by their bounds."""
    left = [True] * len(adds)
    for column, (low, high) in ranges.items():
        for file, of in enumerate(bounds(adds, column)):
            left[file] = left[file] and (of is None or (of[0] <= high and low <= of[1]))
    return sum(left)


def skipped(table: Path, paths: list[str], adds: list[dict[str, Any]], layout: Layout) -> dict[str, Any]:
    """Returns the share of files that an equality skips: for each column, the mean and the least.
    The values are those of the original table.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(SEED)
    by_rows: dict[str, float] = {}
    by_distinct: dict[str, float] = {}
    for column in layout.columns:
        values = pa.concat_tables([pq.ParquetFile(table / path).read(columns=[column]) for path in sorted(paths)])[column]
        values = values.cast(pa.string()) if pa.types.is_date(values.type) else values
        by_rows[column] = _share_skipped(bounds(adds, column), pick(values, draw))
        if not layout.budget_bytes:
            by_distinct[column] = _share_skipped(bounds(adds, column), pick(values.unique(), draw))
    return {"skipped": _told(by_rows)} | ({"skipped_distinct": _told(by_distinct)} if by_distinct else {})


def pick(values: Any, draw: Any) -> list[Any]:
    """Returns some of the values of an Arrow array."""
    return [values[number].as_py() for number in draw.integers(0, len(values), SAMPLES).tolist()]


def _share_skipped(of: list[tuple[Any, Any] | None], values: list[Any]) -> float:
    out = sum(1 for value in values for file in of if file is not None and not file[0] <= value <= file[1])
    return round(out / (len(values) * len(of)), 4)


def _told(by_column: dict[str, float]) -> dict[str, Any]:
    shares = list(by_column.values())
    return {"mean": round(sum(shares) / len(shares), 4), "min": min(shares), "columns": by_column}
