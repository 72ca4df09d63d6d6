"""Shrunk cases that failed once. Each is a test of its own."""

from __future__ import annotations

from door.case import Case, Column, Deed, Source, Table
from door.sources import BROKEN

_ID = Column("id", "int64", (1, 2))


def _write(kind: str, *batches: tuple[Column, ...], way: str = "same", table: Table | None = None, **given: object) -> Case:
    return Case(table or Table(exists=False), Source(kind, batches), Deed("write", tuple(given.items())), way)


def _wrong(verb: str, name: str, value: object) -> Case:
    needed: dict[str, dict[str, object]] = {
        "upsert": {"keys": ("id",)},
        "merge": {"clauses": "update and insert"},
        "update": {"set": (("n", "n + 1"),)},
    }
    given = needed.get(verb, {}) | {name: value}
    full = tuple(Column(name, kind, (value,)) for name, kind, value in _FULL)
    return Case(Table(), Source("table", (full,)), Deed(verb, tuple(given.items()), f"{name}={value!r}"))


def _made(name: str, value: object) -> Case:
    return Case(Table(exists=False), Source("table", ((_ID,),)), Deed("create", ((name, value),), f"{name}={value!r}"))


_FULL = [("id", "int64", 7), ("n", "int32", 7), ("v", "double", 0.5), ("p", "string", "x"), ("s", "string", "x")]

SEEDS: dict[str, Case] = {
    "a forked child draws the names that its parent drew": Case(
        Table(), Source("table", ((_ID,),)), Deed("write", (("mode", "append"),)), "fork"
    ),
    "a later batch of other bits": _write("generator", (_ID,), (Column("id", "double", (0.5,)),)),
    "a later batch of shorter values": _write("list", (_ID,), (Column("id", "int8", (3, -1)),)),
    "a reader that breaks its promise": _write("drifting reader", (_ID,), (Column("id", "double", (0.5,)),)),
    "columns that change places": _write(
        "list", (_ID, Column("n", "int64", (3, 4))), (Column("n", "int64", (5, 6)), Column("id", "int64", (7, 8)))
    ),
    "a later batch with fewer columns": _write("generator", (_ID, Column("n", "int64", (3, 4))), (_ID,)),
    "a chunk of a CSV file that has fractions": _write(
        "chunks", (Column("v", "int64", (10, 20)),), (Column("v", "double", (None, 30.5)),)
    ),
    "rows with keys that the first lacks": _write(
        "dicts", (Column("a", "int64", (1,)),), (Column("a", "int64", (2,)), Column("b", "string", ("y",)))
    ),
    "empty text in a partition meets no condition": _write(
        "dicts", (_ID, Column("p", "string", ("", ""))), table=Table(partition_by=("p",)), mode="overwrite", where="p = ''"
    ),
    "an upsert by a partition of empty text": Case(
        Table(partition_by=("p",)),
        Source(
            "table",
            (tuple(Column(name, kind, ("" if name == "p" else 2 if name == "id" else value,)) for name, kind, value in _FULL),),
        ),
        Deed("upsert", (("keys", ("id", "p")),)),
    ),
    **{kind: _write(kind) for kind in BROKEN},
    "an append to a table that is gone": Case(Table(exists=False), Source("table", ((_ID,),)), Deed("append")),
    "an overwrite of a table that is gone": Case(Table(exists=False), Source("table", ((_ID,),)), Deed("overwrite")),
    "a generator that raises": _write("generator that raises", (_ID,)),
    "files of no bytes": _wrong("overwrite", "target_file_size", 0),
    "files of one byte": _wrong("write", "target_file_size", 1),
    "a size beyond all numbers": _wrong("upsert", "target_file_size", 2**70),
    "a misspelt where": _wrong("overwrite", "wher", "id = 1"),
    "a misspelt txn": _wrong("append", "tnx", ("door", 7)),
    "a negative number of a transaction": _wrong("write", "txn", ("door", -1)),
    "a limit below nothing": _wrong("read", "limit", -1),
    "a version that is a truth value": _wrong("open", "version", True),
    "a constraint of a column that is not there": _made("constraints", {"c": "nope > 1"}),
    "a constraint that is no condition": _made("constraints", {"c": "id"}),
    "a constraint without a name": _made("constraints", {"": "id > 0"}),
    "the first overwrite of rows that do not meet its condition": _write("table", (_ID,), mode="overwrite", where="id > 1"),
    "row groups of no rows": _wrong("write", "row_group_rows", 0),
}
