"""A program that writes a table and then lets child processes write to it. Each child mixes
appends, merges and deletes of single rows.

It runs apart from the tests, like a user's program: `python forks.py URI METHOD CHILDREN TURNS`,
with storage options as JSON on its input. It prints the rows that the table must have at the end.
It computes them with a plain dict that gets the same changes.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from typing import Any

import pyarrow as pa

import lakebed as lb

#: The value of each row by its id.
Rows = dict[int, int]

_SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])


def seeds(children: int, turns: int) -> Rows:
    """Returns the rows that the parent writes: one row for each turn of each child."""
    return {child * 1000 + turn: 0 for child in range(children) for turn in range(turns)}


def write(uri: str, options: dict[str, str], child: int, turns: int) -> Rows:
    """Makes all changes of one child. Returns the rows that they leave."""
    table = lb.Table(uri, storage_options=options)
    rows = {child * 1000 + turn: 0 for turn in range(turns)}
    for turn in range(turns):
        own, new = child * 1000 + turn, 100_000 + child * 1000 + turn
        match turn % 3:
            case 0:
                table.append(_table({new: turn}))
                rows[new] = turn
            case 1:
                changed = {own: turn, new: -turn}
                table.upsert(_table(changed), keys=["id"])
                rows |= changed
            case _:
                table.delete(f"id = {own}")
                del rows[own]
    return rows


def _table(rows: Rows) -> pa.Table:
    return pa.table([list(rows), list(rows.values())], schema=_SCHEMA)


def main(uri: str, method: Any, children: int, turns: int) -> None:
    options = json.load(sys.stdin)
    vectors = {"delta.enableDeletionVectors": True, "delta.checkpointInterval": 10}
    parent = lb.write(uri, _table(seeds(children, turns)), properties=vectors, storage_options=options).table
    assert parent.count() == children * turns
    with multiprocessing.get_context(method).Pool(children) as pool:
        work = [(uri, options, child, turns) for child in range(children)]
        rows = {key: value for found in pool.starmap(write, work, 1) for key, value in found.items()}
    # The handle that the parent opened before still works.
    assert parent.count() == children * turns
    rows[-1] = -1
    parent.append(_table({-1: -1}))
    json.dump(sorted(rows.items()), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
