"""Steps that change the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from lakebed.deltalake import DeltaTable, write_deltalake
from life.state import Draw, Row, State, Step, drawn_row, table_of, values_of


def drawn_rows(draw: Draw, state: State) -> tuple[Row, ...]:
    return tuple(draw(st.lists(drawn_row(state), min_size=1, max_size=3)))


def adding(state: State, new: tuple[Row, ...], ours: Callable[[Any], object], sql: str | None) -> Step:
    """Returns a step that adds these rows."""
    is_refused = not all(state.allows(row) for row in new)
    return Step(ours, sql, replace(state, rows=(*state.rows, *new)), is_refused=is_refused)


def append(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    rows = drawn_rows(draw, state)
    data = table_of(rows, state)
    return adding(state, rows, lambda table: table.append(data), f"INSERT INTO delta.`{path}` VALUES {values_of(rows, state)}")


def append_by_door(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    """Appends with the words of deltalake."""
    rows = drawn_rows(draw, state)
    data = table_of(rows, state)
    return adding(state, rows, lambda table: write_deltalake(path, data, mode="append"), None)


def overwrite(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    rows = drawn_rows(draw, state)
    data, sql = table_of(rows, state), f"INSERT OVERWRITE delta.`{path}` VALUES {values_of(rows, state)}"
    step = adding(state, rows, lambda table: table.overwrite(data), sql)
    return replace(step, after=replace(state, rows=rows))


def removing(draw: Draw, state: State, path: str, ours: Callable[[Any, str], object]) -> Step | None:
    """Returns a step that removes the rows below a limit. `ours` takes the table and the predicate."""
    if not state.numbers:
        return None
    column, limit = draw(st.sampled_from(state.numbers)), draw(st.integers(0, 30))
    left = tuple(row for row in state.rows if row[column] is None or row[column] >= limit)
    where = f"`{column}` < {limit}"
    return Step(lambda table: ours(table, where), f"DELETE FROM delta.`{path}` WHERE {where}", replace(state, rows=left))


def delete(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    return removing(draw, state, path, lambda table, where: table.delete(where))


def erase(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    """Erases rows. The table has the same rows as after a delete, and older versions stay."""
    return removing(draw, state, path, lambda table, where: table.erase(where))


def delete_by_door(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    """Deletes with the words of deltalake."""
    step = removing(draw, state, path, lambda table, where: DeltaTable(path).delete(where))
    return None if step is None else replace(step, sql=None)


def update(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    if not state.numbers:
        return None
    column, limit, value = draw(st.sampled_from(state.numbers)), draw(st.integers(0, 30)), draw(st.integers(0, 40))
    is_hit = [row[column] is not None and row[column] > limit for row in state.rows]
    rows = tuple({**row, column: value} if hit else row for row, hit in zip(state.rows, is_hit, strict=True))
    where = f"`{column}` > {limit}"
    return Step(
        lambda table: table.update({column: str(value)}, where=where),
        f"UPDATE delta.`{path}` SET `{column}` = {value} WHERE {where}",
        replace(state, rows=rows),
    )


def upsert(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    if not state.numbers:
        return None
    key = draw(st.sampled_from(state.numbers))
    drawn = drawn_rows(draw, state)
    new = list({row[key]: row for row in drawn if row[key] is not None}.values())
    if not new:
        return None
    data, by_key = table_of(new, state), {row[key]: row for row in new}
    there = {row[key] for row in state.rows}
    stay = [by_key.get(row[key], row) for row in state.rows]
    names = ", ".join(f"`{name}`" for name in state.columns)
    return Step(
        lambda table: table.upsert(data, keys=key),
        f"MERGE INTO delta.`{path}` t USING (SELECT * FROM VALUES {values_of(new, state)} AS s({names})) s "
        f"ON t.`{key}` = s.`{key}` WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        replace(state, rows=(*stay, *(row for row in new if row[key] not in there))),
        is_refused=not all(state.allows(row) for row in new),
    )
