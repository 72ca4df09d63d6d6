"""The calls that the fuzzer makes, with valid arguments, their meaning in Python, and arguments
that must be refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from typing import Any

import lakebed as lb
from door import sources
from door.case import Deed, Row, Source
from verbs import Clause

#: SQL conditions, each with the same condition in Python; None is SQL's null.
CONDITIONS: dict[str, Callable[[Row], bool | None]] = {
    "id > 1": lambda row: None if row.get("id") is None else row["id"] > 1,
    "id IN (1, 2)": lambda row: None if row.get("id") is None else row["id"] in (1, 2),
    "p = 'x'": lambda row: None if row.get("p") is None else row["p"] == "x",
    "p <> 'x'": lambda row: None if row.get("p") is None else row["p"] != "x",
    "p = ''": lambda row: None if row.get("p") is None else row["p"] == "",
    "p IS NULL": lambda row: row.get("p") is None,
    "s = ''": lambda row: None if row.get("s") is None else row["s"] == "",
    "n <=> 3": lambda row: row.get("n") == 3,
    "true": lambda row: True,
    "false": lambda row: False,
}
#: The `set` of updates, each with the same assignment in Python.
SETS: dict[tuple[tuple[str, str], ...], Callable[[Row], Row]] = {
    (("n", "n + 1"),): lambda row: {"n": None if row["n"] is None else row["n"] + 1},
    (("s", "upper(s)"), ("v", "NULL")): lambda row: {"s": None if row["s"] is None else row["s"].upper(), "v": None},
    (("p", "'z'"),): lambda row: {"p": "z"},
    (("p", "''"),): lambda row: {"p": ""},
    (("n", "id"),): lambda row: {"n": row["id"]},
    (("id", "id - 2"),): lambda row: {"id": row["id"] - 2},
    (("id", "NULL"),): lambda row: {"id": None},
}
_UPDATE, _INSERT = Clause("matched", "update"), Clause("not_matched", "insert")
_UPDATE_N = Clause("matched", "update", lambda target, source: {**(target or {}), "n": (source or {}).get("n")})
#: The clauses of a merge on `target.id = source.id`, each with the same clauses in Python.
MERGES: dict[str, tuple[Callable[[lb.Merge], lb.Merge], list[Clause]]] = {
    "update and insert": (lambda merge: merge.when_matched_update().when_not_matched_insert(), [_UPDATE, _INSERT]),
    "insert": (lambda merge: merge.when_not_matched_insert(), [_INSERT]),
    "delete": (lambda merge: merge.when_matched_delete(), [Clause("matched", "delete")]),
    "update n": (lambda merge: merge.when_matched_update({"n": "source.n"}), [_UPDATE_N]),
    "delete others": (
        lambda merge: merge.when_not_matched_by_source_delete(),
        [Clause("not_matched_by_source", "delete")],
    ),
}

Given = dict[str, Any]
Run = Callable[[str, lb.Table | None, Source, Given], Any]


def _write(path: str, _: lb.Table | None, source: Source, given: Given) -> Any:
    return lb.write(path, sources.make(source), **given)


def _create(path: str, _: lb.Table | None, source: Source, given: Given) -> Any:
    import pyarrow as pa

    batches = sources.batches(source)
    return lb.create(path, sources.batch_of(batches[0]).schema if batches else pa.schema([]), **given)


def _merge(_: str, table: lb.Table | None, source: Source, given: Given) -> Any:
    clauses = given.pop("clauses", None)
    merge = _open(table).merge(sources.make(source), **{"on": "target.id = source.id", **given})
    return (MERGES[clauses][0](merge) if clauses else merge).execute()


def _open(table: lb.Table | None) -> lb.Table:
    assert table is not None
    return table


def _read(_: str, table: lb.Table | None, source: Source, given: Given) -> Any:
    return _open(table).scan(**given).to_arrow().to_pylist()


#: The call of each verb. The handle was opened before; in cases without a table, the table was
#: deleted after that.
VERBS: dict[str, Run] = {
    "write": _write,
    "create": _create,
    "append": lambda path, table, source, given: _open(table).append(sources.make(source), **given),
    "overwrite": lambda path, table, source, given: _open(table).overwrite(sources.make(source), **given),
    "delete": lambda path, table, source, given: _open(table).delete(**given),
    "update": lambda path, table, source, given: _open(table).update(**{**given, "set": _texts(given.get("set"))}),
    "upsert": lambda path, table, source, given: _open(table).upsert(sources.make(source), **given),
    "merge": _merge,
    "read": _read,
    "open": lambda path, table, source, given: lb.Table(path, **given),
    "history": lambda path, table, source, given: _open(table).history(**given),
    "optimize": lambda path, table, source, given: _open(table).optimize(**given),
    "vacuum": lambda path, table, source, given: _open(table).vacuum(**given),
}
READS = {"read", "open", "history"}
#: Verbs that change no row.
KEEPS = READS | {"optimize", "vacuum"}
#: Verbs that take rows.
TAKES = {"write", "append", "overwrite", "upsert", "merge"}


def _texts(values: Any) -> Any:
    """The pairs of a case as the mapping that `update` takes."""
    return dict(values) if isinstance(values, tuple) else values


def run(deed: Deed, path: str, table: lb.Table | None, source: Source) -> Any:
    return VERBS[deed.verb](path, table, source, dict(deed.given))


NAN = math.nan
_COMMON_WRONG: list[tuple[str, Any]] = [
    ("txn", ("door", -1)),
    ("txn", ("door", 2**63)),
    ("txn", ("door", True)),
    ("txn", ("door", "7")),
    ("txn", ("door",)),
    ("txn", "door"),
    ("txn", (7, 7)),
    ("tnx", ("door", 7)),
    ("wher", "id = 1"),
    ("user_metadata", 5),
    ("timeout", -1),
    ("timeout", NAN),
    ("timeout", "soon"),
]
_WHERE_WRONG: list[tuple[str, Any]] = [
    ("where", wrong)
    for wrong in ("", "id", "nope = 1", "id = ", "id = 1; true", "count(*) > 1", "id = 'one'", 5, True, ["id = 1"], b"id = 1")
]
_FILE_WRONG: list[tuple[str, Any]] = [("target_file_size", wrong) for wrong in (0, 1, -1, 1.5, "1 MB", True, 2**63, 2**70, NAN)]
_WRITE_WRONG = [
    *_COMMON_WRONG,
    *_FILE_WRONG,
    ("schema_mode", "nonsense"),
    ("schema_mode", 1),
    ("partitions", "nonsense"),
    ("compression", "nonsense"),
    ("compression", 3),
    ("row_group_rows", 0),
    ("row_group_rows", -1),
    ("row_group_rows", 2.5),
    ("row_group_rows", True),
    ("row_group_rows", 2**70),
    ("bloom_columns", ["nope"]),
    ("bloom_columns", 3),
    ("on_lossy", "nonsense"),
    ("properties", {"delta.targetFileSize": 0}),
    ("properties", {"delta.targetFileSize": "1"}),
    ("properties", {"delta.enableDeletionVectors": "maybe"}),
    ("properties", {"delta.checkpointInterval": 0}),
    ("properties", [("a", "b")]),
    ("partition_by", ["nope"]),
    ("partition_by", 7),
    ("cluster_by", ["nope"]),
]
#: Arguments that must be refused, by verb: each is wrong whatever else is given.
WRONG: dict[str, list[tuple[str, Any]]] = {
    "write": [*_WRITE_WRONG, ("mode", "nonsense"), ("mode", 1), ("storage_options", 5)],
    "append": [*_WRITE_WRONG, ("mode", "overwrite")],
    "overwrite": [*_WRITE_WRONG, *_WHERE_WRONG],
    "create": [
        ("partition_by", ["nope"]),
        ("cluster_by", ["nope"]),
        ("cluster_by", 7),
        ("mode", "nonsense"),
        ("properties", {"delta.targetFileSize": 0}),
        ("properties", {"delta.checkpointInterval": -1}),
        ("constraints", {"c": "nope > 1"}),
        ("constraints", {"c": "id"}),
        ("constraints", {"c": 5}),
        ("constraints", {"c": ""}),
        ("constraints", {"c": "count(*) > 1"}),
        ("constraints", {"": "id > 0"}),
        ("constraints", {"c": "id > 0", "C": "id < 9"}),
        ("constraints", ["id > 0"]),
        ("name", 5),
        ("description", 5),
        ("txn", ("door", 7)),
        ("partition", ["p"]),
    ],
    "delete": [*_COMMON_WRONG, *_WHERE_WRONG, ("retries", "yes")],
    "update": [
        *_COMMON_WRONG,
        *_WHERE_WRONG,
        *_FILE_WRONG,
        ("set", (("nope", "1"),)),
        ("set", (("n", 5),)),
        ("set", (("n", "'text'"),)),
        ("set", (("n", ""),)),
        ("set", ()),
        ("set", 5),
        ("set", (("n", "1"), ("N", "2"))),
    ],
    "upsert": [*_COMMON_WRONG, *_FILE_WRONG, ("keys", []), ("keys", ["nope"]), ("keys", 5), ("schema_mode", "overwrite")],
    "merge": [
        *_COMMON_WRONG,
        *_FILE_WRONG,
        ("on", ""),
        ("on", "target.id"),
        ("on", "target.nope = source.id"),
        ("on", 5),
        ("schema_mode", "nonsense"),
        ("clauses", None),
        ("source_alias", "target"),
        ("source_alias", 5),
    ],
    "read": [
        ("limit", -1),
        ("limit", 2.5),
        ("limit", "1"),
        ("limit", True),
        ("limit", 2**70),
        ("columns", ["nope"]),
        ("columns", 5),
        ("columns", [5]),
        ("column", ["id"]),
        *_WHERE_WRONG,
    ],
    "open": [
        ("version", -1),
        ("version", 99),
        ("version", True),
        ("version", "0"),
        ("version", 1.0),
        ("version", 2**70),
        ("timestamp", "tomorrow"),
        ("timestamp", date(2026, 3, 1)),
        ("timestamp", 5),
        ("timestamp", "1999-01-01T00:00:00Z"),
        ("storage_options", 5),
        ("ver", 1),
    ],
    "history": [("limit", -1), ("limit", "1"), ("limit", True), ("limit", 2**70)],
    "optimize": [
        *_WHERE_WRONG,
        *_FILE_WRONG,
        ("zorder_by", ["nope"]),
        ("zorder_by", 5),
        ("cluster_by", ["nope"]),
        ("cluster_by", 5),
        ("min_files", -1),
        ("min_files", "2"),
        ("max_deleted_share", -0.5),
        ("max_deleted_share", NAN),
        ("max_deleted_share", "all"),
        ("commit", "nonsense"),
        ("timeout", -1),
        ("user_metadata", 5),
        ("zorder", ["id"]),
    ],
    "vacuum": [
        ("retention_hours", -1),
        ("retention_hours", NAN),
        ("retention_hours", "week"),
        ("retention_hours", 0),
        ("mode", "nonsense"),
        ("user_metadata", 5),
        ("hours", 1),
    ],
}
