"""The state of a table in the model, and a step from one state to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

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
    #: Whether the table has the feature of deletion vectors.
    has_vectors: bool = False

    @property
    def numbers(self) -> list[str]:
        return [name for name, kind in self.columns.items() if kind in ("int", "bigint")]

    def allows(self, row: Row) -> bool:
        """Returns whether a row meets all constraints. A null does not meet a constraint."""
        return all(row[column] is not None and row[column] >= 0 for column in self.constraints.values())


@dataclass(frozen=True)
class Step:
    """A step, by each engine, and the state after it."""

    #: Takes the step with lakebed, on a table or within a transaction.
    ours: Callable[[Any], object]
    #: Takes the step with Delta Spark; None if only lakebed has it.
    sql: str | None
    after: State
    #: Whether both engines must refuse the step, because rows or constraints forbid it.
    is_refused: bool = False


Draw = Callable[[Any], Any]


def literal(value: Any, kind: str) -> str:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return f"CAST({text} AS {kind})"


def table_of(rows: Iterable[Row], state: State) -> pa.Table:
    """Returns rows as Arrow data."""
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in state.columns.items()})


def values_of(rows: Iterable[Row], state: State) -> str:
    """Returns rows as the values of an SQL statement."""
    return ", ".join(f"({', '.join(literal(row[name], kind) for name, kind in state.columns.items())})" for row in rows)


def drawn_row(state: State) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries({name: KINDS[kind] for name, kind in state.columns.items()})
