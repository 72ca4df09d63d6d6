"""The tables for rewrites of files, and the table for vacuum.

`python -m benches.python.layout_data [NAME ...]` makes the named tables, or all missing tables.
pyarrow writes the data files (snappy, one row group each), and this module writes the log, so that
no engine finds files of its own:

- `1k_small_files`: TPC-H lineitem, SF1, 6,001,215 rows in order of l_orderkey in 1,000 files, each
  in a commit of its own. There is a checkpoint at 990
- `paper`: 2,000,000 rows of four bigints, drawn uniformly from 0 to 2^31, in 16 unordered files
- `8_columns`: the same with eight columns
- `zipf`: the same with four columns of a million values each. Their frequencies are 1 / rank ^ 1.1,
  1.2, 1.35 and 1.5, and a rank says nothing about the value
- `ten_times_budget`: 100,000,000 rows of two uniform bigints in 64 unordered files, 1.6 GB in
  memory
- `100k_objects`: 1,000 files in 100 partitions. `layout.py` adds the objects that no version names
  to each copy

`NAME.expected.json` has row counts and sums of the generated rows. `row` is the sum over the
exclusive or of all columns, which shows whether values stayed together. `LAKEBED_BENCH_SCALE=0.1`
makes tables of a tenth of the rows with names of their own.
"""

import json
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from .deltalog import TableShape, write_commit
from .dml import SCALE, SUFFIX
from .layout import LIVE_FILES, PARTITIONS, PLAIN
from .lineitem import add_action, delta_type, generate, put_file
from .queries import digest
from .tables import SEED, root

SMALL_FILES = 1_000
CHECKPOINT_VERSION = 990
FILES = 16
ROWS = int(2_000_000 * SCALE)
UNIFORM_END = 1 << 31
ZIPF = {"client": 1.1, "page": 1.2, "city": 1.35, "agent": 1.5}
ZIPF_VALUES = 1_000_000
NARROW_ROWS = int(100_000_000 * SCALE)
NARROW_FILES = 64
NARROW_END = 1 << 40
ROWS_OF_LIVE_FILE = 10


def file_name(number: int) -> str:
    """Returns the name of a data file."""
    return f"part-{number:05}-{uuid.uuid5(uuid.NAMESPACE_OID, str(number))}.c000.snappy.parquet"


def put_table(name: str, parts: Iterable[pa.Table], *, commit_each: bool = False) -> Path:
    """Writes a table with one file for each part, in one commit or in one commit for each part."""
    table = root() / name
    shutil.rmtree(table, ignore_errors=True)
    table.mkdir(parents=True)
    head: list[dict[str, Any]] = []
    adds = []
    for number, rows in enumerate(parts):
        if not head:
            shape = TableShape({f.name: delta_type(f.type) for f in rows.schema})
            head = [{"protocol": shape.protocol}, {"metaData": shape.metadata}]
        path = table / file_name(number)
        put_file(rows, path)
        adds.append({"add": add_action(path.name, path.stat().st_size, rows)})
    commits = [[add] for add in adds] if commit_each else [adds]
    for version, actions in enumerate(commits):
        write_commit(table, version, [*([] if version else head), *actions])
    return table


def put_expected(name: str, answer: dict[str, Any]) -> None:
    """Writes the expected answer."""
    (root() / f"{name}.expected.json").write_text(json.dumps(answer, indent=1))


def put_plain(name: str, parts: Iterable[dict[str, Any]]) -> None:
    """Writes a table of bigints, given as arrays of numpy."""
    rows, sums = 0, dict.fromkeys([*PLAIN[name.removesuffix(SUFFIX)].columns, "row"], 0)

    def counted() -> Iterator[pa.Table]:
        nonlocal rows
        for part in parts:
            rows += len(next(iter(part.values())))
            for column, values in (part | {"row": reduce(np.bitwise_xor, part.values())}).items():
                sums[column] += int(values.sum())
            yield pa.table(part)

    put_table(name, counted())
    put_expected(name, {"rows": rows} | {column: str(found) for column, found in sums.items()})


def split(columns: dict[str, Any], files: int) -> Iterator[dict[str, Any]]:
    """Cuts rows into this many parts of one size."""
    pieces = {name: np.array_split(values, files) for name, values in columns.items()}
    for number in range(files):
        yield {name: parts[number] for name, parts in pieces.items()}


def make_small_files(name: str) -> None:
    """Returns lineitem as a thousand appends. The last appends are not in the checkpoint, as Delta
    Spark would leave it.
    """
    import deltalake

    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        rows = generate(Path(scratch), SCALE)
    bounds = np.linspace(0, len(rows), SMALL_FILES + 1).astype(int)
    parts = (rows.slice(low, high - low) for low, high in pairwise(bounds))
    table = put_table(name, parts, commit_each=True)
    deltalake.DeltaTable(str(table), version=CHECKPOINT_VERSION).create_checkpoint()
    put_expected(name, digest(rows))


def make_uniform(name: str) -> None:
    """Returns columns in which all values have the same probability."""
    draw = np.random.default_rng(SEED)
    columns = {column: draw.integers(0, UNIFORM_END, ROWS) for column in PLAIN[name.removesuffix(SUFFIX)].columns}
    put_plain(name, split(columns, FILES))


def make_zipf(name: str) -> None:
    """Returns columns in which a few values are in most of the rows."""
    draw = np.random.default_rng(SEED)
    columns = {}
    for column, exponent in ZIPF.items():
        share = np.cumsum(np.arange(1, ZIPF_VALUES + 1) ** -exponent)
        ranks = np.searchsorted(share / share[-1], draw.random(ROWS))
        columns[column] = draw.permutation(ZIPF_VALUES)[ranks]
    put_plain(name, split(columns, FILES))


def make_narrow(name: str) -> None:
    """Returns two uniform columns, file by file."""
    draw = np.random.default_rng(SEED)
    count = NARROW_ROWS // NARROW_FILES
    columns = PLAIN["ten_times_budget"].columns
    put_plain(name, ({column: draw.integers(0, NARROW_END, count) for column in columns} for _ in range(NARROW_FILES)))


def make_objects(name: str) -> None:
    """Writes a small partitioned table."""
    table = root() / name
    shutil.rmtree(table, ignore_errors=True)
    shape = TableShape({"id": "long"}, partition=("part", "integer"))
    actions: list[dict[str, Any]] = [{"protocol": shape.protocol}, {"metaData": shape.metadata}]
    for number in range(LIVE_FILES):
        part, first = number % PARTITIONS, number * ROWS_OF_LIVE_FILE
        path = table / f"part={part}" / file_name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = pa.table({"id": np.arange(first, first + ROWS_OF_LIVE_FILE)})
        put_file(rows, path)
        add = add_action(f"part={part}/{path.name}", path.stat().st_size, rows)
        actions.append({"add": add | {"partitionValues": {"part": str(part)}}})
    write_commit(table, 0, actions)
    put_expected(name, {"live": LIVE_FILES, "left": 0})


MAKERS: dict[str, Callable[[str], None]] = {
    "1k_small_files": make_small_files,
    "paper": make_uniform,
    "8_columns": make_uniform,
    "zipf": make_zipf,
    "ten_times_budget": make_narrow,
    "100k_objects": make_objects,
}


def main(names: list[str]) -> None:
    """Makes the named tables, or all missing tables."""
    root().mkdir(parents=True, exist_ok=True)
    for kind, make in MAKERS.items():
        name = kind + SUFFIX
        if name in names or (not names and not (root() / f"{name}.expected.json").exists()):
            print(f"making {name}", flush=True)
            make(name)


if __name__ == "__main__":
    main(sys.argv[1:])
