"""Columns and rows of Python's own values as Arrow tables. The types come from all values of a column, as :mod:`lakebed.values` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from lakebed import values
from lakebed.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_columns", "from_rows"]


def from_rows(rows: Iterable[Mapping[Any, Any]]) -> pa.Table:
    """Rows as a table. It has every column that any row has, null where a row lacks it."""
    import pyarrow as pa

    rows = list(rows)
    names = dict.fromkeys(chain.from_iterable(rows))
    _check_names(names, "a row without columns")
    return pa.table({name: values.array(name, [row.get(name) for row in rows], "row") for name in names})


def from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    """Columns by their names as a table."""
    import pyarrow as pa

    _check_names(columns, "a dictionary without columns")
    made = {}
    for name, column in columns.items():
        if isinstance(column, (str, bytes, Mapping)) or not (hasattr(column, "__len__") or isinstance(column, Iterable)):
            raise InvalidInputError(
                f"column {name} is of type {type(column).__name__}, not a list of values: for a single row give a list of one dictionary"
            )
        made[name] = _column(name, column)
    lengths = {name: len(column) for name, column in made.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidInputError(f"the columns of the data have different numbers of values: {told}")
    return pa.table(made)


def _check_names(names: Mapping[Any, Any], what: str) -> None:
    if not names:
        raise InvalidInputError(f"{what} is no data: give at least one column, or an empty table with a schema")
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(
                f"{values.shown(name)} is no name of a column: it is of type {type(name).__name__}, and names are texts"
            )


def _column(name: str, column: Any) -> Any:
    """A column of any library as an Arrow array."""
    import pyarrow as pa

    kind = getattr(column, "dtype", None)
    values.refuse_objects(name, kind)
    values.refuse_type(name, kind)
    if getattr(column, "ndim", 1) != 1:
        raise InvalidInputError(f"column {name} has {column.ndim} dimensions, and a column of a table has one")
    if str(kind) == "object":
        return values.array(name, _of_objects(column), "value")
    if isinstance(column, pa.Array):
        return column
    if hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
        return pa.chunked_array(column)
    if kind is None:
        return values.array(name, column if isinstance(column, (list, tuple, range)) else list(column), "value")
    try:
        return pa.array(column)
    except Exception as error:
        raise InvalidInputError(
            f"column {name} is of type {kind}, which no column of a table has: {values.said(error)}"
        ) from error


def _of_objects(column: Any) -> list[Any]:
    """Python's own values in a column of numpy or pandas; NaN stands for null in pandas."""
    if not hasattr(column, "isna"):
        return list(column)
    return [None if is_missing else value for value, is_missing in zip(column, column.isna(), strict=True)]
