"""The bench tables that consist of a log only: seeded, without data files, each with the expected
answers of any reader.

`python -m benches.python.tables [NAME ...]` makes the missing ones below `root()`. A table is in a
directory of its name. `NAME.expected.json` beside it has the answers, computed here from the
generated files and not by reading the log. File `k` has the rows with id in [1000 k, 1000 k + 999].
The checkpoint lists files in random order, like Delta Spark's.
"""

import datetime
import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from .deltalog import TYPES, TableShape, compact, write_checkpoint, write_checksum, write_commit

SEED = 20_260_821
ROWS_PER_FILE = 1_000
DAYS = 1_000
FIRST_DAY = datetime.date(2020, 1, 1)
COLUMNS = {"id": "long", "user_id": "integer", "name": "string", "amount": "double", "ts": "timestamp", "ship": "date"}
CHECKPOINT_VERSION = 100
ADDS_PER_COMMIT = 10


@dataclass(frozen=True)
class LogTable:
    """A bench table: `base` files in the checkpoint (0: no checkpoint), then `commits` commits."""

    name: str
    base: int
    commits: int
    partition: tuple[str, str] = ("day", "date")
    json_only: bool = False
    checksums: bool = False

    @property
    def shape(self) -> TableShape:
        """Its schema."""
        return TableShape(COLUMNS, self.partition)


TABLES = [
    LogTable("1m_adds_ckpt_10", 1_000_000, 10),
    LogTable("1m_adds_ckpt_10_json", 1_000_000, 10, json_only=True),
    LogTable("1m_adds_ckpt_10_crc", 1_000_000, 10, checksums=True),
    LogTable("1k_commits", 0, 1_000),
    LogTable("1m_adds_1k_commits", 1_000_000, 1_000),
    LogTable("1m_adds_1k_commits_json", 1_000_000, 1_000, json_only=True),
    LogTable("1m_partitions", 1_000_000, 10, partition=("part", "integer")),
    LogTable("1m_partitions_json", 1_000_000, 10, partition=("part", "integer"), json_only=True),
]


def root() -> Path:
    """Returns the folder of the bench tables. `LAKEBED_CACHE` overrides it."""
    return Path(os.environ.get("LAKEBED_CACHE") or Path.home() / ".cache" / "lakebed") / "bench"


def make_files(table: LogTable) -> pa.Table:
    """Returns every file that the table ever adds, in order of id, one row each, in flat columns."""
    count = table.base + table.commits * ADDS_PER_COMMIT
    draw = np.random.default_rng(SEED)
    names = draw.bytes(16 * count).hex()
    size = draw.integers(1 << 20, 128 << 20, count)
    users = draw.integers(0, 50_000, (2, count))
    cents = draw.integers(0, 5_000, (2, count))
    index = np.arange(count)
    day = np.minimum(index * DAYS // (table.base or count), DAYS - 1)
    days = [(FIRST_DAY + datetime.timedelta(int(d))).isoformat() for d in range(DAYS + 8)]
    keys = [days[d] for d in day] if table.partition[1] == "date" else index.astype(str).tolist()
    first_ms = 1_577_836_800_000 + index * 86_400
    low = {
        "id": index * ROWS_PER_FILE,
        "user_id": users[0].astype(np.int32),
        "name": [f"Customer#{u:09}" for u in users[0]],
        "amount": cents[0] / 100,
        "ts": (first_ms * 1_000).astype("datetime64[us]"),
        "ship": [days[d] for d in day],
    }
    high = {
        "id": index * ROWS_PER_FILE + ROWS_PER_FILE - 1,
        "user_id": (10_000_000 - users[1]).astype(np.int32),
        "name": [f"Customer#{10_000_000 - u:09}" for u in users[1]],
        "amount": (1_000_000 - cents[1]) / 100,
        "ts": ((first_ms + 86_399) * 1_000).astype("datetime64[us]"),
        "ship": [days[d + 7] for d in day],
    }
    columns: dict[str, Any] = {
        "path": [_path(table.partition[0], k, names[32 * i : 32 * i + 32]) for i, k in enumerate(keys)],
        "partition": keys,
        "partition_parsed": pa.array(keys).cast(TYPES[table.partition[1]]),
        "size": size,
        "modificationTime": first_ms + 40_000_000,
        "numRecords": np.full(count, ROWS_PER_FILE),
        "stats": _stats(low, high),
    }
    for side, values in (("min", low), ("max", high)):
        for name, kind in COLUMNS.items():
            columns[f"{side}.{name}"] = pa.array(values[name]).cast(TYPES[kind])
    return pa.table(columns)


def _path(column: str, key: str, uuid: str) -> str:
    return f"{column}={key}/part-00000-{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}.c000.snappy.parquet"


def _stats(low: dict[str, Any], high: dict[str, Any]) -> list[str]:
    """Returns the statistics as JSON text, with timestamps in milliseconds as the format requires."""

    def rows(values: dict[str, Any]) -> Iterable[str]:
        stamps = np.datetime_as_string(values["ts"], unit="ms")
        for i, u, n, a, t, s in zip(
            values["id"], values["user_id"], values["name"], values["amount"].tolist(), stamps, values["ship"], strict=True
        ):
            yield f'{{"id":{i},"user_id":{u},"name":"{n}","amount":{a!r},"ts":"{t}Z","ship":"{s}"}}'

    nulls = compact(dict.fromkeys(COLUMNS, 0))
    return [
        f'{{"numRecords":{ROWS_PER_FILE},"minValues":{lo},"maxValues":{hi},"nullCount":{nulls}}}'
        for lo, hi in zip(rows(low), rows(high), strict=True)
    ]


def removed_indexes(table: LogTable) -> list[list[int]]:
    """Returns the files that each commit removes: two old ones in every fifth commit."""
    draw = np.random.default_rng(SEED + 1)
    every = [
        sorted(int(i) for i in draw.choice(table.base or c * ADDS_PER_COMMIT, 2, replace=False)) if c % 5 == 4 else []
        for c in range(table.commits)
    ]
    seen: set[int] = set()
    return [[i for i in some if not (i in seen or seen.add(i))] for some in every]  # type: ignore[func-returns-value]


def actions_of(files: pa.Table, table: LogTable, added: range, removed: list[int]) -> list[dict[str, Any]]:
    """Returns the add and remove actions of one commit."""
    keep = files.select(["path", "partition", "size", "modificationTime", "stats"])
    out: list[dict[str, Any]] = []
    for row in keep.slice(added.start, len(added)).to_pylist():
        out.append(
            {
                "add": {
                    "path": row["path"],
                    "partitionValues": {table.partition[0]: row["partition"]},
                    "size": row["size"],
                    "modificationTime": row["modificationTime"],
                    "dataChange": True,
                    "stats": row["stats"],
                }
            }
        )
    out += [{"remove": r} for r in removes_of(files, table, removed, data_change=True)]
    return out


def removes_of(files: pa.Table, table: LogTable, removed: list[int], data_change: bool) -> list[dict[str, Any]]:
    """Returns tombstones of the files at these indexes."""
    return [
        {
            "path": row["path"],
            "deletionTimestamp": 1_700_000_000_000,
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": {table.partition[0]: row["partition"]},
            "size": row["size"],
        }
        for row in files.take(pa.array(removed, pa.int64())).to_pylist()
    ]


def build(table: LogTable, where: Path) -> None:
    """Writes the table's log and its expected answers."""
    target, work = where / table.name, where / f".{table.name}.partial"
    shutil.rmtree(work, ignore_errors=True)
    files, shape = make_files(table), table.shape
    live = np.ones(len(files), bool)
    version = CHECKPOINT_VERSION if table.base else 0
    if table.base:
        old = [
            r | {"path": r["path"].replace("part-00000", "part-00001")}
            for r in removes_of(files, table, list(range(0, table.base, 1_000)), False)
        ]
        order = np.random.default_rng(SEED + 2).permutation(table.base)
        write_checkpoint(work, version, files.take(order), old, shape, table.json_only)
        write_commit(work, version, actions_of(files, table, range(table.base - ADDS_PER_COMMIT, table.base), []))
    for number, removed in enumerate(removed_indexes(table)):
        start = table.base + number * ADDS_PER_COMMIT
        actions = actions_of(files, table, range(start, start + ADDS_PER_COMMIT), removed)
        if not table.base and number == 0:
            actions = [{"protocol": shape.protocol}, {"metaData": shape.metadata}, *actions]
        version = version + 1 if table.base or number else 0
        live[removed] = False
        write_commit(work, version, actions)
        if table.checksums:
            so_far = live[: start + ADDS_PER_COMMIT]
            size = int(files["size"].to_numpy()[: len(so_far)][so_far].sum())
            write_checksum(work, version, int(so_far.sum()), size, shape)
    (where / f"{table.name}.expected.json").write_text(json.dumps(_expected(table, files, live, version), indent=1))
    shutil.rmtree(target, ignore_errors=True)
    work.rename(target)


def _expected(table: LogTable, files: pa.Table, live: Any, version: int) -> dict[str, Any]:
    count = table.base or len(files)
    middle = count // 2 + count // 10_000 * 5
    span = max(count // 1_000, 1)
    index = np.arange(len(files))
    in_range = live & (index >= middle) & (index < middle + span)
    key = files["partition"][middle].as_py()
    one = live & (files["partition"].to_numpy(zero_copy_only=False) == key)
    literal = f"DATE '{key}'" if table.partition[1] == "date" else key
    total = int(files["size"].to_numpy()[live].sum())
    return {
        "version": version,
        "files": int(live.sum()),
        "size_bytes": total,
        "columns": [*COLUMNS, table.partition[0]],
        "partition": {
            "column": table.partition[0],
            "value": key,
            "where": f"{table.partition[0]} = {literal}",
            "files": int(one.sum()),
        },
        "range": {
            "low": middle * ROWS_PER_FILE,
            "high": (middle + span) * ROWS_PER_FILE - 1,
            "files": int(in_range.sum()),
            "where": f"id BETWEEN {middle * ROWS_PER_FILE} AND {(middle + span) * ROWS_PER_FILE - 1}",
        },
    }


def expected(name: str) -> dict[str, Any]:
    """Returns the answers of an existing table."""
    answers: dict[str, Any] = json.loads((root() / f"{name}.expected.json").read_text())
    return answers


def main(names: list[str]) -> None:
    """Makes the named tables, or all missing tables."""
    for table in TABLES:
        if table.name in names or (not names and not (root() / table.name).exists()):
            print(f"making {table.name}", flush=True)
            build(table, root())


if __name__ == "__main__":
    main(sys.argv[1:])
