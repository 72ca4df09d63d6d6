"""Draws random cases."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from door import deeds, model, sources, tables
from door.case import Batch, Case, Column, Deed, Source, Table

#: The usual types of each column, and the types that are drawn less often.
_USUAL = {"id": "int64", "n": "int32", "v": "double", "p": "string", "s": "string", "x": "int64"}
_AT_TIMES = {"id": ["int32", "int8", "uint8", "double", "string"], "n": ["int64", "int8", "bool", "float"]}
_AT_TIMES |= {"v": ["float", "int32", "halffloat", "string"], "x": [*sources.TYPES]}
_AT_TIMES |= {name: ["large_string", "string_view", "dictionary", "int64", "null", "binary"] for name in ("p", "s")}


def _one_in(many: int) -> st.SearchStrategy[bool]:
    """Draws True in one of `many` cases. Hypothesis prefers small numbers, but it draws each
    element of a list equally often.
    """
    return st.sampled_from([False] * (many - 1) + [True])


_ODD_NAMES = ["ID", "x", "_change_type", "a b", "a.b", "_metadata", "é"]


def _values(name: str, kind: str, count: int, required: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    pool = [value for value in sources.POOL[kind] for _ in range(4)]
    nulls = 0 if required else 1 if name == "id" else len(pool) // 3 + 1
    return st.lists(st.sampled_from(pool + [None] * nulls), min_size=count, max_size=count).map(tuple)


@st.composite
def columns(draw: st.DrawFn, name: str, count: int, kind: str | None = None) -> Column:
    usual = _USUAL.get(name.lower(), "string")
    if kind is None:
        others = _AT_TIMES.get(name.lower(), ["int64"])
        kind = draw(st.sampled_from([usual] * 12 * len(others) + others))
    nullable = kind == "null" or draw(st.sampled_from([True] * 40 + [False]))
    return Column(name, kind, draw(_values(name, kind, count, not nullable)), nullable)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Batch, ...]:
    """Draws one batch or several. Most of them have the same columns."""
    names = draw(st.sampled_from([[*tables.SCHEMA.names]] * 8 + [["id", "p"], ["p", "id", "n"], ["n"]]))
    if draw(_one_in(6)):
        names = [*names, draw(st.sampled_from(_ODD_NAMES))]
    count = draw(st.sampled_from([1, 2, 1, 2, 3] * 4 + [0]))
    rows = draw(st.sampled_from([1, 2, 3, 4, 0]))
    first = tuple(draw(columns(name, rows)) for name in names)
    found = [first][:count]
    for _ in range(count - 1):
        rows = draw(st.integers(0, 3))
        batch = [
            Column(one.name, one.type, draw(_values(one.name, one.type, rows, not one.nullable)), one.nullable) for one in first
        ]
        found.append(tuple(draw(_drifted(batch, rows))))
    return tuple(found)


@st.composite
def _drifted(draw: st.DrawFn, batch: list[Column], rows: int) -> list[Column]:
    """Returns the batch, sometimes with one change."""
    at = draw(st.integers(0, max(len(batch) - 1, 0)))
    match draw(st.sampled_from(["not", "not", "not", "order", "order", "type", "type", "fewer", "more", "name", "nulls"])):
        case "order":
            return draw(st.permutations(batch))
        case "type" if batch:
            kind = draw(st.sampled_from(list(sources.TYPES)))
            batch[at] = draw(columns(batch[at].name, rows, kind))
        case "fewer":
            del batch[at : at + 1]
        case "more":
            batch.insert(at, draw(columns(draw(st.sampled_from(["extra", "x"])), rows)))
        case "name" if batch:
            one = batch[at]
            batch[at] = Column(one.name.upper(), one.type, one.values, one.nullable)
        case "nulls" if batch:
            one = batch[at]
            batch[at] = Column(one.name, one.type, (None,) * rows, one.type == "null" or not one.nullable)
    return batch


_FORMS = sorted(set(sources.KINDS) - sources.NO_ROWS)
_kinds = st.sampled_from(_FORMS * 4 + sorted(sources.NO_ROWS))
source = st.builds(Source, _kinds, batches())

_partition_by = st.sampled_from([(), (), ("p",), ("p",), ("p", "n")])
table = st.builds(
    Table,
    _one_in(5).map(lambda is_new: not is_new),
    st.lists(st.sampled_from(sorted(tables.FEATURES)), max_size=3, unique=True).map(tuple),
    _partition_by,
    _one_in(5),
    _one_in(5),
)

_where = st.sampled_from(sorted(deeds.CONDITIONS))
_SOUND: list[tuple[str, Any]] = [
    ("user_metadata", "why"),
    ("timeout", 30),
    ("txn", ("door", 3)),
    ("txn", ("door", 9)),
    ("txn", ("other", 0)),
]
_SOUND_FILES: list[tuple[str, Any]] = [
    ("compression", "zstd"),
    ("compression", "none"),
    ("row_group_rows", 1),
    ("row_group_rows", 2),
    ("target_file_size", 1 << 20),
    ("bloom_columns", []),
]


@st.composite
def _sound(draw: st.DrawFn, verb: str, met: list[str]) -> dict[str, Any]:
    """Draws valid arguments. All rows of the source meet the conditions `met`."""
    given: dict[str, Any] = {}
    sometimes = _one_in(4)
    if verb in ("write", "append", "overwrite", "delete", "update", "upsert", "merge") and draw(sometimes):
        given.update([draw(st.sampled_from(_SOUND))])
    if verb in ("write", "append", "overwrite"):
        if draw(sometimes):
            given.update([draw(st.sampled_from(_SOUND_FILES))])
        if draw(sometimes):
            given["schema_mode"] = draw(st.sampled_from(["enforce", "merge", "merge", "merge", "overwrite"]))
    mode = verb
    if verb == "write":
        mode = given["mode"] = draw(
            st.sampled_from(["append", "append", "overwrite", "overwrite", "overwrite", "error", "ignore"])
        )
    if mode == "overwrite":
        words = draw(st.sampled_from(["all", "where", "where", "dynamic"]))
        given |= (
            {"where": draw(st.sampled_from(met * 4) | _where)}
            if words == "where"
            else {"partitions": "dynamic"}
            if words == "dynamic"
            else {}
        )
    if verb in ("delete", "update", "read") and not draw(_one_in(5)):
        given["where"] = draw(_where)
    if verb == "update":
        given["set"] = draw(st.sampled_from(sorted(deeds.SETS)))
    if verb == "upsert":
        given["keys"] = draw(st.sampled_from([["id"], "id", ["id", "p"], ("id",), ["p"]]))
    if verb == "merge":
        given["clauses"] = draw(st.sampled_from(sorted(deeds.MERGES)))
    if verb == "create":
        given["mode"] = draw(st.sampled_from(["error", "ignore", "replace"]))
    if verb == "read":
        given |= draw(st.sampled_from([{}, {"limit": 0}, {"limit": 1}, {"limit": 100}]))
        given |= draw(st.sampled_from([{}, {"columns": ["id", "p"]}, {"columns": ("s",)}, {"columns": "id"}]))
    if verb == "open":
        given |= draw(st.sampled_from([{}, {"version": 0}]))
    if verb == "optimize":
        given |= draw(
            st.sampled_from([{}, {"where": "id > 1"}, {"cluster_by": "id"}, {"zorder_by": ["id", "s"]}, {"full": True}])
        )
    if verb == "vacuum":
        given |= draw(
            st.sampled_from([{}, {"dry_run": True}, {"mode": "lite"}, {"retention_hours": 0, "enforce_retention": False}])
        )
    return given


#: The verbs, by how often they are drawn.
_OFTEN = (
    ["write"] * 6 + ["append"] * 3 + ["overwrite"] * 3 + ["upsert"] * 3 + ["merge"] * 2 + ["delete", "update", "create", "read"]
)
_SELDOM = ["open", "history", "optimize", "vacuum"]
_KNOWN = {"tnx", "wher", "column", "ver", "zorder", "hours", "partition"}


@st.composite
def deed(draw: st.DrawFn, table: Table, source: Source) -> Deed:
    verb = draw(st.sampled_from(_OFTEN * 4 + _SELDOM * 2))
    rows = sources.rows(source)
    given = draw(_sound(verb, [where for where in sorted(deeds.CONDITIONS) if all(model.is_true(where, row) for row in rows)]))
    by = table.partition_by
    if verb in ("write", "create") and by and (not table.exists or draw(st.booleans())):
        given["partition_by"] = list(by)
    if not draw(_one_in(6)):
        return Deed(verb, tuple(given.items()))
    name, value = draw(st.sampled_from(deeds.WRONG[verb]))
    given[name] = value
    if (name, value) == ("retention_hours", 0):
        given.pop("enforce_retention", None)
    if (verb == "append" and name == "mode") or (verb == "create" and name == "txn") or name in _KNOWN:
        return Deed(verb, tuple(given.items()), f"unknown argument {name}")
    return Deed(verb, tuple(given.items()), f"{name}={value!r}")


#: The ways to run a call. `spawn` is rare because a new process takes most of a second.
_way = st.sampled_from(["same"] * 20 + ["thread"] * 6 + ["pickled"] * 6 + ["fork"] * 12 + ["spawn"])


@st.composite
def case(draw: st.DrawFn) -> Case:
    before, rows = draw(table), draw(source)
    way = draw(_way)
    if way == "fork" and rows.kind in sources.THREADED:
        way = "thread"
    return Case(before, rows, draw(deed(before, rows)), way)


@st.composite
def of_spark(draw: st.DrawFn) -> Case:
    """Draws writes of Spark's data frames. All rows of a data frame have one schema, and Spark's
    tasks write them.
    """
    before, found = (
        draw(table),
        draw(st.builds(Source, st.just("table"), batches().filter(lambda drawn: bool(drawn and drawn[0])))),
    )
    alike = Source("table", tuple(_without_promises(batch) for batch in sources.batches(found)[:1]))
    rows = sources.rows(alike)
    met = [where for where in sorted(deeds.CONDITIONS) if all(model.is_true(where, row) for row in rows)]
    given: dict[str, Any] = {"mode": draw(st.sampled_from(["append", "overwrite", "overwrite"]))}
    if given["mode"] == "overwrite" and met:
        given |= draw(st.sampled_from([{}, {"where": draw(st.sampled_from(met))}, {"partitions": "dynamic"}]))
    if draw(_one_in(4)):
        given["schema_mode"] = "merge"
    if before.partition_by and not before.exists:
        given["partition_by"] = list(before.partition_by)
    if not draw(_one_in(6)):
        return Case(before, alike, Deed("write", tuple(given.items())))
    name, value = draw(st.sampled_from(_WRONG_OF_SPARK))
    return Case(before, alike, Deed("write", tuple((given | {name: value}).items()), f"{name}={value!r}"))


#: Arguments that `lbs.write` and `format("lakebed")` both know, with values that both must refuse.
_WRONG_OF_SPARK: list[tuple[str, Any]] = [
    ("target_file_size", 0),
    ("target_file_size", 1),
    ("target_file_size", "many"),
    ("wher", "id = 1"),
    ("compression", "nonsense"),
    ("schema_mode", "nonsense"),
    ("partitions", "nonsense"),
]


def _without_promises(batch: Batch) -> Batch:
    """Returns the columns with types that Spark has. Every column may be null, as in Spark."""
    return tuple(
        Column(one.name, one.type, one.values) for one in batch if one.type in ("int64", "int32", "double", "string", "bool")
    )
