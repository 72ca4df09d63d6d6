"""Rows, conditions and new values for the tables of `dml.model`, drawn at random."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from datetime import date
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dml.model import COLUMNS, SCHEMA, Clause, Merge, Rows
from dml.sql import (
    VALUES,
    Columns,
    Kind,
    Sql,
    all_of,
    any_of,
    coalesce,
    column,
    compare,
    conditions,
    is_null,
    literal,
    values_of,
)

#: The columns and fields that an update may set: the fields of `s` one by one, and all of `s`.
TARGETS = dict(COLUMNS[1:])

#: The factor for the number of examples. `LAKEBED_EXAMPLES=50` runs 50 times as many.
MORE = int(os.environ.get("LAKEBED_EXAMPLES", "1"))


def examples(count: int, of: object) -> Callable[[Callable[[st.DataObject], None]], Callable[[], None]]:
    """Runs the decorated test on `count` examples. The examples are the same in each run, and
    differ for each `of`. A failing example is not shrunk, because shrinking takes minutes.
    """

    def decorate(test: Callable[[st.DataObject], None]) -> Callable[[], None]:
        quiet = settings(
            deadline=None,
            database=None,
            max_examples=count * MORE,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        return seed(zlib.crc32(repr(of).encode()))(quiet(given(st.data())(test)))

    return decorate


def rows_from(first: int, count: int) -> st.SearchStrategy[Rows]:
    """Draws `count` rows with ids from `first` on."""

    def numbered(rows: Rows) -> Rows:
        return [{"id": first + at, **row} for at, row in enumerate(rows)]

    return st.lists(ROW, min_size=count, max_size=count).map(numbered)


def _any(kind: Kind) -> st.SearchStrategy[Any]:
    return st.sampled_from([None, *VALUES[kind]])


STRUCT = st.fixed_dictionaries({"x": _any("int"), "y": _any("string")})
ROW = st.fixed_dictionaries({**{name: _any(kind) for name, kind in TARGETS.items() if "." not in name}, "s": st.none() | STRUCT})

#: Conditions on a few ids. They do not match most rows of a file.
OF_IDS = st.lists(st.integers(0, 24), min_size=1, max_size=4).map(
    lambda ids: Sql(f"id IN ({', '.join(map(str, ids))})", lambda row: row["id"] in ids)
)
WHERES = st.one_of(conditions(COLUMNS), conditions(COLUMNS), OF_IDS)

BY_COLUMN = {name: values_of(kind, COLUMNS) for name, kind in TARGETS.items()}
OF_STRUCT = st.sampled_from([Sql("NULL", lambda _: None), Sql("s", lambda row: row["s"])])
ASSIGNMENTS = st.one_of(
    st.lists(st.sampled_from(sorted(TARGETS)), min_size=1, max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: BY_COLUMN[name] for name in names})
    ),
    st.fixed_dictionaries({"s": OF_STRUCT, "k": BY_COLUMN["k"]}),
)


#: The columns of the target, of the source and of both.
TARGET: Columns = tuple((f"target.{name}", kind) for name, kind in COLUMNS)
SOURCE: Columns = tuple((f"source.{name}", kind) for name, kind in COLUMNS)
BOTH = TARGET + SOURCE

#: Conditions of a merge. The first ones compare nothing but the ids.
BY_ID = [compare(column("target.id"), operator, column("source.id")) for operator in ("=", "<=>")]
OTHERWISE = [
    compare(column("target.k"), "=", column("source.k")),
    all_of([compare(column("target.k"), "<=>", column("source.k")), compare(column("target.p"), "=", column("source.p"))]),
    all_of([compare(column("source.s.y"), "=", column("target.p")), is_null(column("target.b"), negated=True)]),
    any_of([compare(column("target.id"), "=", column("source.id")), compare(column("target.m"), "=", column("source.m"))]),
    compare(column("target.f"), "=", column("source.f")),
    compare(column("target.at"), "<", column("source.at")),
    compare(coalesce(column("target.day"), literal(date(2024, 2, 29), "date")), "=", column("source.day")),
    compare(column("target.id"), "=", column("source.n")),
    literal(False, "boolean"),
]
ONS = st.one_of(
    st.sampled_from(BY_ID),
    st.builds(lambda by_id, more: all_of([by_id, more]), st.sampled_from(BY_ID), conditions(BOTH)),
    st.sampled_from(OTHERWISE),
)


@st.composite
def merges(draw: st.DrawFn, ids: list[int], first: int) -> Merge:
    """Draws merges into a table with these ids. New rows get ids from `first` on. If a merge takes
    all columns from the source, new rows get the ids of the source instead; these ids are unique,
    and the condition compares them.
    """
    takes_all = draw(st.booleans())
    known = st.sampled_from([*ids, *range(first, first + 6)]) if ids else st.integers(first, first + 6)
    source = draw(st.lists(st.tuples(known, ROW), max_size=8, unique_by=(lambda found: found[0]) if takes_all else None))
    nulls = st.sampled_from([False, False, True])
    rows = [
        {"fresh": first + 10 + at, "id": None if not takes_all and draw(nulls) else id, **row}
        for at, (id, row) in enumerate(source)
    ]
    on = draw(st.sampled_from(BY_ID) if takes_all else ONS)
    return Merge(rows, on, draw(clauses(takes_all)))


@st.composite
def clauses(draw: st.DrawFn, takes_all: bool) -> list[Clause]:
    """Draws some clauses of each kind. Every clause except the last of a kind has a condition."""
    found = []
    for when, columns, actions in (
        ("matched", BOTH, ["update", "update", "delete"]),
        ("not_matched", SOURCE, ["insert"]),
        ("not_matched_by_source", TARGET, ["update", "delete"]),
    ):
        count = draw(st.sampled_from([0, 1, 1, 2, 3]))
        for number in range(count):
            action = draw(st.sampled_from(actions))
            is_last = number == count - 1
            where = draw(st.none() | conditions(columns) if is_last else conditions(columns))
            values = None
            if action == "update" and (when != "matched" or not (takes_all and draw(st.booleans()))):
                names = draw(st.lists(st.sampled_from(sorted(TARGETS)), min_size=1, max_size=3, unique=True))
                values = {name: draw(values_of(TARGETS[name], columns)) for name in names}
            elif action == "insert" and not takes_all:
                names = draw(st.lists(st.sampled_from(sorted(set(SCHEMA.names) - {"id", "s"})), max_size=4, unique=True))
                values = {"id": column("source.fresh"), **{name: draw(values_of(TARGETS[name], columns)) for name in names}}
            found.append(Clause(when, action, values, where))
    return found or [Clause("not_matched", "insert", None if takes_all else {"id": column("source.fresh")}, None)]
