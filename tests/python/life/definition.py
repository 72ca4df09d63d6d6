"""Steps that change the definition of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from life.state import KINDS, WIDER, Draw, State, Step


def add_column(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    # A dropped column may come back under its old name, but without its old values.
    name = draw(st.sampled_from([f"c{number}" for number in range(8) if f"c{number}" not in state.columns]))
    kind = draw(st.sampled_from(sorted(KINDS)))
    before = draw(st.sampled_from(sorted(state.columns)))
    names = list(state.columns)
    names.insert(names.index(before) + 1, name)
    columns = {column: state.columns.get(column, kind) for column in names}
    return Step(
        lambda table: table.alter.add_column(name, kind, after=before),
        f"ALTER TABLE delta.`{path}` ADD COLUMNS (`{name}` {kind} AFTER `{before}`)",
        replace(state, columns=columns, rows=tuple({**row, name: None} for row in state.rows)),
    )


def rename_column(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    old = draw(st.sampled_from(sorted(state.columns)))
    new = draw(st.sampled_from([f"d{number}" for number in range(8) if f"d{number}" not in state.columns]))
    renamed = {new if name == old else name: kind for name, kind in state.columns.items()}
    rows = tuple({new if name == old else name: value for name, value in row.items()} for row in state.rows)
    return Step(
        lambda table: table.alter.rename_column(old, new),
        f"ALTER TABLE delta.`{path}` RENAME COLUMN `{old}` TO `{new}`",
        replace(state, columns=renamed, rows=rows),
        is_refused=old in state.constraints.values(),
    )


def drop_column(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    if len(state.columns) < 3:
        return None
    name = draw(st.sampled_from(sorted(state.columns)))
    return Step(
        lambda table: table.alter.drop_column(name),
        f"ALTER TABLE delta.`{path}` DROP COLUMN `{name}`",
        replace(
            state,
            columns={column: kind for column, kind in state.columns.items() if column != name},
            rows=tuple({column: value for column, value in row.items() if column != name} for row in state.rows),
        ),
        is_refused=name in state.constraints.values(),
    )


def widen(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    narrow = [name for name, kind in state.columns.items() if kind in WIDER and name not in state.constraints.values()]
    if not narrow:
        return None
    name = draw(st.sampled_from(narrow))
    kind = WIDER[state.columns[name]]
    return Step(
        lambda table: table.alter.change_type(name, kind),
        f"ALTER TABLE delta.`{path}` ALTER COLUMN `{name}` TYPE {kind}",
        replace(state, columns={**state.columns, name: kind}),
    )


def add_constraint(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    free = [name for name in ("one", "two") if name not in state.constraints]
    if not free or not state.numbers:
        return None
    name, column = draw(st.sampled_from(free)), draw(st.sampled_from(state.numbers))
    after = replace(state, constraints={**state.constraints, name: column})
    return Step(
        lambda table: table.alter.add_constraint(name, f"`{column}` >= 0"),
        f"ALTER TABLE delta.`{path}` ADD CONSTRAINT {name} CHECK (`{column}` >= 0)",
        after,
        is_refused=not all(after.allows(row) for row in state.rows),
    )


def drop_constraint(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    if not state.constraints:
        return None
    name = draw(st.sampled_from(sorted(state.constraints)))
    return Step(
        lambda table: table.alter.drop_constraint(name),
        f"ALTER TABLE delta.`{path}` DROP CONSTRAINT {name}",
        replace(state, constraints={other: column for other, column in state.constraints.items() if other != name}),
    )


def set_property(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    name, value = draw(st.sampled_from(["team", "delta.checkpointInterval"])), str(draw(st.integers(3, 12)))
    return Step(
        lambda table: table.alter.set_properties({name: value}),
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{name}' = '{value}')",
        replace(state, properties={**state.properties, name: value}),
    )


def unset_property(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    if not state.properties:
        return None
    name = draw(st.sampled_from(sorted(state.properties)))
    return Step(
        lambda table: table.alter.unset_properties(name),
        f"ALTER TABLE delta.`{path}` UNSET TBLPROPERTIES ('{name}')",
        replace(state, properties={other: value for other, value in state.properties.items() if other != name}),
    )
