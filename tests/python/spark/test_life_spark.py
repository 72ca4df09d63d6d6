"""Random lives of a table: changes of its columns, constraints and properties, changes of its rows,
and restores. lakebed and Delta Spark take turns on one table.

After each step both engines read the table, and both must return the rows and the columns of the
model. The model keeps the state of each version, so that older versions are read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import lakebed as lb
from dml import log
from dml.drawn import examples

pytestmark = pytest.mark.spark

Row = Mapping[str, Any]

#: The types of added columns: the name of the type in SQL, and the values of a column.
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.none() | st.integers(-5, 40),
    "bigint": st.none() | st.integers(-5, 40),
    "string": st.none() | st.sampled_from(["", "a", "b c", "Ω"]),
    "double": st.none() | st.sampled_from([0.5, -2.0, 1e9]),
}
ARROW = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}

#: A wider type for a type, where one is drawn.
WIDER = {"int": "bigint"}


@dataclass(frozen=True)
class State:
    """A table at one version."""

    #: The name and the type of each column.
    columns: Mapping[str, str]
    rows: tuple[Row, ...] = ()
    #: The columns that must not be negative, by the name of the constraint.
    constraints: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> list[str]:
        return [name for name, kind in self.columns.items() if kind in ("int", "bigint")]

    def allows(self, row: Row) -> bool:
        """Returns whether a row meets all constraints. A null does not meet a constraint."""
        return all(row[column] is not None and row[column] >= 0 for column in self.constraints.values())


@dataclass(frozen=True)
class Step:
    """A step, by each engine, and the state after it."""

    ours: Callable[[lb.Table], object]
    sql: str
    after: State
    #: Whether both engines must refuse the step, because rows or constraints forbid it.
    is_refused: bool = False


Draw = Callable[[Any], Any]


def literal(value: Any, kind: str) -> str:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return f"CAST({text} AS {kind})"


def append(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    kinds = {name: KINDS[kind] for name, kind in state.columns.items()}
    rows = draw(st.lists(st.fixed_dictionaries(kinds), min_size=1, max_size=3))
    data = pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in state.columns.items()})
    values = ", ".join(f"({', '.join(literal(row[name], kind) for name, kind in state.columns.items())})" for row in rows)
    return Step(
        lambda table: table.append(data),
        f"INSERT INTO delta.`{path}` VALUES {values}",
        replace(state, rows=(*state.rows, *rows)),
        is_refused=not all(state.allows(row) for row in rows),
    )


def delete(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step | None:
    if not state.numbers:
        return None
    column, limit = draw(st.sampled_from(state.numbers)), draw(st.integers(0, 30))
    left = tuple(row for row in state.rows if row[column] is None or row[column] >= limit)
    where = f"`{column}` < {limit}"
    return Step(lambda table: table.delete(where), f"DELETE FROM delta.`{path}` WHERE {where}", replace(state, rows=left))


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


def restore(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    version = draw(st.sampled_from(sorted(versions)))
    return Step(
        lambda table: table.restore(version=version),
        f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {version}",
        versions[version],
    )


STEPS = [
    append,
    append,
    append,
    delete,
    update,
    add_column,
    rename_column,
    drop_column,
    widen,
    add_constraint,
    drop_constraint,
    set_property,
    unset_property,
    restore,
]


def key(row: Row) -> str:
    return repr(sorted(row.items()))


def check_by_lakebed(path: str, state: State, version: int | None = None) -> None:
    table = lb.Table(path, version=version)
    assert {column.name: column.type for column in table.schema} == {name: ARROW[kind] for name, kind in state.columns.items()}
    assert sorted(table.to_arrow().to_pylist(), key=key) == sorted(state.rows, key=key)


def check_by_spark(spark: Any, path: str, state: State) -> None:
    found = spark.read.format("delta").load(path)
    assert dict(found.dtypes) == dict(state.columns)
    assert sorted((row.asDict() for row in found.collect()), key=key) == sorted(state.rows, key=key)


def check_definition(path: str, state: State) -> None:
    properties = lb.Table(path).properties
    constraints = {f"delta.constraints.{name}": f"`{column}` >= 0" for name, column in state.constraints.items()}
    assert {name: value for name, value in properties.items() if name.startswith("delta.constraints.")} == constraints
    own = ("team", "delta.checkpointInterval")
    assert {name: value for name, value in properties.items() if name in own} == state.properties


def take(step: Step, is_ours: bool, spark: Any, path: str) -> bool:
    """Runs a step and returns whether the engine did it."""
    try:
        if is_ours:
            step.ours(lb.Table(path))
        else:
            spark.sql(step.sql)
    except Exception as error:
        # Delta Spark raises a Py4J error or an AnalysisException, lakebed one of its own.
        if not step.is_refused or (is_ours and not isinstance(error, lb.LakebedError)):
            raise
        return False
    assert not step.is_refused, step
    return True


@pytest.mark.parametrize("vectors", ["false", "true"], ids=["copied", "vectors"])
def test_random_lives_equal_the_model(vectors: str, spark: Any) -> None:
    @examples(3, vectors)
    def check(data: st.DataObject) -> None:
        with log.folder() as folder:
            path = str(Path(folder) / "t")
            spark.sql(
                f"CREATE TABLE delta.`{path}` (id INT, k BIGINT, s STRING) USING delta TBLPROPERTIES ("
                f"'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', "
                f"'delta.enableDeletionVectors' = '{vectors}')"
            )
            state = State({"id": "int", "k": "bigint", "s": "string"})
            versions = {0: state}
            for number in range(data.draw(st.integers(8, 12))):
                step = data.draw(st.sampled_from(STEPS))(data.draw, state, path, versions)
                if step is not None and take(step, number % 2 == 0, spark, path):
                    state = step.after
                check_by_lakebed(path, state)
                check_by_spark(spark, path, state)
                check_definition(path, state)
                versions[lb.Table(path).version] = state
            for version, before in versions.items():
                check_by_lakebed(path, before, version)

    check()
