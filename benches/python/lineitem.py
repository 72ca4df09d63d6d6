"""TPC-H lineitem at scale factor 1 as Delta tables: plain, and with deletion vectors on 0.1 % and
on 10 % of the rows.

`python -m benches.python.lineitem` makes `lineitem`, `lineitem_dv01` and `lineitem_dv10` below
`tables.root()` (about 15 s), with `NAME.expected.json` beside each. All three share their 12 data
files. Each file has one row group of 500,000 rows, snappy, page indexes, and decimals as INT64,
like the files of Delta Spark. The deletion vectors are encoded here, from the description of the
format.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import uuid
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from .deltalog import ROWS_PER_PAGE, TableShape, write_commit
from .queries import DELETED, ONE_FILE, Q6_COLUMNS, digest
from .tables import SEED, root

ROWS_PER_FILE = 500_000
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def generate(into: Path, scale: float = 1) -> pa.Table:
    """Returns the rows of lineitem, in order of l_orderkey."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([program, "parquet", "-s", f"{scale:g}", "-T", "lineitem", "-o", str(into)], check=True, capture_output=True)
    rows = pq.read_table(into / "lineitem.parquet")
    plain = [pa.field(f.name, pa.string() if f.type in (pa.string_view(), pa.large_string()) else f.type) for f in rows.schema]
    return rows.cast(pa.schema(plain))


def delta_type(kind: pa.DataType) -> str:
    """Returns the Delta name of an Arrow type of lineitem."""
    names = {pa.int64(): "long", pa.int32(): "integer", pa.string(): "string", pa.date32(): "date"}
    return names.get(kind) or f"decimal({kind.precision},{kind.scale})"


def statistics(rows: pa.Table) -> dict[str, Any]:
    """Returns the statistics of one file: bounds of all columns, with strings cut to 32 characters
    as the format requires.
    """
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    for name in rows.column_names:
        bounds = pc.min_max(rows[name])
        for side, value in ((low, bounds["min"].as_py()), (high, bounds["max"].as_py())):
            if isinstance(value, str) and len(value) > 32:
                value = value[:32] + ("\x7f" if side is high else "")
            side[name] = (
                float(value) if isinstance(value, Decimal) else value if isinstance(value, int | str) else value.isoformat()
            )
    return {"numRecords": len(rows), "minValues": low, "maxValues": high, "nullCount": dict.fromkeys(rows.column_names, 0)}


def add_action(path: str, size_bytes: int, rows: pa.Table) -> dict[str, Any]:
    """Returns the statistics in the log for a file of these rows in a table without partitions."""
    return {
        "path": path,
        "partitionValues": {},
        "size": size_bytes,
        "modificationTime": 1_600_000_000_000,
        "dataChange": True,
        "stats": json.dumps(statistics(rows), separators=(",", ":")),
    }


def put_file(rows: pa.Table, path: Path) -> None:
    """Writes a data file of one row group, as Delta Spark writes it."""
    pq.write_table(
        rows,
        path,
        compression="snappy",
        row_group_size=len(rows),
        write_page_index=True,
        max_rows_per_page=ROWS_PER_PAGE,
        store_schema=False,
        store_decimal_as_integer=True,
    )


def z85(data: bytes) -> str:
    """Encodes bytes in base 85 with ZeroMQ's alphabet. The length is a multiple of four."""
    out = []
    for (word,) in struct.iter_unpack(">I", data):
        out += [Z85[word // 85**p % 85] for p in (4, 3, 2, 1, 0)]
    return "".join(out)


def deletion_vectors(table: Path, deleted: list[Any]) -> list[dict[str, Any]]:
    """Writes one file of deletion vectors with a bitmap per data file. Returns their descriptors."""
    name = uuid.UUID(int=int(np.random.default_rng(SEED).integers(1 << 60)) << 64 | 0x4000_8000_0000_0000_0000)
    body, descriptors = bytearray(b"\x01"), []
    for rows in deleted:
        data = struct.pack("<I", 1_681_511_377) + BitMap64(rows.tolist()).serialize()
        descriptors.append(
            {
                "storageType": "u",
                "pathOrInlineDv": z85(name.bytes),
                "offset": len(body),
                "sizeInBytes": len(data),
                "cardinality": len(rows),
            }
        )
        body += struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (table / f"deletion_vector_{name}.bin").write_bytes(body)
    return descriptors


def build(name: str, parts: list[tuple[pa.Table, Path]], schema: pa.Schema) -> None:
    """Writes one table over the data files in `root()/lineitem_files`."""
    table = root() / name
    shutil.rmtree(table, ignore_errors=True)
    table.mkdir()
    share = DELETED[name]
    shape = TableShape({f.name: delta_type(f.type) for f in schema}, features=("deletionVectors",) if share else ())
    adds = []
    for rows, path in parts:
        os.link(path, table / path.name)
        adds.append(add_action(path.name, path.stat().st_size, rows))
    write_commit(table, 0, [{"protocol": shape.protocol}, {"metaData": shape.metadata}, *[{"add": a} for a in adds]])
    draw = np.random.default_rng(SEED + round(share * 1_000))
    deleted = [np.sort(draw.choice(len(rows), round(len(rows) * share), replace=False)) for rows, _ in parts]
    if share:
        vectors = deletion_vectors(table, deleted)
        removes = [
            {
                "remove": {k: a[k] for k in ("path", "partitionValues", "size")}
                | {"deletionTimestamp": 1_600_000_060_000, "dataChange": True, "extendedFileMetadata": True}
            }
            for a in adds
        ]
        again = [
            {
                "add": a
                | {
                    "stats": json.dumps(json.loads(a["stats"]) | {"tightBounds": False}, separators=(",", ":")),
                    "deletionVector": v,
                }
            }
            for a, v in zip(adds, vectors, strict=True)
        ]
        write_commit(table, 1, [*removes, *again])
    live = [rows.filter(pa.array(~np.isin(np.arange(len(rows)), gone))) for (rows, _), gone in zip(parts, deleted, strict=True)]
    (root() / f"{name}.expected.json").write_text(json.dumps(_expected(pa.concat_tables(live), len(parts)), indent=1))


def _expected(rows: pa.Table, files: int) -> dict[str, Any]:
    day = rows["l_shipdate"].cast(pa.int32())
    start, end = (int(np.datetime64(d, "D").astype(int)) for d in ("1994-01-01", "1995-01-01"))
    tests = [
        pc.greater_equal(day, start),
        pc.less(day, end),
        pc.greater_equal(rows["l_discount"], Decimal("0.05")),
        pc.less_equal(rows["l_discount"], Decimal("0.07")),
        pc.less(rows["l_quantity"], Decimal("24.00")),
    ]
    mask = tests[0]
    for test in tests[1:]:
        mask = pc.and_(mask, test)
    one = rows.filter(pc.and_(pc.greater_equal(rows["l_orderkey"], ONE_FILE[0]), pc.less_equal(rows["l_orderkey"], ONE_FILE[1])))
    return {
        "files": files,
        "columns": rows.column_names,
        "full": digest(rows),
        "q6_columns": digest(rows.select(Q6_COLUMNS)),
        "q6": digest(rows.filter(mask).select(Q6_COLUMNS)),
        "one_file": digest(one),
    }


def main() -> None:
    """Makes the three tables."""
    files = root() / "lineitem_files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        rows = generate(Path(scratch))
    parts = []
    for number, start in enumerate(range(0, len(rows), ROWS_PER_FILE)):
        part = rows.slice(start, ROWS_PER_FILE)
        if len(rows) - start < ROWS_PER_FILE // 10:  # The last 1,215 rows go to the file before.
            part = pa.concat_tables([parts.pop()[0], part])
            number -= 1
        path = files / f"part-{number:05}-{uuid.uuid5(uuid.NAMESPACE_OID, str(number))}.c000.snappy.parquet"
        put_file(part, path)
        parts.append((part, path))
    for name in DELETED:
        print(f"making {name}", flush=True)
        build(name, parts, rows.schema)


if __name__ == "__main__":
    main()
