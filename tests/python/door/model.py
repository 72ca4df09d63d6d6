"""Computes the expected outcome of a case in plain Python over lists of rows.

If there are reasons in `refused`, the call must raise. If there are only `doubts`, such as a type
that lakebed may cast or refuse, the call may raise. A call that succeeds must leave exactly these
`rows` in the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import verbs
from door import deeds, sources, tables
from door.case import Batch, Case, Row, Rows
from door.values import plain

#: The types that a new table takes without a cast.
_NEW = {
    "int64",
    "int32",
    "int16",
    "int8",
    "double",
    "float",
    "string",
    "large_string",
    "string_view",
    "dictionary",
    "bool",
    "binary",
}
_NEW |= {"date32[day]", "decimal", "instant", "wall clock", "list", "struct", "map"}
#: Strings and binary values that are null in a partition column.
_NULL_TEXTS = ("", b"", "__HIVE_DEFAULT_PARTITION__")
#: The beginnings of the wrong arguments that lakebed does not check when it skips the write: SQL,
#: and options that are compared with the table.
_OF_THE_TABLE = ("constraints", "properties", "clauses", "set=((", "on='", "where='", 'where="', "source_alias='")
#: The reason that is checked last.
RAISES = "the generator raises"


@dataclass
class Wanted:
    """The expected outcome."""

    rows: Rows
    refused: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    #: Whether a successful call makes a version. None if both are allowed.
    commits: bool | None = None
    #: Whether the casts of an assignment may have changed values.
    casts: bool = False
    #: The rows that a read returns, and how many rows it counts.
    answer: Rows | None = None
    count: int | None = None


def wanted(case: Case) -> Wanted:
    table, deed = case.table, case.deed
    found = Wanted(tables.before(table))
    given = dict(deed.given)
    is_known = table.exists and (given.get("mode") == "ignore" or _is_known(given))
    if deed.wrong:
        depends = "nope" in deed.wrong or deed.wrong.startswith(_OF_THE_TABLE)
        (found.doubts if is_known and depends else found.refused).append(deed.wrong)
    if deed.verb == "write" and table.exists and given.get("mode") == "error":
        found.refused.append("there is a table")
    if not table.exists and deed.verb not in ("write", "create"):
        # A handle may answer from its snapshot, without reading the table.
        (found.doubts if deed.verb in ("read", "history") else found.refused).append("the table is gone")
    if deed.verb in deeds.TAKES:
        of_source = Wanted([])
        _judge_source(case, given, of_source)
        if is_known:
            found.doubts += of_source.refused
        else:
            found.refused += of_source.refused
        found.doubts += of_source.doubts
    # A generator raises at the end, so the other errors may come first.
    if not found.refused or found.refused == [RAISES]:
        _VERBS.get(deed.verb, _keep)(case, given, found)
    if deed.verb in deeds.KEEPS:
        found.rows = tables.before(table)
    return found


def _columns(batches: list[Batch]) -> list[str]:
    return [column.name for batch in batches[:1] for column in batch]


def _judge_source(case: Case, given: dict[str, Any], found: Wanted) -> None:
    """Judges the source and the columns of the table, without the values."""
    source = case.source
    batches = sources.batches(source)
    lacks = not batches and source.kind in sources.DRIFTING and source.kind != "drifting reader"
    lacks |= source.kind == "rows and batches" and len(batches) == 1 and not sources.rows(source)
    if source.kind in sources.NO_ROWS or lacks or (source.kind in sources.OF_DICTS and not sources.rows(source)):
        found.refused.append("no rows come of that")
        return
    if source.kind == "generator that raises":
        found.refused.append(RAISES)
    if source.kind == "rows and batches" and len(batches) > 1 and any(column.values for column in batches[0]):
        found.refused.append("rows and batches are mixed")
    for batch in batches:
        names = [column.name.lower() for column in batch]
        if len(set(names)) < len(names):
            (found.refused if len({column.name for column in batch}) == len(names) else found.doubts).append(
                "a column comes twice"
            )
    if source.kind in ("tuple of tables", "polars frames"):
        found.doubts.append("an iterable of tables")
    if not any(batches) and source.kind != sources.WITH_INDEX:
        (found.doubts if case.table.exists else found.refused).append("no columns")
    is_new = not case.table.exists or given.get("schema_mode") == "overwrite"
    _judge_drift(source.kind, batches, found)
    for batch in batches:
        for column in batch:
            if is_new:
                fits = column.type in _NEW and _is_named_well(column.name)
            elif column.name.lower() in tables.FITS:
                fits = column.type in tables.FITS[column.name.lower()]
            else:
                fits = (
                    column.type in _NEW
                    and _is_named_well(column.name)
                    and given.get("schema_mode") == "merge"
                    and case.deed.verb not in ("upsert", "merge")
                )
            if not fits:
                found.doubts.append(f"{column.name} of type {column.type}")
            if not column.nullable:
                found.doubts.append("a promise that there are no nulls")
    if source.kind in sources.RETYPED:
        _judge_retyped(source.kind, batches, is_new, found)
    if case.deed.verb in ("upsert", "merge"):
        missing = set(tables.SCHEMA.names) - {name.lower() for name in _columns(batches)}
        if missing:
            found.doubts.append(f"the source lacks {sorted(missing)}")
    if source.kind == sources.WITH_INDEX:
        found.doubts.append("the index is a column")


def _is_named_well(name: str) -> bool:
    """Returns whether any table can have such a column. Spaces need column mapping, and Delta
    reserves some names.
    """
    return name.isidentifier() and not name.startswith("_")


def _judge_drift(kind: str, batches: list[Batch], found: Wanted) -> None:
    of_dicts = kind in sources.OF_DICTS
    types: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for batch in batches:
        if kind == "drifting reader" and [column.name for column in batch] != _columns(batches):
            found.doubts.append("a reader breaks the promise of its schema")
        if not of_dicts and {column.name for column in batch} != set(_columns(batches)):
            found.doubts.append("batches of other columns")
        for column in batch:
            if types.setdefault(column.name.lower(), column.type) != column.type:
                found.doubts.append(f"{column.name} comes in several types")
            if spelled.setdefault(column.name.lower(), column.name) != column.name:
                found.doubts.append(f"{column.name} comes in several spellings")


def _judge_retyped(kind: str, batches: list[Batch], is_new: bool, found: Wanted) -> None:
    """Judges the types after a library changed them. pandas turns integers with nulls into floats,
    and a column of nulls has no type.
    """
    for batch in batches:
        for column in batch:
            if column.type not in ("int64", "int32", "double", "string", "bool"):
                found.doubts.append(f"{column.name} is made of {column.type}")
            if None in column.values and column.type != "string" and kind in sources.OF_PANDAS:
                found.doubts.append(f"{column.name} has nulls among {column.type}")
    # Such a column has no type. A new table refuses it, and later batches with values do not fit
    # it.
    if (is_new or len(batches) > 1) and not all(
        any(value is not None for value in column.values) for batch in batches for column in batch
    ):
        found.doubts.append("a column of nothing but nulls")


def _stored(row: Row, partition_by: tuple[str, ...]) -> Row:
    """Returns the row as the table stores it. The strings that mean null in a partition column
    become null.
    """
    lowered = {name.lower(): value for name, value in row.items()}
    return {
        name: None if name in partition_by and isinstance(value, (str, bytes)) and value in _NULL_TEXTS else value
        for name, value in lowered.items()
    }


def _incoming(case: Case, given: dict[str, Any]) -> Rows:
    return [_stored(row, partitions(case, given)) for row in sources.rows(case.source)]


def partitions(case: Case, given: dict[str, Any]) -> tuple[str, ...]:
    """Returns the columns by which the table is, or will be, partitioned."""
    if case.table.exists:
        return case.table.partition_by
    named = given.get("partition_by") or ()
    return (named,) if isinstance(named, str) else tuple(named)


def _check(case: Case, rows: Rows, found: Wanted) -> None:
    if not case.table.exists:
        return
    if case.table.required and any(row.get("id") is None for row in rows):
        found.refused.append("id is null")
    if case.table.positive and not all(_holds(row, lambda id: id > 0) for row in rows):
        found.refused.append("id is not positive")


def _holds(row: Row, test: Any) -> bool:
    try:
        return row.get("id") is not None and bool(test(row["id"]))
    except TypeError:
        return True  # No table takes the type.


def is_true(condition: str, row: Row) -> bool:
    """Returns whether the row meets the condition. Null is not true."""
    try:
        return deeds.CONDITIONS[condition](row) is True
    except TypeError:
        return False


def _is_known(given: dict[str, Any]) -> bool:
    txn = given.get("txn")
    if not isinstance(txn, tuple) or len(txn) != 2 or not isinstance(txn[1], int):
        return False
    return txn[0] == tables.TXN[0] and txn[1] <= tables.TXN[1]


def _write(case: Case, given: dict[str, Any], found: Wanted) -> None:
    exists = case.table.exists
    mode = {"append": "append", "overwrite": "overwrite"}.get(case.deed.verb) or given.get("mode", "append")
    if exists and (mode == "ignore" or _is_known(given)):
        found.commits = False
        if given.get("schema_mode") == "overwrite" or "where" in given or "partitions" in given:
            found.doubts.append("words about what is replaced, where nothing is")
        return
    new = _incoming(case, given)
    where, dynamic = given.get("where"), given.get("partitions") == "dynamic"
    by = partitions(case, given)
    if not exists and by and not set(by) < {name.lower() for name in _columns(sources.batches(case.source))}:
        found.refused.append("partitions by what is not there, or by all there is")
    if given.get("schema_mode") == "overwrite":
        if exists:
            found.doubts.append("the schema is replaced")
    else:
        _check(case, new, found)
        if case.table.required and "id" not in {name.lower() for name in _columns(sources.batches(case.source))}:
            found.doubts.append("the data lacks a column that must not be null")
    if mode != "overwrite":
        if where is not None or dynamic or given.get("schema_mode") == "overwrite":
            found.doubts.append("words for an overwrite")
        found.rows = verbs.append(found.rows, new).rows
        found.commits = True if new else None
        return
    if (where is not None) + dynamic + (given.get("schema_mode") == "overwrite") > 1:
        found.doubts.append("several words about what is replaced")
    if where is not None:
        if not exists:
            found.doubts.append("a condition on no table")
        if not all(is_true(where, row) for row in new):
            found.refused.append("a row does not meet the condition of the overwrite")
        found.rows = verbs.overwrite(found.rows, new, lambda row: is_true(where, row)).rows
    elif dynamic and by:
        touched = {_key(row, by) for row in new}
        found.rows = verbs.overwrite(found.rows, new, lambda row: _key(row, by) in touched).rows
    else:
        found.rows = verbs.overwrite(found.rows, new, lambda _: True).rows


def _key(row: Row, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(row.get(name)) for name in names)


def _create(case: Case, given: dict[str, Any], found: Wanted) -> None:
    mode = given.get("mode", "error")
    if case.table.exists and mode == "error":
        found.refused.append("there is a table")
    if case.table.exists and mode == "ignore":
        found.doubts.append("the schema need not be looked at")
        found.commits = False
        return
    batches = sources.batches(case.source)
    first = batches[0] if batches else ()
    if case.source.kind in sources.NO_ROWS or (not first and case.source.kind != sources.WITH_INDEX):
        found.refused.append("no columns")
        return
    names = [column.name.lower() for column in first]
    if len(set(names)) < len(names):
        found.refused.append("a column comes twice")
    by = given.get("partition_by") or ()
    if not set(by) < set(names):
        found.refused.append("partitions by what is not there, or by all there is")
    if not all(column.type in _NEW and _is_named_well(column.name) for column in first):
        found.doubts.append("odd types or names")
    if "cluster_by" in given or "constraints" in given:
        found.doubts.append("columns that may not be there")
    found.rows = []
    found.commits = True


def _of_none(given: dict[str, Any]) -> bool | None:
    """Returns whether a change of no rows makes a version. With a transaction identifier it may,
    because the number must be stored.
    """
    return None if "txn" in given else False


def _delete(case: Case, given: dict[str, Any], found: Wanted) -> None:
    if _is_known(given):
        found.commits = False
        return
    where = given.get("where")
    effect = verbs.delete(found.rows, lambda row: where is None or is_true(where, row))
    found.rows, found.commits = effect.rows, _of_none(given) if effect.is_empty else True


def _update(case: Case, given: dict[str, Any], found: Wanted) -> None:
    if _is_known(given):
        found.commits = False
        return
    where, change = given.get("where"), deeds.SETS[given["set"]]
    effect = verbs.update(
        found.rows,
        lambda row: where is None or is_true(where, row),
        lambda row: _stored({**row, **change(row)}, case.table.partition_by),
    )
    _check(case, effect.written, found)
    if any(not -(2**31) <= (row["n"] or 0) < 2**31 for row in effect.written):
        found.refused.append("n does not hold that")
    found.rows, found.commits = effect.rows, _of_none(given) if effect.is_empty else True


def _upsert(case: Case, given: dict[str, Any], found: Wanted) -> None:
    keys = given["keys"]
    keys = (keys,) if isinstance(keys, str) else tuple(keys)
    _merged(case, given, found, "update and insert", keys, null_safe=True)


def _merge(case: Case, given: dict[str, Any], found: Wanted) -> None:
    _merged(case, given, found, given["clauses"], ("id",), null_safe=False)


def _merged(case: Case, given: dict[str, Any], found: Wanted, clauses: str, keys: tuple[str, ...], *, null_safe: bool) -> None:
    if _is_known(given):
        found.commits = False
        return
    names = {name.lower() for name in _columns(sources.batches(case.source))}
    if not set(keys) <= names or (clauses == "update n" and "n" not in names):
        found.refused.append("the source lacks a column that is named")
        return
    new = [{name: row[name] for name in row if name in tables.SCHEMA.names} for row in _incoming(case, given)]
    # As in Delta Spark, columns that the table lacks are ignored, and values are cast as in
    # assignments.
    found.casts = any(
        _family(tables.SCHEMA.field(one.name.lower()).type) != _family(sources.TYPES[one.type])
        for batch in sources.batches(case.source)
        for one in batch
        if one.name.lower() in tables.SCHEMA.names
    )

    def meet(row: Row, other: Row) -> bool:
        same = _key(row, keys) == _key(other, keys)
        return same and (null_safe or all(row.get(key) is not None for key in keys))

    effect = verbs.merge(found.rows, new, meet, deeds.MERGES[clauses][1])
    if effect is None:
        found.refused.append("a row matches several of the source")
        return
    _check(case, effect.written, found)
    found.rows = effect.rows


def _family(kind: pa.DataType) -> str:
    """Returns the family of a type. A lossless cast within a family keeps the value."""
    if pa.types.is_integer(kind):
        return "whole number"
    if pa.types.is_floating(kind):
        return "fraction"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind) or kind == pa.string_view():
        return "text"
    return str(kind)


def _read(case: Case, given: dict[str, Any], found: Wanted) -> None:
    where, columns = given.get("where"), given.get("columns")
    columns = [columns] if isinstance(columns, str) else columns
    rows = [row for row in found.rows if where is None or is_true(where, row)]
    found.answer = [{name: row[name] for name in (columns if columns is not None else row)} for row in rows]
    found.count = min(len(rows), given.get("limit", len(rows)))


def _keep(case: Case, given: dict[str, Any], found: Wanted) -> None:
    """Keeps the rows unchanged."""


_VERBS = {
    "write": _write,
    "append": _write,
    "overwrite": _write,
    "create": _create,
    "delete": _delete,
    "update": _update,
    "upsert": _upsert,
    "merge": _merge,
    "read": _read,
}
