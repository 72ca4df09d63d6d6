"""The cost of codecs, conditions and conversions. Each case mostly runs the code of a few
dependencies.

Run `python -m benches.python.kernels [CASE ...]`. It prints the fastest of seven calls of each
case, in milliseconds. To compare two builds of lakebed, run it with both builds in turns. The list
of optimised packages in `Cargo.toml` was chosen in this way. `run.py` compares lakebed with peers.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .deltalog import write_commit
from .tables import root

ROWS = 2_000_000
SAMPLES = 7
WORDS = 200_000
CODECS = {
    "none": ("UNCOMPRESSED", None),
    "snappy": ("SNAPPY", None),
    "zstd": ("ZSTD", 3),
    "gzip": ("GZIP", 3),
    "lz4": ("LZ4_RAW", None),
    "brotli": ("BROTLI", 3),
}
CONDITIONS = {
    "like": "s LIKE '%9 of the list 12%'",
    "contains": "contains(s, 'list 77')",
    "starts_with": "s LIKE 'word 19%'",
    "regex": "s RLIKE 'list 1[23]4$'",
    "upper": "upper(s) = 'WORD 7'",
    "length": "length(trim(s)) = 18",
    "integers": "k * 3 + id % 7 - 5 > 2990",
    "doubles": "x * 2.5 + k / 3 > 335",
    "decimals": "m * 2 + 1 < 1000000",
    "to_string": "cast(id AS string) = '77'",
    "to_integer": "cast(cast(k AS string) AS int) = 77",
    "date": "year(d) = 1985 AND month(d) = 3",
    "truncate": "date_trunc('month', t) = timestamp'1990-01-01 00:00:00'",
    "between": "k BETWEEN 5 AND 9 AND x < 0.5",
    "in": "k IN (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29)",
    "null": "s IS NULL OR k IS NOT NULL AND x > 0.99",
}
Call = Callable[[], Any]


def rows() -> Any:
    """Returns seeded rows of the usual types."""
    import numpy as np
    import pyarrow as pa

    drawn = np.random.default_rng(20_261_125)
    words = np.array([f"word {number} of the list {number * 7919 % 1000}" for number in range(WORDS)])
    moments = drawn.integers(0, 10**15, ROWS)
    return pa.table(
        {
            "id": pa.array(np.arange(ROWS)),
            "k": pa.array(drawn.integers(0, 1_000, ROWS)),
            "x": pa.array(drawn.random(ROWS)),
            "s": pa.array(words[drawn.integers(0, WORDS, ROWS)]),
            "m": pa.array(drawn.integers(0, 10**9, ROWS)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)),
            "d": pa.array(drawn.integers(0, 10_000, ROWS).astype("int32")).cast(pa.date32()),
            "t": pa.array(moments).cast(pa.timestamp("us", tz="UTC")),
        }
    )


def as_others_send(rows: Any) -> Any:
    """Returns the rows in other Arrow types, which a write converts."""
    import pyarrow as pa

    types = {
        "id": pa.int32(),
        "k": pa.int32(),
        "x": pa.float32(),
        "s": pa.large_string(),
        "m": pa.decimal256(30, 2),
        "d": pa.date64(),
        "t": pa.timestamp("ns", tz="UTC"),
    }
    return pa.table({name: rows[name].cast(to, safe=False) for name, to in types.items()})


def variants(path: Path) -> None:
    """Makes a table with one variant column, shredded as Spark does it: objects with an integer."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.array([b"\x01\x01\x00\x01a"] * ROWS, pa.binary())
    field = pa.StructArray.from_arrays([pa.nulls(ROWS, pa.binary()), pa.array(np.arange(ROWS))], ["value", "typed_value"])
    objects = pa.StructArray.from_arrays([field], ["a"])
    column = pa.StructArray.from_arrays([names, pa.nulls(ROWS, pa.binary()), objects], ["metadata", "value", "typed_value"])
    path.mkdir()
    pq.write_table(pa.table({"v": column}), path / "a.parquet", row_group_size=200_000)
    schema = {"type": "struct", "fields": [{"name": "v", "type": "variant", "nullable": True, "metadata": {}}]}
    features = ["variantType", "variantShredding-preview"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    format = {"provider": "parquet", "options": {}}
    metadata = {"id": "v", "format": format, "schemaString": json.dumps(schema), "partitionColumns": [], "configuration": {}}
    size = (path / "a.parquet").stat().st_size
    add = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}
    write_commit(path, 0, [{"protocol": protocol}, {"metaData": metadata}, {"add": add}])


def make(folder: Path) -> None:
    """Makes the missing tables. deltalake writes the files of the codecs."""
    import deltalake

    import lakebed as lb

    if (folder / "log").is_dir():
        return
    shutil.rmtree(folder, ignore_errors=True)
    data = rows()
    for codec, (name, level) in CODECS.items():
        settings = deltalake.WriterProperties(compression=name, compression_level=level)
        deltalake.write_deltalake(str(folder / codec), data, writer_properties=settings)
    deleting = lb.write(folder / "deleted", data, properties={"delta.enableDeletionVectors": "true"}).table
    deleting.delete(where="k % 2 = 0")
    variants(folder / "variants")
    for number in range(150):
        lb.write(folder / "log", data.slice(number * 20, 20))


def calls(folder: Path, scratch: Path) -> Iterator[tuple[str, Callable[[], Call]]]:
    """Returns the cases. A case prepares a call, which is timed."""
    import lakebed as lb

    def read(name: str) -> Call:
        table = lb.Table(folder / name)
        return lambda: table.to_arrow()

    def where(condition: str) -> Call:
        table = lb.Table(folder / "none")
        return lambda: table.scan(columns=["id"], where=condition).to_arrow()

    def write(compression: str) -> Call:
        data = lb.Table(folder / "none").to_arrow().slice(0, ROWS // 2)
        return lambda: lb.write(scratch / "new", data, mode="overwrite", compression=compression)

    def convert() -> Call:
        data = lb.Table(folder / "none").to_arrow().slice(0, ROWS // 2)
        lb.write(scratch / "converted", data.slice(0, 0))
        others = as_others_send(data)
        return lambda: lb.write(scratch / "converted", others, mode="overwrite")

    def copied(name: str) -> Any:
        shutil.copytree(folder / "snappy", scratch / name)
        return lb.Table(scratch / name)

    def update() -> Call:
        table = copied("updated")
        return lambda: table.update({"x": "x * 2 + 1", "s": "concat(s, '!')"}, where="k < 500")

    def merge() -> Call:
        table, source = copied("merged"), lb.Table(folder / "none").to_arrow().slice(0, 100_000)
        merging = table.merge(source, "t.id = s.id AND t.k = s.k", source_alias="s", target_alias="t")
        return merging.when_matched_update({"x": "s.x + 1"}).execute

    for codec in CODECS:
        yield f"read_{codec}", lambda codec=codec: read(codec)
    for name, condition in CONDITIONS.items():
        yield f"where_{name}", lambda condition=condition: where(condition)
    for compression in ("uncompressed", "snappy", "zstd", "gzip"):
        yield f"write_{compression}", lambda compression=compression: write(compression)
    yield "write_converted", convert
    yield "update", update
    yield "merge", merge
    yield "deleted_rows", lambda: read("deleted")
    yield "variants", lambda: read("variants")
    yield "log", lambda: lambda: [lb.Table(folder / "log").files() for _ in range(10)]


def best(call: Call) -> float:
    """Returns the milliseconds of the fastest call."""

    def timed() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return min(timed() for _ in range(SAMPLES)) * 1_000


def main(wanted: list[str]) -> None:
    """Makes the tables and measures the cases."""
    folder = root() / "kernels"
    make(folder)
    with tempfile.TemporaryDirectory(dir=root()) as scratch:
        cases = dict(calls(folder, Path(scratch)))
        if unknown := set(wanted) - set(cases):
            sys.exit(f"unknown cases: {', '.join(sorted(unknown))}; there are: {', '.join(cases)}")
        for name, prepared in cases.items():
            if not wanted or name in wanted:
                print(json.dumps({"case": name, "ms": round(best(prepared()), 2)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
