"""Random deletes, updates, merges and conditional overwrites by lakebed alone, compared with a
model in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

import lakebed as lb
from dml import log
from dml.drawn import ASSIGNMENTS, WHERES, examples, merges, rows_from
from dml.model import COLUMNS, FEED, TRACKING, VECTORS, Twin
from dml.sql import conditions
from lakebed import _lakebed

#: Returns the first of so many new ids.
Ids = Callable[[int], int]


def change_rows(data: st.DataObject, twin: Twin, new_ids: Ids) -> None:
    """Runs one statement that selects rows with a predicate."""
    where = data.draw(WHERES)
    match data.draw(st.sampled_from(["delete", "delete", "update", "update", "update", "overwrite", "append"])):
        case "delete":
            twin.delete(where)
        case "update":
            twin.update(data.draw(ASSIGNMENTS), data.draw(st.sampled_from([where, where, where, None])))
        case "append":
            twin.append(data.draw(rows_from(new_ids(3), 3)))
        case _:
            rows = data.draw(rows_from(new_ids(3), 3))
            twin.overwrite([row for row in rows if where.holds(row)], where)


#: The memory limit in bytes.
ENOUGH = 1 << 30


@pytest.fixture(autouse=True)
def enough_memory() -> Iterator[None]:
    """Restores the memory limit, also after a merge that failed."""
    yield
    lb.set_memory_limit(ENOUGH)


def merge_rows(data: st.DataObject, twin: Twin, new_ids: Ids) -> None:
    """Runs a merge, sometimes after a delete, and sometimes with so little memory that its source
    has several parts.
    """
    if data.draw(st.integers(0, 4)) == 4:
        twin.delete(data.draw(WHERES))
    merge = data.draw(merges([row["id"] for row in twin.rows], new_ids(20)))
    _lakebed.set_memory_limit(data.draw(st.sampled_from([ENOUGH, ENOUGH, 1_000])))
    twin.merge(merge)
    lb.set_memory_limit(ENOUGH)


@pytest.mark.parametrize("vectors", [False, True], ids=["copied", "vectors"])
@pytest.mark.parametrize("feed", [False, True], ids=["no feed", "feed"])
@pytest.mark.parametrize("tracking", [False, True], ids=["untracked", "tracked"])
@pytest.mark.parametrize("partition_by", [[], ["p"], ["at", "m", "b"]], ids=["in one", "by p", "by at, m, b"])
@pytest.mark.parametrize("statement", [change_rows, merge_rows])
def test_random_statements_do_what_the_model_does(
    statement: Callable[..., None], vectors: bool, feed: bool, tracking: bool, partition_by: list[str]
) -> None:
    @examples(6, (statement.__name__, vectors, feed, tracking, partition_by))
    def check(data: st.DataObject) -> None:
        draw = data.draw
        properties: dict[str, Any] = {VECTORS: vectors, FEED: feed, TRACKING: tracking}
        properties["delta.checkpointInterval"] = draw(st.sampled_from([2, 100]))
        if draw(st.booleans()):
            properties["delta.columnMapping.mode"] = "name"
        next_id = 0

        def new_ids(count: int) -> int:
            nonlocal next_id
            next_id += count
            return next_id - count

        with log.folder() as folder:
            twin = Twin.create(folder + "/t", properties, partition_by)
            for _ in range(draw(st.integers(1, 3))):
                count = draw(st.integers(1, 8))
                twin.append(draw(rows_from(new_ids(count), count)), row_group_rows=draw(st.sampled_from([None, 2])))
            for _ in range(draw(st.integers(2, 5))):
                statement(data, twin, new_ids)
                twin.check_where(draw(conditions(COLUMNS)))
            twin.check_past()

    check()
