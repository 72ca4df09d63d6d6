"""Deletes, updates and conditional overwrites by lakebed alone, drawn at random, beside a model in Python."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dml.model import COLUMNS, FEED, TRACKING, VECTORS, Rows, Twin
from dml.sql import VALUES, Columns, Sql, case, conditions, literal, values_of

#: What may be updated; fields of `s` one by one, or all of it.
TARGETS: Columns = {name: kind for name, kind in COLUMNS.items() if name != "id"}

by_hand = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def rows_from(first: int, count: int) -> st.SearchStrategy[Rows]:
    """So many rows with ids from this one on."""

    def value(kind: Any) -> st.SearchStrategy[Any]:
        return st.sampled_from([None, *VALUES[kind]])

    fields = {"x": value("int"), "y": value("string")}
    others = {"n": "long", "k": "int", "f": "double", "b": "boolean", "p": "string"}
    row = st.fixed_dictionaries({**{name: value(kind) for name, kind in others.items()}, "s": st.none() | st.fixed_dictionaries(fields)})
    return st.lists(row, min_size=count, max_size=count).map(lambda rows: [{"id": first + at, **row} for at, row in enumerate(rows)])


def wheres() -> st.SearchStrategy[Sql]:
    """Conditions, among them many on a few ids, which leave most of a file alone."""
    ids = st.lists(st.integers(0, 24), min_size=1, max_size=4).map(lambda found: Sql(f"id IN ({', '.join(map(str, found))})", lambda row: row["id"] in found))
    return st.one_of(conditions(COLUMNS), conditions(COLUMNS), ids)


def assignments() -> st.SearchStrategy[dict[str, Sql]]:
    def values(names: list[str]) -> st.SearchStrategy[dict[str, Sql]]:
        return st.fixed_dictionaries({name: values_of(TARGETS[name], COLUMNS) for name in names})

    structs = st.sampled_from([Sql("NULL", lambda _: None), Sql("s", lambda row: row["s"])])
    whole = st.fixed_dictionaries({"s": structs, "k": values_of("int", COLUMNS)})
    return st.one_of(st.lists(st.sampled_from(sorted(TARGETS)), min_size=1, max_size=3, unique=True).flatmap(values), whole)


@pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])
@pytest.mark.parametrize("feed", [False, True], ids=["no feed", "feed"])
@pytest.mark.parametrize("tracking", [False, True], ids=["untracked", "tracked"])
@pytest.mark.parametrize("partition_by", [[], ["p"], ["p", "b"]], ids=["", "by p", "by p, b"])
def test_random_statements_do_what_the_model_does(vectors: bool, feed: bool, tracking: bool, partition_by: list[str]) -> None:
    @settings(by_hand, max_examples=12)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        draw = data.draw
        properties: dict[str, Any] = {VECTORS: vectors, FEED: feed, TRACKING: tracking}
        properties["delta.checkpointInterval"] = draw(st.sampled_from([2, 100]))
        if draw(st.booleans()):
            properties["delta.columnMapping.mode"] = "name"
        with tempfile.TemporaryDirectory() as folder:
            twin = Twin.create(folder + "/t", properties, partition_by)
            next_id = 0
            for _ in range(draw(st.integers(1, 3))):
                count = draw(st.integers(1, 8))
                twin.append(draw(rows_from(next_id, count)), row_group_rows=draw(st.sampled_from([None, 2])))
                next_id += count
            for _ in range(draw(st.integers(2, 5))):
                statement = draw(st.sampled_from(["delete", "delete", "update", "update", "update", "overwrite", "append"]))
                where = draw(wheres())
                if statement == "delete":
                    twin.delete(where)
                elif statement == "update":
                    twin.update(draw(assignments()), draw(st.sampled_from([where, where, where, None])))
                else:
                    rows = draw(rows_from(next_id, 3))
                    next_id += 3
                    if statement == "append":
                        twin.append(rows)
                    else:
                        twin.overwrite([row for row in rows if where.holds(row)], where)
                twin.check_where(draw(conditions(COLUMNS)))
            twin.check_past()

    check()
