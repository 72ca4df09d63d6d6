"""The tables for changes of rows, and the sources of the merges.

`python -m benches.python.dml_data [NAME ...]` makes the named tables, or all missing tables.
lakebed writes each table in one commit, sorted, once with `delta.enableDeletionVectors` (`…_dv`)
and once without (`…_cow`):

- `lineitem_cow`, `lineitem_dv`: TPC-H lineitem, SF1, 6,001,215 rows in order of l_orderkey in 11
  files
- `100m_rows_cow`, `100m_rows_dv`: 100,000,000 rows of two bigints in order of id in 64 files. Every
  id is even

The source of a merge is in `dml_sources/`, as an Arrow file and as a Parquet file with the same
rows, which are in no order. Some rows match the table, with another l_discount and a longer
l_comment. The other rows are new. Their keys lie between existing keys, in the gaps that TPC-H
leaves for its refresh streams, so no bounds of a file distinguish them from others.
`NAME.expected.json` has the expected answer of each change, computed here from the generated rows.

`LAKEBED_BENCH_SCALE=0.01` makes and uses tables and sources of a hundredth of the size, with names
of their own (`lineitem_cow_x0.01`).
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .dml import FORMS, NEW_CENTS, SCALE, source_path, table_name
from .lineitem import generate
from .tables import SEED, root

FILE_SIZE_BYTES = {"lineitem": 16 << 20, "100m_rows": 14 << 20}
NARROW_ROWS = int(100_000_000 * SCALE)
NARROW_BATCH = 1 << 18
BATCH_ROWS = 1 << 16
OLD_TO_NEW_KEY = 8


@dataclass(frozen=True)
class Source:
    """Rows for a merge: their number, the share of them that match the table, and the share of the
    table, from its end, in which their keys are.
    """

    rows: int
    known: float = 0.9
    tail: float = 1.0

    def pick(self, rows_of_table: int) -> tuple[Any, Any]:
        """Returns the rows of the table that the source matches, and the rows beside which it has
        new ones. Both are spread evenly.
        """
        count = max(round(self.rows * SCALE), 10)
        first = rows_of_table - int(rows_of_table * self.tail)
        span, known = rows_of_table - first, round(count * self.known)
        return first + np.arange(known) * span // known, first + np.arange(count - known) * span // (count - known)


SOURCES = {
    "1k_spread": Source(1_000),
    "60k_spread": Source(60_000),
    "600k_spread": Source(600_000),
    "60k_tail": Source(60_000, tail=0.1),
    "600k_tail": Source(600_000, tail=0.1),
    "60k_half": Source(60_000, known=0.5),
    "1k_narrow": Source(1_000),
}


def put_source(name: str, rows: pa.Table) -> None:
    """Writes a source. Its rows are in no order."""
    rows = rows.take(pa.array(np.random.default_rng(SEED).permutation(len(rows)))).combine_chunks()
    path = source_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.ipc.new_file(path, rows.schema) as out:
        out.write_table(rows, max_chunksize=BATCH_ROWS)
    pq.write_table(rows, path.with_suffix(".parquet"))


def put_tables(kind: str, forms: list[str], data: Any, expected: dict[str, Any]) -> None:
    """Writes a table in its forms. `data()` returns the rows."""
    import lakebed as lb

    for form in forms:
        name = table_name(kind, form)
        print(f"making {name}", flush=True)
        shutil.rmtree(root() / name, ignore_errors=True)
        size = max(int(FILE_SIZE_BYTES[kind] * SCALE), 1 << 16)
        written = lb.write(root() / name, data(), target_file_size=size, properties=FORMS[form])
        print(f"  {written.metrics.added_files} files, {written.metrics.output_bytes / 1e6:.0f} MB", flush=True)
        (root() / f"{name}.expected.json").write_text(json.dumps(expected, indent=1))


class Lineitem:
    """The values of some rows of lineitem that the model of a change needs."""

    def __init__(self, rows: pa.Table) -> None:
        self.order = rows["l_orderkey"].to_numpy()
        self.key = self.order * 8 + rows["l_linenumber"].to_numpy()
        self.cents = np.rint(rows["l_discount"].cast(pa.float64()).to_numpy() * 100).astype(np.int64)
        self.length = pc.utf8_length(rows["l_comment"]).to_numpy().astype(np.int64)

    def sums(self, mask: Any) -> Any:
        """Returns the row count and the sums of l_orderkey, of l_discount in cents, and of the
        lengths of l_comment, over some of the rows.
        """
        return np.array([mask.sum(), *(column[mask].sum() for column in (self.order, self.cents, self.length))])


def answer_of(sums: Any) -> dict[str, Any]:
    """Returns sums in the form of the answers."""
    rows, orders, cents, length = map(int, sums)
    return {"rows": rows, "l_orderkey": str(orders), "l_discount": f"{cents // 100}.{cents % 100:02}", "l_comment": str(length)}


def merged(table: Lineitem, source: Lineitem, updates: bool, removed_if_unmatched: Any) -> dict[str, Any]:
    """Returns the sums of the table after a merge that inserts new rows and removes some rows
    without a match in the source.
    """
    known_of_table, known_of_source = np.isin(table.key, source.key), np.isin(source.key, table.key)
    stays = table.sums(~known_of_table & ~removed_if_unmatched)
    changed = source.sums(known_of_source) if updates else table.sums(known_of_table)
    return answer_of(stays + changed + source.sums(~known_of_source))


def expect_lineitem(rows: pa.Table, sources: dict[str, pa.Table]) -> dict[str, Any]:
    """Returns the expected answers of each change of lineitem. `tail` and `range` are the order
    keys that predicates name.
    """
    table = Lineitem(rows)
    last = len(rows) - 1
    tail = int(table.order[len(rows) - int(len(rows) * 0.1)])
    low, high = int(table.order[last * 98 // 100]), int(table.order[last * 99 // 100]) - 1
    nothing = np.zeros(len(rows), bool)
    out: dict[str, Any] = {"tail": tail, "low": low, "high": high}
    for name, mask in {
        "delete_01": table.order % 1_000 == 7,
        "delete_10": table.order % 10 == 7,
    }.items():
        out[name] = answer_of(table.sums(~mask))
    for name, mask in {
        "update_1": table.order % 100 == 7,
        "update_1_tail": (table.order >= low) & (table.order <= high),
    }.items():
        changed = table.sums(mask)
        changed[2], changed[3] = NEW_CENTS * mask.sum(), changed[3] + mask.sum()
        out[name] = answer_of(table.sums(~mask) + changed)
    of = {name: Lineitem(source) for name, source in sources.items()}
    for name in ("1k_spread", "60k_spread", "600k_spread", "60k_tail", "600k_tail"):
        out[f"merge_{name}"] = merged(table, of[name], True, nothing)
    out["insert_60k"] = merged(table, of["60k_half"], False, nothing)
    out["merge_60k_nms"] = merged(table, of["60k_tail"], True, table.order >= tail)
    return out


def lineitem_source(rows: pa.Table, source: Source) -> pa.Table:
    """Returns rows for a merge into lineitem."""
    known, beside = source.pick(len(rows))
    old, new = rows.take(pa.array(known)), rows.take(pa.array(beside))
    keys = pa.array(new["l_orderkey"].to_numpy() + OLD_TO_NEW_KEY)
    new = new.set_column(new.schema.get_field_index("l_orderkey"), new.schema.field("l_orderkey"), keys)
    both = pa.concat_tables([old, new])
    discount = pa.array(np.full(len(both), NEW_CENTS / 100)).cast(both.schema.field("l_discount").type)
    both = both.set_column(both.schema.get_field_index("l_discount"), both.schema.field("l_discount"), discount)
    comment = pc.binary_join_element_wise("~", both["l_comment"], "")
    return both.set_column(both.schema.get_field_index("l_comment"), both.schema.field("l_comment"), comment)


def make_lineitem(forms: list[str]) -> None:
    """Writes lineitem in its forms, and its sources."""
    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        rows = generate(Path(scratch), SCALE)
    sources = {name: lineitem_source(rows, source) for name, source in SOURCES.items() if name != "1k_narrow"}
    for name, source in sources.items():
        put_source(name, source)
    put_tables("lineitem", forms, lambda: rows, expect_lineitem(rows, sources))


def narrow_batches() -> Iterator[pa.RecordBatch]:
    """Returns the narrow rows in pieces."""
    draw = np.random.default_rng(SEED)
    for start in range(0, NARROW_ROWS, NARROW_BATCH):
        ids = np.arange(start, min(start + NARROW_BATCH, NARROW_ROWS)) * 2
        yield pa.record_batch({"id": ids, "value": draw.integers(0, 1 << 40, len(ids))})


def make_narrow(forms: list[str]) -> None:
    """Writes the narrow table in its forms, and its source."""
    known, beside = SOURCES["1k_narrow"].pick(NARROW_ROWS)
    ids = np.concatenate([known * 2, beside * 2 + 1])
    source = pa.table({"id": ids, "value": np.random.default_rng(SEED + 1).integers(0, 1 << 40, len(ids))})
    put_source("1k_narrow", source)
    rows, id_sum, value_sum = len(source), int(ids.sum()), int(source["value"].to_numpy().sum())
    for batch in narrow_batches():
        stays = ~np.isin(batch["id"].to_numpy(), ids)
        rows += int(stays.sum())
        id_sum += int(batch["id"].to_numpy()[stays].sum())
        value_sum += int(batch["value"].to_numpy()[stays].sum())
    expected = {"merge_1k_narrow": {"rows": rows, "id": str(id_sum), "value": str(value_sum)}}
    schema = source.schema

    put_tables("100m_rows", forms, lambda: pa.RecordBatchReader.from_batches(schema, narrow_batches()), expected)


def main(names: list[str]) -> None:
    """Makes the named tables, or all missing tables, with their sources."""
    root().mkdir(parents=True, exist_ok=True)
    for kind, make in {"lineitem": make_lineitem, "100m_rows": make_narrow}.items():
        tables = {form: table_name(kind, form) for form in FORMS}
        wanted = [f for f, t in tables.items() if t in names or (not names and not (root() / f"{t}.expected.json").exists())]
        if wanted:
            make(wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
