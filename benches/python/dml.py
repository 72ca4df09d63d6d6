"""The cases that change rows. Each call opens its own copy of a prepared table, changes it, and
commits. Only this call is timed.

- `delete_01`, `delete_10`: 0.1 % and 10 % of the rows, in all files
- `update_1`, `update_1_tail`: two columns of 1 % of the rows, in all files, or of a range of order
  keys in one or two files
- `merge_N_spread`, `merge_N_tail`: N source rows by (l_orderkey, l_linenumber). The table has 90 %
  of them, which are updated, and the others are inserted. They belong to all files, or to the last
  tenth of the rows
- `insert_60k`: a merge that only inserts. The table has half of the source
- `merge_60k_nms`: `merge_60k_tail` that also deletes rows of the last tenth without a match in the
  source
- `merge_1k_narrow`: 1,000 rows by id into 100 million, in all files. lakebed has a memory budget of
  512 MB

In a copy the data files are hard links, so the timed call finds them in the page cache. The source
of a merge is in memory before, with Spark in Spark's cache. DuckDB computes sums over the changed
table, which are compared with the model in `dml_data.py`. The entries in the log are counted.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engines import Duckdb, Engine, NoSuchOperation
from .queries import Merge
from .tables import expected, root

SCALE = float(os.environ.get("LAKEBED_BENCH_SCALE", "1"))
SUFFIX = "" if SCALE == 1 else f"_x{SCALE:g}"
FORMS: dict[str, dict[str, Any]] = {"dv": {"delta.enableDeletionVectors": True}, "cow": {}}
NEW_CENTS = 11
KEYS = ("l_orderkey", "l_linenumber")
SUMS = {
    "lineitem": {"l_orderkey": "sum(l_orderkey)", "l_discount": "sum(l_discount)", "l_comment": "sum(length(l_comment))"},
    "100m_rows": {"id": "sum(id)", "value": "sum(value)"},
}
BUDGET_BYTES = 512 << 20


@dataclass(frozen=True)
class Change:
    """A change of a table. Predicates may name the order keys of `expected(table)`, as `{tail}`."""

    operation: str
    where: str | None = None
    values: dict[str, str] | None = None
    source: str | None = None
    merge: Merge | None = None
    kind: str = "lineitem"
    budget_bytes: int | None = None


VALUES = {"l_discount": f"CAST(0.{NEW_CENTS} AS DECIMAL(15, 2))", "l_comment": "concat('~', l_comment)"}
UPSERT = Merge(KEYS)
CHANGES = {
    "delete_01": Change("delete", "l_orderkey % 1000 = 7"),
    "delete_10": Change("delete", "l_orderkey % 10 = 7"),
    "update_1": Change("update", "l_orderkey % 100 = 7", VALUES),
    "update_1_tail": Change("update", "l_orderkey BETWEEN {low} AND {high}", VALUES),
    "merge_1k_spread": Change("merge", source="1k_spread", merge=UPSERT),
    "merge_60k_spread": Change("merge", source="60k_spread", merge=UPSERT),
    "merge_600k_spread": Change("merge", source="600k_spread", merge=UPSERT),
    "merge_60k_tail": Change("merge", source="60k_tail", merge=UPSERT),
    "merge_600k_tail": Change("merge", source="600k_tail", merge=UPSERT),
    "insert_60k": Change("merge", source="60k_half", merge=Merge(KEYS, updates=False)),
    "merge_60k_nms": Change("merge", "target.l_orderkey >= {tail}", source="60k_tail", merge=UPSERT),
    "merge_1k_narrow": Change("merge", source="1k_narrow", merge=Merge(("id",)), kind="100m_rows", budget_bytes=BUDGET_BYTES),
}


def is_change(operation: str) -> bool:
    """Returns whether this module has the case."""
    return operation in CHANGES


def tables(operation: str) -> list[str]:
    """Returns the tables that the operation changes, in their forms."""
    return [table_name(CHANGES[operation].kind, form) for form in FORMS]


def table_name(kind: str, form: str) -> str:
    """Returns the name of a table."""
    return f"{kind}_{form}{SUFFIX}"


def source_path(name: str) -> Path:
    """Returns the path of the Arrow file of a source. The Parquet file has the same stem."""
    return root() / f"dml_sources{SUFFIX}" / f"{name}.arrow"


def form_of(table: str) -> str:
    """Returns `dv` or `cow`."""
    return next(form for form in FORMS for kind in SUMS if table == table_name(kind, form))


def answer(operation: str, table: str) -> dict[str, Any]:
    """Returns the expected answer of the change."""
    left: dict[str, Any] = expected(table)[operation]
    return left


def calls(engine: Engine, operation: str, table: str, scratch: Path) -> Iterator[Callable[[], Any]]:
    """Returns the timed calls. A call returns a function that computes the answer."""
    change, made = CHANGES[operation], engine.operation(CHANGES[operation].operation)
    if form_of(table) == "dv" and not engine.writes_vectors:
        raise NoSuchOperation(f"{type(engine).__name__} writes no deletion vectors")
    if change.budget_bytes:
        engine.limit_memory(change.budget_bytes)
    where = change.where and change.where.format(**expected(table))
    source = engine.source(source_path(change.source)) if change.source else None
    for number in range(1_000):
        path = copy(root() / table, scratch / str(number))

        def once(path: Path = path) -> Callable[[], dict[str, Any]]:
            handle = engine.open(str(path))
            if change.merge:
                told = made(handle, source, change.merge, where)
            elif change.values:
                told = made(handle, change.values, where)
            else:
                told = made(handle, where)
            return lambda: left_behind(path, SUMS[change.kind]) | {"metrics": told}

        yield once
        shutil.rmtree(path)


def copy(table: Path, to: Path) -> Path:
    """Copies a table over the same data files. Earlier writes are synced to the disk, so that no
    timed call waits for them.
    """
    shutil.copytree(table, to, copy_function=os.link, ignore=shutil.ignore_patterns("_delta_log"))
    shutil.copytree(table / "_delta_log", to / "_delta_log", copy_function=shutil.copy)
    os.sync()
    return to


def left_behind(path: Path, sums: dict[str, str]) -> dict[str, Any]:
    """Returns the content of the table after the change, and the entries of the change in the log."""
    duckdb = Duckdb()
    duckdb.load()
    columns = ", ".join(["count(*)", *sums.values()])
    found = duckdb.connection.sql(f"SELECT {columns} FROM delta_scan('{path}')").fetchall()[0]
    values = zip(["rows", *sums], found, strict=True)
    return {name: value if name == "rows" else str(value) for name, value in values} | logged(path)


def logged(path: Path) -> dict[str, Any]:
    """Returns the number and the size of new data files, and the numbers of removed data files and
    of deletion vectors, of all commits except the first.
    """
    actions = [
        json.loads(line)
        for commit in sorted((path / "_delta_log").glob("*.json"))
        if int(commit.stem) > 0
        for line in commit.read_text().splitlines()
        if line
    ]
    adds = {a["add"]["path"]: a["add"] for a in actions if "add" in a}
    removed = {a["remove"]["path"] for a in actions if "remove" in a}
    new = [add for added, add in adds.items() if added not in removed]
    return {
        "new_files": len(new),
        "new_mb": round(sum(add["size"] for add in new) / 1e6, 2),
        "gone_files": len(removed - adds.keys()),
        "vectors": sum("deletionVector" in add for add in adds.values()),
    }
